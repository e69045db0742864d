//! The peer engine: the servers take turns among themselves, by any algorithm of the catalogue that recovers. No leader
//! orders anything, and there is no log.
//!
//! Each node has a [machine](Machine::by_turns) of its own, in memory, with the sessions of the clients that speak to
//! it. When one of them is first in line for a name, the node asks for its turn (`turns.rs`), as an application that
//! embeds [`quorate_net`] does; when it comes, the client gets the lock with the turn's fence.
//!
//! # What it promises
//! - Of one name, one grant at a time in the whole group, as long as nobody who lives is taken for dead, and fences
//!   that grow: what `quorate_net` promises. A node that does not trust a majority lets nobody in, and takes away what
//!   its clients hold, which tells them.
//! - Within a node it is first come, first served; between nodes it is as fair as the algorithm.
//!
//! # What it does not promise
//! - A session lives on one node, and ends with it. When a node dies, what its clients hold passes on as soon as the
//!   others take it for dead, however long the session had: what a client does until it notices, only the fence keeps
//!   from doing harm.
//! - Shared locks, permits, delays after a loss, backups and changes of members: who asks is told what to do instead.
//! - What clients of other nodes hold is not known here.

mod settings;
mod status;
mod turns;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use quorate_net::{JoinError, Node};
use tokio::sync::watch;
use tokio::time::timeout;

pub use settings::{PeerSettings, TurnSettings};
pub use status::Status;

use crate::engine::{
    Applied, Cluster, ClusterError, Engine, Leadership, Listener, MemberInfo, NodeId, Standing, Unavailable,
};
use crate::machine::{Acquire, Beyond, Command, Departure, Fence, Machine, Refusal, Response};
use turns::Table;

/// It decides for its own clients from its first day to its last.
const TERM: u64 = 1;

/// A node of a group that takes turns. Clones are the same.
#[derive(Clone)]
pub struct PeerEngine(Arc<Inner>);

struct Inner {
    settings: PeerSettings,
    table: Arc<Table>,
    /// For its own clients it decides alone.
    leadership: watch::Sender<Leadership>,
    /// Who leads among the members, for what they need a leader for.
    elected: watch::Sender<Leadership>,
    trouble: watch::Sender<Option<String>>,
    /// Calls that have no number get one.
    calls: AtomicU64,
}

impl PeerEngine {
    /// Joins the group. Whoever listens is told of everything that is done for the clients of this node.
    pub async fn start(settings: PeerSettings, listener: Arc<dyn Listener>) -> Result<PeerEngine, JoinError> {
        let node = Node::join(settings.config()).await?;
        let leadership = Leadership { term: TERM, leader: Some(settings.node), is_here: true };
        let inner = Arc::new(Inner {
            settings,
            table: Table::new(node.clone(), listener),
            leadership: watch::Sender::new(leadership),
            elected: watch::Sender::default(),
            trouble: watch::Sender::new(None),
            calls: 1.into(),
        });
        tokio::spawn(follow(node, Arc::downgrade(&inner)));
        Ok(PeerEngine(inner))
    }

    /// Why this node takes no part any more, if it does not: a sentence that says what to do.
    pub fn trouble(&self) -> watch::Receiver<Option<String>> {
        self.0.trouble.subscribe()
    }

    /// Who leads among the members, now and from now on. Its term counts how often that has changed.
    pub fn elected(&self) -> watch::Receiver<Leadership> {
        self.0.elected.subscribe()
    }

    /// Tells clients that they hold nothing any more, gives back all turns, and leaves the group.
    pub async fn stop(&self) {
        self.0.table.close().await;
        self.0.table.node().stop().await;
    }

    /// Asks for a lock for somebody who does not want to wait: for as long as it takes to hear from all others, at
    /// most. Whoever drops this is not waited for, but it comes to its end.
    async fn try_now(&self, acquire: Acquire) -> Result<Applied, Unavailable> {
        let this = self.clone();
        let tried = tokio::spawn(async move { this.try_to_the_end(acquire).await });
        tried.await.unwrap_or(Err(Unavailable::Unknown))
    }

    async fn try_to_the_end(&self, mut acquire: Acquire) -> Result<Applied, Unavailable> {
        if acquire.call == 0 {
            acquire.call = self.0.calls.fetch_add(1, Ordering::Relaxed);
        }
        let (session, call, name) = (acquire.session, acquire.call, acquire.name.clone());
        let table = &self.0.table;
        let mut news = table.hear(session, &name);
        let asked = table.apply(Command::Acquire(acquire))?;
        if !matches!(asked.response, Response::Queued { .. }) {
            return Ok(asked);
        }
        // Whatever comes of it, what counts is what is true afterwards.
        let _ = timeout(self.0.settings.patience(table.node()), news.changed()).await;
        let (applied, fence) = table.give_up_unless_held(session, call, &name)?;
        let response = match fence {
            Some(fence) => Response::Granted { fence },
            None if *news.borrow() == Some(Departure::NoTurn) => {
                Response::Refused(Refusal::NotByTurns(Beyond::TooManyNames))
            }
            None if self.status().await.lets_in() => Response::Busy,
            None => return Err(Unavailable::NoMajority),
        };
        Ok(Applied { response, ..applied })
    }

    async fn status(&self) -> Status {
        let node = self.0.table.node().status().await.ok();
        Status { turns: self.0.settings.turns.clone(), node }
    }
}

/// Follows who leads among the members, and reports if the node stops by itself.
async fn follow(node: Node, inner: Weak<Inner>) {
    let (me, mut leadership) = (node.id(), node.leadership());
    drop(node);
    let mut leader = leadership.leader();
    loop {
        let Some(inner) = inner.upgrade() else { return };
        inner.elected.send_modify(|elected| {
            let (leader, is_here) = (leader.map(|id| NodeId::from(id.number())), leader == Some(me));
            *elected = Leadership { term: elected.term + u64::from(leader.is_some()), leader, is_here };
        });
        drop(inner);
        match leadership.changed().await {
            Ok(now) => leader = now,
            Err(_) => break,
        }
    }
    if let Some(inner) = inner.upgrade().filter(|inner| !inner.table.is_closed()) {
        let trouble = inner.table.node().trouble();
        let trouble = trouble.map_or_else(
            || "the node has stopped unexpectedly: its log says why".into(),
            |trouble| trouble.to_string(),
        );
        inner.trouble.send_replace(Some(trouble));
    }
}

impl Engine for PeerEngine {
    async fn submit(&self, command: Command) -> Result<Applied, Unavailable> {
        match command {
            Command::Acquire(acquire) if !acquire.wait => self.try_now(acquire).await,
            command => self.0.table.apply(command),
        }
    }

    async fn submit_in(&self, _: u64, command: Command) -> Result<Applied, Unavailable> {
        self.submit(command).await
    }

    /// What this node's clients have, nobody else decides. If the node has stood still, it hears of that first; those
    /// whose turns have ended by that are told by tasks of their own, which may be a moment later.
    async fn confirm(&self) -> Result<(), Unavailable> {
        self.0.table.node().stamp().await.map(|_| ()).map_err(|_| Unavailable::Stopping)
    }

    /// A fence tells when the turn was, and not when it came to this node.
    fn index_of(&self, _: Fence) -> u64 {
        0
    }

    fn look<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        self.0.table.look(look)
    }

    /// Nodes ask each other for turns, and for nothing else.
    async fn ask(&self, _: NodeId, _: Vec<u8>) -> Result<Vec<u8>, Unavailable> {
        Err(Unavailable::Elsewhere { leader: None })
    }

    fn leadership(&self) -> watch::Receiver<Leadership> {
        self.0.leadership.subscribe()
    }
}

impl Cluster for PeerEngine {
    fn node(&self) -> NodeId {
        self.0.settings.node
    }

    async fn standing(&self) -> Standing {
        Standing::Peer(Box::new(self.status().await))
    }

    fn members(&self) -> Vec<MemberInfo> {
        let members = self.0.settings.members.iter();
        members.map(|(node, address)| MemberInfo { node: *node, address: address.clone(), votes: true }).collect()
    }

    async fn add_member(&self, _: NodeId, _: String) -> Result<(), ClusterError> {
        Err(ClusterError::NotWithThisEngine(FIXED))
    }

    async fn remove_member(&self, _: NodeId) -> Result<(), ClusterError> {
        Err(ClusterError::NotWithThisEngine(FIXED))
    }

    fn backup(&self) -> Result<Vec<u8>, ClusterError> {
        Err(ClusterError::NotWithThisEngine(NOTHING_TO_KEEP))
    }
}

const FIXED: &str = "the peer engine has a fixed list of members: stop all nodes and start them with another list of \
     --member, or use --engine replicated";
const NOTHING_TO_KEEP: &str = "the peer engine has nothing to back up, because sessions and locks end when their node \
     stops: use --engine replicated to keep them";
