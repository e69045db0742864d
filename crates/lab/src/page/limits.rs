//! How much one visitor may ask for, so that a class can share a laboratory.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Refusal;
use super::turns::{Length, Turn, Turns};

/// How much one visitor may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processes of a run.
    pub processes: u32,
    /// Events of a run, which is cut off after them.
    pub events: u64,
    /// Processes of which every run is explored.
    pub explored: u32,
    /// States that are explored.
    pub states: u64,
    /// Memory that they take, in bytes.
    pub bytes: u64,
    /// Threads that explore.
    pub threads: Option<usize>,
    /// What one visitor may have going on at once.
    pub at_once: usize,
    /// Connections that one visitor may have, which all of a class are who share an address.
    pub connections: usize,
    /// Connections that there may be in all.
    pub connections_in_all: usize,
    /// How long a visitor may take to say what to answer.
    pub patience: Duration,
}

impl Limits {
    /// For who sits at the machine.
    pub const ALONE: Limits = Limits {
        processes: 128,
        events: 500_000,
        explored: 16,
        states: 50_000_000,
        bytes: 4_000_000_000,
        threads: None,
        at_once: 8,
        ..Limits::CLASS
    };

    /// For many, who must not be in each other's way.
    pub const CLASS: Limits = Limits {
        processes: 64,
        events: 100_000,
        explored: 5,
        states: 1_000_000,
        bytes: 500_000_000,
        threads: Some(1),
        at_once: 4,
        // Browsers have six at once each, and a system often gives a program a thousand files.
        connections: 256,
        connections_in_all: 700,
        patience: Duration::from_secs(30),
    };
}

/// How many of something each visitor has.
#[derive(Default)]
pub(super) struct Tally(Mutex<BTreeMap<IpAddr, usize>>);

/// One of what a visitor has, until this is dropped.
pub(super) struct Counted {
    tally: Arc<Tally>,
    visitor: IpAddr,
}

impl Tally {
    /// Counts one more of a visitor's, unless they have as many as one may have, or all together as many as there may
    /// be.
    pub(super) fn enter(self: &Arc<Tally>, visitor: IpAddr, most: usize, most_in_all: usize) -> Option<Counted> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = taken.get(&visitor).copied().unwrap_or(0);
        if mine >= most || taken.values().sum::<usize>() >= most_in_all {
            return None;
        }
        taken.insert(visitor, mine + 1);
        Some(Counted { tally: Arc::clone(self), visitor })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut taken = self.tally.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = taken.get_mut(&self.visitor) {
            *mine -= 1;
            if *mine == 0 {
                taken.remove(&self.visitor);
            }
        }
    }
}

/// Who has what going on.
pub(super) struct Places {
    limits: Limits,
    tally: Arc<Tally>,
    turns: Turns,
}

/// Something that a visitor has going on, until this is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    counted: Counted,
}

impl Places {
    pub(super) fn new(limits: Limits) -> Arc<Places> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Arc::new(Places { limits, tally: Arc::default(), turns: Turns::new(cores) })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Lets a visitor begin something, unless too much of theirs is going on.
    pub(super) fn enter(self: &Arc<Places>, visitor: IpAddr) -> Result<Place, Refusal> {
        let most = self.limits.at_once;
        let counted = self.tally.enter(visitor, most, usize::MAX).ok_or_else(|| {
            Refusal::TooMany(format!(
                "{most} of your runs are still in progress, the limit for one visitor: wait until one ends"
            ))
        })?;
        Ok(Place { places: Arc::clone(self), counted })
    }
}

impl Place {
    /// Waits for a core to work on: see [`Turns`].
    pub(super) async fn turn(&self, length: Length) -> Turn {
        self.places.turns.wait(self.counted.visitor, length).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_have_no_more_than_there_may_be() {
        let tally = Arc::new(Tally::default());
        let enter = |last: u8| tally.enter(IpAddr::from([10, 0, 0, last]), 2, 3);
        let held: Vec<_> = [1, 1, 2].into_iter().filter_map(enter).collect();
        assert_eq!((held.len(), enter(1).is_some(), enter(3).is_some()), (3, false, false));
        drop(held);
        assert!(enter(3).is_some());
    }

    #[test]
    fn a_visitor_has_so_many_places_and_gives_them_back() {
        let places = Places::new(Limits { at_once: 2, ..Limits::CLASS });
        let [one, other] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let first = places.enter(one).ok().unwrap();
        let _second = places.enter(one).ok().unwrap();
        let refused = places.enter(one).err().unwrap().to_string();
        assert!(refused.starts_with("2 of your runs are still in progress"), "{refused}");
        assert!(places.enter(other).is_ok(), "others do not feel it");
        drop(first);
        assert!(places.enter(one).is_ok());
        assert_eq!(places.tally.0.lock().unwrap().len(), 1, "who has nothing going on is forgotten");
    }
}
