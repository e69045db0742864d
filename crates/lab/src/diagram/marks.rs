//! What to point at: what is broken in a run, found in its records alone.
//!
//! The properties that watch a simulation watch the records again. So a run, its trace and a counterexample all have
//! their marks at the same record, however many others happened at the same time.

use quorate_core::catalog::{Family, Property};
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Record, What};

use super::words::ends;
use crate::experiment::REQUEST_ORDER_UP_TO;
use crate::property::{AT_THE_RESOURCE, Monitor, Violation, of_family};

/// Something to point at, such as a broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Where.
    pub spot: Spot,
    /// What to say there.
    pub text: String,
    /// Where the same promise is broken once more, in order. None of these has others.
    pub again: Vec<Mark>,
}

/// Where a mark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// At this record, counted from 0, and at its process.
    Record(usize),
    /// After all that happened up to this time, and at nobody.
    Time(Ticks),
}

impl Mark {
    /// A mark at a record.
    pub fn at_record(record: usize, text: impl Into<String>) -> Mark {
        Mark { spot: Spot::Record(record), text: text.into(), again: Vec::new() }
    }

    /// A mark at a time.
    pub fn at_time(at: Ticks, text: impl Into<String>) -> Mark {
        Mark { spot: Spot::Time(at), text: text.into(), again: Vec::new() }
    }

    /// The mark of a violation that was found in a run of `n` processes with these records: what must never happen is
    /// pointed at where it happens, and where it happens again; what never happens, at the end.
    pub fn of_violation(n: u32, records: &[Record], property: Property, violation: &Violation) -> Mark {
        let is_then = |index: &usize| records[*index].at == violation.at;
        let breaks = if property.is_safety() { breaks(n, records, property) } else { Vec::new() };
        let broken = || breaks.first().map(|(index, _)| *index).filter(is_then);
        // Who watched may have known more than the records say: then it was the last entry of that time.
        let entered = || {
            let is_entry = |record: &Record| record.at == violation.at && matches!(record.what, What::Entered { .. });
            records.iter().rposition(is_entry)
        };
        let place = if property.is_safety() { broken().or_else(entered) } else { None };
        let spot = place.map_or(Spot::Time(violation.at), Spot::Record);
        let later = breaks.iter().filter(|(index, _)| place.is_some_and(|place| place < *index));
        let again = later.map(|(index, violation)| Mark::at_record(*index, &*violation.why)).collect();
        Mark { spot, text: violation.why.clone(), again }
    }

    /// The record that it is at or after; none if it comes before all of them.
    pub(super) fn place(&self, records: &[Record]) -> Option<usize> {
        match self.spot {
            Spot::Record(record) => (record < records.len()).then_some(record),
            Spot::Time(at) => records.iter().rposition(|record| record.at <= at),
        }
    }
}

/// What must never happen, and happened in a run of which nothing is known but its records: for each property that is
/// broken its first break, with the others, in the order of the properties. Whether somebody waits for ever,
/// records that end somewhere do not say.
pub fn broken(n: u32, records: &[Record]) -> Vec<Mark> {
    let properties = demanded(n, records).into_iter().filter(|property| property.is_safety());
    let broken = properties.filter_map(|property| {
        let mut marks = breaks(n, records, property).into_iter().map(|(index, it)| Mark::at_record(index, it.why));
        let first = marks.next()?;
        Some(Mark { again: marks.collect(), ..first })
    });
    broken.collect()
}

/// How many processes there are at least, as these records name them.
pub fn group(records: &[Record]) -> u32 {
    let named = |record: &Record| {
        let (from, to) = ends(record).unwrap_or((record.process, record.process));
        let told = match record.what {
            What::Leader { leader: id } | What::Opinion { of: id, .. } | What::Told { of: id, .. } => id,
            _ => record.process,
        };
        [record.process, from, to, told].into_iter().map(Id::number).max().unwrap_or(0)
    };
    records.iter().map(named).max().unwrap_or(0)
}

/// The records that break a property, and how. Who watches a run stops at the first; but what the watch knows then is
/// as true as before, so that it can go on.
fn breaks(n: u32, records: &[Record], property: Property) -> Vec<(usize, Violation)> {
    let mut monitor = Monitor::new(property, n);
    records.iter().enumerate().filter_map(|(index, record)| Some((index, monitor.observe(record)?))).collect()
}

/// What is demanded of whoever writes such records.
fn demanded(n: u32, records: &[Record]) -> Vec<Property> {
    let has = |is: fn(&What) -> bool| records.iter().any(|record| is(&record.what));
    let families = [
        (Family::Mutex, has(|what| matches!(what, What::Wanted | What::Entered { .. }))),
        (Family::Election, has(|what| matches!(what, What::Called | What::Leader { .. }))),
        (Family::Detector, has(|what| matches!(what, What::Opinion { .. }))),
    ];
    let families = families.into_iter().filter(|(_, occurs)| *occurs);
    let mut demanded: Vec<_> = families.flat_map(|(family, _)| of_family(family).iter().copied()).collect();
    if has(|what| matches!(what, What::Read { .. } | What::Wrote { .. })) {
        demanded.extend(AT_THE_RESOURCE);
    }
    demanded.retain(|&property| property != Property::RequestOrder || n <= REQUEST_ORDER_UP_TO);
    demanded
}

#[cfg(test)]
mod tests {
    use quorate_core::clock::{Epoch, Fence, Number};

    use super::*;

    fn entered(number: u64) -> What {
        What::Entered { fence: Fence::counted(Epoch::FIRST, Number::try_from(number).unwrap()) }
    }

    fn record(at: Ticks, process: u32, what: What) -> Record {
        Record { at, process: Id::new(process), what }
    }

    /// Two enter at the same time, and others do something at that time, too.
    fn run() -> Vec<Record> {
        vec![
            record(0, 1, What::Wanted),
            record(0, 3, What::Wanted),
            record(5, 1, entered(1)),
            record(5, 3, entered(2)),
            record(5, 3, What::Read { fence: Fence::counted(Epoch::FIRST, Number::ZERO), accepted: false }),
            record(5, 2, What::Wanted),
        ]
    }

    #[test]
    fn what_is_broken_is_marked_where_it_happens() {
        assert_eq!(broken(3, &run()), [Mark::at_record(3, "p3 entered while p1 was inside")]);
        assert_eq!(broken(3, &run()[..3]), []);
    }

    /// Two are inside, a third comes with a smaller fence, and when all have left, two are inside once more.
    #[test]
    fn what_is_broken_again_is_marked_again() {
        let mut records = run();
        records.extend([
            record(6, 2, entered(1)),
            record(7, 1, What::Leaving),
            record(7, 2, What::Leaving),
            record(7, 3, What::Leaving),
            record(8, 1, entered(3)),
            record(9, 2, entered(4)),
        ]);
        let again = vec![
            Mark::at_record(6, "p2 entered while p1 was inside"),
            Mark::at_record(11, "p2 entered while p1 was inside"),
        ];
        let exclusion = Mark { again, ..Mark::at_record(3, "p3 entered while p1 was inside") };
        let fencing = Mark::at_record(6, "p2 entered with fence 1 after an entry with fence 2");
        let marks = broken(3, &records);
        assert_eq!(marks[..2], [exclusion.clone(), fencing]);
        let violation = Violation { at: 5, why: exclusion.text.clone() };
        assert_eq!(Mark::of_violation(3, &records, Property::MutualExclusion, &violation), exclusion);
        assert_eq!(Mark::of_violation(3, &records, Property::Progress, &violation).again, []);
    }

    #[test]
    fn a_violation_is_at_its_record_and_a_wait_at_the_end() {
        let violation = Violation { at: 5, why: "two".into() };
        let mark = |property| Mark::of_violation(3, &run(), property, &violation);
        assert_eq!(mark(Property::MutualExclusion), Mark::at_record(3, "two"));
        assert_eq!(mark(Property::Progress), Mark::at_time(5, "two"));
        // Nobody's request had happened before, as far as these records say.
        assert_eq!(mark(Property::RequestOrder), Mark::at_record(3, "two"));
        let elsewhere = Violation { at: 7, why: "two".into() };
        let mark = Mark::of_violation(3, &run(), Property::MutualExclusion, &elsewhere);
        assert_eq!(mark, Mark::at_time(7, "two"), "records that were not kept have no place");
    }

    #[test]
    fn the_group_is_all_whom_records_name() {
        assert_eq!(group(&[]), 0);
        assert_eq!(group(&run()), 3);
        assert_eq!(group(&[record(0, 1, What::Told { of: Id::new(4), alive: false })]), 4);
        assert_eq!(group(&[record(0, 1, What::Poked { to: Id::new(7), sequence: 1 })]), 7);
    }
}
