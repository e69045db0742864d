//! Layouts of a few records each.

use quorate_core::election::ELECTION;

use super::*;
use crate::diagram::view::{Part, window};

fn record(at: Ticks, process: u32, what: What) -> Record {
    Record { at, process: Id::new(process), what }
}

fn label() -> Label {
    Label { kind: "word".into(), number: None }
}

fn sent(at: Ticks, process: u32, to: u32, sequence: Sequence) -> Record {
    record(at, process, What::Sent { to: Id::new(to), sequence, label: label() })
}

fn received(at: Ticks, process: u32, from: u32, sequence: Sequence) -> Record {
    record(at, process, What::Received { from: Id::new(from), sequence, label: label() })
}

fn laid_out<'a>(picture: &'a Picture<'_>) -> Layout<'a> {
    Layout::new(picture, &window(picture, &Part::Usual, MOST_RECORDS))
}

fn leader(leader: u32) -> What {
    What::Leader { leader: Id::new(leader) }
}

fn picture(records: &[Record]) -> Picture<'_> {
    Picture { n: 3, records, title: String::new(), marks: vec![] }
}

#[test]
fn a_message_is_known_by_its_sender_and_number() {
    let poked = record(1, 1, What::Poked { to: Id::new(2), sequence: 1 });
    let heard = record(5, 2, What::Heard { from: Id::new(1), sequence: 1 });
    let lost = record(6, 2, What::Lost { to: Id::new(1), sequence: 1, label: label() });
    let records = [sent(0, 1, 2, 1), poked, sent(2, 2, 1, 1), received(3, 2, 1, 1), received(4, 2, 1, 1), heard, lost];
    let picture = picture(&records);
    let layout = laid_out(&picture);
    let fates: Vec<_> = layout.messages.iter().map(|message| (message.sent, &message.fates[..])).collect();
    let (received, heard, lost) = ([Fate::Received(3), Fate::Received(4)], [Fate::Received(5)], [Fate::Lost(6)]);
    assert_eq!(fates, [(Some(0), &received[..]), (Some(1), &heard[..]), (Some(2), &lost[..])]);
}

#[test]
fn a_message_may_arrive_before_it_was_sent_or_unsent_or_never() {
    let records = [received(0, 2, 1, 1), sent(1, 1, 2, 1), received(2, 2, 9, 5), sent(3, 1, 2, 2)];
    let picture = picture(&records);
    let layout = laid_out(&picture);
    assert_eq!(layout.lines.len(), 4, "p9 is named, and has a line");
    let fates: Vec<_> = layout.messages.iter().map(|message| (message.sent, message.fates.clone())).collect();
    let expected = [(Some(1), vec![Fate::Received(0)]), (Some(3), vec![]), (None, vec![Fate::Received(2)])];
    assert_eq!(fates, expected);
}

#[test]
fn an_input_and_what_comes_of_it_share_a_slot() {
    let records = [
        sent(0, 1, 2, 1),
        received(4, 2, 1, 1),
        sent(4, 2, 1, 1),
        sent(4, 2, 3, 2),
        sent(4, 2, 3, 3),
        received(4, 2, 3, 1),
        received(4, 3, 2, 3),
    ];
    let picture = picture(&records);
    let layout = laid_out(&picture);
    let slots: Vec<_> = layout.events.iter().map(|event| (event.moment, event.slot)).collect();
    // The second message to p3 stands apart from the first, the next input from the step before, and what was sent
    // and received at one time from each other.
    assert_eq!(slots, [(0, 0), (1, 0), (1, 0), (1, 0), (1, 1), (1, 2), (1, 2)]);
    assert_eq!(layout.moments[1].slots, 3);
}

#[test]
fn phases_follow_each_other() {
    let fence =
        quorate_core::clock::Fence::counted(quorate_core::clock::Epoch::FIRST, quorate_core::clock::Number::ZERO);
    let records = [
        record(0, 1, What::Wanted),
        record(1, 1, What::Entered { fence }),
        record(2, 1, What::Paused),
        record(3, 1, What::Resumed),
        record(4, 1, What::Leaving),
        record(5, 1, What::Crashed),
        record(6, 1, What::Restarted { incarnation: 2 }),
        record(7, 1, What::Called),
        record(8, 1, leader(1)),
        record(9, 1, leader(2)),
        record(10, 1, What::Wanted),
        record(11, 1, What::Withdrew),
        record(12, 1, What::Paused),
    ];
    let picture = picture(&records);
    let mut bands = laid_out(&picture).bands();
    bands.sort_by_key(|band| band.from);
    let bands: Vec<_> = bands.into_iter().map(|band| (band.phase, band.from, band.to)).collect();
    let expected = [
        (Phase::Wanting, Some(0), Some(1)),
        (Phase::Inside, Some(1), Some(2)),
        (Phase::PausedInside, Some(2), Some(3)),
        (Phase::Inside, Some(3), Some(4)),
        (Phase::Crashed, Some(5), Some(6)),
        (Phase::Candidate, Some(7), Some(8)),
        (Phase::Leading, Some(8), Some(9)),
        (Phase::Wanting, Some(10), Some(11)),
        (Phase::Paused, Some(12), None),
    ];
    assert_eq!(bands, expected);
}

/// What each process is doing after each record.
fn phases(records: &[Record]) -> Vec<Phase> {
    laid_out(&picture(records)).events.iter().map(|event| event.phase).collect()
}

fn asked(at: Ticks, process: u32, sequence: Sequence) -> Record {
    let label = Label { kind: ELECTION.into(), number: None };
    record(at, process, What::Sent { to: Id::new(3), sequence, label })
}

#[test]
fn who_sends_an_election_takes_part_until_it_names_a_leader_or_crashes() {
    let records = [
        record(0, 1, What::Called),
        asked(0, 1, 1),
        record(1, 2, What::Wanted),
        asked(1, 2, 1),
        record(2, 2, What::Withdrew),
        sent(2, 2, 3, 2),
        record(3, 2, leader(2)),
        asked(4, 2, 3),
        record(5, 2, leader(3)),
        asked(6, 2, 4),
        record(7, 2, What::Crashed),
        record(8, 2, What::Restarted { incarnation: 2 }),
        asked(8, 2, 5),
    ];
    let expected = [
        Phase::Candidate,
        Phase::Candidate,
        // What a process waits for is more than in what it takes part.
        Phase::Wanting,
        Phase::Wanting,
        Phase::Candidate,
        Phase::Candidate,
        Phase::Leading,
        Phase::Candidate,
        Phase::Idle,
        Phase::Candidate,
        Phase::Crashed,
        Phase::Idle,
        Phase::Candidate,
    ];
    assert_eq!(phases(&records), expected);
    let part = picture(&records);
    assert_eq!(Layout::new(&part, &(4..5)).initial, [Phase::Candidate, Phase::Wanting, Phase::Idle]);
}

#[test]
fn an_election_of_which_nobody_would_see_the_end_is_not_shown() {
    let told = record(0, 2, What::Told { of: Id::new(1), alive: false });
    assert_eq!(phases(&[told, asked(0, 2, 1)]), [Phase::Idle, Phase::Idle]);
}

#[test]
fn of_a_long_run_the_part_is_shown_that_leads_to_the_mark() {
    let mut records = vec![record(0, 1, What::Wanted)];
    records.extend((1..10_000).map(|at| record(at, 2, What::Healed)));
    let mut picture = picture(&records);
    assert_eq!(laid_out(&picture).left_out, (0, 8_000));
    picture.marks.push(Mark::at_time(5_000, ""));
    let layout = laid_out(&picture);
    assert_eq!(layout.left_out, (3_501, 4_499));
    assert_eq!(layout.events.len(), MOST_RECORDS);
    assert_eq!(layout.initial, [Phase::Wanting, Phase::Idle, Phase::Idle], "what came before is not forgotten");
    assert_eq!(layout.notes().0.as_deref(), Some("3501 earlier records are not shown"));
    let choose = "4499 later records are not shown; choose another part with --from, --to or --records";
    assert_eq!(layout.notes().1, [choose]);
    let stepped = Layout { is_stepped: true, is_chosen: false, ..laid_out(&picture) };
    assert_eq!(stepped.notes().0.as_deref(), Some("3501 earlier records are not shown"));
    assert_eq!(stepped.notes().1, ["4499 later records are not shown"], "a page has no command line");
    assert_eq!(layout.flags[0].event, Some(1_499));
    picture.marks[0].spot = Spot::Time(9_999);
    assert_eq!(laid_out(&picture).left_out, (8_000, 0));
}

#[test]
fn a_mark_is_at_its_record_whatever_else_happens_then() {
    let records = [record(1, 1, What::Wanted), record(1, 2, What::Wanted), record(1, 3, What::Wanted)];
    let mut picture = picture(&records);
    picture.marks = vec![Mark::at_record(1, "here"), Mark::at_time(0, "before"), Mark::at_time(9, "after")];
    let layout = Layout::new(&picture, &(0..3));
    let all: Vec<_> = layout.flags.iter().map(|flag| (&*flag.mark.text, flag.event, flag.line)).collect();
    assert_eq!(all, [("before", None, None), ("here", Some(1), Some(1)), ("after", Some(2), None)]);
    let layout = Layout::new(&picture, &(2..3));
    assert_eq!(layout.flags.len(), 1, "what comes after the end is at the end");
    assert_eq!(layout.notes().1, ["not in this part: here", "not in this part: before"]);
}

#[test]
fn what_is_broken_again_is_flagged_up_to_a_number_and_the_rest_is_counted() {
    let records: Vec<_> = (0..40).map(|at| record(at, 1, What::Wanted)).collect();
    let mut picture = picture(&records);
    let again = |places: Range<usize>| places.map(|place| Mark::at_record(place, "again")).collect();
    let marks = [(3, again(4..24)), (5, again(6..12))];
    picture.marks = marks.map(|(place, again)| Mark { again, ..Mark::at_record(place, "first") }).into_iter().collect();
    let flags = |window: Range<usize>| -> Vec<(Option<usize>, bool)> {
        let layout = Layout::new(&picture, &window);
        layout.flags.iter().map(|flag| (flag.event, flag.is_repeat)).collect()
    };
    let all = flags(0..40);
    let said: Vec<_> = all.iter().filter(|(_, is_repeat)| !is_repeat).map(|(event, _)| *event).collect();
    assert_eq!(said, [Some(3), Some(5)]);
    assert_eq!(all.len(), 2 + MOST_REPEATS);
    assert_eq!(all.last(), Some(&(Some(17), true)), "those that come first are shown");
    let notes = Layout::new(&picture, &(0..40)).notes().1;
    assert_eq!(notes, ["6 more violations are not marked"]);
    // Where the first is not to be seen, the next one says what is wrong.
    assert_eq!(flags(22..40), [(Some(0), false), (Some(1), true)]);
    picture.marks.truncate(1);
    picture.marks[0].again.truncate(2);
    let notes = Layout::new(&picture, &(0..5)).notes().1;
    assert_eq!(notes.last().unwrap(), "1 more violation is not marked");
}

#[test]
fn time_does_not_run_backwards_and_that_is_said() {
    let records = [record(35, 1, What::Wanted), record(32, 2, What::Wanted), record(40, 3, What::Wanted)];
    let picture = picture(&records);
    let layout = laid_out(&picture);
    let times: Vec<_> = layout.moments.iter().map(|moment| moment.at).collect();
    assert_eq!(times, [35, 40]);
    assert!(layout.notes().1[0].starts_with("clocks differ"), "{:?}", layout.notes());
}

#[test]
fn many_idle_processes_have_no_line() {
    let records = [record(0, 4_000_000_000, What::Wanted)];
    let picture = Picture { n: u32::MAX, records: &records, title: String::new(), marks: vec![] };
    assert_eq!(laid_out(&picture).lines, [Id::new(4_000_000_000)]);
}
