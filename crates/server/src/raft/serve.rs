//! The other end of a link: who calls, and what is done with its requests.

use std::future::Future;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use openraft::Snapshot;
use openraft::raft::AppendEntriesRequest;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::Inner;
use super::types::{LogId, SnapshotMeta, Vote};
use super::wire::{self, Hello, PROTOCOL, Refused, Reply, Request, SnapshotPart, Welcome};
use crate::engine::NodeId;

/// Who calls must say who it is within this time.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// How often a node says that it is there.
const ALIVE_EVERY: Duration = Duration::from_millis(300);
/// Who does not take its replies for so long is gone.
const STUCK: Duration = Duration::from_secs(10);
/// So many requests of one caller are worked on at once.
const MOST_AT_ONCE: usize = 256;
/// No snapshot is larger.
const MOST_SNAPSHOT_BYTES: u64 = 4 << 30;

/// A snapshot that is being received.
pub(super) struct Receiving {
    from: NodeId,
    meta: SnapshotMeta,
    bytes: Vec<u8>,
}

impl Inner {
    /// Talks with one that has called, until it hangs up.
    pub(super) async fn serve(self: &Arc<Inner>, stream: impl AsyncRead + AsyncWrite + Send + Unpin) {
        let conversation = self.converse(stream);
        if let Some(Err(why)) = self.links.caller.stopping.run_until_cancelled(conversation).await {
            tracing::debug!(error = %why, "member connection closed");
        }
    }

    async fn converse(
        self: &Arc<Inner>,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    ) -> Result<(), std::io::Error> {
        let mut stream = Framed::new(stream, wire::introduction_codec());
        let Ok(Some(frame)) = timeout(INTRODUCTION, stream.next()).await else { return Ok(()) };
        let frame = frame?;
        // The protocol comes first in every version; whatever follows may differ.
        let Some((_, protocol)) = wire::decode::<u32>(&frame) else { return Ok(()) };
        if protocol != PROTOCOL {
            let refused = Welcome::Refused(Refused::Protocol { theirs: PROTOCOL });
            return stream.send(wire::encode(0, &refused)).await;
        }
        let Some((_, hello)) = wire::decode::<Hello>(&frame) else { return Ok(()) };
        let welcome = match self.examine(&hello) {
            Ok(()) => Welcome::Come { data: self.identity.get().data },
            Err(refused) => Welcome::Refused(refused),
        };
        stream.send(wire::encode(0, &welcome)).await?;
        if let Welcome::Refused(_) = welcome {
            return Ok(());
        }
        wire::lengthen(stream.codec_mut());
        let (sink, mut stream) = stream.split();
        let (replies, outgoing) = mpsc::channel(MOST_AT_ONCE);
        let places = Arc::new(Semaphore::new(MOST_AT_ONCE));
        let receive = async {
            while let Some(frame) = stream.next().await {
                let Some((number, request)) = wire::decode::<Request>(&frame?) else { return Ok(()) };
                let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
                let (inner, replies) = (self.clone(), replies.clone());
                tokio::spawn(async move {
                    let reply = inner.answer(hello.from, request).await;
                    // Who has hung up needs no reply.
                    let _ = replies.send(wire::encode(number, &reply)).await;
                    drop(place);
                });
            }
            Ok(())
        };
        tokio::select! {
            ended = receive => ended,
            ended = send(sink, outgoing) => ended,
        }
    }

    /// Whether a caller is who it should be, and calls whom it believes.
    fn examine(&self, hello: &Hello) -> Result<(), Refused> {
        let identity = self.identity.get();
        let node = identity.node;
        if hello.to != node {
            return Err(Refused::OtherNode { found: node, expected: hello.to });
        }
        if let Some(theirs) = identity.cluster.filter(|&cluster| cluster != hello.cluster) {
            return Err(Refused::OtherCluster { node, theirs });
        }
        if hello.to_data.is_some_and(|data| data != identity.data) {
            let refused = Refused::Forgetful { node };
            self.report_trouble(&refused.to_string());
            return Err(refused);
        }
        if self.member(hello.from).is_some_and(|member| member.data != hello.from_data) {
            return Err(Refused::Forgetful { node: hello.from });
        }
        match self.identity.join(hello.cluster) {
            Ok(cluster) if cluster == hello.cluster => Ok(()),
            Ok(theirs) => Err(Refused::OtherCluster { node, theirs }),
            Err(error) => {
                tracing::error!(%error, "writing identity failed");
                Err(Refused::Disk { node })
            }
        }
    }

    async fn answer(&self, from: NodeId, request: Request) -> Reply {
        let failed = |error: &dyn std::fmt::Display| Reply::Failed(error.to_string());
        match request {
            Request::Append(request) if !wire::is_sound(&request) => Reply::Failed("malformed entries".into()),
            Request::Append(request) => match self.raft.append_entries(request).await {
                Ok(response) => Reply::Append(response.into()),
                Err(error) => failed(&error),
            },
            Request::Vote(request) if !wire::is_sound_vote(&request.vote) => Reply::Failed("malformed vote".into()),
            Request::Vote(request) => match self.raft.vote(request).await {
                Ok(response) => Reply::Vote(response),
                Err(error) => failed(&error),
            },
            Request::Snapshot(part) => match self.receive(from, part).await {
                Ok(vote) => Reply::Snapshot(vote),
                Err(why) => Reply::Failed(why),
            },
            Request::Succeed { term, successor } => match self.succeed(term, successor).await {
                Ok(()) => Reply::Succeed,
                Err(error) => failed(&error),
            },
            Request::Ask(request) => Reply::Ask(self.answerer.answer(from, request).await),
            Request::Change(change) => Reply::Changed(self.change_as_leader(change).await),
        }
    }

    /// Takes a part of a snapshot; with the last one, installs it.
    async fn receive(&self, from: NodeId, part: SnapshotPart) -> Result<Vote, String> {
        let SnapshotPart { vote, meta, offset, bytes, is_last } = part;
        if !wire::is_sound_vote(&vote) || !vote.is_committed() || !wire::is_sound_id(meta.last_log_id.as_ref()) {
            return Err("malformed snapshot".into());
        }
        let mut receiving = self.receiving.lock().await;
        if offset == 0 {
            *receiving = Some(Receiving { from, meta: meta.clone(), bytes: Vec::new() });
        }
        let whole = receiving.as_mut().filter(|whole| {
            let fits = offset + bytes.len() as u64 <= MOST_SNAPSHOT_BYTES;
            whole.from == from && whole.meta == meta && whole.bytes.len() as u64 == offset && fits
        });
        let Some(whole) = whole else {
            *receiving = None;
            return Err("snapshot part out of order".into());
        };
        whole.bytes.extend_from_slice(&bytes);
        if !is_last {
            return Ok(vote);
        }
        let bytes = std::mem::take(&mut whole.bytes);
        *receiving = None;
        // openraft stops a node whose snapshot cannot be installed, so a damaged one must not get that far.
        super::state::State::from_bytes(&bytes).map_err(|damage| format!("malformed snapshot: {damage}"))?;
        let snapshot = Snapshot { meta, snapshot: Box::new(Cursor::new(bytes)) };
        let installed = self.raft.install_full_snapshot(vote, snapshot).await;
        installed.map(|response| response.vote).map_err(|error| error.to_string())
    }

    /// The leader steps aside for a successor. openraft lets nobody vote while a leader's lease lasts; raising the vote
    /// to the successor's, as a granted vote would, ends the lease. A vote may always be raised. openraft does so when
    /// it is sent entries; these follow one that is nowhere, so nothing else comes of them.
    pub(super) async fn succeed(&self, term: u64, successor: NodeId) -> Result<(), String> {
        let current = self.raft.server_metrics().borrow().vote.leader_id().term;
        if current.checked_add(1) != Some(term) {
            return Err("the term has ended".into());
        }
        if successor == self.identity.get().node {
            return self.raft.trigger().elect().await.map_err(|error| error.to_string());
        }
        let vote = Vote::new(term, successor);
        let nowhere = LogId::new(openraft::CommittedLeaderId::new(term, successor), wire::LARGEST);
        let raise = AppendEntriesRequest { vote, prev_log_id: Some(nowhere), entries: Vec::new(), leader_commit: None };
        self.raft.append_entries(raise).await.map(drop).map_err(|error| error.to_string())
    }
}

/// Sends replies, and now and then a sign of life.
async fn send<S: AsyncRead + AsyncWrite + Send + Unpin>(
    mut sink: SplitSink<Framed<S, LengthDelimitedCodec>, Bytes>,
    mut outgoing: mpsc::Receiver<Bytes>,
) -> Result<(), std::io::Error> {
    let alive = || wire::encode(wire::ALIVE, &Reply::Succeed);
    loop {
        let frame = match timeout(ALIVE_EVERY, outgoing.recv()).await {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(()),
            Err(_) => alive(),
        };
        in_time(sink.feed(frame)).await?;
        while let Ok(frame) = outgoing.try_recv() {
            in_time(sink.feed(frame)).await?;
        }
        in_time(sink.flush()).await?;
    }
}

async fn in_time(sent: impl Future<Output = Result<(), std::io::Error>>) -> Result<(), std::io::Error> {
    timeout(STUCK, sent)
        .await
        .unwrap_or_else(|_| Err(std::io::Error::other("the other node does not read its replies")))
}
