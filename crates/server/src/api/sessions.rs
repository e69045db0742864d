//! Sessions: open, renew, look at, close.

use std::collections::VecDeque;

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use quorate_client::contract::{OpenSession, Problem, ProblemKind, Renewed, Session};

use super::body::Body;
use super::listing::Part;
use super::path::Path;
use super::{Api, Failure, checked_label, checked_ttl, session_id, soon};
use crate::engine::Engine;
use crate::machine::Machine;
use crate::machine::view::SessionView;
use crate::service::NewSession;

fn shown(machine: &Machine, view: SessionView<'_>) -> Session {
    let SessionView { session, label, ttl_ms, since_ms, .. } = view;
    let (holds, awaits) = machine.burden(session);
    let (holds, awaits) = (holds as u64, awaits as u64);
    Session { session: session.to_string(), ttl_ms, label: label.into(), since_ms, left_ms: None, holds, awaits }
}

pub(super) async fn open<E: Engine>(api: Api<E>, Body(body): Body<OpenSession>) -> Result<impl IntoResponse, Failure> {
    let (ttl, label) = (checked_ttl(body.ttl)?, checked_label(body.label)?);
    let new = NewSession { number: None, ttl, label: label.clone(), owner: String::new(), transient: false };
    let opened = api.service.open(&new, soon()).await?;
    let session = opened.session.to_string();
    let (ttl_ms, since_ms) = (ttl.as_millis() as u64, super::calendar_ms());
    let session = Session { session, ttl_ms, label, since_ms, left_ms: None, holds: 0, awaits: 0 };
    Ok((StatusCode::CREATED, Json(session)))
}

pub(super) async fn renew<E: Engine>(api: Api<E>, Path(session): Path<String>) -> Result<Json<Renewed>, Failure> {
    let id = session_id("session", &session)?;
    let ttl = api.service.renew(id, soon()).await?;
    Ok(Json(Renewed { session, ttl_ms: ttl.as_millis() as u64 }))
}

pub(super) async fn show<E: Engine>(api: Api<E>, Path(session): Path<String>) -> Result<Json<Session>, Failure> {
    let id = session_id("session", &session)?;
    let service = api.service.reader()?;
    service.catch_up(soon()).await?;
    let left = service.time_left(id, soon()).await?.map(|(left, _)| left.as_millis() as u64);
    let found = service.look(|machine| machine.session(id).map(|view| shown(machine, view))).filter(|_| left.is_some());
    let missing = || Problem::new(ProblemKind::NoSession, format!("session {id} does not exist"));
    Ok(Json(Session { left_ms: left, ..found.ok_or_else(missing)? }))
}

pub(super) async fn list<E: Engine>(api: Api<E>, part: Part) -> Result<Json<Vec<Session>>, Failure> {
    let after = part.after.as_ref().map(|after| session_id("after", after)).transpose()?;
    let before = part.before.as_ref().map(|before| session_id("before", before)).transpose()?;
    let service = api.service.reader()?;
    service.catch_up(soon()).await?;
    let (ids, mut sessions): (Vec<_>, Vec<_>) = service.look(|machine| {
        let of_part = |view: &SessionView<'_>| {
            after.is_none_or(|after| view.session > after) && before.is_none_or(|before| view.session < before)
        };
        let mut wanted = VecDeque::new();
        for view in machine.sessions().filter(|view| of_part(view) && is_wanted(&part, machine, view)) {
            part.take(&mut wanted, view);
            if wanted.len() == part.limit && before.is_none() {
                break;
            }
        }
        wanted.into_iter().map(|view| (view.session, shown(machine, view))).unzip()
    });
    // A list without times is better than none, while nobody leads.
    let left = service.times_left(ids, soon()).await.unwrap_or_default();
    for (session, left) in sessions.iter_mut().zip(left) {
        session.left_ms = left.map(|left| left.as_millis() as u64);
    }
    Ok(Json(sessions))
}

fn is_wanted(part: &Part, machine: &Machine, view: &SessionView<'_>) -> bool {
    let is_found = || part.finds(view.label) || part.finds(&view.session.to_string());
    let waits = || !part.waiting || machine.burden(view.session).1 > 0;
    is_found() && waits()
}

pub(super) async fn close<E: Engine>(api: Api<E>, Path(session): Path<String>) -> Result<StatusCode, Failure> {
    api.service.close(session_id("session", &session)?, soon()).await?;
    Ok(StatusCode::NO_CONTENT)
}
