//! One stream to one node, and to another one when that fails.
//!
//! What was asked and not yet answered is asked again on the next stream: requests that change anything have numbers
//! of their own, and do their work once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::Empty;
use hyper::upgrade::Upgraded;
use hyper::{Request as HttpRequest, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use crate::Error;
use crate::contract::stream::{Answer, Ask, LONGEST_FRAME, MOST_PENDING, PROTOCOL, Reply, Request, Trouble};
use crate::contract::{Problem, ProblemKind};

/// How long to wait for a node to accept a stream.
const CONNECT_PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait before trying the nodes again: from, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// A handle on the stream.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    asks: mpsc::Sender<Pending>,
    /// The node that is spoken with is too slow.
    doubts: Arc<Notify>,
}

#[derive(Debug)]
struct Pending {
    request: Request,
    since: Instant,
    reply: oneshot::Sender<Result<Reply, Trouble>>,
}

impl Pending {
    /// The request as it is asked again: what has been waited for already is not waited for once more.
    fn again(&self) -> Request {
        let mut request = self.request.clone();
        if let Request::Acquire { wait_ms: Some(wait_ms), .. } = &mut request {
            let waited_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
            *wait_ms = wait_ms.saturating_sub(waited_ms);
        }
        request
    }
}

impl Connection {
    /// A stream to one of these nodes, for as long as anybody has a handle on it.
    pub(crate) fn start(nodes: Arc<[String]>) -> Connection {
        let (asks, receiver) = mpsc::channel(MOST_PENDING);
        let doubts = Arc::default();
        tokio::spawn(run(nodes, receiver, Arc::clone(&doubts)));
        Connection { asks, doubts }
    }

    /// Goes on with another node: this one stands still, or the network loses what it says without telling.
    pub(crate) fn leave_node(&self) {
        self.doubts.notify_waiters();
    }

    /// Asks, and waits for the answer as long as it takes.
    pub(crate) async fn ask(&self, request: Request) -> Result<Reply, Error> {
        let (reply, answer) = oneshot::channel();
        let over = |_| Error::SessionOver("its stream has ended".into());
        self.asks
            .send(Pending { request, since: Instant::now(), reply })
            .await
            .map_err(|error| over(error.to_string()))?;
        let answer = answer.await.map_err(|error| over(error.to_string()))?;
        answer.map_err(|Trouble { kind, detail }| Problem::new(kind, detail).into())
    }
}

type Stream = Framed<TokioIo<Upgraded>, LengthDelimitedCodec>;

async fn run(nodes: Arc<[String]>, mut asks: mpsc::Receiver<Pending>, doubts: Arc<Notify>) {
    let mut pending: BTreeMap<u64, Pending> = BTreeMap::new();
    let (mut next_number, mut next_node, mut pause) = (1, 0, PAUSES.0);
    loop {
        let node = &nodes[next_node % nodes.len()];
        next_node += 1;
        let stream = timeout(CONNECT_PATIENCE, connect(node)).await.ok().flatten();
        if let Some(stream) = stream {
            pause = PAUSES.0;
            let conversation = converse(stream, &mut asks, &mut pending, &mut next_number);
            tokio::select! {
                ended = conversation => if ended.is_none() { return },
                () = doubts.notified() => {}
            }
        } else if next_node.is_multiple_of(nodes.len()) {
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
        pending.retain(|_, one| !one.reply.is_closed());
        if asks.is_closed() && pending.is_empty() && asks.is_empty() {
            return;
        }
    }
}

/// Speaks on a stream until it breaks; nothing once nobody will ask any more.
async fn converse(
    mut stream: Stream,
    asks: &mut mpsc::Receiver<Pending>,
    pending: &mut BTreeMap<u64, Pending>,
    next_number: &mut u64,
) -> Option<()> {
    for (&number, one) in pending.iter() {
        if !send(&mut stream, number, one.again()).await {
            return Some(());
        }
    }
    loop {
        tokio::select! {
            ask = asks.recv(), if pending.len() < MOST_PENDING => {
                let Some(one) = ask else {
                    // Nobody will ask any more; what was asked is still answered.
                    return drain(stream, pending).await;
                };
                let number = *next_number;
                *next_number += 1;
                let sent = send(&mut stream, number, one.request.clone()).await;
                pending.insert(number, one);
                if !sent {
                    return Some(());
                }
            }
            frame = stream.next() => {
                if !answered(frame, pending) {
                    return Some(());
                }
            }
        }
    }
}

async fn drain(mut stream: Stream, pending: &mut BTreeMap<u64, Pending>) -> Option<()> {
    while !pending.is_empty() {
        if !answered(stream.next().await, pending) {
            return Some(());
        }
    }
    None
}

async fn send(stream: &mut Stream, number: u64, request: Request) -> bool {
    let Ok(frame) = postcard::to_allocvec(&Ask { number, request }) else { return false };
    stream.send(Bytes::from(frame)).await.is_ok()
}

/// Gives an answer to who waits for it; says whether to go on with this node.
fn answered<B: AsRef<[u8]>, E>(frame: Option<Result<B, E>>, pending: &mut BTreeMap<u64, Pending>) -> bool {
    let Some(Ok(frame)) = frame else { return false };
    let Ok(Answer { number, outcome }) = postcard::from_bytes(frame.as_ref()) else { return false };
    // A node that cannot reach a leader, or goes away, is left for another one.
    let is_stranded = matches!(&outcome, Err(Trouble { kind: ProblemKind::NoLeader | ProblemKind::Stopping, .. }));
    if let Some(one) = pending.remove(&number) {
        // Who does not wait any more has been told otherwise.
        let _ = one.reply.send(outcome);
    }
    !is_stranded
}

async fn connect(node: &str) -> Option<Stream> {
    let socket = TcpStream::connect(node).await.ok()?;
    socket.set_nodelay(true).ok()?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.ok()?;
    tokio::spawn(connection.with_upgrades());
    let request = HttpRequest::get("/v1/stream")
        .header(header::HOST, node)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, PROTOCOL)
        .body(Empty::<Bytes>::new())
        .ok()?;
    let response = sender.send_request(request).await.ok()?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return None;
    }
    let upgraded = hyper::upgrade::on(response).await.ok()?;
    let codec = LengthDelimitedCodec::builder().max_frame_length(LONGEST_FRAME).new_codec();
    Some(Framed::new(TokioIo::new(upgraded), codec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Mode;
    use crate::contract::stream::Subject;

    #[test]
    fn what_was_waited_for_at_one_node_is_not_waited_for_again_at_the_next() {
        let subject = Subject { election: false, name: "a".into() };
        let (session, request, mode, delay_ms, value) = (1, 1, Mode::Exclusive, 0, Vec::new());
        let asked = |wait_ms| Request::Acquire { session, request, subject, mode, wait_ms, delay_ms, value };
        let since = Instant::now().checked_sub(Duration::from_secs(3)).expect("the clock has run for three seconds");
        let (reply, _) = oneshot::channel();
        let pending = Pending { request: asked(Some(2000)), since, reply };
        assert!(matches!(pending.again(), Request::Acquire { wait_ms: Some(0), .. }));
    }
}
