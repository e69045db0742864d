//! Each entry's fence is larger than all before it.

use quorate_core::clock::Fence;
use quorate_core::trace::{Record, What};

/// The largest fence so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fencing {
    largest: Option<Fence>,
}

impl Fencing {
    pub(super) fn observe(&mut self, record: &Record) -> Option<String> {
        let What::Entered { fence } = record.what else { return None };
        let before = self.largest;
        self.largest = before.max(Some(fence));
        before
            .filter(|&before| fence <= before)
            .map(|before| format!("{} entered with fence {fence} after an entry with {before}", record.process))
    }
}
