//! What members say, as the task that owns the process hears it.
//!
//! It listens on all connections itself: to be woken by another task for each message would cost more than the message.
//! So nobody is read faster than the process can hear it, and a connection that is full makes its sender wait. Each
//! connection says for itself when it has something, so that the others are not looked at in vain.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quorate_core::id::Id;
use quorate_core::process::Message;
use tracing::{info, warn};

use crate::bell::Bell;
use crate::frame::{self, Frame, Pong};
use crate::incoming::Incoming;
use crate::link::Stream;
use crate::listen::Speaker;

/// So many messages of one member are heard before the next member's.
const TURN: usize = 64;

/// A message that has arrived.
pub(crate) struct Arrived<M> {
    pub(crate) from: Id,
    pub(crate) message: M,
}

/// A connection that a member has opened.
pub(crate) struct Inlet {
    from: Id,
    speaker: Arc<Speaker>,
    stream: Box<dyn Stream>,
    incoming: Incoming,
    /// The answer to its last question, as far as it was not written yet; and whether it has not left yet.
    answer: Vec<u8>,
    is_answering: bool,
}

/// All connections that members have opened.
pub(crate) struct Inlets {
    node: Id,
    inlets: Vec<(Inlet, Bell)>,
    /// Who is heard first, the next time.
    first: usize,
}

impl Inlets {
    /// Nobody has connected to this node.
    pub(crate) fn new(node: Id) -> Inlets {
        Inlets { node, inlets: Vec::new(), first: 0 }
    }

    /// A member has connected, on a connection with this bell. If it has before, that connection ends.
    pub(crate) fn insert(&mut self, inlet: Inlet, bell: Bell) {
        info!(node = self.node.number(), peer = inlet.from.number(), "hears it");
        self.inlets.retain(|(before, _)| before.from != inlet.from);
        self.inlets.push((inlet, bell));
    }

    /// Takes what has arrived.
    pub(crate) fn receive<M: Message>(&mut self, arrived: &mut Vec<Arrived<M>>) {
        let count = self.inlets.len();
        let mut ended = Vec::new();
        for turn in 0..count {
            let (inlet, bell) = &mut self.inlets[(self.first + turn) % count];
            if !bell.has_rung() {
                continue;
            }
            match inlet.poll(&mut bell.context(), arrived) {
                Ok(true) => bell.look_again(),
                Ok(false) => {}
                Err(why) => {
                    info!(node = self.node.number(), peer = inlet.from.number(), "does not hear it any more: {why}");
                    ended.push(inlet.from);
                }
            }
        }
        self.first = self.first.wrapping_add(1);
        if !ended.is_empty() {
            self.inlets.retain(|(inlet, _)| !ended.contains(&inlet.from));
        }
    }
}

impl Inlet {
    /// A connection on which nothing was heard yet.
    pub(crate) fn new(from: Id, speaker: Arc<Speaker>, stream: Box<dyn Stream>, incoming: Incoming) -> Inlet {
        Inlet { from, speaker, stream, incoming, answer: Vec::new(), is_answering: false }
    }

    /// Hears what there is to hear, for one turn. Is there more? Fails when the connection has ended.
    fn poll<M: Message>(&mut self, context: &mut Context<'_>, arrived: &mut Vec<Arrived<M>>) -> Result<bool, String> {
        self.answer(context)?;
        let mut heard = 0;
        loop {
            while let Some(bytes) = self.incoming.next_frame().map_err(|error| error.to_string())? {
                match frame::decode::<Frame<M>>(bytes) {
                    Some(Frame::Message(message)) => arrived.push(Arrived { from: self.from, message }),
                    // Who does not read the answers to its questions gets none.
                    Some(Frame::Ping(_)) if self.is_answering => {}
                    Some(Frame::Ping(number)) => {
                        self.is_answering = frame::append(&Pong(number), &mut self.answer);
                        self.answer(context)?;
                    }
                    None => {
                        warn!(peer = self.from.number(), "it says what makes no sense: the connection is closed");
                        return Err("it made no sense".into());
                    }
                }
                heard += 1;
                if heard == TURN {
                    return Ok(true);
                }
            }
            match self.incoming.poll_read(Pin::new(&mut *self.stream), context) {
                Poll::Ready(Ok(0)) => return Err("it closed the connection".into()),
                Poll::Ready(Ok(_)) => self.speaker.hear(),
                Poll::Ready(Err(error)) => return Err(error.to_string()),
                Poll::Pending => return Ok(false),
            }
        }
    }

    /// Lets the answer leave, as far as the connection takes it.
    fn answer(&mut self, context: &mut Context<'_>) -> Result<(), String> {
        let broken = |error: io::Error| error.to_string();
        let mut stream = Pin::new(&mut *self.stream);
        while !self.answer.is_empty() {
            match stream.as_mut().poll_write(context, &self.answer) {
                Poll::Ready(Ok(0)) => return Err("it closed the connection".into()),
                Poll::Ready(written) => drop(self.answer.drain(..written.map_err(broken)?)),
                Poll::Pending => return Ok(()),
            }
        }
        // With encryption, what is written waits for the flush.
        if self.is_answering
            && let Poll::Ready(flushed) = stream.poll_flush(context)
        {
            flushed.map_err(broken)?;
            self.is_answering = false;
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
