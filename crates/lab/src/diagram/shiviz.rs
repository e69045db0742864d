//! A log for ShiViz, which draws and searches space-time diagrams in a browser.
//!
//! ShiViz takes the regular expression for its events from the first line of a file, and the one that separates
//! executions from the second; the latter stays empty. An event is two lines: the host with its vector clock as JSON,
//! and the time in δ with what happened. *Source*: <https://github.com/DistributedClocks/shiviz>.

use std::fmt::Write;

use quorate_core::clock::VectorClock;
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Record, Sequence, What};
use rustc_hash::FxHashMap;

use super::layout::MOST_IDLE_LINES;
use super::words::{ends, visible};
use crate::conversation::sentence;
use crate::time::delta_text;

/// How ShiViz finds the events.
const EVENT: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<delta>\S*) (?<event>.*)";

/// The log of a run of `n` processes.
///
/// Vector clocks are computed here, from the messages: each record is an event of its process. A message that is
/// received before it was sent, or was never sent, tells its receiver nothing. ShiViz knows only hosts that have
/// events, and shows them in the order of the log; so each process begins with an event of its own.
pub fn shiviz(n: u32, records: &[Record]) -> String {
    let hosts = hosts(n, records);
    let places: FxHashMap<Id, usize> = hosts.iter().copied().zip(0..).collect();
    let mut clocks: Vec<VectorClock> = vec![VectorClock::default(); hosts.len()];
    let mut expected = expected(records);
    let mut under_way: FxHashMap<Name, VectorClock> = FxHashMap::default();
    let mut log = format!("{EVENT}\n\n");
    let begin = records.first().map_or(0, |record| record.at);
    for (me, &host) in hosts.iter().enumerate() {
        clocks[me].tick(Id::at(me));
        write_event(&mut log, begin, host, "begins", &hosts, &clocks[me]);
    }
    for record in records {
        let me = places[&record.process];
        if let Some((name, Role::Receipt)) = named(record) {
            if let Some(known) = under_way.get(&name) {
                clocks[me].merge(known);
            }
            let left = expected.get_mut(&name).expect("every receipt is expected");
            *left -= 1;
            if *left == 0 {
                under_way.remove(&name);
            }
        }
        clocks[me].tick(Id::at(me));
        if let Some((name, Role::Sending)) = named(record)
            && expected.get(&name).is_some_and(|&left| left > 0)
        {
            under_way.entry(name).or_insert_with(|| clocks[me].clone());
        }
        let words = sentence(record.process, &record.what);
        write_event(&mut log, record.at, record.process, &words, &hosts, &clocks[me]);
    }
    log
}

fn write_event(log: &mut String, at: Ticks, process: Id, words: &str, hosts: &[Id], clock: &VectorClock) {
    // Writing to a string cannot fail.
    let _ = write!(log, "{process} {{");
    let known = hosts.iter().enumerate().map(|(place, host)| (host, clock.of(Id::at(place))));
    for (position, (host, count)) in known.filter(|&(_, count)| count > 0).enumerate() {
        let separator = if position == 0 { "" } else { "," };
        let _ = write!(log, "{separator}\"{host}\":{count}");
    }
    let words: String = words.chars().map(visible).collect();
    let _ = writeln!(log, "}}\n{} {words}", delta_text(at));
}

/// Who is in the log, in order; a clock has an entry for each of them and for nobody else.
fn hosts(n: u32, records: &[Record]) -> Vec<Id> {
    let mut hosts: Vec<Id> = records.iter().map(|record| record.process).collect();
    if n <= MOST_IDLE_LINES {
        hosts.extend(Id::all(n));
    }
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// The sender, its number for the message, and whether it is the application's.
type Name = (Id, Sequence, bool);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Sending,
    Receipt,
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

    /// Each event's host, clock and words.
    fn events(log: &str) -> Vec<(&str, &str, &str)> {
        let mut lines = log.lines();
        assert_eq!(lines.next(), Some(EVENT));
        assert_eq!(lines.next(), Some(""));
        let lines: Vec<_> = lines.collect();
        lines
            .chunks(2)
            .map(|pair| {
                let (host, clock) = pair[0].split_once(' ').unwrap();
                (host, clock, pair[1])
            })
            .collect()
    }

    #[test]
    fn clocks_follow_the_messages() {
        let log = shiviz(3, &[sent(0, 1, 2, 1), received(1_500_000, 2, 1, 1), received(2_000_000, 2, 1, 1)]);
        assert_eq!(
            events(&log),
            [
                ("p1", r#"{"p1":1}"#, "0 begins"),
                ("p2", r#"{"p2":1}"#, "0 begins"),
                ("p3", r#"{"p3":1}"#, "0 begins"),
                ("p1", r#"{"p1":2}"#, "0 sends word to p2"),
                ("p2", r#"{"p1":2,"p2":2}"#, "1.5 gets word from p1"),
                ("p2", r#"{"p1":2,"p2":3}"#, "2 gets word from p1"),
            ]
        );
    }

    #[test]
    fn the_clock_of_a_message_is_that_of_its_sending() {
        let poked = |sequence| Record { at: 0, process: Id::new(1), what: What::Poked { to: Id::new(2), sequence } };
        let heard = |sequence| Record { at: 9, process: Id::new(2), what: What::Heard { from: Id::new(1), sequence } };
        // A message and a poke of the same number are two messages.
        let log = shiviz(0, &[poked(1), sent(0, 1, 2, 1), heard(1), received(9, 2, 1, 1)]);
        let clocks: Vec<_> = events(&log).into_iter().map(|(_, clock, _)| clock.to_string()).collect();
        assert_eq!(clocks[4..], [r#"{"p1":2,"p2":2}"#, r#"{"p1":3,"p2":3}"#]);
    }

    #[test]
    fn an_event_stays_on_its_line() {
        let why = "a\nb {\"p1\":1}".into();
        let log = shiviz(1, &[Record { at: 0, process: Id::new(1), what: What::Unexpected { from: None, why } }]);
        assert_eq!(events(&log).len(), 2);
    }

    #[test]
    fn what_was_never_sent_tells_nothing() {
        let log = shiviz(2, &[received(0, 2, 1, 7), received(0, 2, 4_000_000_000, 7), sent(0, 1, 2, 7)]);
        let clocks: Vec<_> = events(&log).into_iter().map(|(_, clock, _)| clock.to_string()).collect();
        assert_eq!(clocks[2..], [r#"{"p2":2}"#, r#"{"p2":3}"#, r#"{"p1":2}"#]);
    }
}
