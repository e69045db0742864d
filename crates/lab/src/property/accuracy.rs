//! No live process is thought dead.

use std::collections::BTreeSet;

use quorate_core::id::Id;
use quorate_core::trace::{Opinion, Record, What};

/// Who has crashed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Accuracy {
    crashed: BTreeSet<Id>,
}

impl Accuracy {
    pub(super) fn observe(&mut self, record: &Record) -> Option<String> {
        match record.what {
            What::Crashed => {
                self.crashed.insert(record.process);
                None
            }
            What::Restarted { .. } => {
                self.crashed.remove(&record.process);
                None
            }
            What::Opinion { of, opinion: Opinion::Suspected | Opinion::Failed } if !self.crashed.contains(&of) => {
                Some(format!("{} took {of} for dead, which lived", record.process))
            }
            _ => None,
        }
    }
}
