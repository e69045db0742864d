//! What the machine answers, and what it tells everybody who listens.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::command::{Fence, Mode, Name, SessionId};

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Response {
    /// It is done. So it is if it had been done before.
    Done,
    /// The session holds the lock.
    Granted {
        /// The number of the grant.
        fence: Fence,
    },
    /// The session waits in line.
    Queued {
        /// How many hold it or wait before it.
        ahead: u64,
    },
    /// The lock cannot be had at once, and the request was not to wait.
    Busy,
    /// This request was answered before, and nothing is left of it: what it was granted was given back or lost, or it
    /// was granted nothing.
    Over,
    /// It is not done, and nothing has changed.
    Refused(Refusal),
}

/// Why a command is not done.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Refusal {
    /// There is no such session.
    #[error("session {0} does not exist: it was closed or it expired; open a new session")]
    NoSession(SessionId),
    /// There is a session with this number.
    #[error("session {0} already exists: choose another id, or none")]
    SessionExists(SessionId),
    /// It holds or awaits the lock in another mode.
    #[error(
        "this session has already requested {name} in another mode ({mode:?}): release it or withdraw that request \
         first"
    )]
    OtherMode {
        /// The lock.
        name: String,
        /// The mode it has asked for.
        mode: Mode,
    },
    /// The lock has another number of permits.
    #[error(
        "{name} has {of} permits, which cannot change while sessions hold it or wait for it: request it with {of} \
         permits"
    )]
    OtherPermits {
        /// The lock.
        name: String,
        /// How many it has.
        of: u32,
    },
    /// It does not hold the lock, or not any more.
    #[error("this session does not hold {name}")]
    NotHeld {
        /// The lock.
        name: String,
    },
    /// There are too many.
    #[error("the limit of {most} {what} is reached; nothing was done: try again later")]
    TooMany {
        /// Of what.
        what: String,
        /// How many there may be.
        most: u64,
    },
    /// Backups were restored too often.
    #[error("the generation of fences can be at most {most}: pass a smaller --generation, or use an older backup")]
    LastGeneration {
        /// How often they can be.
        most: u16,
    },
    /// Servers that take turns cannot promise this.
    #[error("{0}")]
    NotByTurns(Beyond),
    /// No client of this node holds it; in a machine by turns, that of another one may.
    #[error(
        "no client of this node holds {name}: if a client of another node does, send the request to that node \
         (`quorate locks` shows its locks)"
    )]
    NotHeldHere {
        /// The lock.
        name: String,
    },
    /// It was told of a turn, and does not go by turns.
    #[error("this command is only for the peer engine")]
    GrantsByItself,
    /// Somebody has got it since it was looked at.
    #[error(
        "{name} has a newer grant, with fence {now} instead of {seen}; nothing was released: check the holder again, \
         and repeat the request with fence {now} to release it"
    )]
    OtherGrant {
        /// The lock.
        name: String,
        /// The newest grant that was seen.
        seen: Fence,
        /// The newest grant that there is.
        now: Fence,
    },
}

/// What servers that take turns cannot promise, and what to do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error, Serialize, Deserialize)]
pub enum Beyond {
    /// To share a lock.
    #[error("the peer engine has no shared locks: acquire the lock exclusively, or use --engine replicated")]
    Shared,
    /// To have several permits.
    #[error("the peer engine has no locks with permits: acquire the lock exclusively, or use --engine replicated")]
    Permits,
    /// To keep a lock back after a loss.
    #[error(
        "the peer engine has no delay after the loss of a lock, because it would be lost if the node crashes: omit the \
         delay and let the resource check the fence, or use --engine replicated"
    )]
    Delay,
    /// A name that is longer than processes tell each other.
    #[error(
        "the name is too long: the peer engine accepts at most {most} bytes; choose a shorter name, or use --engine \
         replicated"
    )]
    LongName {
        /// The longest.
        most: usize,
    },
    /// One more name than nodes keep.
    #[error(
        "the peer engine has reached its limit of names, which it keeps forever: use the same names again, or use \
         --engine replicated"
    )]
    TooManyNames,
}

/// Why somebody holds or awaits a lock no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Departure {
    /// It gave it back.
    Released,
    /// It withdrew.
    Withdrawn,
    /// It closed its session.
    Closed,
    /// Its session expired.
    Expired,
    /// Somebody took it away.
    Forced,
    /// The turn of its node was taken away.
    TurnLost,
    /// Its node can have no turn: there are too many names.
    NoTurn,
}

/// Something that has happened, in the order in which it happened. The same on every node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A session was opened.
    Opened {
        /// Which.
        session: SessionId,
        /// How long it lasts without renewal.
        ttl_ms: u64,
    },
    /// A session is no more.
    Ended {
        /// Which.
        session: SessionId,
        /// Whether it was not renewed in time.
        expired: bool,
        /// What people called it.
        label: String,
    },
    /// Somebody waits in line.
    Queued {
        /// For what.
        name: Name,
        /// Who.
        session: SessionId,
    },
    /// Somebody got a lock.
    Granted {
        /// Which.
        name: Name,
        /// Who.
        session: SessionId,
        /// With which number.
        fence: Fence,
        /// Since when it had waited, in milliseconds of the leader's calendar.
        since_ms: u64,
        /// What it says.
        value: Vec<u8>,
    },
    /// Somebody who held a lock holds it no more.
    Lost {
        /// Which.
        name: Name,
        /// Who.
        session: SessionId,
        /// The number of the grant that is over.
        fence: Fence,
        /// Why.
        departure: Departure,
        /// Since when it had held it, in milliseconds of the leader's calendar.
        since_ms: u64,
    },
    /// Somebody who waited waits no more, and did not get it.
    Left {
        /// What.
        name: Name,
        /// Who.
        session: SessionId,
        /// Why.
        departure: Departure,
    },
    /// Nobody gets the lock for a while.
    Delayed {
        /// Which.
        name: Name,
        /// The number of this delay, by which it is ended: that of the command by which the grant was lost, as several
        /// who shared a fence may be lost one after the other.
        fence: Fence,
        /// For how long, in milliseconds.
        delay_ms: u64,
    },
    /// The last who held it or waited for it has gone.
    Vacant {
        /// What.
        name: Name,
    },
    /// A leader has something else to say.
    Proclaimed {
        /// In which election.
        name: Name,
        /// Who.
        session: SessionId,
        /// Its grant.
        fence: Fence,
        /// What.
        value: Vec<u8>,
    },
    /// Somebody took a lock away from its holders.
    Forced {
        /// Which.
        name: Name,
        /// Who did.
        by: String,
    },
    /// Somebody waits, nobody holds it, and in a machine [by turns](super::Machine::by_turns) nobody gets it before
    /// this node has its turn. It may be told again before that.
    Wanted {
        /// What.
        name: Name,
    },
}
