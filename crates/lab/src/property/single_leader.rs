//! E1: no two live processes name different live leaders.
//!
//! Who names a process that has crashed since names nobody: it just has not heard yet.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::id::Id;
use quorate_core::trace::{Record, What};

/// Whom each live process names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SingleLeader {
    named: BTreeMap<Id, Id>,
    /// Who names each leader: the same, the other way round.
    followers: BTreeMap<Id, BTreeSet<Id>>,
    crashed: BTreeSet<Id>,
}

impl SingleLeader {
    pub(super) fn observe(&mut self, record: &Record) -> Option<String> {
        match record.what {
            What::Leader { leader } => {
                if self.named.get(&record.process) == Some(&leader) {
                    return None;
                }
                self.forget(record.process);
                self.named.insert(record.process, leader);
                self.followers.entry(leader).or_default().insert(record.process);
                if self.crashed.contains(&leader) {
                    return None;
                }
                let other = self.followers.iter().find(|(named, _)| **named != leader && !self.crashed.contains(named));
                other.and_then(|(named, followers)| Some((named, followers.first()?))).map(|(named, who)| {
                    format!("{} named {leader} its leader while {who} had named {named}", record.process)
                })
            }
            // An election called anew puts an end to what was decided before.
            What::Called => {
                self.forget(record.process);
                None
            }
            What::Crashed => {
                self.forget(record.process);
                self.crashed.insert(record.process);
                None
            }
            What::Restarted { .. } => {
                self.crashed.remove(&record.process);
                None
            }
            _ => None,
        }
    }

    /// The process names nobody any more.
    fn forget(&mut self, id: Id) {
        if let Some(leader) = self.named.remove(&id)
            && let Some(followers) = self.followers.get_mut(&leader)
        {
            followers.remove(&id);
            if followers.is_empty() {
                self.followers.remove(&leader);
            }
        }
    }
}
