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
            What::Entered { .. } | What::Withdrew | What::Crashed | What::Stopped => {
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
        Some(format!("{}{more} still waited at the end", waiting.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{AGAIN, broken, entered};
    use quorate_core::catalog::Property::Progress;
    use quorate_core::trace::What::{Crashed, Exited, Leaving, Wanted, Withdrew};

    #[test]
    fn it_holds_if_everybody_who_asks_gets_in() {
        let history = [(2, Wanted), (1, Wanted), (1, entered(1)), (1, Leaving), (1, Exited), (2, entered(2))];
        assert_eq!(broken(Progress, &history), None);
        assert_eq!(broken(Progress, &[]), None);
    }

    #[test]
    fn who_waits_at_the_end_breaks_it() {
        let history = [(3, Wanted), (2, Wanted), (1, Wanted), (1, entered(1)), (1, Leaving)];
        let why = "p2, p3 still waited at the end";
        assert_eq!(broken(Progress, &history), Some((5, why.into())));
    }

    #[test]
    fn being_served_once_is_not_enough() {
        let history = [(1, Wanted), (1, entered(1)), (1, Leaving), (1, Exited), (1, Wanted)];
        assert!(broken(Progress, &history).is_some_and(|(at, why)| at == 5 && why.starts_with("p1 still waited")));
    }

    #[test]
    fn requests_taken_back_need_not_be_served() {
        assert_eq!(broken(Progress, &[(1, Wanted), (1, Withdrew)]), None);
        assert!(broken(Progress, &[(1, Wanted), (1, Withdrew), (1, Wanted)]).is_some());
        assert!(broken(Progress, &[(1, Wanted), (2, Withdrew)]).is_some());
    }

    #[test]
    fn requests_of_the_crashed_need_not_be_served_but_those_of_their_next_lives_do() {
        assert_eq!(broken(Progress, &[(1, Wanted), (1, Crashed)]), None);
        assert_eq!(broken(Progress, &[(1, Wanted), (1, Crashed), (1, AGAIN)]), None);
        assert!(broken(Progress, &[(1, Wanted), (1, Crashed), (1, AGAIN), (1, Wanted)]).is_some());
        assert!(broken(Progress, &[(1, Wanted), (2, Crashed)]).is_some());
    }

    #[test]
    fn a_long_list_of_waiting_ones_is_cut_short() {
        let history: Vec<_> = (1..=10).map(|id| (id, Wanted)).collect();
        let why = "p1, p2, p3, p4, p5, p6, p7, p8 and 2 more still waited at the end";
        assert_eq!(broken(Progress, &history), Some((10, why.into())));
    }
}
