//! Which of a session's requests were answered: a window over the latest numbers, as they may arrive out of order.

use serde::{Deserialize, Serialize};

use super::Session;

/// The numbers of the requests that were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Requests {
    highest: u64,
    /// Bit i says whether `highest - i` was answered.
    answered: u64,
}

impl Requests {
    /// Whether a request was answered. Of those long before the latest, all were.
    pub(super) fn contains(&self, request: u64) -> bool {
        match self.highest.checked_sub(request) {
            None => false,
            Some(age) => request > 0 && (age >= 64 || self.answered & 1 << age != 0),
        }
    }

    /// Whether a request is so long before the latest that nobody knows.
    pub(super) fn has_forgotten(&self, request: u64) -> bool {
        request > 0 && self.highest.checked_sub(request).is_some_and(|age| age >= 64)
    }

    /// Notes that a request is answered. One without a number leaves no trace.
    pub(super) fn insert(&mut self, request: u64) {
        if request == 0 {
            return;
        }
        if request > self.highest {
            let shift = request - self.highest;
            self.answered = if shift >= 64 { 0 } else { self.answered << shift };
            self.highest = request;
        }
        let age = self.highest - request;
        if age < 64 {
            self.answered |= 1 << age;
        }
    }
}

/// So many calls of a session are remembered that were given up before they had asked for anything.
const MOST_GIVEN_UP: usize = 32;

impl Session {
    pub(super) fn give_up(&mut self, call: u64) {
        if call != 0 && !self.given_up.contains(&call) {
            if self.given_up.len() == MOST_GIVEN_UP {
                self.given_up.remove(0);
            }
            self.given_up.push(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Within the window it is a set.
        #[test]
        fn requests_are_done_once_in_any_order(numbers in prop::collection::vec(1u64..200, 0..60)) {
            let (mut requests, mut set) = (Requests::default(), BTreeSet::new());
            for number in numbers {
                let highest = set.last().copied().unwrap_or(0);
                let forgotten = number + 64 <= highest;
                prop_assert_eq!(requests.contains(number), forgotten || set.contains(&number));
                requests.insert(number);
                set.insert(number);
                prop_assert!(requests.contains(number));
                prop_assert!(!requests.contains(0));
            }
        }
    }
}
