//! E2: in the end every live process names the live process with the largest id.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::id::Id;
use quorate_core::trace::{Record, What};

/// Who lives, and whom each names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decided {
    live: BTreeSet<Id>,
    named: BTreeMap<Id, Id>,
}

impl Decided {
    pub(super) fn new(n: u32) -> Decided {
        Decided { live: Id::all(n).collect(), named: BTreeMap::new() }
    }

    pub(super) fn observe(&mut self, record: &Record) {
        match record.what {
            What::Leader { leader } => {
                self.named.insert(record.process, leader);
            }
            What::Crashed | What::Stopped => {
                self.live.remove(&record.process);
                self.named.remove(&record.process);
            }
            What::Restarted { .. } => {
                self.live.insert(record.process);
            }
            _ => {}
        }
    }

    /// Whether a live process names one that has crashed.
    pub fn names_the_dead(&self) -> bool {
        self.named.values().any(|leader| !self.live.contains(leader))
    }

    pub(super) fn end(&self) -> Option<String> {
        let largest = self.live.last()?;
        let wrong = self.live.iter().find(|id| self.named.get(id) != Some(largest))?;
        Some(match self.named.get(wrong) {
            Some(named) => format!("{wrong} follows {named}; the running process with the largest id is {largest}"),
            None => format!("{wrong} names no leader"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{AGAIN, broken, leader};
    use quorate_core::catalog::Property::Decided;
    use quorate_core::trace::What::{Called, Crashed};

    #[test]
    fn it_holds_if_all_name_the_largest_in_the_end() {
        let history = [(1, leader(1)), (1, Called), (3, leader(3)), (2, leader(3)), (1, leader(3))];
        assert_eq!(broken(Decided, &history), None);
    }

    #[test]
    fn who_names_nobody_breaks_it() {
        assert_eq!(broken(Decided, &[(3, leader(3)), (1, leader(3))]), Some((2, "p2 names no leader".into())));
    }

    #[test]
    fn agreeing_on_another_than_the_largest_breaks_it() {
        let why = "p1 follows p2; the running process with the largest id is p3";
        assert_eq!(broken(Decided, &[(1, leader(2)), (2, leader(2)), (3, leader(2))]), Some((3, why.into())));
    }

    #[test]
    fn the_largest_must_know_it_too() {
        assert_eq!(broken(Decided, &[(1, leader(3)), (2, leader(3))]), Some((2, "p3 names no leader".into())));
    }

    #[test]
    fn the_last_word_counts() {
        let history = [(1, leader(3)), (2, leader(3)), (3, leader(3)), (1, leader(1))];
        assert!(broken(Decided, &history).is_some());
    }

    #[test]
    fn the_crashed_neither_lead_nor_name() {
        let history = [(1, leader(3)), (3, Crashed), (1, leader(2)), (2, leader(2))];
        assert_eq!(broken(Decided, &history), None);
        let history = [(1, leader(3)), (2, leader(3)), (3, leader(3)), (3, Crashed)];
        let why = "p1 follows p3; the running process with the largest id is p2";
        assert_eq!(broken(Decided, &history), Some((4, why.into())));
        assert_eq!(broken(Decided, &[(1, Crashed), (2, Crashed), (3, Crashed)]), None, "nobody is left to decide");
    }

    #[test]
    fn who_comes_back_counts_again_and_has_forgotten_whom_it_named() {
        let history = [(3, leader(3)), (2, leader(3)), (1, leader(3)), (1, Crashed), (1, AGAIN)];
        assert_eq!(broken(Decided, &history), Some((5, "p1 names no leader".into())));
        let history = [(3, Crashed), (1, leader(2)), (2, leader(2)), (3, AGAIN)];
        assert!(broken(Decided, &history).is_some());
    }
}
