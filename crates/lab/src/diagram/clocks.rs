//! Logical clocks, reckoned from the messages of a run alone.

use std::fmt::Write;
use std::ops::Range;

use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Record, Sequence, What};
use rustc_hash::FxHashMap;

use super::layout::begins_a_step;
use super::view::Clocks;
use super::words::ends;

/// With this many processes or fewer, vectors are written in full.
const MOST_IN_FULL: usize = 8;
/// Otherwise so many of their parts are.
const MOST_PARTS: usize = 4;

/// What the clock of its process shows at each of these records; nothing where the network did something.
///
/// All records before them count, so that a part of a run shows the numbers of the whole. A message carries the clock
/// of the step that sent it.
pub(super) fn readings(records: &[Record], shown: &Range<usize>, kind: Clocks, lines: &[Id]) -> Vec<String> {
    match kind {
        Clocks::Lamport => read::<LamportClock>(records, shown, lines),
        Clocks::Vector => read::<SparseClock>(records, shown, lines),
    }
}

fn read<C: Clock>(records: &[Record], shown: &Range<usize>, lines: &[Id]) -> Vec<String> {
    let mut clocks: FxHashMap<Id, (C, Option<Ticks>)> = FxHashMap::default();
    let mut under_way = UnderWay::new(&records[..shown.end]);
    let mut readings = Vec::with_capacity(shown.len());
    for (index, record) in records[..shown.end].iter().enumerate() {
        if matches!(record.what, What::Lost { .. }) {
            if shown.contains(&index) {
                readings.push(String::new());
            }
            continue;
        }
        let (clock, last) = clocks.entry(record.process).or_default();
        under_way.arrives(record, clock);
        if begins_a_step(&record.what) || *last != Some(record.at) {
            clock.tick(record.process);
        }
        *last = Some(record.at);
        under_way.leaves(record, clock);
        if shown.contains(&index) {
            readings.push(clock.text(record.process, lines));
        }
    }
    readings
}

/// A clock that is told of events and of what others knew.
pub(super) trait Clock: Clone + Default {
    /// An event of `id`.
    fn tick(&mut self, id: Id);
    /// Adds everything in the past of `other` to this past.
    fn merge(&mut self, other: &Self);
    /// What it shows, as the clock of `me` in a group of these.
    fn text(&self, me: Id, lines: &[Id]) -> String;
}

#[derive(Clone, Default)]
struct LamportClock(u64);

impl Clock for LamportClock {
    fn tick(&mut self, _id: Id) {
        self.0 += 1;
    }

    fn merge(&mut self, other: &LamportClock) {
        self.0 = self.0.max(other.0);
    }

    fn text(&self, _me: Id, _lines: &[Id]) -> String {
        self.0.to_string()
    }
}

/// A vector clock that knows only of those who are in its past: of many processes most have never heard of most others.
#[derive(Clone, Default)]
pub(super) struct SparseClock(pub(super) Vec<(Id, u64)>);

impl Clock for SparseClock {
    fn tick(&mut self, id: Id) {
        match self.0.binary_search_by_key(&id, |&(host, _)| host) {
            Ok(place) => self.0[place].1 += 1,
            Err(place) => self.0.insert(place, (id, 1)),
        }
    }

    fn merge(&mut self, other: &SparseClock) {
        let mut merged = Vec::with_capacity(self.0.len().max(other.0.len()));
        let (mut mine, mut theirs) = (self.0.iter().copied().peekable(), other.0.iter().copied().peekable());
        loop {
            let next = match (mine.peek(), theirs.peek()) {
                (Some(&(one, mine_count)), Some(&(other, their_count))) if one == other => {
                    theirs.next();
                    mine.next().map(|_| (one, mine_count.max(their_count)))
                }
                (Some((one, _)), Some((other, _))) if one < other => mine.next(),
                (_, Some(_)) => theirs.next(),
                (_, None) => mine.next(),
            };
            let Some(next) = next else { break };
            merged.push(next);
        }
        self.0 = merged;
    }

    fn text(&self, me: Id, lines: &[Id]) -> String {
        let count = |id: Id| self.0.binary_search_by_key(&id, |&(host, _)| host).map_or(0, |place| self.0[place].1);
        let mut text = String::from("(");
        if lines.len() <= MOST_IN_FULL {
            for (place, &id) in lines.iter().enumerate() {
                let separator = if place == 0 { "" } else { "," };
                // Writing to a string cannot fail.
                let _ = write!(text, "{separator}{}", count(id));
            }
        } else {
            // Its own part first, and of the others no more than there is room for.
            let others = self.0.iter().map(|(id, _)| *id).filter(|id| *id != me);
            for (place, id) in [me].into_iter().chain(others).take(MOST_PARTS).enumerate() {
                let separator = if place == 0 { "" } else { " " };
                let _ = write!(text, "{separator}{id}:{}", count(id));
            }
            if self.0.len() > MOST_PARTS {
                let _ = write!(text, " +{}", self.0.len() - MOST_PARTS);
            }
        }
        text.push(')');
        text
    }
}

/// The sender, its number for the message, and whether it is the application's.
type Name = (Id, Sequence, bool);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Sending,
    Receipt,
}

/// What messages carry, from their sending to their last receipt.
///
/// A message that is received before it was sent, or was never sent, tells its receiver nothing.
pub(super) struct UnderWay<C> {
    expected: FxHashMap<Name, usize>,
    carried: FxHashMap<Name, C>,
}

impl<C: Clock> UnderWay<C> {
    /// The messages of these records, none of which is sent yet.
    pub(super) fn new(records: &[Record]) -> UnderWay<C> {
        UnderWay { expected: expected(records), carried: FxHashMap::default() }
    }

    /// If the record is a receipt, lets the clock know what the message carries.
    pub(super) fn arrives(&mut self, record: &Record, clock: &mut C) {
        let Some((name, Role::Receipt)) = named(record) else { return };
        if let Some(known) = self.carried.get(&name) {
            clock.merge(known);
        }
        let left = self.expected.get_mut(&name).expect("every receipt is expected");
        *left -= 1;
        if *left == 0 {
            self.carried.remove(&name);
        }
    }

    /// If the record is a sending, lets the message carry the clock.
    pub(super) fn leaves(&mut self, record: &Record, clock: &C) {
        if let Some((name, Role::Sending)) = named(record)
            && self.expected.get(&name).is_some_and(|&left| left > 0)
        {
            self.carried.entry(name).or_insert_with(|| clock.clone());
        }
    }
}

fn named(record: &Record) -> Option<(Name, Role)> {
    let (from, _) = ends(record)?;
    match record.what {
        What::Sent { sequence, .. } => Some(((from, sequence, false), Role::Sending)),
        What::Received { sequence, .. } => Some(((from, sequence, false), Role::Receipt)),
        What::Poked { sequence, .. } => Some(((from, sequence, true), Role::Sending)),
        What::Heard { sequence, .. } => Some(((from, sequence, true), Role::Receipt)),
        _ => None,
    }
}

/// How often each message will be received: a clock is kept only as long as it is needed.
fn expected(records: &[Record]) -> FxHashMap<Name, usize> {
    let receipts = records.iter().filter_map(|record| match named(record) {
        Some((name, Role::Receipt)) => Some(name),
        Some((_, Role::Sending)) | None => None,
    });
    receipts.fold(FxHashMap::default(), |mut expected, name| {
        *expected.entry(name).or_insert(0) += 1;
        expected
    })
}

#[cfg(test)]
mod tests {
    use quorate_core::trace::Label;

    use super::*;

    fn label() -> Label {
        Label { kind: "word".into(), number: None }
    }

    fn sent(at: Ticks, process: u32, to: u32, sequence: Sequence) -> Record {
        Record { at, process: Id::new(process), what: What::Sent { to: Id::new(to), sequence, label: label() } }
    }

    fn received(at: Ticks, process: u32, from: u32, sequence: Sequence) -> Record {
        Record { at, process: Id::new(process), what: What::Received { from: Id::new(from), sequence, label: label() } }
    }

    fn run() -> Vec<Record> {
        vec![
            Record { at: 0, process: Id::new(1), what: What::Wanted },
            sent(0, 1, 2, 1),
            sent(0, 1, 3, 2),
            received(1, 2, 1, 1),
            sent(1, 2, 1, 1),
            Record { at: 1, process: Id::new(1), what: What::Lost { to: Id::new(3), sequence: 2, label: label() } },
            Record { at: 2, process: Id::new(3), what: What::Wanted },
            received(2, 1, 2, 1),
        ]
    }

    #[test]
    fn a_step_is_one_event_and_a_message_carries_its_clock() {
        let lines: Vec<Id> = Id::all(3).collect();
        let run = run();
        assert_eq!(readings(&run, &(0..8), Clocks::Lamport, &lines), ["1", "1", "1", "2", "2", "", "1", "3"]);
        let vectors = readings(&run, &(0..8), Clocks::Vector, &lines);
        let expected = ["(1,0,0)", "(1,0,0)", "(1,0,0)", "(1,1,0)", "(1,1,0)", "", "(0,0,1)", "(2,1,0)"];
        assert_eq!(vectors, expected);
    }

    #[test]
    fn a_part_shows_the_numbers_of_the_whole() {
        let lines: Vec<Id> = Id::all(3).collect();
        assert_eq!(readings(&run(), &(6..8), Clocks::Lamport, &lines), ["1", "3"]);
        let many: Vec<Id> = Id::all(9).collect();
        assert_eq!(readings(&run(), &(7..8), Clocks::Vector, &many), ["(p1:2 p2:1)"]);
    }

    #[test]
    fn of_a_long_vector_the_own_part_comes_first_and_the_rest_is_counted() {
        let many: Vec<Id> = Id::all(64).collect();
        let mut clock = SparseClock::default();
        many.iter().for_each(|&id| clock.tick(id));
        assert_eq!(clock.text(Id::new(9), &many), "(p9:1 p1:1 p2:1 p3:1 +60)");
    }
}
