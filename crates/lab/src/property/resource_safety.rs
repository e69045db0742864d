//! A resource that checks fences stays in order: once it has accepted a write it accepts none with a smaller fence, and
//! no two entries have the same fence.
//!
//! The first half is the resource's part: it remembers the largest fence, and needs nothing else. The second half is
//! the algorithm's: of two entries with the same fence, a resource cannot tell which is the older one. So this is less
//! than [fencing](super::Fencing): who enters late, with a fence that is no longer the largest, breaks that, but is
//! refused here. The writes of one entry share its fence.

use std::collections::BTreeSet;

use quorate_core::clock::Fence;
use quorate_core::trace::{Record, What};

/// The fences of all entries, and the largest that was accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResourceSafety {
    entries: BTreeSet<Fence>,
    accepted: Option<Fence>,
}

impl ResourceSafety {
    pub(super) fn observe(&mut self, record: &Record) -> Option<String> {
        match record.what {
            What::Entered { fence } => {
                let again = !self.entries.insert(fence);
                again.then(|| format!("{} entered with fence {fence}, which an earlier entry had", record.process))
            }
            What::Wrote { fence, accepted: true } => {
                let before = self.accepted;
                self.accepted = before.max(Some(fence));
                before.filter(|&before| fence < before).map(|before| {
                    format!(
                        "a write of {} with fence {fence} was accepted after one with fence {before}",
                        record.process
                    )
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{broken, entered, read, wrote};
    use quorate_core::catalog::Property::ResourceSafety;
    use quorate_core::trace::What::{Crashed, Leaving};

    #[test]
    fn whoever_is_inside_holds_while_old_writes_are_refused() {
        let history = [
            (1, entered(1)),
            (1, wrote(1, true)),
            (1, wrote(1, true)),
            (2, entered(2)),
            (2, wrote(2, true)),
            (1, wrote(1, false)),
            (2, wrote(2, true)),
        ];
        assert_eq!(broken(ResourceSafety, &history), None);
    }

    #[test]
    fn an_old_write_that_is_accepted_after_a_new_one_breaks_it() {
        let history = [(1, entered(1)), (2, entered(2)), (2, wrote(2, true)), (1, wrote(1, true)), (1, wrote(1, true))];
        let why = "a write of p1 with fence 1 was accepted after one with fence 2";
        assert_eq!(broken(ResourceSafety, &history), Some((3, why.into())));
    }

    #[test]
    fn an_old_write_before_the_first_new_one_does_not() {
        let history = [(1, entered(1)), (2, entered(2)), (2, read(2, true)), (1, wrote(1, true)), (2, wrote(2, true))];
        assert_eq!(broken(ResourceSafety, &history), None);
    }

    #[test]
    fn a_late_entry_with_a_smaller_fence_does_not_but_the_same_fence_does() {
        let history = [(2, entered(2)), (1, entered(1)), (2, wrote(2, true)), (1, wrote(1, false))];
        assert_eq!(broken(ResourceSafety, &history), None);
        let why = "p2 entered with fence 1, which an earlier entry had";
        assert_eq!(broken(ResourceSafety, &[(1, entered(1)), (2, entered(1))]), Some((1, why.into())));
        // Leaving and crashing free no fence.
        let history = [(1, entered(1)), (1, Leaving), (2, entered(2)), (2, Crashed), (2, entered(1))];
        assert!(broken(ResourceSafety, &history).is_some_and(|(at, _)| at == 4));
    }
}
