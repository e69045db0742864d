//! A node of the service: one port on which clients and other members speak, and a data directory.

mod accept;
mod peer;
mod socket;
mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use tls::{MEMBER_NAME, TlsError, TlsFiles, check_tls};

use crate::access::{Access, Authorised, TokensError};
use crate::api;
use crate::engine::{Engine, NodeId};
use crate::etcd::{Calls, Identity};
use crate::raft::{RandomId, Replica, Settings, StartError, Timing};
use crate::service::{Desk, Service};
use crate::telemetry::Telemetry;
use accept::Door;
use peer::Believed;
use tls::Tls;

/// What a node is told to start.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// Its number within the cluster.
    pub node: NodeId,
    /// Where to listen. Port 0 means any that is free.
    pub listen: SocketAddr,
    /// Where the others reach it, if that is not where it listens.
    pub advertise: Option<String>,
    /// Its data directory.
    pub data: PathBuf,
    /// Those who begin a cluster together; nobody if it is alone, or waits to be added.
    pub first_members: BTreeMap<NodeId, String>,
    /// Whether it waits to be added to a cluster that exists.
    pub joins: bool,
    /// How fast the loss of a leader is noticed.
    pub timing: Timing,
    /// The certificates, if what is said is to be encrypted and members are to show theirs.
    pub tls: Option<TlsFiles>,
    /// The file with the tokens, if clients are to be asked who they are.
    pub tokens: Option<PathBuf>,
    /// Whether the network is the cluster's alone: members are believed without certificates.
    pub is_insecure: bool,
    /// So many connections there may be.
    pub most_connections: usize,
}

/// So many connections there may be, unless told otherwise.
pub const MOST_CONNECTIONS: usize = 100_000;

/// Why a node does not start.
#[derive(Debug, Error)]
pub enum NodeError {
    /// Nobody can listen there.
    #[error("cannot listen on {address}: {error}; choose another address with --listen")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The replica does not start.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// A running node.
pub struct Node {
    /// What it does for clients.
    pub service: Arc<Service<Replica>>,
    address: SocketAddr,
    stopping: CancellationToken,
    accepting: tokio::task::JoinHandle<()>,
}

impl Node {
    /// Starts a node. It answers from now on, as soon as there is a leader.
    pub async fn start(settings: NodeSettings) -> Result<Node, NodeError> {
        let NodeSettings { node, listen, advertise, data, first_members, joins, timing, .. } = settings;
        let (tokens, most_connections) = (settings.tokens, settings.most_connections);
        let tls = settings.tls.as_ref().map(Tls::read).transpose()?;
        let believed = Believed::of(tls.is_some(), tokens.is_some(), settings.is_insecure);
        let access = tokens.map(Access::open).transpose()?;
        let listener = TcpListener::bind(listen).await.map_err(|error| NodeError::Listen { address: listen, error })?;
        let address = listener.local_addr().map_err(|error| NodeError::Listen { address: listen, error })?;
        let desk = Desk::open();
        let answerer = Arc::new(peer::ServiceAnswerer::default());
        let mut settings = Settings::new(node, data, advertise.unwrap_or_else(|| address.to_string()));
        settings.timing = timing;
        let (telemetry, journal) = Telemetry::begin();
        settings.listener = Arc::new((Arc::clone(&desk), Arc::clone(&telemetry)));
        settings.answerer = Arc::clone(&answerer) as _;
        settings.connector = Arc::new(peer::ByUpgrade { tls: tls.clone() });
        let settings = if first_members.is_empty() && !joins {
            settings.alone()
        } else {
            settings.first_members = first_members;
            settings
        };
        let replica = Replica::start(settings).await?;
        telemetry.follow(replica.leadership());
        tokio::spawn(journal.write(replica.leadership()));
        let service = Service::start(replica.clone(), desk);
        answerer.begin(&service);
        let of_cluster = replica.clone();
        let identity = move || {
            let cluster_id = of_cluster.cluster().map_or(0, RandomId::short);
            Identity { cluster_id, member_id: node }
        };
        let authorised = Authorised::new(Arc::clone(&service), access.clone());
        let member_routes = peer::routes(replica, believed);
        let calls = Arc::new(Calls::new(authorised.clone(), identity, &telemetry));
        let routes = Router::new().merge(api::routes(authorised, Arc::clone(&telemetry))).merge(member_routes.clone());
        let stopping = CancellationToken::new();
        if let Some(access) = access {
            tokio::spawn(access.keep_up(stopping.clone()));
        }
        let door = Door { routes, calls, member_routes, tls, most_connections, telemetry };
        let accepting = tokio::spawn(accept::accept(listener, door, stopping.clone()));
        tracing::info!(node, %address, version = env!("CARGO_PKG_VERSION"), "this node serves");
        Ok(Node { service, address, stopping, accepting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops: another node leads first, if this one does and another one can; then nobody is answered any more.
    pub async fn stop(self) {
        tracing::info!("this node stops");
        self.service.engine().shutdown(self.service.bequeath()).await;
        self.stopping.cancel();
        // It ends when told to; if it has panicked, it has ended, too.
        let _ = self.accepting.await;
    }
}
