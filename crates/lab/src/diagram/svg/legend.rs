//! What explains a drawing: samples of what occurs in it, and what was left out.

use std::fmt::Write;

use quorate_core::trace::What;

use super::labels::width;
use super::style::{Head, Look, escape};
use super::{Drawing, FEW, class};
use crate::diagram::phases::Phase;
use crate::diagram::view::{Clocks, Unit};

impl Drawing<'_> {
    /// The legend below the drawing, as wide as the paper, and where it ends.
    pub(super) fn legend(&self, entries: Vec<(String, String)>, full: f64, bottom: f64) -> (String, f64) {
        let (mut x, mut y) = (24.0, bottom + 26.0);
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
        let (before, mut after) = self.layout.notes();
        if self.unsaid > 0 {
            let count = if self.unsaid == 1 { "1 arrow".into() } else { format!("{} arrows", self.unsaid) };
            let elsewhere =
                if self.layout.is_stepped { "the events of a step name them" } else { "an .html diagram names them" };
            after.push(format!("for lack of room, {count} have no label; {elsewhere}"));
        }
        if self.unsaid_clocks > 0 {
            let count = self.unsaid_clocks;
            let clocks = if count == 1 { "1 clock value is".into() } else { format!("{count} clock values are") };
            after.push(format!("for lack of room, {clocks} left out"));
        }
        for note in before.into_iter().chain(after) {
            y += 24.0;
            let _ = writeln!(legend, r#"<text class="legend" x="24" y="{y:.1}">{}.</text>"#, escape(&note));
        }
        (legend, y + 22.0)
    }

    /// Samples of what occurs, and what each means.
    pub(super) fn legend_entries(&mut self) -> Vec<(String, String)> {
        let mut entries = Vec::new();
        self.phases.sort_unstable();
        self.phases.dedup();
        for &phase in &self.phases {
            let class = class(phase);
            let sample = match phase {
                Phase::Crashed | Phase::Stopped => format!(r#"<path class="{class}" d="M0 0h34"/>"#),
                Phase::Inside | Phase::PausedInside | Phase::Leading => {
                    format!(r#"<rect class="{class}" y="-8" width="34" height="16"/>"#)
                }
                _ => format!(r#"<rect class="{class}" y="-4" width="34" height="8"/>"#),
            };
            entries.push((sample, phase.meaning().to_string()));
        }
        if !self.layout.suspected.is_empty() {
            let sample = r#"<path class="suspected" d="M0 0h34"/>"#;
            entries.push((sample.into(), "suspected by others".into()));
        }
        let mut kinds: Vec<_> = self.kinds.iter().map(|(kind, &order)| (order, kind)).collect();
        kinds.sort_unstable();
        entries.extend(kinds.into_iter().map(|(order, kind)| (arrow(&Look::of_kind(order)), kind.clone())));
        if self.has_application_messages {
            entries.push((arrow(&Look::of_application()), "application message".into()));
        }
        if self.has_lost {
            let sample = r#"<path class="arrow k0" d="M0 0H26"/><path class="cross" d="M21 -5l10 10m0 -10l-10 10"/>"#;
            entries.push((sample.into(), "lost".into()));
        }
        if self.has_under_way {
            let sample = r#"<path class="arrow k0 fading" d="M0 0H34"/>"#;
            entries.push((sample.into(), "other end outside this picture".into()));
        }
        let has = |is: fn(&What) -> bool| self.layout.events.iter().any(|event| is(&event.record.what));
        if has(|what| matches!(what, What::TimedOut { .. })) {
            entries.push((r#"<path class="timer" d="M17 -6l6 6l-6 6l-6 -6Z"/>"#.into(), "timer expires".into()));
        }
        if has(|what| matches!(what, What::Unexpected { .. })) {
            entries.push((r#"<path class="timer" d="M17 -7l7 12h-14Z"/>"#.into(), "unexpected input, ignored".into()));
        }
        if !self.folds.is_empty() {
            let sample = r#"<path class="line" d="M0 0H13M21 0H34"/><path class="tick" d="M9 10l8 -20m0 20l8 -20"/>"#;
            entries.push((sample.into(), "stretch without events, cut out".into()));
        }
        if self.view.unit != Unit::Steps && self.layout.moments.len() > 2 {
            let sample = r#"<path class="scale" d="M1 -7v14M8 -7v14M33 -7v14M1 0H33"/>"#;
            entries.push((sample.into(), "time is not to scale".into()));
        }
        if let Some(clocks) = self.view.clocks {
            let (sample, words) = match clocks {
                Clocks::Lamport => ("7", "Lamport clock"),
                Clocks::Vector if self.layout.lines.len() > FEW => {
                    ("(p2:1 …)", "vector clock: own entry first, then the number of entries not shown")
                }
                Clocks::Vector => ("(2,1)", "vector clock"),
            };
            entries.push((format!(r#"<text class="clock" x="16" y="4">{sample}</text>"#), words.into()));
        }
        entries
    }
}

/// The sample of an arrow.
fn arrow(look: &Look) -> String {
    let Look { colour, dashes, head } = look;
    let path = match head {
        Head::Full | Head::Open => "M36 0l-11 -4.5v9Z",
        Head::Barbs => "M25 -4.5L36 0L25 4.5",
    };
    let class = head.class();
    format!(r#"<path class="arrow {colour}{dashes}" d="M0 0H34"/><path class="head {colour}{class}" d="{path}"/>"#)
}
