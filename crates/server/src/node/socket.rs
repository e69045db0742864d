//! A connection that was accepted: plain or encrypted, and counted for as long as it lives, whatever becomes of it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::server::TlsStream;

use super::tls::{Tls, is_members};

/// What an HTTP/2 connection begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How soon to look again when less than that has come.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Who says nothing for so long is asked whether it is there,
const QUIET: Duration = Duration::from_secs(60);
/// so often,
const ASK_AGAIN: Duration = Duration::from_secs(15);
/// and so many times.
const MOST_ASKED: u32 = 4;

/// A connection. Also after an upgrade it has its place among those that are counted.
#[derive(Debug)]
pub(super) struct Socket {
    io: Io,
    _place: OwnedSemaphorePermit,
}

#[derive(Debug)]
enum Io {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// What is known of a connection before anything is asked on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nature {
    /// Whether HTTP/2 is spoken on it.
    pub(super) is_http2: bool,
    /// Whether the other end has shown the certificate of a member.
    pub(super) is_member: bool,
}

impl Socket {
    /// Finds out what is spoken on a connection. This takes as long as the other end likes.
    pub(super) async fn open(
        socket: TcpStream,
        tls: Option<&Tls>,
        place: OwnedSemaphorePermit,
    ) -> io::Result<(Socket, Nature)> {
        // A connection without it works as well, only slower,
        let _ = socket.set_nodelay(true);
        // or is noticed to be gone only when something is to be said.
        let _ = keep_alive(&socket);
        match tls {
            None => {
                let is_http2 = begins_http2(&socket).await?;
                let io = Io::Plain(socket);
                Ok((Socket { io, _place: place }, Nature { is_http2, is_member: false }))
            }
            Some(tls) => {
                let stream = tls.acceptor.accept(socket).await?;
                let (_, connection) = stream.get_ref();
                let is_http2 = connection.alpn_protocol() == Some(b"h2");
                let shown = connection.peer_certificates().and_then(|chain| chain.first());
                let is_member = shown.is_some_and(is_members);
                let io = Io::Encrypted(Box::new(stream));
                Ok((Socket { io, _place: place }, Nature { is_http2, is_member }))
            }
        }
    }
}

/// Has the system ask from time to time whether the other end is still there: one that has lost its power or its
/// network says nothing, and would keep its place for ever.
fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    sockopt::set_tcp_keepidle(socket, QUIET)?;
    sockopt::set_tcp_keepintvl(socket, ASK_AGAIN)?;
    sockopt::set_tcp_keepcnt(socket, MOST_ASKED)?;
    sockopt::set_socket_keepalive(socket, true)?;
    Ok(())
}

/// Whether what comes first on a connection is the beginning of HTTP/2. Nothing is read.
async fn begins_http2(socket: &TcpStream) -> io::Result<bool> {
    let mut first = [0; PREFACE.len()];
    loop {
        let seen = socket.peek(&mut first).await?;
        if seen == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if first[..seen] != PREFACE[..seen] {
            return Ok(false);
        }
        if seen == PREFACE.len() {
            return Ok(true);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(io) => Pin::new(io).poll_read(context, buffer),
            Io::Encrypted(io) => Pin::new(io).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().io {
            Io::Plain(io) => Pin::new(io).poll_write(context, bytes),
            Io::Encrypted(io) => Pin::new(io).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().io {
            Io::Plain(io) => Pin::new(io).poll_write_vectored(context, slices),
            Io::Encrypted(io) => Pin::new(io).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(io) => io.is_write_vectored(),
            Io::Encrypted(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(io) => Pin::new(io).poll_flush(context),
            Io::Encrypted(io) => Pin::new(io).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(io) => Pin::new(io).poll_shutdown(context),
            Io::Encrypted(io) => Pin::new(io).poll_shutdown(context),
        }
    }
}
