//! How much one visitor may ask for, so that a class can share a laboratory.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

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
    };
}

/// Who has what going on.
pub(super) struct Places {
    limits: Limits,
    taken: Mutex<BTreeMap<IpAddr, usize>>,
    turns: Turns,
}

/// Something that a visitor has going on, until this is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    visitor: IpAddr,
}

impl Places {
    pub(super) fn new(limits: Limits) -> Arc<Places> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Arc::new(Places { limits, taken: Mutex::default(), turns: Turns::new(cores) })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Lets a visitor begin something, unless too much of theirs is going on.
    pub(super) fn enter(self: &Arc<Places>, visitor: IpAddr) -> Result<Place, Refusal> {
        let most = self.limits.at_once;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = taken.entry(visitor).or_default();
        if *mine >= most {
            return Err(Refusal::TooMany(format!(
                "{most} of your runs are still going on, which is as many as one visitor may have: wait for one to end"
            )));
        }
        *mine += 1;
        Ok(Place { places: Arc::clone(self), visitor })
    }
}

impl Place {
    /// Waits for a core to work on: see [`Turns`].
    pub(super) async fn turn(&self, length: Length) -> Turn {
        self.places.turns.wait(self.visitor, length).await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = taken.get_mut(&self.visitor) {
            *mine -= 1;
            if *mine == 0 {
                taken.remove(&self.visitor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_has_so_many_places_and_gives_them_back() {
        let places = Places::new(Limits { at_once: 2, ..Limits::CLASS });
        let [one, other] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let first = places.enter(one).ok().unwrap();
        let _second = places.enter(one).ok().unwrap();
        let refused = places.enter(one).err().unwrap().to_string();
        assert!(refused.starts_with("2 of your runs are still going on"), "{refused}");
        assert!(places.enter(other).is_ok(), "others do not feel it");
        drop(first);
        assert!(places.enter(one).is_ok());
        assert_eq!(places.taken.lock().unwrap().len(), 1, "who has nothing going on is forgotten");
    }
}
