//! The way to another member: a connection that this node opens, and opens again whenever it breaks.
//!
//! Each node sends on the connections that it has opened, and listens on those that others have: so either side may be
//! there first. What is to be sent waits in a buffer of bounded length; what does not fit, or has nobody to go to, is
//! dropped, for [`Reliable`](quorate_core::stack::Reliable) sends again whatever matters.
//!
//! Who flushes the buffer writes it to the socket itself, as far as that takes it: to wake the link's own task for each
//! message costs more than the message. What the socket does not take at once, and everything that is encrypted, the
//! task writes.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use quorate_core::id::Id;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::codec::{Framed, FramedRead};
use tracing::{debug, info, warn};

use crate::frame::{self, Frame, Hello, LONGEST_HELLO, Pong, Verdict};
use crate::listen::Speakers;
use crate::tls::{Tls, explain};

/// So much waits for a connection at most.
const MOST_WAITING: usize = 8 << 20;
/// Opening a connection takes no longer.
const OPENING: Duration = Duration::from_secs(3);
/// From one attempt to the next, at first and at most.
const SOON: Duration = Duration::from_millis(50);
const LATE: Duration = Duration::from_secs(2);
/// From one measurement of the way to the next.
const MEASURING: Duration = Duration::from_secs(1);

/// A connection, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// What is to be sent to another member, and what is known of the way there.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    filled: Notify,
    /// The other is there: it has connected itself.
    seen: Notify,
    is_connected: AtomicBool,
    connections: AtomicU64,
    dropped: AtomicU64,
    /// In microseconds; 0 if it was not measured.
    round_trip: AtomicU64,
    /// Why there is no connection, since the last attempt failed.
    failure: Mutex<Option<Arc<str>>>,
}

/// What is to be sent.
#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Where whoever flushes may write it to.
    socket: Option<Arc<OwnedWriteHalf>>,
}

impl Waiting {
    /// Writes as much as the socket takes at once. Is anything left?
    fn write_at_once(&mut self) -> io::Result<bool> {
        let Some(socket) = &self.socket else { return Ok(!self.bytes.is_empty()) };
        let mut written = 0;
        let result = loop {
            if written == self.bytes.len() {
                break Ok(false);
            }
            match socket.try_write(&self.bytes[written..]) {
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(true),
                Err(error) => break Err(error),
            }
        };
        self.bytes.drain(..written);
        result
    }
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message. Nobody is woken before [`Outbox::flush`].
    pub(crate) fn push<M: Serialize>(&self, message: &M) {
        let bytes = &mut self.waiting().bytes;
        if bytes.len() > MOST_WAITING || !frame::append(&Frame::Message(message), bytes) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lets what was added be sent.
    pub(crate) fn flush(&self) {
        // If the connection is broken, its task finds out.
        if self.waiting().write_at_once().unwrap_or(true) {
            self.filled.notify_one();
        }
    }

    /// Whether all that was added has been sent, or has nobody to go to.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_connected() || self.waiting().bytes.is_empty()
    }

    /// The other has connected, in a new life: it is worth trying at once.
    pub(crate) fn see(&self) {
        self.seen.notify_one();
    }

    fn ping(&self, number: u64) {
        frame::append(&Frame::<()>::Ping(number), &mut self.waiting().bytes);
        self.filled.notify_one();
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.waiting().bytes)
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }

    /// Why there is no connection, if an attempt to open one has failed.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        self.failed().clone()
    }

    fn failed(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often a connection was opened.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// How many messages had nobody to go to.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// How long there and back, when it was measured last.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        Some(self.round_trip.load(Ordering::Relaxed)).filter(|&micros| micros > 0).map(Duration::from_micros)
    }
}

/// The way to one member.
pub(crate) struct Link {
    pub(crate) to: Id,
    pub(crate) address: String,
    pub(crate) hello: Hello,
    pub(crate) tls: Option<Tls>,
    pub(crate) outbox: Arc<Outbox>,
    /// Who was heard for the members.
    pub(crate) speakers: Arc<Speakers>,
    /// How long the other may leave a question unanswered before the connection is taken for broken.
    pub(crate) tolerance: Duration,
}

impl Link {
    /// Keeps the connection open, for ever.
    pub(crate) async fn run(self) {
        let Link { to, address, outbox, .. } = &self;
        let mut pause = SOON;
        loop {
            match timeout(OPENING, self.open()).await.unwrap_or_else(|_| Err("it does not answer".into())) {
                Ok(opened) => {
                    info!(node = self.hello.from, peer = to.number(), %address, "connected");
                    *outbox.failed() = None;
                    outbox.connections.fetch_add(1, Ordering::Relaxed);
                    outbox.is_connected.store(true, Ordering::Relaxed);
                    let since = Instant::now();
                    let ended = outbox.send_over(opened, self.tolerance).await;
                    if since.elapsed() > LATE {
                        pause = SOON;
                    }
                    outbox.is_connected.store(false, Ordering::Relaxed);
                    outbox.round_trip.store(0, Ordering::Relaxed);
                    info!(node = self.hello.from, peer = to.number(), %address, "the connection is gone: {ended}");
                }
                Err(failure) => {
                    // Nobody is there: what waits for it would be stale.
                    drop(outbox.take());
                    if outbox.failure().as_deref() == Some(failure.as_str()) {
                        debug!(node = self.hello.from, peer = to.number(), %address, "cannot connect: {failure}");
                    } else {
                        warn!(node = self.hello.from, peer = to.number(), %address, "cannot connect: {failure}");
                        *outbox.failed() = Some(failure.into());
                    }
                }
            }
            tokio::select! {
                () = sleep(jittered(pause)) => {}
                () = outbox.seen.notified() => pause = SOON,
            }
            pause = (pause * 2).min(LATE);
        }
    }

    async fn open(&self) -> Result<Opened, String> {
        let broken = |error: io::Error| explain(&error);
        let socket = TcpStream::connect(&self.address).await.map_err(broken)?;
        socket.set_nodelay(true).map_err(broken)?;
        match &self.tls {
            Some(tls) => {
                let stream = tls.connect(self.to, socket).await.map_err(broken)?;
                self.introduce(stream).await.map(|stream| Opened::Secret(Box::new(stream)))
            }
            None => self.introduce(socket).await.map(Opened::Plain),
        }
    }

    /// Says who speaks, and hears whether it may.
    async fn introduce<S: Stream>(&self, mut stream: S) -> Result<S, String> {
        let broken = |error: io::Error| explain(&error);
        let begun = frame::write_preface(&mut stream).await;
        let mut framed = Framed::new(stream, frame::codec(LONGEST_HELLO));
        let said = framed.send(frame::encode(&self.hello)).await;
        // Who does not listen may have said why.
        frame::read_preface(framed.get_mut()).await?;
        begun.and(said).map_err(broken)?;
        let answer = framed.next().await.ok_or("it hung up")?.map_err(broken)?;
        match frame::decode(&answer) {
            // It says nothing more before it is asked.
            Some(Verdict::Welcome { incarnation, instance }) => {
                self.speakers.check(self.to, incarnation, instance).map(|()| framed.into_inner())
            }
            // Its words, not ours.
            Some(Verdict::Refused { why }) => Err(format!("it refuses to talk: {}", why.escape_debug())),
            None => Err("it does not speak this protocol".into()),
        }
    }
}

/// A connection on which the other listens.
enum Opened {
    Plain(TcpStream),
    Secret(Box<dyn Stream>),
}

impl Outbox {
    /// Sends whatever comes, until the connection breaks. Returns why.
    async fn send_over(&self, opened: Opened, tolerance: Duration) -> String {
        // The last question, if it is not answered yet.
        let asked = Mutex::new(None);
        match opened {
            Opened::Plain(socket) => {
                let (receiving, sending) = socket.into_split();
                let sending = Arc::new(sending);
                self.waiting().socket = Some(Arc::clone(&sending));
                let ended = tokio::select! {
                    ended = self.write_what_is_left(&sending) => ended,
                    ended = self.read(receiving, &asked) => ended,
                    ended = self.measure(&asked, tolerance) => ended,
                };
                *self.waiting() = Waiting::default();
                ended
            }
            Opened::Secret(stream) => {
                let (receiving, sending) = tokio::io::split(stream);
                tokio::select! {
                    ended = self.write(sending) => ended,
                    ended = self.read(receiving, &asked) => ended,
                    ended = self.measure(&asked, tolerance) => ended,
                }
            }
        }
    }

    /// Writes what the socket did not take when it was flushed.
    async fn write_what_is_left(&self, socket: &OwnedWriteHalf) -> String {
        loop {
            let written = self.waiting().write_at_once();
            let is_ready = match written {
                Ok(false) => {
                    self.filled.notified().await;
                    continue;
                }
                Ok(true) => socket.writable().await,
                Err(error) => Err(error),
            };
            if let Err(error) = is_ready {
                return error.to_string();
            }
        }
    }

    async fn write(&self, mut sending: impl AsyncWrite + Unpin) -> String {
        loop {
            let bytes = self.take();
            if bytes.is_empty() {
                self.filled.notified().await;
                continue;
            }
            // With encryption, what is written waits for the flush.
            let written = async { sending.write_all(&bytes).await.and(sending.flush().await) };
            if let Err(error) = written.await {
                return error.to_string();
            }
        }
    }

    async fn read(&self, receiving: impl AsyncRead + Unpin, asked: &Mutex<Option<(u64, Instant)>>) -> String {
        let mut answers = FramedRead::new(receiving, frame::codec(LONGEST_HELLO));
        loop {
            let bytes = match answers.next().await {
                None => return "the other side closed it".into(),
                Some(Err(error)) => return error.to_string(),
                Some(Ok(bytes)) => bytes,
            };
            let Some(Pong(number)) = frame::decode(&bytes) else { return "nonsense came back".into() };
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, at)) = asked.take_if(|(last, _)| *last == number) {
                let micros = u64::try_from(at.elapsed().as_micros()).unwrap_or(u64::MAX);
                self.round_trip.store(micros.max(1), Ordering::Relaxed);
            }
        }
    }

    /// Asks again and again, until an answer takes too long.
    async fn measure(&self, asked: &Mutex<Option<(u64, Instant)>>, tolerance: Duration) -> String {
        for number in 1.. {
            let unanswered = asked.lock().unwrap_or_else(PoisonError::into_inner).map(|(_, at)| at.elapsed());
            match unanswered {
                Some(since) if since > tolerance => break,
                Some(_) => {}
                None => {
                    *asked.lock().unwrap_or_else(PoisonError::into_inner) = Some((number, Instant::now()));
                    self.ping(number);
                }
            }
            sleep(MEASURING).await;
        }
        "no answer comes".into()
    }
}

/// Between half of it and all of it, so that not all try at once.
fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 4];
    // If the system has no randomness to give, the pause is as it is.
    let share =
        getrandom::fill(&mut random).map_or(1.0, |()| f64::from(u32::from_ne_bytes(random)) / f64::from(u32::MAX));
    pause.mul_f64(0.5 + share / 2.0)
}
