//! A run as one HTML file that needs nothing else: the drawing, with controls to step through it.
//!
//! The style and the script are written beside this file and put into it; they are the same for every run, and the
//! policy of the page names their hashes, so that nothing else runs and nothing is fetched. What comes from a run is
//! text: escaped in the drawing, and in a block of JSON from which the script makes text and never markup.

use std::collections::BTreeSet;
use std::fmt::Write;

use quorate_core::id::Id;
use quorate_core::trace::{Opinion, What};
use quorate_web::LOOK;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

#[cfg(feature = "page")]
use super::MOST_STEPPED;
use super::layout::Layout;
use super::phases::Phase;
use super::svg::{Drawn, Places, class, escape, style_sheet};
use super::view::View;
use super::words::visible;
use crate::conversation::with_subject;
use crate::markup::hash;

const PAGE: &str = include_str!("page.html");
/// The style of a run that can be stepped through.
pub const VIEWER_STYLE: &str = include_str!("viewer.css");
/// The module that makes a drawing a run that can be stepped through: it exports `mountViewer(root, run)`.
pub const VIEWER: &str = include_str!("viewer.js");
const START: &str = include_str!("start.js");

/// The page of a drawing.
pub(super) fn page(layout: &Layout<'_>, drawn: &Drawn, view: &View, title: &str) -> String {
    let style = format!("{LOOK}{VIEWER_STYLE}");
    let script = format!("{VIEWER}{START}");
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}' '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style),
        hash(&style_sheet(view)),
    );
    let (before, after) = layout.notes();
    let notes = before.into_iter().chain(after).fold(String::new(), |mut notes, note| {
        let _ = writeln!(notes, r#"<p class="q-note">{}.</p>"#, escape(&note));
        notes
    });
    let command = view.command.as_ref().map(|command| command.chars().map(visible).collect::<String>());
    let notes = match command {
        Some(command) => format!("<p class=\"q-note\"><code>{}</code></p>\n{notes}", escape(&command)),
        None => notes,
    };
    let title = escape(title);
    let data = data(layout, &drawn.places, view);
    let parts = [
        ("policy", &policy),
        ("title", &title),
        ("style", &style),
        ("notes", &notes),
        ("drawing", &drawn.svg),
        ("data", &data),
        ("script", &script),
    ];
    filled(PAGE, &parts)
}

/// What a page with a viewer of its own needs of a drawing.
#[cfg(feature = "page")]
pub(super) fn stepped(layout: &Layout<'_>, drawn: &Drawn, view: &View, why_empty: Option<String>) -> Value {
    let (before, after) = layout.notes();
    let notes: Vec<String> = why_empty.into_iter().chain(before).chain(after).collect();
    let records: Vec<usize> = Steps::new(layout).events.iter().map(|events| layout.left_out.0 + events[0]).collect();
    json!({
        "svg": drawn.svg,
        "run": run(layout, &drawn.places, view),
        "records": records,
        "left_out": [layout.left_out.0, layout.left_out.1],
        "is_full": layout.events.len() >= MOST_STEPPED,
        "notes": notes,
    })
}

/// The hashes of the styles that drawings bring along, for the policy of a page that shows some.
#[cfg(feature = "page")]
pub(crate) fn hashes_of_drawings() -> [String; 2] {
    [false, true].map(|down| hash(&style_sheet(&View { down, ..View::default() })))
}

/// What the viewer needs to know of a run, as JSON that can stand in a script element.
pub(super) fn data(layout: &Layout<'_>, places: &Places, view: &View) -> String {
    let value = run(layout, places, view).to_string();
    // Within JSON these occur in strings alone, and there they may be written like this.
    value.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Puts each part into its place, once through the page: what a part contains is not looked at.
fn filled(page: &str, parts: &[(&str, &String)]) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("every place has an end");
        let (_, part) = parts.iter().find(|(known, _)| *known == name).expect("every place has its part");
        text += before;
        text += part;
        rest = after;
    }
    text + rest
}

/// Where everything is, and what happens at each step.
fn run(layout: &Layout<'_>, places: &Places, view: &View) -> Value {
    let steps = Steps::new(layout);
    let tenth = |place: f64| (place * 10.0).round() / 10.0;
    let along = |event: usize| if view.down { places.events[event].1 } else { places.events[event].0 };
    let minds = minds(layout);
    let lines = layout.lines.iter().zip(&places.lines).zip(&minds);
    let lines = lines
        .map(|((id, &across), (phase, mind))| json!([id.to_string(), tenth(across), class(*phase), mind.note(*phase)]));
    let lines: Vec<Value> = lines.collect();
    let mut present = f64::MIN;
    let told = steps.events.iter().map(|events| {
        let first = &layout.events[events[0]];
        present = present.max(along(events[0]));
        let words: Vec<String> = events.iter().map(|&event| words(layout, event)).collect();
        let is_notable = events
            .iter()
            .any(|&event| is_notable(layout.events[event].record.process, &layout.events[event].record.what));
        json!([
            tenth(along(events[0])),
            first.line,
            view.unit.text(layout.moments[first.moment].at),
            words,
            u8::from(is_notable),
            tenth(present)
        ])
    });
    let told: Vec<Value> = told.collect();
    let step_of = |event: Option<usize>| event.map_or(-1, |event| steps.of[event] as i64);
    let arrows = places.arrows.iter().map(|&(message, end, (x, y), (to_x, to_y))| {
        let sent = step_of(layout.messages[message].sent);
        json!([tenth(x), tenth(y), tenth(to_x), tenth(to_y), sent, step_of(end)])
    });
    let arrows: Vec<Value> = arrows.collect();
    let marks = layout.flags.iter().filter(|_| !told.is_empty()).map(|flag| {
        let text: String = flag.mark.text.chars().map(visible).collect();
        json!([flag.event.map_or(0, |event| steps.of[event]), text])
    });
    let marks: Vec<Value> = marks.collect();
    json!({
        "unit": view.unit.name(),
        "down": view.down,
        "size": [places.size.0, places.size.1],
        "axis": [tenth(places.axis.0), tenth(places.axis.1)],
        "across": [tenth(places.across.0), tenth(places.across.1)],
        "lines": lines,
        "steps": told,
        "changes": changes(layout, &steps, minds),
        "arrows": arrows,
        "marks": marks,
    })
}

/// The steps of a run: an input of a process, and what came of it.
struct Steps {
    /// The events of each, in order.
    events: Vec<Vec<usize>>,
    /// Which step an event is part of.
    of: Vec<usize>,
}

impl Steps {
    fn new(layout: &Layout<'_>) -> Steps {
        let mut places: FxHashMap<usize, usize> = FxHashMap::default();
        let mut steps = Steps { events: Vec::new(), of: Vec::with_capacity(layout.events.len()) };
        for (index, event) in layout.events.iter().enumerate() {
            let place = *places.entry(event.step).or_insert_with(|| {
                steps.events.push(Vec::new());
                steps.events.len() - 1
            });
            steps.events[place].push(index);
            steps.of.push(place);
        }
        steps
    }
}

/// What happened, as a sentence.
fn words(layout: &Layout<'_>, event: usize) -> String {
    let record = layout.events[event].record;
    with_subject(record.process, &record.what).chars().map(visible).collect()
}

/// Whether one would want to go there at once.
fn is_notable(process: Id, what: &What) -> bool {
    match what {
        What::Entered { .. } | What::Crashed | What::Stopped | What::Restarted { .. } | What::Unexpected { .. } => true,
        What::Leader { leader } => *leader == process,
        _ => false,
    }
}

/// What each process is doing and thinks when the picture begins.
fn minds(layout: &Layout<'_>) -> Vec<(Phase, Mind)> {
    let mut minds: Vec<_> = layout.initial.iter().map(|&phase| (phase, Mind::default())).collect();
    for record in layout.earlier {
        if let Ok(line) = layout.lines.binary_search(&record.process) {
            minds[line].1.see(&record.what);
        }
    }
    minds
}

/// When a process does something else: the step, the line, the phase, and more about it.
fn changes(layout: &Layout<'_>, steps: &Steps, mut minds: Vec<(Phase, Mind)>) -> Vec<Value> {
    let mut changes: Vec<(usize, usize, &str, String)> = Vec::new();
    // Steps are in order, and of a step only what is true after it.
    for (step, events) in steps.events.iter().enumerate() {
        let line = layout.events[events[0]].line;
        let (phase, mind) = &mut minds[line];
        let before = (*phase, mind.note(*phase));
        for &event in events {
            mind.see(&layout.events[event].record.what);
            *phase = layout.events[event].phase;
        }
        let after = (*phase, mind.note(*phase));
        if before != after {
            changes.push((step, line, class(after.0), after.1));
        }
    }
    changes.into_iter().map(|(step, line, phase, note)| json!([step, line, phase, note])).collect()
}

/// What a process holds and thinks, as far as records say.
#[derive(Default)]
struct Mind {
    fence: Option<String>,
    leader: Option<Id>,
    suspects: BTreeSet<Id>,
}

impl Mind {
    fn see(&mut self, what: &What) {
        match what {
            What::Entered { fence } => self.fence = Some(fence.to_string()),
            What::Leader { leader } => self.leader = Some(*leader),
            What::Opinion { of, opinion: Opinion::Suspected | Opinion::Failed } | What::Told { of, alive: false } => {
                self.suspects.insert(*of);
            }
            What::Opinion { of, opinion: Opinion::Unsuspected } | What::Told { of, alive: true } => {
                self.suspects.remove(of);
            }
            What::Crashed | What::Stopped | What::Restarted { .. } => *self = Mind::default(),
            _ => {}
        }
    }

    fn note(&self, phase: Phase) -> String {
        let mut parts = Vec::new();
        match (phase, &self.fence, self.leader) {
            (Phase::Inside | Phase::PausedInside, Some(fence), _) => parts.push(format!("fence {fence}")),
            (Phase::Leading | Phase::Crashed | Phase::Stopped, ..) | (.., None) => {}
            (.., Some(leader)) => parts.push(format!("follows {leader}")),
        }
        if !self.suspects.is_empty() {
            let names: Vec<String> = self.suspects.iter().map(Id::to_string).collect();
            parts.push(format!("suspects {}", names.join(", ")));
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::svg::COLOURS;
    use super::*;

    /// The value of a variable in a style sheet.
    fn value<'s>(style: &'s str, name: &str) -> Option<&'s str> {
        let (_, rest) = style.split_once(&format!("--{name}: "))?;
        rest.split(';').next()
    }

    #[test]
    fn pages_have_the_colours_of_the_drawings() {
        let (light, dark) = LOOK.split_once("prefers-color-scheme: dark").unwrap();
        for (name, paper, screen) in COLOURS {
            let name = name.trim_start_matches('$');
            assert_eq!((value(light, name), value(dark, name)), (Some(paper), Some(screen)), "{name}");
        }
    }

    #[test]
    fn a_part_is_put_into_its_place_and_not_looked_at() {
        let (one, two) = ("{{two}}".to_string(), "2".to_string());
        assert_eq!(filled("a {{one}} b {{two}}.", &[("one", &one), ("two", &two)]), "a {{two}} b 2.");
    }

    #[test]
    fn what_a_process_thinks_is_noted() {
        let mut mind = Mind::default();
        mind.see(&What::Leader { leader: Id::new(3) });
        mind.see(&What::Told { of: Id::new(2), alive: false });
        assert_eq!(mind.note(Phase::Idle), "follows p3, suspects p2");
        assert_eq!(mind.note(Phase::Leading), "suspects p2");
        mind.see(&What::Crashed);
        assert_eq!(mind.note(Phase::Crashed), "");
    }
}
