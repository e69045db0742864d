//! What the service needs of whoever brings commands into one order and makes that order durable.
//!
//! One node or a cluster behind one trait: the service above knows neither logs nor turns. There are two: [`raft`]
//! replicates the commands, and [`peer`] has each node apply those of its own clients, and lets nobody in out of turn.

use std::future::Future;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::watch;

use crate::machine::{Command, Event, Fence, Machine, Moment, Response};
use crate::{peer, raft};

/// A node's number within its cluster.
pub type NodeId = u64;

/// What became of a command: it is durable, and every node will apply it at this moment with this response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// When it was applied.
    pub moment: Moment,
    /// What came of it.
    pub response: Response,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Unavailable {
    /// Another node leads. Nothing was done.
    #[error("another node is the leader; nothing was done: send the request to the leader")]
    Elsewhere {
        /// Which node, if that is known.
        leader: Option<NodeId>,
    },
    /// It is not known whether it was done. Asking again with the same number finds out.
    #[error(
        "the outcome is unknown: the change may or may not have been made; send the request again with the same \
         request number"
    )]
    Unknown,
    /// There is too much to do. Nothing was done.
    #[error("this node is overloaded; nothing was done: try again later")]
    Overloaded,
    /// The node stops, or its disk has failed. Nothing was done.
    #[error("this node is shutting down; nothing was done: ask another node")]
    Stopping,
    /// The node does not trust a majority of its group, or takes no part in it yet, and lets nobody in. Nothing was
    /// done.
    #[error(
        "this node cannot reach a majority of its group, or has not joined it yet, and grants nothing: check that a \
         majority of the members runs; `quorate status` names those that are missing"
    )]
    NoMajority,
}

/// Who leads, as far as a node knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leadership {
    /// Grows with every election.
    pub term: u64,
    /// The leader, if one is known.
    pub leader: Option<NodeId>,
    /// Whether it is this node, and everything that was decided before it led has been applied here.
    pub is_here: bool,
}

/// Brings commands into one order and makes it durable.
pub trait Engine: Send + Sync + 'static {
    /// Has a command applied. Only the leader can; it answers when the command is durable on a majority and applied
    /// here.
    fn submit(&self, command: Command) -> impl Future<Output = Result<Applied, Unavailable>> + Send;

    /// As [`submit`](Self::submit), but only while this node leads in this term: later, another one may have led and
    /// promised something else.
    fn submit_in(&self, term: u64, command: Command) -> impl Future<Output = Result<Applied, Unavailable>> + Send;

    /// Returns when a majority has confirmed, in a round that began after the call, that this node still leads, and
    /// everything that was decided before the call has been applied here.
    fn confirm(&self) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// The number of the command by which a grant was made, if its fence tells that: a node that has applied so many
    /// knows of it.
    fn index_of(&self, fence: Fence) -> u64 {
        fence.index()
    }

    /// Looks at the machine as it is here and now.
    fn look<T>(&self, look: impl FnOnce(&Machine) -> T) -> T;

    /// Asks the service on another node something, and returns what it answers.
    fn ask(&self, node: NodeId, question: Vec<u8>) -> impl Future<Output = Result<Vec<u8>, Unavailable>> + Send;

    /// Who leads, now and from now on.
    fn leadership(&self) -> watch::Receiver<Leadership>;
}

/// Who is told of everything that happens, on every node, in order. It is called while the machine cannot change, so it
/// must be quick.
pub trait Listener: Send + Sync + 'static {
    /// A command was applied, and this came of it.
    fn applied(&self, moment: Moment, events: &[Event]);

    /// The machine was replaced by another one, which has applied the command of this number: events may have been
    /// missed.
    fn replaced(&self, machine: &Machine, index: u64);
}

/// Both are told, one after the other.
impl<A: Listener, B: Listener> Listener for (Arc<A>, Arc<B>) {
    fn applied(&self, moment: Moment, events: &[Event]) {
        self.0.applied(moment, events);
        self.1.applied(moment, events);
    }

    fn replaced(&self, machine: &Machine, index: u64) {
        self.0.replaced(machine, index);
        self.1.replaced(machine, index);
    }
}

/// A member of the cluster, as the others know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberInfo {
    /// Its number.
    pub node: NodeId,
    /// Where it listens.
    pub address: String,
    /// Whether it votes, or still learns.
    pub votes: bool,
}

/// Why something was not done to the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClusterError {
    /// It cannot be done as things are.
    #[error("{0}")]
    Failed(String),
    /// The engine does not do such things.
    #[error("{0}")]
    NotWithThisEngine(&'static str),
}

/// How an engine is doing, in figures of its own.
#[derive(Clone, Debug)]
pub enum Standing {
    /// It replicates a log.
    Replicated(Box<raft::Status>),
    /// It takes turns.
    Peer(Box<peer::Status>),
}

/// Who takes part, and how to change that.
pub trait Cluster {
    /// This node's number.
    fn node(&self) -> NodeId;

    /// How this node is doing, in figures.
    fn standing(&self) -> impl Future<Output = Standing> + Send;

    /// All members, in the order of their numbers.
    fn members(&self) -> Vec<MemberInfo>;

    /// Adds a member: it learns first, and votes when it has caught up.
    fn add_member(&self, node: NodeId, address: String) -> impl Future<Output = Result<(), ClusterError>> + Send;

    /// Removes a member.
    fn remove_member(&self, node: NodeId) -> impl Future<Output = Result<(), ClusterError>> + Send;

    /// Everything that this node has applied, to be restored elsewhere. It may take a while.
    fn backup(&self) -> Result<Vec<u8>, ClusterError>;
}
