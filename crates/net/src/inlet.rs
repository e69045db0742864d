//! What members say, as the task that owns the process hears it.
//!
//! It listens on all connections itself: to be woken by another task for each message would cost more than the message.
//! So nobody is read faster than the process can hear it, and a connection that is full makes its sender wait.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use quorate_core::id::Id;
use quorate_core::process::Message;
use tokio_util::codec::{Framed, LengthDelimitedCodec};
use tracing::{info, warn};

use crate::frame::{self, Frame, Pong};
use crate::link::Stream;
use crate::listen::Speaker;

/// So many messages of one member are heard before the next member's.
const TURN: usize = 64;

/// A message that has arrived.
pub(crate) struct Arrived<M> {
    pub(crate) from: Id,
    pub(crate) message: M,
}

/// What is heard on, when both sides know each other.
pub(crate) type Heard = Framed<Box<dyn Stream>, LengthDelimitedCodec>;

/// A connection that a member has opened.
pub(crate) struct Inlet {
    pub(crate) from: Id,
    pub(crate) speaker: Arc<Speaker>,
    pub(crate) stream: Heard,
    /// Whether the answer to a question has not left yet.
    pub(crate) is_answering: bool,
}

/// All connections that members have opened.
pub(crate) struct Inlets {
    node: Id,
    inlets: Vec<Inlet>,
    /// Who is heard first, the next time.
    first: usize,
}

impl Inlets {
    /// Nobody has connected to this node.
    pub(crate) fn new(node: Id) -> Inlets {
        Inlets { node, inlets: Vec::new(), first: 0 }
    }

    /// A member has connected. If it has before, that connection ends.
    pub(crate) fn insert(&mut self, inlet: Inlet) {
        info!(node = %self.node, peer = %inlet.from, "hears it");
        self.inlets.retain(|before| before.from != inlet.from);
        self.inlets.push(inlet);
    }

    /// Waits until something has arrived.
    pub(crate) async fn receive<M: Message>(&mut self, arrived: &mut Vec<Arrived<M>>) {
        poll_fn(|context| self.poll(context, arrived)).await;
    }

    /// Takes what has arrived, if anything. Who is to be woken is told by the next [`Inlets::receive`].
    pub(crate) fn receive_now<M: Message>(&mut self, arrived: &mut Vec<Arrived<M>>) {
        // Either way, it has arrived or not.
        _ = self.poll(&mut Context::from_waker(Waker::noop()), arrived);
    }

    fn poll<M: Message>(&mut self, context: &mut Context<'_>, arrived: &mut Vec<Arrived<M>>) -> Poll<()> {
        let count = self.inlets.len();
        let mut ended = Vec::new();
        for turn in 0..count {
            let inlet = &mut self.inlets[(self.first + turn) % count];
            if let Err(why) = inlet.poll(context, arrived) {
                info!(node = %self.node, peer = %inlet.from, "does not hear it any more: {why}");
                ended.push(inlet.from);
            }
        }
        self.first = self.first.wrapping_add(1);
        self.inlets.retain(|inlet| !ended.contains(&inlet.from));
        if arrived.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Inlet {
    /// Hears what there is to hear. Fails when the connection has ended.
    fn poll<M: Message>(&mut self, context: &mut Context<'_>, arrived: &mut Vec<Arrived<M>>) -> Result<(), String> {
        for turn in 0..TURN {
            let Poll::Ready(next) = self.stream.poll_next_unpin(context) else { break };
            let bytes = next.ok_or("it closed the connection")?.map_err(|error| error.to_string())?;
            if turn == 0 {
                self.speaker.hear();
            }
            self.hear(context, &bytes, arrived)?;
        }
        if self.is_answering
            && let Poll::Ready(flushed) = SinkExt::<Bytes>::poll_flush_unpin(&mut self.stream, context)
        {
            flushed.map_err(|error| error.to_string())?;
            self.is_answering = false;
        }
        Ok(())
    }

    fn hear<M: Message>(
        &mut self,
        context: &mut Context<'_>,
        bytes: &BytesMut,
        arrived: &mut Vec<Arrived<M>>,
    ) -> Result<(), String> {
        match frame::decode::<Frame<M>>(bytes) {
            Some(Frame::Message(message)) => arrived.push(Arrived { from: self.from, message }),
            Some(Frame::Ping(number)) => match SinkExt::<Bytes>::poll_ready_unpin(&mut self.stream, context) {
                Poll::Ready(Ok(())) => {
                    let pong = frame::encode(&Pong(number));
                    self.stream.start_send_unpin(pong).map_err(|error| error.to_string())?;
                    self.is_answering = true;
                }
                Poll::Ready(Err(error)) => return Err(error.to_string()),
                // Who does not read the answers to its questions gets none.
                Poll::Pending => {}
            },
            None => {
                warn!(peer = %self.from, "it says what makes no sense: the connection is closed");
                return Err("it made no sense".into());
            }
        }
        Ok(())
    }
}

impl Drop for Inlet {
    /// Whoever comes next for it is welcome.
    fn drop(&mut self) {
        self.speaker.end();
    }
}
