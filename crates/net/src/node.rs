//! The handle of a node: one process of a group, embedded in a program.

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

/// One process of a group, from which the program requests locks.
///
/// [`Node::join`] starts the node, which then runs as a task of the current tokio runtime. Clones are handles of the
/// same node, for as many tasks as need it. The node stops when [`Node::stop`] is called, when the last handle and the
/// last [`Guard`] are dropped, or by itself ([`Node::trouble`]). After that, requests fail with
/// [`Refused::Stopped`].
///
/// | to | call |
/// |---|---|
/// | lock a name | [`lock`](Node::lock), [`lock_timeout`](Node::lock_timeout), [`try_lock`](Node::try_lock) |
/// | follow the leader | [`leader`](Node::leader), [`leadership`](Node::leadership) |
/// | order application messages before later requests | [`stamp`](Node::stamp), [`observe`](Node::observe) |
/// | see connections, suspicions and counts | [`status`](Node::status) |
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

/// The error of [`Node::join`]. No task was left running.
#[derive(Debug, Error)]
pub enum JoinError {
    /// The settings are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The data directory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The node cannot listen for the other members.
    #[error(
        "cannot listen for other members on {address}: {error}; if another program uses the port, give this node \
         another address on all members, or set `Config::listen`"
    )]
    Listen {
        /// The address, as configured.
        address: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The trace file cannot be opened.
    #[error("cannot write the trace {}: {error}", path.display())]
    Trace {
        /// The trace file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The operating system provides no random numbers.
    #[error("cannot get random numbers from the operating system: {0}")]
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

/// The state of a node and of its connections, from [`Node::status`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The node's id.
    pub id: Id,
    /// The node's incarnation: 1 at its first start, and larger at every restart.
    pub incarnation: u64,
    /// The algorithm with its options, the election and the times: what must be the same on all members.
    pub terms: String,
    /// The leader, if this node knows one.
    pub leader: Option<Id>,
    /// The members that this node still waits for before it takes part in the group. `None` once it takes part; until
    /// then it grants no locks. The list is empty if the node only waits to reach members that others trust.
    pub awaited: Option<Vec<Id>>,
    /// The other members.
    pub peers: Vec<PeerStatus>,
    /// Number of names that the node knows.
    pub resources: usize,
    /// Number of names that tasks of this node hold or wait for, and number of tasks that wait.
    pub wanted: (usize, usize),
    /// Messages sent, by kind.
    pub sent: BTreeMap<&'static str, u64>,
    /// Number of messages received that no correct member sends.
    pub unexpected: u64,
    /// Number of times that the node synced its state to disk.
    pub syncs: u64,
    /// Number of records missing from the trace, if the node writes one.
    pub trace_lost: Option<u64>,
    /// Number of times that this node learned of a new leader.
    pub elections: u64,
    /// Number of armed timers. One sends heartbeats, and there is one for each trusted member; all others wait for a
    /// reply.
    pub timers: usize,
}

/// Another member, as this node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// The member's id.
    pub id: Id,
    /// The address at which this node connects to the member.
    pub address: String,
    /// Whether this node's outbound connection to the member is open. Without it, the two use the connection that the
    /// member opened, if there is one.
    pub is_connected: bool,
    /// Whether this node suspects the member to have crashed.
    pub is_suspected: bool,
    /// Number of times that this node began to suspect the member.
    pub suspicions: u64,
    /// The last measured round-trip time of the outbound connection.
    pub round_trip: Option<Duration>,
    /// Number of times that this node opened a connection to the member.
    pub connections: u64,
    /// Number of messages dropped because too many were waiting to be sent.
    pub dropped: u64,
    /// The reason why the last attempt to open the outbound connection failed, and what to do about it.
    pub failure: Option<Arc<str>>,
}

impl Node {
    /// Joins a group: checks the settings, opens the data directory, listens, and starts to connect to the other
    /// members.
    ///
    /// Returns without waiting for the other members. [`Node::lock`] waits until this node takes part in the group.
    ///
    /// # Errors
    /// Fails if the settings are invalid, or if the certificates, the data directory, the trace file or the listening
    /// address cannot be used. The error says what to change.
    ///
    /// # Panics
    /// Panics outside a tokio runtime.
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

    /// Returns this node's id.
    pub fn id(&self) -> Id {
        self.handle.id
    }

    /// Returns the address on which this node listens for other members.
    pub fn address(&self) -> std::net::SocketAddr {
        self.handle.address
    }

    /// Returns how long [`Node::try_lock`] waits at most: four [delays](Config::delay), within which all members that
    /// are asked can reply.
    pub fn patience(&self) -> Duration {
        self.handle.patience
    }

    /// Waits for the lock of this name, and returns the guard that holds it.
    ///
    /// A name has 1 to [`LONGEST_NAME`] bytes. Tasks of one node get the lock in the order of their calls, with other
    /// nodes in between. Dropping the future withdraws the request.
    ///
    /// # Errors
    /// Fails if the name is empty or too long, if the node knows too many names, or if it stopped.
    pub async fn lock(&self, name: &str) -> Result<Guard, Refused> {
        check_name(name)?;
        self.ask(Name::new(name), true).await?.ok_or(Refused::Stopped)
    }

    /// Waits for the lock. Returns nothing if the request must not wait and a task of this node holds the lock or
    /// waits.
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

    /// Waits for the lock for at most this time, and returns `None` if it was not granted by then.
    pub async fn lock_timeout(&self, name: &str, within: Duration) -> Result<Option<Guard>, Refused> {
        timeout(within, self.lock(name)).await.map_or(Ok(None), |locked| locked.map(Some))
    }

    /// Takes the lock if it is free. Returns `None` at once if a task of this node holds it or waits for it, and
    /// otherwise when it was not granted within [`Node::patience`].
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, Refused> {
        check_name(name)?;
        timeout(self.handle.patience, self.ask(Name::new(name), false)).await.unwrap_or(Ok(None))
    }

    /// Returns the leader of the group, and waits until there is one.
    pub async fn leader(&self) -> Result<Id, Refused> {
        let mut leadership = self.leadership();
        loop {
            if let Some(leader) = leadership.leader() {
                return Ok(leader);
            }
            leadership.changed().await?;
        }
    }

    /// Follows the leader of the group from now on.
    pub fn leadership(&self) -> Leadership {
        // A node that has stopped follows nobody: whoever waits for a change is told so.
        _ = self.command(Command::Lead);
        let mut leader = self.handle.leader.clone();
        leader.mark_unchanged();
        Leadership { leader }
    }

    /// Returns a logical timestamp to attach to an application message. The receiver passes it to [`Node::observe`];
    /// its later requests are then ordered after all events that this node has seen.
    pub async fn stamp(&self) -> Result<Number, Refused> {
        self.request(Command::Stamp).await
    }

    /// Takes note of the timestamp on an application message that arrived. See [`Node::stamp`].
    pub fn observe(&self, stamp: Number) -> Result<(), Refused> {
        self.command(Command::Observe(stamp))
    }

    /// Returns the state of the node and of its connections.
    pub async fn status(&self) -> Result<NodeStatus, Refused> {
        self.request(Command::Status).await
    }

    /// Stops the node, and waits until its port and data directory are free. All guards are lost. The other members
    /// treat this as a crash.
    pub async fn stop(&self) {
        // If it has been told so before, that is just as well.
        _ = self.command(Command::Stop);
        let mut leader = self.handle.leader.clone();
        while leader.changed().await.is_ok() {}
    }

    /// Returns why the node stopped by itself, if it did, and what to do. There are two reasons: the node could not
    /// save its state, or another member reported that this node does not have its latest state.
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

/// A lock that is held. [`Guard::release`] or dropping the guard gives it back.
///
/// Pass [`Guard::fence`] to the resource that the lock protects, and stop using the resource when [`Guard::lost`]
/// returns.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct Guard {
    node: Node,
    name: Name,
    ticket: Ticket,
    fence: Fence,
    lost: watch::Receiver<bool>,
    is_released: bool,
}

impl Guard {
    /// Returns the name of the lock.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Returns the fencing token of this grant, which is larger than that of every earlier grant of this name. The
    /// resource must reject tokens smaller than the largest that it has seen.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Records in the node's [trace](Config::trace), if it writes one, that the resource accepted or rejected this
    /// fence. `quorate judge` then checks the resource, too.
    pub fn wrote(&self, accepted: bool) {
        let (name, fence) = (self.name.clone(), self.fence);
        // A node that has stopped writes nothing.
        _ = self.node.command(Command::Wrote { name, fence, accepted });
    }

    /// Returns whether the lock was lost.
    pub fn is_lost(&self) -> bool {
        *self.lost.borrow() || self.lost.has_changed().is_err()
    }

    /// Waits until the lock is lost: the node stopped, no longer trusts a majority of the members, was paused for too
    /// long, or (with `central`) learned that the lock was granted to another node.
    ///
    /// A node suspected by a majority may not find out while it still trusts that majority. Only the fence then
    /// protects the resource.
    pub async fn lost(&self) {
        // Both mean the same: it is lost, or nobody is there to say so.
        _ = self.lost.clone().wait_for(|is_lost| *is_lost).await;
    }

    /// Releases the lock, and waits until the node has left the critical section.
    ///
    /// # Errors
    /// Fails with [`Refused::Lost`] if the lock was lost before, and with [`Refused::Stopped`] if the node stopped.
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

/// Follows the leader of the group as it changes, from [`Node::leadership`].
#[derive(Clone, Debug)]
pub struct Leadership {
    leader: watch::Receiver<Option<Id>>,
}

impl Leadership {
    /// Returns the current leader, if this node knows one.
    pub fn leader(&self) -> Option<Id> {
        *self.leader.borrow()
    }

    /// Waits for a change, and returns the new leader, or `None` while there is none.
    ///
    /// # Errors
    /// Fails if the node stopped.
    pub async fn changed(&mut self) -> Result<Option<Id>, Refused> {
        self.leader.changed().await.map_err(|_| Refused::Stopped)?;
        Ok(*self.leader.borrow_and_update())
    }
}

fn check_name(name: &str) -> Result<(), Refused> {
    if name.is_empty() || name.len() > LONGEST_NAME { Err(Refused::Name) } else { Ok(()) }
}
