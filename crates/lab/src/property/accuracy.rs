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
            What::Crashed | What::Stopped => {
                self.crashed.insert(record.process);
                None
            }
            What::Restarted { .. } => {
                self.crashed.remove(&record.process);
                None
            }
            What::Opinion { of, opinion: Opinion::Suspected | Opinion::Failed } if !self.crashed.contains(&of) => {
                Some(format!("{} suspected {of}, which was running", record.process))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{AGAIN, broken, thinks};
    use quorate_core::catalog::Property::Accuracy;
    use quorate_core::trace::Opinion::{Failed, Suspected, Unsuspected};
    use quorate_core::trace::What::{Crashed, Paused};

    #[test]
    fn to_think_the_dead_dead_and_the_living_alive_holds() {
        let history =
            [(3, Crashed), (1, thinks(3, Failed)), (2, thinks(3, Suspected)), (3, AGAIN), (1, thinks(3, Unsuspected))];
        assert_eq!(broken(Accuracy, &history), None);
    }

    #[test]
    fn to_suspect_the_living_breaks_it_at_once_even_if_it_is_taken_back() {
        let history = [(1, thinks(2, Suspected)), (1, thinks(2, Unsuspected))];
        assert_eq!(broken(Accuracy, &history), Some((0, "p1 suspected p2, which was running".into())));
        assert!(broken(Accuracy, &[(1, thinks(2, Failed)), (2, Crashed)]).is_some_and(|(at, _)| at == 0));
    }

    #[test]
    fn it_is_the_one_thought_of_that_must_be_dead() {
        assert!(broken(Accuracy, &[(1, Crashed), (1, thinks(2, Failed))]).is_some());
        assert!(broken(Accuracy, &[(3, Crashed), (1, thinks(2, Failed))]).is_some());
    }

    #[test]
    fn who_has_come_back_lives_and_who_is_paused_does_too() {
        assert!(broken(Accuracy, &[(2, Crashed), (2, AGAIN), (1, thinks(2, Failed))]).is_some());
        assert!(broken(Accuracy, &[(2, Paused), (1, thinks(2, Suspected))]).is_some());
    }
}
