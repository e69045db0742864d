//! The one list of algorithms. Everything that lists, names, configures, compares or warns reads it.
//!
//! An algorithm describes itself in an [`Entry`] beside its code; the table at the end of this file gathers them, and
//! yields [`ENTRIES`] and [`visit`], by which a driver that is generic over the algorithm is chosen by a name.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::detector::{Detector, Heartbeat};
use crate::election::{Bully, ChangRoberts, Election, Ring};
use crate::id::Id;
use crate::mutex::{
    Central, Lamport, Maekawa, MaekawaDeadlockFree, Majority, Mutex, RicartAgrawala, RoucairolCarvalho, SuzukiKasami,
    TokenRing,
};
use crate::setting::Group;

/// The five lecture documents that entries cite, by letter. Other sources are named by their authors.
pub const DOCUMENTS: &[(&str, &str)] = &[
    ("A", "Mutual Exclusion (Mutex) and Election"),
    ("B", "Coordination, part 2"),
    ("C", "Distributed Algorithms Part II: Distributed Mutual Exclusion"),
    ("D", "Lecture 5: Mutual Exclusion and Election"),
    ("E", "Coordination and Agreement (N. Dragoni)"),
];

/// What is known of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for.
    pub family: Family,
    /// How it works, in one sentence.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What it takes for granted.
    pub assumptions: Assumptions,
    /// What it promises while these hold.
    pub promises: &'static [Property],
    /// How it survives crashes, if it does.
    pub recovery: Option<Recovery>,
    /// What the literature says it costs.
    pub published: &'static [Published],
    /// What can be chosen.
    pub options: &'static [OptionSpec],
    /// A process that serves the others, and by custom asks for nothing itself.
    pub coordinator: Option<Id>,
    /// Whether messages flow even when nobody wants anything, so that the network is never quiet.
    pub restless: bool,
    /// Whether there are finitely many states even if the applications never stop asking, as long as entries are not
    /// [counted](crate::clock::Counting): so that all endless runs can be explored.
    pub finite: bool,
    /// Refuses groups and options that do not go together, with a sentence that says what does.
    pub check: fn(&Group) -> Result<(), String>,
}

impl Entry {
    /// An entry to fill in by struct update: no assumptions beyond reliable channels between processes that live, no
    /// promises, no published costs, no options.
    pub const fn new(name: &'static str, family: Family) -> Entry {
        Entry {
            name,
            family,
            summary: "",
            paper: "",
            assumptions: Assumptions::RELIABLE,
            promises: &[],
            recovery: None,
            published: &[],
            options: &[],
            coordinator: None,
            restless: false,
            finite: false,
            check: |_| Ok(()),
        }
    }

    /// Whether it promises a property with these options, or what that follows from.
    pub fn promises(&self, property: Property, options: &crate::setting::Options) -> bool {
        let property = property.foundation();
        let mut chosen = options.chosen_of(self);
        let forfeited = chosen.any(|choice| choice.forfeits.contains(&property));
        self.promises.contains(&property) && !forfeited
    }

    /// The entry of the algorithm with these options, where nobody is told of crashes: some take other things for
    /// granted, and some keep the network quiet.
    #[must_use]
    pub fn with(&self, options: &crate::setting::Options) -> Entry {
        let mut entry = *self;
        for choice in options.chosen_of(self) {
            entry.assumptions = choice.assumes.unwrap_or(entry.assumptions);
            entry.restless &= !choice.quiet;
        }
        entry
    }
}

/// How an algorithm survives crashes, where everybody is told of every crash and every return, after what was said
/// before it, and of nothing else. What it promises without crashes it promises then, too, but for the order of
/// requests.
#[derive(Clone, Copy, Debug)]
pub struct Recovery {
    /// What it does when somebody has crashed, in one sentence.
    pub summary: &'static str,
    /// Over how many crashes its fences grow, if clocks are less than an [era](crate::clock::LamportClock::ERA) apart.
    /// Any number, if none is said, however far apart they are, as long as somebody who has heard of the last entries
    /// lives.
    pub fenced_crashes: Option<u32>,
    /// Whether an election beside it decides who leads.
    pub elects: bool,
    /// Whether it goes on only while a majority lives.
    pub needs_majority: bool,
}

impl Recovery {
    /// A recovery that survives any number of crashes by itself.
    pub const fn new(summary: &'static str) -> Recovery {
        Recovery { summary, fenced_crashes: None, elects: false, needs_majority: false }
    }
}

/// The kinds of algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Processes take turns.
    Mutex,
    /// Processes agree on one of them.
    Election,
    /// Processes find out who has crashed.
    Detector,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Mutex => "mutual exclusion",
            Family::Election => "election",
            Family::Detector => "failure detection",
        })
    }
}

/// What an algorithm takes for granted. Tests choose their worlds from this, and the command warns when a run breaks
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// Between two processes, messages arrive in the order in which they were sent.
    pub fifo: bool,
    /// Every message arrives, once.
    pub reliable: bool,
    /// Nobody crashes.
    pub crash_free: bool,
    /// Nobody who has crashed comes back.
    pub restart_free: bool,
    /// Messages take no longer than a known bound.
    pub synchronous: bool,
    /// Every process is told of every crash, and of nothing else.
    pub detector: bool,
}

impl Assumptions {
    /// The model of the textbooks: every message arrives, nobody crashes, nothing is known of time or order.
    pub const RELIABLE: Assumptions = Assumptions {
        fifo: false,
        reliable: true,
        crash_free: true,
        restart_free: true,
        synchronous: false,
        detector: false,
    };

    /// The assumptions in words.
    pub fn words(&self) -> Vec<&'static str> {
        [
            (self.reliable, "reliable channels"),
            (self.fifo, "FIFO channels"),
            (self.crash_free, "no crashes"),
            (self.restart_free && !self.crash_free, "no restarts"),
            (self.synchronous, "bounded delays"),
            (self.detector, "a perfect failure detector"),
        ]
        .into_iter()
        .filter_map(|(assumed, words)| assumed.then_some(words))
        .collect()
    }
}

/// What can be demanded of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// ME1: at most one process is inside.
    MutualExclusion,
    /// ME2: every request of a live process is served.
    Progress,
    /// ME3: of two requests of which one happened before the other, that one is served first.
    RequestOrder,
    /// Each entry's fence is larger than all before.
    Fencing,
    /// A resource that checks fences accepts no smaller one after a larger one, and no two entries have the same.
    ResourceSafety,
    /// Whoever writes to it writes over nothing that it has not read.
    NoLostUpdate,
    /// E1: no two live processes name different live leaders.
    SingleLeader,
    /// E2: every live process names the live process with the largest id.
    Decided,
    /// No live process is thought dead.
    Accuracy,
    /// Every dead process is thought dead by every live one, in the end.
    Completeness,
}

impl Property {
    /// All of them.
    pub const ALL: [Property; 10] = [
        Property::MutualExclusion,
        Property::Progress,
        Property::RequestOrder,
        Property::Fencing,
        Property::ResourceSafety,
        Property::NoLostUpdate,
        Property::SingleLeader,
        Property::Decided,
        Property::Accuracy,
        Property::Completeness,
    ];

    /// Its name in output and options.
    pub const fn name(self) -> &'static str {
        match self {
            Property::MutualExclusion => "mutual-exclusion",
            Property::Progress => "progress",
            Property::RequestOrder => "request-order",
            Property::Fencing => "fencing",
            Property::ResourceSafety => "resource-safety",
            Property::NoLostUpdate => "no-lost-update",
            Property::SingleLeader => "single-leader",
            Property::Decided => "decided",
            Property::Accuracy => "accuracy",
            Property::Completeness => "completeness",
        }
    }

    /// Whether breaking it is a moment (safety) rather than a wait without end (liveness).
    pub const fn is_safety(self) -> bool {
        match self {
            Property::MutualExclusion
            | Property::RequestOrder
            | Property::Fencing
            | Property::ResourceSafety
            | Property::NoLostUpdate
            | Property::SingleLeader
            | Property::Accuracy => true,
            Property::Progress | Property::Decided | Property::Completeness => false,
        }
    }

    /// What an algorithm has to promise for this. A resource is not the algorithm's: what holds there follows from
    /// fences that grow, and from nobody being inside with another.
    pub const fn foundation(self) -> Property {
        match self {
            Property::ResourceSafety => Property::Fencing,
            Property::NoLostUpdate => Property::MutualExclusion,
            Property::MutualExclusion
            | Property::Progress
            | Property::RequestOrder
            | Property::Fencing
            | Property::SingleLeader
            | Property::Decided
            | Property::Accuracy
            | Property::Completeness => self,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A cost that a document states.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// What is counted.
    pub measure: Measure,
    /// Who says so: [`DOCUMENTS`] by letter, papers by their authors.
    pub sources: &'static str,
    /// The formula, for people.
    pub formula: &'static str,
    /// The formula, for machines.
    pub value: Formula,
}

impl Published {
    /// A document states a value.
    pub const fn exactly(
        measure: Measure,
        sources: &'static str,
        formula: &'static str,
        value: fn(Size) -> f64,
    ) -> Published {
        Published { measure, sources, formula, value: Formula::Exactly(value) }
    }

    /// A document states a range.
    pub const fn between(
        measure: Measure,
        sources: &'static str,
        formula: &'static str,
        least: fn(Size) -> f64,
        most: fn(Size) -> f64,
    ) -> Published {
        Published { measure, sources, formula, value: Formula::Between(least, most) }
    }

    /// A document states an order of growth, or that there is no bound: nothing to compare to.
    pub const fn vaguely(measure: Measure, sources: &'static str, formula: &'static str) -> Published {
        Published { measure, sources, formula, value: Formula::Vague }
    }
}

/// What can be counted of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Messages for an entry and its exit, when nobody else wants to enter.
    Messages,
    /// The same, for who was the last to enter.
    MessagesAgain,
    /// Messages for an entry alone, when nobody else wants to enter.
    MessagesToEnter,
    /// Messages for an entry and its exit, when everybody wants to enter all the time.
    MessagesContended,
    /// Messages that an exit sends.
    MessagesToExit,
    /// From the request to the entry, when nobody else wants to enter, in message delays.
    ClientDelay,
    /// From leaving to going on, in message delays.
    ExitDelay,
    /// From an exit to the entry of who was waiting, in message delays.
    SyncDelay,
    /// Entries in the time of a message delay, when everybody wants to enter all the time and stays for one.
    Throughput,
    /// Messages of an election with one starter, at best.
    ElectionBest,
    /// Messages of an election with one starter, at worst.
    ElectionWorst,
    /// Messages of an election that everybody starts at once, at worst.
    ElectionWorstAllStart,
}

/// A published value, as a function of the size of the group.
#[derive(Clone, Copy, Debug)]
pub enum Formula {
    /// This much.
    Exactly(fn(Size) -> f64),
    /// Between these.
    Between(fn(Size) -> f64, fn(Size) -> f64),
    /// Of some order, or unbounded: nothing to compare to.
    Vague,
}

/// What formulas are functions of.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Processes.
    pub n: f64,
    /// The square root of their number.
    pub root_n: f64,
    /// The size of a voting set.
    pub k: f64,
}

/// An option of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Its name.
    pub key: &'static str,
    /// What it takes.
    pub values: Values,
    /// Its value unless another is given.
    pub default: &'static str,
    /// What it is for.
    pub meaning: &'static str,
}

/// What an option takes.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// One of these words.
    OneOf(&'static [Choice]),
    /// An integer of this range.
    Integer {
        /// The smallest.
        from: u64,
        /// The largest.
        to: u64,
    },
}

/// A word that an option takes.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// What the algorithm does not promise any more with it.
    pub forfeits: &'static [Property],
    /// What it takes for granted with it, where nobody is told of crashes, if that is something else than without.
    pub assumes: Option<Assumptions>,
    /// Whether no message flows with it while nobody wants anything, although some do without.
    pub quiet: bool,
}

impl Choice {
    /// A word that takes no promise away.
    pub const fn plain(name: &'static str) -> Choice {
        Choice { name, forfeits: &[], assumes: None, quiet: false }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::OneOf(choices) => {
                let names: Vec<_> = choices.iter().map(|choice| choice.name).collect();
                f.write_str(&names.join(" or "))
            }
            Values::Integer { from, to } => write!(f, "an integer from {from} to {to}"),
        }
    }
}

/// Something generic over the algorithm, to be chosen by a name.
pub trait Visitor {
    /// What it makes.
    type Output;
    /// Visits a mutual exclusion algorithm.
    fn mutex<M: Mutex>(self) -> Self::Output;
    /// Visits one in which somebody leads, if that makes a difference.
    fn led<M: Mutex>(self) -> Self::Output
    where
        Self: Sized,
    {
        self.mutex::<M>()
    }
    /// Visits an election.
    fn election<E: Election>(self) -> Self::Output;
    /// Visits a failure detector.
    fn detector<D: Detector>(self) -> Self::Output;
}

/// There is no algorithm of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm(pub String);

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
        write!(f, "unknown algorithm `{}`; choose one of {}", self.0, names.join(", "))
    }
}

impl core::error::Error for UnknownAlgorithm {}

macro_rules! catalog {
    ($($method:ident $family:ident: $($algorithm:ident)*;)*) => {
        /// Every algorithm, in the order of the literature.
        pub const ENTRIES: &[&Entry] = &[$($(&<$algorithm as $family>::ENTRY,)*)*];

        /// Lets a visitor see the algorithm of this name.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Result<V::Output, UnknownAlgorithm> {
            $($(
                if name == <$algorithm as $family>::ENTRY.name {
                    return Ok(visitor.$method::<$algorithm>());
                }
            )*)*
            Err(UnknownAlgorithm(name.to_string()))
        }
    };
}

catalog! {
    led Mutex: Central TokenRing SuzukiKasami;
    mutex Mutex: Lamport RicartAgrawala RoucairolCarvalho Maekawa MaekawaDeadlockFree Majority;
    election Election: ChangRoberts Bully Ring;
    detector Detector: Heartbeat;
}

/// The entry of this name.
pub fn entry(name: &str) -> Result<&'static Entry, UnknownAlgorithm> {
    ENTRIES.iter().copied().find(|entry| entry.name == name).ok_or_else(|| UnknownAlgorithm(name.to_string()))
}
