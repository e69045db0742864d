//! Work that goes on for a while, told as server-sent events: `progress` now and then, and in the end what came of it.
//!
//! A refusal that comes first is an answer with its status; one that comes later is an event, `refused`.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::Refusal;
use super::limits::Place;
use super::turns::Length;

/// Progress is told so often.
const TOLD_EVERY: Duration = Duration::from_millis(200);

type Told = Result<(&'static str, Value), Refusal>;

/// Tells a visitor what comes of something.
pub(super) struct Teller {
    told: UnboundedSender<Told>,
    last: Option<Instant>,
}

impl Teller {
    /// Whoever has left needs no answer.
    pub(super) fn has_left(&self) -> bool {
        self.told.is_closed()
    }

    /// Tells how far it is, unless that was told just now.
    pub(super) fn progress(&mut self, how_far: impl FnOnce() -> Value) {
        if self.last.is_none_or(|last| last.elapsed() >= TOLD_EVERY) {
            self.last = Some(Instant::now());
            let _ = self.told.send(Ok(("progress", how_far())));
        }
    }
}

/// Works on a thread of its own, as soon as there is a core for it, and tells of it; the end of it has this name.
pub(super) async fn stream(
    name: &'static str,
    place: Place,
    length: Length,
    work: impl FnOnce(&mut Teller) -> Result<Value, Refusal> + Send + 'static,
) -> Result<Response, Refusal> {
    let (told, mut heard) = unbounded_channel();
    tokio::spawn(async move {
        let turn = tokio::select! {
            turn = place.turn(length) => turn,
            // Whoever has left needs no turn.
            () = told.closed() => return,
        };
        let _ = tokio::task::spawn_blocking(move || {
            let mut teller = Teller { told, last: None };
            if !teller.has_left() {
                let end = work(&mut teller);
                let _ = teller.told.send(end.map(|value| (name, value)));
            }
            drop((place, turn));
        })
        .await;
    });
    let first = heard.recv().await.ok_or(Refusal::Broken)??;
    let later = stream::unfold(heard, |mut heard| async move { Some((heard.recv().await?, heard)) });
    let events = stream::iter([Ok(first)]).chain(later).map(|told| {
        let (name, value) = told.unwrap_or_else(|refusal| ("refused", json!({ "error": refusal.to_string() })));
        Ok::<_, Infallible>(Event::default().event(name).data(value.to_string()))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}
