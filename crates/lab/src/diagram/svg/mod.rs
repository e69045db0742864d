//! A diagram as SVG: one line a process, time running to the right.
//!
//! It stands alone, follows the reader's light or dark background, and can be read without colours: kinds of messages
//! differ in their dashes, phases in their textures. The axis is neither to scale nor blind to time: moments are
//! further apart the more time lies between them, but never too close to read nor so far that the eye gets lost.

mod labels;
mod style;

use std::collections::BTreeMap;
use std::fmt::Write;

use quorate_core::trace::What;

use self::labels::{Labels, bold_width, width};
use self::style::{escape, style};
use super::Picture;
use super::layout::{Fate, Layout, Message, Phase};
use super::words::{brief, shown, visible};
use crate::time::delta_text;

/// Between two slots of a moment.
const SLOT: f64 = 26.0;
/// Between two moments that are the usual time apart; the least, and the most.
const GAP: f64 = 86.0;
const LEAST_GAP: f64 = 44.0;
const MOST_GAP: f64 = 170.0;
/// Half the height of a band.
const BAND: f64 = 8.0;
/// How much of a message is seen that does not arrive, or was not seen to leave.
const STUB: f64 = 52.0;
/// How many ways there are to draw a kind of message.
const KINDS: usize = 6;

pub(super) fn draw(picture: &Picture<'_>) -> String {
    let layout = Layout::new(picture);
    let mut drawing = Drawing::new(&layout);
    drawing.axis();
    drawing.bands();
    drawing.arrows();
    drawing.points();
    drawing.flags();
    drawing.finish(&picture.title)
}

/// The picture, being drawn.
struct Drawing<'a> {
    layout: &'a Layout<'a>,
    /// Where each moment begins.
    moments: Vec<f64>,
    /// Where the lines begin and end.
    left: f64,
    right: f64,
    top: f64,
    /// Between two lines.
    pitch: f64,
    /// Which style each kind of message has, in the order of their first appearance.
    kinds: BTreeMap<String, usize>,
    /// What the legend explains.
    phases: Vec<Phase>,
    has_application_messages: bool,
    has_lost: bool,
    has_under_way: bool,
    labels: Labels,
    /// What lies below, and what lies above.
    below: String,
    above: String,
}

impl<'a> Drawing<'a> {
    fn new(layout: &'a Layout<'a>) -> Drawing<'a> {
        let names = layout.lines.iter().map(|id| width(&id.to_string())).fold(0.0, f64::max);
        let left = 40.0 + names;
        let mut moments = Vec::with_capacity(layout.moments.len());
        let mut x = left + 34.0;
        let usual = usual_gap(layout);
        for (index, moment) in layout.moments.iter().enumerate() {
            if let Some(before) = index.checked_sub(1).map(|before| &layout.moments[before]) {
                let time = moment.at.saturating_sub(before.at) as f64 / usual as f64;
                x += (before.slots - 1) as f64 * SLOT + (GAP * time.sqrt()).clamp(LEAST_GAP, MOST_GAP);
            }
            moments.push(x);
        }
        let right = x + layout.moments.last().map_or(0.0, |last| (last.slots - 1) as f64 * SLOT) + 110.0;
        let pitch = if layout.lines.len() <= 8 { 92.0 } else { 64.0 };
        let top = 88.0 + 24.0 * layout.flags.len().min(6) as f64;
        let mut drawing = Drawing {
            layout,
            moments,
            left,
            right,
            top,
            pitch,
            kinds: BTreeMap::new(),
            phases: Vec::new(),
            has_application_messages: false,
            has_lost: false,
            has_under_way: false,
            labels: Labels::default(),
            below: String::new(),
            above: String::new(),
        };
        for line in 0..layout.lines.len() {
            drawing.labels.keep_free(drawing.left, drawing.right, drawing.y(line), BAND + 1.0);
        }
        drawing
    }

    fn x(&self, event: usize) -> f64 {
        let event = &self.layout.events[event];
        self.moments[event.moment] + event.slot as f64 * SLOT
    }

    fn y(&self, line: usize) -> f64 {
        self.top + (line as f64 + 0.5) * self.pitch
    }

    fn bottom(&self) -> f64 {
        self.top + self.layout.lines.len() as f64 * self.pitch
    }

    /// Times, and the lines of the processes.
    fn axis(&mut self) {
        let (top, bottom) = (self.top - 8.0, self.bottom());
        let mut free_from = 0.0;
        let mut last = String::new();
        for (moment, &x) in self.layout.moments.iter().zip(&self.moments) {
            let time = delta_text(moment.at);
            let _ = writeln!(self.below, r#"<path class="guide" d="M{x:.1} {top:.1}V{bottom:.1}"/>"#);
            let half = width(&time) / 2.0;
            // Two moments can be closer together than what is shown of their times.
            if x - half >= free_from && time != last {
                let y = top - 6.0;
                let _ = writeln!(self.below, r#"<text class="time" x="{x:.1}" y="{y:.1}">{time}</text>"#);
                free_from = x + half + 8.0;
                last = time;
            }
        }
        let y = top - 6.0;
        let x = self.right;
        let _ = writeln!(self.below, r#"<text class="time end" x="{x:.1}" y="{y:.1}">time in δ →</text>"#);
        for (line, id) in self.layout.lines.iter().enumerate() {
            let y = self.y(line);
            let (left, right, name) = (self.left, self.right, self.left - 10.0);
            let _ = writeln!(self.below, r#"<path class="line" d="M{left:.1} {y:.1}H{right:.1}"/>"#);
            let _ = writeln!(self.below, r#"<text class="name" x="{name:.1}" y="{:.1}">{id}</text>"#, y + 5.0);
        }
    }

    fn bands(&mut self) {
        for band in self.layout.bands() {
            let from = band.from.map_or(self.left, |event| self.x(event));
            let to = band.to.map_or(self.right, |event| self.x(event));
            let (y, phase) = (self.y(band.line), class(band.phase));
            let (height, y) = match band.phase {
                Phase::Inside | Phase::PausedInside | Phase::Leading => (2.0 * BAND, y - BAND),
                _ => (BAND, y - BAND / 2.0),
            };
            let length = (to - from).max(3.0);
            if band.phase == Phase::Crashed {
                // The line itself is gone, and dots are left of it.
                let (y, cut) = (y + BAND / 2.0, "cut");
                let _ = writeln!(self.below, r#"<path class="{cut}" d="M{from:.1} {y:.1}h{length:.1}"/>"#);
                let _ = writeln!(self.below, r#"<path class="{phase}" d="M{from:.1} {y:.1}h{length:.1}"/>"#);
            } else {
                let place = format!(r#"x="{from:.1}" y="{y:.1}" width="{length:.1}" height="{height:.1}""#);
                let _ = writeln!(self.below, r#"<rect class="back" {place}/><rect class="{phase}" {place}/>"#);
            }
            self.phases.push(band.phase);
        }
    }

    fn arrows(&mut self) {
        for message in &self.layout.messages {
            let look = self.look(message);
            let says = message.label.map_or_else(|| "tells".into(), |label| shown(&label.to_string()));
            if message.fates.is_empty() {
                self.under_way(message, &look, &says);
            }
            for (copy, &fate) in message.fates.iter().enumerate() {
                let says = if copy > 0 { format!("{says} again") } else { says.clone() };
                self.fate(message, fate, &look, &says);
            }
        }
    }

    /// The classes by which a message is drawn.
    fn look(&mut self, message: &Message<'_>) -> String {
        match message.label {
            None => {
                self.has_application_messages = true;
                "application".into()
            }
            Some(label) => {
                let next = self.kinds.len();
                format!("k{}", *self.kinds.entry(shown(&label.kind)).or_insert(next) % KINDS)
            }
        }
    }

    /// A message that nothing becomes of while the picture lasts.
    fn under_way(&mut self, message: &Message<'_>, look: &str, says: &str) {
        let Some(sent) = message.sent else { return };
        self.has_under_way = true;
        let (x, from, to) = (self.x(sent), self.y(message.from), self.y(message.to));
        let end = (x + STUB, from + (to - from).clamp(-0.6 * self.pitch, 0.6 * self.pitch));
        self.stroke((x, from), end, &format!("{look} fading"));
        self.say((x, from), end, look, &format!("{says} …"));
    }

    fn fate(&mut self, message: &Message<'_>, fate: Fate, look: &str, says: &str) {
        let (event, is_lost) = match fate {
            Fate::Received(event) => (event, false),
            Fate::Lost(event) => (event, true),
        };
        let to = self.y(if is_lost { message.to } else { self.layout.events[event].line });
        let from = self.y(message.from);
        let end_x = self.x(event);
        let begin = match message.sent {
            Some(sent) => (self.x(sent), from),
            None => {
                self.has_under_way = true;
                (end_x - STUB, to + (from - to).clamp(-0.6 * self.pitch, 0.6 * self.pitch))
            }
        };
        let look = if message.sent.is_none() { format!("{look} fading") } else { look.to_string() };
        if is_lost {
            self.has_lost = true;
            // Most of the way, so that it is seen where it was going.
            let end = (begin.0 + 0.72 * (end_x - begin.0).max(20.0), begin.1 + 0.72 * (to - begin.1));
            self.stroke(begin, end, &look);
            let (x, y) = end;
            let cross = format!("M{:.1} {:.1}l10 10m0 -10l-10 10", x - 5.0, y - 5.0);
            let _ = writeln!(self.above, r#"<path class="cross" d="{cross}"/>"#);
            self.say(begin, end, &look, says);
            return;
        }
        let end = (end_x, to);
        if (begin.1 - end.1).abs() < 1.0 {
            // To itself: over the line and back.
            let (x, y) = begin;
            let arc = format!("M{x:.1} {y:.1}C{x:.1} {:.1} {:.1} {:.1} {:.1} {y:.1}", y - 40.0, end.0, y - 40.0, end.0);
            let _ = writeln!(self.below, r#"<path class="arrow {look}" d="{arc}"/>"#);
            self.say((x, y - 30.0), (end.0, y - 30.0), &look, says);
            return;
        }
        self.stroke(begin, end, &look);
        self.head(begin, end, &look);
        self.say(begin, end, &look, says);
    }

    fn stroke(&mut self, (x, y): (f64, f64), (to_x, to_y): (f64, f64), look: &str) {
        let _ = writeln!(self.below, r#"<path class="arrow {look}" d="M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}"/>"#);
        let _ = writeln!(self.below, r#"<circle class="dot {look}" cx="{x:.1}" cy="{y:.1}" r="2.6"/>"#);
        self.labels.keep_visible((x, y), (to_x, to_y));
    }

    /// The head of an arrow.
    fn head(&mut self, begin: (f64, f64), (x, y): (f64, f64), look: &str) {
        let (dx, dy) = (x - begin.0, y - begin.1);
        let length = (dx * dx + dy * dy).sqrt().max(1.0);
        let (dx, dy) = (dx / length, dy / length);
        let (back_x, back_y) = (x - 11.0 * dx, y - 11.0 * dy);
        let corners = (back_x - 4.5 * dy, back_y + 4.5 * dx, back_x + 4.5 * dy, back_y - 4.5 * dx);
        let (a, b, c, d) = corners;
        let _ = writeln!(self.above, r#"<path class="head {look}" d="M{x:.1} {y:.1}L{a:.1} {b:.1}L{c:.1} {d:.1}Z"/>"#);
    }

    /// Puts the label of an arrow where it is in nobody's way.
    fn say(&mut self, begin: (f64, f64), end: (f64, f64), look: &str, says: &str) {
        let (x, y) = self.labels.along(begin, end, width(says));
        let says = escape(says);
        let _ = writeln!(self.above, r#"<text class="label {look}" x="{x:.1}" y="{:.1}">{says}</text>"#, y + 4.0);
    }

    /// What happens besides messages.
    fn points(&mut self) {
        for (index, event) in self.layout.events.iter().enumerate() {
            let Some(words) = brief(event.record) else { continue };
            let (x, y) = (self.x(index), self.y(event.line));
            let sign = match event.record.what {
                What::Crashed => {
                    format!(r#"<path class="cross" d="M{:.1} {:.1}l14 14m0 -14l-14 14"/>"#, x - 7.0, y - 7.0)
                }
                What::TimedOut { .. } => {
                    format!(r#"<path class="timer" d="M{x:.1} {:.1}l6 6l-6 6l-6 -6Z"/>"#, y - 6.0)
                }
                What::Unexpected { .. } => {
                    format!(r#"<path class="timer" d="M{x:.1} {:.1}l7 12h-14Z"/>"#, y - 7.0)
                }
                _ => format!(r#"<path class="tick" d="M{x:.1} {:.1}v{:.1}"/>"#, y - BAND, 2.0 * BAND),
            };
            let _ = writeln!(self.above, "{sign}");
            let strong = match event.record.what {
                What::Entered { .. } | What::Crashed => " strong",
                What::Leader { leader } if leader == event.record.process => " strong",
                _ => "",
            };
            let room = if strong.is_empty() { width(&words) } else { bold_width(&words) };
            let (x, y) = self.labels.beside((x, y), BAND, room);
            let words = escape(&words);
            let _ = writeln!(self.above, r#"<text class="point{strong}" x="{x:.1}" y="{:.1}">{words}</text>"#, y + 4.0);
        }
    }

    fn flags(&mut self) {
        let (top, bottom) = (self.top, self.bottom());
        for (place, flag) in self.layout.flags.iter().enumerate() {
            let x = flag.event.map_or(self.left, |event| self.x(event));
            let y = top - 54.0 - 24.0 * (place % 6) as f64;
            let text = flag.mark.text.chars().map(visible).collect::<String>();
            let length = bold_width(&text) + 16.0;
            // The flag flies to the side where there is room for it.
            let begin = if x + length <= self.right { x } else { (self.right - length).max(8.0).min(x) };
            let _ = writeln!(self.below, r#"<path class="pole" d="M{x:.1} {y:.1}V{bottom:.1}"/>"#);
            let _ = writeln!(
                self.above,
                r#"<rect class="flag" x="{begin:.1}" y="{y:.1}" width="{length:.1}" height="20" rx="3"/>"#
            );
            let (text_x, text_y) = (begin + 8.0, y + 14.5);
            let text = escape(&text);
            let _ = writeln!(self.above, r#"<text class="flagged" x="{text_x:.1}" y="{text_y:.1}">{text}</text>"#);
            if let Some(line) = flag.line {
                let y = self.y(line);
                let _ = writeln!(self.above, r#"<circle class="ring" cx="{x:.1}" cy="{y:.1}" r="15"/>"#);
            }
        }
    }

    /// The legend, what was left out, and the frame around everything.
    fn finish(mut self, title: &str) -> String {
        let entries = self.legend_entries();
        let widest = self.layout.flags.iter().map(|flag| bold_width(&flag.mark.text) + 32.0).fold(0.0, f64::max);
        let title: String = title.chars().map(visible).collect();
        let full = self.right.max(self.labels.right).max(widest).max(width(&title) * 1.5).max(420.0) + 24.0;
        let (mut x, mut y) = (24.0, self.bottom() + 26.0);
        let mut legend = String::new();
        for (sample, words) in entries {
            let length = 44.0 + width(&words) + 26.0;
            if x + length > full && x > 24.0 {
                (x, y) = (24.0, y + 22.0);
            }
            let _ = writeln!(legend, r#"<g transform="translate({x:.1} {y:.1})">{sample}"#);
            let _ = writeln!(legend, r#"<text class="legend" x="42" y="4">{}</text></g>"#, escape(&words));
            x += length;
        }
        let (before, after) = self.layout.notes();
        for note in before.into_iter().chain(after) {
            y += 24.0;
            let _ = writeln!(legend, r#"<text class="legend" x="24" y="{y:.1}">{}.</text>"#, escape(&note));
        }
        let height = y + 22.0;
        let (name, description) = (escape(&title), escape(&self.description()));
        let mut svg = String::new();
        let size = format!(r#"width="{full:.0}" height="{height:.0}""#);
        let _ = writeln!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} viewBox="0 0 {full:.0} {height:.0}">"#
        );
        let _ = writeln!(svg, "<title>{name}</title>\n<desc>{description}</desc>\n{}", style());
        let _ = writeln!(svg, r#"<rect class="paper" {size}/>"#);
        let _ = writeln!(svg, r#"<text class="title" x="24" y="30">{name}</text>"#);
        svg + &self.below + &self.above + &legend + "</svg>\n"
    }

    /// Samples of what occurs, and what each means.
    fn legend_entries(&mut self) -> Vec<(String, String)> {
        let mut entries = Vec::new();
        self.phases.sort_unstable();
        self.phases.dedup();
        for &phase in &self.phases {
            let class = class(phase);
            let sample = match phase {
                Phase::Crashed => format!(r#"<path class="{class}" d="M0 0h34"/>"#),
                Phase::Inside | Phase::PausedInside | Phase::Leading => {
                    format!(r#"<rect class="{class}" y="-8" width="34" height="16"/>"#)
                }
                _ => format!(r#"<rect class="{class}" y="-4" width="34" height="8"/>"#),
            };
            entries.push((sample, phase.meaning().to_string()));
        }
        let arrow = |look: &str| {
            format!(r#"<path class="arrow {look}" d="M0 0H34"/><path class="head {look}" d="M36 0l-11 -4.5v9Z"/>"#)
        };
        let mut kinds: Vec<_> = self.kinds.iter().map(|(kind, &order)| (order, kind)).collect();
        kinds.sort_unstable();
        entries.extend(kinds.into_iter().map(|(order, kind)| (arrow(&format!("k{}", order % KINDS)), kind.clone())));
        if self.has_application_messages {
            entries.push((arrow("application"), "between applications".into()));
        }
        if self.has_lost {
            let sample = r#"<path class="arrow k0" d="M0 0H26"/><path class="cross" d="M21 -5l10 10m0 -10l-10 10"/>"#;
            entries.push((sample.into(), "lost".into()));
        }
        if self.has_under_way {
            let sample = r#"<path class="arrow k0 fading" d="M0 0H34"/>"#;
            entries.push((sample.into(), "other end not in the picture".into()));
        }
        entries
    }

    /// The picture for those who do not see it.
    fn description(&self) -> String {
        let (lines, messages) = (self.layout.lines.len(), self.layout.messages.len());
        let marks: String = self.layout.flags.iter().map(|flag| format!(" Marked: {}.", flag.mark.text)).collect();
        let text = format!(
            "A space-time diagram of {lines} processes and {messages} messages, time running to the right.{marks}"
        );
        text.chars().map(visible).collect()
    }
}

/// The median of the times between moments.
fn usual_gap(layout: &Layout<'_>) -> u64 {
    let mut gaps: Vec<_> = layout.moments.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at)).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(1).max(1)
}

fn class(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Wanting => "wanting",
        Phase::Inside => "inside",
        Phase::Candidate => "candidate",
        Phase::Leading => "leading",
        Phase::Paused => "paused",
        Phase::PausedInside => "paused-inside",
        Phase::Crashed => "crashed",
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::id::Id;
    use quorate_core::trace::{Label, Record};

    use super::super::Mark;
    use super::*;

    fn record(at: u64, process: u32, what: What) -> Record {
        Record { at, process: Id::new(process), what }
    }

    fn svg(records: &[Record], marks: Vec<Mark>) -> String {
        let svg = Picture { n: 2, records, title: "<run> & co".into(), marks }.svg();
        roxmltree::Document::parse(&svg).unwrap();
        svg
    }

    fn sent(kind: &'static str) -> What {
        What::Sent { to: Id::new(2), sequence: 1, label: Label { kind: kind.into(), number: Some(7) } }
    }

    #[test]
    fn nothing_at_all_is_a_picture() {
        assert!(svg(&[], vec![]).contains(">p2</text>"));
    }

    #[test]
    fn text_is_escaped_wherever_it_comes_from() {
        let mark = Mark { at: 0, process: None, text: "a < b \u{0}".into() };
        let timer = What::TimedOut { timer: "<timer>".into() };
        let svg = svg(&[record(0, 1, sent("<kind>")), record(0, 1, timer)], vec![mark]);
        for text in ["&lt;run&gt; &amp; co", "a &lt; b", "&lt;kind&gt;(7)", "timeout &lt;timer&gt;"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn a_message_ends_as_it_did() {
        let label = Label { kind: "word".into(), number: Some(7) };
        let received = What::Received { from: Id::new(1), sequence: 1, label: label.clone() };
        let lost = What::Lost { to: Id::new(2), sequence: 1, label };
        let heads = |svg: &str| svg.matches(r#"<path class="head k0""#).count();
        let crosses = |svg: &str| svg.matches(r#"<path class="cross""#).count();
        // One head and one cross of each that occurs are in the legend.
        let arrived = svg(&[record(0, 1, sent("word")), record(5, 2, received.clone())], vec![]);
        assert_eq!((heads(&arrived), crosses(&arrived)), (2, 0));
        let doubled = [record(0, 1, sent("word")), record(5, 2, received.clone()), record(6, 2, received)];
        let doubled = svg(&doubled, vec![]);
        assert_eq!((heads(&doubled), doubled.contains("word(7) again")), (3, true));
        let gone = svg(&[record(0, 1, sent("word")), record(5, 1, lost)], vec![]);
        assert_eq!((heads(&gone), crosses(&gone)), (1, 2));
        let dangling = svg(&[record(0, 1, sent("word"))], vec![]);
        assert_eq!((heads(&dangling), dangling.contains("word(7) …")), (1, true));
    }

    #[test]
    fn a_mark_flies_over_its_moment_and_rings_its_process() {
        let mark = Mark { at: 5, process: Some(Id::new(2)), text: "here".into() };
        let svg = svg(&[record(0, 1, What::Wanted), record(5, 2, What::Wanted)], vec![mark]);
        assert!(svg.contains(r#"class="ring""#) && svg.contains(">here</text>") && svg.contains("Marked: here."));
    }

    #[test]
    fn phases_are_bands_and_only_those_that_occur_are_explained() {
        let svg = svg(&[record(0, 1, What::Wanted), record(5, 1, What::Crashed)], vec![]);
        assert!(svg.contains(r#"<rect class="wanting""#) && svg.contains("waits to enter</text>"));
        assert!(svg.contains(r#"<path class="crashed""#) && !svg.contains(">inside</text>"));
    }
}
