//! Locks: acquire, release, look at, take away.

use std::time::{Duration, Instant};

use axum::Json;
use axum::http::StatusCode;
use quorate_client::contract::{
    AcquireLock, ForceRelease, Grant, Holder, Lock, Locks, Problem, ProblemKind, ReleaseLock, Span, Waiter,
};

use tokio::runtime::Handle;

use super::body::Body;
use super::listing::Part;
use super::path::Path;
use super::{
    Api, Failure, calendar_ms, checked_delay, checked_label, checked_mode, checked_ttl, checked_words, end_of,
    lock_name, session_id, shown_mode, soon,
};
use crate::access::Authorised;
use crate::engine::Engine;
use crate::machine::view::LockView;
use crate::machine::{Acquire, Fence, Kind, Mode, Name, Refusal, SessionId};
use crate::service::{NewSession, Service, ServiceError};

/// So many waiters of each lock are listed.
const MOST_WAITERS: usize = 100;

/// Who asks: a session of its own, or one that is opened for this alone.
pub(super) struct Asker {
    pub(super) session: Option<String>,
    pub(super) ttl: Option<Span>,
    pub(super) label: Option<String>,
}

/// What is asked for.
pub(super) struct Wanted {
    pub(super) name: Name,
    pub(super) mode: Mode,
    pub(super) wait: Option<Span>,
    pub(super) delay_ms: u64,
    pub(super) request: u64,
    pub(super) value: Vec<u8>,
}

pub(super) async fn acquire<E: Engine>(
    api: Api<E>,
    Path(name): Path<String>,
    Body(body): Body<AcquireLock>,
) -> Result<Json<Grant>, Failure> {
    let AcquireLock { session, ttl, label, wait, mode, delay, request } = body;
    let wanted = Wanted {
        name: lock_name(name)?,
        mode: checked_mode(mode)?,
        wait,
        delay_ms: checked_delay(delay)?,
        request: request.unwrap_or(0),
        value: Vec::new(),
    };
    obtain(&api, Asker { session, ttl, label }, wanted).await
}

/// Gets a lock or leadership for whoever asks.
pub(super) async fn obtain<E: Engine>(api: &Api<E>, asker: Asker, wanted: Wanted) -> Result<Json<Grant>, Failure> {
    // Before a session is opened for it.
    api.service.may_hold(&wanted.name)?;
    let (session, ttl) = match &asker.session {
        Some(session) => {
            let session = session_id("session", session)?;
            if asker.ttl.is_some() || asker.label.is_some() {
                let detail = "ttl and label are only for a session that is opened by this request: remove them, or \
                     remove session";
                return Err(Problem::of_field(if asker.ttl.is_some() { "ttl" } else { "label" }, detail).into());
            }
            (session, None)
        }
        None => {
            let (ttl, label) = (checked_ttl(asker.ttl)?, checked_label(asker.label)?);
            let new = NewSession { number: None, ttl, label, owner: String::new(), transient: true };
            (api.service.open(&new, soon()).await?.session, Some(ttl))
        }
    };
    let name = wanted.name.clone();
    let mut opened = ttl.map(|_| OpenedHere { service: api.service.clone(), session, is_settled: false });
    let granted = wait_for(&api.service, session, ttl, wanted).await;
    if let Some(opened) = &mut opened {
        use ServiceError::{Busy, Refused, WaitedInVain};
        // It is told now, or has ended with what came of its only request.
        opened.is_settled = matches!(granted, Ok(_) | Err(Busy | Refused(_) | WaitedInVain));
    }
    match granted {
        Ok(fence) => Ok(Json(Grant {
            name: name.text.to_string(),
            session: session.to_string(),
            fence: fence.number(),
            ttl_ms: ttl.map(|ttl| ttl.as_millis() as u64),
        })),
        Err(error) => {
            let mut failure = Failure::from(error.clone());
            if matches!(error, ServiceError::Busy | ServiceError::WaitedInVain) {
                failure.problem().holders = look_at(api.service.reader()?, &name).holders;
            }
            Err(failure)
        }
    }
}

/// A session that was opened for one request. Nobody else knows its number: if nobody is told of it, it is closed.
struct OpenedHere<E: Engine> {
    service: Authorised<E>,
    session: SessionId,
    is_settled: bool,
}

impl<E: Engine> Drop for OpenedHere<E> {
    fn drop(&mut self) {
        // There is no runtime if the node stops, and then the session expires.
        if let (false, Ok(runtime)) = (self.is_settled, Handle::try_current()) {
            let (service, session) = (self.service.clone(), self.session);
            runtime.spawn(async move { service.close(session, soon()).await });
        }
    }
}

/// Waits for a grant. A session that was opened for this alone is kept alive for as long as somebody listens.
async fn wait_for<E: Engine>(
    service: &Authorised<E>,
    session: SessionId,
    ttl_of_new: Option<Duration>,
    wanted: Wanted,
) -> Result<Fence, ServiceError> {
    let Wanted { name, mode, wait, delay_ms, request, value } = wanted;
    let waits = wait.is_none_or(|wait| wait.as_millis() > 0);
    let acquire = Acquire { session, request, call: 0, name, mode, wait: waits, delay_ms, value };
    let granted = service.acquire(acquire, end_of(wait), soon());
    let Some(ttl) = ttl_of_new else {
        return granted.await;
    };
    let began = Instant::now();
    tokio::pin!(granted);
    let fence = loop {
        tokio::select! {
            granted = &mut granted => break granted?,
            () = tokio::time::sleep(ttl / 3) => {
                // Whether it is lost is told by the wait itself.
                let _ = service.renew(session, Instant::now() + ttl).await;
            }
        }
    };
    // It is told that it has its full time.
    if began.elapsed() > ttl / 60 {
        service.renew(session, soon()).await?;
    }
    Ok(fence)
}

pub(super) async fn release<E: Engine>(
    api: Api<E>,
    Path(name): Path<String>,
    Body(body): Body<ReleaseLock>,
) -> Result<StatusCode, Failure> {
    let session = session_id("session", &body.session)?;
    api.service.release(session, body.request.unwrap_or(0), lock_name(name)?, None, soon()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn withdraw<E: Engine>(
    api: Api<E>,
    Path(name): Path<String>,
    Body(body): Body<ReleaseLock>,
) -> Result<StatusCode, Failure> {
    let (session, name) = (session_id("session", &body.session)?, lock_name(name)?);
    if api.service.withdraw(session, body.request.unwrap_or(0), name.clone(), soon()).await?.is_some() {
        let detail = format!(
            "{name} was granted to this session before the withdrawal arrived, and the session still \
             holds it: release it"
        );
        return Err(Problem::new(ProblemKind::Conflict, detail).into());
    }
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn force<E: Engine>(
    api: Api<E>,
    Path(name): Path<String>,
    Body(body): Body<ForceRelease>,
) -> Result<StatusCode, Failure> {
    take_away(&api, lock_name(name)?, body).await
}

/// Takes a lock or leadership away from whoever has it.
pub(super) async fn take_away<E: Engine>(api: &Api<E>, name: Name, body: ForceRelease) -> Result<StatusCode, Failure> {
    let by = checked_words("by", body.by)?;
    match api.service.force(name, by, body.fence.map(Fence::from_number), soon()).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(ServiceError::Refused(Refusal::NotHeld { name })) => {
            Err(Problem::new(ProblemKind::NotHeld, format!("{name} has no holder; nothing was changed")).into())
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn show<E: Engine>(api: Api<E>, Path(name): Path<String>) -> Result<Json<Lock>, Failure> {
    let name = lock_name(name)?;
    let service = api.service.reader()?;
    service.catch_up(soon()).await?;
    Ok(Json(look_at(service, &name)))
}

pub(super) async fn list<E: Engine>(api: Api<E>, part: Part) -> Result<Json<Locks>, Failure> {
    let service = api.service.reader()?;
    service.catch_up(soon()).await?;
    let (names, total) = service.look(|machine| part.names(machine, Kind::Lock));
    let locks = names.iter().map(|name| look_at(service, name)).collect();
    Ok(Json(Locks { locks, total, here_only: !service.knows_all() }))
}

fn look_at<E: Engine>(service: &Service<E>, name: &Name) -> Lock {
    let view = service.look(|machine| machine.lock(name, MOST_WAITERS));
    Lock { here_only: !service.knows_all(), ..shown(name, view, calendar_ms()) }
}

fn shown(name: &Name, view: Option<LockView>, now_ms: u64) -> Lock {
    let name = name.text.to_string();
    let Some(LockView { holders, holding, waiters, waiting, delay }) = view else {
        return Lock { name, ..Lock::default() };
    };
    let holders = holders.into_iter().map(|holder| Holder {
        session: holder.session.to_string(),
        label: holder.label,
        fence: holder.fence.number(),
        mode: shown_mode(holder.mode),
        since_ms: holder.since_ms,
        held_ms: now_ms.saturating_sub(holder.since_ms),
    });
    let waiters = waiters.into_iter().map(|waiter| Waiter {
        session: waiter.session.to_string(),
        label: waiter.label,
        mode: shown_mode(waiter.mode),
        since_ms: waiter.since_ms,
        waited_ms: now_ms.saturating_sub(waiter.since_ms),
    });
    let delay_ms = delay.map(|(_, delay_ms)| delay_ms);
    Lock { name, holders: holders.collect(), holding, waiters: waiters.collect(), waiting, delay_ms, here_only: false }
}
