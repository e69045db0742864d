//! An application that only speaks, for processes that are explored without an algorithm; and states as numbers.

use std::hash::{DefaultHasher, Hash, Hasher};

use quorate_core::process::Process;
use quorate_core::trace::{Recorded, What};
use quorate_lab::stage::wish::{Deed, Free, Times, Wish};

/// What it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Say;

/// What it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Nothing {}

impl Recorded for Say {
    fn what(&self) -> Option<What> {
        None
    }
}

impl Recorded for Nothing {
    fn what(&self) -> Option<What> {
        None
    }
}

/// An application that says something so many times, in all its lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Speaker {
    left: u32,
}

impl<P: Process<Input = Say, Output = Nothing>> Free<P> for Speaker {
    fn new(times: Times) -> Self {
        Speaker { left: if let Times::AtMost(times) = times { times } else { 0 } }
    }

    fn wishes(&self) -> Vec<Wish> {
        if self.left > 0 { vec![Wish::Enter] } else { Vec::new() }
    }

    fn wish(&mut self, _: Wish) -> Deed<Say> {
        self.left -= 1;
        Deed::Ask(Say)
    }

    fn hear(&mut self, output: &Nothing, _: bool) {
        match *output {}
    }

    fn crash(&mut self) {}
}

/// A state as 128 bits. That two share them is a chance of one in 10²⁶ for a million states.
pub(crate) fn fingerprint(state: &impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        state.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}
