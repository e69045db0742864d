//! A stream to another member: opened when there is something to send, opened again when it breaks.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::codec::{Framed, LengthDelimitedCodec};
use tokio_util::sync::CancellationToken;

use super::identity::IdentityFile;
use super::types::{Member, RandomId};
use super::wire::{self, Hello, PROTOCOL, Refused, Reply, Request, Welcome};
use crate::engine::NodeId;

/// So many requests may wait to be sent, and as many for their replies.
const MOST_WAITING: usize = 1024;
/// Who says nothing for so long is gone: it should say at least that it is there.
/// A stream on which packets were lost for a while wakes up late, by the system's own pauses, so it is not waited
/// for.
const SILENCE: Duration = Duration::from_millis(1500);
/// Opening a stream takes no longer.
const OPENING: Duration = Duration::from_secs(1);

/// A stream of bytes to another member.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// How to open a stream to a member.
pub trait Connector: Send + Sync + 'static {
    /// Opens one to this address.
    fn connect(&self, address: String) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>>;
}

/// Opens plain TCP streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainTcp;

impl Connector for PlainTcp {
    fn connect(&self, address: String) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}

/// Why there is no reply.
#[derive(Clone, Debug, Error)]
pub(super) enum Unreached {
    #[error("connection failed: {0}")]
    Disconnected(String),
    #[error("connection refused by the other node: {0}")]
    Refused(Refused),
    #[error("no reply in time")]
    Late,
    #[error("request failed: {0}")]
    Failed(String),
}

type Stream = Framed<Box<dyn ByteStream>, LengthDelimitedCodec>;

/// Who opens streams, and how.
pub(super) struct Caller {
    pub(super) identity: Arc<IdentityFile>,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) stopping: CancellationToken,
}

impl Caller {
    /// Opens a stream and says hello. Returns it with the other one's data.
    pub(super) async fn open(
        &self,
        to: NodeId,
        address: &str,
        to_data: Option<RandomId>,
    ) -> Result<(Stream, RandomId), Unreached> {
        let opened = timeout(OPENING, self.introduce(to, address, to_data)).await;
        opened.unwrap_or(Err(Unreached::Late))
    }

    async fn introduce(
        &self,
        to: NodeId,
        address: &str,
        to_data: Option<RandomId>,
    ) -> Result<(Stream, RandomId), Unreached> {
        let broken = |error: io::Error| Unreached::Disconnected(error.to_string());
        let identity = self.identity.get();
        let cluster =
            identity.cluster.ok_or_else(|| Unreached::Failed("this node does not belong to a cluster yet".into()))?;
        let stream = self.connector.connect(address.into()).await.map_err(broken)?;
        let mut stream = Framed::new(stream, wire::introduction_codec());
        let (from, from_data) = (identity.node, identity.data);
        let hello = Hello { protocol: PROTOCOL, cluster, from, from_data, to, to_data };
        stream.send(wire::encode(0, &hello)).await.map_err(broken)?;
        let frame =
            stream.next().await.ok_or_else(|| Unreached::Disconnected("the node closed the connection".into()))?;
        match wire::decode(&frame.map_err(broken)?) {
            Some((_, Welcome::Come { data })) => {
                wire::lengthen(stream.codec_mut());
                Ok((stream, data))
            }
            Some((_, Welcome::Refused(refused))) => Err(Unreached::Refused(refused)),
            None => Err(Unreached::Failed("malformed handshake".into())),
        }
    }
}

/// A request on its way.
struct Outgoing {
    request: Request,
    reply: oneshot::Sender<Result<Reply, Unreached>>,
}

/// Requests to one member. Dropping it ends its stream.
pub(super) struct Link {
    target: NodeId,
    member: Member,
    outgoing: mpsc::Sender<Outgoing>,
    /// When the link was made, and how many milliseconds later it has answered last.
    made: Instant,
    answered: AtomicU64,
}

impl Link {
    fn new(caller: Arc<Caller>, target: NodeId, member: Member) -> Arc<Link> {
        let (sender, outgoing) = mpsc::channel(MOST_WAITING);
        let answered = AtomicU64::new(0);
        let link = Arc::new(Link { target, member, outgoing: sender, made: Instant::now(), answered });
        let stopping = caller.stopping.clone();
        let member = link.member.clone();
        tokio::spawn(stopping.run_until_cancelled_owned(run(caller, target, member, outgoing)));
        link
    }

    /// Sends a request and waits for its reply.
    pub(super) async fn call(&self, request: Request, patience: Duration) -> Result<Reply, Unreached> {
        let (reply, receiver) = oneshot::channel();
        self.outgoing
            .try_send(Outgoing { request, reply })
            .map_err(|_| Unreached::Failed("too many pending requests".into()))?;
        let replied = timeout(patience, receiver).await.map_err(|_| Unreached::Late)?;
        let reply = replied.unwrap_or_else(|_| Err(Unreached::Disconnected("this node is shutting down".into())))?;
        self.answered.store(self.made.elapsed().as_millis() as u64, Ordering::Relaxed);
        match reply {
            Reply::Failed(why) => Err(Unreached::Failed(why)),
            reply => Ok(reply),
        }
    }
}

type Pending = Mutex<HashMap<u64, oneshot::Sender<Result<Reply, Unreached>>>>;

async fn run(caller: Arc<Caller>, target: NodeId, member: Member, mut outgoing: mpsc::Receiver<Outgoing>) {
    let mut refused_before = false;
    while let Some(first) = outgoing.recv().await {
        let expected = Some(member.data);
        match caller.open(target, &member.address, expected).await {
            Ok((stream, data)) if Some(data) == expected => {
                refused_before = false;
                converse(stream, first, &mut outgoing).await;
            }
            other => {
                let why = other.err().unwrap_or(Unreached::Refused(Refused::Forgetful { node: target }));
                if let Unreached::Refused(refused) = &why
                    && !std::mem::replace(&mut refused_before, true)
                {
                    tracing::error!(node = target, reason = %refused, "outbound member connection refused");
                }
                // Whoever does not wait any more needs no answer.
                let _ = first.reply.send(Err(why.clone()));
                while let Ok(next) = outgoing.try_recv() {
                    let _ = next.reply.send(Err(why.clone()));
                }
            }
        }
    }
}

/// Sends requests and hands out replies until the stream breaks.
async fn converse(stream: Stream, first: Outgoing, outgoing: &mut mpsc::Receiver<Outgoing>) {
    let pending = Pending::default();
    let (sink, stream) = stream.split();
    let broken = tokio::select! {
        broken = send(sink, first, outgoing, &pending) => broken,
        broken = receive(stream, &pending) => broken,
    };
    let why = Unreached::Disconnected(broken);
    for (_, reply) in std::mem::take(&mut *super::lock(&pending)) {
        let _ = reply.send(Err(why.clone()));
    }
}

async fn send(
    mut sink: SplitSink<Stream, Bytes>,
    first: Outgoing,
    outgoing: &mut mpsc::Receiver<Outgoing>,
    pending: &Pending,
) -> String {
    let mut next = Some(first);
    for number in wire::ALIVE + 1.. {
        let Some(Outgoing { request, reply }) = next else { return "this node is shutting down".into() };
        {
            let mut pending = super::lock(pending);
            if pending.len() >= MOST_WAITING {
                pending.retain(|_, reply| !reply.is_closed());
            }
            pending.insert(number, reply);
        }
        let frame = wire::encode(number, &request);
        if let Err(error) = sink.feed(frame).await {
            return error.to_string();
        }
        next = match outgoing.try_recv() {
            Ok(next) => Some(next),
            Err(_) => {
                if let Err(error) = sink.flush().await {
                    return error.to_string();
                }
                outgoing.recv().await
            }
        };
    }
    "request numbers exhausted".into()
}

async fn receive(mut stream: SplitStream<Stream>, pending: &Pending) -> String {
    loop {
        let frame = match timeout(SILENCE, stream.next()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => return error.to_string(),
            Ok(None) => return "the node closed the connection".into(),
            Err(_) => return "the node stopped sending".into(),
        };
        let Some((number, reply)) = wire::decode(&frame) else { return "malformed frame".into() };
        if let Some(waiting) = super::lock(pending).remove(&number) {
            let _ = waiting.send(Ok(reply));
        }
    }
}

/// The links to all others.
pub(super) struct Links {
    pub(super) caller: Arc<Caller>,
    links: Mutex<HashMap<NodeId, Arc<Link>>>,
}

impl Links {
    pub(super) fn new(caller: Caller) -> Links {
        Links { caller: Arc::new(caller), links: Mutex::default() }
    }

    /// The link to a member. If it has moved, a new one replaces the old one.
    pub(super) fn to(&self, target: NodeId, member: &Member) -> Arc<Link> {
        let mut links = super::lock(&self.links);
        let link = links.entry(target).or_insert_with(|| Link::new(self.caller.clone(), target, member.clone()));
        if link.member != *member {
            *link = Link::new(self.caller.clone(), target, member.clone());
        }
        link.clone()
    }

    /// For how long a member has not answered, in milliseconds, if anything is sent to it.
    pub(super) fn silence(&self, target: NodeId) -> Option<u64> {
        let links = super::lock(&self.links);
        let link = links.get(&target)?;
        Some((link.made.elapsed().as_millis() as u64).saturating_sub(link.answered.load(Ordering::Relaxed)))
    }

    /// Forgets who is no member any more.
    pub(super) fn retain(&self, is_member: impl Fn(NodeId) -> bool) {
        super::lock(&self.links).retain(|_, link| is_member(link.target));
    }
}
