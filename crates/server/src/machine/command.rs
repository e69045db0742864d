//! What can be asked of the machine, and the words in which it is asked.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A session: who asks, for as long as it is renewed. Positive, and below 2^63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct SessionId(u64);

/// What is read from elsewhere is a session's number, or refused.
impl TryFrom<u64> for SessionId {
    type Error = &'static str;

    fn try_from(number: u64) -> Result<SessionId, &'static str> {
        SessionId::new(number).ok_or("a session id must be positive and below 2^63")
    }
}

impl SessionId {
    /// A session's number, if it is one.
    pub fn new(number: u64) -> Option<SessionId> {
        (number > 0 && number < 1 << 63).then_some(SessionId(number))
    }

    /// The number.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// As it appears in keys, paths and logs.
impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// The number of a grant: larger than that of every earlier grant of the same lock. A resource that refuses smaller
/// ones than it has seen is safe from holders who do not know yet that they have lost the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fence(u64);

impl Fence {
    /// How many bits count commands: at a million a second enough for a year, at 20,000 for fifty.
    const INDEX_BITS: u32 = 45;
    /// The largest generation, so that a fence is below 2^53 and no reader of JSON rounds it.
    pub const LAST_GENERATION: u16 = (1 << (53 - Fence::INDEX_BITS)) - 1;

    /// The fence of a grant that was made by this command.
    pub(super) fn new(generation: u16, index: u64) -> Fence {
        assert!(index < 1 << Fence::INDEX_BITS, "there are no more numbers for fences");
        Fence(u64::from(generation) << Fence::INDEX_BITS | index)
    }

    /// The fence as a client gives it.
    pub fn from_number(number: u64) -> Fence {
        Fence(number)
    }

    /// The number of the command that made the grant.
    pub fn index(self) -> u64 {
        self.0 & ((1 << Fence::INDEX_BITS) - 1)
    }

    /// The number, below 2^53.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a name names. A lock and an election of the same name have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Something to hold.
    Lock,
    /// Something to lead: a lock whose holder has something to say.
    Election,
}

/// The name of a lock or an election.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name {
    /// Which of both.
    pub kind: Kind,
    /// The name itself. It is in many places at once: the lock, its holders' sessions, what is told.
    pub text: Arc<str>,
}

impl Name {
    /// The lock of this name.
    pub fn lock(text: impl Into<Arc<str>>) -> Name {
        Name { kind: Kind::Lock, text: text.into() }
    }

    /// The election of this name.
    pub fn election(text: impl Into<Arc<str>>) -> Name {
        Name { kind: Kind::Election, text: text.into() }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// With whom a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// With nobody.
    Exclusive,
    /// With all others who share it.
    Shared,
    /// With so many in all that have a permit, too.
    Permit {
        /// How many permits there are.
        of: u32,
    },
}

/// A request for a lock, or for leadership.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Acquire {
    /// Who asks.
    pub session: SessionId,
    /// The request's number within the session; 0 if it has none. One that has a number does its work once, however
    /// often it is sent: its number is used up by the first answer, be it a refusal.
    pub request: u64,
    /// The call that asks, by a number that no other call has; 0 if it is not one that [gives
    /// up](Command::GiveUp) what nobody is told of.
    pub call: u64,
    /// What is asked for.
    pub name: Name,
    /// With whom to share it.
    pub mode: Mode,
    /// Whether to wait in line if it cannot be had at once.
    pub wait: bool,
    /// How long nobody gets it after its holder's session has expired, in milliseconds: time for a write that is under
    /// way to arrive before the next holder's.
    pub delay_ms: u64,
    /// What the holder has to say: of use in an election.
    pub value: Vec<u8>,
}

/// What can be asked of the machine. Time is not among it: who has a clock asks for what is due.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Command {
    /// Opens a session.
    Open {
        /// Its number.
        session: SessionId,
        /// How long it lasts without renewal, in milliseconds.
        ttl_ms: u64,
        /// What people call it.
        label: String,
        /// Who may use it: whoever is authenticated like this.
        owner: String,
        /// Whether it ends as soon as it neither holds nor awaits anything, after its first request.
        transient: bool,
    },
    /// Closes a session: its locks are released, its places in line are given up.
    Close {
        /// Which.
        session: SessionId,
    },
    /// Closes a session that was not renewed in time.
    Expire {
        /// Which.
        session: SessionId,
        /// The number of the command that opened it: one that was opened since under the same number does not end. 0
        /// means whichever.
        opened: u64,
    },
    /// Asks for a lock, or for leadership.
    Acquire(Acquire),
    /// Gives up a place in line. What was granted meanwhile stays granted.
    Withdraw {
        /// Whose.
        session: SessionId,
        /// The last request that asked for it: a withdrawal that comes late does not give up what was asked for since.
        /// 0 means whichever.
        request: u64,
        /// Where.
        name: Name,
    },
    /// A call has ended before anybody was told what came of it: the place in line that it has asked for is given up,
    /// or what was granted to it is given back, unless somebody has asked for the same since.
    GiveUp {
        /// Whose.
        session: SessionId,
        /// Which call.
        call: u64,
        /// Where.
        name: Name,
    },
    /// Gives back a lock, or steps down.
    Release {
        /// Who.
        session: SessionId,
        /// The request's number within the session, or 0.
        request: u64,
        /// What.
        name: Name,
        /// Which grant, if it is to be no other: given back twice, it is given back once.
        fence: Option<Fence>,
    },
    /// Takes a lock away from all its holders.
    Force {
        /// The lock or election.
        name: Name,
        /// The user who does it, for the audit log.
        by: String,
        /// If given, the newest grant that the user has seen: nothing is taken away if there is a newer one.
        fence: Option<Fence>,
    },
    /// Ends the delay after the loss of a lock.
    EndDelay {
        /// Which lock.
        name: Name,
        /// The number of the delay, as it was [told](super::Event::Delayed): another delay does not end.
        fence: Fence,
    },
    /// Changes what a leader has to say.
    Proclaim {
        /// Who.
        session: SessionId,
        /// In which election.
        name: Name,
        /// Its grant, as it knows it.
        fence: Fence,
        /// What it says now.
        value: Vec<u8>,
    },
    /// Begins a new generation of fences, after the restoration of a backup: all larger than those before.
    Generation {
        /// Its number is at least this: a backup does not know how often it was restored before.
        at_least: u16,
    },
    /// This node's turn has come, in a machine [by turns](super::Machine::by_turns): who is first in line gets the
    /// lock. If nobody waits any more, nobody gets it, and the turn is to be given back.
    Turn {
        /// Whose turn it is to be.
        name: Name,
        /// The number of the turn, which is that of the grant.
        fence: Fence,
    },
    /// The turn was taken away: who has got the lock by it holds it no more.
    TurnLost {
        /// Of which lock.
        name: Name,
        /// Which turn: another one is not over.
        fence: Fence,
    },
    /// There will be no turn: whoever waits for it leaves.
    NoTurn {
        /// Of which lock.
        name: Name,
    },
}
