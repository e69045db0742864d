//! The way to another member: a connection that this node opens, and opens again whenever it breaks.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use quorate_core::id::Id;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::codec::Framed;
use tracing::{debug, info, warn};

use crate::frame::{self, Frame, Hello, LONGEST_FRAME, LONGEST_HELLO, REJECTED, Refusal, Verdict};
use crate::incoming::Incoming;
use crate::inlet::Inlet;
use crate::node::Command;
use crate::outbox::{Opened, Outbox};
use crate::speakers::Speakers;
use crate::tls::{Tls, explain};
use crate::way::{Stream, Way, Writing};

/// Opening a connection takes no longer.
const OPENING: Duration = Duration::from_secs(3);
/// From one attempt to the next, at first and at most.
const SOON: Duration = Duration::from_millis(50);
const LATE: Duration = Duration::from_secs(2);

/// The way to one member.
pub(crate) struct Link {
    pub(crate) to: Id,
    pub(crate) address: String,
    pub(crate) hello: Hello,
    pub(crate) tls: Option<Tls>,
    pub(crate) outbox: Arc<Outbox>,
    /// Who was heard for the members.
    pub(crate) speakers: Arc<Speakers>,
    /// Where the other is heard.
    pub(crate) connecting: mpsc::Sender<Inlet>,
    /// Whom to tell that this node must not go on; not if nobody has a handle of it any more.
    pub(crate) commands: mpsc::WeakUnboundedSender<Command>,
    /// How long the other may leave a question unanswered before the connection is taken for broken.
    pub(crate) tolerance: Duration,
}

impl Link {
    /// Keeps the connection open, for ever.
    pub(crate) async fn run(self) {
        let Link { to, address, outbox, .. } = &self;
        let (node, peer) = (self.hello.from, to.number());
        let mut pause = SOON;
        loop {
            match timeout(OPENING, self.open()).await.unwrap_or_else(|_| Err("the peer did not answer in time".into()))
            {
                Ok((inlet, writing)) => {
                    info!(node, peer, %address, "outbound connection opened");
                    outbox.count();
                    let since = Instant::now();
                    let ended = self.speak(inlet, writing).await;
                    if since.elapsed() > LATE {
                        pause = SOON;
                    }
                    info!(node, peer, %address, reason = ended.as_str(), "outbound connection closed");
                }
                Err(failure) => {
                    outbox.forget();
                    if outbox.fail(Some(&failure)) {
                        warn!(node, peer, %address, reason = failure.as_str(), "connect failed");
                    } else {
                        debug!(node, peer, %address, reason = failure.as_str(), "connect failed");
                    }
                }
            }
            tokio::select! {
                () = sleep(jittered(pause)) => {}
                () = outbox.is_seen() => pause = SOON,
            }
            pause = (pause * 2).min(LATE);
        }
    }

    /// Opens it, once.
    pub(crate) async fn open(&self) -> Result<(Inlet, Writing), String> {
        let broken = |error: io::Error| explain(&error);
        let socket = TcpStream::connect(&self.address).await.map_err(broken)?;
        socket.set_nodelay(true).map_err(broken)?;
        match &self.tls {
            Some(tls) => self.introduce(tls.connect(self.to, socket).await.map_err(broken)?).await,
            None => self.introduce(socket).await,
        }
    }

    /// Says who speaks, and hears whether it may.
    async fn introduce<S: Stream>(&self, mut stream: S) -> Result<(Inlet, Writing), String> {
        let broken = |error: io::Error| explain(&error);
        let begun = frame::write_preface(&mut stream).await;
        let mut framed = Framed::new(stream, frame::codec(LONGEST_HELLO));
        let said = framed.send(frame::encode(&self.hello)).await;
        // Who does not listen may have said why.
        frame::read_preface(framed.get_mut()).await?;
        begun.and(said).map_err(broken)?;
        let answer = framed.next().await.ok_or(frame::CLOSED)?.map_err(broken)?;
        let speaking = match frame::decode(&answer) {
            Some(Verdict::Welcome(identity)) => {
                match self.speakers.admit(self.to, identity, Instant::now()) {
                    Ok((speaking, _)) => speaking,
                    Err(refusal) => {
                        // It has to know, too; if it does not hear it, it hears it the next time.
                        _ = framed.send(frame::encode(&Frame::<()>::Refused(refusal.clone()))).await;
                        return Err(refusal.why().into());
                    }
                }
            }
            Some(Verdict::Refused(refusal)) => {
                let why = refusal.as_heard();
                if let (Refusal::Forgetful(_), Some(commands)) = (refusal, self.commands.upgrade()) {
                    // Who has stopped already need not hear it.
                    _ = commands.send(Command::Disown { by: self.to, why: why.clone() });
                }
                return Err(format!("{REJECTED}{why}"));
            }
            None => return Err("malformed answer to the handshake".into()),
        };
        // What came with the answer is not lost.
        let parts = framed.into_parts();
        let incoming = Incoming::new(LONGEST_FRAME, &parts.read_buf);
        let (reading, writing) = parts.io.halves();
        let (way, outbox) = (Arc::new(Way::over(&writing)), Arc::clone(&self.outbox));
        Ok((Inlet::new(self.to, Opened::Here, speaking, reading, incoming, way, outbox), writing))
    }

    /// Hears and speaks on a connection, until it is gone. Returns why it is.
    async fn speak(&self, inlet: Inlet, writing: Writing) -> String {
        let (way, outbox) = inlet.way();
        if self.connecting.send(inlet).await.is_err() {
            return "the node has stopped".into();
        }
        outbox.attach(Opened::Here, &way);
        let ended = tokio::select! {
            ended = way.carry(writing) => ended,
            () = outbox.measure(&way, self.tolerance) => {
                let why = "ping not answered in time";
                way.end(why);
                why.into()
            }
        };
        outbox.detach(&way);
        outbox.forget_round_trip();
        ended
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn pauses_are_between_half_of_it_and_all_of_it_and_differ() {
        let pauses: BTreeSet<_> = (0..100).map(|_| jittered(LATE)).collect();
        assert!(pauses.iter().all(|pause| (LATE / 2..=LATE).contains(pause)), "{pauses:?}");
        assert!(pauses.len() > 50, "{pauses:?}");
    }
}
