//! How a run is shown: which part of it, in which direction, and with what beside it.

use std::ops::Range;

use quorate_core::process::Ticks;

use super::Picture;
use crate::time::delta_text;

/// How a picture is to be drawn. The default is time running to the right, from the beginning or towards the first
/// mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Time runs downwards, as in a chart in characters it always does.
    pub down: bool,
    /// What to write at each step of a process.
    pub clocks: Option<Clocks>,
    /// Long stretches in which nothing happens are cut out, and the cut says how long they were.
    pub fold: bool,
    /// Which part of the run.
    pub part: Part,
    /// What times are counted in.
    pub unit: Unit,
}

/// A logical clock, reckoned from the messages alone: it moves once at each step of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// One number.
    Lamport,
    /// One number a process.
    Vector,
}

/// Which part of a run is shown. If that is more than a picture has room for, its beginning is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// What leads to the first mark; the beginning if there is none.
    #[default]
    Usual,
    /// What happened between two times, both included.
    Times {
        /// From the beginning if not given.
        from: Option<Ticks>,
        /// To the end if not given.
        to: Option<Ticks>,
    },
    /// These records, counted from 0.
    Records(Range<usize>),
}

/// What the time of a record means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// A million ticks are δ, the delay of a message.
    #[default]
    Delta,
    /// A tick is a microsecond.
    Seconds,
}

impl Unit {
    /// A time in this unit, as people write it.
    pub(super) fn text(self, ticks: Ticks) -> String {
        // A million ticks are one, whichever the unit.
        delta_text(ticks)
    }

    /// What times are counted in, for an axis.
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Delta => "δ",
            Unit::Seconds => "s",
        }
    }
}

/// How many of the records come before a mark if something has to be left out: three of four.
fn before_a_mark(most: usize) -> usize {
    most / 4 * 3
}

/// Which records a picture with room for `most` shows.
pub(super) fn window(picture: &Picture<'_>, part: &Part, most: usize) -> Range<usize> {
    let count = picture.records.len();
    let chosen = match part {
        Part::Usual => return usual(picture, most),
        Part::Times { from, to } => {
            let is_begun = |at: Ticks| from.is_none_or(|from| at >= from);
            let is_over = |at: Ticks| to.is_some_and(|to| at > to);
            let start = picture.records.iter().position(|record| is_begun(record.at)).unwrap_or(count);
            let end = picture.records.iter().rposition(|record| !is_over(record.at)).map_or(0, |last| last + 1);
            start..end.max(start)
        }
        Part::Records(range) => range.start.min(count)..range.end.clamp(range.start.min(count), count),
    };
    chosen.start..chosen.end.min(chosen.start + most)
}

fn usual(picture: &Picture<'_>, most: usize) -> Range<usize> {
    let count = picture.records.len();
    if count <= most {
        return 0..count;
    }
    let first = picture.marks.iter().min_by_key(|mark| mark.at);
    let marked = first.and_then(|mark| picture.records.iter().rposition(|record| record.at <= mark.at));
    let start = marked.map_or(0, |marked| (marked + 1).saturating_sub(before_a_mark(most))).min(count - most);
    start..start + most
}

#[cfg(test)]
mod tests {
    use quorate_core::id::Id;
    use quorate_core::trace::{Record, What};

    use super::*;

    fn shown(part: &Part, most: usize) -> Range<usize> {
        let records: Vec<_> =
            (0..100).map(|at| Record { at: at / 2 * 10, process: Id::new(1), what: What::Healed }).collect();
        let picture = Picture { n: 1, records: &records, title: String::new(), marks: vec![] };
        window(&picture, part, most)
    }

    #[test]
    fn a_part_by_times_has_both_ends() {
        let times = |from, to| Part::Times { from, to };
        assert_eq!(shown(&times(Some(100), Some(120)), 1_000), 20..26);
        assert_eq!(shown(&times(Some(95), Some(125)), 1_000), 20..26);
        assert_eq!(shown(&times(None, Some(0)), 1_000), 0..2);
        assert_eq!(shown(&times(Some(490), None), 1_000), 98..100);
        assert_eq!(shown(&times(None, None), 10), 0..10, "no more than there is room for");
        assert_eq!(shown(&times(Some(10_000), None), 10), 100..100);
        assert_eq!(shown(&times(Some(300), Some(200)), 10), 60..60);
    }

    #[test]
    fn a_part_by_records_stays_within_the_run() {
        assert_eq!(shown(&Part::Records(5..8), 1_000), 5..8);
        assert_eq!(shown(&Part::Records(95..200), 1_000), 95..100);
        assert_eq!(shown(&Part::Records(300..400), 1_000), 100..100);
        assert_eq!(shown(&Part::Records(0..100), 7), 0..7);
    }
}
