//! Those who have connected and not said yet who they are: so many at a time and no more, whoever they may be.
//!
//! Anybody who reaches the port can open connections and say nothing. So a newcomer is never turned away: if there are
//! too many, it gets the place of the one that has been silent for longest, among those of its own address if that has
//! too many, and otherwise of the address that has most. A member says at once who it is, and needs its place no longer
//! than that takes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// So many there may be.
pub(crate) const MOST: usize = 128;
/// So many of one address.
pub(crate) const MOST_OF_ADDRESS: usize = 32;

/// All strangers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strangers(Arc<Mutex<Places>>);

#[derive(Debug, Default)]
struct Places {
    /// In the order in which they came.
    taken: BTreeMap<u64, Place>,
    next: u64,
}

#[derive(Debug)]
struct Place {
    address: IpAddr,
    /// Dropped when the place is given to another.
    _keep: oneshot::Sender<()>,
}

/// A stranger, as long as it is one.
#[derive(Debug)]
pub(crate) struct Stranger {
    strangers: Strangers,
    number: u64,
    kept: oneshot::Receiver<()>,
}

impl Strangers {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets somebody in. Returns also whose connection is closed for it, if that is necessary.
    pub(crate) fn admit(&self, address: IpAddr) -> (Stranger, Option<IpAddr>) {
        let mut places = self.places();
        let removed = places.make_room(address);
        let (keep, kept) = oneshot::channel();
        let number = places.next;
        places.next += 1;
        places.taken.insert(number, Place { address, _keep: keep });
        (Stranger { strangers: self.clone(), number, kept }, removed)
    }
}

impl Places {
    fn make_room(&mut self, newcomer: IpAddr) -> Option<IpAddr> {
        let mut counts = BTreeMap::new();
        for place in self.taken.values() {
            *counts.entry(place.address).or_insert(0) += 1;
        }
        let of_newcomer = counts.get(&newcomer).copied().unwrap_or(0);
        let crowded = if of_newcomer >= MOST_OF_ADDRESS {
            newcomer
        } else if self.taken.len() >= MOST {
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(address, _)| address)?
        } else {
            return None;
        };
        let oldest = self.taken.iter().find(|(_, place)| place.address == crowded).map(|(number, _)| *number)?;
        self.taken.remove(&oldest).map(|place| place.address)
    }
}

impl Stranger {
    /// Waits until its place is given to another.
    pub(crate) async fn is_replaced(&mut self) {
        // Nothing is ever sent.
        _ = (&mut self.kept).await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.strangers.places().taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, last).into()
    }

    fn is_replaced(stranger: &mut Stranger) -> bool {
        matches!(stranger.kept.try_recv(), Err(oneshot::error::TryRecvError::Closed))
    }

    #[test]
    fn who_opens_many_takes_places_only_from_itself() {
        let strangers = Strangers::default();
        let (mut member, removed) = strangers.admit(address(1));
        assert_eq!(removed, None);
        let mut silent: Vec<_> = (0..MOST_OF_ADDRESS).map(|_| strangers.admit(address(2)).0).collect();
        assert!(!silent.iter_mut().any(is_replaced));
        let (_one_more, removed) = strangers.admit(address(2));
        assert_eq!(removed, Some(address(2)));
        assert!(is_replaced(&mut silent[0]) && !is_replaced(&mut silent[1]) && !is_replaced(&mut member));
    }

    #[test]
    fn with_many_addresses_the_oldest_of_the_most_crowded_one_goes() {
        let strangers = Strangers::default();
        let mut few: Vec<_> = (0..2).map(|_| strangers.admit(address(1)).0).collect();
        let mut many: Vec<_> = (2..MOST).map(|at| strangers.admit(address((2 + at % 100) as u8)).0).collect();
        let (_newcomer, removed) = strangers.admit(address(250));
        assert_eq!(removed, Some(address(29)), "one of those that have two");
        let replaced = few.iter_mut().chain(&mut many).map(is_replaced).filter(|is_replaced| *is_replaced);
        assert_eq!(replaced.count(), 1);
        assert_eq!(strangers.places().taken.len(), MOST);
    }

    #[test]
    fn who_is_known_or_gone_has_no_place_any_more() {
        let strangers = Strangers::default();
        for _ in 0..3 * MOST {
            let (_gone_at_once, removed) = strangers.admit(address(1));
            assert_eq!(removed, None);
        }
        assert!(strangers.places().taken.is_empty());
    }
}
