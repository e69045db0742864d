//! What may happen on a stage at all, and how often.

use std::collections::BTreeSet;

use quorate_core::id::Id;
use quorate_core::process::Ticks;

use super::wish::Times;
use crate::network::Order;

/// What may happen at all, and how often.
///
/// # Sessions
/// What recovery is built upon: messages arrive in order and once between two lives, and everybody is told where a life
/// ends and where the next one begins, in that order.
/// - A crash takes any end of what is on its way from the dead to each other process. Who is told of the crash gets
///   nothing more of that life. What was sent to the dead is void.
/// - Who comes back speaks to the others from where they are told that it is back, and is spoken to by each from where
///   that one was told. What is sent to it before is void.
/// - One may be [suspected](Bounds::suspicions) although it lives. Then the session between the two ends: the one is
///   told at once that the other has crashed, and later that it is back; the other is told both of the one. What was on
///   its way is lost, or an end of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// In which order messages arrive.
    pub order: Order,
    /// How many ticks a message takes at most, where there is time.
    pub delay_bound: Option<Ticks>,
    /// Whether everybody is told of every crash, at some time after it.
    pub detector: bool,
    /// Whether messages travel in [sessions](Rules#sessions).
    pub sessions: bool,
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
    /// Whether a read of the [resource](super::resource) is a seal.
    pub sealed: bool,
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
    /// Writes to the [resource](super::resource). While none is left, nobody reads it either.
    pub writes: u32,
    /// Suspicions of who lives, where messages travel in sessions.
    pub suspicions: u32,
    /// Timers that run out; any number, if none is said.
    pub timeouts: Option<u32>,
}

impl Rules {
    /// How often this application asks.
    pub fn times_of(&self, id: Id, n: u32) -> Times {
        if n > 1 && self.coordinator == Some(id) { Times::AtMost(0) } else { self.times }
    }
}
