//! Finds who answers a call of a client of etcd, and counts what is asked and what is answered.
//!
//! Calls come here straight from the connection: they are most of what a busy node answers, and a router with its
//! layers would cost a call more than its answer does.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::Request;
use tonic::Code;
use tonic::codegen::{Service as _, StdError};
use tonic::server::NamedService;

use super::claim::Numbers;
use super::wire::etcdserverpb::auth_server::AuthServer;
use super::wire::etcdserverpb::lease_server::LeaseServer;
use super::wire::v3electionpb::election_server::ElectionServer;
use super::wire::v3lockpb::lock_server::LockServer;
use super::{Etcd, Identity, LARGEST_MESSAGE, delivery};
use crate::access::Authorised;
use crate::engine::Engine;
use crate::telemetry::{Results, Row, Telemetry};

/// Everything that can be asked. Whatever else is asked counts as something else.
const METHODS: [(&str, &str); 12] = [
    ("/etcdserverpb.Lease/LeaseGrant", "LeaseGrant"),
    ("/etcdserverpb.Lease/LeaseRevoke", "LeaseRevoke"),
    ("/etcdserverpb.Lease/LeaseKeepAlive", "LeaseKeepAlive"),
    ("/etcdserverpb.Lease/LeaseTimeToLive", "LeaseTimeToLive"),
    ("/etcdserverpb.Lease/LeaseLeases", "LeaseLeases"),
    ("/v3lockpb.Lock/Lock", "Lock"),
    ("/v3lockpb.Lock/Unlock", "Unlock"),
    ("/v3electionpb.Election/Campaign", "Campaign"),
    ("/v3electionpb.Election/Proclaim", "Proclaim"),
    ("/v3electionpb.Election/Leader", "Leader"),
    ("/v3electionpb.Election/Observe", "Observe"),
    ("/v3electionpb.Election/Resign", "Resign"),
];

/// One of etcd's services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// Tokens for a name and a password.
    Auth,
    /// Leases.
    Lease,
    /// Locks.
    Lock,
    /// Elections.
    Election,
}

/// Answers the clients of etcd.
pub struct Calls<E: Engine> {
    auth: AuthServer<Etcd<E>>,
    lease: LeaseServer<Etcd<E>>,
    lock: LockServer<Etcd<E>>,
    election: ElectionServer<Etcd<E>>,
    rows: Rows,
}

impl<E: Engine> Calls<E> {
    /// Has them answered by a service, and counted. Who answers is asked for each time: a node may come to know its
    /// cluster only after it has begun to answer.
    pub fn new(
        service: impl Into<Authorised<E>>,
        identity: impl Fn() -> Identity + Send + Sync + 'static,
        telemetry: &Telemetry,
    ) -> Calls<E> {
        let (identity, numbers) = (Arc::new(identity), Arc::new(Numbers::begin()));
        let etcd = Arc::new(Etcd { service: service.into(), identity, numbers });
        let row = |kind| telemetry.row("etcd", kind, Results::Codes);
        Calls {
            auth: AuthServer::from_arc(Arc::clone(&etcd)).max_decoding_message_size(LARGEST_MESSAGE),
            lease: LeaseServer::from_arc(Arc::clone(&etcd)).max_decoding_message_size(LARGEST_MESSAGE),
            lock: LockServer::from_arc(Arc::clone(&etcd)).max_decoding_message_size(LARGEST_MESSAGE),
            election: ElectionServer::from_arc(etcd).max_decoding_message_size(LARGEST_MESSAGE),
            rows: Rows { known: METHODS.map(|(_, kind)| row(kind)), other: row("other") },
        }
    }

    /// The service that a path belongs to, if it is one of these.
    pub fn called(path: &str) -> Option<Called> {
        let (service, _) = path.strip_prefix('/')?.split_once('/')?;
        match service {
            _ if service == LockServer::<Etcd<E>>::NAME => Some(Called::Lock),
            _ if service == LeaseServer::<Etcd<E>>::NAME => Some(Called::Lease),
            _ if service == ElectionServer::<Etcd<E>>::NAME => Some(Called::Election),
            _ if service == AuthServer::<Etcd<E>>::NAME => Some(Called::Auth),
            _ => None,
        }
    }

    /// Answers a call.
    pub async fn answer<B>(self: Arc<Self>, called: Called, request: Request<B>) -> Response
    where
        B: hyper::body::Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
    {
        let known = METHODS.iter().position(|(path, _)| *path == request.uri().path());
        let answered = match called {
            Called::Auth => self.auth.clone().call(request).await,
            Called::Lease => self.lease.clone().call(request).await,
            Called::Lock => self.lock.clone().call(request).await,
            Called::Election => self.election.clone().call(request).await,
        };
        let Ok(response) = answered;
        // What went well says so behind the answer, what failed says so before.
        let code = response.headers().get("grpc-status").map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()));
        known.map_or(&self.rows.other, |at| &self.rows.known[at]).count_code(code);
        delivery::watch::<E>(response).map(Body::new)
    }
}

/// What was asked how often. A stream counts once, when its first answer begins.
struct Rows {
    known: [Arc<Row>; METHODS.len()],
    other: Arc<Row>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_counted_by_its_name() {
        let services = [
            ("etcdserverpb.Lease", include_str!("../../proto/lease.proto")),
            ("v3lockpb.Lock", include_str!("../../proto/lock.proto")),
            ("v3electionpb.Election", include_str!("../../proto/election.proto")),
        ];
        let methods = services.iter().flat_map(|(service, text)| {
            let names = text.lines().filter_map(|line| line.trim().strip_prefix("rpc ")?.split_once('('));
            names.map(move |(name, _)| (format!("/{service}/{name}"), name.to_string()))
        });
        let known: Vec<_> = METHODS.iter().map(|(path, kind)| (path.to_string(), kind.to_string())).collect();
        assert_eq!(methods.collect::<Vec<_>>(), known);
    }
}
