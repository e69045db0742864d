//! What happens at a place of a line: signs and words, clocks, and flags where something is to be pointed at.

use std::fmt::Write;

use quorate_core::trace::What;

use super::labels::{bold_width, width};
use super::style::escape;
use super::{BAND, Drawing};
use crate::diagram::words::{brief, visible};

impl Drawing<'_> {
    /// What happens besides messages.
    pub(super) fn points(&mut self) {
        for (index, event) in self.layout.events.iter().enumerate() {
            let Some(words) = brief(event.record) else { continue };
            let (x, y) = self.place(index);
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
                _ if self.view.down => {
                    format!(r#"<path class="tick" d="M{:.1} {y:.1}h{:.1}"/>"#, x - BAND, 2.0 * BAND)
                }
                _ => format!(r#"<path class="tick" d="M{x:.1} {:.1}v{:.1}"/>"#, y - BAND, 2.0 * BAND),
            };
            let _ = writeln!(self.above, "{sign}");
            let strong = match event.record.what {
                What::Entered { .. } | What::Crashed | What::Stopped => " strong",
                What::Leader { leader } if leader == event.record.process => " strong",
                _ => "",
            };
            let room = if strong.is_empty() { width(&words) } else { bold_width(&words) };
            let (x, y) = self.labels.beside((x, y), BAND, room);
            let words = escape(&words);
            let _ = writeln!(self.above, r#"<text class="point{strong}" x="{x:.1}" y="{:.1}">{words}</text>"#, y + 4.0);
        }
    }

    /// What the clock of a process shows, once at each of its steps.
    pub(super) fn clocks(&mut self, readings: &[String]) {
        let mut last = None;
        for (index, (event, reading)) in self.layout.events.iter().zip(readings).enumerate() {
            if reading.is_empty() || last == Some(event.step) {
                continue;
            }
            last = Some(event.step);
            let place = self.labels.beside_if_free(self.place(index), BAND, width(reading));
            let Some((x, y)) = place else {
                self.unsaid_clocks += 1;
                continue;
            };
            let reading = escape(reading);
            let _ = writeln!(self.above, r#"<text class="clock" x="{x:.1}" y="{:.1}">{reading}</text>"#, y + 4.0);
        }
    }

    /// What is pointed at: a ring at each place, and a flag that says why, but for what another has said.
    pub(super) fn flags(&mut self) {
        let mut free_from = 0.0;
        // Where time runs downwards, beside all that is written.
        let side = self.far().max(self.labels.right) + 8.0;
        for (place, flag) in self.layout.flags_with_words().enumerate() {
            let along = flag.event.map_or(self.begin, |event| self.along(event));
            let text = flag.mark.text.chars().map(visible).collect::<String>();
            let length = bold_width(&text) + 16.0;
            let far = self.far();
            // The flag flies to the side where there is room for it.
            let (pole, begin, y) = if self.view.down {
                let y = f64::max(along - 10.0, free_from);
                free_from = y + 24.0;
                (format!("M{side:.1} {along:.1}H{:.1}", self.edge), side, y)
            } else {
                let y = self.edge - 54.0 - 24.0 * (place % 6) as f64;
                let fits = along + length <= self.end;
                let begin = if fits { along } else { (self.end - length).max(8.0).min(along) };
                (format!("M{along:.1} {y:.1}V{far:.1}"), begin, y)
            };
            let _ = writeln!(self.lowest, r#"<path class="pole" d="{pole}"/>"#);
            let _ = writeln!(
                self.above,
                r#"<rect class="flag" x="{begin:.1}" y="{y:.1}" width="{length:.1}" height="20" rx="3"/>"#
            );
            let (text_x, text_y) = (begin + 8.0, y + 14.5);
            let text = escape(&text);
            let _ = writeln!(self.above, r#"<text class="flagged" x="{text_x:.1}" y="{text_y:.1}">{text}</text>"#);
        }
        self.rings();
    }

    fn rings(&mut self) {
        for flag in &self.layout.flags {
            let Some(line) = flag.line else { continue };
            let along = flag.event.map_or(self.begin, |event| self.along(event));
            let (x, y) = self.at(along, self.across(line));
            let _ = writeln!(self.above, r#"<circle class="ring" cx="{x:.1}" cy="{y:.1}" r="15"/>"#);
        }
    }
}
