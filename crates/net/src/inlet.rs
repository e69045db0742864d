//! What members say, as the task that owns the process hears it.
//!
//! It listens itself on all connections, whoever has opened them: to be woken by another task for each message would
//! cost more than the message. So nobody is read faster than the process can hear it, and a connection that is full
//! makes its sender wait. Each connection says for itself when it has something, so that the others are not looked at
//! in vain.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quorate_core::id::Id;
use quorate_core::process::Message;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::bell::Bell;
use crate::frame::{self, Frame, REJECTED, Refusal};
use crate::incoming::Incoming;
use crate::outbox::{Opened, Outbox};
use crate::speakers::Speaking;
use crate::way::{Reading, Way};

/// So many messages of one member are heard before the next member's.
const TURN: usize = 64;

/// A message that has arrived.
pub(crate) struct Arrived<M> {
    pub(crate) from: Id,
    pub(crate) message: M,
}

/// A connection with a member, of which this is where the member is heard.
pub(crate) struct Inlet {
    from: Id,
    opened: Opened,
    speaking: Speaking,
    stream: Reading,
    incoming: Incoming,
    /// The same connection's other direction, and whether what is said to the member may go over it.
    way: Arc<Way>,
    is_attached: bool,
    outbox: Arc<Outbox>,
}

/// All connections on which members are heard.
pub(crate) struct Inlets {
    node: Id,
    inlets: Vec<(Inlet, Bell)>,
    /// Who is heard first, the next time.
    first: usize,
    /// Who has said that this node has forgotten what it promised, in its words.
    disowned: Option<(Id, String)>,
}

impl Inlets {
    /// Nobody has connected to this node.
    pub(crate) fn new(node: Id) -> Inlets {
        Inlets { node, inlets: Vec::new(), first: 0, disowned: None }
    }

    /// There is a connection with a member, with this bell. One that was opened on the same side before ends, and so
    /// does every one on which another process spoke for the member.
    pub(crate) fn insert(&mut self, inlet: Inlet, bell: Bell) {
        if inlet.is_attached {
            inlet.log_that_it_is_heard(self.node);
        }
        self.inlets.retain(|(before, _)| !inlet.replaces(before));
        self.inlets.push((inlet, bell));
    }

    /// Whether somebody has said that this node must not go on.
    pub(crate) fn is_disowned(&self) -> bool {
        self.disowned.is_some()
    }

    /// Who has, and why.
    pub(crate) fn disowned(&mut self) -> Option<(Id, String)> {
        self.disowned.take()
    }

    /// Takes what has arrived. Is there more?
    pub(crate) fn receive<M: Message>(&mut self, arrived: &mut Vec<Arrived<M>>) -> bool {
        let count = self.inlets.len();
        let (mut ended, mut is_more) = (Vec::new(), false);
        for turn in 0..count {
            let (inlet, bell) = &mut self.inlets[(self.first + turn) % count];
            if !bell.has_rung() {
                continue;
            }
            let was_attached = inlet.is_attached;
            let is_left = inlet.poll(&mut bell.context(), arrived);
            if inlet.is_attached && !was_attached {
                inlet.log_that_it_is_heard(self.node);
            }
            match is_left {
                Ok(true) => {
                    bell.look_again();
                    is_more = true;
                }
                Ok(false) => {}
                Err(Ended { why, disowned }) => {
                    let (node, peer, direction) = (self.node.number(), inlet.from.number(), inlet.opened.name());
                    if inlet.is_attached {
                        info!(node, peer, direction, reason = why.as_str(), "peer connection closed");
                    } else {
                        debug!(node, peer, direction, reason = why.as_str(), "peer connection closed unused");
                    }
                    inlet.way.end(&why);
                    ended.push(Arc::clone(&inlet.way));
                    if let Some(why) = disowned {
                        self.disowned = Some((inlet.from, why));
                    }
                }
            }
        }
        self.first = self.first.wrapping_add(1);
        if !ended.is_empty() {
            self.inlets.retain(|(inlet, _)| !ended.iter().any(|way| Arc::ptr_eq(way, &inlet.way)));
        }
        is_more
    }
}

/// A connection has ended.
struct Ended {
    why: String,
    /// The peer's words, if it reports that this node does not have its latest state.
    disowned: Option<String>,
}

impl<S: Into<String>> From<S> for Ended {
    fn from(why: S) -> Ended {
        Ended { why: why.into(), disowned: None }
    }
}

impl Inlet {
    /// A connection on which nothing was heard yet.
    pub(crate) fn new(
        from: Id,
        opened: Opened,
        speaking: Speaking,
        stream: Reading,
        incoming: Incoming,
        way: Arc<Way>,
        outbox: Arc<Outbox>,
    ) -> Inlet {
        // Who has opened a connection says so on it once it knows whom it has reached: not before it has, somebody
        // speaks to it there.
        Inlet { from, opened, speaking, stream, incoming, way, is_attached: opened == Opened::Here, outbox }
    }

    /// The same connection's other direction, and all that can go over it.
    pub(crate) fn way(&self) -> (Arc<Way>, Arc<Outbox>) {
        (Arc::clone(&self.way), Arc::clone(&self.outbox))
    }

    fn log_that_it_is_heard(&self, node: Id) {
        let direction = self.opened.name();
        info!(node = node.number(), peer = self.from.number(), direction, "peer connection established");
    }

    fn replaces(&self, before: &Inlet) -> bool {
        let is_other_side = self.opened != before.opened && self.speaking.is_same(&before.speaking);
        self.from == before.from && !is_other_side
    }

    /// Hears what there is to hear, for one turn. Is there more? Fails when the connection has ended.
    fn poll<M: Message>(&mut self, context: &mut Context<'_>, arrived: &mut Vec<Arrived<M>>) -> Result<bool, Ended> {
        // Also if nothing can be said any more, what was said before is heard.
        let ended = self.way.ended(context);
        let mut heard = 0;
        loop {
            while let Some(bytes) = self.incoming.next_frame().map_err(|error| error.to_string())? {
                match (frame::decode::<Frame<M>>(bytes), self.opened) {
                    (Some(Frame::Message(message)), _) => arrived.push(Arrived { from: self.from, message }),
                    (Some(Frame::Ping(number)), Opened::There) => self.way.answer(number),
                    (Some(Frame::Pong(number)), Opened::Here) => self.outbox.hear_answer(number),
                    (Some(Frame::Refused(refusal)), Opened::There) if !self.is_attached => {
                        let heard = refusal.as_heard();
                        let why = format!("{REJECTED}{heard}");
                        if self.outbox.be_refused(&why) {
                            warn!(peer = self.from.number(), reason = heard.as_str(), "node rejected by peer");
                        }
                        let disowned = matches!(refusal, Refusal::Forgetful(_)).then_some(heard);
                        return Err(Ended { why, disowned });
                    }
                    (Some(Frame::Ping(_) | Frame::Pong(_) | Frame::Refused(_)) | None, _) => {
                        warn!(peer = self.from.number(), "malformed frame received");
                        return Err("malformed frame".into());
                    }
                }
                if !self.is_attached {
                    self.outbox.attach(self.opened, &self.way);
                    self.is_attached = true;
                }
                heard += 1;
                if heard == TURN {
                    return Ok(true);
                }
            }
            match self.incoming.poll_read(Pin::new(&mut *self.stream), context) {
                Poll::Ready(Ok(0)) => return Err(frame::CLOSED.into()),
                Poll::Ready(Ok(_)) => {
                    self.speaking.hear(Instant::now());
                    self.way.hear();
                }
                Poll::Ready(Err(error)) => return Err(error.to_string().into()),
                Poll::Pending => return ended.map_or(Ok(false), |why| Err(why.into())),
            }
        }
    }
}

impl Drop for Inlet {
    /// Who is not heard on a connection is not spoken to on it.
    fn drop(&mut self) {
        self.way.end("replaced by a newer connection, or the node stopped");
        self.outbox.detach(&self.way);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use serde::{Deserialize, Serialize};
    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpStream};

    use crate::bell::Bells;
    use crate::frame::{Directory, Identity};
    use crate::speakers::Speakers;
    use crate::way::Stream;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    struct Word(u8);

    impl Message for Word {
        fn kind(&self) -> &'static str {
            "word"
        }
    }

    /// Who says something and closes may be written to before it is heard: that the one fails is no reason to lose the
    /// other.
    #[tokio::test]
    async fn what_was_said_is_heard_also_if_nothing_can_be_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut other = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (reading, writing) = listener.accept().await.unwrap().0.halves();
        let (me, from) = (Id::new(1), Id::new(2));
        let directory = Directory { number: 7, is_in_place_of_another: false };
        let identity = Identity { incarnation: 1, instance: 7, directory };
        let (speaking, _) = Speakers::new(std::time::Duration::MAX).admit(from, identity, Instant::now()).unwrap();
        let (way, outbox) = (Arc::new(Way::over(&writing)), Arc::new(Outbox::new(me, from)));
        let incoming = Incoming::new(frame::LONGEST_FRAME, &[]);
        let inlet = Inlet::new(from, Opened::There, speaking, reading, incoming, Arc::clone(&way), outbox);
        let (bells, mut inlets, mut arrived) = (Bells::default(), Inlets::new(me), Vec::<Arrived<Word>>::new());
        inlets.insert(inlet, bells.add());
        let words = 3 * TURN as u8 / 2;
        let mut said = Vec::new();
        (0..words).for_each(|word| assert!(frame::append(&Frame::Message(Word(word)), &mut said)));
        other.write_all(&said).await.unwrap();
        way.end("broken pipe");
        poll_fn(|context| {
            bells.wake(context);
            while inlets.receive(&mut arrived) {}
            if inlets.inlets.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        assert_eq!(arrived.iter().map(|word| word.message.0).collect::<Vec<_>>(), (0..words).collect::<Vec<_>>());
    }
}
