//! Errors of the HTTP API, as `application/problem+json`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Holder;

/// Type of a problem. Programs should compare the type; the detail is text for people and may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The request is malformed; `field` names the wrong field.
    BadRequest,
    /// The path does not exist, or does not support this method.
    NoSuchAddress,
    /// The body is too long.
    TooLong,
    /// The session does not exist: it was closed, or it expired.
    NoSession,
    /// A session with this id exists already.
    SessionExists,
    /// Another session holds the lock or leads the election, and the request did not wait.
    Held,
    /// The lock or leadership was not granted in time. The request has left the queue.
    WaitedInVain,
    /// The wait was ended by something else: the session expired or was closed, or the request was withdrawn.
    WaitEnded,
    /// The session does not hold the lock, or does not lead the election.
    NotHeld,
    /// The session has requested it in another mode, or with another number of permits.
    OtherMode,
    /// The request was processed before, and its grant has been released or lost since.
    Over,
    /// A limit was reached.
    TooMany,
    /// The request has no valid token.
    Unauthenticated,
    /// The token does not permit this.
    Forbidden,
    /// No node leads the cluster; nothing was changed.
    NoLeader,
    /// The outcome is unknown: the change may have been made or not.
    Unknown,
    /// The service is overloaded; nothing was changed.
    Overloaded,
    /// The node is shutting down.
    Stopping,
    /// The request conflicts with the current state; the detail says why.
    Conflict,
    /// The node's engine does not support this; the detail names an alternative.
    NotWithThisEngine,
    /// The node cannot reach a majority of its group, and grants nothing; nothing was changed.
    NoMajority,
}

impl ProblemKind {
    /// All types, in the order of their declaration.
    pub const ALL: [ProblemKind; 21] = [
        ProblemKind::BadRequest,
        ProblemKind::NoSuchAddress,
        ProblemKind::TooLong,
        ProblemKind::NoSession,
        ProblemKind::SessionExists,
        ProblemKind::Held,
        ProblemKind::WaitedInVain,
        ProblemKind::WaitEnded,
        ProblemKind::NotHeld,
        ProblemKind::OtherMode,
        ProblemKind::Over,
        ProblemKind::TooMany,
        ProblemKind::Unauthenticated,
        ProblemKind::Forbidden,
        ProblemKind::NoLeader,
        ProblemKind::Unknown,
        ProblemKind::Overloaded,
        ProblemKind::Stopping,
        ProblemKind::Conflict,
        ProblemKind::NotWithThisEngine,
        ProblemKind::NoMajority,
    ];

    /// Name of the type, in kebab-case.
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|name| name.as_str().map(String::from)).unwrap_or_default()
    }

    /// HTTP status of the response.
    pub fn status(self) -> u16 {
        match self {
            ProblemKind::BadRequest => 400,
            ProblemKind::Unauthenticated => 401,
            ProblemKind::Forbidden => 403,
            ProblemKind::NoSuchAddress | ProblemKind::NoSession => 404,
            ProblemKind::WaitedInVain => 408,
            ProblemKind::SessionExists
            | ProblemKind::Held
            | ProblemKind::WaitEnded
            | ProblemKind::NotHeld
            | ProblemKind::OtherMode
            | ProblemKind::Over
            | ProblemKind::Conflict => 409,
            ProblemKind::TooLong => 413,
            ProblemKind::TooMany | ProblemKind::Overloaded => 429,
            ProblemKind::NotWithThisEngine => 501,
            ProblemKind::NoLeader | ProblemKind::Stopping | ProblemKind::NoMajority => 503,
            ProblemKind::Unknown => 504,
        }
    }

    /// Short description.
    pub fn title(self) -> &'static str {
        match self {
            ProblemKind::BadRequest => "malformed request",
            ProblemKind::NoSuchAddress => "no such path or method",
            ProblemKind::TooLong => "body too long",
            ProblemKind::NoSession => "no such session",
            ProblemKind::SessionExists => "session id in use",
            ProblemKind::Held => "held by another session",
            ProblemKind::WaitedInVain => "not granted in time",
            ProblemKind::WaitEnded => "wait ended",
            ProblemKind::NotHeld => "not the holder",
            ProblemKind::OtherMode => "requested in another mode",
            ProblemKind::Over => "request number already used",
            ProblemKind::TooMany => "limit reached",
            ProblemKind::Unauthenticated => "token missing or unknown",
            ProblemKind::Forbidden => "permission denied",
            ProblemKind::NoLeader => "no leader",
            ProblemKind::Unknown => "outcome unknown",
            ProblemKind::Overloaded => "overloaded",
            ProblemKind::Stopping => "node is shutting down",
            ProblemKind::Conflict => "conflict",
            ProblemKind::NotWithThisEngine => "not supported by this engine",
            ProblemKind::NoMajority => "no majority",
        }
    }
}

/// An error of the HTTP API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// Type of the problem.
    #[serde(rename = "type")]
    pub kind: ProblemKind,
    /// Short description of the type.
    pub title: String,
    /// HTTP status of the response.
    pub status: u16,
    /// Explanation for people: the error, whether anything was changed, and what to do.
    pub detail: String,
    /// Field of the request that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Sessions that hold the lock that was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
}

impl Problem {
    /// Creates a problem of this type, with its title and status.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Problem {
        let title = kind.title().to_string();
        Problem { kind, title, status: kind.status(), detail: detail.into(), field: None, holders: Vec::new() }
    }

    /// Creates a problem for a request whose `field` is wrong.
    pub fn of_field(field: &str, detail: impl Into<String>) -> Problem {
        Problem { field: Some(field.into()), ..Problem::new(ProblemKind::BadRequest, detail) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.detail),
            None => f.write_str(&self.detail),
        }
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, U32Deserializer};

    use super::*;

    #[test]
    fn all_kinds_are_listed_in_their_order() {
        let variant = |at: u32| -> Option<ProblemKind> {
            let at: U32Deserializer<Error> = at.into_deserializer();
            ProblemKind::deserialize(at).ok()
        };
        let there_are: Vec<_> = (0..).map_while(variant).collect();
        assert_eq!(there_are, ProblemKind::ALL);
        assert_eq!(ProblemKind::WaitedInVain.name(), "waited-in-vain");
    }
}
