//! ME1: at most one process is inside. A crashed one is not inside.

use std::collections::BTreeSet;

use quorate_core::id::Id;
use quorate_core::trace::{Record, What};

/// Who is inside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MutualExclusion {
    inside: BTreeSet<Id>,
}

impl MutualExclusion {
    pub(super) fn observe(&mut self, record: &Record) -> Option<String> {
        match record.what {
            What::Entered { .. } => {
                let already = self.inside.first().copied();
                self.inside.insert(record.process);
                already.map(|other| format!("{} entered while {other} was inside", record.process))
            }
            What::Leaving | What::Withdrew | What::Crashed => {
                self.inside.remove(&record.process);
                None
            }
            _ => None,
        }
    }
}
