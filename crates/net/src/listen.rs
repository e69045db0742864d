//! What others say: connections that they have opened.
//!
//! Who connects says who it is. It is refused, with a sentence that both sides log, if it is of another group or
//! version, runs something else, looks for somebody else, cannot show that it is who it says, or speaks for a member
//! that another process already speaks for. Of each member the last connection counts.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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

use crate::frame::{self, Hello, LONGEST_FRAME, LONGEST_HELLO, Verdict};
use crate::incoming::Incoming;
use crate::inlet::Inlet;
use crate::link::{Outbox, Stream};
use crate::rarely::Rarely;
use crate::strangers::{Stranger, Strangers};
use crate::tls::{Tls, explain, has_shown};

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
    /// Who was silent for so long has no claim to its number any more: it should have said twice that it lives.
    pub(crate) silence: Duration,
    /// Where those go who may speak.
    pub(crate) connecting: mpsc::Sender<Inlet>,
    pub(crate) speakers: Arc<Speakers>,
    pub(crate) outboxes: BTreeMap<Id, Arc<Outbox>>,
    /// From where connections were refused lately, and why.
    pub(crate) refused: Rarely<(IpAddr, String)>,
}

/// A process that speaks for a member, on its last connection.
pub(crate) struct Speaker {
    instance: u128,
    incarnation: u64,
    since: Instant,
    /// When it was heard last, in milliseconds since then.
    heard: AtomicU64,
    has_ended: AtomicBool,
}

/// Who was heard last for each member.
#[derive(Default)]
pub(crate) struct Speakers(Mutex<BTreeMap<Id, Arc<Speaker>>>);

impl Speakers {
    /// Whether somebody else who answers for a member can be it, by its life: not if that is not later than one that
    /// was heard of. Its directory is not the one that it had, and what is said to the one would be heard by the other.
    pub(crate) fn check(&self, id: Id, incarnation: u64, instance: u128) -> Result<(), String> {
        let speakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match speakers.get(&id).filter(|speaker| speaker.instance != instance) {
            Some(speaker) => speaker.precedes(id, incarnation),
            None => Ok(()),
        }
    }
}

impl Speaker {
    fn precedes(&self, id: Id, incarnation: u64) -> Result<(), String> {
        if incarnation > self.incarnation {
            return Ok(());
        }
        let id = id.number();
        Err(format!(
            "node {id} says that this is its life {incarnation}, and its life {} was heard of here: its directory is \
             not the one that it had; if that is lost, start it with --forgotten (`Config::forgotten`)",
            self.incarnation
        ))
    }

    /// It says something.
    pub(crate) fn hear(&self) {
        self.heard.store(u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// It does not speak on this connection any more.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Whether it may be there.
    fn is_there(&self, silence: Duration) -> bool {
        let heard = self.since + Duration::from_millis(self.heard.load(Ordering::Relaxed));
        !self.has_ended.load(Ordering::Relaxed) && heard.elapsed() < silence
    }
}

impl Listener {
    /// Listens, for ever.
    pub(crate) async fn run(self: Arc<Self>, socket: TcpListener) {
        let (strangers, crowded) = (Strangers::default(), Rarely::default());
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
                            "too many connections do not say who they are: one from {removed} was closed to make room \
                             for the next; let only members reach this port{since}"
                        );
                    }
                    connections.spawn(Arc::clone(&self).admit(stream, address, stranger));
                }
                Err(error) => {
                    warn!(node = self.hello.from, "cannot accept connections: {error}");
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
                return debug!(node, %from, "a connection said nothing, and had to make room for another");
            }
        };
        drop(stranger);
        match introduced {
            // If it cannot be heard, the node has stopped.
            Ok(Ok(inlet)) => _ = self.connecting.send(inlet).await,
            Ok(Err(why)) => match self.refused.happens((address.ip(), why.clone()), Instant::now()) {
                Some(since) => warn!(node, %from, "refused a connection: {why}{since}"),
                None => debug!(node, %from, "refused a connection: {why}"),
            },
            Err(_) => debug!(node, %from, "a connection said nothing"),
        }
    }

    async fn introduce(&self, socket: TcpStream) -> Result<Inlet, String> {
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
    async fn meet<S: Stream + 'static>(
        &self,
        mut stream: S,
        has_shown: impl Fn(&S, u32) -> bool,
    ) -> Result<Inlet, String> {
        match self.greet(&mut stream, has_shown).await {
            Ok((id, speaker, incoming)) => Ok(Inlet::new(id, speaker, Box::new(stream), incoming)),
            Err(why) => {
                hear_out(stream).await;
                Err(why)
            }
        }
    }

    /// Hears who it is, and says whether it may speak. Returns also what it has said already.
    async fn greet<S: Stream>(
        &self,
        stream: &mut S,
        has_shown: impl Fn(&S, u32) -> bool,
    ) -> Result<(Id, Arc<Speaker>, Incoming), String> {
        let broken = |error: io::Error| explain(&error);
        // Also to who speaks something else: it can say what this is.
        frame::write_preface(stream).await.map_err(broken)?;
        stream.flush().await.map_err(broken)?;
        frame::read_preface(stream).await?;
        let mut framed = Framed::new(stream, frame::codec(LONGEST_HELLO));
        let bytes = framed.next().await.ok_or("it hung up")?.map_err(broken)?;
        let judged = match frame::decode::<Hello>(&bytes) {
            Some(hello) => self.judge(&hello, has_shown(&**framed.get_ref(), hello.from)),
            None => Err("it says nothing that makes sense".into()),
        };
        let verdict = match &judged {
            Ok(_) => Verdict::Welcome { incarnation: self.hello.incarnation, instance: self.hello.instance },
            Err(why) => Verdict::Refused { why: why.clone() },
        };
        let answered = framed.send(frame::encode(&verdict)).await.map_err(broken);
        let (id, speaker) = judged?;
        if let Err(error) = answered {
            speaker.end();
            return Err(error);
        }
        // What came with the greeting is not lost.
        Ok((id, speaker, Incoming::new(LONGEST_FRAME, &framed.into_parts().read_buf)))
    }

    /// Whether who says this may speak.
    fn judge(&self, hello: &Hello, has_shown: bool) -> Result<(Id, Arc<Speaker>), String> {
        let ours = &self.hello;
        if hello.cluster != ours.cluster {
            return Err(format!(
                "it is of the group {:?}, and node {} of {:?}",
                hello.cluster, ours.from, ours.cluster
            ));
        }
        if hello.terms != ours.terms {
            return Err(format!("it runs {:?}; node {} runs {:?}", hello.terms, ours.from, ours.terms));
        }
        if hello.to != ours.from {
            return Err(format!("it looks for node {}, and this is node {}", hello.to, ours.from));
        }
        let id = Id::try_from(hello.from).ok().filter(|id| id.number() <= self.n && id.number() != ours.from);
        let Some(id) = id else {
            return Err(format!(
                "it says that it is node {}, which is none of the others of 1 to {}",
                hello.from, self.n
            ));
        };
        if !has_shown {
            return Err(format!("it says that it is node {}, and its certificate does not", id.number()));
        }
        let mut speakers = self.speakers.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = match speakers.get(&id) {
            Some(speaker) if speaker.instance == hello.instance => false,
            Some(speaker) if speaker.is_there(self.silence) => {
                let id = id.number();
                return Err(format!("another process speaks for node {id}: every node has a number of its own"));
            }
            Some(speaker) => {
                speaker.precedes(id, hello.incarnation)?;
                true
            }
            None => true,
        };
        let speaker = Arc::new(Speaker {
            instance: hello.instance,
            incarnation: hello.incarnation,
            since: Instant::now(),
            heard: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
        });
        if let Some(before) = speakers.insert(id, Arc::clone(&speaker)) {
            before.end();
        }
        if is_new && let Some(outbox) = self.outboxes.get(&id) {
            outbox.see();
        }
        Ok((id, speaker))
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
