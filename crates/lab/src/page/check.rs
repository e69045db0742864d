//! Every run, with progress while it goes on, as server-sent events: `progress`, and in the end `found` or `refused`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::Refusal;
use super::limits::{Limits, Place, Places};
use super::query::Words;
use crate::claims::command_line;
use crate::command::check::{self, Arguments};
use crate::explore::{Exploration, Findings, Progress, Verdict};
use crate::subject::{Named, Subject};

/// Progress is told so often.
const TOLD_EVERY: Duration = Duration::from_millis(200);

/// What was asked.
pub(super) struct Asked {
    named: Named,
    arguments: Arguments,
    exploration: Exploration,
}

impl Asked {
    pub(super) fn new(words: &Words, limits: &Limits) -> Result<Asked, Refusal> {
        let named = words.algorithm()?;
        let arguments = words.check(limits)?;
        let exploration = Exploration {
            max_states: limits.states,
            max_bytes: limits.bytes,
            threads: limits.threads,
            ..arguments.exploration()
        };
        Ok(Asked { named, arguments, exploration })
    }

    fn answer(&self, told: &UnboundedSender<Event>) {
        let mut last: Option<Instant> = None;
        let mut tell = |progress: Progress| {
            // Whoever has left needs no answer.
            progress.enough.set(told.is_closed());
            if last.is_none_or(|last| last.elapsed() >= TOLD_EVERY) {
                last = Some(Instant::now());
                let Progress { states, depth, frontier, seconds, .. } = progress;
                let told_of = json!({ "states": states, "depth": depth, "frontier": frontier, "seconds": seconds });
                let _ = told.send(event("progress", &told_of));
            }
        };
        let last = match self.named.explore(&self.exploration, &mut tell) {
            Ok(findings) => event("found", &self.found(&findings)),
            Err(why) => event("refused", &json!({ "error": why.to_string() })),
        };
        let _ = told.send(last);
    }

    fn found(&self, findings: &Findings) -> Value {
        let view = self.arguments.view.view();
        let verdicts = findings.verdicts.iter().map(|(goal, verdict)| {
            let promised = findings.promised.contains(goal);
            let name = goal.to_string();
            match verdict {
                Verdict::Holds => json!({ "goal": name, "promised": promised, "verdict": "holds" }),
                Verdict::Undecided(why) => {
                    json!({ "goal": name, "promised": promised, "verdict": "undecided", "why": why })
                }
                Verdict::Violated(found) => json!({
                    "goal": name,
                    "promised": promised,
                    "verdict": "violated",
                    "why": found.why,
                    "steps": found.steps.len(),
                    "repeats_from": found.repeats_from,
                    "picture": check::picture(findings, *goal, found).stepped(&view),
                }),
            }
        });
        json!({
            "command": command_line::check(findings.algorithm, &self.arguments.exploration()),
            "algorithm": findings.algorithm,
            "bounds": findings.bounds,
            "without_effect": self.arguments.without_effect(self.named.entry()),
            "broken_assumptions": findings.broken_assumptions,
            "states": findings.states,
            "transitions": findings.transitions,
            "depth": findings.depth,
            "complete": findings.complete,
            "seconds": findings.seconds,
            "verdicts": verdicts.collect::<Vec<_>>(),
        })
    }
}

/// Explores on a thread of its own, and tells what comes of it.
pub(super) fn stream(asked: Asked, place: Place, places: Arc<Places>) -> Response {
    let (told, heard) = unbounded_channel();
    tokio::spawn(async move {
        let turn = places.turn().await;
        let _ = tokio::task::spawn_blocking(move || {
            if !told.is_closed() {
                asked.answer(&told);
            }
            drop((place, turn));
        })
        .await;
    });
    let events = stream::unfold(heard, |mut heard| async move {
        let event = heard.recv().await?;
        Some((Ok::<_, Infallible>(event), heard))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

fn event(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}
