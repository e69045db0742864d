//! Brings commands into the log, many at a time, and asks for confirmation of leadership, for many at a time.
//!
//! What arrives while a batch is being written makes up the next one. So nobody waits for a batch to fill, and one
//! write serves all who came meanwhile. Only who asks for a lock that somebody holds is in no hurry: it waits in
//! any case, and goes with the next release, which would otherwise have to wait for its sync.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use openraft::ServerState;
use openraft::error::{CheckIsLeaderError, Fatal, RaftError};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::ahead::Ahead;
use super::types::{Batch, Raft};
use crate::engine::{Applied, NodeId, Unavailable};

/// So many commands may wait for the next batch. Who comes then is told that there is too much to do.
pub(super) const MOST_WAITING: usize = 16_384;
/// No batch has more commands,
const MOST_COMMANDS: usize = 4096;
/// and none is longer, except by its last command.
const MOST_BYTES: usize = 1 << 20;
/// No command is longer.
pub(super) const MOST_COMMAND_BYTES: usize = 4 << 20;
/// So many batches are under way: one is written here while the followers write the one before. A node that is alone
/// has one under way, as two would only share the syncs between them.
const MOST_UNDER_WAY: u32 = 2;
/// A node that does not hear from a majority for so long says that it does not know.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait before asking a majority again.
const PAUSE: Duration = Duration::from_millis(50);

/// What is in no hurry waits so long for what is.
const UNHURRIED: Duration = Duration::from_millis(1);

/// A command that waits to be written.
pub(super) struct Proposal {
    /// Whether nothing comes of it before something else happens.
    pub(super) is_unhurried: bool,
    /// The term in which it may be written, if not in every one.
    pub(super) term: Option<u64>,
    /// The encoded command.
    pub(super) command: Vec<u8>,
    pub(super) reply: Reply,
}

/// Who proposes.
pub(super) struct Proposer {
    pub(super) raft: Raft,
    pub(super) node: NodeId,
    pub(super) ahead: Arc<Ahead>,
}

impl Proposer {
    /// Works until nobody can send any more.
    pub(super) async fn run(self, mut proposals: mpsc::Receiver<Proposal>) {
        let places = Arc::new(Semaphore::new(MOST_UNDER_WAY as usize));
        loop {
            let is_alone = self.is_alone();
            self.ahead.set_alone(is_alone);
            let width = if is_alone { MOST_UNDER_WAY } else { 1 };
            let Ok(place) = places.clone().acquire_many_owned(width).await else { return };
            let Some(first) = proposals.recv().await else { return };
            if is_alone {
                // A node that is alone writes at once, and nobody else is heard meanwhile: so who is ready comes first.
                tokio::task::yield_now().await;
            }
            let mut gathered = gather(first, &mut proposals).await;
            match self.leads() {
                Ok(term) => {
                    let is_late = |proposal: &mut Proposal| proposal.term.is_some_and(|wanted| wanted != term);
                    let late = gathered.extract_if(.., is_late);
                    late.for_each(|late| late.refuse(Unavailable::Elsewhere { leader: None }));
                }
                Err(why) => gathered.drain(..).for_each(|proposal| proposal.refuse(why.clone())),
            }
            if gathered.is_empty() {
                continue;
            }
            let (commands, replies): (Vec<_>, Vec<_>) =
                gathered.into_iter().map(|Proposal { command, reply, .. }| (command, reply)).unzip();
            let batch = Batch::new(now_ms(), &commands);
            // What was handed over has a place in the queue, so batches stay in order.
            match self.raft.client_write_ff(batch).await {
                Err(_) => answer(replies, &Unavailable::Stopping),
                Ok(written) => {
                    tokio::spawn(async move {
                        match timeout(PATIENCE, written).await {
                            Ok(Ok(Ok(response))) if response.data.len() == replies.len() => {
                                for (reply, applied) in replies.into_iter().zip(response.data) {
                                    // Who does not wait any more needs no answer.
                                    let _ = reply.send(Ok(applied));
                                }
                            }
                            // openraft says that another one leads even if the batch was in the log for a while, and
                            // then a third node may have it still. So this is not known.
                            _ => answer(replies, &Unavailable::Unknown),
                        }
                        drop(place);
                    });
                }
            }
        }
    }

    /// The term in which this node leads, as far as it knows.
    fn leads(&self) -> Result<u64, Unavailable> {
        let metrics = self.raft.server_metrics();
        let metrics = metrics.borrow();
        match metrics.state {
            ServerState::Leader => Ok(metrics.vote.leader_id().term),
            ServerState::Shutdown => Err(Unavailable::Stopping),
            ServerState::Learner | ServerState::Follower | ServerState::Candidate => {
                Err(Unavailable::Elsewhere { leader: metrics.current_leader.filter(|leader| *leader != self.node) })
            }
        }
    }

    fn is_alone(&self) -> bool {
        self.raft.server_metrics().borrow().membership_config.voter_ids().count() == 1
    }
}

type Reply = oneshot::Sender<Result<Applied, Unavailable>>;

impl Proposal {
    fn refuse(self, why: Unavailable) {
        // Who does not wait any more needs no answer.
        let _ = self.reply.send(Err(why));
    }
}

/// Everything that waits, up to a limit.
async fn gather(first: Proposal, proposals: &mut mpsc::Receiver<Proposal>) -> Vec<Proposal> {
    let mut gathered = Vec::new();
    let (mut next, mut bytes, mut hurries) = (Some(first), 0, false);
    let until = Instant::now() + UNHURRIED;
    while let Some(proposal) = next {
        bytes += proposal.command.len();
        hurries |= !proposal.is_unhurried;
        gathered.push(proposal);
        let is_full = gathered.len() >= MOST_COMMANDS || bytes >= MOST_BYTES;
        next = if is_full { None } else { proposals.try_recv().ok() };
        if next.is_none() && !is_full && !hurries {
            next = timeout_at(until, proposals.recv()).await.ok().flatten();
        }
    }
    gathered
}

fn answer(replies: Vec<Reply>, unavailable: &Unavailable) {
    for reply in replies {
        let _ = reply.send(Err(unavailable.clone()));
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Somebody who waits for confirmation.
pub(super) type Confirmation = oneshot::Sender<Result<(), Unavailable>>;

/// Asks a majority whether this node still leads, in rounds: all who came before a round began share it.
pub(super) async fn confirm(raft: Raft, mut waiting: mpsc::Receiver<Confirmation>) {
    let mut round = Vec::new();
    while waiting.recv_many(&mut round, MOST_WAITING).await > 0 {
        let confirmed = confirm_once(&raft).await;
        for reply in round.drain(..) {
            let _ = reply.send(confirmed.clone());
        }
    }
}

async fn confirm_once(raft: &Raft) -> Result<(), Unavailable> {
    let until = Instant::now() + PATIENCE;
    loop {
        let error = match timeout(PATIENCE, raft.ensure_linearizable()).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error,
            Err(_) => return Err(Unavailable::Elsewhere { leader: None }),
        };
        match error {
            RaftError::APIError(CheckIsLeaderError::ForwardToLeader(forward)) => {
                return Err(Unavailable::Elsewhere { leader: forward.leader_id });
            }
            RaftError::APIError(CheckIsLeaderError::QuorumNotEnough(_)) if Instant::now() < until => sleep(PAUSE).await,
            RaftError::APIError(CheckIsLeaderError::QuorumNotEnough(_)) => {
                return Err(Unavailable::Elsewhere { leader: None });
            }
            RaftError::Fatal(Fatal::Stopped | Fatal::Panicked | Fatal::StorageError(_)) => {
                return Err(Unavailable::Stopping);
            }
        }
    }
}
