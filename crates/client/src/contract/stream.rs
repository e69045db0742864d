//! The binary protocol of client libraries: after an HTTP upgrade of `GET /v1/stream`, both sides send frames. A frame
//! is a length of four bytes (big endian) and the [postcard](https://postcard.jamesmunns.com) encoding of an [`Ask`] or
//! an [`Answer`].
//!
//! The client numbers its requests, and the server answers them in any order, so a request that waits for a lock delays
//! no other. If the connection breaks, sessions, locks and places in queues stay as they are until the session expires.
//! A client can send an acquire or a release again on another connection: with the same request number it takes effect
//! once.

use serde::{Deserialize, Serialize};

use super::{Mode, ProblemKind};

/// Protocol name that both sides send in the `Upgrade` header.
pub const PROTOCOL: &str = "quorate-stream-1";
/// Longest frame, in bytes.
pub const LONGEST_FRAME: usize = 256 * 1024;
/// Largest number of requests of one stream that the server processes at the same time. It reads more when one is done.
pub const MOST_PENDING: usize = 1024;
/// Largest number of requests of one stream that may wait for an event, such as a grant. The server refuses more.
pub const MOST_STANDING: usize = 10_000;

/// A numbered request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Number of the request, chosen by the client.
    pub number: u64,
    /// The request.
    pub request: Request,
}

/// A lock or an election.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// Whether it is an election.
    pub election: bool,
    /// Its name.
    pub name: String,
}

/// A request. Session ids are numbers here, not text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Opens a session.
    Open {
        /// Time to live in milliseconds.
        ttl_ms: u64,
        /// Label, shown to operators.
        label: String,
    },
    /// Renews a session.
    Renew {
        /// Id of the session.
        session: u64,
    },
    /// Closes a session.
    Close {
        /// Id of the session.
        session: u64,
    },
    /// Acquires a lock, or campaigns in an election.
    Acquire {
        /// Id of the session.
        session: u64,
        /// Number of the request within the session, or 0.
        request: u64,
        /// The lock or election.
        subject: Subject,
        /// Sessions that can hold the lock at the same time.
        mode: Mode,
        /// Longest time to wait in the queue; 0 does not wait, none waits until it is granted.
        wait_ms: Option<u64>,
        /// If the holder's session expires, no other session acquires the lock for this long.
        delay_ms: u64,
        /// Value that the leader publishes.
        value: Vec<u8>,
    },
    /// Leaves the queue.
    Withdraw {
        /// Id of the session.
        session: u64,
        /// Number of the last request that joined the queue, or 0. Later requests are not withdrawn.
        request: u64,
        /// The lock or election.
        subject: Subject,
    },
    /// Releases a lock, or resigns.
    Release {
        /// Id of the session.
        session: u64,
        /// Number of the request within the session, or 0.
        request: u64,
        /// The lock or election.
        subject: Subject,
        /// Fence of the grant to release.
        fence: u64,
    },
    /// Changes the value that the leader publishes.
    Proclaim {
        /// Id of the leader's session.
        session: u64,
        /// Name of the election.
        name: String,
        /// Fence of the leader's grant.
        fence: u64,
        /// New value.
        value: Vec<u8>,
    },
    /// Waits until a grant is lost or released, for whatever reason.
    UntilLost {
        /// Id of the session.
        session: u64,
        /// The lock or election.
        subject: Subject,
        /// Fence of the grant.
        fence: u64,
    },
}

impl Request {
    /// Returns whether the answer waits for an event, which may never happen. Such a request must not delay others.
    pub fn is_standing(&self) -> bool {
        match self {
            Request::Acquire { wait_ms, .. } => *wait_ms != Some(0),
            Request::UntilLost { .. } => true,
            _ => false,
        }
    }
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Number of the request.
    pub number: u64,
    /// Result of the request.
    pub outcome: Result<Reply, Trouble>,
}

/// The result of a successful request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Done.
    Done,
    /// A session was opened.
    Opened {
        /// Id of the session.
        session: u64,
    },
    /// A session was renewed.
    Renewed {
        /// Its time to live in milliseconds.
        ttl_ms: u64,
    },
    /// The lock or election was granted.
    Granted {
        /// Fence of the grant.
        fence: u64,
    },
    /// A grant was lost or released.
    Lost {
        /// The reason.
        why: String,
    },
}

/// The error of a failed request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// Type of the problem.
    pub kind: ProblemKind,
    /// What happened, and what to do.
    pub detail: String,
}
