//! A diagram in characters: processes side by side, time running down.
//!
//! A message that arrives before anything else happens is one arrow on one row. Otherwise it leaves on one row and
//! arrives on a later one, and a number in brackets connects the two. What a logical clock shows is written once a
//! step: right of its process's line, on the same row if there is room, else below it.

mod clock;
mod row;
mod sign;

use std::collections::BTreeSet;
use std::fmt::Write;

use quorate_core::trace::What;

use self::clock::{Readings, write_beside};
use self::row::{Item, Part, Row, is_long, receiver};
use self::sign::{Sign, stroke};
use super::layout::{Event, Fate, Flag, Layout, Message};
use super::phases::Phase;
use super::view::{Unit, View};
use super::words::{brief, line, shown, visible};
use crate::conversation::with_subject;

/// The least room for words in the margin.
const MARGIN: usize = 30;

/// No chart is wider than this, whatever the terminal.
const WIDEST: usize = 400;

/// Draws a layout. `clocks` has what to write at each event, if anything.
pub(super) fn draw(layout: &Layout<'_>, view: &View, clocks: Option<&[String]>, title: &str, columns: usize) -> String {
    let clocks = view.clocks.zip(clocks).map(|(kind, readings)| Readings::new(kind, readings));
    let chart = Chart::new(layout, view.unit, clocks, columns.min(WIDEST));
    let mut text = String::new();
    if !title.is_empty() {
        text += &line(title);
        text += "\n\n";
    }
    let (before, after) = layout.notes();
    let mut rows = Rows { chart: &chart, text, used: BTreeSet::new(), timed: BTreeSet::new() };
    rows.header();
    before.iter().for_each(|note| rows.note(note));
    rows.body();
    after.iter().for_each(|note| rows.note(note));
    rows.legend();
    rows.text
}

/// How much of a diagram there is room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Labels are on their arrows. Lines are this far apart.
    Wide(usize),
    /// Labels are in the margin. Lines are this far apart.
    Narrow(usize),
    /// Words only.
    List,
}

/// What does not change from row to row.
struct Chart<'a> {
    layout: &'a Layout<'a>,
    unit: Unit,
    form: Form,
    columns: usize,
    /// The width of the times at the left.
    times: usize,
    /// For each message, the number that connects its two ends, unless it needs none.
    tags: Vec<Option<usize>>,
    /// For each event, whether the next event is all that becomes of the message that it sends.
    at_once: Vec<bool>,
    /// What clocks show, if that is asked for.
    clocks: Option<Readings>,
}

impl<'a> Chart<'a> {
    fn new(layout: &'a Layout<'a>, unit: Unit, clocks: Option<Readings>, columns: usize) -> Chart<'a> {
        let at_once: Vec<bool> =
            layout.events.iter().enumerate().map(|(index, event)| arrives_at_once(layout, index, event)).collect();
        let mut next = 0;
        let tags = layout.messages.iter().map(|message| {
            let sent = message.sent?;
            if message.fates.is_empty() || at_once[sent] {
                return None;
            }
            next += 1;
            Some(next)
        });
        let tags = tags.collect();
        let mut chart = Chart { layout, unit, form: Form::List, columns, times: 3, tags, at_once, clocks };
        let begins = layout.events.iter().map(|event| event.moment);
        let ends =
            layout.events.iter().skip(1).map(|event| event.moment).chain([layout.moments.len().saturating_sub(1)]);
        let spans = begins.zip(ends).zip(&chart.at_once);
        let widths = spans.map(|((begin, end), &at_once)| chart.time(begin, if at_once { end } else { begin }).len());
        chart.times = widths.chain([3]).max().unwrap_or(3);
        chart.form = chart.choose();
        chart
    }

    fn choose(&self) -> Form {
        let lines = self.layout.lines.len();
        let room = self.columns.saturating_sub(self.times + 3);
        if lines == 0 {
            return Form::List;
        }
        let labels = self.layout.events.iter().filter_map(|event| Some((event, event.message?)));
        let arrow = labels.map(|(event, message)| self.label(event, message).len() + self.tag(message).len() + 5);
        let words = self.layout.events.iter().filter(|event| !is_long(event)).filter_map(|event| brief(event.record));
        let clock = self.clocks.as_ref().map(Readings::width);
        let needed = arrow.chain(words.map(|words| words.chars().count()).chain(clock).map(|width| width + 3));
        let needed = needed.max().unwrap_or(0);
        let name = self.layout.lines.last().map_or(0, |last| last.number().to_string().len());
        let pitch = (room / lines).min(40);
        if pitch >= needed.max(name + 2) {
            return Form::Wide(pitch);
        }
        let margin = MARGIN + clock.map_or(0, |width| width + 1);
        let pitch = (room.saturating_sub(margin) / lines).min(6);
        if pitch >= (name + 1).max(3) { Form::Narrow(pitch) } else { Form::List }
    }

    /// The time of a row that goes from one moment to another.
    fn time(&self, begin: usize, end: usize) -> String {
        let [begin, end] = [begin, end].map(|moment| self.unit.text(self.layout.moments[moment].at));
        if begin == end { begin } else { format!("{begin}-{end}") }
    }

    fn pitch(&self) -> usize {
        match self.form {
            Form::Wide(pitch) | Form::Narrow(pitch) => pitch,
            Form::List => 0,
        }
    }

    /// What a message says, in this event.
    fn label(&self, event: &Event<'_>, message: usize) -> Vec<char> {
        let message = &self.layout.messages[message];
        let says = message.label.map_or_else(|| "message".into(), |label| shown(&label.to_string()));
        let again = if is_again(self.layout, message, event) { " again" } else { "" };
        says.chars().chain(again.chars()).collect()
    }

    /// What connects the ends of a message; dots where there is nothing to connect with.
    fn tag(&self, message: usize) -> String {
        self.tags[message].map_or_else(|| "…".into(), |tag| format!("[{tag}]"))
    }
}

/// Whether the next thing that happens is that this message arrives, or is lost, and nothing else becomes of it.
fn arrives_at_once(layout: &Layout<'_>, index: usize, event: &Event<'_>) -> bool {
    let Some(message) = event.message.map(|message| &layout.messages[message]) else { return false };
    let next = match message.fates[..] {
        [Fate::Received(fate) | Fate::Lost(fate)] => fate,
        _ => return false,
    };
    message.sent == Some(index) && next == index + 1
}

/// Whether this event is not the first receipt of the message.
fn is_again(layout: &Layout<'_>, message: &Message<'_>, event: &Event<'_>) -> bool {
    let receipts = message.fates.iter().filter_map(|fate| match fate {
        Fate::Received(receipt) => Some(&layout.events[*receipt]),
        Fate::Lost(_) => None,
    });
    matches!(event.record.what, What::Received { .. } | What::Heard { .. })
        && receipts.take(1).any(|first| !std::ptr::eq(first.record, event.record))
}

/// The rows, being written.
struct Rows<'a> {
    chart: &'a Chart<'a>,
    text: String,
    used: BTreeSet<Sign>,
    /// The steps whose clock is written.
    timed: BTreeSet<usize>,
}

impl Rows<'_> {
    fn header(&mut self) {
        let pitch = self.chart.pitch();
        if pitch == 0 {
            return;
        }
        let width = self.chart.times;
        let unit = format!("{:>width$}", self.chart.unit.name());
        let mut line = format!("{unit:<width$}", width = width + 2);
        for &id in &self.chart.layout.lines {
            let name = id.to_string();
            let name = if name.len() < pitch { name } else { id.number().to_string() };
            let _ = write!(line, "{name:<pitch$}");
        }
        self.push(&line);
    }

    fn note(&mut self, note: &str) {
        self.wrapped("⋮", note.split(' '), " ");
    }

    fn body(&mut self) {
        let layout = self.chart.layout;
        let mut phases = layout.initial.clone();
        let mut flags = layout.flags.iter().peekable();
        let mut row = Row::default();
        while let Some(flag) = flags.next_if(|flag| flag.event.is_none()) {
            self.flag(flag);
        }
        for (index, event) in layout.events.iter().enumerate() {
            let follows = index > 0 && self.chart.at_once[index - 1];
            if !row.takes(self.chart, event, follows) {
                self.finish(&mut row, &phases);
            }
            phases[event.line] = event.phase;
            row.add(self.chart, index, event, follows);
            if is_long(event) {
                self.finish(&mut row, &phases);
                let words = with_subject(event.record.process, &event.record.what);
                let words = words.chars().map(visible).collect::<String>() + &self.clock_after(index);
                self.wrapped("!", words.split(' '), " ");
            }
            if flags.peek().is_some_and(|flag| flag.event == Some(index)) {
                self.finish(&mut row, &phases);
            }
            while let Some(flag) = flags.next_if(|flag| flag.event == Some(index)) {
                self.flag(flag);
            }
        }
        self.finish(&mut row, &phases);
    }

    fn flag(&mut self, flag: &Flag<'_>) {
        let text = line(&flag.mark.text);
        let process = flag.line.map(|line| self.chart.layout.lines[line].to_string());
        // Who says its name first is not named twice.
        let place = process.filter(|name| text.split(' ').next() != Some(name));
        let place = place.map_or(String::new(), |process| format!("{process}: "));
        self.wrapped("▶▶▶", format!("{place}{text}").split(' '), " ");
    }

    /// Words across the whole width, below each other if they are many.
    fn wrapped<'w>(&mut self, sign: &str, words: impl Iterator<Item = &'w str>, between: &str) {
        let width = self.chart.times;
        let room = self.chart.columns.saturating_sub(width + 2).max(20);
        let mut sign = sign;
        let mut line = String::new();
        for word in words {
            if !line.is_empty() && line.chars().count() + between.len() + word.chars().count() > room {
                self.push(&format!("{sign:>width$}  {line}"));
                (line, sign) = (String::new(), "");
            }
            if !line.is_empty() {
                line += between;
            }
            line += word;
        }
        self.push(&format!("{sign:>width$}  {line}"));
    }

    fn push(&mut self, line: &str) {
        self.text += line.trim_end();
        self.text.push('\n');
    }

    /// Writes the row, if there is anything on it, and begins the next.
    fn finish(&mut self, row: &mut Row, phases: &[Phase]) {
        let Row { items, moments, told, .. } = std::mem::take(row);
        row.told = told;
        let Some((begin, end)) = moments.filter(|_| !items.is_empty()) else { return };
        // Two moments can be closer together than what is shown of their times.
        let is_told = told.is_some_and(|told| self.chart.time(told, told) == self.chart.time(begin, end));
        let time = if is_told { String::new() } else { self.chart.time(begin, end) };
        row.told = Some(end);
        let width = self.chart.times;
        let (line, below) = match self.chart.form {
            Form::Wide(pitch) => self.wide(&items, phases, pitch),
            Form::Narrow(pitch) => (self.narrow(&items, phases, pitch), None),
            Form::List => (items.iter().map(|item| self.spoken(item)).collect::<Vec<_>>().join(" "), None),
        };
        self.push(&format!("{time:>width$}  {line}"));
        if let Some(below) = below {
            self.push(&format!("{:>width$}  {below}", ""));
        }
    }

    /// What the clock shows at an event, unless its step has been told.
    fn clock(&mut self, event: usize) -> Option<String> {
        let clocks = self.chart.clocks.as_ref()?;
        let reading = clocks.at(event)?;
        if !self.timed.insert(self.chart.layout.events[event].step) {
            return None;
        }
        self.used.insert(Sign::Clock(clocks.meaning));
        Some(reading.to_string())
    }

    /// The same, as it comes after words.
    fn clock_after(&mut self, event: usize) -> String {
        self.clock(event).map_or(String::new(), |clock| format!(" {clock}"))
    }

    /// Writes the clocks of these items right of their lines. Those for which there is no room come on a row below.
    fn clocks(&mut self, cells: &mut [char], items: &[Item], phases: &[Phase], pitch: usize) -> Option<String> {
        let last = phases.len().saturating_sub(1);
        let mut below: Option<Vec<char>> = None;
        for event in items.iter().flat_map(Item::events) {
            let Some(clock) = self.clock(event) else { continue };
            let line = self.chart.layout.events[event].line;
            // A space stays between it and the next line.
            let end = if line == last { cells.len() } else { (line + 1) * pitch - 1 };
            if !write_beside(cells, line * pitch, end, &clock) {
                let below = below.get_or_insert_with(|| self.lines(phases, &[], pitch, cells.len()));
                write_beside(below, line * pitch, end, &clock);
            }
        }
        below.map(|cells| cells.into_iter().collect())
    }

    /// The lines of all processes, as they are on a row.
    fn lines(&mut self, phases: &[Phase], items: &[Item], pitch: usize, width: usize) -> Vec<char> {
        let mut cells = vec![' '; width.max(phases.len() * pitch)];
        for (line, &phase) in phases.iter().enumerate() {
            cells[line * pitch] = stroke(phase);
            self.used.insert(Sign::Phase(phase));
        }
        let crash = items.iter().find(|item| matches!(self.event(item).record.what, What::Crashed));
        if let Some(item) = crash {
            cells[self.event(item).line * pitch] = '✝';
        }
        cells
    }

    fn event(&self, item: &Item) -> &Event<'_> {
        &self.chart.layout.events[item.event]
    }

    /// A row with the labels on their arrows, and one below it if clocks need that.
    fn wide(&mut self, items: &[Item], phases: &[Phase], pitch: usize) -> (String, Option<String>) {
        let room = self.chart.columns.saturating_sub(self.chart.times + 2);
        let mut cells = self.lines(phases, items, pitch, room);
        for item in items {
            match item.part {
                Some(part) => {
                    let event = &self.chart.layout.events[item.event];
                    let message = event.message.expect("only a message is an arrow");
                    let label = self.chart.label(event, message);
                    let tag: Vec<char> = self.chart.tag(message).chars().collect();
                    self.arrow(&mut cells, item, part, pitch, Some((&label, &tag)));
                }
                None => {
                    let words = brief(self.event(item).record).unwrap_or_default();
                    let begin = self.event(item).line * pitch + 2;
                    write_at(&mut cells, begin, words.chars());
                }
            }
        }
        let below = self.clocks(&mut cells, items, phases, pitch);
        (cells.into_iter().collect(), below)
    }

    fn narrow(&mut self, items: &[Item], phases: &[Phase], pitch: usize) -> String {
        let mut cells = self.lines(phases, items, pitch, 0);
        for item in items {
            if let Some(part) = item.part {
                self.arrow(&mut cells, item, part, pitch, None);
            }
        }
        let words: Vec<_> = items.iter().map(|item| self.spoken(item)).collect();
        cells.into_iter().chain(words.join(" ").chars()).collect()
    }

    /// The event as a sentence, for the margin.
    fn spoken(&mut self, item: &Item) -> String {
        let event = &self.chart.layout.events[item.event];
        let words: String = with_subject(event.record.process, &event.record.what).chars().map(visible).collect();
        let clock = self.clock_after(item.event);
        match (event.message, item.part) {
            (Some(_), Some(Part::Whole)) => {
                let then = self.clock_after(item.event + 1);
                format!("{words}{clock}, and it arrives{then}")
            }
            (Some(_), Some(Part::FailsAtOnce)) => format!("{words}{clock}, and it is lost"),
            (Some(message), _) => {
                let tag = self.chart.tag(message);
                self.used.insert(if tag == "…" { Sign::Dots } else { Sign::Tag });
                format!("{words} {tag}{clock}")
            }
            (None, _) => words + &clock,
        }
    }

    fn arrow(&mut self, cells: &mut [char], item: &Item, part: Part, pitch: usize, label: Option<(&[char], &[char])>) {
        let event = &self.chart.layout.events[item.event];
        let Some(message) = event.message.map(|message| &self.chart.layout.messages[message]) else { return };
        let (from, to) = (message.from * pitch, receiver(self.chart, event) * pitch);
        if from == to {
            // No process sends to itself over the network, but a trace may say so.
            let words = label.map_or(&[][..], |(words, _)| words);
            write_at(cells, from + 1, ['↺'].into_iter().chain(words.iter().copied()));
            return;
        }
        let stroke = if message.label.is_some() { '─' } else { '┄' };
        if message.label.is_none() {
            self.used.insert(Sign::Application);
        }
        let right = to > from;
        // Positions count from the sender's line towards the receiver's; the last is next to the receiver's line.
        let length = from.abs_diff(to) - 1;
        let place = |position: usize| if right { from + 1 + position } else { from - 1 - position };
        for position in 0..length {
            if !place(position).is_multiple_of(pitch) {
                cells[place(position)] = stroke;
            }
        }
        match part {
            Part::Whole | Part::Arrives => cells[place(length - 1)] = if right { '▶' } else { '◀' },
            Part::Fails | Part::FailsAtOnce => {
                self.used.insert(Sign::Cross);
                cells[place(length - 1)] = '✗';
            }
            Part::Leaves if label.is_none() => cells[place(length - 1)] = if right { '▷' } else { '◁' },
            Part::Leaves => {}
        }
        let Some((words, tag)) = label else {
            if matches!(part, Part::Arrives | Part::Fails) {
                cells[place(0)] = ' ';
            }
            return;
        };
        // The label is next to whom it concerns, and never on a line.
        let near_sender = matches!(part, Part::Leaves | Part::Whole | Part::FailsAtOnce);
        let gap = if near_sender { 0 } else { (length / pitch) * pitch };
        let tagged = match part {
            Part::Whole | Part::FailsAtOnce => 0,
            Part::Leaves | Part::Arrives | Part::Fails => tag.len() + 1,
        };
        let is_alone = length < pitch;
        let spare = (pitch - 1).saturating_sub(words.len() + if is_alone { tagged } else { 0 }) / 2;
        let spare = spare.max(1) + if is_alone && !near_sender { tagged } else { 0 };
        let ends = (place(gap + spare), place(gap + spare + words.len() - 1));
        write_at(cells, ends.0.min(ends.1), words.iter().copied());
        if tagged == 0 {
            return;
        }
        self.used.insert(if tag == ['…'] { Sign::Dots } else { Sign::Tag });
        // The tag is at the end that is not reached, with a space between.
        let first = if part == Part::Leaves { length - tag.len() - 1 } else { 1 };
        let space = if part == Part::Leaves { length - 1 } else { 0 };
        let ends = (place(first), place(first + tag.len() - 1));
        write_at(cells, ends.0.min(ends.1), tag.iter().copied());
        cells[place(space)] = ' ';
    }

    /// What the signs mean that occur.
    fn legend(&mut self) {
        let is_told = |sign: &Sign| matches!(sign, Sign::Tag | Sign::Clock(_));
        if self.chart.form == Form::List && !self.used.iter().any(is_told) {
            return;
        }
        let meanings: Vec<String> = self.used.iter().filter_map(Sign::meaning).collect();
        if !meanings.is_empty() {
            self.text.push('\n');
            self.wrapped("", meanings.iter().map(String::as_str), "   ");
        }
    }
}

fn write_at(cells: &mut [char], begin: usize, letters: impl Iterator<Item = char>) {
    for (cell, letter) in cells.iter_mut().skip(begin).zip(letters) {
        *cell = letter;
    }
}

#[cfg(test)]
mod tests;
