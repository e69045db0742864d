//! Accepts connections and has them served, HTTP/1 and HTTP/2 alike, up to a limit.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::telemetry::Telemetry;

/// So many connections there may be.
const MOST_CONNECTIONS: usize = 100_000;
/// How long to wait when the system has no more files to give.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a client may take to send the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How often a silent HTTP/2 connection is asked whether it lives, and how long it may take to answer.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_PATIENCE: Duration = Duration::from_secs(20);
/// So many requests may be under way on one HTTP/2 connection.
const MOST_STREAMS: u32 = 10_000;

/// Accepts until told to stop.
pub(super) async fn accept(
    listener: TcpListener,
    routes: Router,
    telemetry: Arc<Telemetry>,
    stopping: CancellationToken,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_PATIENCE)
        .max_concurrent_streams(MOST_STREAMS);
    let (builder, places) = (Arc::new(builder), Arc::new(Semaphore::new(MOST_CONNECTIONS)));
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            () = stopping.cancelled() => return,
        };
        let Ok(place) = place else { return };
        let socket = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => return,
        };
        let socket = match socket {
            Ok((socket, _)) => socket,
            Err(error) => {
                // A client that has gone already, or no file left: neither ends the service.
                tracing::debug!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // A connection without it works as well, only slower.
        let _ = socket.set_nodelay(true);
        let (builder, service) = (Arc::clone(&builder), TowerToHyperService::new(routes.clone()));
        let (stopping, counted) = (stopping.clone(), telemetry.connection());
        tokio::spawn(async move {
            let serving = builder.serve_connection_with_upgrades(TokioIo::new(socket), service);
            tokio::select! {
                served = serving => {
                    if let Err(error) = served {
                        tracing::debug!(%error, "a connection ended");
                    }
                }
                () = stopping.cancelled() => {}
            }
            drop((place, counted));
        });
    }
}
