//! The bodies of HTTP requests and responses, as JSON. Client and server share these types.
//!
//! Every field that people may write by hand has a default. Durations can be written as strings (`"10s"`, `"500ms"`) or
//! as a number of milliseconds. Unknown fields are refused, so that a misspelt field is not silently ignored.

mod looking;
mod problem;
mod span;
pub mod stream;

use serde::{Deserialize, Serialize};

pub use looking::{Figures, Happening, History, Listing, RoleKind, Whoami};
pub use problem::{Problem, ProblemKind};
pub use span::Span;

/// TTL of a session if the client gives none.
pub const DEFAULT_TTL: Span = Span::from_millis(10_000);
/// Shortest TTL of a session.
pub const SHORTEST_TTL: Span = Span::from_millis(100);
/// Longest TTL of a session: thirty days.
pub const LONGEST_TTL: Span = Span::from_millis(30 * 24 * 3_600_000);
/// Longest delay after the loss of a lock: one day.
pub const LONGEST_DELAY: Span = Span::from_millis(24 * 3_600_000);
/// Longest name of a lock or an election, in bytes.
pub const LONGEST_NAME: usize = 1024;
/// Longest label, in bytes.
pub const LONGEST_LABEL: usize = 256;
/// Longest value of a leader, in bytes.
pub const LONGEST_VALUE: usize = 64 * 1024;
/// Longest body of a request, in bytes.
pub const LONGEST_BODY: usize = 256 * 1024;
/// Largest number of permits of one lock.
pub const MOST_PERMITS: u32 = 1_000_000;
/// Largest number of entries in one listing.
pub const MOST_LISTED: u64 = 1000;
/// Address on which a node listens by default.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7420";

/// Opens a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OpenSession {
    /// Time to live: the session expires when it is not renewed for this long. Default: 10 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// Label of the session, shown to operators. It need not be unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_LABEL)))]
    pub label: Option<String>,
}

/// A session: the lease under which a client holds locks and leads elections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// Id of the session, in hexadecimal.
    pub session: String,
    /// Time to live in milliseconds: the session expires when it is not renewed for this long.
    pub ttl_ms: u64,
    /// Label of the session, shown to operators.
    pub label: String,
    /// When the session was opened, in milliseconds since 1970, by the leader's clock.
    pub since_ms: u64,
    /// Time until the session expires unless it is renewed, in milliseconds. Missing if the leader cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
    /// Number of locks and elections that the session holds.
    #[serde(default)]
    pub holds: u64,
    /// Number of locks and elections that the session waits for.
    #[serde(default)]
    pub awaits: u64,
}

/// Result of renewing a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Renewed {
    /// Id of the session.
    pub session: String,
    /// Time to live in milliseconds, counted from when the client sent the renewal.
    pub ttl_ms: u64,
}

/// Sessions that can hold the lock at the same time: one, all that share it, or up to a number of permits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Only one session.
    #[default]
    Exclusive,
    /// All sessions that acquire it in shared mode.
    Shared,
    /// At most this many sessions that acquire it with the same number of permits.
    Permits(#[cfg_attr(feature = "schema", schemars(range(min = 1, max = MOST_PERMITS)))] u32),
}

/// Acquires a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AcquireLock {
    /// Session that acquires the lock. If missing, the service opens a session for this lock and closes it when the
    /// lock is released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Time to live of the session that is opened; not allowed together with `session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// Label of the session that is opened; not allowed together with `session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_LABEL)))]
    pub label: Option<String>,
    /// Longest time to wait in the queue; 0 does not wait. If missing, the request waits until the lock is granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// Sessions that can hold the lock at the same time: one, all that share it, or up to a number of permits.
    pub mode: Mode,
    /// If the holder's session expires, no other session acquires the lock for this long. This gives a write that is
    /// under way time to arrive before the next holder's writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Number of this request within the session. Requests with the same number take effect once, so a client can
    /// safely send a request again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

/// A lock that was granted, or an election that was won.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grant {
    /// Name of the lock or election.
    pub name: String,
    /// Session that holds it.
    pub session: String,
    /// Fence (fencing token) of the grant: larger than that of every earlier grant of the same name. Send it with every
    /// write to the resource that the lock protects; the resource must refuse fences smaller than the largest it has
    /// seen.
    pub fence: u64,
    /// Time to live in milliseconds of the session that was opened for this grant, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// Releases a lock, resigns from an election, or leaves the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReleaseLock {
    /// Session that holds the lock or waits for it.
    pub session: String,
    /// Number of this request within the session. Requests with the same number take effect once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

/// Takes a lock away from its holders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ForceRelease {
    /// Name of the operator, for the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_LABEL)))]
    pub by: Option<String>,
    /// Fence of the newest grant that the operator has seen. If there is a newer grant, nothing is released. If
    /// missing, the lock is released whichever session holds it when the request is processed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
}

/// Campaigns in an election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Campaign {
    /// Session that campaigns. If missing, the service opens a session for this election and closes it when the leader
    /// resigns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Time to live of the session that is opened; not allowed together with `session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// Label of the session that is opened; not allowed together with `session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_LABEL)))]
    pub label: Option<String>,
    /// Value that the candidate publishes once it leads, such as its address.
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_VALUE)))]
    pub value: String,
    /// Longest time to wait in the queue; 0 does not wait. If missing, the request waits until the election is won.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// Number of this request within the session. Requests with the same number take effect once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

/// Changes the value that a leader publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Proclaim {
    /// Session of the leader.
    pub session: String,
    /// Fence of the leader's grant.
    pub fence: u64,
    /// New value.
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_VALUE)))]
    pub value: String,
}

/// A session that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    /// Id of the session.
    pub session: String,
    /// Label of the session.
    pub label: String,
    /// Fence of the grant.
    pub fence: u64,
    /// Mode in which the lock is held.
    pub mode: Mode,
    /// When the lock was granted, in milliseconds since 1970, by the leader's clock.
    pub since_ms: u64,
    /// How long the lock has been held, in milliseconds.
    pub held_ms: u64,
}

/// A session that waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waiter {
    /// Id of the session.
    pub session: String,
    /// Label of the session.
    pub label: String,
    /// Mode in which the session requests the lock.
    pub mode: Mode,
    /// When the session joined the queue, in milliseconds since 1970, by the leader's clock.
    pub since_ms: u64,
    /// How long the session has waited, in milliseconds.
    pub waited_ms: u64,
}

/// State of a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lock {
    /// Name of the lock.
    pub name: String,
    /// Sessions that hold the lock; if there are many, the first of them.
    pub holders: Vec<Holder>,
    /// Number of sessions that hold the lock.
    #[serde(default)]
    pub holding: u64,
    /// Sessions that wait, in the order of the queue; if there are many, the first of them.
    pub waiters: Vec<Waiter>,
    /// Number of sessions that wait.
    pub waiting: u64,
    /// Length of the current lock delay, in milliseconds. After a holder's session has expired, the lock is granted to
    /// no session until this delay ends. Missing if there is no delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// True with the peer engine: the node shows only the sessions of its own clients. Clients of other nodes may hold
    /// the lock.
    #[serde(default, skip_serializing_if = "is_false")]
    pub here_only: bool,
}

/// Locks that are held or awaited, or a part of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Locks {
    /// Locks, sorted by name.
    pub locks: Vec<Lock>,
    /// Number of all locks that match.
    pub total: u64,
    /// True with the peer engine: the node shows only the sessions of its own clients. Clients of other nodes may hold
    /// these locks.
    #[serde(default, skip_serializing_if = "is_false")]
    pub here_only: bool,
}

/// State of an election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Election {
    /// Name of the election.
    pub name: String,
    /// Current leader; null if there is none.
    pub leader: Option<Leader>,
    /// Number of candidates that wait.
    pub waiting: u64,
    /// True with the peer engine: the node shows only the sessions of its own clients. Clients of other nodes may lead.
    #[serde(default, skip_serializing_if = "is_false")]
    pub here_only: bool,
}

/// Elections that have a leader or candidates, or a part of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Elections {
    /// Elections, sorted by name.
    pub elections: Vec<Election>,
    /// Number of all elections that match.
    pub total: u64,
    /// True with the peer engine: the node shows only the sessions of its own clients. Clients of other nodes may lead.
    #[serde(default, skip_serializing_if = "is_false")]
    pub here_only: bool,
}

/// The leader of an election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leader {
    /// Session of the leader.
    pub session: String,
    /// Label of the session.
    pub label: String,
    /// Fence of the leader's grant.
    pub fence: u64,
    /// Value that the leader publishes.
    pub value: String,
    /// When the leader was elected, in milliseconds since 1970, by the clock of the node that led the cluster.
    pub since_ms: u64,
}

/// Status of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Id of the node.
    pub node: u64,
    /// Version of the program.
    pub version: String,
    /// Raft term; with the peer engine, the number of the last election among the nodes.
    pub term: u64,
    /// Id of the node that leads the cluster, if this node knows one.
    pub leader: Option<u64>,
    /// Index of the last command that this node has applied.
    pub applied: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of locks and elections that are held or awaited.
    pub locks: u64,
    /// Members of the cluster.
    pub members: Vec<Member>,
    /// How the nodes agree on the order of grants.
    #[serde(default)]
    pub engine: EngineKind,
    /// Load of the node.
    #[serde(default)]
    pub figures: Figures,
    /// Why the node serves no requests, and what to do about it. Missing if it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// State of mutual exclusion among the nodes; only with the peer engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
}

/// How nodes agree on the order of grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// A Raft leader orders all commands, and a majority of the nodes writes each command to disk.
    #[default]
    Replicated,
    /// The nodes run a mutual exclusion algorithm among themselves. The node that holds the lock grants it to one of
    /// its own clients.
    Peer,
}

/// State of mutual exclusion among the nodes (peer engine).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turns {
    /// Mutual exclusion algorithm, with its options.
    pub algorithm: String,
    /// Election algorithm.
    pub election: String,
    /// Settings that all members must share, as text. Missing if this node has left its group.
    pub terms: Option<String>,
    /// Incarnation of this node: a number that is larger after every start.
    pub incarnation: u64,
    /// Number of lock and election names that this node knows.
    pub resources: u64,
    /// The other members.
    pub peers: Vec<Peer>,
}

/// Another member, as seen by this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Peer {
    /// Id of the member.
    pub node: u64,
    /// Address for connections between members.
    pub address: String,
    /// Whether this node has a connection to the member.
    pub connected: bool,
    /// Whether this node suspects that the member has crashed.
    pub suspected: bool,
    /// Last measured round-trip time to the member, in microseconds.
    pub round_trip_us: Option<u64>,
    /// Why the last attempt to connect failed. Missing if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Digest of a node's replicated state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Digest {
    /// Index of the last command that the node has applied.
    pub applied: u64,
    /// Digest of the replicated state, as 16 hexadecimal digits; equal on all nodes that have applied the same index.
    pub digest: String,
}

/// A member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Member {
    /// Id of the node.
    pub node: u64,
    /// Address at which clients and other members reach the node.
    pub address: String,
    /// Whether the member votes. A member that does not is a learner, which is still catching up.
    pub votes: bool,
    /// Number of log entries that the member lacks. Only the leader reports it, for the other members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<u64>,
    /// Milliseconds since the member last answered, if that is longer than the election timeout. Only the leader
    /// reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_ms: Option<u64>,
}

/// Adds a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AddMember {
    /// Id of the new node.
    pub node: u64,
    /// Address at which clients and other members reach the new node.
    pub address: String,
}

fn is_false(value: &bool) -> bool {
    !value
}
