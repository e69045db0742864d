//! How the node is, and who the members are.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use quorate_client::contract::{
    AddMember, Digest, EngineKind, Figures, LONGEST_NAME, Member, Peer, Problem, ProblemKind, RoleKind, Status, Turns,
    Whoami,
};

use super::body::Body;
use super::path::Path;
use super::{Api, Failure, soon};
use crate::access::Role;
use crate::engine::{Cluster, ClusterError, Engine, MemberInfo, Standing, Unavailable};
use crate::peer;
use crate::service::ServiceError;
use crate::telemetry::page;

/// Who asks whether the node is ready gets an answer within this time.
const PROBE_PATIENCE: Duration = Duration::from_secs(1);

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Failure {
        let kind = match error {
            ClusterError::Failed(_) => ProblemKind::Conflict,
            ClusterError::NotWithThisEngine(_) => ProblemKind::NotWithThisEngine,
        };
        Problem::new(kind, error.to_string()).into()
    }
}

fn shown(member: MemberInfo) -> Member {
    Member { node: member.node, address: member.address, votes: member.votes, lag: None, silent_ms: None }
}

/// The process lives.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// The node knows a leader, can reach it, and has applied everything that was decided before the question; or it takes
/// turns, and lets somebody in. Who asks is not kept waiting for an election, as there is another probe in a moment,
/// and not asked who they are.
pub(super) async fn ready<E: Engine + Cluster>(State(api): State<Api<E>>) -> Result<&'static str, Failure> {
    let unready = |error: ServiceError| {
        let detail = format!("this node is not ready: {error}");
        Problem::new(ProblemKind::NoLeader, detail)
    };
    let service = api.service.unasked();
    service.catch_up(Instant::now() + PROBE_PATIENCE).await.map_err(unready)?;
    match service.engine().standing().await {
        Standing::Peer(status) if !status.lets_in() => Err(unready(Unavailable::NoMajority.into()).into()),
        Standing::Peer(_) | Standing::Replicated(_) => Ok("ready\n"),
    }
}

/// The figures of this node.
pub(super) async fn metrics<E: Engine + Cluster>(api: Api<E>) -> Result<impl IntoResponse, Failure> {
    let service = api.service.reader()?;
    let media = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let standing = service.engine().standing().await;
    Ok(([(header::CONTENT_TYPE, media)], page(&api.telemetry, service, &standing)))
}

pub(super) async fn status<E: Engine + Cluster>(api: Api<E>) -> Result<Json<Status>, Failure> {
    let service = api.service.reader()?;
    let engine = service.engine();
    let leadership = *engine.leadership().borrow();
    let (sessions, locks) = service.look(|machine| (machine.sessions().len() as u64, machine.names().len() as u64));
    let mut status = Status {
        node: engine.node(),
        version: env!("CARGO_PKG_VERSION").into(),
        term: leadership.term,
        leader: leadership.leader,
        applied: service.index(),
        sessions,
        locks,
        members: engine.members().into_iter().map(shown).collect(),
        engine: EngineKind::Replicated,
        figures: Figures { requests: api.telemetry.requests(), ..Figures::default() },
        trouble: None,
        turns: None,
    };
    match engine.standing().await {
        Standing::Replicated(replica) => {
            status.leader = status.leader.filter(|_| replica.leader.is_some());
            status.figures.writes = replica.syncs.count;
            status.figures.writes_us = Some(replica.syncs.total_us);
            for member in &mut status.members {
                let follower = replica.followers.iter().find(|one| one.node == member.node);
                member.lag = follower.map(|one| one.lag);
                member.silent_ms = follower.and_then(|one| one.silent_ms);
            }
            status.trouble = replica.trouble;
        }
        Standing::Peer(peer) => {
            status.engine = EngineKind::Peer;
            status.leader = peer.node.as_ref().and_then(|node| node.leader).map(|id| id.number().into());
            status.term = peer.node.as_ref().map_or(0, |node| node.elections);
            status.figures.writes = peer.node.as_ref().map_or(0, |node| node.syncs);
            status.trouble = peer.trouble();
            status.turns = Some(turns(*peer));
        }
    }
    Ok(Json(status))
}

/// Who asks, and what that one may do.
pub(super) async fn whoami<E: Engine>(api: Api<E>) -> Result<Json<Whoami>, Failure> {
    let Some(token) = api.service.token()? else {
        return Ok(Json(Whoami { name: None, role: RoleKind::Admin, prefixes: Vec::new() }));
    };
    let (role, prefixes) = match &token.role {
        Role::Read => (RoleKind::Read, Vec::new()),
        Role::Lock { prefixes } => (RoleKind::Lock, prefixes.clone()),
        Role::Admin => (RoleKind::Admin, Vec::new()),
    };
    Ok(Json(Whoami { name: Some(token.name.to_string()), role, prefixes }))
}

/// How turns are taken, as it is told.
fn turns(status: peer::Status) -> Turns {
    let peers = status.node.iter().flat_map(|node| &node.peers).map(|peer| Peer {
        node: peer.id.number().into(),
        address: peer.address.clone(),
        connected: peer.is_connected,
        suspected: peer.is_suspected,
        round_trip_us: peer.round_trip.map(|took| took.as_micros() as u64),
        failure: peer.failure.as_deref().map(String::from),
    });
    Turns {
        algorithm: status.turns.program(),
        election: status.turns.election.name().into(),
        peers: peers.collect(),
        incarnation: status.node.as_ref().map_or(0, |node| node.incarnation),
        resources: status.node.as_ref().map_or(0, |node| node.resources as u64),
        terms: status.node.map(|node| node.terms),
    }
}

/// What this node has become, in one number: all that have applied as much have become the same.
pub(super) async fn digest<E: Engine>(api: Api<E>) -> Result<Json<Digest>, Failure> {
    let service = api.service.reader()?;
    // The number of the last command does not change while the machine is looked at.
    let (applied, digest) = service.look(|machine| (service.index(), machine.digest()));
    Ok(Json(Digest { applied, digest: format!("{digest:016x}") }))
}

pub(super) async fn members<E: Engine + Cluster>(api: Api<E>) -> Result<Json<Vec<Member>>, Failure> {
    let service = api.service.reader()?;
    service.catch_up(soon()).await?;
    Ok(Json(service.engine().members().into_iter().map(shown).collect()))
}

/// An address that others can be told: not endless, and with a port.
fn checked(member: AddMember) -> Result<AddMember, Failure> {
    if member.node == 0 {
        return Err(Problem::of_field("node", "the id of a node must be at least 1").into());
    }
    if member.address.len() > LONGEST_NAME || !member.address.contains(':') {
        return Err(Problem::of_field("address", "the address must be host:port, as in 10.0.0.4:7420").into());
    }
    Ok(member)
}

pub(super) async fn add_member<E: Engine + Cluster>(
    api: Api<E>,
    Body(body): Body<AddMember>,
) -> Result<StatusCode, Failure> {
    let AddMember { node, address } = checked(body)?;
    let service = api.service.admin()?;
    service.catch_up(soon()).await?;
    service.engine().add_member(node, address).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn remove_member<E: Engine + Cluster>(
    api: Api<E>,
    Path(node): Path<u64>,
) -> Result<StatusCode, Failure> {
    let service = api.service.admin()?;
    service.catch_up(soon()).await?;
    service.engine().remove_member(node).await?;
    Ok(StatusCode::NO_CONTENT)
}
