//! One stream to one node, and to another one when that fails.
//!
//! What was asked and not yet answered is asked again on the next stream: requests that change anything have numbers
//! of their own, and do their work once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::upgrade::Upgraded;
use hyper::{StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use crate::contract::stream::{Answer, Ask, LONGEST_FRAME, MOST_PENDING, PROTOCOL, Reply, Request, Trouble};
use crate::contract::{Problem, ProblemKind};
use crate::dial::{CONNECT_PATIENCE, Dialer, Endpoint, Wire};
use crate::{Client, Error};

/// What a node that accepts no stream says about it is at most so long.
const LONGEST_REFUSAL: usize = 64 * 1024;
/// How long to wait before trying the nodes again: from, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// A handle on the stream.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    asks: mpsc::Sender<Pending>,
    /// Why there was no stream when there was last none.
    trouble: watch::Receiver<String>,
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
    pub(crate) fn start(client: &Client) -> Connection {
        let (asks, receiver) = mpsc::channel(MOST_PENDING);
        let (tell, trouble) = watch::channel("no answer in time".to_string());
        let doubts = Arc::default();
        tokio::spawn(run(client.clone(), receiver, tell, Arc::clone(&doubts)));
        Connection { asks, trouble, doubts }
    }

    /// Why there is no answer, as far as is known.
    pub(crate) fn trouble(&self) -> String {
        self.trouble.borrow().clone()
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

async fn run(client: Client, mut asks: mpsc::Receiver<Pending>, tell: watch::Sender<String>, doubts: Arc<Notify>) {
    let nodes = &client.nodes;
    let mut pending: BTreeMap<u64, Pending> = BTreeMap::new();
    let (mut next_number, mut next_node, mut pause) = (1, 0, PAUSES.0);
    loop {
        let node = &nodes[next_node % nodes.len()];
        next_node += 1;
        match connect(&client.dialer, node).await {
            Ok(stream) => {
                pause = PAUSES.0;
                let conversation = converse(stream, &mut asks, &mut pending, &mut next_number);
                tokio::select! {
                    ended = conversation => if ended.is_none() { return },
                    () = doubts.notified() => {}
                }
            }
            Err(NoStream { why, refused }) => {
                tell.send_replace(why.clone());
                if let Some(kind) = refused {
                    refuse(&mut asks, &mut pending, &Trouble { kind, detail: why });
                }
                if next_node.is_multiple_of(nodes.len()) {
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
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

/// Why there is no stream.
struct NoStream {
    why: String,
    /// If it is the client's fault, so that asking again is of no use.
    refused: Option<ProblemKind>,
}

impl From<String> for NoStream {
    fn from(why: String) -> NoStream {
        NoStream { why, refused: None }
    }
}

/// Tells all who wait, or are about to, that they are refused.
fn refuse(asks: &mut mpsc::Receiver<Pending>, pending: &mut BTreeMap<u64, Pending>, trouble: &Trouble) {
    let queued = std::iter::from_fn(|| asks.try_recv().ok());
    for one in std::mem::take(pending).into_values().chain(queued) {
        // Who does not wait any more has been told otherwise.
        let _ = one.reply.send(Err(trouble.clone()));
    }
}

async fn connect(dialer: &Dialer, node: &Endpoint) -> Result<Stream, NoStream> {
    let wire = dialer.dial(node).await.map_err(|why| format!("{node}: {why}"))?;
    timeout(CONNECT_PATIENCE, upgrade(dialer, node, wire))
        .await
        .map_err(|_| format!("{node}: no answer in time{}", dialer.hint(node)))?
}

async fn upgrade(dialer: &Dialer, node: &Endpoint, wire: Box<dyn Wire>) -> Result<Stream, NoStream> {
    let failed = |error: hyper::Error| format!("{node}: {error}{}", dialer.hint(node));
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(wire)).await.map_err(failed)?;
    tokio::spawn(connection.with_upgrades());
    let request = dialer
        .request(node)
        .uri("/v1/stream")
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, PROTOCOL)
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(failed)?;
    let status = response.status();
    if status != StatusCode::SWITCHING_PROTOCOLS {
        let body = Limited::new(response.into_body(), LONGEST_REFUSAL).collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        return Err(match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => {
                let is_final = matches!(problem.kind, ProblemKind::Unauthenticated | ProblemKind::Forbidden);
                NoStream { why: problem.to_string(), refused: is_final.then_some(problem.kind) }
            }
            Err(_) => NoStream::from(format!("{node}: it answers {status}")),
        });
    }
    let upgraded = hyper::upgrade::on(response).await.map_err(failed)?;
    let codec = LengthDelimitedCodec::builder().max_frame_length(LONGEST_FRAME).new_codec();
    Ok(Framed::new(TokioIo::new(upgraded), codec))
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
