//! A lock as an object that does one thing at a time: what a service of locks must look like to its clients.
//!
//! A request that waits takes effect when it is granted. The end of a session is an operation of nobody's: it may
//! happen at any moment after its client has last been sure of the session, and is given to the search as one that
//! was not answered. So a history in which somebody else is granted a lock of which its holder was still sure has no
//! order.

use std::collections::BTreeMap;

use super::{Moment, Object, Operation};

/// Who holds or asks, one number for each session.
pub type Who = u32;

/// The number of a grant.
pub type Fence = u64;

/// With whom a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// With nobody.
    Exclusive,
    /// With all others who share it.
    Shared,
}

/// What is asked of a lock, and answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// It was granted.
    Acquire {
        /// To whom.
        who: Who,
        /// How.
        mode: Mode,
        /// With this number, if that is known.
        fence: Option<Fence>,
    },
    /// It was not granted, as somebody else held it.
    Busy {
        /// Who asked.
        who: Who,
    },
    /// It was given back.
    Release {
        /// By whom.
        who: Who,
    },
    /// A session ended, with whatever it held.
    End {
        /// Whose.
        who: Who,
    },
    /// Somebody looked, and saw these holders with these fences.
    Look {
        /// Whom.
        holders: BTreeMap<Who, Fence>,
    },
}

/// Who holds a lock, and the largest fence so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    holders: BTreeMap<Who, (Mode, Option<Fence>)>,
    largest: Fence,
    /// Whether the largest fence is that of somebody who shared the lock: those who are let in together have the same.
    is_shared: bool,
}

/// A lock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lock;

impl Object for Lock {
    type State = State;
    type Call = Call;

    fn first(&self) -> State {
        State::default()
    }

    fn after(&self, state: &State, call: &Call) -> Option<State> {
        match call {
            Call::Acquire { who, mode, fence } => state.granted(*who, *mode, *fence),
            Call::Busy { who } => state.holders.keys().any(|holder| holder != who).then(|| state.clone()),
            Call::Release { who } | Call::End { who } => {
                let mut after = state.clone();
                after.holders.remove(who).map(|_| after)
            }
            Call::Look { holders } => state.looks_like(holders).then(|| state.clone()),
        }
    }

    fn number(&self, call: &Call) -> Option<Fence> {
        match call {
            Call::Acquire { fence, .. } => *fence,
            Call::Busy { .. } | Call::Release { .. } | Call::End { .. } | Call::Look { .. } => None,
        }
    }

    /// A grant of which nobody was told has no fence, so all that it can be of use for is that somebody holds the lock.
    fn helps(&self, state: &State, supposed: &Call, answered: &Call) -> bool {
        match supposed {
            Call::Acquire { who, .. } => state.is_explained_by_a_grant_to(*who, answered),
            Call::Release { who } | Call::End { who } => {
                state.holders.get(who).is_some_and(|held| state.is_explained_by_an_end_of(*who, held, answered))
            }
            Call::Busy { .. } | Call::Look { .. } => false,
        }
    }
}

impl State {
    fn is_explained_by_a_grant_to(&self, new: Who, answered: &Call) -> bool {
        match answered {
            Call::Acquire { .. } => false,
            Call::Busy { who } => new != *who && self.holders.keys().all(|holder| holder == who),
            Call::Release { who } | Call::End { who } => new == *who,
            Call::Look { holders } => holders.contains_key(&new),
        }
    }

    fn is_explained_by_an_end_of(&self, old: Who, held: &(Mode, Option<Fence>), answered: &Call) -> bool {
        let is_exclusive = held.0 == Mode::Exclusive;
        match answered {
            Call::Acquire { who, mode, .. } => *mode == Mode::Exclusive || is_exclusive || old == *who,
            // To make room for another one.
            Call::Busy { who } => self.holders.len() == 1 && old == *who,
            Call::Release { who } | Call::End { who } => !self.holders.contains_key(who),
            // Who is seen may have come back, with another fence, or to share what it had alone.
            Call::Look { holders } => match holders.get(&old) {
                Some(seen) => held.1.is_some_and(|fence| fence != *seen) || is_exclusive && holders.len() > 1,
                None => true,
            },
        }
    }

    fn granted(&self, who: Who, mode: Mode, fence: Option<Fence>) -> Option<State> {
        let is_free = match mode {
            Mode::Exclusive => self.holders.is_empty(),
            Mode::Shared => self.holders.values().all(|(held, _)| *held == Mode::Shared),
        };
        let mut after = self.clone();
        if let Some(fence) = fence {
            let is_together = mode == Mode::Shared && self.is_shared && fence == self.largest;
            if fence <= self.largest && !is_together {
                return None;
            }
            (after.largest, after.is_shared) = (fence, mode == Mode::Shared);
        }
        let is_new = after.holders.insert(who, (mode, fence)).is_none();
        (is_free && is_new).then_some(after)
    }

    fn looks_like(&self, seen: &BTreeMap<Who, Fence>) -> bool {
        self.holders.len() == seen.len()
            && self.holders.iter().zip(seen).all(|((who, (_, fence)), (seen_who, seen_fence))| {
                who == seen_who && fence.is_none_or(|fence| fence == *seen_fence)
            })
    }
}

/// The end of a session, which may happen after its client has last been sure of it.
pub fn end(who: Who, last_sure: Moment) -> Operation<Call> {
    Operation { call: Call::End { who }, invoked: last_sure, answered: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::by_trying_all;
    use super::super::{Verdict, check};
    use super::*;

    fn acquire(who: Who, mode: Mode, fence: Fence, invoked: Moment, answered: Moment) -> Operation<Call> {
        Operation { call: Call::Acquire { who, mode, fence: Some(fence) }, invoked, answered: Some(answered) }
    }

    fn exclusive(who: Who, fence: Fence, invoked: Moment, answered: Moment) -> Operation<Call> {
        acquire(who, Mode::Exclusive, fence, invoked, answered)
    }

    fn shared(who: Who, fence: Fence, invoked: Moment, answered: Moment) -> Operation<Call> {
        acquire(who, Mode::Shared, fence, invoked, answered)
    }

    fn release(who: Who, invoked: Moment, answered: Option<Moment>) -> Operation<Call> {
        Operation { call: Call::Release { who }, invoked, answered }
    }

    fn busy(who: Who, invoked: Moment) -> Operation<Call> {
        Operation { call: Call::Busy { who }, invoked, answered: Some(invoked + 1) }
    }

    fn look<const N: usize>(holders: [(Who, Fence); N], invoked: Moment) -> Operation<Call> {
        Operation { call: Call::Look { holders: holders.into() }, invoked, answered: Some(invoked + 1) }
    }

    fn holds(history: &[Operation<Call>]) -> bool {
        match check(&Lock, history, 100_000) {
            Verdict::Linearizable => true,
            Verdict::Violated { .. } => false,
            Verdict::Undecided { .. } => panic!("not decided"),
        }
    }

    #[test]
    fn turns_hold_and_a_waiter_is_granted_after_the_release() {
        assert!(holds(&[exclusive(1, 3, 0, 2), exclusive(2, 5, 1, 12), release(1, 10, Some(11)), look([(2, 5)], 20)]));
    }

    #[test]
    fn two_at_once_break_it() {
        assert!(!holds(&[exclusive(1, 3, 0, 2), exclusive(2, 5, 1, 4), release(1, 10, Some(11))]));
        assert!(!holds(&[exclusive(1, 3, 0, 2), shared(2, 5, 3, 4)]));
        assert!(holds(&[shared(1, 3, 0, 2), shared(2, 5, 3, 4), look([(1, 3), (2, 5)], 6)]));
    }

    #[test]
    fn a_lock_goes_on_when_its_holder_is_not_sure_any_more_and_not_before() {
        let history = |last_sure| [exclusive(1, 3, 0, 2), end(1, last_sure), exclusive(2, 5, 1, 30)];
        assert!(holds(&history(20)));
        assert!(!holds(&history(31)));
    }

    #[test]
    fn fences_grow_but_readers_who_are_let_in_together_share_one() {
        assert!(!holds(&[exclusive(1, 5, 0, 2), release(1, 3, Some(4)), exclusive(2, 5, 5, 6)]));
        assert!(!holds(&[exclusive(1, 5, 0, 2), release(1, 3, Some(4)), shared(2, 5, 5, 6)]));
        assert!(holds(&[shared(1, 5, 0, 2), shared(2, 5, 0, 2)]));
    }

    #[test]
    fn a_grant_that_was_acknowledged_and_is_not_there_breaks_it() {
        assert!(!holds(&[exclusive(1, 3, 0, 2), end(1, 50), look([], 10)]));
        assert!(holds(&[exclusive(1, 3, 0, 2), end(1, 5), look([], 10)]));
        assert!(!holds(&[exclusive(1, 3, 0, 2), look([(1, 4)], 10)]));
    }

    #[test]
    fn an_unknown_request_explains_who_is_seen_and_an_unknown_release_who_is_not() {
        let unknown = unknown(1, Mode::Exclusive, 0);
        assert!(holds(&[unknown.clone(), look([], 5), look([(1, 7)], 10), end(1, 0), exclusive(2, 9, 20, 21)]));
        assert!(!holds(&[unknown, look([(1, 7)], 10), end(1, 0), look([], 12), look([(1, 7)], 14)]));
        assert!(holds(&[exclusive(1, 3, 0, 2), release(1, 5, None), look([(1, 3)], 10), exclusive(2, 4, 20, 21)]));
        assert!(!holds(&[exclusive(1, 3, 0, 2), release(1, 5, None), exclusive(2, 4, 20, 21), look([(1, 3)], 30)]));
    }

    #[test]
    fn who_is_refused_must_have_found_somebody_else_there() {
        assert!(!holds(&[busy(2, 0)]));
        assert!(!holds(&[exclusive(1, 3, 0, 2), release(1, 3, Some(4)), busy(2, 5)]));
        assert!(holds(&[exclusive(1, 3, 0, 2), busy(2, 5)]));
    }

    /// Many clients, of whom some are never answered: the search does not drown in what may have happened.
    #[test]
    fn a_long_history_with_many_unknown_operations_is_decided() {
        let mut history = Vec::new();
        for round in 0..400_u64 {
            let (who, at) = (round as Who + 1, round * 10);
            if round % 10 == 3 {
                history.push(unknown(who, Mode::Exclusive, at));
                history.push(end(who, at));
            } else {
                history.push(exclusive(who, round + 1, at, at + 2));
                history.push(look([(who, round + 1)], at + 3));
                history.push(release(who, at + 5, Some(at + 6)));
            }
        }
        assert!(holds(&history));
        history.push(look([(400, 400)], 5000));
        assert!(matches!(check(&Lock, &history, 20_000), Verdict::Violated { .. }));
    }

    fn unknown(who: Who, mode: Mode, invoked: Moment) -> Operation<Call> {
        Operation { call: Call::Acquire { who, mode, fence: None }, invoked, answered: None }
    }

    /// Each of forty may share the lock or not, but who is seen is none of them.
    #[test]
    fn what_would_not_help_to_explain_an_answer_is_not_supposed() {
        let mut history: Vec<_> =
            (1..=40).flat_map(|who| [unknown(who, Mode::Shared, 0), release(who, 1, None), end(who, 1)]).collect();
        history.push(look([(41, 5)], 10));
        assert!(matches!(check(&Lock, &history, 100), Verdict::Violated { .. }));
        history.push(exclusive(41, 5, 5, 20));
        assert_eq!(check(&Lock, &history, 100), Verdict::Linearizable);
    }

    /// All ask at once, and who is answered first was granted last.
    #[test]
    fn grants_are_tried_in_the_order_of_their_fences() {
        let clients = 1..=40_u64;
        let mut history: Vec<_> = clients.clone().map(|who| exclusive(who as Who, who, 0, 200 - who)).collect();
        history.extend(clients.map(|who| release(who as Who, 1, Some(200))));
        assert_eq!(check(&Lock, &history, 10_000), Verdict::Linearizable);
        history.push(look([(1, 2)], 300));
        assert!(matches!(check(&Lock, &history, 10_000), Verdict::Violated { .. }));
    }

    fn any_call() -> impl Strategy<Value = Call> {
        let who = 1..4_u32;
        let mode = prop_oneof![Just(Mode::Exclusive), Just(Mode::Shared)];
        prop_oneof![
            4 => (who.clone(), mode, prop::option::weighted(0.6, 1..5_u64))
                .prop_map(|(who, mode, fence)| Call::Acquire { who, mode, fence }),
            1 => who.clone().prop_map(|who| Call::Busy { who }),
            2 => who.clone().prop_map(|who| Call::Release { who }),
            2 => who.clone().prop_map(|who| Call::End { who }),
            2 => prop::collection::btree_map(who, 1..5_u64, 0..3).prop_map(|holders| Call::Look { holders }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        /// What is left out of the search is nothing that would have been found.
        #[test]
        fn the_search_finds_what_trying_all_orders_finds(
            calls in prop::collection::vec((any_call(), 0..8_u64, 0..8_u64, 0..3_u8), 0..7)
        ) {
            let operation = |(call, invoked, takes, luck): (Call, u64, u64, u8)| {
                // Nobody is told of the end of a session, nor of a grant without a fence.
                let is_told = !matches!(call, Call::End { .. } | Call::Acquire { fence: None, .. });
                let is_answered = is_told && (luck > 0 || matches!(call, Call::Acquire { .. }));
                Operation { call, invoked, answered: is_answered.then_some(invoked + takes) }
            };
            let history: Vec<_> = calls.into_iter().map(operation).collect();
            let all: Vec<_> = history.iter().collect();
            prop_assert_eq!(holds(&history), by_trying_all(&Lock, &all, &State::default()));
        }
    }
}
