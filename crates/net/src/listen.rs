//! What others say: connections that they have opened.
//!
//! Who connects says who it is. It is refused, with a sentence that both sides log, if it is of another group or
//! version, runs something else, looks for somebody else, cannot show that it is who it says, or speaks for a member
//! that another process already speaks for. Of each member the last connection counts.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use quorate_core::id::Id;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::codec::Framed;
use tracing::{debug, warn};

use crate::frame::{self, Hello, LONGEST_FRAME, LONGEST_HELLO, Verdict};
use crate::incoming::Incoming;
use crate::inlet::Inlet;
use crate::link::{Outbox, Stream};
use crate::tls::{Tls, has_shown};

/// Saying who one is takes no longer.
const INTRODUCTION: Duration = Duration::from_secs(3);
/// So many may be at it at a time.
const MOST_STRANGERS: usize = 64;

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
        Err(format!(
            "node {id} says that this is its life {incarnation}, and its life {} was heard of here: its directory is \
             not the one that it had; if that is lost, it has to be told so",
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
        let strangers = Arc::new(Semaphore::new(MOST_STRANGERS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(permit) = Arc::clone(&strangers).acquire_owned().await else { return };
            match socket.accept().await {
                Ok((stream, address)) => {
                    let listener = Arc::clone(&self);
                    connections.spawn(async move {
                        let from = address.to_string();
                        let introduced = timeout(INTRODUCTION, listener.introduce(stream)).await;
                        drop(permit);
                        match introduced {
                            // If it cannot be heard, the node has stopped.
                            Ok(Ok(inlet)) => _ = listener.connecting.send(inlet).await,
                            Ok(Err(why)) => warn!(node = listener.hello.from, %from, "refused a connection: {why}"),
                            Err(_) => debug!(node = listener.hello.from, %from, "a connection said nothing"),
                        }
                    });
                }
                Err(error) => {
                    warn!(node = self.hello.from, "cannot accept connections: {error}");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn introduce(&self, socket: TcpStream) -> Result<Inlet, String> {
        let broken = |error: io::Error| error.to_string();
        socket.set_nodelay(true).map_err(broken)?;
        match &self.tls {
            Some(tls) => {
                let stream = tls.accept(socket).await.map_err(broken)?;
                self.meet(stream, has_shown).await
            }
            None => self.meet(socket, |_, _| true).await,
        }
    }

    /// Hears who it is, and says whether it may speak.
    async fn meet<S: Stream + 'static>(
        &self,
        mut stream: S,
        has_shown: impl Fn(&S, u32) -> bool,
    ) -> Result<Inlet, String> {
        let broken = |error: io::Error| error.to_string();
        // Also to who speaks something else: it can say what this is.
        frame::write_preface(&mut stream).await.map_err(broken)?;
        stream.flush().await.map_err(broken)?;
        frame::read_preface(&mut stream).await?;
        let mut framed = Framed::new(stream, frame::codec(LONGEST_HELLO));
        let bytes = framed.next().await.ok_or("it hung up")?.map_err(broken)?;
        let judged = match frame::decode::<Hello>(&bytes) {
            Some(hello) => self.judge(&hello, has_shown(framed.get_ref(), hello.from)),
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
        let parts = framed.into_parts();
        let incoming = Incoming::new(LONGEST_FRAME, &parts.read_buf);
        Ok(Inlet::new(id, speaker, Box::new(parts.io), incoming))
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
            return Err(format!("it says that it is node {id}, and its certificate does not"));
        }
        let mut speakers = self.speakers.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = match speakers.get(&id) {
            Some(speaker) if speaker.instance == hello.instance => false,
            Some(speaker) if speaker.is_there(self.silence) => {
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
