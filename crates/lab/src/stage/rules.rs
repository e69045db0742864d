//! What may happen on a stage at all, and how often.

use std::collections::BTreeSet;

use quorate_core::id::Id;
use quorate_core::process::Ticks;

use super::wish::Times;
use crate::network::Order;

/// What may happen at all, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// In which order messages arrive.
    pub order: Order,
    /// How many ticks a message takes at most, where there is time.
    pub delay_bound: Option<Ticks>,
    /// Whether everybody is told of every crash, at some time after it.
    pub detector: bool,
    /// Whether an application's message carries a stamp.
    pub stamped_pokes: bool,
    /// How often each application asks.
    pub times: Times,
    /// Who does not ask, by custom.
    pub coordinator: Option<Id>,
    /// Whether the applications call elections, so that somebody has to.
    pub elects: bool,
    /// Who has crashed before the run.
    pub absent: BTreeSet<Id>,
    /// How often the rest may happen, in all.
    pub bounds: Bounds,
    /// Whether it matters whose request is in whose past.
    pub causal: bool,
}

/// How often things may happen, in all; or how often they still may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Messages of the applications.
    pub pokes: u32,
    /// Crashes.
    pub crashes: u32,
    /// Returns of those who crashed.
    pub restarts: u32,
    /// Losses of a message.
    pub losses: u32,
    /// Second arrivals of a message.
    pub duplicates: u32,
    /// Withdrawals of a request.
    pub withdrawals: u32,
    /// Timers that run out; any number, if none is said.
    pub timeouts: Option<u32>,
}

impl Rules {
    /// How often this application asks.
    pub fn times_of(&self, id: Id, n: u32) -> Times {
        if n > 1 && self.coordinator == Some(id) { Times::AtMost(0) } else { self.times }
    }
}
