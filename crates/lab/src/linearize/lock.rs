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
}

impl State {
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
        let unknown = Operation {
            call: Call::Acquire { who: 1, mode: Mode::Exclusive, fence: None },
            invoked: 0,
            answered: None,
        };
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
                let call = Call::Acquire { who, mode: Mode::Exclusive, fence: None };
                history.push(Operation { call, invoked: at, answered: None });
                history.push(end(who, at));
            } else {
                history.push(exclusive(who, round + 1, at, at + 2));
                history.push(look([(who, round + 1)], at + 3));
                history.push(release(who, at + 5, Some(at + 6)));
            }
        }
        assert!(holds(&history));
        history.push(look([(400, 400)], 5000));
        assert!(matches!(check(&Lock, &history, 20_000), Verdict::Violated { .. } | Verdict::Undecided { .. }));
    }
}
