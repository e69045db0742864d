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
            .map(|before| format!("{} entered with fence {fence} after an entry with fence {before}", record.process))
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{AGAIN, broken, entered};
    use quorate_core::catalog::Property::Fencing;
    use quorate_core::trace::What::{Crashed, Leaving};

    #[test]
    fn growing_fences_hold_whatever_the_gaps_and_whoever_enters() {
        let history = [(1, entered(1)), (1, Leaving), (2, entered(5)), (2, Crashed), (2, AGAIN), (2, entered(6))];
        assert_eq!(broken(Fencing, &history), None);
    }

    #[test]
    fn the_same_fence_twice_breaks_it() {
        let history = [(1, entered(4)), (1, Leaving), (2, entered(4))];
        assert_eq!(broken(Fencing, &history), Some((2, "p2 entered with fence 4 after an entry with fence 4".into())));
        assert!(broken(Fencing, &[(1, entered(4)), (1, Leaving), (1, entered(4))]).is_some());
    }

    #[test]
    fn a_smaller_fence_than_any_before_breaks_it() {
        // Larger than the last one, but not than the largest.
        let history = [(1, entered(2)), (2, entered(7)), (3, entered(5))];
        assert_eq!(broken(Fencing, &history), Some((2, "p3 entered with fence 5 after an entry with fence 7".into())));
    }

    #[test]
    fn crashes_excuse_nothing() {
        let history = [(1, entered(3)), (1, Crashed), (1, AGAIN), (1, entered(1))];
        assert!(broken(Fencing, &history).is_some_and(|(at, _)| at == 3));
    }
}
