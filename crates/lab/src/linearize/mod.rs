//! Whether a history of operations could have happened one at a time: linearizability, decided by search.
//!
//! An [`Operation`] was invoked at one moment and answered at another. A history is linearizable if each operation can
//! be given one moment between the two at which it took effect, such that the answers are those of an object that does
//! one thing at a time: the [`Object`]. An operation that was never answered (its caller gave up, or its connection was
//! lost) may have taken effect at any moment after its invocation, or never: it is unknown, and not failed.
//!
//! The search is Wing and Gong's (1993) with Lowe's memoisation (2017): what may be next is whatever was invoked before
//! the first answer that is still to be explained; a set of operations that led to a state once is not tried again in
//! another order, nor with more suppositions about what was not answered. Nothing is supposed that does not
//! [help](Object::helps) to explain one of the next answers: it could as well happen later, or never. And where answers
//! are [numbered](Object::number), nothing is tried before what has a smaller number. Linearizability is local, so a
//! history of many objects is judged one object at a time.

pub mod lock;

use std::fmt::Debug;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// A moment, on one clock for all: in whatever unit.
pub type Moment = u64;

/// An object that does one thing at a time.
pub trait Object {
    /// What it remembers.
    type State: Clone + Eq + Hash + Debug;
    /// What can be asked of it, together with what was answered.
    type Call: Debug;

    /// The state before everything.
    fn first(&self) -> Self::State;

    /// The state after a call, if a call with this answer can happen in this state.
    fn after(&self, state: &Self::State, call: &Self::Call) -> Option<Self::State>;

    /// A number that no call can have after one with a larger number has happened, if the answer has such a number.
    fn number(&self, _call: &Self::Call) -> Option<u64> {
        None
    }

    /// Whether a call that was not answered may be of use in this state before one that was answered is next. If it
    /// is not, whatever can happen after both can happen without it, or with it after the other.
    fn helps(&self, _state: &Self::State, _supposed: &Self::Call, _answered: &Self::Call) -> bool {
        true
    }
}

/// A call and when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<C> {
    /// What was asked, and answered.
    pub call: C,
    /// It did not take effect before this.
    pub invoked: Moment,
    /// It took effect before this, if it was answered. Otherwise it may have, at any later moment, or never.
    pub answered: Option<Moment>,
}

/// What came of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is an order that explains every answer.
    Linearizable,
    /// There is none.
    Violated {
        /// The answers that no order explains after the longest one that explains the others, and that order's end.
        why: String,
    },
    /// The search was given up after so many steps.
    Undecided {
        /// How many.
        steps: usize,
    },
}

/// Looks for an order of the operations that explains all answers, for so many steps at most.
pub fn check<O: Object>(object: &O, history: &[Operation<O::Call>], most_steps: usize) -> Verdict {
    Search::new(object, history).run(most_steps)
}

/// Some of the operations.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Chosen(Box<[u64]>);

impl Chosen {
    fn none_of(count: usize) -> Chosen {
        Chosen(vec![0; count.div_ceil(64)].into())
    }

    fn is_within(&self, other: &Chosen) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, others)| mine & !others == 0)
    }

    fn contains(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn flip(&mut self, at: usize) {
        self.0[at / 64] ^= 1 << (at % 64);
    }
}

/// One step of the order that is being tried.
struct Step<S> {
    /// The state before.
    state: S,
    /// What may be next there, the most urgent last.
    candidates: Vec<usize>,
    /// What was chosen.
    chosen: usize,
}

/// What was tried: which answers were explained and what state that led to, with which suppositions. Who comes to the
/// same with more of them has fewer left, and gets no farther.
type Seen<S> = FxHashMap<(Chosen, S), Vec<Chosen>>;

struct Search<'h, O: Object> {
    object: &'h O,
    /// In the order of their invocations.
    operations: Vec<&'h Operation<O::Call>>,
    /// What was answered and has been put in order,
    explained: Chosen,
    /// and what was not answered, and is taken to have happened.
    supposed: Chosen,
    /// How many answers are still to be explained.
    unexplained: usize,
    /// All before this one are in order.
    first_left: usize,
    /// The answers that have numbers, in the order of these,
    numbered: Vec<(u64, usize)>,
    /// of which all before this one are explained.
    first_number: usize,
}

impl<'h, O: Object> Search<'h, O> {
    fn new(object: &'h O, history: &'h [Operation<O::Call>]) -> Search<'h, O> {
        let mut operations: Vec<_> = history.iter().collect();
        operations.sort_by_key(|operation| operation.invoked);
        let (explained, supposed) = (Chosen::none_of(operations.len()), Chosen::none_of(operations.len()));
        let unexplained = operations.iter().filter(|operation| operation.answered.is_some()).count();
        let number = |at: usize| operations[at].answered.and_then(|_| object.number(&operations[at].call));
        let mut numbered: Vec<_> = (0..operations.len()).filter_map(|at| Some((number(at)?, at))).collect();
        numbered.sort_unstable();
        Search { object, operations, explained, supposed, unexplained, first_left: 0, numbered, first_number: 0 }
    }

    /// What may be next in a state: whatever was invoked before the first answer among those that are left. Those that
    /// were not answered come after those that were, as they need not be chosen at all.
    fn candidates(&self, state: &O::State) -> Vec<usize> {
        let mut candidates = self.invoked_before_the_first_answer();
        let unanswered = candidates.partition_point(|&at| self.operations[at].answered.is_none());
        let answered = candidates.split_off(unanswered);
        let call = |at: usize| &self.operations[at].call;
        candidates.retain(|&at| answered.iter().any(|&next| self.object.helps(state, call(at), call(next))));
        let smallest = self.numbered.get(self.first_number).map_or(u64::MAX, |(number, _)| *number);
        let is_due = |at: usize| self.object.number(call(at)).is_none_or(|number| number <= smallest);
        candidates.extend(answered.into_iter().filter(|&at| is_due(at)));
        candidates
    }

    /// The first answer last, and before all others those without one.
    fn invoked_before_the_first_answer(&self) -> Vec<usize> {
        let left = || (self.first_left..self.operations.len()).filter(|&at| !self.is_chosen(at));
        let mut first_answer = Moment::MAX;
        for at in left() {
            let operation = self.operations[at];
            if operation.invoked > first_answer {
                break;
            }
            first_answer = first_answer.min(operation.answered.unwrap_or(Moment::MAX));
        }
        let mut candidates: Vec<_> = left().take_while(|&at| self.operations[at].invoked <= first_answer).collect();
        candidates.sort_by_key(|&at| std::cmp::Reverse(self.operations[at].answered.unwrap_or(Moment::MAX)));
        candidates
    }

    fn is_chosen(&self, at: usize) -> bool {
        self.explained.contains(at) || self.supposed.contains(at)
    }

    fn choose(&mut self, at: usize) {
        if self.operations[at].answered.is_some() {
            self.explained.flip(at);
            self.unexplained -= 1;
        } else {
            self.supposed.flip(at);
        }
        while self.first_left < self.operations.len() && self.is_chosen(self.first_left) {
            self.first_left += 1;
        }
        while self.numbered.get(self.first_number).is_some_and(|(_, at)| self.explained.contains(*at)) {
            self.first_number += 1;
        }
    }

    fn take_back(&mut self, at: usize) {
        if self.operations[at].answered.is_some() {
            self.explained.flip(at);
            self.unexplained += 1;
        } else {
            self.supposed.flip(at);
        }
        self.first_left = self.first_left.min(at);
        while self.first_number > 0 && !self.explained.contains(self.numbered[self.first_number - 1].1) {
            self.first_number -= 1;
        }
    }

    fn run(mut self, most_steps: usize) -> Verdict {
        let (mut path, mut seen) = (Vec::<Step<O::State>>::new(), Seen::default());
        let mut state = self.object.first();
        let mut candidates = self.candidates(&state);
        let mut farthest: Option<(usize, String)> = None;
        for _ in 0..most_steps {
            if self.unexplained == 0 {
                return Verdict::Linearizable;
            }
            if farthest.as_ref().is_none_or(|(left, _)| self.unexplained < *left) {
                farthest = Some((self.unexplained, self.explain(&state, &path)));
            }
            let Some(next) = candidates.pop() else {
                // Nothing fits: the last choice was wrong.
                let Some(Step { state: before, candidates: others, chosen }) = path.pop() else {
                    let why = farthest.map_or_else(String::new, |(_, why)| why);
                    return Verdict::Violated { why };
                };
                self.take_back(chosen);
                (state, candidates) = (before, others);
                continue;
            };
            let Some(after) = self.object.after(&state, &self.operations[next].call) else { continue };
            // What nobody was answered, and what changes nothing, explains nothing.
            if self.operations[next].answered.is_none() && after == state {
                continue;
            }
            self.choose(next);
            let suppositions = seen.entry((self.explained.clone(), after.clone())).or_default();
            if suppositions.iter().any(|fewer| fewer.is_within(&self.supposed)) {
                self.take_back(next);
                continue;
            }
            suppositions.push(self.supposed.clone());
            path.push(Step { state, candidates, chosen: next });
            candidates = self.candidates(&after);
            state = after;
        }
        Verdict::Undecided { steps: most_steps }
    }

    /// Where an order has come to, and which answers do not fit.
    fn explain(&self, state: &O::State, path: &[Step<O::State>]) -> String {
        let shown = |at: usize| {
            let Operation { call, invoked, answered } = self.operations[at];
            format!("  {call:?}, invoked at {invoked}, answered at {answered:?}\n")
        };
        let last = path[path.len().saturating_sub(LAST)..].iter().map(|step| shown(step.chosen)).collect::<String>();
        let mut left = self.invoked_before_the_first_answer();
        left.reverse();
        let stuck = left.into_iter().take(LAST).map(shown).collect::<String>();
        format!(
            "after\n{last}the state is {state:?}, and no order of the remaining calls explains their answers:\n{stuck}"
        )
    }
}

/// So many operations of an order are shown.
const LAST: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Something that is written and read.
    struct Register;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Call {
        Write(u8),
        Read(u8),
    }

    use Call::{Read, Write};

    impl Object for Register {
        type State = u8;
        type Call = Call;

        fn first(&self) -> u8 {
            0
        }

        fn after(&self, state: &u8, call: &Call) -> Option<u8> {
            match *call {
                Write(value) => Some(value),
                Read(value) => (value == *state).then_some(value),
            }
        }
    }

    fn operation(call: Call, invoked: Moment, answered: Option<Moment>) -> Operation<Call> {
        Operation { call, invoked, answered }
    }

    fn is_linearizable(history: &[Operation<Call>]) -> bool {
        match check(&Register, history, 100_000) {
            Verdict::Linearizable => true,
            Verdict::Violated { .. } => false,
            Verdict::Undecided { .. } => panic!("not decided"),
        }
    }

    #[test]
    fn one_at_a_time_must_read_what_was_written_last() {
        let write = operation(Write(1), 0, Some(1));
        assert!(is_linearizable(&[write.clone(), operation(Read(1), 2, Some(3))]));
        assert!(!is_linearizable(&[write, operation(Read(0), 2, Some(3))]));
        assert!(is_linearizable(&[]));
    }

    #[test]
    fn who_reads_during_a_write_may_read_either_but_nobody_reads_the_old_value_after_the_new_one() {
        let write = operation(Write(1), 0, Some(9));
        let (new, old) = (operation(Read(1), 1, Some(2)), operation(Read(0), 3, Some(4)));
        assert!(is_linearizable(&[write.clone(), new.clone()]));
        assert!(is_linearizable(&[write.clone(), old.clone()]));
        assert!(!is_linearizable(&[write, new, old]));
    }

    #[test]
    fn what_was_not_answered_may_happen_late_or_never() {
        let write = operation(Write(1), 5, None);
        assert!(is_linearizable(std::slice::from_ref(&write)));
        for (value, at, expected) in [(0, 6, true), (1, 100, true), (1, 1, false), (2, 6, false)] {
            let read = operation(Read(value), at, Some(at + 1));
            assert_eq!(is_linearizable(&[write.clone(), read]), expected, "{value} at {at}");
        }
        // It happens once.
        let reads = [(1, 10), (2, 20), (1, 30)].map(|(value, at)| operation(Read(value), at, Some(at + 1)));
        let mut history = vec![write, operation(Write(2), 15, Some(16))];
        history.extend(reads);
        assert!(!is_linearizable(&history));
    }

    #[test]
    fn a_violation_says_what_does_not_fit_and_a_search_that_is_too_long_is_given_up() {
        let history = [operation(Write(1), 0, Some(1)), operation(Read(7), 2, Some(3))];
        let Verdict::Violated { why } = check(&Register, &history, 100) else { panic!("it is violated") };
        assert!(why.contains("Write(1)") && why.contains("the state is 1") && why.contains("Read(7)"), "{why}");
        assert_eq!(check(&Register, &history, 1), Verdict::Undecided { steps: 1 });
    }

    /// Tries every order of every choice of unanswered operations.
    pub(super) fn by_trying_all<O: Object>(object: &O, left: &[&Operation<O::Call>], state: &O::State) -> bool {
        let first_answer = left.iter().filter_map(|one| one.answered).min();
        let Some(first_answer) = first_answer else { return true };
        (0..left.len()).any(|at| {
            let mut rest = left.to_vec();
            let next = rest.remove(at);
            next.invoked <= first_answer
                && object.after(state, &next.call).is_some_and(|after| by_trying_all(object, &rest, &after))
        })
    }

    proptest! {
        #[test]
        fn the_search_finds_what_trying_all_orders_finds(
            calls in prop::collection::vec((any::<bool>(), 0..2_u8, 0..12_u64, 0..6_u64, 0..5_u8), 0..7)
        ) {
            let history: Vec<_> = calls
                .into_iter()
                .map(|(writes, value, invoked, takes, luck)| {
                    let call = if writes { Write(value) } else { Read(value) };
                    operation(call, invoked, (luck > 0).then_some(invoked + takes))
                })
                .collect();
            let all: Vec<_> = history.iter().collect();
            prop_assert_eq!(is_linearizable(&history), by_trying_all(&Register, &all, &0));
        }
    }
}
