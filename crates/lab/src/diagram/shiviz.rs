//! A log for ShiViz, which draws and searches space-time diagrams in a browser.
//!
//! ShiViz takes the regular expression for its events from the first line of a file, and the one that separates
//! executions from the second; the latter stays empty. An event is two lines: the host with its vector clock as JSON,
//! and the time in δ with what happened. *Source*: <https://github.com/DistributedClocks/shiviz>.

use std::fmt::Write;

use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::Record;
use rustc_hash::FxHashMap;

use super::clocks::{Clock, SparseClock, UnderWay};
use super::layout::MOST_IDLE_LINES;
use super::words::visible;
use crate::conversation::sentence;
use crate::time::delta_text;

/// How ShiViz finds the events.
const EVENT: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<delta>\S*) (?<event>.*)";

/// The log of a run of `n` processes.
///
/// Vector clocks are reckoned from the messages: each record is an event of its process. ShiViz knows only hosts that
/// have events, and shows them in the order of the log; so each process begins with an event of its own.
pub fn shiviz(n: u32, records: &[Record]) -> String {
    let mut clocks: FxHashMap<Id, SparseClock> = FxHashMap::default();
    let mut under_way = UnderWay::new(records);
    let mut log = format!("{EVENT}\n\n");
    let begin = records.first().map_or(0, |record| record.at);
    for host in hosts(n, records) {
        let clock = clocks.entry(host).or_default();
        clock.tick(host);
        write_event(&mut log, begin, host, "starts", clock);
    }
    for record in records {
        let clock = clocks.entry(record.process).or_default();
        under_way.arrives(record, clock);
        clock.tick(record.process);
        under_way.leaves(record, clock);
        let words = sentence(record.process, &record.what);
        write_event(&mut log, record.at, record.process, &words, clock);
    }
    log
}

fn write_event(log: &mut String, at: Ticks, process: Id, words: &str, clock: &SparseClock) {
    // Writing to a string cannot fail.
    let _ = write!(log, "{process} {{");
    for (position, (host, count)) in clock.0.iter().enumerate() {
        let separator = if position == 0 { "" } else { "," };
        let _ = write!(log, "{separator}\"{host}\":{count}");
    }
    let words: String = words.chars().map(visible).collect();
    let _ = writeln!(log, "}}\n{} {words}", delta_text(at));
}

/// Who is in the log, in order.
fn hosts(n: u32, records: &[Record]) -> Vec<Id> {
    let mut hosts: Vec<Id> = records.iter().map(|record| record.process).collect();
    if n <= MOST_IDLE_LINES {
        hosts.extend(Id::all(n));
    }
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

#[cfg(test)]
mod tests {
    use quorate_core::trace::{Label, Sequence, What};

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
                ("p1", r#"{"p1":1}"#, "0 starts"),
                ("p2", r#"{"p2":1}"#, "0 starts"),
                ("p3", r#"{"p3":1}"#, "0 starts"),
                ("p1", r#"{"p1":2}"#, "0 sends word to p2"),
                ("p2", r#"{"p1":2,"p2":2}"#, "1.5 receives word from p1"),
                ("p2", r#"{"p1":2,"p2":3}"#, "2 receives word from p1"),
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
    fn the_past_of_the_past_is_the_past() {
        let records =
            [sent(0, 3, 2, 1), received(1, 2, 3, 1), sent(1, 2, 1, 1), received(2, 1, 2, 1), sent(3, 1, 3, 1)];
        let log = shiviz(4, &[&records[..], &[received(4, 3, 1, 1)]].concat());
        let last = events(&log).last().map(|(host, clock, _)| (host.to_string(), clock.to_string()));
        assert_eq!(last, Some(("p3".into(), r#"{"p1":3,"p2":3,"p3":3}"#.into())));
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
