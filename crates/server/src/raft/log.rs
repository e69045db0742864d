//! The log on disk: openraft's storage over raft-log. One fdatasync per append, in raft-log's own thread; whoever waits
//! is told after it has returned, and a failed one stops the node. Only a leader goes on meanwhile: see [`Ahead`].

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{AnyError, LogState, OptionalSend, RaftLogReader};
use raft_log::RaftLog;
use raft_log::api::raft_log_writer::RaftLogWriter;
use tokio::sync::oneshot;

use super::StartError;
use super::ahead::Ahead;
use super::record::{Payload, Position, Promise, Records, Synced, Waiting};
use super::status::SyncTimes;
use super::types::{Entry, LogId, StorageError, StorageIOError, Types, Vote};
use crate::engine::NodeId;
use crate::switches::switches;

/// A file of the log is closed when it has grown to this; what a snapshot covers is deleted by whole files.
const FILE_BYTES: usize = 16 << 20;
/// So much of the log is kept in memory for followers that are a little behind.
const CACHE_BYTES: usize = 32 << 20;
/// A follower that is far behind gets so much at once.
const READ_BYTES: usize = 8 << 20;
/// How often the deliberate bug syncs: see [`crate::switches`].
const LATE: Duration = Duration::from_millis(500);

/// The log. Clones share it.
#[derive(Clone)]
pub(super) struct Log {
    log: Arc<Mutex<Option<RaftLog<Records>>>>,
    node: NodeId,
    times: Arc<SyncTimes>,
    ahead: Arc<Ahead>,
    acknowledges_early: bool,
}

impl Log {
    /// Opens the log, or begins one. A record that a crash has torn is cut off, and that is reported; anything else
    /// that is damaged is an error.
    pub(super) fn open(directory: &Path, node: NodeId, times: Arc<SyncTimes>) -> Result<Log, StartError> {
        std::fs::create_dir_all(directory)?;
        let before = sizes(directory)?;
        let log = RaftLog::open(Arc::new(config(directory))).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => StartError::InUse { directory: directory.into() },
            io::ErrorKind::PermissionDenied | io::ErrorKind::StorageFull => StartError::Disk(error),
            _ => StartError::DamagedLog { directory: directory.into(), reason: error.to_string() },
        })?;
        let after = sizes(directory)?;
        for (name, size) in before {
            let left = after.get(&name).copied().unwrap_or(0);
            if left < size {
                tracing::warn!(file = name, bytes = size - left, "cut off a record that a crash had torn");
            }
        }
        let log = Arc::new(Mutex::new(Some(log)));
        let ahead = Arc::default();
        let log = Log { log, node, times, ahead, acknowledges_early: switches().acknowledges_early };
        if log.acknowledges_early {
            log.sync_late();
        }
        Ok(log)
    }

    /// Syncs what is left and closes the files. Whatever comes later fails.
    pub(super) fn close(&self) {
        drop(super::lock(&self.log).take());
    }

    /// What waits for this log.
    pub(super) fn ahead(&self) -> Arc<Ahead> {
        self.ahead.clone()
    }

    /// The last entry that was known to be committed when this was saved.
    pub(super) fn committed(&self) -> Option<LogId> {
        self.with(|log| Ok(log.log_state().committed().copied())).ok().flatten().map(LogId::from)
    }

    fn with<T>(&self, work: impl FnOnce(&mut RaftLog<Records>) -> io::Result<T>) -> io::Result<T> {
        let mut log = super::lock(&self.log);
        work(log.as_mut().ok_or_else(|| io::Error::other("the log is closed"))?)
    }

    fn synced(&self, whom: Waiting) -> Option<Synced> {
        Some(Synced { since: Instant::now(), times: self.times.clone(), whom })
    }

    /// Writes something that must be on disk before this returns.
    async fn write_now(&self, work: impl FnOnce(&mut RaftLog<Records>) -> io::Result<()>) -> io::Result<()> {
        let (sender, receiver) = oneshot::channel();
        let callback = self.synced(Waiting::Here(sender));
        self.with(|log| {
            work(log)?;
            log.flush(true, callback)
        })?;
        receiver.await.unwrap_or_else(|_| Err(io::Error::other("the log is closed")))
    }

    /// Saves a vote, durably.
    pub(super) async fn promise(&self, vote: Vote) -> io::Result<()> {
        self.write_now(|log| log.save_vote(Promise(vote)).map(drop)).await
    }

    fn sync_late(&self) {
        let log = Arc::downgrade(&self.log);
        std::thread::spawn(move || {
            while let Some(log) = log.upgrade() {
                if let Some(log) = super::lock(&log).as_mut()
                    && log.flush(true, None).is_err()
                {
                    return;
                }
                drop(log);
                std::thread::sleep(LATE);
            }
        });
    }

    /// Some of the entries from this one on; none if there are no more.
    pub(super) fn read_on(&self, from: u64) -> io::Result<Vec<Entry>> {
        self.read(from, u64::MAX, READ_BYTES)
    }

    fn read(&self, from: u64, to: u64, most_bytes: usize) -> io::Result<Vec<Entry>> {
        self.with(|log| {
            let (mut entries, mut bytes) = (Vec::new(), 0);
            for record in log.read(from, to) {
                let (position, payload) = record?;
                let length = payload.0.len();
                if !entries.is_empty() && bytes + length > most_bytes {
                    break;
                }
                bytes += length;
                let payload = postcard::from_bytes(&payload.0).map_err(io::Error::other)?;
                entries.push(Entry { log_id: position.into(), payload });
            }
            Ok(entries)
        })
    }
}

fn config(directory: &Path) -> raft_log::Config {
    let mut config = raft_log::Config::new(directory.display());
    config.wal.chunk_max_size = Some(FILE_BYTES);
    config.wal.read_buffer_size = Some(1 << 20);
    config.wal.truncate_incomplete_record = Some(true);
    // Batches are made where commands are proposed: waiting here again would only add latency.
    config.wal.flush_batch_wait = Some(Duration::ZERO);
    config.log_cache_capacity = Some(CACHE_BYTES);
    config
}

fn sizes(directory: &Path) -> io::Result<BTreeMap<String, u64>> {
    let mut sizes = BTreeMap::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".wal") {
            sizes.insert(name, entry.metadata()?.len());
        }
    }
    Ok(sizes)
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
        let state = self.with(|log| Ok(log.log_state().clone())).map_err(|error| cannot_read(&error))?;
        Ok(LogState {
            last_purged_log_id: state.purged().copied().map(LogId::from),
            last_log_id: state.last().copied().map(LogId::from),
        })
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
        let promise = self.with(|log| Ok(log.log_state().vote().copied()));
        let vote = promise.map_err(|error| cannot_read(&error))?.map(|promise| promise.0);
        let is_own = |vote: &Vote| vote.leader_id().node_id == self.node;
        Ok(vote.map(|vote| if is_own(&vote) { Vote::new(vote.leader_id().term, self.node) } else { vote }))
    }

    /// This is not synced: it goes to disk with the next append, and only spares a restarted node some waiting.
    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        let Some(committed) = committed else { return Ok(()) };
        self.with(|log| log.commit(committed.into()).map(drop)).map_err(|error| cannot_write(&error))
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
            records.push((Position::from(entry.log_id), Payload(payload.into())));
        }
        if self.acknowledges_early {
            self.with(|log| log.append(records).map(drop)).map_err(|error| cannot_write(&error))?;
            flushed.log_io_completed(Ok(()));
            return Ok(());
        }
        let (Some(first), Some(last)) = (records.first().map(|(at, _)| *at), records.last().map(|(at, _)| *at)) else {
            flushed.log_io_completed(Ok(()));
            return Ok(());
        };
        let (waiting, ahead) = if self.ahead.leads_in(last.term) {
            self.ahead.run(first.index..last.index + 1);
            (Waiting::Ahead { ahead: self.ahead(), before: last.index + 1 }, Some(flushed))
        } else {
            (Waiting::Append(flushed), None)
        };
        let callback = self.synced(waiting);
        let appended = self.with(|log| {
            log.append(records)?;
            log.flush(true, callback)
        });
        appended.map_err(|error| cannot_write(&error))?;
        if let Some(flushed) = ahead {
            flushed.log_io_completed(Ok(()));
        }
        Ok(())
    }

    async fn truncate(&mut self, since: LogId) -> Result<(), StorageError> {
        self.with(|log| log.truncate(since.index).map(drop)).map_err(|error| cannot_write(&error))
    }

    /// Nobody waits for this: a log that still has entries which the snapshot covers is only longer than it need be.
    async fn purge(&mut self, upto: LogId) -> Result<(), StorageError> {
        let purged = self.with(|log| {
            log.purge(upto.into())?;
            log.flush(true, None)
        });
        purged.map_err(|error| cannot_write(&error))
    }
}
