//! Who waits for the disk, and what it is told.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use openraft::storage::LogFlushed;
use tokio::sync::oneshot;

use super::ahead::Ahead;
use super::status::SyncTimes;
use super::types::Types;

/// Who is told that everything up to here is on disk, or that it failed.
pub(super) struct Synced {
    pub(super) since: Instant,
    pub(super) times: Arc<SyncTimes>,
    pub(super) whom: Waiting,
}

/// Who waits for a sync.
pub(super) enum Waiting {
    /// openraft, which acknowledges then.
    Append(LogFlushed<Types>),
    /// What follows from entries that openraft has sent to others already.
    Ahead {
        /// Where it waits.
        ahead: Arc<Ahead>,
        /// The entry behind the last of them.
        before: u64,
    },
    /// One of our own functions.
    Here(oneshot::Sender<io::Result<()>>),
}

impl Synced {
    /// It is, or it failed.
    pub(super) fn send(self, result: io::Result<()>) {
        self.times.record(self.since.elapsed());
        match self.whom {
            Waiting::Append(flushed) => flushed.log_io_completed(result),
            Waiting::Ahead { ahead, before } => ahead.synced(before, result),
            // Who does not wait any more needs no answer.
            Waiting::Here(sender) => drop(sender.send(result)),
        }
    }
}
