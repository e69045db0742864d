//! How the node is, and who the members are.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use quorate_client::contract::{AddMember, LONGEST_NAME, Member, Problem, ProblemKind, Status};

use super::body::Body;
use super::path::Path;
use super::{Api, Failure, soon};
use crate::engine::{Cluster, ClusterError, Engine, MemberInfo};
use crate::service::ServiceError;
use crate::telemetry::page;

/// Who asks whether the node is ready gets an answer within this time.
const PROBE_PATIENCE: Duration = Duration::from_secs(1);

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Failure {
        Problem::new(ProblemKind::Conflict, error.to_string()).into()
    }
}

fn shown(member: MemberInfo) -> Member {
    Member { node: member.node, address: member.address, votes: member.votes }
}

/// The process lives.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// The node knows a leader, can reach it, and has applied everything that was decided before the question. Who asks is
/// not kept waiting for an election: there is another probe in a moment.
pub(super) async fn ready<E: Engine>(State(api): State<Api<E>>) -> Result<&'static str, Failure> {
    let unready = |error: ServiceError| {
        let detail = format!("this node cannot answer at the moment: {error}");
        Problem::new(ProblemKind::NoLeader, detail)
    };
    api.service.catch_up(Instant::now() + PROBE_PATIENCE).await.map_err(unready)?;
    Ok("ready\n")
}

/// The figures of this node.
pub(super) async fn metrics<E: Engine + Cluster>(State(api): State<Api<E>>) -> impl IntoResponse {
    let media = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, media)], page(&api.telemetry, &api.service))
}

pub(super) async fn status<E: Engine + Cluster>(State(api): State<Api<E>>) -> Json<Status> {
    let engine = api.service.engine();
    let leadership = *engine.leadership().borrow();
    let (sessions, locks) = api.service.look(|machine| (machine.sessions().len() as u64, machine.names().len() as u64));
    Json(Status {
        node: engine.node(),
        version: env!("CARGO_PKG_VERSION").into(),
        term: leadership.term,
        leader: leadership.leader,
        applied: api.service.index(),
        sessions,
        locks,
        members: engine.members().into_iter().map(shown).collect(),
    })
}

pub(super) async fn members<E: Engine + Cluster>(State(api): State<Api<E>>) -> Result<Json<Vec<Member>>, Failure> {
    api.service.catch_up(soon()).await?;
    Ok(Json(api.service.engine().members().into_iter().map(shown).collect()))
}

/// An address that others can be told: not endless, and with a port.
fn checked(member: AddMember) -> Result<AddMember, Failure> {
    if member.node == 0 {
        return Err(Problem::of_field("node", "nodes are numbered from 1").into());
    }
    if member.address.len() > LONGEST_NAME || !member.address.contains(':') {
        return Err(Problem::of_field("address", "an address is host:port, as in 10.0.0.4:7420").into());
    }
    Ok(member)
}

pub(super) async fn add_member<E: Engine + Cluster>(
    State(api): State<Api<E>>,
    Body(body): Body<AddMember>,
) -> Result<StatusCode, Failure> {
    let AddMember { node, address } = checked(body)?;
    api.service.catch_up(soon()).await?;
    api.service.engine().add_member(node, address).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn remove_member<E: Engine + Cluster>(
    State(api): State<Api<E>>,
    Path(node): Path<u64>,
) -> Result<StatusCode, Failure> {
    api.service.catch_up(soon()).await?;
    api.service.engine().remove_member(node).await?;
    Ok(StatusCode::NO_CONTENT)
}
