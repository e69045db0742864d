//! What lies below the messages: times, the lines of the processes, and along these in which phase they are.

use std::fmt::Write;

use super::labels::width;
use super::{BAND, Drawing, class};
use crate::diagram::phases::Phase;

impl Drawing<'_> {
    /// Times, and the lines of the processes.
    pub(super) fn axis(&mut self) {
        let (edge, far) = (self.edge - 8.0, self.far());
        let mut free_from = 0.0;
        let mut last = String::new();
        for (index, moment) in self.layout.moments.iter().enumerate() {
            let along = self.moments[index];
            let time = self.view.unit.text(moment.at);
            let ((x, y), across) = (self.at(along, edge), self.stroke_to(false, far));
            let _ = writeln!(self.below, r#"<path class="guide" d="M{x:.1} {y:.1}{across}"/>"#);
            let half = if self.view.down { 7.0 } else { width(&time) / 2.0 };
            // Two moments can be closer together than what is shown of their times.
            if along - half >= free_from && time != last {
                let (class, x, y) = if self.view.down { ("time end", x - 6.0, y + 4.0) } else { ("time", x, y - 6.0) };
                let middle = if self.view.down { x - width(&time) / 2.0 } else { x };
                self.labels.keep_readable((middle, y - 4.0), width(&time));
                let _ = writeln!(self.below, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{time}</text>"#);
                free_from = along + half + if self.view.down { 0.0 } else { 8.0 };
                last = time;
            }
        }
        let axis = self.view.unit.axis();
        let ((x, y), arrow) =
            if self.view.down { ((edge - 6.0, self.end), "↓") } else { ((self.end, edge - 6.0), "→") };
        let _ = writeln!(self.below, r#"<text class="time end" x="{x:.1}" y="{y:.1}">{axis} {arrow}</text>"#);
        for (line, id) in self.layout.lines.iter().enumerate() {
            let across = self.across(line);
            let ((x, y), along) = (self.at(self.begin, across), self.stroke_to(true, self.end));
            let _ = writeln!(self.below, r#"<path class="line" d="M{x:.1} {y:.1}{along}"/>"#);
            let (class, x, y) = if self.view.down { ("name top", x, y - 12.0) } else { ("name", x - 10.0, y + 5.0) };
            let _ = writeln!(self.below, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{id}</text>"#);
        }
        self.cuts();
    }

    /// Where something was folded: a gap in all lines, and how long it was.
    fn cuts(&mut self) {
        for &index in &self.folds {
            let [before, after] = [&self.layout.moments[index - 1], &self.layout.moments[index]];
            let middle = self.moments[index] - self.spacing.least_gap;
            // Who wants to know exactly reads the times at both sides.
            let text = self.view.unit.about(after.at.saturating_sub(before.at));
            for line in 0..self.layout.lines.len() {
                let across = self.across(line);
                let [(x, y), (to_x, to_y)] = [self.at(middle - 4.0, across), self.at(middle + 4.0, across)];
                let _ = writeln!(self.above, r#"<path class="cut" d="M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}"/>"#);
                for side in [-4.0, 4.0] {
                    let (x, y) = self.at(middle + side, across);
                    let tick = if self.view.down { "l-12 4m12 -4l12 -4" } else { "l-4 12m4 -12l4 -12" };
                    let _ = writeln!(self.above, r#"<path class="tick" d="M{x:.1} {y:.1}{tick}"/>"#);
                }
            }
            let (x, y) = self.at(middle, self.edge + 6.0);
            let _ = writeln!(self.above, r#"<text class="time" x="{x:.1}" y="{y:.1}">{text}</text>"#);
        }
    }

    /// In which phase each process is, and when.
    pub(super) fn bands(&mut self) {
        for band in self.layout.bands() {
            let from = band.from.map_or(self.begin, |event| self.along(event));
            let to = band.to.map_or(self.end, |event| self.along(event));
            let (across, phase) = (self.across(band.line), class(band.phase));
            let (high, across) = match band.phase {
                Phase::Inside | Phase::PausedInside | Phase::Leading => (2.0 * BAND, across - BAND),
                _ => (BAND, across - BAND / 2.0),
            };
            let length = (to - from).max(3.0);
            if matches!(band.phase, Phase::Crashed | Phase::Stopped) {
                // The line itself is gone, and dots are left of it.
                let (x, y) = self.at(from, across + BAND / 2.0);
                let letter = if self.view.down { 'v' } else { 'h' };
                let _ = writeln!(self.below, r#"<path class="cut" d="M{x:.1} {y:.1}{letter}{length:.1}"/>"#);
                let _ = writeln!(self.below, r#"<path class="{phase}" d="M{x:.1} {y:.1}{letter}{length:.1}"/>"#);
            } else {
                let ((x, y), (width, height)) = (self.at(from, across), self.at(length, high));
                let place = format!(r#"x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}""#);
                let _ = writeln!(self.below, r#"<rect class="back" {place}/><rect class="{phase}" {place}/>"#);
            }
            self.phases.push(band.phase);
        }
    }

    /// Beside the line of whoever is taken for dead, a line of dashes for as long as somebody thinks so.
    pub(super) fn suspicions(&mut self) {
        for suspected in &self.layout.suspected {
            let from = suspected.from.map_or(self.begin, |event| self.along(event));
            let to = suspected.to.map_or(self.end, |event| self.along(event));
            let (x, y) = self.at(from, self.across(suspected.line) - BAND - 3.0);
            let (letter, length) = (if self.view.down { 'v' } else { 'h' }, (to - from).max(3.0));
            let _ = writeln!(self.below, r#"<path class="suspected" d="M{x:.1} {y:.1}{letter}{length:.1}"/>"#);
        }
    }
}
