//! What would be logged again and again is logged once, and then now and then with how often it has happened since.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// From one time that the same thing is logged to the next.
const PAUSE: Duration = Duration::from_secs(60);
/// So many different things are told apart: strangers can make up as many as they like.
const MOST: usize = 64;

/// What was logged lately.
#[derive(Debug)]
pub(crate) struct Rarely<K>(Mutex<HashMap<K, Logged>>);

#[derive(Debug)]
struct Logged {
    at: Instant,
    /// How often it has happened since, and was not logged.
    since: u64,
}

impl<K> Default for Rarely<K> {
    fn default() -> Self {
        Rarely(Mutex::default())
    }
}

impl<K: Eq + Hash> Rarely<K> {
    /// Counts an event. If it is to be logged, returns how many of the same were suppressed since the last time.
    pub(crate) fn happens(&self, what: K, now: Instant) -> Option<u64> {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |logged: &Logged| now.saturating_duration_since(logged.at) >= PAUSE;
        if let Some(before) = logged.get_mut(&what) {
            if !is_over(before) {
                before.since += 1;
                return None;
            }
            let Logged { since, .. } = std::mem::replace(before, Logged { at: now, since: 0 });
            return Some(since);
        }
        if logged.len() >= MOST {
            logged.retain(|_, before| !is_over(before));
        }
        (logged.len() < MOST).then(|| {
            logged.insert(what, Logged { at: now, since: 0 });
            0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_logged_once_and_then_with_how_often_it_was_not() {
        let (rarely, begin) = (Rarely::default(), Instant::now());
        assert_eq!(rarely.happens("a", begin), Some(0));
        assert_eq!(rarely.happens("b", begin), Some(0));
        for seconds in 1..60 {
            assert_eq!(rarely.happens("a", begin + Duration::from_secs(seconds)), None);
        }
        assert_eq!(rarely.happens("a", begin + PAUSE), Some(59));
    }

    #[test]
    fn who_makes_up_something_new_every_time_is_logged_no_more_often() {
        let (rarely, begin) = (Rarely::default(), Instant::now());
        let logged = |at| (0..1000).filter(|what| rarely.happens(*what, at).is_some()).count();
        assert_eq!(logged(begin), MOST);
        assert_eq!(logged(begin), 0);
        assert_eq!(logged(begin + PAUSE), MOST);
        assert_eq!(rarely.0.lock().unwrap().len(), MOST);
    }
}
