//! How a run is shown: which part of it, in which direction, and with what beside it.

use std::ops::Range;

use quorate_core::process::Ticks;
use quorate_core::trace::{Record, What};

use super::Picture;
use crate::time::{DELTA, delta_text};

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
    /// The command that made the run and the picture, to be said in it.
    pub command: Option<String>,
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
    /// What leads to the first mark. If there is none, the beginning; or, if too little is to be seen there, where a
    /// few are let in or lead.
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
    /// A million ticks are one step; time does not matter.
    Steps,
}

impl Unit {
    /// A time in this unit, as people write it.
    pub(super) fn text(self, ticks: Ticks) -> String {
        // A million ticks are one, whichever the unit.
        delta_text(ticks)
    }

    /// What times are counted in.
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Delta => "δ",
            Unit::Seconds => "s",
            Unit::Steps => "step",
        }
    }

    /// What an axis shows.
    pub(super) fn axis(self) -> &'static str {
        match self {
            Unit::Delta => "time in δ",
            Unit::Seconds => "time in s",
            Unit::Steps => "steps",
        }
    }

    /// About how long something is, in words: to a tenth, or to two digits if it is shorter than one.
    pub(super) fn about(self, ticks: Ticks) -> String {
        // Times have no more digits.
        let least = DELTA / 10_000;
        if (1..least).contains(&ticks) {
            return format!("under {}", self.span(least));
        }
        let mut grain = DELTA / 10;
        while grain > least && ticks / grain < 10 {
            grain /= 10;
        }
        self.span(ticks.saturating_add(grain / 2) / grain * grain)
    }

    /// A length of time, in words.
    pub(super) fn span(self, ticks: Ticks) -> String {
        let unit = match self {
            Unit::Steps if self.text(ticks) != "1" => "steps",
            Unit::Steps | Unit::Delta | Unit::Seconds => self.name(),
        };
        format!("{} {unit}", self.text(ticks))
    }
}

/// Why a part of a run has nothing in it.
pub(super) fn why_empty(picture: &Picture<'_>, part: &Part, unit: Unit) -> Option<String> {
    let (first, last) = (picture.records.first()?, picture.records.last()?);
    if !window(picture, part, 1).is_empty() {
        return None;
    }
    Some(match part {
        Part::Usual => return None,
        Part::Times { from: Some(from), to: Some(to) } if from > to => {
            format!("--from {} comes after --to {}", unit.text(*from), unit.text(*to))
        }
        Part::Times { .. } => {
            let [begin, end] = [first, last].map(|record| unit.text(record.at));
            format!("no event is in this part: the run lasts from {begin} to {end} ({})", unit.name())
        }
        Part::Records(range) if range.start < picture.records.len() => "--records selects no record".into(),
        Part::Records(_) => format!("the run has {} records", picture.records.len()),
    })
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
    let marked = picture.marks.iter().filter_map(|mark| mark.place(picture.records)).min();
    let start = match marked {
        Some(marked) => (marked + 1).saturating_sub(before_a_mark(most)),
        None => first_aims(picture.records, most),
    };
    let start = start.min(count - most);
    start..start + most
}

/// So many entries, or leaders, are to be seen if they can be.
const AIMS: usize = 3;

/// Where the first few are let in or lead within so many records, or else as many as possible: where many ask, that is
/// long after the beginning.
fn first_aims(records: &[Record], most: usize) -> usize {
    let aims: Vec<usize> = (0..records.len()).filter(|&index| is_aim(&records[index])).collect();
    let starts = || [0].into_iter().chain(aims.iter().map(|aim| aim.saturating_sub(most / 8)));
    let seen = |start: usize| {
        let before = |end: usize| aims.partition_point(|&aim| aim < end);
        (before(start + most) - before(start)).min(AIMS)
    };
    let best = starts().map(seen).max().unwrap_or(0);
    starts().find(|&start| seen(start) == best).unwrap_or(0)
}

/// Whether this is what algorithms are for: somebody enters, or leads.
fn is_aim(record: &Record) -> bool {
    match record.what {
        What::Entered { .. } => true,
        What::Leader { leader } => leader == record.process,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::id::Id;

    use super::*;

    #[test]
    fn a_length_is_told_to_a_tenth_and_a_short_one_to_two_digits() {
        let about = |ticks| Unit::Seconds.about(ticks);
        assert_eq!([200_000_000, 1_260_000, 999_999, 530_400].map(about), ["200 s", "1.3 s", "1 s", "0.53 s"]);
        assert_eq!(
            [5_876, 1_100, 42, 7, 0].map(about),
            ["0.0059 s", "0.0011 s", "under 0.0001 s", "under 0.0001 s", "0 s"]
        );
        assert!(!about(u64::MAX).is_empty());
    }

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
    fn a_long_run_is_shown_from_where_somebody_is_let_in() {
        let shown = |aims: &[usize], most| {
            let what = |index| {
                let leads = What::Leader { leader: Id::new(1) };
                if aims.contains(&index) { leads } else { What::Healed }
            };
            let records: Vec<_> =
                (0..100).map(|index| Record { at: 0, process: Id::new(1), what: what(index) }).collect();
            let picture = Picture { n: 1, records: &records, title: String::new(), marks: vec![] };
            window(&picture, &Part::Usual, most)
        };
        assert_eq!(shown(&[70], 16), 68..84);
        assert_eq!(shown(&[99], 16), 84..100);
        assert_eq!(shown(&[7], 16), 0..16, "it is in the beginning");
        assert_eq!(shown(&[7, 60, 65, 70, 75, 80], 16), 58..74, "three are more than one");
        assert_eq!(shown(&[1, 2, 3, 60, 61, 62, 63], 16), 0..16, "three are enough");
        assert_eq!(shown(&[70], 100), 0..100);
        assert_eq!(shown(&[], 16), 0..16);
    }

    #[test]
    fn a_part_without_anything_says_why() {
        let records = [
            Record { at: 0, process: Id::new(1), what: What::Healed },
            Record { at: 7_500_000, process: Id::new(1), what: What::Healed },
        ];
        let picture = Picture { n: 1, records: &records, title: String::new(), marks: vec![] };
        let why = |part| why_empty(&picture, &part, Unit::Delta);
        let times =
            |from: u64, to: Option<u64>| Part::Times { from: Some(from * 1_000_000), to: to.map(|to| to * 1_000_000) };
        assert_eq!(why(Part::Usual), None);
        assert_eq!(why(times(1, None)), None);
        assert_eq!(why(times(500, None)).unwrap(), "no event is in this part: the run lasts from 0 to 7.5 (δ)");
        assert_eq!(why(times(1, Some(2))).unwrap(), "no event is in this part: the run lasts from 0 to 7.5 (δ)");
        assert_eq!(why(times(9, Some(3))).unwrap(), "--from 9 comes after --to 3");
        assert_eq!(why(Part::Records(5..9)).unwrap(), "the run has 2 records");
        let nothing = Picture { records: &[], ..picture.clone() };
        assert_eq!(why_empty(&nothing, &times(1, None), Unit::Delta), None, "nothing can be said of nothing");
    }

    #[test]
    fn a_part_by_records_stays_within_the_run() {
        assert_eq!(shown(&Part::Records(5..8), 1_000), 5..8);
        assert_eq!(shown(&Part::Records(95..200), 1_000), 95..100);
        assert_eq!(shown(&Part::Records(300..400), 1_000), 100..100);
        assert_eq!(shown(&Part::Records(0..100), 7), 0..7);
    }
}
