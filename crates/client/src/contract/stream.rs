//! What is said on a stream: after an HTTP upgrade of `GET /v1/stream`, frames in both directions, each four bytes of
//! length (big endian) and then [postcard](https://postcard.jamesmunns.com) of an [`Ask`] or an [`Answer`].
//!
//! Asks are numbered by the client and answered in any order: one that waits for a lock holds up no other. A stream
//! that breaks takes nothing with it: sessions, locks and places in line stay as they are until they expire, and an
//! acquire or release that is asked again on another stream, with the same request number, does its work once.

use serde::{Deserialize, Serialize};

use super::{Mode, ProblemKind};

/// What both sides must name in the `Upgrade` header.
pub const PROTOCOL: &str = "quorate-stream-1";
/// Frames are at most so long, in bytes.
pub const LONGEST_FRAME: usize = 256 * 1024;
/// So many asks of one stream are worked on at once; further ones are read when there are fewer.
pub const MOST_PENDING: usize = 1024;
/// So many more may wait for something to happen; further ones are refused.
pub const MOST_STANDING: usize = 10_000;

/// Something asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Its number, chosen by who asks.
    pub number: u64,
    /// What.
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

/// What can be asked. Sessions are numbers here, not text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Open a session.
    Open {
        /// How long it lasts without renewal.
        ttl_ms: u64,
        /// What people call it.
        label: String,
    },
    /// Give a session its full time again.
    Renew {
        /// Which.
        session: u64,
    },
    /// Close a session.
    Close {
        /// Which.
        session: u64,
    },
    /// Ask for a lock or for leadership.
    Acquire {
        /// For whom.
        session: u64,
        /// The request's number within the session, or 0.
        request: u64,
        /// What.
        subject: Subject,
        /// With whom to share it.
        mode: Mode,
        /// How long to wait: 0 not at all, nothing as long as it takes.
        wait_ms: Option<u64>,
        /// How long nobody gets it after its holder's session has expired.
        delay_ms: u64,
        /// What a leader has to say.
        value: Vec<u8>,
    },
    /// Leave the line.
    Withdraw {
        /// Who.
        session: u64,
        /// The last request that asked for it, or 0: what was asked for since is not given up.
        request: u64,
        /// What.
        subject: Subject,
    },
    /// Give back a lock, or step down.
    Release {
        /// Who.
        session: u64,
        /// The request's number within the session, or 0.
        request: u64,
        /// What.
        subject: Subject,
        /// Which grant.
        fence: u64,
    },
    /// Say something else as a leader.
    Proclaim {
        /// Who.
        session: u64,
        /// In which election.
        name: String,
        /// By which grant.
        fence: u64,
        /// What.
        value: Vec<u8>,
    },
    /// Say when a grant is over, whatever the reason.
    UntilLost {
        /// Whose.
        session: u64,
        /// Of what.
        subject: Subject,
        /// Which.
        fence: u64,
    },
}

impl Request {
    /// Whether it is answered only when something happens, be it never. Such an ask must not hold up others.
    pub fn is_standing(&self) -> bool {
        match self {
            Request::Acquire { wait_ms, .. } => *wait_ms != Some(0),
            Request::UntilLost { .. } => true,
            _ => false,
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The number of what was asked.
    pub number: u64,
    /// What came of it.
    pub outcome: Result<Reply, Trouble>,
}

/// What came of something asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// It is done.
    Done,
    /// A session is open.
    Opened {
        /// Which.
        session: u64,
    },
    /// A session has its full time again.
    Renewed {
        /// How long that is.
        ttl_ms: u64,
    },
    /// It is granted.
    Granted {
        /// With which number.
        fence: u64,
    },
    /// A grant is over.
    Lost {
        /// Why.
        why: String,
    },
}

/// Why nothing came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// What happened, and what to do.
    pub detail: String,
}
