//! openraft's messages over the links.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use openraft::error::{Fatal, NetworkError, RPCError, RaftError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse};
use openraft::raft::{SnapshotResponse, VoteRequest, VoteResponse};
use openraft::{OptionalSend, Snapshot};

use super::ahead::Ahead;
use super::link::{Link, Links, Unreached};
use super::types::{Member, Types, Vote};
use super::wire::{Reply, Request, SnapshotPart};
use crate::engine::NodeId;

/// A snapshot is sent in parts of this size.
const PART_BYTES: usize = 1 << 20;
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
        Connection { link: self.links.to(target, member), ahead: self.ahead.clone() }
    }
}

/// openraft's connection to one member.
pub(super) struct Connection {
    link: Arc<Link>,
    ahead: Arc<Ahead>,
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
    Unreached::Failed("its reply belongs to another request".into())
}

impl RaftNetwork<Types> for Connection {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<NodeId>, Failure<openraft::error::Infallible>> {
        if let Some(committed) = request.leader_commit {
            let on_disk = tokio::time::timeout(option.hard_ttl(), self.ahead.wait_for(committed.index)).await;
            on_disk
                .map_err(|_| failure(&Unreached::Late))?
                .map_err(|error| failure(&Unreached::Failed(error.to_string())))?;
        }
        match self.link.call(Request::Append(request), option.hard_ttl()).await {
            Ok(Reply::Append(appended)) => Ok(appended.into()),
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
