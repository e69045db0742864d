//! What happens next: a queue by time, first come first served among equals.
//!
//! Time only moves on, and that makes a radix heap possible: what is due is kept in buckets by the highest bit in which
//! its time differs from now. An item moves to a lower bucket a few times at most, always in whole runs of neighbouring
//! memory, where a binary heap would touch a logarithm of scattered places. Equal times keep the order in which they
//! were added, because buckets do and an emptied bucket is spread in order over empty ones.

use quorate_core::process::Ticks;

/// A queue by time.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    now: Ticks,
    /// What is due now, from the front.
    due: std::collections::VecDeque<T>,
    /// `later[b]`: what is due at times whose highest bit different from now is bit `b`.
    later: Vec<Vec<(Ticks, T)>>,
    /// Bit `b` is set where `later[b]` holds something.
    occupied: u64,
    len: usize,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Agenda::new()
    }
}

impl<T> Agenda<T> {
    /// An empty queue at time 0.
    pub fn new() -> Self {
        let later = std::iter::repeat_with(Vec::new).take(Ticks::BITS as usize).collect();
        Agenda { now: 0, due: std::collections::VecDeque::new(), later, occupied: 0, len: 0 }
    }

    /// The time of what was taken last.
    pub fn now(&self) -> Ticks {
        self.now
    }

    /// How much is in the queue.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is in the queue.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds something that is due at a time, which must not have passed.
    pub fn add(&mut self, at: Ticks, item: T) {
        debug_assert!(at >= self.now, "nothing is added to the past");
        self.len += 1;
        match (at ^ self.now).checked_ilog2() {
            None => self.due.push_back(item),
            Some(bit) => {
                self.later[bit as usize].push((at, item));
                self.occupied |= 1 << bit;
            }
        }
    }

    /// Takes what is due next, and moves on to its time.
    pub fn take(&mut self) -> Option<(Ticks, T)> {
        if self.due.is_empty() {
            self.advance();
        }
        let item = self.due.pop_front()?;
        self.len -= 1;
        Some((self.now, item))
    }

    fn advance(&mut self) {
        let bit = self.occupied.trailing_zeros();
        if bit == u64::BITS {
            return;
        }
        let mut bucket = std::mem::take(&mut self.later[bit as usize]);
        self.occupied &= !(1 << bit);
        self.now = bucket.iter().map(|(at, _)| *at).min().expect("an occupied bucket holds something");
        for (at, item) in bucket.drain(..) {
            match (at ^ self.now).checked_ilog2() {
                None => self.due.push_back(item),
                Some(lower) => {
                    self.later[lower as usize].push((at, item));
                    self.occupied |= 1 << lower;
                }
            }
        }
        // The memory goes back to where it will be needed again.
        self.later[bit as usize] = bucket;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    proptest! {
        /// Against a binary heap that breaks ties by the order of adding.
        #[test]
        fn it_is_a_stable_queue_by_time(
            steps in proptest::collection::vec((0u64..2000, 0usize..3), 1..2000),
            coarseness in 1u64..100,
        ) {
            let (mut agenda, mut heap) = (Agenda::new(), BinaryHeap::new());
            for (number, (after, takes)) in steps.into_iter().enumerate() {
                let at = agenda.now() + after / coarseness * coarseness;
                agenda.add(at, number);
                heap.push(Reverse((at, number)));
                for _ in 0..takes {
                    prop_assert_eq!(agenda.take(), heap.pop().map(|Reverse(next)| next));
                }
            }
            while let Some(next) = agenda.take() {
                prop_assert_eq!(Some(next), heap.pop().map(|Reverse(next)| next));
            }
            prop_assert!(heap.is_empty() && agenda.is_empty());
        }
    }
}
