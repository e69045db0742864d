//! How far openraft runs ahead of this node's disk.
//!
//! A leader's followers should write an entry while the leader does, not after it. openraft sends an entry when the log
//! says that it is on disk, so the log says that at once of what this node appends as the leader; and what would follow
//! from it waits here until it is true. Two things would: the entry is applied, which is when its submitters are
//! answered and others see what it did; and the followers are told that it is committed, which lets them apply it. So
//! nothing comes of an entry before a majority has it on disk, this node among it.
//!
//! If the node dies in between, it comes back without an entry that followers may have. That is what a follower does to
//! which it was never sent; but a leader would give its place to another entry in the same term. It never does: a node
//! that led is elected again, in a later term, before it leads (see `read_vote` in `log`).

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::watch;

/// The entries that openraft believes to be on disk and that are not yet.
#[derive(Debug)]
pub(super) struct Ahead {
    unsynced: watch::Sender<Unsynced>,
    /// The term in which this node leads, by the vote it has saved; 0 if it follows somebody.
    own_term: AtomicU64,
    /// Whether nobody else votes, so that there is nobody to run ahead for.
    is_alone: AtomicBool,
}

#[derive(Debug, Default)]
struct Unsynced {
    entries: Range<u64>,
    failure: Option<String>,
}

impl Unsynced {
    fn allows(&self, entry: u64) -> bool {
        self.failure.is_some() || !self.entries.contains(&entry)
    }
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead { unsynced: watch::Sender::default(), own_term: AtomicU64::new(0), is_alone: AtomicBool::new(false) }
    }
}

impl Ahead {
    /// A vote was saved, and with it everything before.
    pub(super) fn voted(&self, own_term: Option<u64>) {
        self.unsynced.send_modify(|unsynced| unsynced.entries = 0..0);
        self.own_term.store(own_term.unwrap_or(0), Ordering::Relaxed);
    }

    /// Whether entries of this term are this node's own, as the leader.
    pub(super) fn leads_in(&self, term: u64) -> bool {
        self.own_term.load(Ordering::Relaxed) == term
    }

    /// Whether this node was the only one that votes when it proposed something last.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone.load(Ordering::Relaxed)
    }

    /// Whether this node is the only one that votes. It costs time if this is wrong for a while, and nothing else.
    pub(super) fn set_alone(&self, is_alone: bool) {
        self.is_alone.store(is_alone, Ordering::Relaxed);
    }

    /// Entries were appended, and are being synced.
    pub(super) fn run(&self, entries: Range<u64>) {
        self.unsynced.send_modify(|unsynced| {
            let from = if unsynced.entries.is_empty() { entries.start } else { unsynced.entries.start };
            unsynced.entries = from..entries.end;
        });
    }

    /// Everything before this entry is on disk; or it never will be.
    pub(super) fn synced(&self, before: u64, result: io::Result<()>) {
        self.unsynced.send_modify(|unsynced| match result {
            Ok(()) => unsynced.entries.start = before.clamp(unsynced.entries.start, unsynced.entries.end),
            Err(error) => unsynced.failure = Some(error.to_string()),
        });
    }

    /// Returns when this entry, and everything before it, is on disk.
    pub(super) async fn wait_for(&self, entry: u64) -> io::Result<()> {
        if !self.unsynced.borrow().allows(entry) {
            let mut unsynced = self.unsynced.subscribe();
            // The sender is borrowed, so it is not gone.
            let _ = unsynced.wait_for(|unsynced| unsynced.allows(entry)).await;
        }
        match &self.unsynced.borrow().failure {
            Some(failure) => Err(io::Error::other(failure.clone())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ready(ahead: &Ahead, entry: u64) -> bool {
        ahead.unsynced.borrow().allows(entry)
    }

    #[test]
    fn what_was_appended_waits_until_it_is_synced() {
        let ahead = Ahead::default();
        assert!(is_ready(&ahead, 7));
        ahead.run(5..8);
        ahead.run(8..9);
        assert!(is_ready(&ahead, 4));
        assert!(!is_ready(&ahead, 5));
        ahead.synced(8, Ok(()));
        assert!(is_ready(&ahead, 7));
        assert!(!is_ready(&ahead, 8));
        ahead.synced(9, Ok(()));
        ahead.run(9..10);
        assert!(is_ready(&ahead, 8));
        assert!(!is_ready(&ahead, 9));
    }

    /// A sync that a vote has overtaken was of entries that may have been replaced meanwhile.
    #[test]
    fn a_late_sync_does_not_vouch_for_later_entries() {
        let ahead = Ahead::default();
        ahead.run(5..9);
        ahead.voted(None);
        ahead.voted(Some(3));
        ahead.run(6..7);
        ahead.synced(5, Ok(()));
        assert!(!is_ready(&ahead, 6));
    }

    #[tokio::test]
    async fn a_failed_sync_ends_the_waiting() {
        let ahead = Ahead::default();
        ahead.run(1..2);
        ahead.synced(2, Err(io::Error::other("the disk is full")));
        assert!(ahead.wait_for(1).await.is_err());
        assert!(ahead.wait_for(0).await.is_err());
    }
}
