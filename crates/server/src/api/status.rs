//! How the node is, and who the members are.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use quorate_client::contract::{AddMember, Digest, Member, Problem, ProblemKind, Status};

use super::body::Body;
use super::{Api, Failure, soon};
use crate::engine::{Cluster, ClusterError, Engine, MemberInfo};

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

/// The node knows a leader, and can reach it.
pub(super) async fn ready<E: Engine>(State(api): State<Api<E>>) -> Result<&'static str, Failure> {
    api.service.catch_up(soon()).await?;
    Ok("ready\n")
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

/// What this node has become, in one number: all that have applied as much have become the same.
pub(super) async fn digest<E: Engine>(State(api): State<Api<E>>) -> Json<Digest> {
    // The number of the last command does not change while the machine is looked at.
    let (applied, digest) = api.service.look(|machine| (api.service.index(), machine.digest()));
    Json(Digest { applied, digest: format!("{digest:016x}") })
}

pub(super) async fn members<E: Engine + Cluster>(State(api): State<Api<E>>) -> Result<Json<Vec<Member>>, Failure> {
    api.service.catch_up(soon()).await?;
    Ok(Json(api.service.engine().members().into_iter().map(shown).collect()))
}

pub(super) async fn add_member<E: Engine + Cluster>(
    State(api): State<Api<E>>,
    Body(body): Body<AddMember>,
) -> Result<StatusCode, Failure> {
    api.service.engine().add_member(body.node, body.address).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn remove_member<E: Engine + Cluster>(
    State(api): State<Api<E>>,
    Path(node): Path<u64>,
) -> Result<StatusCode, Failure> {
    api.service.engine().remove_member(node).await?;
    Ok(StatusCode::NO_CONTENT)
}
