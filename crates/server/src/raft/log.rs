//! The log on disk: openraft's storage over [`Wal`]. One synchronous write per append; whoever waits is told after it
//! has returned, and a failed one stops the node. Only a leader that has followers goes on meanwhile: see [`Ahead`].

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{AnyError, LogState, OptionalSend, RaftLogReader};
use tokio::sync::oneshot;

use super::StartError;
use super::ahead::Ahead;
use super::status::SyncTimes;
use super::synced::{Synced, Waiting};
use super::types::{Entry, LogId, StorageError, StorageIOError, Types, Vote};
use super::wal::frame::OtherFormat;
use super::wal::{Wal, Writer};
use crate::engine::NodeId;
#[cfg(feature = "fault-injection")]
use crate::switches::switches;

/// A follower that is far behind gets so much at once.
const READ_BYTES: usize = 8 << 20;
/// How often the deliberate bug syncs: see [`crate::switches`].
#[cfg(feature = "fault-injection")]
const LATE: std::time::Duration = std::time::Duration::from_millis(500);

/// Why a log could not be opened, with advice for the operator.
pub(super) fn start_error(directory: &Path, error: io::Error) -> StartError {
    let (directory, reason) = (directory.into(), error.to_string());
    match error.kind() {
        // File systems report `Unsupported`, too, so the kind alone does not identify another format.
        _ if error.get_ref().is_some_and(|cause| cause.is::<OtherFormat>()) => {
            StartError::OtherFormat { directory, reason }
        }
        io::ErrorKind::WouldBlock => StartError::InUse { directory },
        io::ErrorKind::InvalidData => StartError::DamagedLog { directory, reason },
        _ => StartError::Disk(error),
    }
}

/// The log. Clones share it.
#[derive(Clone)]
pub(super) struct Log {
    wal: Arc<Wal>,
    node: NodeId,
    times: Arc<SyncTimes>,
    ahead: Arc<Ahead>,
}

impl Log {
    /// Opens the log, or begins one. A record that a crash has torn is cut off, and that is reported; anything else
    /// that is damaged is an error.
    pub(super) fn open(directory: &Path, node: NodeId, times: Arc<SyncTimes>) -> Result<Log, StartError> {
        std::fs::create_dir_all(directory)?;
        let (wal, cut) = Wal::open(directory).map_err(|error| start_error(directory, error))?;
        if let Some((file, at)) = cut {
            tracing::warn!(file = %file.display(), at, "torn record cut off");
        }
        let (wal, ahead) = (Arc::new(wal), Arc::default());
        let log = Log { wal, node, times, ahead };
        #[cfg(feature = "fault-injection")]
        if switches().acknowledges_early {
            log.sync_late();
        }
        Ok(log)
    }

    /// Writes what is left and closes the files. Whatever comes later fails.
    pub(super) fn close(&self) {
        self.wal.close();
    }

    /// What waits for this log.
    pub(super) fn ahead(&self) -> Arc<Ahead> {
        self.ahead.clone()
    }

    /// The last entry that was known to be committed when this was saved.
    pub(super) fn committed(&self) -> Option<LogId> {
        self.wal.standing().ok().and_then(|standing| standing.committed)
    }

    fn synced(&self, whom: Waiting) -> Option<Synced> {
        Some(Synced { since: Instant::now(), times: self.times.clone(), whom })
    }

    /// Saves a vote, durably.
    pub(super) async fn promise(&self, vote: Vote) -> io::Result<()> {
        let (sender, receiver) = oneshot::channel();
        self.wal.vote(vote)?;
        self.wal.flush(self.synced(Waiting::Here(sender)), Writer::Thread)?;
        receiver.await.unwrap_or_else(|_| Err(io::Error::other("the log is closed")))
    }

    #[cfg(feature = "fault-injection")]
    fn sync_late(&self) {
        let wal = Arc::downgrade(&self.wal);
        std::thread::spawn(move || {
            while let Some(wal) = wal.upgrade() {
                if wal.flush(None, Writer::Thread).is_err() {
                    return;
                }
                drop(wal);
                std::thread::sleep(LATE);
            }
        });
    }

    /// Some of the entries from this one on; none if there are no more.
    pub(super) fn read_on(&self, from: u64) -> io::Result<Vec<Entry>> {
        self.read(from, u64::MAX, READ_BYTES)
    }

    fn read(&self, from: u64, to: u64, most_bytes: usize) -> io::Result<Vec<Entry>> {
        let entries = self.wal.read(from..to, most_bytes)?.into_iter();
        let entry = |(log_id, payload): (LogId, bytes::Bytes)| {
            Ok(Entry { log_id, payload: postcard::from_bytes(&payload).map_err(io::Error::other)? })
        };
        entries.map(entry).collect()
    }
}

fn cannot_read(error: &io::Error) -> StorageError {
    StorageIOError::read_logs(AnyError::new(error)).into()
}

fn cannot_write(error: &io::Error) -> StorageError {
    StorageIOError::write_logs(AnyError::new(error)).into()
}

impl RaftLogReader<Types> for Log {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry>, StorageError> {
        let from = match range.start_bound() {
            Bound::Included(&from) => from,
            Bound::Excluded(&before) => before + 1,
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(&last) => last + 1,
            Bound::Excluded(&to) => to,
            Bound::Unbounded => u64::MAX,
        };
        self.read(from, to, usize::MAX).map_err(|error| cannot_read(&error))
    }

    async fn limited_get_log_entries(&mut self, from: u64, to: u64) -> Result<Vec<Entry>, StorageError> {
        self.read(from, to, READ_BYTES).map_err(|error| cannot_read(&error))
    }
}

impl RaftLogStorage<Types> for Log {
    type LogReader = Log;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError> {
        let standing = self.wal.standing().map_err(|error| cannot_read(&error))?;
        Ok(LogState { last_purged_log_id: standing.purged, last_log_id: standing.last })
    }

    async fn get_log_reader(&mut self) -> Log {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        let saved = self.promise(*vote).await;
        saved.map_err(|error| StorageIOError::write_vote(AnyError::new(&error)))?;
        let leads = vote.committed && vote.leader_id().node_id == self.node;
        self.ahead.voted(leads.then_some(vote.leader_id().term));
        Ok(())
    }

    /// A node that led does not lead again before it is elected again. openraft would let it go on in the same term,
    /// and confirm reads before it has applied what it acknowledged but did not yet know, on disk, to be committed.
    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        let vote = self.wal.standing().map_err(|error| cannot_read(&error))?.vote;
        let is_own = |vote: &Vote| vote.leader_id().node_id == self.node;
        Ok(vote.map(|vote| if is_own(&vote) { Vote::new(vote.leader_id().term, self.node) } else { vote }))
    }

    /// This is not synced: it goes to disk with the next append, and only spares a restarted node some waiting.
    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        let Some(committed) = committed else { return Ok(()) };
        self.wal.commit(committed).map_err(|error| cannot_write(&error))
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(self.committed())
    }

    async fn append<I>(&mut self, entries: I, flushed: LogFlushed<Types>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut records = Vec::new();
        for entry in entries {
            let payload = postcard::to_allocvec(&entry.payload).map_err(io::Error::other);
            let payload = payload.map_err(|error| cannot_write(&error))?;
            records.push((entry.log_id, payload.into()));
        }
        let (Some(first), Some(last)) = (records.first().map(|(id, _)| *id), records.last().map(|(id, _)| *id)) else {
            flushed.log_io_completed(Ok(()));
            return Ok(());
        };
        self.wal.append(records).map_err(|error| cannot_write(&error))?;
        #[cfg(feature = "fault-injection")]
        if switches().acknowledges_early {
            flushed.log_io_completed(Ok(()));
            return Ok(());
        }
        let leads = self.ahead.leads_in(last.leader_id.term);
        if !leads || self.ahead.is_alone() {
            let written = self.wal.flush(self.synced(Waiting::Append(flushed)), Writer::Here);
            return written.map_err(|error| cannot_write(&error));
        }
        self.ahead.run(first.index..last.index + 1);
        let waiting = Waiting::Ahead { ahead: self.ahead(), before: last.index + 1 };
        self.wal.flush(self.synced(waiting), Writer::Thread).map_err(|error| cannot_write(&error))?;
        flushed.log_io_completed(Ok(()));
        Ok(())
    }

    async fn truncate(&mut self, since: LogId) -> Result<(), StorageError> {
        self.wal.truncate(since.index).map_err(|error| cannot_write(&error))
    }

    /// Nobody waits for this: a log that still has entries which the snapshot covers is only longer than it need be.
    async fn purge(&mut self, upto: LogId) -> Result<(), StorageError> {
        let purged = self.wal.purge(upto).and_then(|()| self.wal.flush(None, Writer::Thread));
        purged.map_err(|error| cannot_write(&error))
    }
}
