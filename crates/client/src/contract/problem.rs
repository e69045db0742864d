//! What went wrong, as a client gets it: `application/problem+json`, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Holder;

/// What kind of problem it is. Programs decide by it; people read the detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The request makes no sense; the field says where.
    BadRequest,
    /// There is no such address, or not with this method.
    NoSuchAddress,
    /// The body is too long.
    TooLong,
    /// There is no such session: it was closed, or it expired.
    NoSession,
    /// A session with this number exists.
    SessionExists,
    /// Somebody else holds it, and the request was not to wait.
    Held,
    /// It was not granted in time. The place in line was given up.
    WaitedInVain,
    /// The wait was ended from elsewhere.
    WaitEnded,
    /// This session does not hold it.
    NotHeld,
    /// It was asked for in another mode, or with another number of permits.
    OtherMode,
    /// The request was done before, and nothing is left of it.
    Over,
    /// A limit is reached.
    TooMany,
    /// Who asks is not known.
    Unauthenticated,
    /// Who asks may not do this.
    Forbidden,
    /// No node leads; nothing was done.
    NoLeader,
    /// It is not known whether it was done.
    Unknown,
    /// There is too much to do; nothing was done.
    Overloaded,
    /// The node stops.
    Stopping,
    /// It cannot be done as things are; the detail says why.
    Conflict,
    /// The engine of this node cannot promise this; the detail says what to do.
    NotWithThisEngine,
    /// The node does not trust a majority of its group, and lets nobody in; nothing was done.
    NoMajority,
}

impl ProblemKind {
    /// All kinds, in their order.
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

    /// Its name, as programs know it.
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|name| name.as_str().map(String::from)).unwrap_or_default()
    }

    /// The status of the HTTP answer.
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

    /// A few words.
    pub fn title(self) -> &'static str {
        match self {
            ProblemKind::BadRequest => "the request makes no sense",
            ProblemKind::NoSuchAddress => "there is nothing at this address",
            ProblemKind::TooLong => "the body is too long",
            ProblemKind::NoSession => "no such session",
            ProblemKind::SessionExists => "the session exists",
            ProblemKind::Held => "held by somebody else",
            ProblemKind::WaitedInVain => "waited in vain",
            ProblemKind::WaitEnded => "the wait was ended",
            ProblemKind::NotHeld => "not held",
            ProblemKind::OtherMode => "asked for in another mode",
            ProblemKind::Over => "done before, and over",
            ProblemKind::TooMany => "a limit is reached",
            ProblemKind::Unauthenticated => "who are you?",
            ProblemKind::Forbidden => "not allowed",
            ProblemKind::NoLeader => "no node leads",
            ProblemKind::Unknown => "not known whether it was done",
            ProblemKind::Overloaded => "too much to do",
            ProblemKind::Stopping => "the node stops",
            ProblemKind::Conflict => "not as things are",
            ProblemKind::NotWithThisEngine => "not with this engine",
            ProblemKind::NoMajority => "no majority",
        }
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// What kind of problem it is.
    #[serde(rename = "type")]
    pub kind: ProblemKind,
    /// The same in a few words.
    pub title: String,
    /// The status of the HTTP answer.
    pub status: u16,
    /// What happened, whether anything has changed, and what to do.
    pub detail: String,
    /// The field of the request that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Who holds the lock that could not be had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Problem {
        let title = kind.title().to_string();
        Problem { kind, title, status: kind.status(), detail: detail.into(), field: None, holders: Vec::new() }
    }

    /// A request whose field is wrong.
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
