//! What turns cost between real machines: messages by kind, and delays.
//!
//! - *Messages* are those of the algorithm about the resource, each counted once, however often it was sent.
//! - *Client delay*: from the request to the entry, by one clock.
//! - *Synchronization delay*: from an exit to the next entry, where who enters was already waiting. It compares the
//!   clocks of two machines; where they say that it was less than nothing, it is left out.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::id::Id;
use quorate_core::trace::What;

use super::merge::Event;
use crate::distribution::Distribution;

/// The meters of one resource, or of several.
#[derive(Clone, Debug, Default)]
pub struct Bill {
    /// How many turns there were.
    pub entries: u64,
    /// Turns that somebody else waited for, or had, while they were waited for.
    pub contended: u64,
    /// Messages, by kind.
    pub messages: BTreeMap<String, u64>,
    /// From the request to the entry, in microseconds.
    pub client_delay: Distribution,
    /// From an exit to the next entry, in microseconds.
    pub sync_delay: Distribution,
    /// Delays that the clocks of two machines do not agree on.
    pub negative: u64,
}

impl Bill {
    /// What a resource cost: `events` are all that concern it, in order.
    pub(super) fn of(events: &[&Event]) -> Bill {
        let mut bill = Bill::default();
        let mut asked: BTreeMap<Id, Asked> = BTreeMap::new();
        let mut inside: BTreeSet<Id> = BTreeSet::new();
        let mut left: Option<u64> = None;
        for event in events {
            let (me, at) = (event.record.process, event.record.at);
            match &event.record.what {
                What::Sent { label, .. } if event.resource.is_some() => {
                    *bill.messages.entry(label.kind.to_string()).or_default() += 1;
                }
                What::Wanted => {
                    let is_contended = !asked.is_empty() || inside.iter().any(|&other| other != me);
                    asked.values_mut().for_each(|other| other.is_contended = true);
                    asked.insert(me, Asked { at, is_contended });
                }
                What::Entered { .. } => {
                    bill.entries += 1;
                    if let Some(request) = asked.remove(&me) {
                        bill.contended += u64::from(request.is_contended);
                        bill.client_delay.add(at.saturating_sub(request.at));
                        bill.hand_over(left.take().filter(|&left| request.at <= left), at);
                    }
                    inside.insert(me);
                }
                What::Leaving if inside.remove(&me) => left = Some(at),
                What::Withdrew | What::Crashed | What::Stopped => {
                    asked.remove(&me);
                    inside.remove(&me);
                }
                _ => {}
            }
        }
        bill
    }

    fn hand_over(&mut self, left: Option<u64>, entered: u64) {
        match left.map(|left| entered.checked_sub(left)) {
            Some(Some(delay)) => self.sync_delay.add(delay),
            Some(None) => self.negative += 1,
            None => {}
        }
    }

    /// Adds another bill.
    pub(super) fn add(&mut self, other: &Bill) {
        self.entries += other.entries;
        self.contended += other.contended;
        self.negative += other.negative;
        for (kind, count) in &other.messages {
            *self.messages.entry(kind.clone()).or_default() += count;
        }
        self.client_delay.add_all(&other.client_delay);
        self.sync_delay.add_all(&other.sync_delay);
    }

    /// All messages.
    pub fn total(&self) -> u64 {
        self.messages.values().sum()
    }

    /// Messages an entry took, and its exit.
    pub fn per_entry(&self) -> Option<f64> {
        (self.entries > 0).then(|| self.total() as f64 / self.entries as f64)
    }
}

struct Asked {
    at: u64,
    is_contended: bool,
}
