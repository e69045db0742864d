//! What happens, as it happens: server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event as Sent, KeepAlive, KeepAliveStream, Sse};
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::elections::shown;
use super::path::Path;
use super::{Api, Failure, election_name, soon};
use crate::engine::Engine;
use crate::machine::{Departure, Event, Kind, Name};
use crate::service::{Occurrence, ServiceError, Told};

type Events = Pin<Box<dyn Stream<Item = Result<Sent, Infallible>> + Send>>;

fn kept_alive(stream: Events) -> Sse<KeepAliveStream<Events>> {
    Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}

/// Ends when who listens may not do so any more.
fn while_welcome<E: Engine>(
    api: Api<E>,
    stream: impl Stream<Item = Result<Sent, Infallible>> + Send + 'static,
) -> Events {
    Box::pin(stream.take_until(Box::pin(async move { api.service.turned_away().await })))
}

/// Everything that happens to sessions, locks and elections. The first event says how far this node is: who has seen
/// that much before has missed nothing.
pub(super) async fn all<E: Engine>(api: Api<E>) -> Result<Sse<KeepAliveStream<Events>>, Failure> {
    let (watch, index) = (api.service.reader()?.watch(), api.service.reader()?.index());
    let connected = named("connected", &json!({ "index": index })).id(index.to_string());
    let stream = stream::unfold((watch, vec![connected]), |(mut watch, mut ready)| async move {
        while ready.is_empty() {
            ready = match watch.recv().await {
                Ok(Told::Happened(occurrences)) => occurrences.iter().rev().map(sent).collect(),
                Ok(Told::Missed) | Err(RecvError::Lagged(_)) => vec![named("missed", &json!({}))],
                Err(RecvError::Closed) => return None,
            };
        }
        ready.pop().map(|event| (Ok(event), (watch, ready)))
    });
    Ok(kept_alive(while_welcome(api, stream)))
}

/// The leader of an election: now, and whenever it changes or says something else. Nobody is told as nobody.
pub(super) async fn observe<E: Engine>(
    api: Api<E>,
    Path(name): Path<String>,
) -> Result<Sse<KeepAliveStream<Events>>, Failure> {
    let name = election_name(name)?;
    let service = Arc::clone(api.service.reader()?);
    if !service.knows_all() {
        return Err(ServiceError::LedElsewhere.into());
    }
    let watch = service.watch();
    service.catch_up(soon()).await?;
    let stream = stream::unfold((watch, None::<Value>), move |(mut watch, last)| {
        let (service, name) = (Arc::clone(&service), name.clone());
        async move {
            loop {
                let now = service.look(|machine| json!({ "leader": shown(machine, &name).leader }));
                if last.as_ref() != Some(&now) {
                    return Some((Ok(named("leader", &now)), (watch, Some(now))));
                }
                loop {
                    match watch.recv().await {
                        Ok(Told::Happened(occurrences)) if !occurrences.iter().any(|one| concerns(one, &name)) => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => break,
                        Err(RecvError::Closed) => return None,
                    }
                }
            }
        }
    });
    Ok(kept_alive(while_welcome(api, stream)))
}

fn concerns(occurrence: &Occurrence, election: &Name) -> bool {
    match &occurrence.event {
        Event::Granted { name, .. }
        | Event::Lost { name, .. }
        | Event::Vacant { name }
        | Event::Proclaimed { name, .. } => name == election,
        Event::Opened { .. }
        | Event::Ended { .. }
        | Event::Queued { .. }
        | Event::Left { .. }
        | Event::Delayed { .. }
        | Event::Forced { .. }
        | Event::Wanted { .. } => false,
    }
}

fn named(name: &str, data: &Value) -> Sent {
    Sent::default().event(name).data(data.to_string())
}

fn sent(occurrence: &Occurrence) -> Sent {
    let (name, mut data) = described(&occurrence.event);
    data["at_ms"] = json!(occurrence.moment.at_ms);
    named(name, &data).id(occurrence.moment.index.to_string())
}

/// An event in the words of the API.
pub(super) fn described(event: &Event) -> (&'static str, Value) {
    match event {
        Event::Opened { session, ttl_ms } => {
            ("session-opened", json!({ "session": session.to_string(), "ttl_ms": ttl_ms }))
        }
        Event::Ended { session, expired, label } => {
            ("session-ended", json!({ "session": session.to_string(), "expired": expired, "label": label }))
        }
        Event::Queued { name, session } => ("queued", of(name, json!({ "session": session.to_string() }))),
        Event::Granted { name, session, fence, since_ms, .. } => {
            let (session, fence) = (session.to_string(), fence.number());
            ("granted", of(name, json!({ "session": session, "fence": fence, "since_ms": since_ms })))
        }
        Event::Lost { name, session, fence, departure, since_ms } => {
            let (session, fence, why) = (session.to_string(), fence.number(), why(*departure));
            ("lost", of(name, json!({ "session": session, "fence": fence, "since_ms": since_ms, "why": why })))
        }
        Event::Left { name, session, departure } => {
            ("left", of(name, json!({ "session": session.to_string(), "why": why(*departure) })))
        }
        Event::Delayed { name, delay_ms, .. } => ("delayed", of(name, json!({ "delay_ms": delay_ms }))),
        Event::Vacant { name } => ("vacant", of(name, json!({}))),
        Event::Proclaimed { name, session, .. } => ("proclaimed", of(name, json!({ "session": session.to_string() }))),
        Event::Forced { name, by } => ("forced", of(name, json!({ "by": by }))),
        Event::Wanted { name } => ("wanted", of(name, json!({}))),
    }
}

/// What is said of a lock or an election, with its name and which of them it is.
fn of(name: &Name, mut said: Value) -> Value {
    let kind = match name.kind {
        Kind::Lock => "lock",
        Kind::Election => "election",
    };
    said["kind"] = json!(kind);
    said["name"] = json!(name.text);
    said
}

fn why(departure: Departure) -> &'static str {
    match departure {
        Departure::Released => "released",
        Departure::Withdrawn => "withdrawn",
        Departure::Closed => "closed",
        Departure::Expired => "expired",
        Departure::Forced => "forced",
        Departure::TurnLost => "turn-lost",
        Departure::NoTurn => "no-turn",
    }
}
