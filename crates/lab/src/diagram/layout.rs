//! From records to a drawing that has no shape yet: lines, messages with their fates, phases, and places in time.
//!
//! The time axis is a row of [moments](Moment), one for each time at which something happened. Within a moment, what
//! one process does is divided into steps, as the algorithms are: an input and what came of it are one step and happen
//! at one place, its slot; the next input at the same time gets the next slot.

use std::collections::BTreeSet;
use std::ops::Range;

use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Label, Record, Sequence, What};
use rustc_hash::FxHashMap;

use super::phases::{Phase, States};
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
    /// What came before, of which nothing is shown.
    #[cfg(feature = "command")]
    pub(super) earlier: &'a [Record],
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
    /// Whether a command says which part is shown.
    pub(super) is_chosen: bool,
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
        let (earlier, records) = (&picture.records[..window.start], &picture.records[window.clone()]);
        let lines = lines(picture.n, records);
        let mut states = States::new(picture.records);
        earlier.iter().for_each(|record| _ = states.see(record));
        let initial = lines.iter().map(|&id| states.phase(id)).collect();
        let left_out = (window.start, picture.records.len() - window.end);
        let (messages, message_of) = messages(&lines, records);
        let suspected = suspected(&lines, picture.records, window);
        let (moments, events, flags) = (vec![], vec![], vec![]);
        let (elsewhere, unmarked, has_turned_back, is_stepped, is_chosen) = (vec![], 0, false, false, true);
        let mut layout = Layout {
            lines,
            initial,
            moments,
            events,
            messages,
            flags,
            suspected,
            #[cfg(feature = "command")]
            earlier,
            left_out,
            elsewhere,
            unmarked,
            has_turned_back,
            is_stepped,
            is_chosen,
        };
        layout.place(records, &message_of, &mut states);
        layout.point(picture, window);
        layout
    }

    /// The same to be stepped through on a page, that a command has made or not.
    #[cfg(feature = "command")]
    pub(super) fn stepped(self, is_chosen: bool) -> Layout<'a> {
        Layout { is_stepped: true, is_chosen, ..self }
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
        const CHOOSE: &str = "choose another part with --from, --to or --records";
        let note = |count: usize, which: &str| match count {
            0 => None,
            1 => Some(format!("1 {which} record is not shown")),
            _ => Some(format!("{count} {which} records are not shown")),
        };
        let mut before = note(self.left_out.0, "earlier");
        let mut after: Vec<String> = note(self.left_out.1, "later").into_iter().collect();
        if let Some(last) = after.last_mut().or(before.as_mut())
            && self.is_chosen
        {
            *last += &format!("; {CHOOSE}");
        }
        after.extend(self.elsewhere.iter().map(|text| format!("not in this part: {}", words::line(text))));
        after.extend(match self.unmarked {
            0 => None,
            1 => Some("1 more violation is not marked".into()),
            times => Some(format!("{times} more violations are not marked")),
        });
        if self.has_turned_back {
            let why = "a record with an earlier time than the record before it is shown at the same time as that one";
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
        | What::Stopped
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

#[cfg(test)]
mod tests;
