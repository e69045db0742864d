//! The way out over one connection, whoever has opened it.
//!
//! What is to be sent waits in a buffer of bounded length. Who flushes it writes it to the socket itself, as far as
//! that takes it: to wake another task for each message costs more than the message. What the socket does not take at
//! once, and everything that is encrypted, the connection's own task writes ([`Way::carry`]).

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;
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
}

#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    /// How many answers are among them, at most.
    answers: usize,
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
                self.answers = 0;
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

    /// For the connection's task to write.
    fn take(&mut self) -> Vec<u8> {
        self.is_writing = !self.bytes.is_empty();
        self.answers = 0;
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
        let outgoing = Outgoing { bytes: Vec::new(), answers: 0, is_writing: false, socket, ended: None };
        Way { outgoing: Mutex::new(outgoing), stirred: Notify::new() }
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

    /// The connection is over, for this reason, if there was none before.
    pub(crate) fn end(&self, why: &str) {
        let mut outgoing = self.outgoing();
        outgoing.bytes = Vec::new();
        outgoing.socket = None;
        outgoing.ended.get_or_insert_with(|| why.into());
        drop(outgoing);
        self.stirred.notify_one();
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
