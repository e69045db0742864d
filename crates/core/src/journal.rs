//! What a node writes down of a run, for `quorate judge`: one JSON object a line.
//!
//! ```text
//! {"header":{"version":1,"cluster":"quorate","process":2,"incarnation":1,"n":3,"algorithm":"central", …}}
//! {"at":1200,"process":2,"event":"wanted","resource":"printer","past":[[0,0],[1,1]]}
//! {"at":1203,"process":2,"event":"sent","to":1,"sequence":2,"label":{"kind":"request"},"resource":"printer", …}
//! {"gap":{"lost":12}}
//! {"end":{"at":90000}}
//! ```
//! - A **[header](Header)** begins a life of the node, also within a file: a node that comes back adds to it.
//! - A **[record](Entry)** is a [`Record`] as every driver writes them, with three things more: the resource that it is
//!   about, if it is about one; its past, which is a vector clock; and where a message came from a later life of its
//!   sender, in which. `at` is in microseconds since the header's `started`, by a clock that is never set.
//! - A **[gap](Mark::Gap)** stands for records that could not be written, because the disk was full or too slow.
//! - An **[end](Mark::End)** is written when the node stops in an orderly way. Who is killed writes none, and its last
//!   line may be torn.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::process::Ticks;
use crate::stack::Name;
use crate::trace::{Record, What};

/// Which lines there are, and what they mean.
pub const VERSION: u32 = 1;

/// When something happened at one process: in which of its lives, and the how-manieth thing of that life.
///
/// Lives come after each other, so that moments of one process are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Moment(pub u64, pub u64);

impl Moment {
    /// Before everything.
    pub const NEVER: Moment = Moment(0, 0);
}

/// A vector clock: the last moment of each process that is in the past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Past(Vec<Moment>);

impl Past {
    /// Nothing has happened to anybody of a group of `n`.
    pub fn new(n: u32) -> Past {
        Past(alloc::vec![Moment::NEVER; n as usize])
    }

    /// Of how many processes it tells.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it tells of nobody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last moment of this process.
    pub fn of(&self, id: Id) -> Moment {
        self.0.get(id.index()).copied().unwrap_or_default()
    }

    /// Sets the last moment of a process that it tells of.
    pub fn set(&mut self, id: Id, moment: Moment) {
        if let Some(last) = self.0.get_mut(id.index()) {
            *last = moment;
        }
    }

    /// Adds what is in another past, of those that this one tells of.
    pub fn merge(&mut self, other: &Past) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The last moments, of each process.
    pub fn iter(&self) -> impl Iterator<Item = (Id, Moment)> + '_ {
        self.0.iter().enumerate().map(|(index, &moment)| (Id::at(index), moment))
    }
}

/// Something that happened to a process, and what had happened before: what a driver stamps with its time and writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Happening {
    /// What.
    pub what: What,
    /// To which resource.
    pub resource: Option<Name>,
    /// All that had happened before, this included.
    pub past: Past,
    /// Of a message that arrived: in which of its lives the sender sent it.
    pub sender_life: Option<u64>,
}

/// A record of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When, to whom, what. A message is named by the count of its sender's moment.
    #[serde(flatten)]
    pub record: Record,
    /// Which resource it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resource: Option<Name>,
    /// All that had happened before, this included.
    pub past: Past,
    /// Of a message that arrived: in which of its lives the sender sent it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sender_life: Option<u64>,
}

impl Entry {
    /// What happened to a process, at a time.
    pub fn new(at: Ticks, process: Id, happening: Happening) -> Entry {
        let Happening { what, resource, past, sender_life } = happening;
        Entry { record: Record { at, process, what }, resource, past, sender_life }
    }

    /// When it happened, as its process counts.
    pub fn moment(&self) -> Moment {
        self.past.of(self.record.process)
    }
}

/// A line that is no record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A life begins.
    Header(Header),
    /// So many records could not be written here.
    Gap {
        /// How many.
        lost: u64,
    },
    /// The node stopped in an orderly way.
    End {
        /// When.
        at: Ticks,
    },
}

/// What has to be known of a life of a node to understand its records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Of the format: [`VERSION`].
    pub version: u32,
    /// The name of the group.
    pub cluster: String,
    /// Who writes.
    pub process: Id,
    /// In which life.
    pub incarnation: u64,
    /// Whether it had lost what it knew of its former lives: their numbers go up to any below this one's.
    #[serde(skip_serializing_if = "core::ops::Not::not", default)]
    pub forgotten: bool,
    /// How many there are.
    pub n: u32,
    /// The algorithm.
    pub algorithm: String,
    /// Its options, all of them.
    pub options: BTreeMap<String, String>,
    /// The election beside it.
    pub election: String,
    /// Whether nobody is let in by who does not trust a majority.
    pub guard: bool,
    /// How long a message takes, by and large, in microseconds.
    pub delay: Ticks,
    /// How often a node says that it lives.
    pub beat: Ticks,
    /// How long another may be silent before it is taken for dead.
    pub tolerance: Ticks,
    /// When the times of its records begin, by the machine's clock: microseconds since 1970.
    pub started: u64,
}
