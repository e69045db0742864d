//! The log alone, for `benches/log.rs`.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::{Wal, Writer};
use crate::raft::status::SyncTimes;
use crate::raft::synced::{Synced, Waiting};
use crate::raft::types::LogId;

/// A log that makes records durable, one batch after the other.
pub struct OwnLog(Wal);

impl OwnLog {
    /// Begins one in an empty directory.
    pub fn open(directory: &Path) -> io::Result<OwnLog> {
        Ok(OwnLog(Wal::open(directory)?.0))
    }

    /// Returns when these records are on disk.
    pub fn write(&self, first: u64, records: impl IntoIterator<Item = Vec<u8>>) -> io::Result<()> {
        let id = |index| LogId::new(openraft::CommittedLeaderId::new(1, 1), index);
        self.0.append((first..).map(id).zip(records.into_iter().map(Into::into)).collect())?;
        let (sender, synced) = tokio::sync::oneshot::channel();
        let (since, times) = (Instant::now(), Arc::new(SyncTimes::default()));
        self.0.flush(Some(Synced { since, times, whom: Waiting::Here(sender) }), Writer::Here)?;
        synced.blocking_recv().unwrap_or_else(|_| Err(io::Error::other("the writer ended without an answer")))
    }
}
