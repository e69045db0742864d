//! A node: one process of a group, to be embedded.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use quorate_core::clock::{Fence, Number};
use quorate_core::id::Id;
use quorate_core::stack::Name;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::config::{Config, ConfigError};
use crate::desk::{Done, Granted, LONGEST_NAME, Refused, Ticket, Waiter};
use crate::joining::Joining;
use crate::store::StoreError;
use crate::tls::{Tls, TlsError};

/// One process of a group. Clones are the same node; it stops when [`Node::stop`] is called, or the last clone and the
/// last guard are gone.
#[derive(Clone)]
pub struct Node {
    handle: Arc<Handle>,
}

struct Handle {
    id: Id,
    commands: mpsc::UnboundedSender<Command>,
    leader: watch::Receiver<Option<Id>>,
    trouble: Trouble,
    tickets: AtomicU64,
    address: std::net::SocketAddr,
    patience: Duration,
}

/// Why a node has stopped by itself, once it has.
pub(crate) type Trouble = Arc<OnceLock<Arc<str>>>;

/// Why a node cannot join.
#[derive(Debug, Error)]
pub enum JoinError {
    /// It was told nonsense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Its directory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot listen.
    #[error(
        "cannot listen for other members on {address}: {error}; if another program has the port, choose another one \
         for this node on all of them (--member), or listen elsewhere with --member-listen (`Config::listen`)"
    )]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        error: io::Error,
    },
    /// Its trace cannot be written.
    #[error("cannot write the trace {}: {error}", path.display())]
    Trace {
        /// Where to.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The system has no random numbers to give.
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
}

/// What is asked of the task that owns the process.
pub(crate) enum Command {
    Ask {
        name: Name,
        waiter: Waiter,
    },
    Cancel {
        name: Name,
        ticket: Ticket,
    },
    Release {
        name: Name,
        ticket: Ticket,
        done: Option<Done>,
    },
    Lead,
    Wrote {
        name: Name,
        fence: Fence,
        accepted: bool,
    },
    Observe(Number),
    Stamp(oneshot::Sender<Number>),
    Status(oneshot::Sender<NodeStatus>),
    /// A member says that this node has forgotten what it promised.
    Disown {
        by: Id,
        why: String,
    },
    Stop,
}

/// How a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// Who it is.
    pub id: Id,
    /// In which life.
    pub incarnation: u64,
    /// Which algorithm it runs, and how.
    pub terms: String,
    /// Who leads, as far as it knows.
    pub leader: Option<Id>,
    /// If it does not take part yet, and lets nobody in: from whom it has not heard that it may. Nobody, if it only
    /// misses some whom others trust.
    pub awaited: Option<Vec<Id>>,
    /// The others.
    pub peers: Vec<PeerStatus>,
    /// Resources that it has heard of.
    pub resources: usize,
    /// Names that somebody on this node holds or waits for, and tasks that wait.
    pub wanted: (usize, usize),
    /// Messages that it has sent, by kind.
    pub sent: BTreeMap<&'static str, u64>,
    /// How often something arrived that nobody should have sent.
    pub unexpected: u64,
    /// How often it has waited for its disk.
    pub syncs: u64,
    /// How many records are missing in its trace, if it writes one.
    pub trace_lost: Option<u64>,
    /// How often it has come to know another leader.
    pub elections: u64,
    /// Timers that are armed: one to say that it lives, and one for each of the others that is trusted to live; all
    /// further ones wait for an answer.
    pub timers: usize,
}

/// What a node knows of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Who.
    pub id: Id,
    /// Where.
    pub address: String,
    /// Whether the connection that this node opens to it is there. If only the one that the other opens is, they speak
    /// on that.
    pub is_connected: bool,
    /// Whether it is taken for dead.
    pub is_suspected: bool,
    /// How often it was.
    pub suspicions: u64,
    /// How long there and back, when it was measured last.
    pub round_trip: Option<Duration>,
    /// How often this node has opened a connection to it.
    pub connections: u64,
    /// Messages that had nobody to go to.
    pub dropped: u64,
    /// Why that connection is not there, if the last attempt to open it has failed: in words that say what to do.
    pub failure: Option<Arc<str>>,
}

impl Node {
    /// Joins a group: begins to listen, and to look for the others. Does not wait for them.
    pub async fn join(config: Config) -> Result<Node, JoinError> {
        let checked = config.check()?;
        let tls = config.tls.as_ref().map(|files| Tls::read(files, checked.me)).transpose()?;
        let address = config.listen_address().to_string();
        let listen = |error| JoinError::Listen { address: address.clone(), error };
        let socket = TcpListener::bind(&address).await.map_err(listen)?;
        let address = socket.local_addr().map_err(listen)?;
        let trouble = Trouble::default();
        let joining = Joining { config: &config, checked: &checked, tls, socket, trouble: Arc::clone(&trouble) };
        let (commands, leader) = joining.begin()?;
        let (id, patience) = (checked.me, 4 * config.delay);
        let handle = Handle { id, commands, leader, trouble, tickets: AtomicU64::new(1), address, patience };
        Ok(Node { handle: Arc::new(handle) })
    }

    /// Who it is.
    pub fn id(&self) -> Id {
        self.handle.id
    }

    /// Where it listens.
    pub fn address(&self) -> std::net::SocketAddr {
        self.handle.address
    }

    /// As long as it takes until all who are asked could answer, by and large: so long does [`Node::try_lock`] wait.
    pub fn patience(&self) -> Duration {
        self.handle.patience
    }

    /// Waits for its turn. Who drops this before it is done withdraws, and nothing is left of it.
    pub async fn lock(&self, name: &str) -> Result<Guard, Refused> {
        check_name(name)?;
        self.ask(Name::new(name), true).await?.ok_or(Refused::Stopped)
    }

    /// Waits for its turn. Nothing, if it has no patience and somebody here has the turn, or waits for it.
    async fn ask(&self, name: Name, is_patient: bool) -> Result<Option<Guard>, Refused> {
        let ticket = self.handle.tickets.fetch_add(1, Ordering::Relaxed);
        let (granted, grant) = oneshot::channel();
        self.command(Command::Ask { name: name.clone(), waiter: Waiter { ticket, granted, is_patient } })?;
        let mut pending = Pending { node: self, asked: Some((name, ticket)) };
        let granted = grant.await;
        let (name, ticket) = pending.asked.take().expect("it is taken once");
        match granted {
            Ok(Ok(Granted { fence, lost })) => {
                Ok(Some(Guard { node: self.clone(), name, ticket, fence, lost, is_released: false }))
            }
            Ok(Err(refused)) => Err(refused),
            Err(_) if self.handle.commands.is_closed() => Err(Refused::Stopped),
            Err(_) => Ok(None),
        }
    }

    /// Its turn if it comes within this time.
    pub async fn lock_timeout(&self, name: &str, within: Duration) -> Result<Option<Guard>, Refused> {
        timeout(within, self.lock(name)).await.map_or(Ok(None), |locked| locked.map(Some))
    }

    /// Its turn if nobody else has it, or wants it: at once if that is known on this node, or as soon as all who are
    /// asked could answer.
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, Refused> {
        check_name(name)?;
        timeout(self.handle.patience, self.ask(Name::new(name), false)).await.unwrap_or(Ok(None))
    }

    /// Waits until it is known who leads, and says who.
    pub async fn leader(&self) -> Result<Id, Refused> {
        let mut leadership = self.leadership();
        loop {
            if let Some(leader) = leadership.leader() {
                return Ok(leader);
            }
            leadership.changed().await?;
        }
    }

    /// Who leads, from now on.
    pub fn leadership(&self) -> Leadership {
        // A node that has stopped follows nobody: whoever waits for a change is told so.
        _ = self.command(Command::Lead);
        let mut leader = self.handle.leader.clone();
        leader.mark_unchanged();
        Leadership { leader }
    }

    /// What to attach to a message of the application, so that what happens there comes after what happened here.
    pub async fn stamp(&self) -> Result<Number, Refused> {
        self.request(Command::Stamp).await
    }

    /// A message of the application has arrived that carries this stamp.
    pub fn observe(&self, stamp: Number) -> Result<(), Refused> {
        self.command(Command::Observe(stamp))
    }

    /// How it is.
    pub async fn status(&self) -> Result<NodeStatus, Refused> {
        self.request(Command::Status).await
    }

    /// Leaves the group, as if it had crashed: all guards are lost.
    pub async fn stop(&self) {
        // If it has been told so before, that is just as well.
        _ = self.command(Command::Stop);
        let mut leader = self.handle.leader.clone();
        while leader.changed().await.is_ok() {}
    }

    /// Why it has stopped by itself, if it has, in words that say what to do: its disk has failed, or another member
    /// has heard of a life of it that this one does not continue, so that it may not know what it has promised.
    pub fn trouble(&self) -> Option<Arc<str>> {
        self.handle.trouble.get().cloned()
    }

    fn command(&self, command: Command) -> Result<(), Refused> {
        self.handle.commands.send(command).map_err(|_| Refused::Stopped)
    }

    async fn request<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, Refused> {
        let (tell, told) = oneshot::channel();
        self.command(command(tell))?;
        told.await.map_err(|_| Refused::Stopped)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.handle.id)
    }
}

/// A request that is withdrawn if nobody waits for it any more.
struct Pending<'a> {
    node: &'a Node,
    asked: Option<(Name, Ticket)>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some((name, ticket)) = self.asked.take() {
            // A node that has stopped has withdrawn everything.
            _ = self.node.command(Command::Cancel { name, ticket });
        }
    }
}

/// A turn. It ends when this is released or dropped, or is taken away.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub struct Guard {
    node: Node,
    name: Name,
    ticket: Ticket,
    fence: Fence,
    lost: watch::Receiver<bool>,
    is_released: bool,
}

impl Guard {
    /// Its name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// What to show to the resource: larger than that of every earlier turn.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Notes in the node's [trace](Config::trace), if it writes one, that the resource was shown this fence and has
    /// taken it, or not: so that the trace tells of the resource, too.
    pub fn wrote(&self, accepted: bool) {
        let (name, fence) = (self.name.clone(), self.fence);
        // A node that has stopped writes nothing.
        _ = self.node.command(Command::Wrote { name, fence, accepted });
    }

    /// Whether the turn was taken away.
    pub fn is_lost(&self) -> bool {
        *self.lost.borrow() || self.lost.has_changed().is_err()
    }

    /// Waits until the turn is taken away: because the node has stopped, does not trust a majority any more, was not
    /// awake for too long, or (with `central`) is told that its turn was given away. Whom a majority takes for dead
    /// while it trusts that majority itself may not be told: only its fence shows that it is late.
    pub async fn lost(&self) {
        // Both mean the same: it is lost, or nobody is there to say so.
        _ = self.lost.clone().wait_for(|is_lost| *is_lost).await;
    }

    /// Ends the turn, and waits until the node has done what that takes. Fails if the turn was taken away before.
    pub async fn release(mut self) -> Result<(), Refused> {
        self.is_released = true;
        if *self.lost.borrow() {
            return Err(Refused::Lost);
        }
        let (name, ticket) = (self.name.clone(), self.ticket);
        self.node.request(|done| Command::Release { name, ticket, done: Some(done) }).await?
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.is_released {
            let (name, ticket) = (self.name.clone(), self.ticket);
            // A node that has stopped holds nothing.
            _ = self.node.command(Command::Release { name, ticket, done: None });
        }
    }
}

/// Who leads, as it changes.
#[derive(Clone, Debug)]
pub struct Leadership {
    leader: watch::Receiver<Option<Id>>,
}

impl Leadership {
    /// Who leads now, if that is known.
    pub fn leader(&self) -> Option<Id> {
        *self.leader.borrow()
    }

    /// Waits until another leads, or nobody does. Fails if the node has stopped.
    pub async fn changed(&mut self) -> Result<Option<Id>, Refused> {
        self.leader.changed().await.map_err(|_| Refused::Stopped)?;
        Ok(*self.leader.borrow_and_update())
    }
}

fn check_name(name: &str) -> Result<(), Refused> {
    if name.is_empty() || name.len() > LONGEST_NAME { Err(Refused::Name) } else { Ok(()) }
}
