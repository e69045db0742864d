//! Lamport: everybody keeps the same queue of requests, ordered by timestamp, and the first of it enters.
//!
//! To enter, a process timestamps its request, puts it into its own queue and sends it to everybody. Who gets a request
//! puts it into its queue and replies. A process enters when its request is the first in its own queue and everybody
//! has been heard to be past its time. When it leaves, it sends everybody a release, and everybody drops the request.
//!
//! *Source*: L. Lamport, "Time, clocks, and the ordering of events in a distributed system", CACM 21(7), 1978.
//!
//! **Assumes** that every message arrives once, that between two processes messages arrive **in order**, and that nobody
//! crashes.
//!
//! **Costs** 3(n−1) messages a use: requests, replies, releases. An entry waits for a round trip; from an exit to the next entry it
//! takes one message.
//!
//! **Safe**: who has been heard to be past a request's time makes only larger requests from then on, and its smaller ones,
//! sent before on the same channel, are in the queue already: this is where the order of messages is needed. So of
//! two that want to enter, the one with the larger timestamp has the other's in its queue until the other has left. **Live**:
//! the smallest request is the first everywhere. **In order** (ME3): every message carries the highest number its sender has
//! seen, so a request that happened after another is larger.
//!
//! **Fence**: the request's own timestamp; entries follow timestamps.

use alloc::collections::BTreeSet;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Assumptions, Entry, Family, Measure, Property, Published};
use crate::clock::{Fence, LamportClock, Number, Timestamp};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Process};
use crate::setting::Setting;

/// A process of Lamport's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lamport {
    me: Id,
    n: u32,
    clock: LamportClock,
    /// The requests of the others.
    queue: BTreeSet<Timestamp>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    /// Waiting until we are first, and until everybody in `behind` has been heard to be past our time.
    Wanted {
        request: Timestamp,
        behind: IdSet,
    },
    Held {
        request: Timestamp,
    },
}

/// What processes say; each message carries the highest number its sender has seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// From who wants to enter, to everybody.
    Request {
        /// The request's number; with its sender, the timestamp.
        number: Number,
    },
    /// To who asked: I have your request in my queue.
    Reply {
        /// The sender's clock.
        number: Number,
    },
    /// From who has left, to everybody.
    Release {
        /// The sender's clock.
        number: Number,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request { .. } => "request",
            Message::Reply { .. } => "reply",
            Message::Release { .. } => "release",
        }
    }

    fn number(&self) -> Option<u64> {
        let (Message::Request { number } | Message::Reply { number } | Message::Release { number }) = self;
        Some(number.get())
    }
}

impl Mutex for Lamport {
    const ENTRY: Entry = Entry {
        summary: "everybody keeps the same queue, ordered by timestamp, and its first enters",
        paper: "L. Lamport, CACM 21(7), 1978",
        assumptions: Assumptions { fifo: true, ..Assumptions::RELIABLE },
        promises: &[Property::MutualExclusion, Property::Progress, Property::RequestOrder, Property::Fencing],
        published: &[
            Published::exactly(Measure::Messages, "E", "3(N−1)", |size| 3.0 * (size.n - 1.0)),
            Published::exactly(Measure::ClientDelay, "Lamport", "2", |_| 2.0),
            Published::exactly(Measure::SyncDelay, "Lamport", "1", |_| 1.0),
        ],
        ..Entry::new("lamport", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        Lamport {
            me: setting.me,
            n: setting.n(),
            clock: LamportClock::default(),
            queue: BTreeSet::new(),
            phase: Phase::Released,
        }
    }

    fn stamp(&self) -> Number {
        self.clock.now()
    }
}

impl Process for Lamport {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { .. } | Event::Notice(_) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Input(Input::Observe(number)) => self.clock.observe(number),
            Event::Receive { from, message: Message::Request { number } } => self.on_request(from, number, effects),
            Event::Receive { from, message: Message::Reply { number } } => self.on_reply(from, number, effects),
            Event::Receive { from, message: Message::Release { number } } => self.on_release(from, number, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

impl Lamport {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        let request = Timestamp::new(self.clock.tick(), self.me);
        self.phase = Phase::Wanted { request, behind: IdSet::others(self.me, self.n) };
        effects.multicast(self.me.others(self.n), &Message::Request { number: request.number });
        self.enter_if_first(effects);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { .. } = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        effects.output(Output::Exited);
        let number = self.clock.tick();
        effects.multicast(self.me.others(self.n), &Message::Release { number });
    }

    fn on_request(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.hear(from, number);
        if !self.queue.insert(Timestamp::new(number, from)) {
            return effects.unexpected(from, "the same request again");
        }
        effects.send(from, Message::Reply { number: self.clock.now() });
        self.enter_if_first(effects);
    }

    fn on_reply(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.hear(from, number);
        self.enter_if_first(effects);
    }

    fn on_release(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.hear(from, number);
        // Where channels keep the order, who leaves is the first of the queue: this looks at one request.
        match self.queue.iter().copied().find(|request| request.id == from) {
            Some(request) => {
                self.queue.remove(&request);
            }
            None => effects.unexpected(from, "a release without a request"),
        }
        self.enter_if_first(effects);
    }

    /// Who shows our request's number or a higher one will make only larger requests.
    fn hear(&mut self, from: Id, number: Number) {
        self.clock.observe(number);
        if let Phase::Wanted { request, behind } = &mut self.phase
            && number >= request.number
        {
            behind.remove(from);
        }
    }

    fn enter_if_first(&mut self, effects: &mut Effects<Self>) {
        if let Phase::Wanted { request, ref behind } = self.phase
            && behind.is_empty()
            && self.queue.first().is_none_or(|&first| request < first)
        {
            self.phase = Phase::Held { request };
            effects.output(Output::Entered { fence: Fence::stamped(request) });
        }
    }
}
