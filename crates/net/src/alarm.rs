//! A process's timers: which are armed, and when the next one is due.
//!
//! Most timers are set anew or cancelled long before they are due: with every message, those that wait for its answer.
//! So a timer has one place in the order of times, and keeps it when it is set to later or cancelled. Only when its
//! place comes up is it looked at what it is set to, and it gets another place or none.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use tokio::time::Instant;

/// Timers of the names `T`.
pub(crate) struct Alarms<T> {
    /// All that have a place in the order.
    timers: FxHashMap<T, Timer>,
    /// When a timer is looked at. Places that timers have left for earlier ones are still in it.
    places: BinaryHeap<Reverse<(Instant, T)>>,
}

struct Timer {
    /// When it is due, if it is armed.
    due: Option<Instant>,
    /// When it is looked at: not later than it is due.
    place: Instant,
}

impl<T: Ord + Hash + Clone> Alarms<T> {
    pub(crate) fn new() -> Self {
        Alarms { timers: FxHashMap::default(), places: BinaryHeap::new() }
    }

    /// Arms a timer, or arms it anew.
    pub(crate) fn set(&mut self, timer: T, at: Instant) {
        if let Some(known) = self.timers.get_mut(&timer) {
            known.due = Some(at);
            if known.place <= at {
                return;
            }
            known.place = at;
        } else {
            self.timers.insert(timer.clone(), Timer { due: Some(at), place: at });
        }
        self.places.push(Reverse((at, timer)));
    }

    /// Disarms a timer, if it is armed.
    pub(crate) fn cancel(&mut self, timer: &T) {
        if let Some(known) = self.timers.get_mut(timer) {
            known.due = None;
        }
    }

    /// How many are armed.
    pub(crate) fn armed(&self) -> usize {
        self.timers.values().filter(|timer| timer.due.is_some()).count()
    }

    /// When there is something to look at: not later than the next timer is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.places.peek().map(|Reverse((at, _))| *at)
    }

    /// Disarms the next that is due by then, and returns it.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<T> {
        while self.next().is_some_and(|at| at <= now) {
            let Reverse((at, timer)) = self.places.pop()?;
            let Some(known) = self.timers.get_mut(&timer).filter(|known| known.place == at) else { continue };
            match known.due {
                Some(due) if due > at => {
                    known.place = due;
                    self.places.push(Reverse((due, timer)));
                }
                due => {
                    self.timers.remove(&timer);
                    if due.is_some() {
                        return Some(timer);
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
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

    /// Against one that keeps no more than what is armed, whatever is set, set anew, cancelled and awaited.
    #[test]
    fn it_rings_as_a_plain_list_of_timers_does() {
        let begin = Instant::now();
        let at = |tick: u64| begin + Duration::from_millis(tick);
        let mut random = 1u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let mut alarms = Alarms::new();
        let mut plain: BTreeMap<u64, Instant> = BTreeMap::new();
        for now in 0..20_000 {
            let timer = draw(6);
            match draw(4) {
                0 | 1 => {
                    let due = at(now + draw(40));
                    alarms.set(timer, due);
                    plain.insert(timer, due);
                }
                2 => {
                    alarms.cancel(&timer);
                    plain.remove(&timer);
                }
                _ => {
                    let due: BTreeSet<_> =
                        plain.iter().filter(|(_, due)| **due <= at(now)).map(|(timer, due)| (*due, *timer)).collect();
                    plain.retain(|_, due| *due > at(now));
                    let rung: Vec<_> = std::iter::from_fn(|| alarms.take_due(at(now))).collect();
                    assert_eq!(rung, due.into_iter().map(|(_, timer)| timer).collect::<Vec<_>>());
                }
            }
            assert_eq!(alarms.armed(), plain.len());
            assert!(plain.values().min().is_none_or(|due| alarms.next().is_some_and(|next| next <= *due)));
            assert!(alarms.timers.len() <= 6 && alarms.places.len() <= 200, "{}", alarms.places.len());
        }
    }
}
