//! ME2: every request of a live process is served, in the end.

use std::collections::BTreeSet;

use quorate_core::id::Id;
use quorate_core::trace::{Record, What};

/// Who waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Progress {
    waiting: BTreeSet<Id>,
}

impl Progress {
    pub(super) fn observe(&mut self, record: &Record) {
        match record.what {
            What::Wanted => {
                self.waiting.insert(record.process);
            }
            What::Entered { .. } | What::Withdrew | What::Crashed => {
                self.waiting.remove(&record.process);
            }
            _ => {}
        }
    }

    pub(super) fn end(&self) -> Option<String> {
        if self.waiting.is_empty() {
            return None;
        }
        let waiting: Vec<_> = self.waiting.iter().take(8).map(Id::to_string).collect();
        let more = if self.waiting.len() > 8 { format!(" and {} more", self.waiting.len() - 8) } else { String::new() };
        Some(format!("{}{more} still waited when nothing could happen any more", waiting.join(", ")))
    }
}
