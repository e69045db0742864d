//! Requests and responses of the read-only side: parts of lists, history, the caller's identity, the load of a node.

use serde::{Deserialize, Serialize};

use super::is_false;

/// Selects a part of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Listing {
    /// Only entries whose name, or whose session's label or id, contains this text, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = super::LONGEST_NAME)))]
    pub search: Option<String>,
    /// Only entries after this name, or after the session with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = super::LONGEST_NAME)))]
    pub after: Option<String>,
    /// Only entries before this name, or before the session with this id: the last `limit` of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = super::LONGEST_NAME)))]
    pub before: Option<String>,
    /// Largest number of entries to return.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = super::MOST_LISTED)))]
    pub limit: Option<u64>,
    /// Only locks and elections that a session waits for; of sessions, only those that wait.
    #[serde(skip_serializing_if = "is_false")]
    pub waiting: bool,
}

/// Recent events. A node keeps a limited number of them in memory, since it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// Events, the latest first.
    pub events: Vec<Happening>,
}

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Happening {
    /// Type of the event, as in `/v1/events`: `granted`, `lost`, `session-opened`, …
    pub event: String,
    /// Index of the command that caused the event.
    pub index: u64,
    /// When it happened, in milliseconds since 1970, by the leader's clock.
    pub at_ms: u64,
    /// `lock` or `election`, if the event belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the lock or election.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Label of the session, if it is still known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Fence of the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// For `granted`: when the session joined the queue. For `lost`: when the session was granted the lock or the
    /// leadership. In milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Why the session lost the lock or left the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Name of the operator who released it by force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Delay in milliseconds, during which no session acquires the lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Whether the session ended because it was not renewed in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired: Option<bool>,
}

/// Identity and permissions of the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Whoami {
    /// Name of the caller's token. Missing if the node does not ask for tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Role of the caller's token; `admin` if the node does not ask for tokens.
    pub role: RoleKind,
    /// Prefixes of the names that the token may lock, if its role is `lock`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefixes: Vec<String>,
}

/// Role of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RoleKind {
    /// May read everything.
    #[default]
    Read,
    /// May also acquire locks and lead elections whose names have one of the token's prefixes.
    Lock,
    /// May do everything.
    Admin,
}

/// Load of a node: counters since it was started. Read them twice to get rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Figures {
    /// Requests answered, over all protocols.
    pub requests: u64,
    /// Writes to disk that the node has waited for.
    pub writes: u64,
    /// Total time that the node has waited for its disk, in microseconds, if it is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes_us: Option<u64>,
}
