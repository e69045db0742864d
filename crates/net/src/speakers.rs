//! Who speaks for each member: of the processes that say they are it, one at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quorate_core::id::Id;
use tokio::time::Instant;

use crate::frame::Refusal;

/// Who was heard last for each member.
pub(crate) struct Speakers {
    /// Who was silent for so long has no claim to its number any more: it should have said twice that it lives.
    silence: Duration,
    last: Mutex<BTreeMap<Id, Arc<Speaker>>>,
}

/// A process that speaks for a member.
#[derive(Debug)]
struct Speaker {
    instance: u128,
    incarnation: u64,
    since: Instant,
    /// When it was heard last, in milliseconds since then.
    heard: AtomicU64,
    /// On how many connections it speaks.
    connections: AtomicUsize,
}

/// A connection on which a process speaks for a member.
#[derive(Debug)]
pub(crate) struct Speaking(Arc<Speaker>);

impl Speakers {
    /// Nobody was heard.
    pub(crate) fn new(silence: Duration) -> Speakers {
        Speakers { silence, last: Mutex::default() }
    }

    /// Lets a process speak for a member, on one more connection, and says whether it is new. It is refused while
    /// another one does; and if its life is not later than one that was heard of: its directory is not the one that
    /// it had, and what is said to the one would be heard by the other.
    pub(crate) fn admit(
        &self,
        id: Id,
        incarnation: u64,
        instance: u128,
        now: Instant,
    ) -> Result<(Speaking, bool), Refusal> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.get(&id) {
            Some(speaker) if speaker.instance == instance => {
                speaker.hear(now);
                return Ok((Speaking::begin(speaker), false));
            }
            Some(speaker) if speaker.is_there(self.silence, now) => {
                let id = id.number();
                return Err(format!("another process speaks for node {id}: every node has a number of its own").into());
            }
            Some(speaker) => speaker.precedes(id, incarnation)?,
            None => {}
        }
        let (since, heard, connections) = (now, AtomicU64::new(0), AtomicUsize::new(0));
        let speaker = Arc::new(Speaker { instance, incarnation, since, heard, connections });
        let speaking = Speaking::begin(&speaker);
        last.insert(id, speaker);
        Ok((speaking, true))
    }
}

impl Speaker {
    fn precedes(&self, id: Id, incarnation: u64) -> Result<(), Refusal> {
        if incarnation > self.incarnation {
            return Ok(());
        }
        let id = id.number();
        Err(Refusal::Forgetful(format!(
            "node {id} says that this is its life {incarnation}, and its life {} was heard of here: its directory is \
             not the one that it had; if that is lost, start it with --forgotten (`Config::forgotten`)",
            self.incarnation
        )))
    }

    fn hear(&self, now: Instant) {
        let since = now.saturating_duration_since(self.since);
        self.heard.store(u64::try_from(since.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether it may be there.
    fn is_there(&self, silence: Duration, now: Instant) -> bool {
        let heard = self.since + Duration::from_millis(self.heard.load(Ordering::Relaxed));
        self.connections.load(Ordering::Relaxed) > 0 && now.saturating_duration_since(heard) < silence
    }
}

impl Speaking {
    fn begin(speaker: &Arc<Speaker>) -> Speaking {
        speaker.connections.fetch_add(1, Ordering::Relaxed);
        Speaking(Arc::clone(speaker))
    }

    /// It says something.
    pub(crate) fn hear(&self, now: Instant) {
        self.0.hear(now);
    }

    /// Whether the same process speaks on another connection.
    pub(crate) fn is_same(&self, other: &Speaking) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Drop for Speaking {
    /// Whoever comes next for the member is welcome, if this was the last connection.
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENCE: Duration = Duration::from_secs(3);

    #[test]
    fn one_process_at_a_time_speaks_for_a_member_and_each_in_a_later_life() {
        let (speakers, id, begin) = (Speakers::new(SILENCE), Id::new(2), Instant::now());
        let admitted = |life, instance, after| speakers.admit(id, life, instance, begin + after);
        let refused = |life, instance, after| admitted(life, instance, after).unwrap_err().why().to_string();
        let (opened, is_new) = admitted(3, 7, Duration::ZERO).unwrap();
        assert!(is_new);
        let (accepted, is_new) = admitted(3, 7, Duration::ZERO).unwrap();
        assert!(!is_new && accepted.is_same(&opened), "it may speak on two connections");
        assert!(refused(4, 8, Duration::ZERO).starts_with("another process speaks for node 2"));
        drop(opened);
        assert!(refused(4, 8, Duration::ZERO).starts_with("another process"), "it still speaks on one");
        drop(accepted);
        assert!(refused(3, 8, Duration::ZERO).contains("this is its life 3, and its life 3 was heard of"));
        assert!(matches!(admitted(3, 8, Duration::ZERO), Err(Refusal::Forgetful(_))));
        let (next, is_new) = admitted(4, 8, Duration::ZERO).unwrap();
        assert!(is_new);

        // Who is connected and says nothing gives way in time; who says something does not.
        next.hear(begin + SILENCE / 2);
        assert!(refused(5, 9, SILENCE).starts_with("another process"));
        let (last, _) = admitted(5, 9, SILENCE * 3 / 2).unwrap();
        assert!(!last.is_same(&next));
        drop(next);
        let why = refused(6, 8, SILENCE * 3 / 2);
        assert!(why.starts_with("another process"), "the end of the one is not that of the other: {why}");
    }
}
