//! Nodes to start, stop, wipe and start again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use quorate_server::engine::{Applied, Engine, NodeId, Unavailable};
use quorate_server::machine::{Command, SessionId};
use quorate_server::raft::{Answerer, Replica, Settings};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::ports::free_addresses;

/// Nothing in these tests takes so long, unless it never ends.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waited = timeout(PATIENCE, async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("it never came to this: {what}"));
}

/// A directory that is deleted in the end.
pub(crate) struct TemporaryDirectory(pub(crate) PathBuf);

impl TemporaryDirectory {
    pub(crate) fn new() -> TemporaryDirectory {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("quorate-raft-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        TemporaryDirectory(path)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Answers with who asks, and what.
struct Echo;

impl Answerer for Echo {
    fn answer(&self, from: NodeId, request: Bytes) -> BoxFuture<'_, Bytes> {
        Box::pin(async move { format!("{from} said {}", String::from_utf8_lossy(&request)).into() })
    }
}

/// A node that runs.
pub(crate) struct Node {
    pub(crate) replica: Replica,
    accepting: JoinHandle<()>,
}

impl Node {
    pub(crate) async fn start(settings: Settings) -> Node {
        let listener = TcpListener::bind(&settings.address).await.unwrap();
        let replica = Replica::start(settings).await.unwrap();
        let accepted = replica.clone();
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let replica = accepted.clone();
                tokio::spawn(async move { replica.serve(stream).await });
            }
        });
        Node { replica, accepting }
    }

    /// Stops at once.
    pub(crate) async fn stop(self) {
        self.accepting.abort();
        let _ = self.accepting.await;
        self.replica.stop().await;
    }

    /// Stops in an orderly way.
    pub(crate) async fn shutdown(self) {
        self.replica.shutdown(std::future::ready(())).await;
        self.accepting.abort();
    }
}

/// Settings and disks of some nodes, and those that run.
pub(crate) struct Cluster {
    pub(crate) settings: BTreeMap<NodeId, Settings>,
    pub(crate) nodes: BTreeMap<NodeId, Node>,
    disks: TemporaryDirectory,
}

impl Cluster {
    /// These nodes begin together.
    pub(crate) async fn begin(ids: impl IntoIterator<Item = NodeId>, change: impl Fn(&mut Settings)) -> Cluster {
        let mut cluster =
            Cluster { settings: BTreeMap::new(), nodes: BTreeMap::new(), disks: TemporaryDirectory::new() };
        for id in ids {
            let settings = cluster.prepare(id);
            cluster.settings.insert(id, settings);
        }
        let first: BTreeMap<_, _> =
            cluster.settings.iter().map(|(id, settings)| (*id, settings.address.clone())).collect();
        for settings in cluster.settings.values_mut() {
            settings.first_members = first.clone();
            change(settings);
        }
        for id in cluster.settings.keys().copied().collect::<Vec<_>>() {
            cluster.start(id).await;
        }
        cluster.leader().await;
        cluster
    }

    pub(crate) async fn three() -> Cluster {
        Cluster::begin(1..=3, |_| ()).await
    }

    /// Settings for one more node, on a free port and with a disk of its own.
    pub(crate) fn prepare(&self, id: NodeId) -> Settings {
        let address = free_addresses(1).remove(0);
        let mut settings = Settings::new(id, self.disks.0.join(id.to_string()), address);
        settings.answerer = Arc::new(Echo);
        settings
    }

    /// A node that waits to be added.
    pub(crate) async fn start_another(&mut self, id: NodeId) -> String {
        let settings = self.prepare(id);
        let address = settings.address.clone();
        self.settings.insert(id, settings);
        self.start(id).await;
        address
    }

    pub(crate) async fn start(&mut self, id: NodeId) {
        let node = Node::start(self.settings[&id].clone()).await;
        self.nodes.insert(id, node);
    }

    pub(crate) async fn stop(&mut self, id: NodeId) {
        self.nodes.remove(&id).unwrap().stop().await;
    }

    pub(crate) fn replica(&self, id: NodeId) -> &Replica {
        &self.nodes[&id].replica
    }

    /// Who leads, once somebody does.
    pub(crate) async fn leader(&self) -> NodeId {
        let mut leader = None;
        until("somebody leads", || {
            let leads = |node: &&Node| node.replica.leadership().borrow().is_here;
            leader = self.nodes.values().find(leads).map(|node| node.replica.status().node);
            leader.is_some()
        })
        .await;
        leader.unwrap()
    }

    /// Some node that does not lead.
    pub(crate) async fn follower(&self) -> NodeId {
        let leader = self.leader().await;
        self.nodes.keys().copied().find(|id| *id != leader).unwrap()
    }

    /// Has a command applied, by whoever leads. It may be applied twice.
    pub(crate) async fn submit(&self, command: Command) -> Applied {
        timeout(PATIENCE, async {
            loop {
                let leader = self.leader().await;
                match self.replica(leader).submit(command.clone()).await {
                    Ok(applied) => return applied,
                    Err(Unavailable::Stopping) => panic!("a node that runs says that it stops"),
                    Err(_) => sleep(Duration::from_millis(20)).await,
                }
            }
        })
        .await
        .expect("a cluster with a majority takes commands")
    }

    pub(crate) async fn open_sessions(&self, sessions: impl IntoIterator<Item = u64>) {
        for session in sessions {
            self.submit(open(session)).await;
        }
    }

    /// Waits until all that run have applied the same, and checks that they are the same.
    pub(crate) async fn agree(&self) {
        let leader = self.leader().await;
        let seen = |id: &NodeId| {
            let replica = self.replica(*id);
            (replica.status().commands, replica.look(|machine| machine.digest()))
        };
        until("all have applied as much as the leader", || self.nodes.keys().all(|id| seen(id).0 == seen(&leader).0))
            .await;
        let expected = seen(&leader);
        for id in self.nodes.keys() {
            assert_eq!(seen(id), expected, "node {id} differs from the leader {leader}");
        }
    }

    pub(crate) fn has_sessions(&self, id: NodeId, sessions: impl IntoIterator<Item = u64>) {
        self.replica(id).look(|machine| {
            for session in sessions {
                assert!(machine.session(SessionId::new(session).unwrap()).is_some(), "session {session} is lost");
            }
        });
    }
}

pub(crate) fn open(session: u64) -> Command {
    let session = SessionId::new(session).unwrap();
    Command::Open { session, ttl_ms: 10_000, label: format!("test {session}"), owner: String::new(), transient: false }
}
