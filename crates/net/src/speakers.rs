//! Who speaks for each member: of the processes that say they are it, one at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quorate_core::id::Id;
use tokio::time::Instant;

use crate::frame::{Identity, Refusal};

/// Who was heard last for each member.
pub(crate) struct Speakers {
    /// Who was silent for so long has no claim to its number any more: it should have said twice that it lives.
    silence: Duration,
    last: Mutex<BTreeMap<Id, Arc<Speaker>>>,
}

/// A process that speaks for a member.
#[derive(Debug)]
struct Speaker {
    identity: Identity,
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
    /// another one does; and if its directory is not the one that it had, unless somebody knew that when it was begun:
    /// it is another one, or its life is not later than one that was heard of. What is said to the one would be heard
    /// by the other, and what the one has promised the other does not know.
    pub(crate) fn admit(&self, id: Id, identity: Identity, now: Instant) -> Result<(Speaking, bool), Refusal> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.get(&id) {
            Some(speaker) if speaker.identity.instance == identity.instance => {
                speaker.hear(now);
                return Ok((Speaking::begin(speaker), false));
            }
            Some(speaker) if speaker.is_there(self.silence, now) => {
                let id = id.number();
                let why = format!("another process is connected as node {id}: every node needs an id of its own");
                return Err(why.into());
            }
            Some(speaker) => speaker.precedes(id, identity)?,
            None => {}
        }
        let (since, heard, connections) = (now, AtomicU64::new(0), AtomicUsize::new(0));
        let speaker = Arc::new(Speaker { identity, since, heard, connections });
        let speaking = Speaking::begin(&speaker);
        last.insert(id, speaker);
        Ok((speaking, true))
    }
}

impl Speaker {
    fn precedes(&self, id: Id, Identity { incarnation, directory, .. }: Identity) -> Result<(), Refusal> {
        let is_known = directory.number == self.identity.directory.number || directory.is_in_place_of_another;
        if is_known && incarnation > self.identity.incarnation {
            return Ok(());
        }
        let (id, heard) = (id.number(), self.identity.incarnation);
        let why = if is_known {
            format!("node {id} is in incarnation {incarnation}, but was connected in incarnation {heard} before")
        } else {
            format!("node {id} uses another data directory than it did in incarnation {heard}")
        };
        Err(Refusal::Forgetful(format!(
            "{why}, so it may lack state that the other members rely on: start it on its latest data \
             directory. If that directory is lost, start it once with `Config::forgotten` (`quorate serve --forgotten`)"
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
    use crate::frame::Directory;

    const SILENCE: Duration = Duration::from_secs(3);

    #[test]
    fn one_process_at_a_time_speaks_for_a_member_and_each_in_a_later_life() {
        let (speakers, id, begin) = (Speakers::new(SILENCE), Id::new(2), Instant::now());
        let directory = Directory { number: 1, is_in_place_of_another: false };
        let admitted = |incarnation, instance, after| {
            speakers.admit(id, Identity { incarnation, instance, directory }, begin + after)
        };
        let refused = |life, instance, after| admitted(life, instance, after).unwrap_err().why().to_string();
        let (opened, is_new) = admitted(3, 7, Duration::ZERO).unwrap();
        assert!(is_new);
        let (accepted, is_new) = admitted(3, 7, Duration::ZERO).unwrap();
        assert!(!is_new && accepted.is_same(&opened), "it may speak on two connections");
        assert!(refused(4, 8, Duration::ZERO).starts_with("another process is connected as node 2"));
        drop(opened);
        assert!(refused(4, 8, Duration::ZERO).starts_with("another process"), "it still speaks on one");
        drop(accepted);
        assert!(
            refused(3, 8, Duration::ZERO).contains("is in incarnation 3, but was connected in incarnation 3 before")
        );
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

    /// However often it is started without its directory, and whatever life that is by then.
    #[test]
    fn another_directory_is_refused_unless_the_first_is_known_to_be_lost() {
        let (speakers, id, now) = (Speakers::new(SILENCE), Id::new(2), Instant::now());
        let admit = |incarnation, number, is_in_place_of_another| {
            let directory = Directory { number, is_in_place_of_another };
            speakers.admit(
                id,
                Identity { incarnation, instance: u128::from(incarnation) << 8 | number, directory },
                now,
            )
        };
        drop(admit(3, 1, false).unwrap());
        for life in 1..9 {
            assert!(matches!(admit(life, 2, false), Err(Refusal::Forgetful(_))), "life {life}");
        }
        drop(admit(4, 1, false).unwrap());
        drop(admit(1000, 2, true).unwrap());
        drop(admit(1001, 2, true).unwrap());
        assert!(matches!(admit(1001, 3, true), Err(Refusal::Forgetful(_))), "a clock that goes backwards");
        assert!(matches!(admit(1002, 1, false), Err(Refusal::Forgetful(_))), "what was lost was found too late");
    }
}
