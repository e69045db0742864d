//! Streams: many requests on one connection, each answered as soon as it can be.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request as HttpRequest;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{SinkExt, StreamExt};
use hyper_util::rt::TokioIo;
use quorate_client::contract::stream::{
    Answer, Ask, LONGEST_FRAME, MOST_PENDING, MOST_STANDING, PROTOCOL, Reply, Request, Subject, Trouble,
};
use quorate_client::contract::{LONGEST_VALUE, Problem, ProblemKind, Span};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::{
    Api, Failure, checked_delay, checked_label, checked_mode, checked_ttl, election_name, end_of, lock_name, soon,
};
use crate::engine::Engine;
use crate::machine::{Acquire, Departure, Fence, Name, SessionId};
use crate::service::NewSession;
use crate::telemetry::{Results, Row, Telemetry};

/// Who does not take its answers for so long is gone.
const STUCK: Duration = Duration::from_secs(10);

/// What is asked on streams, counted.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    open: Arc<Row>,
    renew: Arc<Row>,
    close: Arc<Row>,
    acquire: Arc<Row>,
    withdraw: Arc<Row>,
    release: Arc<Row>,
    proclaim: Arc<Row>,
    until_lost: Arc<Row>,
}

impl Asked {
    pub(super) fn new(telemetry: &Telemetry) -> Asked {
        let row = |kind| telemetry.row("stream", kind, Results::Problems);
        Asked {
            open: row("open"),
            renew: row("renew"),
            close: row("close"),
            acquire: row("acquire"),
            withdraw: row("withdraw"),
            release: row("release"),
            proclaim: row("proclaim"),
            until_lost: row("until-lost"),
        }
    }

    fn row(&self, request: &Request) -> &Row {
        match request {
            Request::Open { .. } => &self.open,
            Request::Renew { .. } => &self.renew,
            Request::Close { .. } => &self.close,
            Request::Acquire { .. } => &self.acquire,
            Request::Withdraw { .. } => &self.withdraw,
            Request::Release { .. } => &self.release,
            Request::Proclaim { .. } => &self.proclaim,
            Request::UntilLost { .. } => &self.until_lost,
        }
    }
}

/// Turns the connection into a stream.
pub(super) async fn open<E: Engine>(api: Api<E>, request: HttpRequest) -> Response {
    let wanted = request.headers().get(header::UPGRADE).and_then(|value| value.to_str().ok());
    if !wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(PROTOCOL)) {
        let detail = format!(
            "this path only upgrades connections: send the headers `Connection: upgrade` and \
             `Upgrade: {PROTOCOL}`"
        );
        return Failure::from(Problem { status: 426, ..Problem::new(ProblemKind::BadRequest, detail) }).into_response();
    }
    tokio::spawn(async move {
        // Whoever goes away before the upgrade has asked for nothing.
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            let _counted = api.telemetry.stream();
            converse(&api, TokioIo::new(upgraded)).await;
        }
    });
    let headers = [
        (header::CONNECTION, HeaderValue::from_static("upgrade")),
        (header::UPGRADE, HeaderValue::from_static(PROTOCOL)),
    ];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

/// Answers what is asked until the other side goes away. What it has asked for and not yet been told stays in line.
async fn converse<E: Engine>(api: &Api<E>, io: impl AsyncRead + AsyncWrite + Unpin) {
    let codec = LengthDelimitedCodec::builder().max_frame_length(LONGEST_FRAME).new_codec();
    let (mut sink, mut asks) = Framed::new(io, codec).split();
    let (mut pending, mut standing) = (FuturesUnordered::new(), 0);
    loop {
        tokio::select! {
            Some(answered) = pending.next(), if !pending.is_empty() => {
                let (answer, was_standing): (Answer, bool) = answered;
                standing -= usize::from(was_standing);
                let Ok(frame) = postcard::to_allocvec(&answer) else { return };
                if !matches!(timeout(STUCK, sink.send(Bytes::from(frame))).await, Ok(Ok(()))) {
                    return;
                }
            }
            ask = asks.next(), if pending.len() - standing < MOST_PENDING => {
                let Some(Ok(frame)) = ask else { return };
                // Whoever writes what cannot be read is not understood any further.
                let Ok(Ask { number, request }) = postcard::from_bytes::<Ask>(&frame) else { return };
                let (row, is_standing) = (api.asked.row(&request), request.is_standing());
                let is_refused = is_standing && standing == MOST_STANDING;
                let is_standing = is_standing && !is_refused;
                standing += usize::from(is_standing);
                pending.push(async move {
                    let outcome = if is_refused { Err(too_many()) } else { answer(api, request).await };
                    row.count(outcome.as_ref().err().map(|trouble| trouble.kind));
                    (Answer { number, outcome }, is_standing)
                });
            }
        }
    }
}

fn too_many() -> Trouble {
    let detail =
        format!("{MOST_STANDING} requests of this connection wait already, which is the limit: open another session");
    Trouble { kind: ProblemKind::TooMany, detail }
}

async fn answer<E: Engine>(api: &Api<E>, request: Request) -> Result<Reply, Trouble> {
    respond(api, request).await.map_err(|mut failure| {
        let problem = failure.problem();
        Trouble { kind: problem.kind, detail: problem.to_string() }
    })
}

async fn respond<E: Engine>(api: &Api<E>, request: Request) -> Result<Reply, Failure> {
    let service = &api.service;
    match request {
        Request::Open { ttl_ms, label } => {
            let (ttl, label) = (checked_ttl(Some(Span::from_millis(ttl_ms)))?, checked_label(Some(label))?);
            let new = NewSession { number: None, ttl, label, owner: String::new(), transient: false };
            Ok(Reply::Opened { session: service.open(&new, soon()).await?.session.number() })
        }
        Request::Renew { session } => {
            let ttl = service.renew(id(session)?, soon()).await?;
            Ok(Reply::Renewed { ttl_ms: ttl.as_millis() as u64 })
        }
        Request::Close { session } => service.close(id(session)?, soon()).await.map(done)?,
        Request::Acquire { session, request, subject, mode, wait_ms, delay_ms, value } => {
            if value.len() > LONGEST_VALUE {
                return Err(Problem::of_field(
                    "value",
                    format!(
                        "the value is too long: at most {LONGEST_VALUE} bytes \
                     are accepted"
                    ),
                )
                .into());
            }
            let (session, name, mode) = (id(session)?, named(subject)?, checked_mode(mode)?);
            let (until, wait) = (end_of(wait_ms.map(Span::from_millis)), wait_ms != Some(0));
            let delay_ms = checked_delay(Some(Span::from_millis(delay_ms)))?;
            let fence = service
                .acquire(Acquire { session, request, call: 0, name, mode, wait, delay_ms, value }, until, soon())
                .await?;
            Ok(Reply::Granted { fence: fence.number() })
        }
        Request::Withdraw { session, request, subject } => {
            match service.withdraw(id(session)?, request, named(subject)?, soon()).await? {
                Some(fence) => Ok(Reply::Granted { fence: fence.number() }),
                None => Ok(Reply::Done),
            }
        }
        Request::Release { session, request, subject, fence } => {
            let fence = Some(Fence::from_number(fence));
            service.release(id(session)?, request, named(subject)?, fence, soon()).await.map(done)?
        }
        Request::Proclaim { session, name, fence, value } => {
            if value.len() > LONGEST_VALUE {
                return Err(Problem::of_field(
                    "value",
                    format!(
                        "the value is too long: at most {LONGEST_VALUE} bytes \
                     are accepted"
                    ),
                )
                .into());
            }
            let (session, name, fence) = (id(session)?, election_name(name)?, Fence::from_number(fence));
            service.proclaim(session, name, fence, value, soon()).await.map(done)?
        }
        Request::UntilLost { session, subject, fence } => {
            let (session, name, fence) = (id(session)?, named(subject)?, Fence::from_number(fence));
            let departure = service.until_lost(session, &name, fence, soon()).await?;
            // Who asks late is told all the same, as long as it is remembered.
            let departure = departure.or_else(|| api.telemetry.departure(session, &name, fence));
            Ok(Reply::Lost { why: why_lost(departure).into() })
        }
    }
}

fn why_lost(departure: Option<Departure>) -> &'static str {
    match departure {
        Some(Departure::Forced) => "an operator released it by force",
        Some(Departure::TurnLost) => {
            "its node lost the lock to another node: it could not reach a majority, or was \
             paused"
        }
        Some(Departure::Expired) => "its session expired",
        Some(Departure::Closed) => "its session was closed",
        Some(Departure::Released | Departure::Withdrawn | Departure::NoTurn) => "it was released",
        None => "it is no longer held",
    }
}

fn done<T>(_: T) -> Result<Reply, Failure> {
    Ok(Reply::Done)
}

fn id(session: u64) -> Result<SessionId, Failure> {
    let refuse = || Problem::of_field("session", "a session id must be positive and below 2^63");
    Ok(SessionId::new(session).ok_or_else(refuse)?)
}

fn named(subject: Subject) -> Result<Name, Failure> {
    if subject.election { election_name(subject.name) } else { lock_name(subject.name) }
}
