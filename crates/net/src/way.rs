//! The way out over one connection, whoever has opened it.
//!
//! What is to be sent waits in a buffer of bounded length. Who flushes it writes it to the socket itself, as far as
//! that takes it: to wake another task for each message costs more than the message. What the socket does not take at
//! once, and everything that is encrypted, the connection's own task writes ([`Way::carry`]).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_rustls::{client, server};

use crate::frame::{self, Frame};

/// So much waits for a connection at most.
const MOST_WAITING: usize = 8 << 20;
/// So many answers wait at most. Who does not read the answers to its questions gets no more.
const MOST_ANSWERS: usize = 16;

/// A connection, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Its two directions.
    fn halves(self) -> (Reading, Writing);
}

/// Where what the other says comes from.
pub(crate) type Reading = Box<dyn AsyncRead + Send + Unpin>;

/// Where what is said to the other goes.
pub(crate) enum Writing {
    Plain(Arc<OwnedWriteHalf>),
    Secret(Box<dyn AsyncWrite + Send + Unpin>),
}

impl Stream for TcpStream {
    fn halves(self) -> (Reading, Writing) {
        let (reading, writing) = self.into_split();
        (Box::new(reading), Writing::Plain(Arc::new(writing)))
    }
}

impl Stream for client::TlsStream<TcpStream> {
    fn halves(self) -> (Reading, Writing) {
        secret_halves(self)
    }
}

impl Stream for server::TlsStream<TcpStream> {
    fn halves(self) -> (Reading, Writing) {
        secret_halves(self)
    }
}

fn secret_halves(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> (Reading, Writing) {
    let (reading, writing) = tokio::io::split(stream);
    (Box::new(reading), Writing::Secret(Box::new(writing)))
}

/// The way out over one connection.
#[derive(Debug)]
pub(crate) struct Way {
    outgoing: Mutex<Outgoing>,
    /// There is something to write that nobody has written, or the connection has ended.
    stirred: Notify,
    /// Whether the other was heard on this connection since that was looked at.
    was_heard: AtomicBool,
    /// Who hears the other on this connection.
    hearer: AtomicWaker,
}

#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    /// How many answers are among them, at most, and where the last one ends.
    answers: usize,
    answered_to: usize,
    /// Whether the connection's task has taken some that it has not written yet.
    is_writing: bool,
    /// Where whoever flushes may write them to.
    socket: Option<Arc<OwnedWriteHalf>>,
    /// Why the connection has ended, if it has.
    ended: Option<String>,
}

impl Outgoing {
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
        self.answered_to = self.answered_to.saturating_sub(written);
        if self.answered_to == 0 {
            self.answers = 0;
        }
        result
    }

    /// For the connection's task to write.
    fn take(&mut self) -> Vec<u8> {
        self.is_writing = !self.bytes.is_empty();
        (self.answers, self.answered_to) = (0, 0);
        std::mem::take(&mut self.bytes)
    }
}

impl Way {
    /// Over a new connection.
    pub(crate) fn over(writing: &Writing) -> Way {
        let socket = match writing {
            Writing::Plain(socket) => Some(Arc::clone(socket)),
            Writing::Secret(_) => None,
        };
        let outgoing =
            Outgoing { bytes: Vec::new(), answers: 0, answered_to: 0, is_writing: false, socket, ended: None };
        Way {
            outgoing: Mutex::new(outgoing),
            stirred: Notify::new(),
            was_heard: AtomicBool::new(true),
            hearer: AtomicWaker::new(),
        }
    }

    fn outgoing(&self) -> MutexGuard<'_, Outgoing> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message, to be sent with the next flush. `false` if there is no room for it.
    pub(crate) fn push<M: Serialize>(&self, message: &M) -> bool {
        append(message, &mut self.outgoing().bytes)
    }

    /// Adds what had no connection to wait for.
    pub(crate) fn push_bytes(&self, bytes: &[u8]) {
        self.outgoing().bytes.extend_from_slice(bytes);
    }

    /// Asks how long the way is.
    pub(crate) fn ask(&self, number: u64) {
        frame::append(&Frame::<()>::Ping(number), &mut self.outgoing().bytes);
        self.flush();
    }

    /// Answers that question.
    pub(crate) fn answer(&self, number: u64) {
        let mut outgoing = self.outgoing();
        if outgoing.answers < MOST_ANSWERS {
            outgoing.answers += 1;
            frame::append(&Frame::<()>::Pong(number), &mut outgoing.bytes);
            outgoing.answered_to = outgoing.bytes.len();
        }
        drop(outgoing);
        self.flush();
    }

    /// Lets what was added be sent.
    pub(crate) fn flush(&self) {
        // If the connection is broken, its task finds out.
        if self.outgoing().write_at_once().unwrap_or(true) {
            self.stirred.notify_one();
        }
    }

    /// Whether all that was added has been given to the system.
    pub(crate) fn is_empty(&self) -> bool {
        let outgoing = self.outgoing();
        outgoing.bytes.is_empty() && !outgoing.is_writing
    }

    /// The other says something on this connection.
    pub(crate) fn hear(&self) {
        self.was_heard.store(true, Ordering::Relaxed);
    }

    /// Waits until the other is not heard for so long.
    pub(crate) async fn is_silent(&self, silence: Duration) {
        while self.was_heard.swap(false, Ordering::Relaxed) {
            sleep(silence).await;
        }
    }

    /// The connection is over, for this reason, if there was none before.
    pub(crate) fn end(&self, why: &str) {
        let mut outgoing = self.outgoing();
        outgoing.bytes = Vec::new();
        outgoing.socket = None;
        outgoing.ended.get_or_insert_with(|| why.into());
        drop(outgoing);
        self.stirred.notify_one();
        self.hearer.wake();
    }

    /// Why the connection is over, if it is. If not, who asks is woken when it is.
    pub(crate) fn ended(&self, context: &Context<'_>) -> Option<String> {
        self.hearer.register(context.waker());
        self.outgoing().ended.clone()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.outgoing().ended.is_some()
    }

    /// Writes what those who flush do not, until the connection is over. Returns why it is.
    pub(crate) async fn carry(&self, writing: Writing) -> String {
        let broken = match writing {
            Writing::Plain(socket) => self.carry_plain(&socket).await,
            Writing::Secret(writing) => self.carry_secret(writing).await,
        };
        if let Err(error) = broken {
            self.end(&error.to_string());
        }
        self.outgoing().ended.clone().unwrap_or_default()
    }

    async fn carry_plain(&self, socket: &OwnedWriteHalf) -> io::Result<()> {
        while !self.has_ended() {
            let is_left = self.outgoing().write_at_once()?;
            if is_left {
                tokio::select! {
                    is_ready = socket.writable() => is_ready?,
                    () = self.is_over() => {}
                }
            } else {
                self.stirred.notified().await;
            }
        }
        Ok(())
    }

    async fn carry_secret(&self, mut writing: impl AsyncWrite + Unpin) -> io::Result<()> {
        while !self.has_ended() {
            let bytes = self.outgoing().take();
            if bytes.is_empty() {
                self.stirred.notified().await;
                continue;
            }
            // With encryption, what is written waits for the flush.
            let written = async {
                writing.write_all(&bytes).await?;
                writing.flush().await
            };
            tokio::select! {
                written = written => written?,
                () = self.is_over() => {}
            }
            self.outgoing().is_writing = false;
        }
        Ok(())
    }

    async fn is_over(&self) {
        while !self.has_ended() {
            self.stirred.notified().await;
        }
    }
}

/// Adds a message, if there is room for it.
pub(crate) fn append<M: Serialize>(message: &M, bytes: &mut Vec<u8>) -> bool {
    bytes.len() <= MOST_WAITING && frame::append(&Frame::Message(message), bytes)
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use quorate_core::id::Id;
    use tokio::net::TcpListener;
    use tokio::time::Instant;
    use tokio_util::codec::FramedRead;

    use crate::authority::Authority;
    use crate::tls::Tls;

    use super::*;

    async fn connection() -> (Arc<Way>, Writing, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (_, writing) = stream.halves();
        (Arc::new(Way::over(&writing)), writing, listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn what_a_full_socket_does_not_take_comes_later_and_whole_and_few_answers_wait() {
        let (way, writing, end) = connection().await;
        let message = vec![7u8; frame::LONGEST_FRAME / 2];
        let mut pushed = 0;
        while way.push(&message) {
            way.flush();
            pushed += 1;
        }
        assert!(!way.is_empty() && pushed >= MOST_WAITING / message.len());
        for number in 0..10 * MOST_ANSWERS as u64 {
            way.answer(number);
        }
        let carrying = tokio::spawn({
            let way = Arc::clone(&way);
            async move { way.carry(writing).await }
        });
        let mut frames = FramedRead::new(end, frame::codec(frame::LONGEST_FRAME));
        for count in 0..pushed + MOST_ANSWERS {
            let bytes = frames.next().await.unwrap().unwrap();
            match frame::decode::<Frame<Vec<u8>>>(&bytes).unwrap() {
                Frame::Message(heard) => assert!(count < pushed && heard == message),
                Frame::Pong(number) => assert_eq!(number, (count - pushed) as u64),
                Frame::Ping(_) | Frame::Refused(_) => panic!("nobody says that"),
            }
        }
        // There is room again, for answers, too.
        way.answer(99);
        assert_eq!(frame::decode(&frames.next().await.unwrap().unwrap()), Some(Frame::<()>::Pong(99)));
        assert!(way.is_empty());

        way.end("it has to");
        way.end("for another reason");
        assert_eq!(carrying.await.unwrap(), "it has to");
        assert!(frames.next().await.is_none(), "the other side sees that it is over");
    }

    /// What is encrypted is written by the connection's task alone, from a buffer of its own.
    #[tokio::test]
    async fn in_secret_as_little_waits_for_who_does_not_read_and_all_of_it_comes_in_the_end() {
        let directory = std::env::temp_dir().join(format!("quorate-way-{}", std::process::id()));
        let authority = Authority::new(&directory);
        let [first, second] = [1, 2].map(|id| Tls::issued(&authority, id));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = listener.accept().await.unwrap().0;
        let (opened, accepted) = tokio::join!(first.connect(Id::new(2), socket), second.accept(accepted));
        let (_reading, writing) = opened.unwrap().halves();
        let way = Arc::new(Way::over(&writing));
        let carrying = tokio::spawn({
            let way = Arc::clone(&way);
            async move { way.carry(writing).await }
        });
        // One buffer is being written, one is full, and the system keeps a little.
        let (message, most) = (vec![7u8; frame::LONGEST_FRAME / 2], 8 * MOST_WAITING / frame::LONGEST_FRAME);
        let (mut pushed, mut is_full) = (0, 0);
        while is_full < 5 {
            if way.push(&message) {
                (pushed, is_full) = (pushed + 1, 0);
                way.flush();
            } else {
                is_full += 1;
                sleep(Duration::from_millis(5)).await;
            }
            tokio::task::yield_now().await;
            assert!(pushed < most, "there is always room");
        }
        assert!(!way.is_empty());
        let Ok(end) = accepted else { panic!("it is accepted") };
        let mut frames = FramedRead::new(end, frame::codec(frame::LONGEST_FRAME));
        for _ in 0..pushed {
            let bytes = frames.next().await.unwrap().unwrap();
            assert_eq!(frame::decode(&bytes), Some(Frame::Message(message.clone())));
        }
        while !way.is_empty() {
            tokio::task::yield_now().await;
        }
        way.end("it has to");
        assert_eq!(carrying.await.unwrap(), "it has to");
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[tokio::test]
    async fn who_is_not_heard_for_long_enough_is_silent() {
        let (way, _, _) = connection().await;
        let silence = Duration::from_millis(20);
        for _ in 0..2 {
            let since = Instant::now();
            way.is_silent(silence).await;
            assert!(since.elapsed() >= silence);
            way.hear();
        }
    }
}
