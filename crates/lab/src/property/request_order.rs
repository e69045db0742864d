//! ME3: of two requests of which one happened before the other, that one is served first.
//!
//! What happened before is followed exactly, through every message, those of the application included. Only requests that
//! still wait matter: so what a process knows is the set of processes whose current request is in its past, and a message
//! carries the set its sender knew. A request that is served, or taken back, leaves all sets.

use std::collections::BTreeMap;

use quorate_core::id::{Id, IdSet};
use quorate_core::trace::{Record, Sequence, What};

/// The waiting requests, and who has which of them in its past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestOrder {
    /// Whose waiting requests are in the past of each process.
    past: BTreeMap<Id, IdSet>,
    /// The same for each message on its way, by sender and name, as long as there is anything in it.
    carried: BTreeMap<(Id, Sequence), IdSet>,
    /// For each waiting request, whose requests happened before it and still wait.
    behind: BTreeMap<Id, IdSet>,
}

impl RequestOrder {
    pub(super) fn observe(&mut self, record: &Record) -> Option<String> {
        let me = record.process;
        match record.what {
            What::Wanted => {
                let past = self.past.entry(me).or_default();
                self.behind.insert(me, past.clone());
                past.insert(me);
                None
            }
            What::Entered { .. } => {
                let overtaken = self.behind.get(&me).and_then(|behind| behind.iter().next());
                self.forget(me);
                overtaken.map(|other| format!("{me} entered before {other}, whose request had happened before"))
            }
            What::Withdrew => {
                self.forget(me);
                None
            }
            What::Crashed => {
                self.forget(me);
                self.past.remove(&me);
                None
            }
            What::Sent { sequence, .. } | What::Poked { sequence, .. } => {
                if let Some(past) = self.past.get(&me)
                    && !past.is_empty()
                {
                    self.carried.insert((me, sequence), past.clone());
                }
                None
            }
            What::Received { from, sequence, .. } | What::Heard { from, sequence } => {
                // A duplicate tells nothing that its original did not, or will not when it comes.
                if let Some(carried) = self.carried.remove(&(from, sequence)) {
                    let past = self.past.entry(me).or_default();
                    for id in carried.iter() {
                        past.insert(id);
                    }
                }
                None
            }
            What::Lost { sequence, .. } => {
                self.carried.remove(&(me, sequence));
                None
            }
            _ => None,
        }
    }

    /// The request of this process waits no more.
    fn forget(&mut self, id: Id) {
        self.behind.remove(&id);
        for known in self.past.values_mut().chain(self.behind.values_mut()) {
            known.remove(id);
        }
        self.carried.retain(|_, carried| {
            carried.remove(id);
            !carried.is_empty()
        });
    }
}
