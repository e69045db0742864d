//! Elections: campaign, proclaim, resign, look at.

use axum::Json;
use axum::http::StatusCode;
use quorate_client::contract::{
    Campaign, Election, Elections, ForceRelease, Grant, LONGEST_VALUE, Leader, Problem, Proclaim, ReleaseLock,
};

use super::body::Body;
use super::listing::Part;
use super::locks::{Asker, Wanted, obtain, take_away};
use super::path::Path;
use super::{Api, Failure, election_name, session_id, soon};
use crate::engine::Engine;
use crate::machine::{Fence, Kind, Machine, Mode, Name};

fn checked_value(value: String) -> Result<Vec<u8>, Failure> {
    if value.len() > LONGEST_VALUE {
        return Err(Problem::of_field(
            "value",
            format!(
                "the value is too long: at most {LONGEST_VALUE} bytes are \
             accepted"
            ),
        )
        .into());
    }
    Ok(value.into_bytes())
}

pub(super) async fn campaign<E: Engine>(
    api: Api<E>,
    Path(name): Path<String>,
    Body(body): Body<Campaign>,
) -> Result<Json<Grant>, Failure> {
    let Campaign { session, ttl, label, value, wait, request } = body;
    let wanted = Wanted {
        name: election_name(name)?,
        mode: Mode::Exclusive,
        wait,
        delay_ms: 0,
        request: request.unwrap_or(0),
        value: checked_value(value)?,
    };
    obtain(&api, Asker { session, ttl, label }, wanted).await
}

pub(super) async fn proclaim<E: Engine>(
    api: Api<E>,
    Path(name): Path<String>,
    Body(body): Body<Proclaim>,
) -> Result<StatusCode, Failure> {
    let (session, fence) = (session_id("session", &body.session)?, Fence::from_number(body.fence));
    api.service.proclaim(session, election_name(name)?, fence, checked_value(body.value)?, soon()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn resign<E: Engine>(
    api: Api<E>,
    Path(name): Path<String>,
    Body(body): Body<ReleaseLock>,
) -> Result<StatusCode, Failure> {
    let session = session_id("session", &body.session)?;
    api.service.release(session, body.request.unwrap_or(0), election_name(name)?, None, soon()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn force<E: Engine>(
    api: Api<E>,
    Path(name): Path<String>,
    Body(body): Body<ForceRelease>,
) -> Result<StatusCode, Failure> {
    take_away(&api, election_name(name)?, body).await
}

pub(super) async fn list<E: Engine>(api: Api<E>, part: Part) -> Result<Json<Elections>, Failure> {
    let service = api.service.reader()?;
    service.catch_up(soon()).await?;
    Ok(Json(service.look(|machine| {
        let (names, total) = part.names(machine, Kind::Election);
        let elections = names.iter().map(|name| shown(machine, name)).collect();
        Elections { elections, total, here_only: machine.is_by_turns() }
    })))
}

pub(super) async fn show<E: Engine>(api: Api<E>, Path(name): Path<String>) -> Result<Json<Election>, Failure> {
    let name = election_name(name)?;
    let service = api.service.reader()?;
    service.catch_up(soon()).await?;
    Ok(Json(service.look(|machine| shown(machine, &name))))
}

/// An election as it is now.
pub(super) fn shown(machine: &Machine, name: &Name) -> Election {
    let view = machine.lock(name, 0);
    let waiting = view.as_ref().map_or(0, |view| view.waiting);
    let leader = view.and_then(|view| view.holders.into_iter().next()).map(|holder| Leader {
        session: holder.session.to_string(),
        label: holder.label,
        fence: holder.fence.number(),
        value: String::from_utf8_lossy(&holder.value).into_owned(),
        since_ms: holder.since_ms,
    });
    Election { name: name.text.to_string(), leader, waiting, here_only: machine.is_by_turns() }
}
