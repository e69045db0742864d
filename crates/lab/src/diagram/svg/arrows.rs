//! Messages: arrows that end as the messages did, with what they say.

use std::fmt::Write;

use super::labels::width;
use super::style::escape;
use super::{Drawing, KINDS, Place};
use crate::diagram::layout::{Fate, Message};
use crate::diagram::words::shown;

impl Drawing<'_> {
    pub(super) fn arrows(&mut self) {
        for (index, message) in self.layout.messages.iter().enumerate() {
            let look = self.look(message);
            let says = message.label.map_or_else(|| "tells".into(), |label| shown(&label.to_string()));
            if message.fates.is_empty() {
                self.under_way(index, message, &look, &says);
            }
            for (copy, &fate) in message.fates.iter().enumerate() {
                let says = if copy > 0 { format!("{says} again") } else { says.clone() };
                self.fate(index, message, fate, &look, &says);
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

    /// How far from one line towards another a message is seen that is not seen in full.
    fn towards(&self, from: f64, to: f64) -> f64 {
        from + (to - from).clamp(-0.6 * self.pitch, 0.6 * self.pitch)
    }

    /// A message that nothing becomes of while the picture lasts.
    fn under_way(&mut self, index: usize, message: &Message<'_>, look: &str, says: &str) {
        let Some(sent) = message.sent else { return };
        self.has_under_way = true;
        let (along, from, to) = (self.along(sent), self.across(message.from), self.across(message.to));
        let begin = self.at(along, from);
        let end = self.at(along + self.spacing.stub, self.towards(from, to));
        self.places.arrows.push((index, None, begin, end));
        self.stroke(begin, end, &format!("{look} fading"));
        self.say(begin, end, look, &format!("{says} …"));
    }

    fn fate(&mut self, index: usize, message: &Message<'_>, fate: Fate, look: &str, says: &str) {
        let (event, is_lost) = match fate {
            Fate::Received(event) => (event, false),
            Fate::Lost(event) => (event, true),
        };
        let to = self.across(if is_lost { message.to } else { self.layout.events[event].line });
        let from = self.across(message.from);
        let arrival = self.along(event);
        let (departure, from) = match message.sent {
            Some(sent) => (self.along(sent), from),
            None => {
                self.has_under_way = true;
                (arrival - self.spacing.stub, self.towards(to, from))
            }
        };
        let begin = self.at(departure, from);
        let look = if message.sent.is_none() { format!("{look} fading") } else { look.to_string() };
        if is_lost {
            self.has_lost = true;
            // Most of the way, so that it is seen where it was going.
            let end = self.at(departure + 0.72 * (arrival - departure).max(20.0), from + 0.72 * (to - from));
            self.places.arrows.push((index, Some(event), begin, end));
            self.stroke(begin, end, &look);
            let (x, y) = end;
            let cross = format!("M{:.1} {:.1}l10 10m0 -10l-10 10", x - 5.0, y - 5.0);
            let _ = writeln!(self.above, r#"<path class="cross" d="{cross}"/>"#);
            self.say(begin, end, &look, says);
            return;
        }
        let end = self.at(arrival, to);
        self.places.arrows.push((index, Some(event), begin, end));
        if (from - to).abs() < 1.0 {
            // To itself: over the line and back.
            let [(x, y), (to_x, to_y)] = [begin, end];
            let [(bend_x, bend_y), (back_x, back_y)] = [departure, arrival].map(|along| self.at(along, from - 40.0));
            let arc = format!("M{x:.1} {y:.1}C{bend_x:.1} {bend_y:.1} {back_x:.1} {back_y:.1} {to_x:.1} {to_y:.1}");
            let _ = writeln!(self.below, r#"<path class="arrow {look}" d="{arc}"/>"#);
            self.say(self.at(departure, from - 30.0), self.at(arrival, from - 30.0), &look, says);
            return;
        }
        self.stroke(begin, end, &look);
        self.head(begin, end, &look);
        self.say(begin, end, &look, says);
    }

    fn stroke(&mut self, (x, y): Place, (to_x, to_y): Place, look: &str) {
        let _ = writeln!(self.below, r#"<path class="arrow {look}" d="M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}"/>"#);
        let _ = writeln!(self.below, r#"<circle class="dot {look}" cx="{x:.1}" cy="{y:.1}" r="2.6"/>"#);
        self.labels.keep_visible((x, y), (to_x, to_y));
    }

    /// The head of an arrow.
    fn head(&mut self, begin: Place, (x, y): Place, look: &str) {
        let (dx, dy) = (x - begin.0, y - begin.1);
        let length = (dx * dx + dy * dy).sqrt().max(1.0);
        let (dx, dy) = (dx / length, dy / length);
        let (back_x, back_y) = (x - 11.0 * dx, y - 11.0 * dy);
        let corners = (back_x - 4.5 * dy, back_y + 4.5 * dx, back_x + 4.5 * dy, back_y - 4.5 * dx);
        let (a, b, c, d) = corners;
        let _ = writeln!(self.above, r#"<path class="head {look}" d="M{x:.1} {y:.1}L{a:.1} {b:.1}L{c:.1} {d:.1}Z"/>"#);
    }

    /// Puts the label of an arrow where it is in nobody's way.
    fn say(&mut self, begin: Place, end: Place, look: &str, says: &str) {
        let (x, y) = self.labels.on_arrow(begin, end, width(says));
        let says = escape(says);
        let _ = writeln!(self.above, r#"<text class="label {look}" x="{x:.1}" y="{:.1}">{says}</text>"#, y + 4.0);
    }
}
