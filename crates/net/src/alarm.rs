//! A process's timers: which are armed, and when the next one is due.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

/// Timers of the names `T`.
pub(crate) struct Alarms<T> {
    due: BTreeMap<T, Instant>,
    order: BTreeSet<(Instant, T)>,
}

impl<T: Ord + Clone> Alarms<T> {
    pub(crate) fn new() -> Self {
        Alarms { due: BTreeMap::new(), order: BTreeSet::new() }
    }

    /// Arms a timer, or arms it anew.
    pub(crate) fn set(&mut self, timer: T, at: Instant) {
        if let Some(before) = self.due.insert(timer.clone(), at) {
            self.order.remove(&(before, timer.clone()));
        }
        self.order.insert((at, timer));
    }

    /// Disarms a timer, if it is armed.
    pub(crate) fn cancel(&mut self, timer: &T) {
        if let Some(at) = self.due.remove(timer) {
            self.order.remove(&(at, timer.clone()));
        }
    }

    /// When the next is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Disarms the next that is due by then, and returns it.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<T> {
        let (at, _) = self.order.first()?;
        if *at > now {
            return None;
        }
        let (_, timer) = self.order.pop_first()?;
        self.due.remove(&timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timers_are_due_in_order_and_the_last_word_counts() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut alarms = Alarms::new();
        alarms.set('a', at(3));
        alarms.set('b', at(2));
        alarms.set('c', at(1));
        alarms.set('a', at(1));
        alarms.cancel(&'c');
        alarms.cancel(&'d');
        assert_eq!(alarms.next(), Some(at(1)));
        assert_eq!(alarms.take_due(at(0)), None);
        assert_eq!(alarms.take_due(at(2)), Some('a'));
        assert_eq!(alarms.take_due(at(2)), Some('b'));
        assert_eq!((alarms.take_due(at(9)), alarms.next()), (None, None));
    }
}
