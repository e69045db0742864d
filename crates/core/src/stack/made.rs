//! The code of every stack, compiled in this crate.
//!
//! What is generic is compiled by who uses it, and many use all stacks: the laboratory, the network, their tests. Where
//! crates share what they have compiled, as they do in builds for tests, it is enough to do it once, which is here.
//! Nothing is run.

use crate::catalog::{self, ENTRIES, Visitor};
use crate::detector::Detector;
use crate::election::Election;
use crate::mutex::Mutex;
use crate::process::{Effects, Event, perform};

use super::Surviving;

/// Names the steps of every stack, so that there is code for them. Returns how many there are.
pub fn all_stacks() -> usize {
    ENTRIES.iter().filter(|entry| catalog::visit(entry.name, Made) == Ok(true)).count()
}

/// What a driver calls.
type Step<P> = fn(&mut P, Event<P>, &mut Effects<P>);

struct Made;

impl Visitor for Made {
    type Output = bool;

    fn mutex<M: Mutex>(self) -> bool {
        core::hint::black_box::<Step<Surviving<M>>>(perform);
        true
    }

    fn election<E: Election>(self) -> bool {
        false
    }

    fn detector<D: Detector>(self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Family;

    #[test]
    fn every_mutual_exclusion_algorithm_has_a_stack() {
        assert_eq!(all_stacks(), ENTRIES.iter().filter(|entry| entry.family == Family::Mutex).count());
    }
}
