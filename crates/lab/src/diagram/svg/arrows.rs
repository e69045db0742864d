//! Messages: arrows that end as the messages did, with what they say.
//!
//! Where many processes are, what one says to many is said once; and what would be written over other words is not
//! written: a pointer that rests on the arrow shows it, and so does a step to it on a page.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::labels::width;
use super::style::{Head, Look, escape};
use super::{BAND, Drawing, FEW, Place};
use crate::diagram::layout::{Fate, Message};
use crate::diagram::words::shown;

/// What is said to at least so many at once is said once, where many processes are.
const BROADCAST: usize = 4;

/// Half the size of the cross where a message is lost.
const CROSS: f64 = 5.0;

/// What a message says, and where that is written.
#[derive(Clone)]
enum Saying {
    /// On its arrow.
    Alone(String),
    /// Beside its sender, for all messages like this one.
    ForAll(String, usize),
    /// Beside another's sender.
    Elsewhere(String),
}

impl Saying {
    fn words(&self) -> &str {
        let (Saying::Alone(words) | Saying::ForAll(words, _) | Saying::Elsewhere(words)) = self;
        words
    }

    /// What is written of a copy that came again, or of a message whose end is not seen.
    fn with(&self, more: &str) -> Saying {
        match self {
            Saying::Alone(words) => Saying::Alone(format!("{words}{more}")),
            Saying::ForAll(words, _) | Saying::Elsewhere(words) => Saying::Elsewhere(format!("{words}{more}")),
        }
    }
}

impl Drawing<'_> {
    pub(super) fn arrows(&mut self) {
        let sayings = self.sayings();
        // Before any label has its place.
        for message in &self.layout.messages {
            for &fate in &message.fates {
                if matches!(fate, Fate::Lost(_)) {
                    let (_, end) = self.ends(message, fate);
                    self.labels.keep_uncovered(end, CROSS + 1.0);
                }
            }
        }
        for (index, (message, saying)) in self.layout.messages.iter().zip(&sayings).enumerate() {
            let look = self.look(message);
            if let (Saying::ForAll(words, count), Some(sent)) = (saying, message.sent) {
                let words = format!("{words} to {count}");
                let (x, y) = self.labels.beside(self.place(sent), BAND, width(&words));
                self.label((x, y), &look, &words);
            }
            if message.fates.is_empty() {
                self.under_way(index, message, &look, &saying.with(" …"));
            }
            for (copy, &fate) in message.fates.iter().enumerate() {
                let saying = if copy > 0 { saying.with(" again") } else { saying.clone() };
                self.fate(index, message, fate, &look, &saying);
            }
        }
    }

    /// What each message says, and where.
    fn sayings(&self) -> Vec<Saying> {
        let words =
            |message: &Message<'_>| message.label.map_or_else(|| "message".into(), |label| shown(&label.to_string()));
        let mut sayings: Vec<Saying> =
            self.layout.messages.iter().map(|message| Saying::Alone(words(message))).collect();
        if self.layout.lines.len() <= FEW {
            return sayings;
        }
        let mut alike: FxHashMap<(usize, String), Vec<usize>> = FxHashMap::default();
        for (index, message) in self.layout.messages.iter().enumerate() {
            if let Some(sent) = message.sent {
                alike.entry((self.layout.events[sent].step, words(message))).or_default().push(index);
            }
        }
        for ((_, words), messages) in alike.into_iter().filter(|(_, messages)| messages.len() >= BROADCAST) {
            for &message in &messages {
                sayings[message] = Saying::Elsewhere(words.clone());
            }
            sayings[messages[0]] = Saying::ForAll(words, messages.len());
        }
        sayings
    }

    /// How a message is drawn.
    fn look(&mut self, message: &Message<'_>) -> Look {
        match message.label {
            None => {
                self.has_application_messages = true;
                Look::of_application()
            }
            Some(label) => {
                let next = self.kinds.len();
                Look::of_kind(*self.kinds.entry(shown(&label.kind)).or_insert(next))
            }
        }
    }

    /// How far from one line towards another a message is seen that is not seen in full.
    fn towards(&self, from: f64, to: f64) -> f64 {
        from + (to - from).clamp(-0.6 * self.pitch, 0.6 * self.pitch)
    }

    /// A message that nothing becomes of while the picture lasts.
    fn under_way(&mut self, index: usize, message: &Message<'_>, look: &Look, saying: &Saying) {
        let Some(sent) = message.sent else { return };
        self.has_under_way = true;
        let (along, from, to) = (self.along(sent), self.across(message.from), self.across(message.to));
        let begin = self.at(along, from);
        let end = self.at(along + self.spacing.stub, self.towards(from, to));
        self.places.arrows.push((index, None, begin, end));
        let title = self.say(begin, end, look, saying);
        self.stroke(begin, end, look, " fading", &title);
    }

    /// From where to where an arrow goes, along the time axis and across it.
    fn course(&self, message: &Message<'_>, fate: Fate) -> (Place, Place) {
        let (event, to) = match fate {
            Fate::Received(event) => (event, self.layout.events[event].line),
            Fate::Lost(event) => (event, message.to),
        };
        let (from, to, arrival) = (self.across(message.from), self.across(to), self.along(event));
        let (departure, from) = match message.sent {
            Some(sent) => (self.along(sent), from),
            None => (arrival - self.spacing.stub, self.towards(to, from)),
        };
        match fate {
            Fate::Received(_) => ((departure, from), (arrival, to)),
            // Most of the way, so that it is seen where it was going.
            Fate::Lost(_) => {
                let along = departure + 0.72 * (arrival - departure).max(20.0);
                ((departure, from), (along, from + 0.72 * (to - from)))
            }
        }
    }

    /// The same on the paper.
    fn ends(&self, message: &Message<'_>, fate: Fate) -> (Place, Place) {
        let ((departure, from), (arrival, to)) = self.course(message, fate);
        (self.at(departure, from), self.at(arrival, to))
    }

    fn fate(&mut self, index: usize, message: &Message<'_>, fate: Fate, look: &Look, saying: &Saying) {
        let (Fate::Received(event) | Fate::Lost(event)) = fate;
        let ((departure, from), (arrival, to)) = self.course(message, fate);
        let (begin, end) = self.ends(message, fate);
        self.has_under_way |= message.sent.is_none();
        let fading = if message.sent.is_none() { " fading" } else { "" };
        self.places.arrows.push((index, Some(event), begin, end));
        if matches!(fate, Fate::Lost(_)) {
            self.has_lost = true;
            let title = self.say(begin, end, look, saying);
            self.stroke(begin, end, look, fading, &title);
            let (x, y) = end;
            let cross = format!("M{:.1} {:.1}l10 10m0 -10l-10 10", x - CROSS, y - CROSS);
            let _ = writeln!(self.crosses, r#"<path class="cross" d="{cross}"/>"#);
            return;
        }
        if (from - to).abs() < 1.0 {
            // To itself: over the line and back.
            let [(x, y), (to_x, to_y)] = [begin, end];
            let [(bend_x, bend_y), (back_x, back_y)] = [departure, arrival].map(|along| self.at(along, from - 40.0));
            let arc = format!("M{x:.1} {y:.1}C{bend_x:.1} {bend_y:.1} {back_x:.1} {back_y:.1} {to_x:.1} {to_y:.1}");
            let Look { colour, dashes, .. } = look;
            let _ = writeln!(self.below, r#"<path class="arrow {colour}{dashes}{fading}" d="{arc}"/>"#);
            self.say(self.at(departure, from - 30.0), self.at(arrival, from - 30.0), look, saying);
            return;
        }
        let title = self.say(begin, end, look, saying);
        self.stroke(begin, end, look, fading, &title);
        self.head(begin, end, look, fading);
    }

    fn stroke(&mut self, (x, y): Place, (to_x, to_y): Place, look: &Look, fading: &str, title: &str) {
        let Look { colour, dashes, .. } = look;
        let path = format!(r#"<path class="arrow {colour}{dashes}{fading}" d="M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}""#);
        let _ = match title {
            "" => writeln!(self.below, "{path}/>"),
            title => writeln!(self.below, "{path}><title>{}</title></path>", escape(title)),
        };
        let _ = writeln!(self.below, r#"<circle class="dot {colour}{fading}" cx="{x:.1}" cy="{y:.1}" r="2.6"/>"#);
        self.labels.keep_visible((x, y), (to_x, to_y));
    }

    /// The head of an arrow.
    fn head(&mut self, begin: Place, (x, y): Place, look: &Look, fading: &str) {
        let (dx, dy) = (x - begin.0, y - begin.1);
        let length = (dx * dx + dy * dy).sqrt().max(1.0);
        let (dx, dy) = (dx / length, dy / length);
        let (back_x, back_y) = (x - 11.0 * dx, y - 11.0 * dy);
        let corners = (back_x - 4.5 * dy, back_y + 4.5 * dx, back_x + 4.5 * dy, back_y - 4.5 * dx);
        let (a, b, c, d) = corners;
        let path = match look.head {
            Head::Full | Head::Open => format!("M{x:.1} {y:.1}L{a:.1} {b:.1}L{c:.1} {d:.1}Z"),
            Head::Barbs => format!("M{a:.1} {b:.1}L{x:.1} {y:.1}L{c:.1} {d:.1}"),
        };
        let (colour, head) = (&look.colour, look.head.class());
        let _ = writeln!(self.above, r#"<path class="head {colour}{head}{fading}" d="{path}"/>"#);
    }

    /// Puts the label of an arrow where it is in nobody's way; where there is no such place, gives the words back.
    fn say(&mut self, begin: Place, end: Place, look: &Look, saying: &Saying) -> String {
        if let Saying::Alone(words) = saying {
            match self.labels.on_arrow(begin, end, width(words)) {
                Some(place) => {
                    self.label(place, look, words);
                    return String::new();
                }
                None => self.unsaid += 1,
            }
        }
        saying.words().into()
    }

    fn label(&mut self, (x, y): Place, look: &Look, words: &str) {
        let (colour, words) = (&look.colour, escape(words));
        let _ = writeln!(self.above, r#"<text class="label {colour}" x="{x:.1}" y="{:.1}">{words}</text>"#, y + 4.0);
    }
}
