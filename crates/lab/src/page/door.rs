//! Accepts connections and has them served: so many of one visitor, and so many in all.
//!
//! A connection is a file to the system, which has so many of them. Without a bound, one visitor could take them all,
//! and nobody else would get in; and whoever connects and says nothing would keep one for ever.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

use super::limits::{Limits, Tally};

/// How long to wait when the system has no more files to give.
const PAUSE: Duration = Duration::from_millis(50);

/// Has everybody served who finds a place; who finds none is not answered.
pub(super) async fn serve(listener: TcpListener, routes: Router, limits: Limits) -> Infallible {
    let mut speech = http1::Builder::new();
    speech.timer(TokioTimer::new()).header_read_timeout(limits.patience);
    let connections = Arc::new(Tally::default());
    loop {
        let Ok((socket, address)) = listener.accept().await else {
            // A visitor who has gone already, or no file left: neither ends the laboratory.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let visitor = address.ip().to_canonical();
        let Some(counted) = connections.enter(visitor, limits.connections, limits.connections_in_all) else { continue };
        let answers = TowerToHyperService::new(routes.clone().layer(Extension(ConnectInfo(address))));
        let connection = speech.serve_connection(TokioIo::new(socket), answers);
        tokio::spawn(async move {
            // Whether it ended well is the visitor's affair.
            let _ = connection.await;
            drop(counted);
        });
    }
}
