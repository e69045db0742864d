//! A backup of everything, from a node that runs.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use quorate_client::contract::{Problem, ProblemKind};
use tokio::sync::Semaphore;

use super::{Api, Failure, soon};
use crate::engine::{Cluster, Engine};

/// So many backups may be under way: each is all of the state once more in memory, until it has been sent.
const MOST_BACKUPS: usize = 4;
/// So much is sent at once.
const PART_BYTES: usize = 64 * 1024;

/// Everything that was decided before the request: sealed with a checksum, to be restored by `quorate restore`.
pub(super) async fn backup<E: Engine + Cluster>(api: Api<E>) -> Result<Response, Failure> {
    let service = Arc::clone(api.service.admin()?);
    static PLACES: Semaphore = Semaphore::const_new(MOST_BACKUPS);
    let place = PLACES.try_acquire().map_err(|_| {
        let detail = format!(
            "{MOST_BACKUPS} backups are already being made, which is the limit; nothing was done: try \
             again later"
        );
        Problem::new(ProblemKind::Overloaded, detail)
    })?;
    service.catch_up(soon()).await?;
    let made = tokio::task::spawn_blocking(move || service.engine().backup().map(Bytes::from)).await;
    let backup = made.map_err(|_| {
        Problem::new(
            ProblemKind::Stopping,
            "this node is shutting down; nothing was done: \
         ask another node",
        )
    })??;
    let parts = stream::unfold((backup, place), |(mut rest, place)| async move {
        let part = rest.split_to(rest.len().min(PART_BYTES));
        (!part.is_empty()).then_some((Ok::<_, Infallible>(part), (rest, place)))
    });
    let media = HeaderValue::from_static("application/octet-stream");
    Ok(([(header::CONTENT_TYPE, media)], Body::from_stream(parts)).into_response())
}
