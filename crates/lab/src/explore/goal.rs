//! The properties that can be checked in all runs.

use std::fmt;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::setting::Options;

/// A property of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Goal {
    /// ME1: at most one process is inside.
    MutualExclusion,
    /// No run ends while a process waits.
    DeadlockFreedom,
    /// ME2: in no fair run does a process wait for ever.
    StarvationFreedom,
    /// ME3: if one request happened before another, it is granted first.
    RequestOrder,
    /// The fence of each entry is larger than all earlier fences.
    Fencing,
    /// A resource that checks fences never accepts a smaller fence after a larger one, and no two entries have the same
    /// fence.
    ResourceSafety,
    /// No process overwrites a value of the resource that it has not read.
    NoLostUpdate,
    /// E1: no two live processes name different live leaders.
    SingleLeader,
    /// E2: in the end every live process names the live process with the largest id.
    Decided,
    /// No live process is suspected.
    Accuracy,
    /// In the end, every live process suspects every crashed process.
    Completeness,
}

impl Goal {
    /// All of them.
    pub const ALL: [Goal; 11] = [
        Goal::MutualExclusion,
        Goal::DeadlockFreedom,
        Goal::StarvationFreedom,
        Goal::RequestOrder,
        Goal::Fencing,
        Goal::ResourceSafety,
        Goal::NoLostUpdate,
        Goal::SingleLeader,
        Goal::Decided,
        Goal::Accuracy,
        Goal::Completeness,
    ];

    /// The properties that can be checked for a family.
    pub fn of_family(family: Family) -> &'static [Goal] {
        match family {
            Family::Mutex => &[
                Goal::MutualExclusion,
                Goal::DeadlockFreedom,
                Goal::StarvationFreedom,
                Goal::RequestOrder,
                Goal::Fencing,
                Goal::ResourceSafety,
                Goal::NoLostUpdate,
            ],
            Family::Election => &[Goal::SingleLeader, Goal::Decided],
            Family::Detector => &[Goal::Accuracy, Goal::Completeness],
        }
    }

    /// Its name in output and options.
    pub const fn name(self) -> &'static str {
        match self {
            Goal::MutualExclusion => "mutual-exclusion",
            Goal::DeadlockFreedom => "deadlock-freedom",
            Goal::StarvationFreedom => "starvation-freedom",
            Goal::RequestOrder => "request-order",
            Goal::Fencing => "fencing",
            Goal::ResourceSafety => "resource-safety",
            Goal::NoLostUpdate => "no-lost-update",
            Goal::SingleLeader => "single-leader",
            Goal::Decided => "decided",
            Goal::Accuracy => "accuracy",
            Goal::Completeness => "completeness",
        }
    }

    /// The property of single runs that watches it, if one does; the others are about the graph of all runs.
    pub const fn property(self) -> Option<Property> {
        match self {
            Goal::MutualExclusion => Some(Property::MutualExclusion),
            Goal::RequestOrder => Some(Property::RequestOrder),
            Goal::Fencing => Some(Property::Fencing),
            Goal::ResourceSafety => Some(Property::ResourceSafety),
            Goal::NoLostUpdate => Some(Property::NoLostUpdate),
            Goal::SingleLeader => Some(Property::SingleLeader),
            Goal::Decided => Some(Property::Decided),
            Goal::Accuracy => Some(Property::Accuracy),
            Goal::Completeness => Some(Property::Completeness),
            Goal::DeadlockFreedom | Goal::StarvationFreedom => None,
        }
    }

    /// The property that an algorithm promises by promising this.
    const fn promise(self) -> Property {
        match self.property() {
            Some(property) => property,
            None => Property::Progress,
        }
    }

    /// Whether breaking it is a moment (safety) rather than a wait without end (liveness).
    pub const fn is_safety(self) -> bool {
        self.promise().is_safety()
    }

    /// Whether it is about the resource that applications enter for, and so only where they write to it.
    pub const fn is_about_resource(self) -> bool {
        matches!(self, Goal::ResourceSafety | Goal::NoLostUpdate)
    }

    /// Whether a run that goes round in circles for ever can break it.
    pub const fn is_about_cycles(self) -> bool {
        matches!(self, Goal::StarvationFreedom | Goal::Decided | Goal::Completeness)
    }

    /// Whether an algorithm promises it, with these options.
    pub fn is_promised(self, entry: &Entry, options: &Options) -> bool {
        entry.promises(self.promise(), options)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
