//! What has happened, as far as this node remembers.

use axum::Json;
use quorate_client::contract::{Happening, History};
use serde_json::json;

use super::path::Path;
use super::{Api, Failure, election_name, events, lock_name};
use crate::engine::Engine;
use crate::machine::{Event, Machine, Name, SessionId};
use crate::service::Occurrence;
use crate::telemetry::Telemetry;

pub(super) async fn all<E: Engine>(api: Api<E>) -> Result<Json<History>, Failure> {
    remembered(&api, None)
}

pub(super) async fn of_lock<E: Engine>(api: Api<E>, Path(name): Path<String>) -> Result<Json<History>, Failure> {
    remembered(&api, Some(&lock_name(name)?))
}

pub(super) async fn of_election<E: Engine>(api: Api<E>, Path(name): Path<String>) -> Result<Json<History>, Failure> {
    remembered(&api, Some(&election_name(name)?))
}

fn remembered<E: Engine>(api: &Api<E>, name: Option<&Name>) -> Result<Json<History>, Failure> {
    let service = api.service.reader()?;
    let past = api.telemetry.history(name);
    let events = service.look(|machine| past.iter().filter_map(|one| told(one, machine, &api.telemetry)).collect());
    Ok(Json(History { events }))
}

/// Something that has happened, in the words in which it was told when it did.
fn told(occurrence: &Occurrence, machine: &Machine, telemetry: &Telemetry) -> Option<Happening> {
    let (event, mut said) = events::described(&occurrence.event);
    said["event"] = json!(event);
    said["index"] = json!(occurrence.moment.index);
    said["at_ms"] = json!(occurrence.moment.at_ms);
    if let Some(session) = whose(&occurrence.event) {
        let living = machine.session(session).map(|view| view.label.to_string());
        let label = living.or_else(|| telemetry.label(session).map(|label| label.to_string()));
        said["label"] = json!(label);
    }
    serde_json::from_value(said).ok()
}

fn whose(event: &Event) -> Option<SessionId> {
    match event {
        Event::Opened { session, .. }
        | Event::Ended { session, .. }
        | Event::Queued { session, .. }
        | Event::Granted { session, .. }
        | Event::Lost { session, .. }
        | Event::Left { session, .. }
        | Event::Proclaimed { session, .. } => Some(*session),
        Event::Delayed { .. } | Event::Vacant { .. } | Event::Forced { .. } | Event::Wanted { .. } => None,
    }
}
