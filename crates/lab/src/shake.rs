//! Faults at random, by the seed of a run: crashes and returns, and if wanted pauses and cuts of the network.
//!
//! They come one after the other, each at some time after the one before: so that some meet, and others find the
//! algorithm at rest. In the end more than half of the processes live, nobody is paused, and the network is whole.

use std::collections::BTreeSet;

use quorate_core::id::Id;
use quorate_core::process::Ticks;

use crate::experiment::Experiment;
use crate::network::Partition;
use crate::random::{Chance, mix};
use crate::simulate::Fault;
use crate::time::DELTA;

/// What happens at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shaking {
    /// Crashes and returns. A detector that forgives lost messages is right about them.
    Crashes,
    /// Crashes, returns, pauses and cuts of the network: the living are taken for dead.
    Everything,
}

/// From one fault to the next, on average.
const APART: f64 = 20.0;

/// How long the dead are away, on average, pauses last, and the network is cut.
const LASTS: f64 = 25.0;

impl Experiment {
    /// The same, with so many random faults in place of its own.
    #[must_use]
    pub fn shaken(&self, shaking: Shaking, faults: u32) -> Experiment {
        let mut shaker = Shaker {
            chance: Chance::new(mix(self.seed, 4, u64::from(faults))),
            n: self.n,
            faults: Vec::new(),
            partitions: Vec::new(),
            dead_for_good: BTreeSet::new(),
        };
        let mut at = 0;
        for _ in 0..faults {
            at += shaker.while_of(APART);
            match shaking {
                Shaking::Crashes => shaker.crash(at),
                Shaking::Everything => match shaker.chance.below(3) {
                    0 => shaker.crash(at),
                    1 => shaker.pause(at),
                    _ => shaker.cut(at),
                },
            }
        }
        Experiment { faults: shaker.faults, partitions: shaker.partitions, ..self.clone() }
    }
}

struct Shaker {
    chance: Chance,
    n: u32,
    faults: Vec<Fault>,
    partitions: Vec<Partition>,
    dead_for_good: BTreeSet<Id>,
}

impl Shaker {
    /// Some time, memoryless, with this mean in δ.
    fn while_of(&mut self, mean: f64) -> Ticks {
        1 + self.chance.exponential(mean * DELTA as f64) as Ticks
    }

    fn anybody(&mut self) -> Id {
        Id::at(self.chance.below(u64::from(self.n)) as usize)
    }

    /// Somebody crashes, and comes back in three of four cases, or if too few would be left.
    fn crash(&mut self, at: Ticks) {
        let id = self.anybody();
        let may_stay_away = 2 * (self.dead_for_good.len() + 1) < self.n as usize && !self.dead_for_good.contains(&id);
        let away = self.while_of(LASTS);
        let stays_away = self.chance.happens(0.25) && may_stay_away;
        self.faults.push(Fault::Crash(id, at));
        if stays_away {
            // Who is to stay away may not be brought back by the end of an earlier absence.
            self.faults.retain(|fault| !matches!(fault, Fault::Restart(other, back) if *other == id && *back > at));
            self.dead_for_good.insert(id);
        } else if !self.dead_for_good.contains(&id) {
            self.faults.push(Fault::Restart(id, at.saturating_add(away)));
        }
    }

    fn pause(&mut self, at: Ticks) {
        let (id, lasts) = (self.anybody(), self.while_of(LASTS));
        self.faults.push(Fault::Pause(id, at, at.saturating_add(lasts)));
    }

    /// The network falls into two parts.
    fn cut(&mut self, at: Ticks) {
        let part: Vec<Id> = Id::all(self.n).filter(|_| self.chance.happens(0.5)).collect();
        let lasts = self.while_of(LASTS);
        self.partitions.push(Partition { parts: vec![part], from: at, to: at.saturating_add(lasts) });
    }
}
