//! One stream to one node, and to another one when that fails.
//!
//! What was asked and not yet answered is asked again on the next stream: requests that change anything have numbers
//! of their own, and do their work once.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Sink, SinkExt, StreamExt};
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
use crate::http::SILENT;
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
        let (tell, trouble) = watch::channel(SILENT.to_string());
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
        let over = |_| Error::SessionOver("its connection was closed".into());
        self.asks
            .send(Pending { request, since: Instant::now(), reply })
            .await
            .map_err(|error| over(error.to_string()))?;
        let answer = answer.await.map_err(|error| over(error.to_string()))?;
        answer.map_err(|Trouble { kind, detail }| Problem::new(kind, detail).into())
    }
}

type Stream = Framed<TokioIo<Upgraded>, LengthDelimitedCodec>;

/// What was asked and not yet answered.
#[derive(Default)]
struct Unanswered {
    /// What is answered as soon as possible.
    soon: BTreeMap<u64, Pending>,
    /// What is answered when something happens. However much of it there is, it holds up nothing else.
    standing: BTreeMap<u64, Pending>,
    last_number: u64,
    /// How many answers there were.
    answers: u64,
}

impl Unanswered {
    fn is_empty(&self) -> bool {
        self.soon.is_empty() && self.standing.is_empty()
    }

    /// Adds one, and says what to send.
    fn add(&mut self, one: Pending) -> Ask {
        self.last_number += 1;
        let (number, request) = (self.last_number, one.request.clone());
        let those = if request.is_standing() { &mut self.standing } else { &mut self.soon };
        those.insert(number, one);
        Ask { number, request }
    }

    fn take(&mut self, number: u64) -> Option<Pending> {
        self.soon.remove(&number).or_else(|| self.standing.remove(&number))
    }

    /// Takes all, in order.
    fn take_all(&mut self) -> impl Iterator<Item = Pending> + use<> {
        std::mem::take(&mut self.standing).into_values().chain(std::mem::take(&mut self.soon).into_values())
    }

    /// What to send on another stream.
    fn again(&self) -> impl Iterator<Item = Ask> {
        let all = self.standing.iter().chain(&self.soon);
        all.map(|(&number, one)| Ask { number, request: one.again() })
    }

    /// Forgets those for whose answers nobody waits any more.
    fn forget_deserted(&mut self) {
        self.soon.retain(|_, one| !one.reply.is_closed());
        self.standing.retain(|_, one| !one.reply.is_closed());
    }
}

async fn run(client: Client, mut asks: mpsc::Receiver<Pending>, tell: watch::Sender<String>, doubts: Arc<Notify>) {
    let nodes = &client.nodes;
    let mut unanswered = Unanswered::default();
    let (mut next_node, mut pause) = (0, PAUSES.0);
    loop {
        let node = &nodes[next_node % nodes.len()];
        next_node += 1;
        match connect(&client.dialer, node).await {
            Ok(stream) => {
                tell.send_replace(SILENT.into());
                let before = unanswered.answers;
                tokio::select! {
                    ended = converse(stream, &mut asks, &mut unanswered) => if ended.is_none() { return },
                    () = doubts.notified() => {}
                }
                if unanswered.answers > before {
                    pause = PAUSES.0;
                } else {
                    // It hangs up on us, and would do so again at once.
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
            Err(NoStream { why, refused }) => {
                tell.send_replace(why.clone());
                if let Some(kind) = refused {
                    refuse(&mut asks, &mut unanswered, &Trouble { kind, detail: why });
                }
                if next_node.is_multiple_of(nodes.len()) {
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
        unanswered.forget_deserted();
        if asks.is_closed() && unanswered.is_empty() && asks.is_empty() {
            return;
        }
    }
}

/// Speaks on a stream until it breaks; nothing once nobody will ask any more.
async fn converse(stream: Stream, asks: &mut mpsc::Receiver<Pending>, unanswered: &mut Unanswered) -> Option<()> {
    let (mut sink, mut stream) = stream.split();
    let mut outbox: VecDeque<Bytes> = unanswered.again().filter_map(|ask| frame(&ask)).collect();
    let mut is_flushed = outbox.is_empty();
    let mut are_more = true;
    while are_more || !unanswered.is_empty() {
        // Answers are read while there is something to send: otherwise both sides could wait for each other.
        tokio::select! {
            written = poll_fn(|context| write(&mut sink, &mut outbox, context)), if !is_flushed => {
                if written.is_err() {
                    return Some(());
                }
                is_flushed = true;
            }
            ask = asks.recv(), if are_more && unanswered.soon.len() < MOST_PENDING => match ask {
                Some(one) => {
                    outbox.extend(frame(&unanswered.add(one)));
                    is_flushed = false;
                }
                // What was asked is still answered.
                None => are_more = false,
            },
            frame = stream.next() => {
                if !answered(frame, unanswered) {
                    return Some(());
                }
            }
        }
    }
    None
}

fn frame(ask: &Ask) -> Option<Bytes> {
    postcard::to_allocvec(ask).ok().map(Bytes::from)
}

/// Sends what there is to send. Whoever stops waiting for it and waits again goes on with it.
fn write<S: Sink<Bytes> + Unpin>(
    sink: &mut S,
    outbox: &mut VecDeque<Bytes>,
    context: &mut Context<'_>,
) -> Poll<Result<(), S::Error>> {
    while !outbox.is_empty() {
        ready!(sink.poll_ready_unpin(context))?;
        if let Some(frame) = outbox.pop_front() {
            sink.start_send_unpin(frame)?;
        }
    }
    sink.poll_flush_unpin(context)
}

/// Gives an answer to who waits for it; says whether to go on with this node.
fn answered<B: AsRef<[u8]>, E>(frame: Option<Result<B, E>>, unanswered: &mut Unanswered) -> bool {
    let Some(Ok(frame)) = frame else { return false };
    let Ok(Answer { number, outcome }) = postcard::from_bytes(frame.as_ref()) else { return false };
    unanswered.answers += 1;
    // A node that cannot reach a leader, or goes away, is left for another one.
    let is_stranded = matches!(&outcome, Err(Trouble { kind: ProblemKind::NoLeader | ProblemKind::Stopping, .. }));
    if let Some(one) = unanswered.take(number) {
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
fn refuse(asks: &mut mpsc::Receiver<Pending>, unanswered: &mut Unanswered, trouble: &Trouble) {
    let queued = std::iter::from_fn(|| asks.try_recv().ok());
    for one in unanswered.take_all().chain(queued) {
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
            Err(_) => NoStream::from(format!("{node}: unexpected HTTP status {status}")),
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
