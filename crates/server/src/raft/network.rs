//! openraft's messages over the links.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use openraft::error::{Fatal, NetworkError, RPCError, RaftError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse};
use openraft::raft::{SnapshotResponse, VoteRequest, VoteResponse};
use openraft::{OptionalSend, Snapshot};

use super::ahead::Ahead;
use super::link::{Link, Links, Unreached};
use super::types::{LogId, Member, Types, Vote};
use super::wire::{Reply, Request, SnapshotPart};
use crate::engine::NodeId;

/// A snapshot is sent in parts of this size.
const PART_BYTES: usize = 1 << 20;
/// A follower to which something was sent a moment ago hears after this, and no earlier, that it is committed, unless
/// it hears so with the next entries. Otherwise every entry would be two messages, of which the second is rarely waited
/// for.
const SOON: Duration = Duration::from_millis(2);
/// Who cannot be reached is tried again after this.
const PAUSE: Duration = Duration::from_millis(200);

/// Makes openraft's connections: all to one member share a link.
pub(super) struct Network {
    pub(super) links: Arc<Links>,
    pub(super) ahead: Arc<Ahead>,
}

impl RaftNetworkFactory<Types> for Network {
    type Network = Connection;

    async fn new_client(&mut self, target: NodeId, member: &Member) -> Connection {
        let (link, ahead) = (self.links.to(target, member), self.ahead.clone());
        Connection { link, ahead, latest: None, sent: Arc::default() }
    }
}

/// openraft's connection to one member.
pub(super) struct Connection {
    link: Arc<Link>,
    ahead: Arc<Ahead>,
    latest: Option<Latest>,
    /// How often something was sent.
    sent: Arc<AtomicU64>,
}

/// What a follower has confirmed last.
struct Latest {
    at: Instant,
    vote: Vote,
    /// The last entry that it has, as its leader has it.
    matched: Option<LogId>,
}

impl Connection {
    /// Whether a message has nothing to say but what is committed, to a follower that was heard of a moment ago.
    /// openraft makes a connection of its own for each round in which it asks whether it still leads, so that these
    /// are never kept back.
    fn may_wait(&self, request: &AppendEntriesRequest<Types>) -> bool {
        request.entries.is_empty()
            && self.latest.as_ref().is_some_and(|latest| {
                latest.at.elapsed() < SOON && latest.vote == request.vote && latest.matched == request.prev_log_id
            })
    }

    /// Sends it a little later, unless something else was sent by then.
    fn send_soon(&self, request: AppendEntriesRequest<Types>, patience: Duration) {
        let (link, ahead, sent) = (self.link.clone(), self.ahead.clone(), self.sent.clone());
        let before = sent.load(Ordering::Relaxed);
        tokio::spawn(async move {
            tokio::time::sleep(SOON).await;
            if sent.load(Ordering::Relaxed) == before && on_disk(&ahead, &request, patience).await.is_ok() {
                // Whatever is answered, openraft hears of it with the next message.
                let _ = link.call(Request::Append(request), patience).await;
            }
        });
    }
}

/// Returns when what a message says is committed is on this node's disk, too: see [`Ahead`].
async fn on_disk(ahead: &Ahead, request: &AppendEntriesRequest<Types>, patience: Duration) -> Result<(), Unreached> {
    let Some(committed) = request.leader_commit else { return Ok(()) };
    match tokio::time::timeout(patience, ahead.wait_for(committed.index)).await {
        Ok(waited) => waited.map_err(|error| Unreached::Failed(error.to_string())),
        Err(_) => Err(Unreached::Late),
    }
}

type Failure<E> = RPCError<NodeId, Member, RaftError<NodeId, E>>;

fn failure<E: std::error::Error>(why: &Unreached) -> Failure<E> {
    match why {
        Unreached::Late => RPCError::Network(NetworkError::new(why)),
        Unreached::Disconnected(_) | Unreached::Refused(_) | Unreached::Failed(_) => {
            RPCError::Unreachable(Unreachable::new(why))
        }
    }
}

fn nonsense() -> Unreached {
    Unreached::Failed("the reply belongs to another request".into())
}

impl RaftNetwork<Types> for Connection {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<NodeId>, Failure<openraft::error::Infallible>> {
        let patience = option.hard_ttl();
        if self.may_wait(&request) {
            self.send_soon(request, patience);
            return Ok(AppendEntriesResponse::Success);
        }
        on_disk(&self.ahead, &request, patience).await.map_err(|why| failure(&why))?;
        let (vote, matched) = (request.vote, request.entries.last().map(|entry| entry.log_id).or(request.prev_log_id));
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.latest = None;
        match self.link.call(Request::Append(request), patience).await {
            Ok(Reply::Append(appended)) => {
                let appended = appended.into();
                if matches!(appended, AppendEntriesResponse::Success) {
                    self.latest = Some(Latest { at: Instant::now(), vote, matched });
                }
                Ok(appended)
            }
            Ok(_) => Err(failure(&nonsense())),
            Err(why) => Err(failure(&why)),
        }
    }

    async fn vote(
        &mut self,
        request: VoteRequest<NodeId>,
        option: RPCOption,
    ) -> Result<VoteResponse<NodeId>, Failure<openraft::error::Infallible>> {
        match self.link.call(Request::Vote(request), option.hard_ttl()).await {
            Ok(Reply::Vote(response)) => Ok(response),
            Ok(_) => Err(failure(&nonsense())),
            Err(why) => Err(failure(&why)),
        }
    }

    /// Never called: [`Self::full_snapshot`] sends parts of its own.
    async fn install_snapshot(
        &mut self,
        _: InstallSnapshotRequest<Types>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<NodeId>, Failure<openraft::error::InstallSnapshotError>> {
        Err(failure(&nonsense()))
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: Snapshot<Types>,
        cancelled: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<NodeId>, StreamingError<Types, Fatal<NodeId>>> {
        let mut cancelled = std::pin::pin!(cancelled);
        let (meta, mut left) = (snapshot.meta, Bytes::from(snapshot.snapshot.into_inner()));
        let mut offset = 0;
        loop {
            let bytes = left.split_to(left.len().min(PART_BYTES));
            let (length, is_last) = (bytes.len() as u64, left.is_empty());
            let part = SnapshotPart { vote, meta: meta.clone(), offset, bytes, is_last };
            let reply = tokio::select! {
                closed = &mut cancelled => return Err(closed.into()),
                reply = self.link.call(Request::Snapshot(part), option.hard_ttl()) => reply,
            };
            let theirs = match reply {
                Ok(Reply::Snapshot(theirs)) => theirs,
                Ok(_) => return Err(Unreachable::new(&nonsense()).into()),
                Err(why) => return Err(Unreachable::new(&why).into()),
            };
            if is_last || theirs > vote {
                return Ok(SnapshotResponse::new(theirs));
            }
            offset += length;
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(PAUSE))
    }
}
