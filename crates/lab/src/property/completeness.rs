//! In the end, every live process takes every dead one for dead.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::id::Id;
use quorate_core::trace::{Opinion, Record, What};

/// Who lives, and whom each takes for dead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Completeness {
    live: BTreeSet<Id>,
    crashed: BTreeSet<Id>,
    thought_dead: BTreeMap<Id, BTreeSet<Id>>,
}

impl Completeness {
    pub(super) fn new(n: u32) -> Completeness {
        Completeness { live: Id::all(n).collect(), crashed: BTreeSet::new(), thought_dead: BTreeMap::new() }
    }

    pub(super) fn observe(&mut self, record: &Record) {
        match record.what {
            What::Crashed | What::Stopped => {
                self.live.remove(&record.process);
                self.crashed.insert(record.process);
                self.thought_dead.remove(&record.process);
            }
            What::Restarted { .. } => {
                self.crashed.remove(&record.process);
                self.live.insert(record.process);
            }
            What::Opinion { of, opinion } => {
                let thought_dead = self.thought_dead.entry(record.process).or_default();
                match opinion {
                    Opinion::Suspected | Opinion::Failed => thought_dead.insert(of),
                    Opinion::Unsuspected => thought_dead.remove(&of),
                };
            }
            _ => {}
        }
    }

    pub(super) fn end(&self) -> Option<String> {
        let nobody = BTreeSet::new();
        self.live.iter().find_map(|who| {
            let thought_dead = self.thought_dead.get(who).unwrap_or(&nobody);
            let missed = self.crashed.difference(thought_dead).next();
            missed.map(|dead| format!("{who} never detected that {dead} had crashed"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{AGAIN, broken, thinks};
    use quorate_core::catalog::Property::Completeness;
    use quorate_core::trace::Opinion::{Failed, Suspected, Unsuspected};
    use quorate_core::trace::What::Crashed;

    #[test]
    fn it_holds_if_every_live_one_has_found_every_dead_one() {
        let history = [(3, Crashed), (1, thinks(3, Failed)), (2, thinks(3, Suspected))];
        assert_eq!(broken(Completeness, &history), None);
        assert_eq!(broken(Completeness, &[]), None);
    }

    #[test]
    fn one_that_has_not_found_out_breaks_it_in_the_end() {
        let history = [(3, Crashed), (1, thinks(3, Failed))];
        assert_eq!(broken(Completeness, &history), Some((2, "p2 never detected that p3 had crashed".into())));
    }

    #[test]
    fn opinions_of_the_living_are_free() {
        assert_eq!(broken(Completeness, &[(1, thinks(2, Failed))]), None);
    }

    #[test]
    fn an_opinion_taken_back_does_not_count_and_an_early_one_does() {
        let history = [(3, Crashed), (1, thinks(3, Failed)), (2, thinks(3, Failed)), (2, thinks(3, Unsuspected))];
        assert!(broken(Completeness, &history).is_some());
        assert_eq!(broken(Completeness, &[(1, thinks(3, Failed)), (2, thinks(3, Failed)), (3, Crashed)]), None);
    }

    #[test]
    fn the_dead_need_not_find_out() {
        assert_eq!(
            broken(Completeness, &[(3, Crashed), (2, Crashed), (1, thinks(3, Failed)), (1, thinks(2, Failed))]),
            None
        );
        assert_eq!(broken(Completeness, &[(1, Crashed), (2, Crashed), (3, Crashed)]), None);
    }

    #[test]
    fn who_has_come_back_need_not_be_found_but_must_find_out_anew() {
        assert_eq!(broken(Completeness, &[(3, Crashed), (3, AGAIN)]), None);
        let found = [(3, Crashed), (1, thinks(3, Failed)), (2, thinks(3, Failed))];
        let history = [&found[..], &[(2, Crashed), (1, thinks(2, Failed)), (2, AGAIN)]].concat();
        assert_eq!(broken(Completeness, &history), Some((6, "p2 never detected that p3 had crashed".into())));
        let history = [&history[..], &[(2, thinks(3, Suspected))]].concat();
        assert_eq!(broken(Completeness, &history), None);
    }
}
