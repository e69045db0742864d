//! What is demanded of a run: one file a property, each a small automaton over [`Record`]s.
//!
//! It knows nothing of the algorithm, and is a plain value that can be copied, compared and hashed: so the same file
//! can watch a simulation, be part of a searched state, and judge a trace.

mod accuracy;
mod bypass;
mod completeness;
mod decided;
mod fencing;
mod mutual_exclusion;
mod no_lost_update;
mod progress;
mod request_order;
mod resource_safety;
mod single_leader;

use quorate_core::catalog::{Family, Property};
use quorate_core::process::Ticks;
use quorate_core::trace::Record;
use serde::Serialize;

pub use accuracy::Accuracy;
pub use bypass::Bypass;
pub use completeness::Completeness;
pub use decided::Decided;
pub use fencing::Fencing;
pub use mutual_exclusion::MutualExclusion;
pub use no_lost_update::NoLostUpdate;
pub use progress::Progress;
pub use request_order::{Causality, Gone, RequestOrder, overtaking};
pub use resource_safety::ResourceSafety;
pub use single_leader::SingleLeader;

/// That a property does not hold, and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Violation {
    /// When it showed.
    pub at: Ticks,
    /// What happened, for people.
    pub why: String,
}

/// Any of the properties, watching a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named like the property it watches")]
pub enum Monitor {
    MutualExclusion(MutualExclusion),
    Progress(Progress),
    RequestOrder(RequestOrder),
    Fencing(Fencing),
    SingleLeader(SingleLeader),
    Decided(Decided),
    Accuracy(Accuracy),
    Completeness(Completeness),
    ResourceSafety(ResourceSafety),
    NoLostUpdate(NoLostUpdate),
}

impl Monitor {
    /// A watch over `n` processes, before the run.
    pub fn new(property: Property, n: u32) -> Monitor {
        match property {
            Property::MutualExclusion => Monitor::MutualExclusion(MutualExclusion::default()),
            Property::Progress => Monitor::Progress(Progress::default()),
            Property::RequestOrder => Monitor::RequestOrder(RequestOrder::default()),
            Property::Fencing => Monitor::Fencing(Fencing::default()),
            Property::ResourceSafety => Monitor::ResourceSafety(ResourceSafety::default()),
            Property::NoLostUpdate => Monitor::NoLostUpdate(NoLostUpdate::default()),
            Property::SingleLeader => Monitor::SingleLeader(SingleLeader::default()),
            Property::Decided => Monitor::Decided(Decided::new(n)),
            Property::Accuracy => Monitor::Accuracy(Accuracy::default()),
            Property::Completeness => Monitor::Completeness(Completeness::new(n)),
        }
    }

    /// Which property it watches.
    pub fn property(&self) -> Property {
        match self {
            Monitor::MutualExclusion(_) => Property::MutualExclusion,
            Monitor::Progress(_) => Property::Progress,
            Monitor::RequestOrder(_) => Property::RequestOrder,
            Monitor::Fencing(_) => Property::Fencing,
            Monitor::ResourceSafety(_) => Property::ResourceSafety,
            Monitor::NoLostUpdate(_) => Property::NoLostUpdate,
            Monitor::SingleLeader(_) => Property::SingleLeader,
            Monitor::Decided(_) => Property::Decided,
            Monitor::Accuracy(_) => Property::Accuracy,
            Monitor::Completeness(_) => Property::Completeness,
        }
    }

    /// Whether it has to see every message, which costs time.
    pub fn sees_messages(&self) -> bool {
        matches!(self, Monitor::RequestOrder(_))
    }

    /// Sees one record; says if it breaks the property.
    pub fn observe(&mut self, record: &Record) -> Option<Violation> {
        let why = match self {
            Monitor::MutualExclusion(watch) => watch.observe(record),
            Monitor::RequestOrder(watch) => watch.observe(record),
            Monitor::Fencing(watch) => watch.observe(record),
            Monitor::ResourceSafety(watch) => watch.observe(record),
            Monitor::NoLostUpdate(watch) => watch.observe(record),
            Monitor::SingleLeader(watch) => watch.observe(record),
            Monitor::Accuracy(watch) => watch.observe(record),
            Monitor::Progress(watch) => {
                watch.observe(record);
                None
            }
            Monitor::Decided(watch) => {
                watch.observe(record);
                None
            }
            Monitor::Completeness(watch) => {
                watch.observe(record);
                None
            }
        };
        why.map(|why| Violation { at: record.at, why })
    }

    /// The run is over, and nothing more can happen: says if that breaks the property.
    pub fn end(&self, at: Ticks) -> Option<Violation> {
        let why = match self {
            Monitor::Progress(watch) => watch.end(),
            Monitor::Decided(watch) => watch.end(),
            Monitor::Completeness(watch) => watch.end(),
            Monitor::MutualExclusion(_)
            | Monitor::RequestOrder(_)
            | Monitor::Fencing(_)
            | Monitor::ResourceSafety(_)
            | Monitor::NoLostUpdate(_)
            | Monitor::SingleLeader(_)
            | Monitor::Accuracy(_) => None,
        };
        why.map(|why| Violation { at, why })
    }
}

/// What is demanded of the algorithms of a family.
pub fn of_family(family: Family) -> &'static [Property] {
    match family {
        Family::Mutex => &[Property::MutualExclusion, Property::Progress, Property::RequestOrder, Property::Fencing],
        Family::Election => &[Property::SingleLeader, Property::Decided],
        Family::Detector => &[Property::Accuracy, Property::Completeness],
    }
}

/// What is demanded where applications read and write the resource that they enter for.
pub const AT_THE_RESOURCE: [Property; 2] = [Property::ResourceSafety, Property::NoLostUpdate];

/// Histories written by hand, for the tests of each property.
#[cfg(test)]
mod history {
    use quorate_core::catalog::Property;
    use quorate_core::clock::{Epoch, Fence, Number};
    use quorate_core::id::Id;
    use quorate_core::process::Ticks;
    use quorate_core::trace::{Label, Opinion, Record, Sequence, What};

    use super::Monitor;

    /// What breaks a property in a history of three processes, and when: things happen one tick apart, from 0 on, and
    /// the end comes one tick after the last.
    pub(super) fn broken(property: Property, history: &[(u32, What)]) -> Option<(Ticks, String)> {
        let mut monitor = Monitor::new(property, 3);
        assert_eq!(monitor.property(), property);
        for (at, (process, what)) in (0..).zip(history) {
            let record = Record { at, process: Id::new(*process), what: what.clone() };
            if let Some(violation) = monitor.observe(&record) {
                return Some((violation.at, violation.why));
            }
        }
        monitor.end(history.len() as Ticks).map(|violation| (violation.at, violation.why))
    }

    fn fence(number: u64) -> Fence {
        Fence::counted(Epoch::FIRST, Number::try_from(number).unwrap())
    }

    pub(super) fn entered(number: u64) -> What {
        What::Entered { fence: fence(number) }
    }

    pub(super) fn read(number: u64, accepted: bool) -> What {
        What::Read { fence: fence(number), accepted }
    }

    pub(super) fn wrote(number: u64, accepted: bool) -> What {
        What::Wrote { fence: fence(number), accepted }
    }

    pub(super) fn sent(to: u32, sequence: Sequence) -> What {
        What::Sent { to: Id::new(to), sequence, label: label() }
    }

    pub(super) fn received(from: u32, sequence: Sequence) -> What {
        What::Received { from: Id::new(from), sequence, label: label() }
    }

    pub(super) fn lost(to: u32, sequence: Sequence) -> What {
        What::Lost { to: Id::new(to), sequence, label: label() }
    }

    pub(super) fn poked(to: u32, sequence: Sequence) -> What {
        What::Poked { to: Id::new(to), sequence }
    }

    pub(super) fn heard(from: u32, sequence: Sequence) -> What {
        What::Heard { from: Id::new(from), sequence }
    }

    pub(super) fn leader(leader: u32) -> What {
        What::Leader { leader: Id::new(leader) }
    }

    pub(super) fn thinks(of: u32, opinion: Opinion) -> What {
        What::Opinion { of: Id::new(of), opinion }
    }

    pub(super) const AGAIN: What = What::Restarted { incarnation: 2 };

    fn label() -> Label {
        Label { kind: "word".into(), number: None }
    }
}
