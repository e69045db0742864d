//! Whole charts of a few records each.

use quorate_core::id::Id;
use quorate_core::trace::{Label, Record};

use super::super::{Clocks, Mark, Picture, View};
use super::*;

fn record(at: u64, process: u32, what: What) -> Record {
    Record { at: at * crate::time::DELTA, process: Id::new(process), what }
}

fn label() -> Label {
    Label { kind: "word".into(), number: None }
}

fn sent(at: u64, process: u32, to: u32, sequence: u64) -> Record {
    record(at, process, What::Sent { to: Id::new(to), sequence, label: label() })
}

fn received(at: u64, process: u32, from: u32, sequence: u64) -> Record {
    record(at, process, What::Received { from: Id::new(from), sequence, label: label() })
}

fn lost(at: u64, process: u32, to: u32, sequence: u64) -> Record {
    record(at, process, What::Lost { to: Id::new(to), sequence, label: label() })
}

fn chart(n: u32, columns: usize, records: &[Record], marks: Vec<Mark>) -> Vec<String> {
    let text = Picture { n, records, title: String::new(), marks }.text(columns);
    text.lines().map(str::to_string).collect()
}

#[test]
fn a_message_that_arrives_next_is_one_arrow() {
    let rows = chart(2, 45, &[sent(0, 1, 2, 1), received(1, 2, 1, 1)], vec![]);
    assert_eq!(rows, ["  δ  p1                 p2", "0-1  │───────word──────▶│"]);
}

#[test]
fn a_message_that_arrives_later_has_a_number() {
    let records = [sent(0, 1, 2, 1), sent(0, 2, 1, 1), received(2, 2, 1, 1), received(3, 1, 2, 1)];
    assert_eq!(
        chart(2, 45, &records, vec![])[1..],
        [
            "  0  │─────word─────[1] │",
            "     │ [2]─────word─────│",
            "  2  │ [1]─────word────▶│",
            "  3  │◀────word─────[2] │",
            "",
            "     [1] sent above, received below",
        ]
    );
}

#[test]
fn what_is_lost_or_doubled_or_has_no_other_end_looks_so() {
    let records = [
        sent(0, 1, 2, 1),
        lost(1, 1, 2, 1),
        sent(2, 1, 2, 2),
        received(3, 2, 1, 2),
        received(4, 2, 1, 2),
        sent(5, 1, 2, 3),
        received(6, 2, 1, 4),
    ];
    assert_eq!(
        chart(2, 45, &records, vec![])[1..],
        [
            "0-1  │───────word──────✗│",
            "  2  │─────word─────[1] │",
            "  3  │ [1]─────word────▶│",
            "  4  │ [1]──word again─▶│",
            "  5  │──────word──────… │",
            "  6  │ …──────word─────▶│",
            "",
            "     [1] sent above, received below",
            "     … other end outside this picture",
            "     ✗ lost",
        ]
    );
}

#[test]
fn phases_are_strokes_and_a_step_shares_a_row() {
    let fence = quorate_core::clock::Fence::counted(
        quorate_core::clock::Epoch::FIRST,
        quorate_core::clock::Number::try_from(3).unwrap(),
    );
    let records = [
        record(0, 2, What::Wanted),
        sent(0, 2, 1, 1),
        received(1, 1, 2, 1),
        sent(1, 1, 2, 1),
        received(2, 2, 1, 1),
        record(2, 2, What::Entered { fence }),
        record(3, 2, What::Leaving),
        record(3, 2, What::Exited),
        record(4, 2, What::Crashed),
    ];
    assert_eq!(
        chart(2, 45, &records, vec![])[1..],
        [
            "0-1  │◀──────word───────╎ requests entry",
            "1-2  │───────word──────▶█ ENTERS, fence 3",
            "  3  │                  │ exits",
            "  4  │                  ✝ CRASHES",
            "",
            "     ╎ waiting   █ inside   · crashed",
        ]
    );
}

#[test]
fn a_mark_is_where_it_happens() {
    let records = [record(0, 1, What::Wanted), record(1, 2, What::Wanted), record(1, 1, What::Leaving)];
    let late = 9 * crate::time::DELTA;
    let marks = vec![Mark::at_time(late, "see here"), Mark::at_record(1, "see here"), Mark::at_record(2, "p1 and p2")];
    let rows = chart(2, 60, &records, marks);
    assert!(rows[2].contains("requests entry"));
    assert_eq!(rows[3], "▶▶▶  p2: see here");
    assert!(rows[4].contains("exits"));
    assert_eq!(rows[5], "▶▶▶  see here");
    assert_eq!(rows[6], "▶▶▶  p1 and p2", "who is named first is not named twice");
}

#[test]
fn times_are_headed_by_their_unit() {
    let records = [record(1, 1, What::Wanted)];
    let picture = Picture { n: 2, records: &records, title: String::new(), marks: vec![] };
    for (unit, heading) in [(Unit::Delta, "  δ  p1"), (Unit::Seconds, "  s  p1"), (Unit::Steps, "step p1")] {
        let text = picture.text_of(60, &View { unit, ..View::default() });
        assert!(text.starts_with(heading), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("  1  ╎"), "{text}");
    }
}

#[test]
fn with_less_room_words_go_to_the_margin_and_then_lines_go() {
    let records = [sent(0, 1, 3, 1), sent(1, 2, 3, 1), received(2, 3, 1, 1)];
    assert_eq!(
        chart(4, 52, &records, vec![])[..4],
        [
            "  δ  p1  p2  p3  p4",
            "  0  │───│──▷│   │   p1 sends word to p3 [1]",
            "  1  │   │──▷│   │   p2 sends word to p3 …",
            "  2  │ ──│──▶│   │   p3 receives word from p1 [1]",
        ]
    );
    assert_eq!(
        chart(4, 0, &records, vec![])[..3],
        ["  0  p1 sends word to p3 [1]", "  1  p2 sends word to p3 …", "  2  p3 receives word from p1 [1]"]
    );
}
fn timed(columns: usize, clocks: Clocks, n: u32, records: &[Record]) -> Vec<String> {
    let picture = Picture { n, records, title: String::new(), marks: vec![] };
    let text = picture.text_of(columns, &View { clocks: Some(clocks), ..View::default() });
    text.lines().map(str::to_string).collect()
}

fn conversation() -> [Record; 8] {
    [
        record(0, 2, What::Wanted),
        sent(0, 2, 1, 1),
        sent(0, 2, 3, 2),
        received(1, 1, 2, 1),
        sent(1, 1, 2, 1),
        received(2, 3, 2, 2),
        received(3, 2, 1, 1),
        record(4, 2, What::Crashed),
    ]
}

#[test]
fn a_clock_is_written_once_a_step_right_of_its_line_or_below() {
    assert_eq!(
        timed(90, Clocks::Vector, 3, &conversation()),
        [
            "  δ  p1                          p2                          p3",
            "  0  │ [1]──────────word─────────╎ requests entry ⟨0,1,0⟩    │",
            "     │                           ╎─────────word──────────[2] │",
            "  1  │◀─────────word─────────[1] ╎                           │",
            "     │ ⟨1,1,0⟩                   ╎                           │",
            "     │─────────word──────────[3] ╎                           │",
            "  2  │                           ╎ [2]─────────word─────────▶│ ⟨0,1,1⟩",
            "  3  │ [3]─────────word─────────▶╎ ⟨1,2,0⟩                   │",
            "  4  │                           ✝ CRASHES ⟨1,3,0⟩           │",
            "",
            "     ╎ waiting   · crashed   [1] sent above, received below   ⟨2,1⟩ vector clock",
        ]
    );
}

#[test]
fn who_sends_and_who_receives_at_once_have_their_clocks() {
    let records = [sent(0, 1, 2, 1), received(1, 2, 1, 1), sent(2, 2, 1, 1), lost(3, 2, 1, 1)];
    assert_eq!(
        timed(45, Clocks::Lamport, 2, &records)[1..],
        [
            "0-1  │───────word──────▶│ ⟨2⟩",
            "     │ ⟨1⟩              │",
            "2-3  │✗──────word───────│ ⟨3⟩",
            "",
            "     ✗ lost   ⟨7⟩ Lamport clock",
        ]
    );
    assert_eq!(
        timed(0, Clocks::Lamport, 2, &records),
        [
            "0-1  p1 sends word to p2 ⟨1⟩, and it arrives ⟨2⟩",
            "2-3  p2 sends word to p1 ⟨3⟩, and it is lost",
            "",
            "     ⟨7⟩ Lamport clock",
        ]
    );
}

#[test]
fn with_less_room_clocks_come_after_the_words() {
    assert_eq!(
        timed(64, Clocks::Vector, 4, &conversation())[..5],
        [
            "  δ  p1  p2  p3  p4",
            "  0  │   ╎   │   │   p2 requests entry ⟨0,1,0,0⟩",
            "     │◁──╎   │   │   p2 sends word to p1 [1]",
            "     │   ╎──▷│   │   p2 sends word to p3 [2]",
            "  1  │◀─ ╎   │   │   p1 receives word from p2 [1] ⟨1,1,0,0⟩",
        ]
    );
}
