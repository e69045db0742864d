//! E2: in the end every live process names the live process with the largest id.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::id::Id;
use quorate_core::trace::{Record, What};

/// Who lives, and whom each names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decided {
    live: BTreeSet<Id>,
    named: BTreeMap<Id, Id>,
}

impl Decided {
    pub(super) fn new(n: u32) -> Decided {
        Decided { live: Id::all(n).collect(), named: BTreeMap::new() }
    }

    pub(super) fn observe(&mut self, record: &Record) {
        match record.what {
            What::Leader { leader } => {
                self.named.insert(record.process, leader);
            }
            What::Crashed => {
                self.live.remove(&record.process);
                self.named.remove(&record.process);
            }
            What::Restarted { .. } => {
                self.live.insert(record.process);
            }
            _ => {}
        }
    }

    pub(super) fn end(&self) -> Option<String> {
        let largest = self.live.last()?;
        let wrong = self.live.iter().find(|id| self.named.get(id) != Some(largest))?;
        Some(match self.named.get(wrong) {
            Some(named) => format!("{wrong} names {named}, but {largest} is the largest that lives"),
            None => format!("{wrong} names nobody"),
        })
    }
}
