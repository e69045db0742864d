//! Errors of the client.

use crate::contract::{Problem, ProblemKind};

/// Error of a request to the service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The service refused the request; the problem says why.
    #[error(transparent)]
    Problem(#[from] Box<Problem>),
    /// No node answered in time.
    #[error("no node answered ({tried}): {why}")]
    Unreachable {
        /// Nodes that were tried.
        tried: String,
        /// Error of the last attempt.
        why: String,
    },
    /// A node's response could not be understood, so its version differs from the client's.
    #[error(
        "unexpected response from {node}: {why}; check that this is the address of a Quorate node, and that client and \
         node have the same version"
    )]
    NotUnderstood {
        /// The node.
        node: String,
        /// Its response.
        why: String,
    },
    /// The session has ended: it was closed, or it could not be renewed in time.
    #[error("the session has ended: {0}")]
    SessionOver(String),
    /// The arguments are invalid.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// Returns the type of the problem, if the service refused the request.
    pub fn kind(&self) -> Option<ProblemKind> {
        match self {
            Error::Problem(problem) => Some(problem.kind),
            Error::Unreachable { .. } | Error::NotUnderstood { .. } | Error::SessionOver(_) | Error::Usage(_) => None,
        }
    }

    /// Returns whether nothing was acquired because another session holds the lock.
    pub fn is_busy(&self) -> bool {
        matches!(self.kind(), Some(ProblemKind::Held | ProblemKind::WaitedInVain))
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error::Problem(Box::new(problem))
    }
}
