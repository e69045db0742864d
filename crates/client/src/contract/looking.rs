//! What those say and are told who look: a part of a list, what has happened, who they are, how busy a node is.

use serde::{Deserialize, Serialize};

use super::is_false;

/// Which part of a list is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Listing {
    /// Only what has this text in its name, or in the label or number of a session, in upper or lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = super::LONGEST_NAME)))]
    pub search: Option<String>,
    /// Only what comes after this name, or after the session of this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = super::LONGEST_NAME)))]
    pub after: Option<String>,
    /// Only what comes before this name, or before the session of this number: the last of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = super::LONGEST_NAME)))]
    pub before: Option<String>,
    /// So many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = super::MOST_LISTED)))]
    pub limit: Option<u64>,
    /// Only what somebody waits for; of sessions, those that wait.
    #[serde(skip_serializing_if = "is_false")]
    pub waiting: bool,
}

/// What has happened, as far as a node remembers: the last of it, since it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// The latest first.
    pub events: Vec<Happening>,
}

/// Something that has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Happening {
    /// What: `granted`, `lost`, `session-opened`, …, as among the events.
    pub event: String,
    /// The number of the command that did it.
    pub index: u64,
    /// When, in milliseconds since 1970, by the leader's calendar.
    pub at_ms: u64,
    /// Whether it happened to a `lock` or an `election`, if to one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// To which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What people call that session, if it is still known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The number of the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// Since when it had waited for what it was granted, or had held what it has lost, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Why something was lost or left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Who used force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// For how long nobody gets it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Whether a session ended because it was not renewed in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired: Option<bool>,
}

/// Who asks, as the node knows it, and what that one may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Whoami {
    /// Whose token it is; nobody's, if nobody is asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the token is for; everything, if nobody is asked for one.
    pub role: RoleKind,
    /// With which prefixes, if it is for locks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefixes: Vec<String>,
}

/// What a token is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RoleKind {
    /// To look at everything.
    #[default]
    Read,
    /// To hold locks, too.
    Lock,
    /// To do everything.
    Admin,
}

/// How busy a node is: what it has done since it was started. Two looks tell how fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Figures {
    /// Requests that it has answered, whatever their protocol.
    pub requests: u64,
    /// How often it has waited for its disk.
    pub writes: u64,
    /// How long it has waited for its disk in all, in microseconds, if it measures that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes_us: Option<u64>,
}
