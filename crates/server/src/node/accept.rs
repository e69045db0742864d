//! Accepts connections and has them served, HTTP/1 and HTTP/2 alike, up to a limit.
//!
//! Above the limit there are a few more places, in which members still get through and everybody else is told that
//! there are too many; who finds none of these either is not answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::response::Response;
use axum::routing::future::RouteFuture;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::{Request, service};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use quorate_client::contract::{Problem, ProblemKind};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tonic::codegen::Service as _;

use super::socket::{Nature, Socket};
use super::tls::Tls;
use crate::api::Failure;
use crate::engine::Engine;
use crate::etcd::Calls;
use crate::telemetry::Telemetry;

/// So many connections more are told that there are too many.
const MOST_TOLD: usize = 256;
/// For so long.
const TOLD_WITHIN: Duration = Duration::from_secs(5);
/// How often operators are told so.
const SAY_AGAIN: Duration = Duration::from_secs(10);
/// How long to wait when the system has no more files to give.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a client may take to say what it speaks, or to agree on a key.
const HELLO_PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may take to send the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How often a silent HTTP/2 connection is asked whether it lives, and how long it may take to answer.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_PATIENCE: Duration = Duration::from_secs(20);
/// So many requests may be under way on one HTTP/2 connection.
const MOST_STREAMS: u32 = 10_000;

/// How connections are served.
pub(super) struct Door<E: Engine> {
    /// What is answered to who speaks our own language.
    pub(super) routes: Router,
    /// What is answered to who speaks etcd's.
    pub(super) calls: Arc<Calls<E>>,
    /// What is answered to members even if there are too many connections.
    pub(super) member_routes: Router,
    /// How to encrypt, if so.
    pub(super) tls: Option<Tls>,
    /// So many connections there may be.
    pub(super) most_connections: usize,
    /// Where they are counted.
    pub(super) telemetry: Arc<Telemetry>,
}

/// A connection on which somebody has shown the certificate of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct FromMember;

/// How HTTP is spoken.
struct Speech {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
}

impl Speech {
    fn new() -> Speech {
        let (mut http1, mut http2) = (http1::Builder::new(), http2::Builder::new(TokioExecutor::new()));
        http1.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
        http2
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_PATIENCE)
            .max_concurrent_streams(MOST_STREAMS);
        Speech { http1, http2 }
    }

    async fn serve<E: Engine>(&self, socket: Socket, nature: Nature, routes: Router, calls: Option<Arc<Calls<E>>>) {
        let (io, answers) = (TokioIo::new(socket), OnConnection { routes, calls, is_member: nature.is_member });
        let served = if nature.is_http2 {
            self.http2.serve_connection(io, answers).await
        } else {
            self.http1.serve_connection(io, answers).with_upgrades().await
        };
        if let Err(error) = served {
            tracing::debug!(%error, "connection closed");
        }
    }
}

/// What is answered on one connection.
struct OnConnection<E: Engine> {
    routes: Router,
    calls: Option<Arc<Calls<E>>>,
    is_member: bool,
}

impl<E: Engine> service::Service<Request<Incoming>> for OnConnection<E> {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<BoxFuture<'static, Result<Response, Infallible>>, RouteFuture<Infallible>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if let Some(calls) = &self.calls
            && let Some(called) = Calls::<E>::called(request.uri().path())
        {
            return Either::Left(Arc::clone(calls).answer(called, request).map(Ok).boxed());
        }
        if self.is_member {
            request.extensions_mut().insert(FromMember);
        }
        Either::Right(self.routes.clone().call(request))
    }
}

/// Accepts until told to stop.
pub(super) async fn accept<E: Engine>(listener: TcpListener, door: Door<E>, stopping: CancellationToken) {
    let Door { routes, calls, member_routes, tls, most_connections, telemetry } = door;
    let told_routes = member_routes.fallback(move || async move { too_many(most_connections) });
    let (speech, places) = (Arc::new(Speech::new()), Arc::new(Semaphore::new(most_connections)));
    let told_places = Arc::new(Semaphore::new(MOST_TOLD));
    let mut said = None;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => return,
        };
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) => {
                // A client that has gone already, or no file left: neither ends the service.
                tracing::debug!(%error, "accepting connection failed");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (speech, tls, stopping) = (Arc::clone(&speech), tls.clone(), stopping.clone());
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let (routes, calls) = (routes.clone(), Some(Arc::clone(&calls)));
            let counted = telemetry.connection();
            tokio::spawn(async move {
                let serving = async {
                    let Some((socket, nature)) = greet(socket, tls.as_ref(), place).await else { return };
                    speech.serve(socket, nature, routes, calls).await;
                };
                tokio::select! {
                    () = serving => {}
                    () = stopping.cancelled() => {}
                }
                drop(counted);
            });
        } else if let Ok(place) = Arc::clone(&told_places).try_acquire_owned() {
            if said.is_none_or(|said: Instant| said.elapsed() > SAY_AGAIN) {
                tracing::warn!(most_connections, "connections refused");
                said = Some(Instant::now());
            }
            let routes = told_routes.clone();
            tokio::spawn(tokio::time::timeout(TOLD_WITHIN, async move {
                let Some((socket, nature)) = greet(socket, tls.as_ref(), place).await else { return };
                speech.serve::<E>(socket, nature, routes, None).await;
            }));
        }
    }
}

/// Finds out what is spoken on a connection, if the other end says so in time.
async fn greet(socket: TcpStream, tls: Option<&Tls>, place: OwnedSemaphorePermit) -> Option<(Socket, Nature)> {
    match tokio::time::timeout(HELLO_PATIENCE, Socket::open(socket, tls, place)).await {
        Ok(Ok(opened)) => Some(opened),
        Ok(Err(error)) => {
            tracing::debug!(%error, "connection closed before a request");
            None
        }
        Err(_) => {
            tracing::debug!("idle connection closed");
            None
        }
    }
}

fn too_many(most: usize) -> Failure {
    let detail = format!(
        "this node has reached its limit of {most} connections: close some, use another node, or raise \
         limits.connections"
    );
    Problem::new(ProblemKind::TooMany, detail).into()
}
