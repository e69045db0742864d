//! From records to a drawing that has no shape yet: lines, messages with their fates, phases, and places in time.
//!
//! The time axis is a row of [moments](Moment), one for each time at which something happened. Within a moment, what
//! one process does is divided into steps, as the algorithms are: an input and what came of it are one step and happen
//! at one place, its slot; the next input at the same time gets the next slot.

use std::collections::BTreeSet;
use std::ops::Range;

use quorate_core::election::ELECTION;
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Label, Record, Sequence, What};
use rustc_hash::FxHashMap;

use super::suspicion::{Suspected, suspected};
use super::{Mark, Picture, Spot, words};

/// The most records that a picture shows.
pub const MOST_RECORDS: usize = 2_000;

/// Up to this many processes, those to whom nothing happens have a line as well.
pub(super) const MOST_IDLE_LINES: u32 = 64;

/// So often it is pointed at a promise that is broken once more.
const MOST_REPEATS: usize = 20;

/// A drawing without a shape.
pub(super) struct Layout<'a> {
    /// The processes that have a line, in order.
    pub(super) lines: Vec<Id>,
    /// What each of them is doing when the picture begins.
    pub(super) initial: Vec<Phase>,
    pub(super) moments: Vec<Moment>,
    /// One for each record.
    pub(super) events: Vec<Event<'a>>,
    pub(super) messages: Vec<Message<'a>>,
    pub(super) flags: Vec<Flag<'a>>,
    /// Who is taken for dead, and when.
    pub(super) suspected: Vec<Suspected>,
    /// How many records there are before the first and after the last that is shown.
    pub(super) left_out: (usize, usize),
    /// What is pointed at in a part that is not shown.
    elsewhere: Vec<&'a str>,
    /// How often a promise is broken once more and that is not pointed at.
    unmarked: usize,
    /// Whether the records' times run backwards somewhere.
    has_turned_back: bool,
    /// Whether it is stepped through on a page, which has no command line.
    pub(super) is_stepped: bool,
}

/// A time at which something happened.
pub(super) struct Moment {
    pub(super) at: Ticks,
    /// Into how many slots it is divided.
    pub(super) slots: usize,
}

/// A record's place in the picture.
pub(super) struct Event<'a> {
    pub(super) record: &'a Record,
    pub(super) line: usize,
    pub(super) moment: usize,
    pub(super) slot: usize,
    /// Which step it is part of; a number for each step of any process.
    pub(super) step: usize,
    /// What its process is doing after it.
    pub(super) phase: Phase,
    /// The message that it sends, receives or loses.
    pub(super) message: Option<usize>,
}

/// What a process is doing, as far as a picture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Idle,
    Wanting,
    Inside,
    Candidate,
    Leading,
    Paused,
    /// It is inside, and does not know how time passes.
    PausedInside,
    Crashed,
}

impl Phase {
    /// What it is called in a legend.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Wanting => "waits to enter",
            Phase::Inside => "inside",
            Phase::Candidate => "in an election",
            Phase::Leading => "leader",
            Phase::Paused => "paused",
            Phase::PausedInside => "paused inside",
            Phase::Crashed => "crashed",
        }
    }
}

/// A message and what became of it.
pub(super) struct Message<'a> {
    /// The line of its sender.
    pub(super) from: usize,
    /// The line it was sent to.
    pub(super) to: usize,
    /// What it says; nothing for one between applications.
    pub(super) label: Option<&'a Label>,
    /// The event that sent it, if the picture has it.
    pub(super) sent: Option<usize>,
    /// What became of it, in order; more than one if the network doubled it, none if it is still under way.
    pub(super) fates: Vec<Fate>,
}

/// What became of a message, and the event that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Received(usize),
    Lost(usize),
}

/// Where to point, and what to say.
pub(super) struct Flag<'a> {
    pub(super) mark: &'a Mark,
    /// The event that it is at, or after; before all events if none.
    pub(super) event: Option<usize>,
    /// The line that it points at.
    pub(super) line: Option<usize>,
    /// Whether another flag has said before that the same promise is broken.
    pub(super) is_repeat: bool,
}

/// A phase, and the events from which and until which it lasts; from the beginning or to the end if none.
pub(super) struct Band {
    pub(super) line: usize,
    pub(super) phase: Phase,
    pub(super) from: Option<usize>,
    pub(super) to: Option<usize>,
}

impl<'a> Layout<'a> {
    /// The layout of these records of the picture.
    pub(super) fn new(picture: &'a Picture<'_>, window: &Range<usize>) -> Layout<'a> {
        let records = &picture.records[window.clone()];
        let lines = lines(picture.n, records);
        let mut states = States::new(picture.records);
        picture.records[..window.start].iter().for_each(|record| _ = states.see(record));
        let initial = lines.iter().map(|&id| states.phase(id)).collect();
        let left_out = (window.start, picture.records.len() - window.end);
        let (messages, message_of) = messages(&lines, records);
        let suspected = suspected(&lines, picture.records, window);
        let (moments, events, flags) = (vec![], vec![], vec![]);
        let (elsewhere, unmarked, has_turned_back, is_stepped) = (vec![], 0, false, false);
        let mut layout = Layout {
            lines,
            initial,
            moments,
            events,
            messages,
            flags,
            suspected,
            left_out,
            elsewhere,
            unmarked,
            has_turned_back,
            is_stepped,
        };
        layout.place(records, &message_of, &mut states);
        layout.point(picture, window);
        layout
    }

    /// The same to be stepped through on a page.
    #[cfg(feature = "command")]
    pub(super) fn stepped(self) -> Layout<'a> {
        Layout { is_stepped: true, ..self }
    }

    /// Gives each record its moment and slot.
    fn place(&mut self, records: &'a [Record], message_of: &[Option<usize>], states: &mut States) {
        let mut progress: Vec<Option<Progress>> = self.lines.iter().map(|_| None).collect();
        let mut steps = 0;
        for (index, (record, &message)) in records.iter().zip(message_of).enumerate() {
            match self.moments.last() {
                Some(moment) if moment.at >= record.at => self.has_turned_back |= moment.at > record.at,
                _ => self.moments.push(Moment { at: record.at, slots: 1 }),
            }
            let moment = self.moments.len() - 1;
            let line = line_of(&self.lines, record.process);
            let sent = message.and_then(|message| self.messages[message].sent).filter(|&sent| sent < index);
            let after_sending = match sent.map(|sent| &self.events[sent]) {
                Some(sent) if sent.moment == moment => sent.slot + 1,
                _ => 0,
            };
            let now = progress[line].as_ref().filter(|progress| progress.moment == moment);
            let (slot, step) = if matches!(record.what, What::Lost { .. }) {
                // The network's doing, not the process's.
                steps += 1;
                (after_sending, steps)
            } else {
                let target = message.map(|message| self.messages[message].to);
                let again = now.is_some_and(|now| target.is_some_and(|target| now.told.contains(&target)));
                let (slot, step) = match now {
                    Some(now) if !begins_a_step(&record.what) => (now.slot + usize::from(again), now.step),
                    Some(now) => (after_sending.max(now.slot + 1), steps + 1),
                    None => (after_sending, steps + 1),
                };
                steps = steps.max(step);
                let mut told = match now {
                    Some(now) if now.slot == slot => now.told.clone(),
                    _ => Vec::new(),
                };
                if matches!(record.what, What::Sent { .. } | What::Poked { .. }) {
                    told.extend(target);
                }
                progress[line] = Some(Progress { moment, slot, step, told });
                (slot, step)
            };
            self.moments[moment].slots = self.moments[moment].slots.max(slot + 1);
            let phase = states.see(record);
            self.events.push(Event { record, line, moment, slot, step, phase, message });
        }
    }

    /// Raises a flag at each mark, and where what it says is broken once more, up to a number.
    fn point(&mut self, picture: &'a Picture<'_>, window: &Range<usize>) {
        let mut repeats = Vec::new();
        for mark in &picture.marks {
            let first = self.flag(mark, picture.records, window);
            let later = mark.again.iter().filter_map(|mark| self.flag(mark, picture.records, window));
            // In a part without the first, the next one has to say what is wrong.
            let said = usize::from(first.is_none());
            repeats.extend(later.enumerate().map(|(place, flag)| Flag { is_repeat: place >= said, ..flag }));
            match first {
                Some(flag) => self.flags.push(flag),
                None => self.elsewhere.push(&mark.text),
            }
        }
        repeats.sort_by_key(|flag| flag.event);
        repeats.truncate(MOST_REPEATS);
        let all: usize = picture.marks.iter().map(|mark| mark.again.len()).sum();
        self.unmarked = all - repeats.len();
        self.flags.extend(repeats);
        self.flags.sort_by_key(|flag| flag.event);
    }

    /// Where a mark is in the picture, if it is.
    fn flag(&self, mark: &'a Mark, records: &[Record], window: &Range<usize>) -> Option<Flag<'a>> {
        let place = mark.place(records);
        let line = match (mark.spot, place) {
            (Spot::Record(_), Some(place)) if window.contains(&place) => {
                Some(line_of(&self.lines, records[place].process))
            }
            (Spot::Record(_), _) => return None,
            (Spot::Time(_), _) => None,
        };
        let before = place.is_none_or(|place| place < window.start);
        match before {
            true if window.start > 0 => None,
            true => Some(Flag { mark, event: None, line, is_repeat: false }),
            false => place.filter(|&place| place < window.end).map(|place| Flag {
                mark,
                event: Some(place - window.start),
                line,
                is_repeat: false,
            }),
        }
    }

    /// The flags but for those that only say once more that a promise is broken.
    pub(super) fn flags_with_words(&self) -> impl Iterator<Item = &Flag<'a>> {
        self.flags.iter().filter(|flag| !flag.is_repeat)
    }

    /// What each process is doing when, leaving out where it is idle.
    pub(super) fn bands(&self) -> Vec<Band> {
        let mut bands = Vec::new();
        let mut now: Vec<(Phase, Option<usize>)> = self.initial.iter().map(|&phase| (phase, None)).collect();
        for (index, event) in self.events.iter().enumerate() {
            let (phase, from) = now[event.line];
            if phase != event.phase {
                bands.push(Band { line: event.line, phase, from, to: Some(index) });
                now[event.line] = (event.phase, Some(index));
            }
        }
        let last = now.into_iter().enumerate();
        bands.extend(last.map(|(line, (phase, from))| Band { line, phase, from, to: None }));
        bands.retain(|band| band.phase != Phase::Idle);
        bands
    }

    /// What was left out and what else to know, as sentences for the beginning and the end of the picture.
    pub(super) fn notes(&self) -> (Option<String>, Vec<String>) {
        const CHOOSE: &str = "--from, --to or --records choose another part";
        let note = |count: usize, which: &str| match count {
            0 => None,
            1 => Some(format!("1 {which} record is not shown")),
            _ => Some(format!("{count} {which} records are not shown")),
        };
        let mut before = note(self.left_out.0, "earlier");
        let mut after: Vec<String> = note(self.left_out.1, "later").into_iter().collect();
        if let Some(last) = after.last_mut().or(before.as_mut())
            && !self.is_stepped
        {
            *last += &format!("; {CHOOSE}");
        }
        after.extend(self.elsewhere.iter().map(|text| format!("not in this part: {}", words::line(text))));
        after.extend(match self.unmarked {
            0 => None,
            1 => Some("a promise is broken once more, which is not marked".into()),
            times => Some(format!("promises are broken {times} times more, which is not marked")),
        });
        if self.has_turned_back {
            let why = "a record whose clock was behind that of the one before it is shown at the same time";
            after.push(format!("clocks differ: {why}"));
        }
        (before, after)
    }
}

/// Where a process is in the moment that is being laid out.
struct Progress {
    moment: usize,
    slot: usize,
    step: usize,
    /// To whom it has sent something in this slot.
    told: Vec<usize>,
}

/// Who has a line.
fn lines(n: u32, records: &[Record]) -> Vec<Id> {
    let mut lines = BTreeSet::new();
    if n <= MOST_IDLE_LINES {
        lines.extend(Id::all(n));
    }
    for record in records {
        lines.insert(record.process);
        lines.extend(words::ends(record).into_iter().flat_map(|(from, to)| [from, to]));
    }
    lines.into_iter().collect()
}

fn line_of(lines: &[Id], id: Id) -> usize {
    lines.binary_search(&id).expect("everybody whom a record names has a line")
}

/// The messages of these records, and which record is about which.
fn messages<'a>(lines: &[Id], records: &'a [Record]) -> (Vec<Message<'a>>, Vec<Option<usize>>) {
    let mut messages = Vec::new();
    let mut message_of = vec![None; records.len()];
    let mut named: FxHashMap<(Id, Sequence, bool), usize> = FxHashMap::default();
    // All that were sent come first: where clocks disagree, a message can arrive before it was sent.
    for pass in [Pass::Sent, Pass::Fate] {
        for (index, record) in records.iter().enumerate() {
            let Some((from, to)) = words::ends(record) else { continue };
            let Some((about, sequence, label)) = about(&record.what) else { continue };
            if about != pass {
                continue;
            }
            let name = (from, sequence, label.is_some());
            let (from, to) = (line_of(lines, from), line_of(lines, to));
            let fresh = |sent| Message { from, to, label, sent, fates: Vec::new() };
            let message = match pass {
                Pass::Sent => {
                    messages.push(fresh(Some(index)));
                    // Two of one name are nonsense: what arrives is the first.
                    named.entry(name).or_insert(messages.len() - 1);
                    messages.len() - 1
                }
                Pass::Fate => {
                    let message = *named.entry(name).or_insert_with(|| {
                        messages.push(fresh(None));
                        messages.len() - 1
                    });
                    let lost = matches!(record.what, What::Lost { .. });
                    messages[message].fates.push(if lost { Fate::Lost(index) } else { Fate::Received(index) });
                    message
                }
            };
            message_of[index] = Some(message);
        }
    }
    (messages, message_of)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Sent,
    Fate,
}

/// Which message a record is about, and whether it says that it was sent or what became of it.
fn about(what: &What) -> Option<(Pass, Sequence, Option<&Label>)> {
    match what {
        What::Sent { sequence, label, .. } => Some((Pass::Sent, *sequence, Some(label))),
        What::Poked { sequence, .. } => Some((Pass::Sent, *sequence, None)),
        What::Received { sequence, label, .. } | What::Lost { sequence, label, .. } => {
            Some((Pass::Fate, *sequence, Some(label)))
        }
        What::Heard { sequence, .. } => Some((Pass::Fate, *sequence, None)),
        _ => None,
    }
}

/// Whether this is an input; everything else comes of one.
pub(super) fn begins_a_step(what: &What) -> bool {
    match what {
        What::Wanted
        | What::Withdrew
        | What::Leaving
        | What::Read { .. }
        | What::Wrote { .. }
        | What::Called
        | What::Received { .. }
        | What::Heard { .. }
        | What::TimedOut { .. }
        | What::Told { .. }
        | What::Crashed
        | What::Restarted { .. }
        | What::Paused
        | What::Resumed
        | What::Partitioned { .. }
        | What::Healed => true,
        What::Withdrawn
        | What::Entered { .. }
        | What::Exited
        | What::Leader { .. }
        | What::Opinion { .. }
        | What::Sent { .. }
        | What::Lost { .. }
        | What::Poked { .. }
        | What::Unexpected { .. } => false,
    }
}

/// What each process is doing, in full.
struct States {
    of: FxHashMap<Id, State>,
    /// Whether elections stand alone, and are not beside an algorithm for mutual exclusion. Only then the records have
    /// every leader that is named: beside another algorithm, that is between the two, and nobody would see an election
    /// end.
    has_elections: bool,
}

impl States {
    /// Before these records.
    fn new(records: &[Record]) -> States {
        // What stands alone is called by an application.
        let has_elections = records.iter().any(|record| matches!(record.what, What::Called));
        States { of: FxHashMap::default(), has_elections }
    }

    /// Something happens: what its process is doing then.
    fn see(&mut self, record: &Record) -> Phase {
        let state = self.of.entry(record.process).or_default();
        match &record.what {
            What::Sent { label, .. } if label.kind == ELECTION && self.has_elections => state.rank = Rank::Candidate,
            what => state.see(record.process, what),
        }
        state.phase()
    }

    fn phase(&self, id: Id) -> Phase {
        self.of.get(&id).copied().unwrap_or_default().phase()
    }
}

#[derive(Clone, Copy, Default)]
struct State {
    seat: Seat,
    rank: Rank,
    crashed: bool,
    paused: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Seat {
    #[default]
    Outside,
    Waiting,
    Inside,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Rank {
    #[default]
    Follower,
    Candidate,
    Leader,
}

impl State {
    fn see(&mut self, process: Id, what: &What) {
        match what {
            What::Wanted => self.seat = Seat::Waiting,
            What::Entered { .. } => self.seat = Seat::Inside,
            What::Withdrew | What::Withdrawn | What::Leaving | What::Exited => self.seat = Seat::Outside,
            What::Called => self.rank = Rank::Candidate,
            What::Leader { leader } if *leader == process => self.rank = Rank::Leader,
            What::Leader { .. } => self.rank = Rank::Follower,
            What::Crashed => *self = State { crashed: true, ..State::default() },
            What::Restarted { .. } => *self = State::default(),
            What::Paused => self.paused = true,
            What::Resumed => self.paused = false,
            What::Read { .. }
            | What::Wrote { .. }
            | What::Opinion { .. }
            | What::Sent { .. }
            | What::Received { .. }
            | What::Lost { .. }
            | What::Poked { .. }
            | What::Heard { .. }
            | What::TimedOut { .. }
            | What::Told { .. }
            | What::Partitioned { .. }
            | What::Healed
            | What::Unexpected { .. } => {}
        }
    }

    fn phase(self) -> Phase {
        match (self.crashed, self.paused, self.seat, self.rank) {
            (true, ..) => Phase::Crashed,
            (false, true, Seat::Inside, _) => Phase::PausedInside,
            (false, true, ..) => Phase::Paused,
            (false, false, Seat::Inside, _) => Phase::Inside,
            (false, false, Seat::Waiting, _) => Phase::Wanting,
            (false, false, Seat::Outside, Rank::Leader) => Phase::Leading,
            (false, false, Seat::Outside, Rank::Candidate) => Phase::Candidate,
            (false, false, Seat::Outside, Rank::Follower) => Phase::Idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::{Part, window};
    use super::*;

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
        let records =
            [sent(0, 1, 2, 1), poked, sent(2, 2, 1, 1), received(3, 2, 1, 1), received(4, 2, 1, 1), heard, lost];
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
        let choose = "4499 later records are not shown; --from, --to or --records choose another part";
        assert_eq!(layout.notes().1, [choose]);
        let stepped = Layout { is_stepped: true, ..laid_out(&picture) };
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
        picture.marks =
            marks.map(|(place, again)| Mark { again, ..Mark::at_record(place, "first") }).into_iter().collect();
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
        assert_eq!(notes, ["promises are broken 6 times more, which is not marked"]);
        // Where the first is not to be seen, the next one says what is wrong.
        assert_eq!(flags(22..40), [(Some(0), false), (Some(1), true)]);
        picture.marks.truncate(1);
        picture.marks[0].again.truncate(2);
        let notes = Layout::new(&picture, &(0..5)).notes().1;
        assert_eq!(notes.last().unwrap(), "a promise is broken once more, which is not marked");
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
}
