//! A node of the service: one port on which clients speak, a data directory, and an engine. Members of a cluster that
//! replicates speak on the same port; those that take turns have one of their own.

mod accept;
mod peer;
mod socket;
mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use quorate_net::JoinError;
pub use quorate_net::TlsFiles;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use tls::{MEMBER_NAME, TlsError, check_tls};

use crate::access::{Access, Authorised, TokensError};
use crate::api::{self, same_origin::guard_name};
use crate::engine::{Cluster, Engine, NodeId};
use crate::etcd::{Calls, Identity};
use crate::peer::{PeerEngine, PeerSettings};
use crate::raft::{self, RandomId, Replica, Settings, StartError, Timing};
use crate::service::{Desk, Service};
use crate::telemetry::{Journal, Telemetry};
use accept::Door;
use peer::Believed;
use tls::Tls;

/// What a node is told to start.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// Where to listen. Port 0 means any that is free.
    pub listen: SocketAddr,
    /// How it agrees with others.
    pub engine: EngineSettings,
    /// The certificates, if what is said is to be encrypted and members are to show theirs.
    pub tls: Option<TlsFiles>,
    /// The file with the tokens, if clients are to be asked who they are.
    pub tokens: Option<PathBuf>,
    /// Whether the network is the cluster's alone: members are believed without certificates.
    pub is_insecure: bool,
    /// So many connections there may be.
    pub most_connections: usize,
}

/// How a node agrees with others.
#[derive(Clone, Debug)]
pub enum EngineSettings {
    /// A log, on a majority's disks.
    Replicated(ReplicatedSettings),
    /// By turns, each node for its own clients.
    Peer(PeerSettings),
}

/// What a node is told that replicates.
#[derive(Clone, Debug)]
pub struct ReplicatedSettings {
    /// Its number within the cluster.
    pub node: NodeId,
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
}

impl EngineSettings {
    /// The node's number.
    pub fn node(&self) -> NodeId {
        match self {
            EngineSettings::Replicated(settings) => settings.node,
            EngineSettings::Peer(settings) => settings.node,
        }
    }

    /// Its data directory.
    pub fn data(&self) -> &PathBuf {
        match self {
            EngineSettings::Replicated(settings) => &settings.data,
            EngineSettings::Peer(settings) => &settings.data,
        }
    }
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
    /// The node cannot join those with whom it takes turns.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// The directory is that of a node with another engine.
    #[error(
        "{} has the data of a node with the {engine} engine; with another engine, new fences could be smaller than old \
         ones: start the node with --engine {engine}, or choose another directory with --data",
        data.display()
    )]
    OtherEngine {
        /// Which.
        data: PathBuf,
        /// What it was started with.
        engine: &'static str,
    },
}

/// A running node.
pub struct Node {
    engine: Running,
    address: SocketAddr,
    stopping: CancellationToken,
    accepting: tokio::task::JoinHandle<()>,
}

/// What runs behind the port.
enum Running {
    Replicated(Arc<Service<Replica>>),
    Peer(PeerEngine),
}

/// What every node has, whatever its engine.
struct Hall {
    listener: TcpListener,
    tls: Option<Tls>,
    access: Option<Arc<Access>>,
    most_connections: usize,
    desk: Arc<Desk>,
    telemetry: Arc<Telemetry>,
    stopping: CancellationToken,
}

impl Hall {
    /// Lets clients in.
    fn open<E: Engine + Cluster>(
        self,
        service: Arc<Service<E>>,
        identity: impl Fn() -> Identity + Send + Sync + 'static,
        member_routes: Router,
    ) -> tokio::task::JoinHandle<()> {
        let Hall { listener, tls, access, most_connections, telemetry, stopping, .. } = self;
        let authorised = Authorised::new(service, access.clone());
        let calls = Arc::new(Calls::new(authorised.clone(), identity, &telemetry));
        let mut routes = api::routes(authorised, Arc::clone(&telemetry));
        if access.is_none() && listener.local_addr().is_ok_and(|address| address.ip().is_loopback()) {
            routes = routes.layer(from_fn(guard_name));
        }
        let routes = routes.merge(member_routes.clone());
        if let Some(access) = access {
            tokio::spawn(access.keep_up(stopping.clone()));
        }
        let door = Door { routes, calls, member_routes, tls, most_connections, telemetry };
        tokio::spawn(accept::accept(listener, door, stopping))
    }
}

/// A future that is built where it is written.
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl Node {
    /// Starts a node. It answers from now on, as soon as there is a leader, or as far as it can alone.
    ///
    /// The future is boxed so that this crate builds it, and not each program that awaits it.
    pub fn start(settings: NodeSettings) -> Boxed<Result<Node, NodeError>> {
        Box::pin(Node::open(settings))
    }

    async fn open(settings: NodeSettings) -> Result<Node, NodeError> {
        let NodeSettings { listen, engine, tls, tokens, is_insecure, most_connections } = settings;
        let tls = tls.as_ref().map(Tls::read).transpose()?;
        let believed = Believed::of(tls.is_some(), tokens.is_some(), is_insecure);
        let access = tokens.map(Access::open).transpose()?;
        refuse_other_engine(&engine)?;
        let listener = TcpListener::bind(listen).await.map_err(|error| NodeError::Listen { address: listen, error })?;
        let address = listener.local_addr().map_err(|error| NodeError::Listen { address: listen, error })?;
        let (telemetry, journal) = Telemetry::begin();
        let (desk, stopping, node) = (Desk::open(), CancellationToken::new(), engine.node());
        let hall = Hall { listener, tls, access, most_connections, desk, telemetry, stopping: stopping.clone() };
        let (engine, accepting) = match engine {
            EngineSettings::Replicated(settings) => replicate(settings, hall, journal, address, believed).await?,
            EngineSettings::Peer(settings) => take_turns(settings, hall, journal).await?,
        };
        tracing::info!(node, %address, version = env!("CARGO_PKG_VERSION"), "node started");
        Ok(Node { engine, address, stopping, accepting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Why this node takes no part, if it does not: a sentence that says what to do.
    pub fn trouble(&self) -> watch::Receiver<Option<String>> {
        match &self.engine {
            Running::Replicated(service) => service.engine().trouble(),
            Running::Peer(engine) => engine.trouble(),
        }
    }

    /// Stops: another node leads first, if this one does and another one can, or turns are given back; then nobody is
    /// answered any more.
    pub fn stop(self) -> Boxed<()> {
        Box::pin(self.close())
    }

    async fn close(self) {
        tracing::info!("node stopping");
        match &self.engine {
            Running::Replicated(service) => service.engine().shutdown(service.bequeath()).await,
            Running::Peer(engine) => engine.stop().await,
        }
        self.stopping.cancel();
        // It ends when told to; if it has panicked, it has ended, too.
        let _ = self.accepting.await;
    }
}

/// A directory belongs to one engine: the numbers of the other one would begin anew.
fn refuse_other_engine(engine: &EngineSettings) -> Result<(), NodeError> {
    let data = engine.data();
    let (has_other, other) = match engine {
        EngineSettings::Replicated(_) => (quorate_net::has_data(data), "peer"),
        EngineSettings::Peer(_) => (raft::has_data(data), "replicated"),
    };
    if has_other { Err(NodeError::OtherEngine { data: data.clone(), engine: other }) } else { Ok(()) }
}

type Started = (Running, tokio::task::JoinHandle<()>);

async fn replicate(
    settings: ReplicatedSettings,
    hall: Hall,
    journal: Journal,
    address: SocketAddr,
    believed: Believed,
) -> Result<Started, NodeError> {
    let ReplicatedSettings { node, advertise, data, first_members, joins, timing } = settings;
    let answerer = Arc::new(peer::ServiceAnswerer::default());
    let mut settings = Settings::new(node, data, advertise.unwrap_or_else(|| address.to_string()));
    settings.timing = timing;
    settings.listener = Arc::new((Arc::clone(&hall.desk), Arc::clone(&hall.telemetry)));
    settings.answerer = Arc::clone(&answerer) as _;
    settings.connector = Arc::new(peer::ByUpgrade { tls: hall.tls.clone() });
    let settings = if first_members.is_empty() && !joins {
        settings.alone()
    } else {
        settings.first_members = first_members;
        settings
    };
    let replica = Replica::start(settings).await?;
    hall.telemetry.follow(replica.leadership());
    tokio::spawn(journal.write(replica.leadership()));
    let service = Service::start(replica.clone(), Arc::clone(&hall.desk));
    answerer.begin(&service);
    let of_cluster = replica.clone();
    let identity = move || {
        let cluster_id = of_cluster.cluster().map_or(0, RandomId::short);
        Identity { cluster_id, member_id: node }
    };
    let accepting = hall.open(Arc::clone(&service), identity, peer::routes(replica, believed));
    Ok((Running::Replicated(service), accepting))
}

async fn take_turns(settings: PeerSettings, hall: Hall, journal: Journal) -> Result<Started, NodeError> {
    let identity = Identity { cluster_id: settings.cluster_id(), member_id: settings.node };
    let engine = PeerEngine::start(settings, Arc::new((Arc::clone(&hall.desk), Arc::clone(&hall.telemetry)))).await?;
    hall.telemetry.follow(engine.leadership());
    tokio::spawn(journal.write(engine.elected()));
    let service = Service::start(engine.clone(), Arc::clone(&hall.desk));
    let accepting = hall.open(service, move || identity, Router::new());
    Ok((Running::Peer(engine), accepting))
}
