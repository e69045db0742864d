//! What happened, at whom: the records that every driver emits.
//!
//! They are the same for every algorithm, so that one property, one diagram and one trace format serve all.

use alloc::borrow::Cow;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::clock::Fence;
use crate::id::Id;
use crate::process::{Message, Ticks};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// When, in ticks of the driver's clock.
    pub at: Ticks,
    /// To whom.
    pub process: Id,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// The name of a message within a trace: unique among those of its sender.
pub type Sequence = u64;

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// The application asked to enter.
    Wanted,
    /// The application took its request back: it waits no more.
    Withdrew,
    /// The request that was taken back is through, and the application may ask again.
    Withdrawn,
    /// The process is inside.
    Entered {
        /// The number of this entry.
        fence: Fence,
    },
    /// The application is done and has said so, or has lost its turn; the process is not inside any more.
    Leaving,
    /// The process has done what leaving takes; its application goes on.
    Exited,
    /// The application read the resource that it entered for.
    Read {
        /// The fence of its entry.
        fence: Fence,
        /// Whether the resource let it.
        accepted: bool,
    },
    /// The application wrote to it.
    Wrote {
        /// The fence of its entry.
        fence: Fence,
        /// Whether the resource took it.
        accepted: bool,
    },
    /// The application called an election.
    Called,
    /// The process names its leader.
    Leader {
        /// Who leads.
        leader: Id,
    },
    /// The process changed its opinion of another.
    Opinion {
        /// Of whom.
        of: Id,
        /// What it thinks now.
        opinion: Opinion,
    },
    /// A message was sent.
    Sent {
        /// To whom.
        to: Id,
        /// Which message.
        sequence: Sequence,
        /// What it says.
        label: Label,
    },
    /// A message arrived.
    Received {
        /// From whom.
        from: Id,
        /// Which of the sender's messages.
        sequence: Sequence,
        /// What it says.
        label: Label,
    },
    /// The network lost a message of this process, or found nobody to give it to.
    Lost {
        /// To whom it was sent.
        to: Id,
        /// Which message.
        sequence: Sequence,
        /// What it says.
        label: Label,
    },
    /// The application sent a message of its own.
    Poked {
        /// To whom.
        to: Id,
        /// Which message.
        sequence: Sequence,
    },
    /// The application received one.
    Heard {
        /// From whom.
        from: Id,
        /// Which of the sender's messages.
        sequence: Sequence,
    },
    /// A timer ran out.
    TimedOut {
        /// Which.
        timer: Cow<'static, str>,
    },
    /// The environment told the process of another's crash or return.
    Told {
        /// Of whom.
        of: Id,
        /// Whether it lives.
        alive: bool,
    },
    /// The process crashed.
    Crashed,
    /// The process was stopped in an orderly way, which is a crash to all others: only traces of real nodes tell.
    Stopped,
    /// The process began another life.
    Restarted {
        /// How many lives it has had, this one included.
        incarnation: u64,
    },
    /// The process stopped for a while.
    Paused,
    /// The process goes on.
    Resumed,
    /// The network was cut; who is not in the same part is out of reach.
    Partitioned {
        /// The part this process is in.
        part: u32,
    },
    /// The network is whole again.
    Healed,
    /// Something arrived that the algorithm's assumptions exclude; it was ignored.
    Unexpected {
        /// From whom; from the application if from nobody.
        from: Option<Id>,
        /// What was wrong.
        why: Cow<'static, str>,
    },
}

/// What a detector thinks of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Opinion {
    /// It lives, as far as one knows.
    Unsuspected,
    /// It may have crashed, or be slow.
    Suspected,
    /// It has crashed.
    Failed,
}

/// What people see of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Label {
    /// Its kind.
    pub kind: Cow<'static, str>,
    /// The number it carries, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub number: Option<u64>,
}

impl Label {
    /// The label of a message.
    pub fn of(message: &impl Message) -> Label {
        Label { kind: Cow::Borrowed(message.kind()), number: message.number() }
    }
}

impl core::fmt::Display for Label {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.kind)?;
        match self.number {
            Some(number) => write!(f, "({number})"),
            None => Ok(()),
        }
    }
}

/// The kebab-case name of a timer, made from its `Debug` form: `Silence(p3)` is `silence(p3)`.
pub fn timer_name(timer: &impl core::fmt::Debug) -> Cow<'static, str> {
    let shown = alloc::format!("{timer:?}");
    let mut name = String::with_capacity(shown.len());
    for (place, letter) in shown.chars().enumerate() {
        if letter.is_uppercase() && place > 0 {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    Cow::Owned(name)
}

/// What an input or an output means as a record: the same words whatever the algorithm.
pub trait Recorded {
    /// The record's content, if it is worth one.
    fn what(&self) -> Option<What>;
}
