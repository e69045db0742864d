//! What there is to know about a node, for people and for metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::types::RandomId;
use crate::engine::NodeId;

/// How a node is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Which node.
    pub node: NodeId,
    /// Of which cluster, once it belongs to one.
    pub cluster: Option<RandomId>,
    /// The term it is in.
    pub term: u64,
    /// Who leads, if that is known. Nobody, if it is this node and it hears from no majority.
    pub leader: Option<NodeId>,
    /// The last entry of its log.
    pub last_log: Option<u64>,
    /// The last entry it knows to be committed.
    pub committed: Option<u64>,
    /// The last entry that it has applied.
    pub applied: Option<u64>,
    /// How many commands it has applied.
    pub commands: u64,
    /// The last entry that its snapshot covers.
    pub snapshot: Option<u64>,
    /// The last entry that it has deleted from its log.
    pub purged: Option<u64>,
    /// How far the others are, if it leads.
    pub followers: Vec<Follower>,
    /// How long writes to the log took.
    pub syncs: SyncHistogram,
    /// Why it takes no part, if it does not: what to do about it.
    pub trouble: Option<String>,
}

/// How far another node is, as its leader knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Follower {
    /// Which node.
    pub node: NodeId,
    /// The last entry it is known to have.
    pub matched: Option<u64>,
    /// How many entries it lacks.
    pub lag: u64,
    /// For how many milliseconds it has not answered, if that is too long.
    pub silent_ms: Option<u64>,
}

/// A write that takes longer is reported: a node that waits so long for its disk soon leads no more.
const SLOW: Duration = Duration::from_millis(500);

/// Bucket i counts what took less than 2^i microseconds and did not fit the one before.
const BUCKETS: usize = 24;

/// How long each write of the log took, from handing it over until it was on disk.
#[derive(Debug, Default)]
pub(super) struct SyncTimes {
    buckets: [AtomicU64; BUCKETS],
    total_us: AtomicU64,
}

impl SyncTimes {
    pub(super) fn record(&self, took: Duration) {
        if took > SLOW {
            // Writes follow each other, so there are two such lines a second at most.
            tracing::warn!(took_ms = took.as_millis() as u64, "log write slow");
        }
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = (u64::BITS - took_us.leading_zeros()) as usize;
        self.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
        self.total_us.fetch_add(took_us, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> SyncHistogram {
        let counts = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        let buckets: Vec<_> = counts.enumerate().map(|(power, count)| (1 << power, count)).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        SyncHistogram { count, total_us: self.total_us.load(Ordering::Relaxed), buckets }
    }
}

/// How long writes to the log took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SyncHistogram {
    /// How many there were.
    pub count: u64,
    /// How long all took together, in microseconds.
    pub total_us: u64,
    /// How many took less than so many microseconds, and not less than those of the bucket before; the last bucket has
    /// all that took longer, too.
    pub buckets: Vec<(u64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_in_the_bucket_that_they_fit() {
        let times = SyncTimes::default();
        for took_us in [0, 1, 3, 1_000_000_000_000] {
            times.record(Duration::from_micros(took_us));
        }
        let read = times.read();
        let counted: Vec<_> = read.buckets.iter().filter(|(_, count)| *count > 0).copied().collect();
        assert_eq!(counted, [(1, 1), (2, 1), (4, 1), (1 << 23, 1)]);
        assert_eq!((read.count, read.total_us), (4, 1_000_000_000_004));
    }
}
