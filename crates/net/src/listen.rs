//! What others say: connections that they have opened.
//!
//! Who connects says who it is. It is refused, with a sentence that both sides log, if it is of another group or
//! version, runs something else, looks for somebody else, cannot show that it is who it says, or speaks for a member
//! that another process already speaks for. Of each member the last connection counts.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use quorate_core::id::Id;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::codec::Framed;
use tracing::{debug, warn};

use crate::frame::{self, Hello, LONGEST_FRAME, LONGEST_HELLO, Refusal, Verdict};
use crate::incoming::Incoming;
use crate::inlet::Inlet;
use crate::outbox::{Opened, Outbox};
use crate::rarely::Rarely;
use crate::speakers::{Speakers, Speaking};
use crate::strangers::{Stranger, Strangers};
use crate::tls::{Tls, explain, has_shown};
use crate::way::{Stream, Way, Writing};

/// Saying who one is takes no longer.
const INTRODUCTION: Duration = Duration::from_secs(3);
/// Who is refused is listened to for so long, and for so many bytes, so that it hears why.
const HEARING_OUT: Duration = Duration::from_millis(300);
const MOST_HEARD_OUT: u64 = 64 << 10;

/// Who listens, and to whom.
pub(crate) struct Listener {
    pub(crate) hello: Hello,
    pub(crate) n: u32,
    pub(crate) tls: Option<Tls>,
    /// Where those go who may speak.
    pub(crate) connecting: mpsc::Sender<Inlet>,
    pub(crate) speakers: Arc<Speakers>,
    /// Who has opened a connection asks something on it more often than this, unless it is not there.
    pub(crate) silence: Duration,
    pub(crate) outboxes: BTreeMap<Id, Arc<Outbox>>,
    /// From where connections were refused lately, and why.
    pub(crate) refused: Rarely<(IpAddr, String)>,
}

/// Somebody who may speak.
struct Met {
    id: Id,
    speaking: Speaking,
    outbox: Arc<Outbox>,
    /// What it has said already.
    incoming: Incoming,
}

impl Listener {
    /// Listens, for ever.
    pub(crate) async fn run(self: Arc<Self>, socket: TcpListener) {
        let (strangers, crowded, failing) = (Strangers::default(), Rarely::default(), Rarely::default());
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            match socket.accept().await {
                Ok((stream, address)) => {
                    let (stranger, removed) = strangers.admit(address.ip());
                    if let Some(removed) = removed
                        && let Some(since) = crowded.happens((), Instant::now())
                    {
                        warn!(
                            node = self.hello.from,
                            from = %removed,
                            suppressed = since,
                            "unidentified connection evicted"
                        );
                    }
                    connections.spawn(Arc::clone(&self).admit(stream, address, stranger));
                }
                Err(error) => {
                    if let Some(since) = failing.happens((), Instant::now()) {
                        warn!(node = self.hello.from, %error, suppressed = since, "accept failed");
                    }
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Lets somebody speak, if it may.
    async fn admit(self: Arc<Self>, stream: TcpStream, address: SocketAddr, mut stranger: Stranger) {
        let (node, from) = (self.hello.from, address);
        let introduced = tokio::select! {
            biased;
            introduced = timeout(INTRODUCTION, self.introduce(stream)) => introduced,
            () = stranger.is_replaced() => {
                return debug!(node, %from, "unidentified connection evicted");
            }
        };
        drop(stranger);
        match introduced {
            Ok(Ok((inlet, writing))) => {
                let (way, outbox) = inlet.way();
                // If it cannot be heard, the node has stopped.
                if self.connecting.send(inlet).await.is_ok() {
                    let ended = tokio::select! {
                        ended = way.carry(writing) => ended,
                        () = way.is_silent(self.silence) => {
                            let why = "no ping received in time";
                            way.end(why);
                            why.into()
                        }
                    };
                    outbox.detach(&way);
                    debug!(node, %from, reason = ended.as_str(), "inbound connection closed");
                }
            }
            Ok(Err(why)) => match self.refused.happens((address.ip(), why.clone()), Instant::now()) {
                Some(since) => {
                    warn!(node, %from, reason = why.as_str(), suppressed = since, "inbound connection rejected");
                }
                None => debug!(node, %from, reason = why.as_str(), "inbound connection rejected"),
            },
            Err(_) => debug!(node, %from, "handshake timed out"),
        }
    }

    async fn introduce(&self, socket: TcpStream) -> Result<(Inlet, Writing), String> {
        socket.set_nodelay(true).map_err(|error| explain(&error))?;
        match &self.tls {
            Some(tls) => match tls.accept(socket).await {
                Ok(stream) => self.meet(stream, has_shown).await,
                Err((error, socket)) => {
                    hear_out(socket).await;
                    Err(explain(&error))
                }
            },
            None => self.meet(socket, |_, _| true).await,
        }
    }

    /// Makes the acquaintance of somebody, who hears what is said of it.
    async fn meet<S: Stream>(
        &self,
        mut stream: S,
        has_shown: impl Fn(&S, u32) -> bool,
    ) -> Result<(Inlet, Writing), String> {
        match self.greet(&mut stream, has_shown).await {
            Ok(Met { id, speaking, outbox, incoming }) => {
                let (reading, writing) = stream.halves();
                let way = Arc::new(Way::over(&writing));
                Ok((Inlet::new(id, Opened::There, speaking, reading, incoming, way, outbox), writing))
            }
            Err(why) => {
                hear_out(stream).await;
                Err(why)
            }
        }
    }

    /// Hears who it is, and says whether it may speak.
    async fn greet<S: Stream>(&self, stream: &mut S, has_shown: impl Fn(&S, u32) -> bool) -> Result<Met, String> {
        let broken = |error: io::Error| explain(&error);
        // Also to who speaks something else: it can say what this is.
        frame::write_preface(stream).await.map_err(broken)?;
        stream.flush().await.map_err(broken)?;
        frame::read_preface(stream).await?;
        let mut framed = Framed::new(stream, frame::codec(LONGEST_HELLO));
        let bytes = framed.next().await.ok_or(frame::CLOSED)?.map_err(broken)?;
        let judged = match frame::decode::<Hello>(&bytes) {
            Some(hello) => self.judge(&hello, has_shown(&**framed.get_ref(), hello.from)),
            None => Err("malformed handshake".into()),
        };
        let verdict = match &judged {
            Ok(_) => Verdict::Welcome(self.hello.identity),
            Err(refusal) => Verdict::Refused(refusal.clone()),
        };
        let answered = framed.send(frame::encode(&verdict)).await.map_err(broken);
        let (id, speaking, outbox) = judged.map_err(|refusal| refusal.why().to_string())?;
        answered?;
        // What came with the greeting is not lost.
        let incoming = Incoming::new(LONGEST_FRAME, &framed.into_parts().read_buf);
        Ok(Met { id, speaking, outbox, incoming })
    }

    /// Whether who says this may speak.
    fn judge(&self, hello: &Hello, has_shown: bool) -> Result<(Id, Speaking, Arc<Outbox>), Refusal> {
        let ours = &self.hello;
        if hello.cluster != ours.cluster {
            return Err(format!(
                "node {} belongs to the cluster {:?}, node {} to {:?}: give all members the same cluster name",
                hello.from, hello.cluster, ours.from, ours.cluster
            )
            .into());
        }
        if hello.terms != ours.terms {
            return Err(format!(
                "node {} runs {:?}, node {} runs {:?}: start all members with the same settings",
                hello.from, hello.terms, ours.from, ours.terms
            )
            .into());
        }
        if hello.to != ours.from {
            return Err(format!(
                "node {} tries to reach node {} at the address of node {}: check the member addresses",
                hello.from, hello.to, ours.from
            )
            .into());
        }
        let id = Id::try_from(hello.from).ok();
        let Some((&id, outbox)) = id.and_then(|id| self.outboxes.get_key_value(&id)) else {
            return Err(if hello.from == ours.from {
                format!("another process uses the id {}: every node needs an id of its own", ours.from).into()
            } else {
                format!("node {} is not a member: the members are numbered 1 to {}", hello.from, self.n).into()
            });
        };
        if !has_shown {
            let id = id.number();
            return Err(format!(
                "the certificate of this connection is not valid for node {id}: create one for node {id} (`quorate \
                 keys nodes`, with a NAME that ends with {id})"
            )
            .into());
        }
        let (speaking, is_new) = self.speakers.admit(id, hello.identity, Instant::now())?;
        if is_new {
            outbox.see();
        }
        Ok((id, speaking, Arc::clone(outbox)))
    }
}

/// Reads what who is refused still says. A connection that is closed before is reset, and with it may be lost what it
/// was told.
async fn hear_out(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let heard = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(MOST_HEARD_OUT), &mut tokio::io::sink()).await
    };
    // It is refused, whatever comes of it.
    _ = timeout(HEARING_OUT, heard).await;
}

#[cfg(test)]
mod tests;
