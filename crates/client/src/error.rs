//! What can go wrong for a client, and what it can do about it.

use crate::contract::{Problem, ProblemKind};

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The service says so.
    #[error(transparent)]
    Problem(#[from] Box<Problem>),
    /// No node has answered in time.
    #[error("no node has answered ({tried}): {why}")]
    Unreachable {
        /// Which ones.
        tried: String,
        /// What the last of them said.
        why: String,
    },
    /// A node said something that this version does not understand.
    #[error("{node} does not speak this version's language: {why}")]
    NotUnderstood {
        /// Which.
        node: String,
        /// What it said.
        why: String,
    },
    /// The session is over: it was closed, or could not be renewed in time.
    #[error("the session is over: {0}")]
    SessionOver(String),
    /// The arguments make no sense.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// What kind of problem the service has, if it is the service that has one.
    pub fn kind(&self) -> Option<ProblemKind> {
        match self {
            Error::Problem(problem) => Some(problem.kind),
            Error::Unreachable { .. } | Error::NotUnderstood { .. } | Error::SessionOver(_) | Error::Usage(_) => None,
        }
    }

    /// Whether nothing was done because somebody else holds the lock.
    pub fn is_busy(&self) -> bool {
        matches!(self.kind(), Some(ProblemKind::Held | ProblemKind::WaitedInVain))
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error::Problem(Box::new(problem))
    }
}
