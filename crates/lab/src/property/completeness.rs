//! In the end, every live process takes every dead one for dead.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::id::Id;
use quorate_core::trace::{Opinion, Record, What};

/// Who lives, and whom each takes for dead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Completeness {
    live: BTreeSet<Id>,
    crashed: BTreeSet<Id>,
    thought_dead: BTreeMap<Id, BTreeSet<Id>>,
}

impl Completeness {
    pub(super) fn new(n: u32) -> Completeness {
        Completeness { live: Id::all(n).collect(), crashed: BTreeSet::new(), thought_dead: BTreeMap::new() }
    }

    pub(super) fn observe(&mut self, record: &Record) {
        match record.what {
            What::Crashed => {
                self.live.remove(&record.process);
                self.crashed.insert(record.process);
                self.thought_dead.remove(&record.process);
            }
            What::Restarted { .. } => {
                self.crashed.remove(&record.process);
                self.live.insert(record.process);
            }
            What::Opinion { of, opinion } => {
                let thought_dead = self.thought_dead.entry(record.process).or_default();
                match opinion {
                    Opinion::Suspected | Opinion::Failed => thought_dead.insert(of),
                    Opinion::Unsuspected => thought_dead.remove(&of),
                };
            }
            _ => {}
        }
    }

    pub(super) fn end(&self) -> Option<String> {
        let nobody = BTreeSet::new();
        self.live.iter().find_map(|who| {
            let thought_dead = self.thought_dead.get(who).unwrap_or(&nobody);
            let missed = self.crashed.difference(thought_dead).next();
            missed.map(|dead| format!("{who} never found out that {dead} had crashed"))
        })
    }
}
