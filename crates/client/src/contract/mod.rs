//! What client and server say to each other: the bodies of HTTP requests and answers, as JSON.
//!
//! Everything that a person may write by hand has a default, and a span of time can be written as people do (`"10s"`,
//! `"500ms"`) or as a number of milliseconds. A field that is not known is refused, so that a misspelt one is not
//! silently ignored.

mod looking;
mod problem;
mod span;
pub mod stream;

use serde::{Deserialize, Serialize};

pub use looking::{Figures, Happening, History, Listing, RoleKind, Whoami};
pub use problem::{Problem, ProblemKind};
pub use span::Span;

/// A session lasts so long unless its client says otherwise.
pub const DEFAULT_TTL: Span = Span::from_millis(10_000);
/// The shortest and the longest time to live of a session.
pub const SHORTEST_TTL: Span = Span::from_millis(100);
/// Thirty days.
pub const LONGEST_TTL: Span = Span::from_millis(30 * 24 * 3_600_000);
/// The longest time for which nobody gets a lock after a loss: a day.
pub const LONGEST_DELAY: Span = Span::from_millis(24 * 3_600_000);
/// Names are at most so long, in bytes.
pub const LONGEST_NAME: usize = 1024;
/// Labels are at most so long, in bytes.
pub const LONGEST_LABEL: usize = 256;
/// Values are at most so long, in bytes.
pub const LONGEST_VALUE: usize = 64 * 1024;
/// Bodies are at most so long, in bytes.
pub const LONGEST_BODY: usize = 256 * 1024;
/// There are at most so many permits of one lock.
pub const MOST_PERMITS: u32 = 1_000_000;
/// So many are listed at once, at most.
pub const MOST_LISTED: u64 = 1000;
/// Where a node listens unless it is told otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7420";

/// Opens a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OpenSession {
    /// How long it lasts without renewal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_LABEL)))]
    pub label: Option<String>,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// Its number, in hexadecimal.
    pub session: String,
    /// How long it lasts without renewal, in milliseconds.
    pub ttl_ms: u64,
    /// What people call it.
    pub label: String,
    /// When it was opened, in milliseconds since 1970, by the leader's calendar.
    pub since_ms: u64,
    /// How long it has left, in milliseconds; not told if the leader cannot be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
    /// How many locks and elections it holds.
    #[serde(default)]
    pub holds: u64,
    /// How many it waits for.
    #[serde(default)]
    pub awaits: u64,
}

/// A session was renewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Renewed {
    /// The session.
    pub session: String,
    /// How long it lasts from when the renewal was sent, in milliseconds.
    pub ttl_ms: u64,
}

/// With whom a lock is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// With nobody.
    #[default]
    Exclusive,
    /// With all others who share it.
    Shared,
    /// With so many in all.
    Permits(#[cfg_attr(feature = "schema", schemars(range(min = 1, max = MOST_PERMITS)))] u32),
}

/// Asks for a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AcquireLock {
    /// For which session. Without one, a session is opened for this lock alone, and closed with its release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How long that session lasts without renewal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// What people call that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_LABEL)))]
    pub label: Option<String>,
    /// How long to wait: 0 not at all, nothing as long as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// With whom to share it.
    pub mode: Mode,
    /// How long nobody gets it after its holder's session has expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// The request's number within the session: sent again, it does its work once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

/// A lock that was granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grant {
    /// The lock's name, or the election's.
    pub name: String,
    /// Who holds it.
    pub session: String,
    /// The number of the grant: larger than that of every earlier one. Show it to whatever the lock protects.
    pub fence: u64,
    /// How long the session lasts without renewal, in milliseconds, if it was opened for this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// Gives back a lock, steps down, or leaves the line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReleaseLock {
    /// Whose lock.
    pub session: String,
    /// The request's number within the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

/// Takes a lock away from its holders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ForceRelease {
    /// Who does it, for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_LABEL)))]
    pub by: Option<String>,
    /// The newest grant that was seen. If somebody has got it since, nothing is taken away. Without it, it is taken
    /// from whoever has it by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
}

/// Asks for leadership.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Campaign {
    /// For which session. Without one, a session is opened for this alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How long that session lasts without renewal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// What people call that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_LABEL)))]
    pub label: Option<String>,
    /// What the leader has to say.
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_VALUE)))]
    pub value: String,
    /// How long to wait: 0 not at all, nothing as long as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// The request's number within the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

/// Changes what a leader has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Proclaim {
    /// The leader's session.
    pub session: String,
    /// Its fence.
    pub fence: u64,
    /// What it says now.
    #[cfg_attr(feature = "schema", schemars(length(max = LONGEST_VALUE)))]
    pub value: String,
}

/// Somebody who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    /// Who.
    pub session: String,
    /// What people call it.
    pub label: String,
    /// The number of its grant.
    pub fence: u64,
    /// With whom it shares it.
    pub mode: Mode,
    /// Since when, in milliseconds since 1970, by the leader's calendar.
    pub since_ms: u64,
    /// For how long, in milliseconds.
    pub held_ms: u64,
}

/// Somebody who waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waiter {
    /// Who.
    pub session: String,
    /// What people call it.
    pub label: String,
    /// With whom it would share it.
    pub mode: Mode,
    /// Since when, in milliseconds since 1970, by the leader's calendar.
    pub since_ms: u64,
    /// For how long, in milliseconds.
    pub waited_ms: u64,
}

/// A lock, as it can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// Who holds it: the first of them.
    pub holders: Vec<Holder>,
    /// How many hold it in all.
    #[serde(default)]
    pub holding: u64,
    /// Who waits, in order: the first of them.
    pub waiters: Vec<Waiter>,
    /// How many wait in all.
    pub waiting: u64,
    /// For how long nobody gets it after a loss, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Whether only what clients of this node hold and await is known: those of other nodes may have it (peer engine).
    #[serde(default, skip_serializing_if = "is_false")]
    pub here_only: bool,
}

/// All locks, or as many of them as fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Locks {
    /// In the order of their names.
    pub locks: Vec<Lock>,
    /// How many there are.
    pub total: u64,
    /// Whether only what clients of this node hold and await is known: those of other nodes may have it (peer engine).
    #[serde(default, skip_serializing_if = "is_false")]
    pub here_only: bool,
}

/// An election, as it can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Election {
    /// Its name.
    pub name: String,
    /// Who leads; nobody, if nothing is here.
    pub leader: Option<Leader>,
    /// How many candidates wait.
    pub waiting: u64,
    /// Whether only what clients of this node hold and await is known: those of other nodes may have it (peer engine).
    #[serde(default, skip_serializing_if = "is_false")]
    pub here_only: bool,
}

/// All elections, or as many of them as fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Elections {
    /// In the order of their names.
    pub elections: Vec<Election>,
    /// How many there are.
    pub total: u64,
    /// Whether only what clients of this node hold and await is known: those of other nodes may have it (peer engine).
    #[serde(default, skip_serializing_if = "is_false")]
    pub here_only: bool,
}

/// Somebody who leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leader {
    /// Who.
    pub session: String,
    /// What people call it.
    pub label: String,
    /// The number of its grant.
    pub fence: u64,
    /// What it says.
    pub value: String,
    /// Since when, in milliseconds since 1970, by the leader's calendar.
    pub since_ms: u64,
}

/// How a node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Its number.
    pub node: u64,
    /// Its version.
    pub version: String,
    /// The number of the last election among the nodes.
    pub term: u64,
    /// The node that leads, if one is known.
    pub leader: Option<u64>,
    /// The number of the last command that this node has applied.
    pub applied: u64,
    /// How many sessions there are.
    pub sessions: u64,
    /// How many locks and elections somebody holds or awaits.
    pub locks: u64,
    /// The members.
    pub members: Vec<Member>,
    /// How the nodes agree.
    #[serde(default)]
    pub engine: EngineKind,
    /// How busy it is.
    #[serde(default)]
    pub figures: Figures,
    /// Why it takes no part, if it does not: what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// How the nodes take turns, with the peer engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
}

/// How nodes agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// A leader orders everything, and a majority has it on disk.
    #[default]
    Replicated,
    /// They take turns by an algorithm, each for its own clients.
    Peer,
}

/// How nodes take turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turns {
    /// The algorithm, with its options.
    pub algorithm: String,
    /// How they elect a leader.
    pub election: String,
    /// All that they have agreed on, in words; nothing if this node has stopped to take part.
    pub terms: Option<String>,
    /// In which of its lives this node is.
    pub incarnation: u64,
    /// Names of which the node has heard.
    pub resources: u64,
    /// The other members.
    pub peers: Vec<Peer>,
}

/// Another member, as a node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Peer {
    /// Its number.
    pub node: u64,
    /// Where it speaks with other members.
    pub address: String,
    /// Whether there is a connection to it.
    pub connected: bool,
    /// Whether it is taken for dead.
    pub suspected: bool,
    /// How long it took there and back, in microseconds, when it was measured last.
    pub round_trip_us: Option<u64>,
    /// Why there is no connection to it, if the last attempt to open one has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What a node has become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Digest {
    /// The number of the last command that it has applied.
    pub applied: u64,
    /// The same on all nodes that have applied as many: 16 hexadecimal digits.
    pub digest: String,
}

/// A member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Member {
    /// Its number.
    pub node: u64,
    /// Where it listens.
    pub address: String,
    /// Whether it votes, or still learns.
    pub votes: bool,
    /// How many entries of the log it lacks, as the leader knows: only the leader tells, of all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<u64>,
    /// For how many milliseconds it has not answered, if that is longer than a living one takes: only the leader tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_ms: Option<u64>,
}

/// Adds a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AddMember {
    /// Its number.
    pub node: u64,
    /// Where it listens.
    pub address: String,
}

fn is_false(value: &bool) -> bool {
    !value
}
