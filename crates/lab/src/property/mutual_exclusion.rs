//! ME1: at most one process is inside, and only once. A crashed one is not inside.

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
            What::Leaving | What::Withdrew | What::Crashed | What::Stopped => {
                self.inside.remove(&record.process);
                None
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{AGAIN, broken, entered};
    use quorate_core::catalog::Property::MutualExclusion;
    use quorate_core::trace::What::{Crashed, Exited, Leaving, Wanted, Withdrew};

    #[test]
    fn taking_turns_holds() {
        let history = [
            (1, Wanted),
            (2, Wanted),
            (1, entered(1)),
            (1, Leaving),
            (2, entered(2)),
            // Who has left is outside, however long its exit takes.
            (1, Exited),
            (2, Leaving),
            (1, entered(3)),
        ];
        assert_eq!(broken(MutualExclusion, &history), None);
    }

    #[test]
    fn two_at_once_break_it_when_the_second_enters() {
        let history = [(1, entered(1)), (2, Wanted), (2, entered(2)), (1, Leaving)];
        assert_eq!(broken(MutualExclusion, &history), Some((2, "p2 entered while p1 was inside".into())));
    }

    #[test]
    fn another_leaving_does_not_let_the_first_out() {
        let history = [(1, entered(1)), (2, Leaving), (2, Crashed), (2, Withdrew), (3, entered(2))];
        assert_eq!(broken(MutualExclusion, &history), Some((4, "p3 entered while p1 was inside".into())));
    }

    #[test]
    fn who_enters_again_without_leaving_breaks_it() {
        let history = [(1, entered(1)), (1, entered(2))];
        assert_eq!(broken(MutualExclusion, &history), Some((1, "p1 entered while p1 was inside".into())));
    }

    #[test]
    fn a_crashed_one_is_not_inside_nor_is_its_next_life() {
        let history = [(1, entered(1)), (1, Crashed), (2, entered(2)), (1, AGAIN), (2, Leaving), (1, entered(3))];
        assert_eq!(broken(MutualExclusion, &history), None);
        let history = [(1, entered(1)), (1, Crashed), (1, AGAIN), (1, entered(2)), (2, entered(3))];
        assert_eq!(broken(MutualExclusion, &history), Some((4, "p2 entered while p1 was inside".into())));
    }

    #[test]
    fn who_withdraws_when_let_in_is_not_inside() {
        assert_eq!(broken(MutualExclusion, &[(1, entered(1)), (1, Withdrew), (2, entered(2))]), None);
    }
}
