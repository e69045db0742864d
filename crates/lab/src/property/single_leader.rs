//! E1: no two live processes name different live leaders.
//!
//! Who names a process that has crashed since names nobody: it just has not heard yet. That does not change when the
//! crashed one comes back, for a new life leads nobody until it is named anew.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::id::Id;
use quorate_core::trace::{Record, What};

/// Which live process each live process names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SingleLeader {
    named: BTreeMap<Id, Id>,
    /// Who names each leader: the same, the other way round.
    followers: BTreeMap<Id, BTreeSet<Id>>,
    crashed: BTreeSet<Id>,
}

impl SingleLeader {
    pub(super) fn observe(&mut self, record: &Record) -> Option<String> {
        match record.what {
            What::Leader { leader } => {
                if self.named.get(&record.process) == Some(&leader) {
                    return None;
                }
                self.forget(record.process);
                if self.crashed.contains(&leader) {
                    return None;
                }
                self.named.insert(record.process, leader);
                self.followers.entry(leader).or_default().insert(record.process);
                let other = self.followers.iter().find(|(named, _)| **named != leader);
                other.and_then(|(named, followers)| Some((named, followers.first()?))).map(|(named, who)| {
                    format!("{} named {leader} its leader while {who} had named {named}", record.process)
                })
            }
            // An election called anew puts an end to what was decided before.
            What::Called => {
                self.forget(record.process);
                None
            }
            What::Crashed | What::Stopped => {
                self.forget(record.process);
                self.crashed.insert(record.process);
                for follower in self.followers.remove(&record.process).unwrap_or_default() {
                    self.named.remove(&follower);
                }
                None
            }
            What::Restarted { .. } => {
                self.crashed.remove(&record.process);
                None
            }
            _ => None,
        }
    }

    /// The process names nobody any more.
    fn forget(&mut self, id: Id) {
        if let Some(leader) = self.named.remove(&id)
            && let Some(followers) = self.followers.get_mut(&leader)
        {
            followers.remove(&id);
            if followers.is_empty() {
                self.followers.remove(&leader);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{AGAIN, broken, leader};
    use quorate_core::catalog::Property::SingleLeader;
    use quorate_core::trace::What::{Called, Crashed};

    #[test]
    fn one_leader_holds_however_often_it_is_named() {
        let history = [(1, Called), (3, leader(3)), (1, leader(3)), (2, leader(3)), (1, leader(3)), (3, leader(3))];
        assert_eq!(broken(SingleLeader, &history), None);
        assert_eq!(broken(SingleLeader, &[]), None);
    }

    #[test]
    fn two_live_leaders_break_it_when_the_second_is_named() {
        let history = [(3, leader(3)), (2, leader(2)), (1, leader(3))];
        assert_eq!(broken(SingleLeader, &history), Some((1, "p2 named p2 its leader while p3 had named p3".into())));
    }

    #[test]
    fn who_changes_its_mind_breaks_it_only_if_others_have_not() {
        assert_eq!(broken(SingleLeader, &[(1, leader(2)), (1, leader(3)), (2, leader(3))]), None);
        let history = [(1, leader(2)), (2, leader(2)), (1, leader(3))];
        assert!(broken(SingleLeader, &history).is_some_and(|(at, _)| at == 2));
    }

    #[test]
    fn a_new_call_puts_an_end_to_what_the_caller_decided_and_only_that() {
        assert_eq!(broken(SingleLeader, &[(1, leader(2)), (1, Called), (3, leader(3))]), None);
        assert!(broken(SingleLeader, &[(1, leader(2)), (3, Called), (3, leader(3))]).is_some());
    }

    #[test]
    fn what_the_crashed_name_does_not_count() {
        assert_eq!(broken(SingleLeader, &[(1, leader(1)), (1, Crashed), (3, leader(3))]), None);
        assert_eq!(broken(SingleLeader, &[(1, leader(2)), (1, Crashed), (1, AGAIN), (3, leader(3))]), None);
    }

    #[test]
    fn who_names_a_crashed_leader_names_nobody() {
        assert_eq!(broken(SingleLeader, &[(1, leader(3)), (3, Crashed), (2, leader(2)), (1, leader(2))]), None);
        assert_eq!(broken(SingleLeader, &[(2, leader(2)), (3, Crashed), (1, leader(3)), (1, leader(2))]), None);
        assert!(broken(SingleLeader, &[(1, leader(3)), (2, Crashed), (3, leader(1))]).is_some());
    }

    #[test]
    fn a_leader_that_comes_back_does_not_lead_those_who_followed_its_former_life() {
        let history = [(1, leader(3)), (3, Crashed), (2, leader(2)), (3, AGAIN), (1, leader(2))];
        assert_eq!(broken(SingleLeader, &history), None);
        let history = [(1, leader(3)), (3, Crashed), (3, AGAIN), (2, leader(2))];
        assert_eq!(broken(SingleLeader, &history), None);
        let named_when_dead = [(3, Crashed), (1, leader(3)), (3, AGAIN), (2, leader(2))];
        assert_eq!(broken(SingleLeader, &named_when_dead), None);
        // But those who name it anew do follow it.
        let history = [(1, leader(3)), (3, Crashed), (2, leader(2)), (3, AGAIN), (1, leader(3))];
        assert!(broken(SingleLeader, &history).is_some_and(|(at, _)| at == 4));
    }
}
