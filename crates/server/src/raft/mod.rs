//! The engine on Raft: one node or a cluster, each with a log and a snapshot on disk. Every type of openraft is in this
//! folder, and only here.
//!
//! A command's way: [`Replica::submit`] puts it in a bounded queue; `propose` takes all that wait as one batch and
//! gives it to openraft; `log` writes it, with one write that returns when it is on disk; `network` and `link` bring it
//! to the others, whose `serve` receives it; when a majority has it, `state` applies it to the machine on every node,
//! and the submitter is answered.
//!
//! A data directory has `identity` (which node of which cluster it belongs to), `log/`, and `snapshot`. All are
//! checksummed. A node that comes back with another directory than the cluster knows is refused: it has forgotten what
//! it promised.

mod ahead;
mod backup;
#[cfg(feature = "hostile")]
pub(crate) mod hostile;
mod identity;
mod leadership;
mod link;
mod log;
mod members;
mod network;
mod propose;
mod sealed;
mod serve;
mod settings;
mod state;
mod status;
mod synced;
#[cfg(test)]
mod tests;
mod types;
mod wal;
mod wire;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use openraft::ServerState;
use openraft::error::{Fatal, InitializeError, RaftError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub use backup::{Contents, RestoreError, SalvageError, examine, restore, salvage};
pub use identity::has_data;
pub use link::{ByteStream, Connector, PlainTcp};
pub use members::{MemberError, MemberView};
pub use sealed::Damage;
pub use settings::{Answerer, Settings, StartError, Timing};
pub use status::{Follower, Status, SyncHistogram};
pub use types::RandomId;
#[cfg(feature = "hostile")]
pub use wal::measured::OwnLog;
pub use wire::Refused;

use identity::IdentityFile;
use link::{Caller, Links, Unreached};
use log::Log;
use propose::{Confirmation, MOST_COMMAND_BYTES, MOST_WAITING, Proposal, Proposer};
use serve::Receiving;
use state::{Shared, Store};
use status::SyncTimes;
use types::{Member, Raft};
use wire::{Change, Reply, Request};

use crate::engine::{Applied, Cluster, ClusterError, Engine, Leadership, MemberInfo, NodeId, Standing, Unavailable};
use crate::machine::{Command, Machine};

/// The log's directory within the data directory.
const LOG: &str = "log";
/// The snapshot's file there.
const SNAPSHOT: &str = "snapshot";
/// How long another node may take to answer a question of the service above.
const ANSWER: Duration = Duration::from_secs(60);
/// How long to wait before calling the first members again.
const PAUSE: Duration = Duration::from_millis(200);
/// After so many calls in vain it is said again that somebody is missing.
const REMIND: u64 = 50;

/// Locks what no panic can leave in disorder.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A node. Clones are handles to the same one.
///
/// - [`Replica::start`] starts it; [`Replica::shutdown`] ends it, and lets another node lead first.
/// - As an [`Engine`] it takes commands, confirms that it leads, and lets others look at the machine.
/// - [`Replica::serve`] talks with another member that has connected; [`Replica::ask`] asks one something.
/// - [`Replica::add_member`], [`Replica::remove_member`] and [`Replica::members`] change and tell who belongs to it.
/// - [`Replica::status`] and [`Replica::trouble`] tell how it is doing; [`Replica::backup`] is all that it knows.
#[derive(Clone)]
pub struct Replica(Arc<Inner>);

struct Inner {
    raft: Raft,
    log: Log,
    shared: Arc<Shared>,
    identity: Arc<IdentityFile>,
    /// Where the others reach this node, as it was told when it started.
    address: String,
    links: Arc<Links>,
    answerer: Arc<dyn Answerer>,
    proposals: mpsc::Sender<Proposal>,
    confirmations: mpsc::Sender<Confirmation>,
    leadership: watch::Receiver<Leadership>,
    trouble: watch::Sender<Option<String>>,
    times: Arc<SyncTimes>,
    /// Held while members change, or the leader.
    changing: tokio::sync::Mutex<()>,
    receiving: tokio::sync::Mutex<Option<Receiving>>,
}

impl Replica {
    /// Starts a node on its data directory.
    ///
    /// The future is boxed so that this crate builds it, with all of openraft, and not each program that awaits it.
    pub fn start(settings: Settings) -> Pin<Box<dyn Future<Output = Result<Replica, StartError>> + Send>> {
        Box::pin(Replica::open(settings))
    }

    async fn open(settings: Settings) -> Result<Replica, StartError> {
        let config = settings.check()?;
        std::fs::create_dir_all(&settings.directory)
            .map_err(|error| StartError::NoDirectory { directory: settings.directory.clone(), error })?;
        let identity = Arc::new(IdentityFile::open(&settings.directory, settings.node)?);
        let times = Arc::new(SyncTimes::default());
        let log = Log::open(&settings.directory.join(LOG), settings.node, times.clone())?;
        let shared = Arc::new(Shared::open(&settings.directory, settings.listener.clone())?);
        let stopping = CancellationToken::new();
        let connector = settings.connector.clone();
        let links = Arc::new(Links::new(Caller { identity: identity.clone(), connector, stopping }));
        let network = network::Network { links: links.clone(), ahead: log.ahead() };
        let store = Store { shared: shared.clone(), ahead: log.ahead() };
        let raft = Raft::new(settings.node, Arc::new(config), network, log.clone(), store).await;
        let raft = raft.map_err(|error| StartError::Log(error.to_string()))?;
        let (proposals, proposed) = mpsc::channel(MOST_WAITING);
        let (confirmations, unconfirmed) = mpsc::channel(MOST_WAITING);
        let (tell, leadership) = watch::channel(Leadership::default());
        let proposer = Proposer { raft: raft.clone(), node: settings.node, ahead: log.ahead() };
        tokio::spawn(proposer.run(proposed));
        tokio::spawn(propose::confirm(raft.clone(), unconfirmed));
        tokio::spawn(leadership::follow(raft.clone(), shared.clone(), settings.node, tell));
        let inner = Arc::new(Inner {
            raft,
            log,
            shared,
            identity,
            address: settings.address.clone(),
            links,
            answerer: settings.answerer.clone(),
            proposals,
            confirmations,
            leadership,
            trouble: watch::Sender::new(None),
            times,
            changing: tokio::sync::Mutex::default(),
            receiving: tokio::sync::Mutex::default(),
        });
        tokio::spawn(tell_of_failure(inner.raft.clone(), Arc::downgrade(&inner)));
        inner.begin(&settings).await?;
        Ok(Replica(inner))
    }

    /// Talks with another member that has connected, until either hangs up.
    pub async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin) {
        self.0.serve(stream).await;
    }

    /// Asks another node something: its [`Answerer`] answers.
    pub async fn ask(&self, node: NodeId, request: Bytes) -> Result<Bytes, Unavailable> {
        let member = self.0.member(node).ok_or(Unavailable::Elsewhere { leader: None })?;
        match self.0.links.to(node, &member).call(Request::Ask(request), ANSWER).await {
            Ok(Reply::Ask(answer)) => Ok(answer),
            Ok(_) | Err(Unreached::Late | Unreached::Disconnected(_)) => Err(Unavailable::Unknown),
            Err(Unreached::Refused(_) | Unreached::Failed(_)) => Err(Unavailable::Elsewhere { leader: None }),
        }
    }

    /// Adds a member: it learns everything first, and votes when it has caught up.
    pub async fn add_member(&self, node: NodeId, address: &str) -> Result<(), MemberError> {
        self.0.change_members(Change::Add { node, address: address.into() }).await
    }

    /// Removes a member. If it is this node, it stops to lead.
    pub async fn remove_member(&self, node: NodeId) -> Result<(), MemberError> {
        self.0.change_members(Change::Remove { node }).await
    }

    /// The members, as this node knows them.
    pub fn members(&self) -> Vec<MemberView> {
        self.0.members()
    }

    /// Lets another node lead. Returns whether one does.
    pub async fn hand_over(&self) -> bool {
        self.0.hand_over(std::future::ready(())).await
    }

    /// The cluster that it belongs to, once it does.
    pub fn cluster(&self) -> Option<RandomId> {
        self.0.identity.get().cluster
    }

    /// How the node is doing.
    pub fn status(&self) -> Status {
        self.0.status()
    }

    /// Why this node takes no part, if it does not: a sentence that says what to do.
    pub fn trouble(&self) -> watch::Receiver<Option<String>> {
        self.0.trouble.subscribe()
    }

    /// Everything this node has applied, to be [restored](restore) elsewhere.
    pub fn backup(&self) -> Vec<u8> {
        self.0.shared.look(state::State::clone).to_bytes()
    }

    /// Lets another node lead if this one does, and stops. What this one leaves to the other is told when that one is
    /// ready.
    pub async fn shutdown(&self, bequest: impl Future<Output = ()>) {
        if self.0.raft.server_metrics().borrow().current_leader == Some(self.0.identity.get().node) {
            self.0.hand_over(bequest).await;
        }
        self.stop().await;
    }

    /// Stops at once, as a crash would, except that everything is closed when this returns.
    pub async fn stop(&self) {
        if let Err(error) = self.0.raft.shutdown().await {
            tracing::error!(%error, "stopping replica failed");
        }
        self.0.links.caller.stopping.cancel();
        let log = self.0.log.clone();
        // It fails only if the runtime stops, which closes the log, too.
        let _ = tokio::task::spawn_blocking(move || log.close()).await;
    }
}

/// Reports why the node cannot go on, if that happens: a disk that is full, or that fails.
async fn tell_of_failure(raft: Raft, inner: Weak<Inner>) {
    let mut metrics = raft.metrics();
    drop(raft);
    // It ends with an error if the node is stopped in an orderly way; then there is nothing to tell.
    let failed = metrics.wait_for(|metrics| !matches!(metrics.running_state, Ok(()) | Err(Fatal::Stopped))).await;
    let failed = failed.ok().and_then(|metrics| metrics.running_state.clone().err());
    if let (Some(error), Some(inner)) = (failed, inner.upgrade()) {
        inner.report_trouble(&format!(
            "the node has stopped: {error}. Everything that it acknowledged is safe. Free disk space or repair the \
             disk, and restart the node"
        ));
    }
}

impl Inner {
    /// Begins a cluster if this node is to do so: the first member of the lowest number does, and the others wait for
    /// its call.
    async fn begin(self: &Arc<Inner>, settings: &Settings) -> Result<(), StartError> {
        let (node, first) = (settings.node, settings.first_members.clone());
        let is_begun = self.raft.is_initialized().await.map_err(|error| StartError::Log(error.to_string()))?;
        if is_begun {
            return self.elect_alone(node).await;
        }
        if first.keys().next() != Some(&node) {
            return Ok(());
        }
        self.identity.join(RandomId::draw())?;
        let alone = first.len() == 1;
        let this = self.clone();
        let stopping = self.links.caller.stopping.clone();
        let begun = async move {
            let mut members = BTreeMap::new();
            for (id, address) in first {
                let data = if id == node { this.identity.get().data } else { this.meet(id, &address).await? };
                members.insert(id, Member { address, data });
            }
            match this.raft.initialize(members).await {
                Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => Some(()),
                Err(error) => {
                    this.report_trouble(&format!("cannot create the cluster: {error}"));
                    None
                }
            }
        };
        let begun = stopping.run_until_cancelled_owned(begun);
        if alone {
            begun.await;
        } else {
            tokio::spawn(begun);
        }
        Ok(())
    }

    /// Spares a node that is alone the waiting for an election.
    async fn elect_alone(&self, node: NodeId) -> Result<(), StartError> {
        let is_alone = self.shared.look(|state| state.membership.voter_ids().eq([node]));
        if is_alone {
            self.raft.trigger().elect().await.map_err(|error| StartError::Log(error.to_string()))?;
        }
        Ok(())
    }

    /// Calls another first member until it answers. None if it refuses.
    async fn meet(&self, node: NodeId, address: &str) -> Option<RandomId> {
        let mut attempts = 0u64;
        loop {
            match self.links.caller.open(node, address, None).await {
                Ok((_, data)) => return Some(data),
                Err(Unreached::Refused(refused)) => {
                    self.report_trouble(&refused.to_string());
                    return None;
                }
                Err(why) if attempts.is_multiple_of(REMIND) => {
                    tracing::info!(node, address, error = %why, "initial member unreachable");
                }
                Err(_) => {}
            }
            attempts += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Has a command applied; in this term, or in whichever.
    async fn submit(&self, command: Command, term: Option<u64>) -> Result<Applied, Unavailable> {
        if self.links.caller.stopping.is_cancelled() {
            return Err(Unavailable::Stopping);
        }
        let is_unhurried =
            matches!(&command, Command::Acquire(acquire) if self.shared.look(|state| state.machine.queues(acquire)));
        let command = types::encode(&command);
        if command.len() > MOST_COMMAND_BYTES {
            return Err(Unavailable::Overloaded);
        }
        let (reply, receiver) = oneshot::channel();
        self.proposals.try_send(Proposal { is_unhurried, term, command, reply }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Unavailable::Overloaded,
            mpsc::error::TrySendError::Closed(_) => Unavailable::Stopping,
        })?;
        receiver.await.unwrap_or(Err(Unavailable::Unknown))
    }

    fn report_trouble(&self, trouble: &str) {
        self.trouble.send_if_modified(|before| {
            let is_new = before.as_deref() != Some(trouble);
            if is_new {
                tracing::error!(reason = trouble, "node out of service");
                *before = Some(trouble.into());
            }
            is_new
        });
    }

    fn status(&self) -> Status {
        let metrics = self.raft.metrics().borrow().clone();
        let identity = self.identity.get();
        let last = metrics.last_log_index;
        let entries = |last: Option<u64>| last.map_or(0, |last| last + 1);
        let longest_silence = self.raft.config().election_timeout_max;
        let follower = |(id, matched): (&NodeId, &Option<types::LogId>)| {
            let matched = matched.map(|id| id.index);
            let silent_ms = self.links.silence(*id).filter(|&silence| silence > longest_silence);
            Follower { node: *id, matched, lag: entries(last).saturating_sub(entries(matched)), silent_ms }
        };
        let followers = metrics.replication.iter().flatten().filter(|(id, _)| **id != identity.node).map(follower);
        // Who leads and hears from no majority leads nobody, though it does not resign.
        let voters = metrics.membership_config.voter_ids().count();
        let silence = metrics.millis_since_quorum_ack.filter(|_| metrics.state == ServerState::Leader && voters > 1);
        let silence = silence.filter(|&silence| silence > longest_silence);
        let unheard = silence.map(|silence| {
            let seconds = silence / 1000;
            format!(
                "this node leads, but no majority of the members has answered for {seconds} s: nothing is granted \
                 until a majority answers"
            )
        });
        Status {
            node: identity.node,
            cluster: identity.cluster,
            term: metrics.current_term,
            leader: metrics.current_leader.filter(|_| unheard.is_none()),
            last_log: last,
            committed: self.log.committed().map(|id| id.index),
            applied: metrics.last_applied.map(|id| id.index),
            commands: self.shared.look(|state| state.commands),
            snapshot: metrics.snapshot.map(|id| id.index),
            purged: metrics.purged.map(|id| id.index),
            followers: followers.collect(),
            syncs: self.times.read(),
            trouble: self.trouble.borrow().clone().or(unheard),
        }
    }
}

impl Engine for Replica {
    async fn submit(&self, command: Command) -> Result<Applied, Unavailable> {
        self.0.submit(command, None).await
    }

    async fn submit_in(&self, term: u64, command: Command) -> Result<Applied, Unavailable> {
        self.0.submit(command, Some(term)).await
    }

    async fn confirm(&self) -> Result<(), Unavailable> {
        let (reply, receiver) = oneshot::channel();
        self.0.confirmations.try_send(reply).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Unavailable::Overloaded,
            mpsc::error::TrySendError::Closed(_) => Unavailable::Stopping,
        })?;
        receiver.await.unwrap_or(Err(Unavailable::Stopping))
    }

    fn look<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        self.0.shared.look(|state| look(&state.machine))
    }

    async fn ask(&self, node: NodeId, question: Vec<u8>) -> Result<Vec<u8>, Unavailable> {
        Replica::ask(self, node, question.into()).await.map(Into::into)
    }

    fn leadership(&self) -> watch::Receiver<Leadership> {
        self.0.leadership.clone()
    }
}

impl Cluster for Replica {
    fn node(&self) -> NodeId {
        self.0.identity.get().node
    }

    async fn standing(&self) -> Standing {
        Standing::Replicated(Box::new(self.0.status()))
    }

    fn members(&self) -> Vec<MemberInfo> {
        let known = Replica::members(self).into_iter();
        known.map(|MemberView { node, address, is_voter }| MemberInfo { node, address, votes: is_voter }).collect()
    }

    async fn add_member(&self, node: NodeId, address: String) -> Result<(), ClusterError> {
        Replica::add_member(self, node, &address).await.map_err(|error| ClusterError::Failed(error.to_string()))
    }

    async fn remove_member(&self, node: NodeId) -> Result<(), ClusterError> {
        Replica::remove_member(self, node).await.map_err(|error| ClusterError::Failed(error.to_string()))
    }

    fn backup(&self) -> Result<Vec<u8>, ClusterError> {
        Ok(Replica::backup(self))
    }
}
