//! How often things may still happen, packed into the one word that a state has for it.

use crate::stage::Bounds;

/// What is left of the bounds, and whether an election is still to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Budget(u32);

/// What something takes from the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    Nothing,
    Poke,
    Crash,
    Restart,
    Loss,
    Duplicate,
    Withdrawal,
    Suspicion,
    Write,
    Timeout,
    /// It takes nothing, but is of use only to who may still write.
    Read,
    /// It takes nothing, but an election has been called.
    Call,
}

/// The costs with counters of three bits each, in order from the lowest. The counter of timeouts has seven, and all of
/// them set where there is no bound.
const FIELDS: [Cost; 8] = [
    Cost::Poke,
    Cost::Crash,
    Cost::Restart,
    Cost::Loss,
    Cost::Duplicate,
    Cost::Withdrawal,
    Cost::Suspicion,
    Cost::Write,
];
const TIMEOUTS_AT: u32 = 24;
const UNBOUNDED: u32 = 127;
const UNCALLED: u32 = 1 << 31;

/// The largest bound of each kind, and of timeouts.
pub(super) const LARGEST: u32 = 7;
pub(super) const MOST_TIMEOUTS: u32 = UNBOUNDED - 1;

impl Budget {
    pub(super) fn new(bounds: &Bounds, uncalled: bool) -> Budget {
        let Bounds { pokes, crashes, restarts, losses, duplicates, withdrawals, writes, suspicions, timeouts } =
            *bounds;
        let counts = [pokes, crashes, restarts, losses, duplicates, withdrawals, suspicions, writes];
        let mut word = if uncalled { UNCALLED } else { 0 };
        for (cost, count) in FIELDS.into_iter().zip(counts) {
            assert!(count <= LARGEST, "bounds are checked before they are packed");
            word |= count << Budget::at(cost);
        }
        Budget(word | timeouts.unwrap_or(UNBOUNDED).min(UNBOUNDED) << TIMEOUTS_AT)
    }

    pub(super) fn from_word(word: u32) -> Budget {
        Budget(word)
    }

    pub(super) fn word(self) -> u32 {
        self.0
    }

    /// Where the counter of a cost begins.
    #[inline]
    const fn at(cost: Cost) -> u32 {
        match cost {
            Cost::Poke => 0,
            Cost::Crash => 3,
            Cost::Restart => 6,
            Cost::Loss => 9,
            Cost::Duplicate => 12,
            Cost::Withdrawal => 15,
            Cost::Suspicion => 18,
            Cost::Write | Cost::Read => 21,
            Cost::Timeout | Cost::Nothing | Cost::Call => TIMEOUTS_AT,
        }
    }

    /// Whether it can be afforded.
    #[inline]
    pub(super) fn allows(self, cost: Cost) -> bool {
        match cost {
            Cost::Nothing | Cost::Call => true,
            Cost::Timeout => (self.0 >> TIMEOUTS_AT) & 127 != 0,
            Cost::Poke
            | Cost::Crash
            | Cost::Restart
            | Cost::Loss
            | Cost::Duplicate
            | Cost::Withdrawal
            | Cost::Suspicion
            | Cost::Write
            | Cost::Read => (self.0 >> Budget::at(cost)) & LARGEST != 0,
        }
    }

    /// What is left after it.
    #[inline]
    pub(super) fn after(self, cost: Cost) -> Budget {
        match cost {
            Cost::Nothing | Cost::Read => self,
            Cost::Call => Budget(self.0 & !UNCALLED),
            Cost::Timeout if (self.0 >> TIMEOUTS_AT) & 127 == UNBOUNDED => self,
            Cost::Timeout => Budget(self.0 - (1 << TIMEOUTS_AT)),
            Cost::Poke
            | Cost::Crash
            | Cost::Restart
            | Cost::Loss
            | Cost::Duplicate
            | Cost::Withdrawal
            | Cost::Suspicion
            | Cost::Write => Budget(self.0 - (1 << Budget::at(cost))),
        }
    }

    /// An election must be called again.
    pub(super) fn calling_again(self) -> Budget {
        Budget(self.0 | UNCALLED)
    }

    pub(super) fn is_uncalled(self) -> bool {
        self.0 & UNCALLED != 0
    }

    /// Whether the letters of any of these kinds can make a difference at all: a quick test for the most common case.
    pub(super) fn has_letter_faults(self) -> bool {
        self.allows(Cost::Loss) || self.allows(Cost::Duplicate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cost_takes_one_of_its_own_and_nothing_else() {
        let bounds = Bounds {
            pokes: 1,
            crashes: 2,
            restarts: 7,
            losses: 4,
            duplicates: 5,
            withdrawals: 6,
            writes: 5,
            suspicions: 3,
            timeouts: Some(2),
        };
        let full = Budget::new(&bounds, true);
        let costs = FIELDS;
        for (cost, times) in costs.into_iter().zip([1, 2, 7, 4, 5, 6, 3, 5]).chain([(Cost::Timeout, 2)]) {
            let mut budget = full;
            for _ in 0..times {
                assert!(budget.allows(cost));
                budget = budget.after(cost);
            }
            assert!(!budget.allows(cost), "{cost:?}");
            for other in costs.into_iter().filter(|&other| other != cost) {
                assert!(budget.allows(other), "{cost:?} took {other:?}");
            }
            assert!(budget.is_uncalled());
        }
        assert!(!full.after(Cost::Call).is_uncalled());
        assert_eq!(full.after(Cost::Call).calling_again(), full);
    }

    #[test]
    fn without_a_bound_timeouts_never_end() {
        let budget = Budget::new(&Bounds::default(), false);
        assert!(budget.allows(Cost::Timeout) && !budget.allows(Cost::Poke));
        assert_eq!(budget.after(Cost::Timeout), budget);
    }
}
