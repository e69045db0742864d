//! What a node must be told to start, and why it may refuse to.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use thiserror::Error;

use super::link::{Connector, PlainTcp};
use super::sealed::Damage;
use crate::engine::{Listener, NodeId};
use crate::machine::{Event, Machine, Moment};

/// Who answers what other members ask on behalf of the service.
pub trait Answerer: Send + Sync + 'static {
    /// Answers a question.
    fn answer(&self, from: NodeId, request: Bytes) -> BoxFuture<'_, Bytes>;
}

/// What a node must be told to start.
#[derive(Clone)]
pub struct Settings {
    /// Its number, which it keeps for as long as it has its data directory.
    pub node: NodeId,
    /// Its data directory.
    pub directory: PathBuf,
    /// Where the others reach it.
    pub address: String,
    /// Those who begin a cluster together, this node among them. Nobody if it waits to be added to one. Of no
    /// consequence once the cluster has begun.
    pub first_members: BTreeMap<NodeId, String>,
    /// How fast the loss of a leader is noticed.
    pub timing: Timing,
    /// After so many entries a snapshot is made.
    pub snapshot_after: u64,
    /// So many entries are kept although a snapshot covers them, for followers that are a little behind.
    pub kept_entries: u64,
    /// Who is told of everything that happens.
    pub listener: Arc<dyn Listener>,
    /// How to reach the others.
    pub connector: Arc<dyn Connector>,
    /// Who answers what they ask.
    pub answerer: Arc<dyn Answerer>,
}

/// How fast the loss of a leader is noticed. openraft waits for the longer election timeout, which is the leader's
/// lease, and then for a random one: with the defaults another node leads 1.2 to 1.7 seconds after the loss, unless
/// votes are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How often a leader shows that it is there, in milliseconds.
    pub heartbeat_ms: u64,
    /// The shortest election timeout.
    pub shortest_ms: u64,
    /// The longest.
    pub longest_ms: u64,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing { heartbeat_ms: 100, shortest_ms: 400, longest_ms: 800 }
    }
}

/// Nobody listens, and nobody answers.
pub(super) struct Nobody;

impl Listener for Nobody {
    fn applied(&self, _: Moment, _: &[Event]) {}

    fn replaced(&self, _: &Machine, _: u64) {}
}

impl Answerer for Nobody {
    fn answer(&self, _: NodeId, _: Bytes) -> BoxFuture<'_, Bytes> {
        Box::pin(async { Bytes::new() })
    }
}

impl Settings {
    /// A node on plain TCP, to which nobody listens, that waits to be added to a cluster.
    pub fn new(node: NodeId, directory: impl Into<PathBuf>, address: impl Into<String>) -> Settings {
        Settings {
            node,
            directory: directory.into(),
            address: address.into(),
            first_members: BTreeMap::new(),
            timing: Timing::default(),
            snapshot_after: 10_000,
            kept_entries: 1_000,
            listener: Arc::new(Nobody),
            connector: Arc::new(PlainTcp),
            answerer: Arc::new(Nobody),
        }
    }

    /// A cluster of this node alone.
    #[must_use]
    pub fn alone(mut self) -> Settings {
        self.first_members = BTreeMap::from([(self.node, self.address.clone())]);
        self
    }

    /// openraft's settings, if these make sense.
    pub(super) fn check(&self) -> Result<openraft::Config, StartError> {
        let node = self.node;
        if !self.first_members.is_empty() && self.first_members.get(&node) != Some(&self.address) {
            return Err(StartError::NotAmongFirst { node, address: self.address.clone() });
        }
        let Timing { heartbeat_ms, shortest_ms, longest_ms } = self.timing;
        if heartbeat_ms == 0 || heartbeat_ms.saturating_mul(2) >= shortest_ms || shortest_ms >= longest_ms {
            return Err(StartError::Timing(self.timing));
        }
        let config = openraft::Config {
            cluster_name: "quorate".into(),
            heartbeat_interval: heartbeat_ms,
            election_timeout_min: shortest_ms,
            election_timeout_max: longest_ms,
            install_snapshot_timeout: 30_000,
            snapshot_policy: openraft::SnapshotPolicy::LogsSinceLast(self.snapshot_after.max(1)),
            max_in_snapshot_log_to_keep: self.kept_entries,
            // A follower that lacks so much gets a snapshot even if the entries are there still.
            replication_lag_threshold: self.snapshot_after.saturating_mul(2).max(5_000),
            ..openraft::Config::default()
        };
        config.validate().map_err(|_| StartError::Timing(self.timing))
    }
}

/// Why a node does not start. Nothing was changed.
#[derive(Debug, Error)]
pub enum StartError {
    /// The disk does not work.
    #[error("cannot read or write the data directory: {0}")]
    Disk(#[from] io::Error),
    /// There is no directory for the data, and none can be made.
    #[error("cannot use {} as the data directory: {error}", directory.display())]
    NoDirectory {
        /// Which.
        directory: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Two processes would use one directory.
    #[error(
        "{} is in use by another process: stop that process, or choose another data directory", directory.display()
    )]
    InUse {
        /// The log's directory.
        directory: PathBuf,
    },
    /// The directory belongs to another node.
    #[error(
        "{} belongs to node {found}, not to node {node}: start node {found} on it, or give node {node} a data \
         directory of its own", directory.display()
    )]
    OtherNode {
        /// The data directory.
        directory: PathBuf,
        /// Whose it is.
        found: NodeId,
        /// Who was to be started.
        node: NodeId,
    },
    /// There are data, but nothing says whose.
    #[error(
        "{} contains data, but its file `identity` is missing: restore that file, or remove this member from the \
         cluster, empty the directory and add the node under a new id", directory.display()
    )]
    NoIdentity {
        /// The data directory.
        directory: PathBuf,
    },
    /// A file is damaged, or newer than this program.
    #[error(
        "cannot read {}: {damage}. If the file is damaged, remove this member from the cluster, empty its data \
         directory and add the node under a new id; restore a single node from a backup", path.display()
    )]
    DamagedFile {
        /// The file.
        path: PathBuf,
        /// What is the matter.
        damage: Damage,
    },
    /// The log is damaged, and not only at its end.
    #[error(
        "the log in {} is damaged ({reason}): remove this member from the cluster, empty its data directory and add \
         the node under a new id; restore a single node from a backup", directory.display()
    )]
    DamagedLog {
        /// The log's directory.
        directory: PathBuf,
        /// What is the matter.
        reason: String,
    },
    /// Another release wrote the log.
    #[error(
        "cannot read the log in {}: {reason}; nothing was changed. Start the release that wrote it, save everything \
         with `quorate backup FILE`, and restore that file with this release into an empty data directory \
         (`quorate restore`)", directory.display()
    )]
    OtherFormat {
        /// The log's directory.
        directory: PathBuf,
        /// Which format the log has, and which this release reads.
        reason: String,
    },
    /// What the log says cannot be applied.
    #[error("cannot replay the log: {0}")]
    Log(String),
    /// The first members do not include this node.
    #[error(
        "node {node} has the address {address} (--advertise, or else --listen), but the list of members (--member) has \
         another address for it: make them equal"
    )]
    NotAmongFirst {
        /// The node.
        node: NodeId,
        /// Its address.
        address: String,
    },
    /// The timing makes no sense.
    #[error(
        "invalid timing {0:?}: the heartbeat must be less than half of the shortest election timeout, which must be \
         less than the longest"
    )]
    Timing(Timing),
}
