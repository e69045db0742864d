//! What a peer can cause is never a panic: every algorithm is told lies, at the wrong time, by the wrong process.
//!
//! Messages that processes have sent arrive anywhere, any number of times, from anybody, as they were or with any
//! number in them changed to another that the wire accepts. The only demands are that nothing panics, and that
//! processes address only each other.

use std::collections::BTreeSet;

use quorate_core::catalog::{self, ENTRIES, Entry, Visitor};
use quorate_core::clock::{Fence, Number};
use quorate_core::detector::Detector;
use quorate_core::election::{self, Election};
use quorate_core::id::Id;
use quorate_core::mutex::{Input, Mutex};
use quorate_core::process::{Effect, Effects, Event, Notice, Process, perform};
use quorate_core::setting::{Group, Options, Setting, Timing};
use quorate_core::stack::{Alone, Request, Withdrawable};
use serde_json::Value;

const STEPS: usize = 400;
const SEEDS: u64 = 60;

/// Numbers at which something could go wrong: ids that are or are not in the group, and the ends of all ranges.
const NUMBERS: [u64; 10] = [
    0,
    1,
    2,
    4,
    5,
    Fence::MOST_PROCESSES as u64 + 1,
    u32::MAX as u64,
    Number::LARGEST_RECEIVED,
    Number::LARGEST_RECEIVED + 1,
    u64::MAX,
];

/// Random choices that a seed decides (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// The same value with some of its numbers changed, those that are keys included.
    fn corrupt(&mut self, value: &mut Value) {
        match value {
            Value::Number(_) if self.below(2) == 0 => *value = self.pick(&NUMBERS).into(),
            Value::Number(_) | Value::Null | Value::Bool(_) | Value::String(_) => {}
            Value::Array(values) => {
                for value in values.iter_mut() {
                    self.corrupt(value);
                }
                if !values.is_empty() && self.below(4) == 0 {
                    values.push(self.pick(values));
                }
            }
            Value::Object(fields) => {
                for (key, mut value) in std::mem::take(fields) {
                    self.corrupt(&mut value);
                    let is_id = key.parse::<u64>().is_ok();
                    let key = if is_id && self.below(2) == 0 { self.pick(&NUMBERS).to_string() } else { key };
                    fields.insert(key, value);
                }
            }
        }
    }
}

fn torment<P: Process>(entry: &Entry, n: u32, seed: u64, new: fn(&Setting) -> P, inputs: &[P::Input]) {
    let group = Group::new(entry, n, 10, Timing::Synchronous, Options::defaults(entry)).unwrap();
    let mut dice = Dice(seed);
    let mut processes: Vec<P> = Id::all(n).map(|id| new(&Setting::new(id, &group))).collect();
    let mut said: Vec<P::Message> = Vec::new();
    let mut timers: Vec<BTreeSet<P::Timer>> = vec![BTreeSet::new(); n as usize];
    let mut effects = Effects::<P>::new(Id::new(1));
    for step in 0..n as usize + STEPS {
        let me = Id::at(if step < n as usize { step } else { dice.below(n as usize) });
        let peer = Id::at(dice.below(n as usize));
        let armed: Vec<P::Timer> = timers[me.index()].iter().cloned().collect();
        let event = match dice.below(8) {
            _ if step < n as usize => Event::Start { incarnation: 1, saved: None },
            0 | 1 if !inputs.is_empty() => Event::Input(dice.pick(inputs)),
            2 if !armed.is_empty() => Event::Timeout(dice.pick(&armed)),
            3 => Event::Notice(dice.pick(&[Notice::Suspect(peer), Notice::Trust(peer), Notice::Leader(peer)])),
            _ if said.is_empty() => continue,
            _ => {
                let mut value = serde_json::to_value(dice.pick(&said)).unwrap();
                if dice.below(3) == 0 {
                    dice.corrupt(&mut value);
                }
                // What the wire does not accept does not arrive.
                let Ok(message) = serde_json::from_value(value) else { continue };
                Event::Receive { from: peer, message }
            }
        };
        effects.reset(me);
        perform(&mut processes[me.index()], event, &mut effects);
        for effect in effects.drain() {
            match effect {
                Effect::Send { to, message } => {
                    assert!(to != me && to.number() <= n, "{} {me} of {n} writes to {to}, seed {seed}", entry.name);
                    said.push(message);
                }
                Effect::SetTimer { timer, after } => {
                    assert!(after.start() <= after.end(), "{} {me} of {n}, seed {seed}: {after:?}", entry.name);
                    timers[me.index()].insert(timer);
                }
                Effect::CancelTimer(timer) => {
                    timers[me.index()].remove(&timer);
                }
                Effect::Save(_) | Effect::Output(_) | Effect::Unexpected { .. } => {}
            }
        }
    }
}

struct Torment {
    n: u32,
    seed: u64,
}

impl Visitor for Torment {
    type Output = ();

    fn mutex<M: Mutex>(self) {
        let observe = Request::Observe(Number::try_from(Number::LARGEST_RECEIVED).unwrap());
        let wishes = [Request::Enter, Request::Enter, Request::Exit, Request::Withdraw];
        let inputs =
            if self.seed.is_multiple_of(2) { wishes.to_vec() } else { [wishes.as_slice(), &[observe]].concat() };
        torment(&M::ENTRY, self.n, self.seed, Withdrawable::<M>::new, &inputs);
        torment(&M::ENTRY, self.n, self.seed, Alone::<M>::new, &[Input::Enter, Input::Enter, Input::Exit]);
    }

    fn election<E: Election>(self) {
        torment(&E::ENTRY, self.n, self.seed, E::new, &[election::Input::Call]);
    }

    fn detector<D: Detector>(self) {
        torment(&D::ENTRY, self.n, self.seed, D::new, &[]);
    }
}

#[test]
fn no_message_makes_a_process_panic_or_address_nobody() {
    for entry in ENTRIES {
        for seed in 0..SEEDS {
            for n in [1, 2, 3, 4, 7] {
                catalog::visit(entry.name, Torment { n, seed }).unwrap();
            }
        }
    }
}
