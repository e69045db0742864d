//! Ricart and Agrawala: ask everybody, enter when everybody has answered; who is ahead of you answers when it has left.
//!
//! To enter, a process takes the next number of its Lamport clock and sends a request to everybody else. Who neither wants to
//! enter nor is inside answers at once. Who is inside, or wants to enter with a smaller timestamp, puts the answer off until
//! it has left. With an answer from everybody, the process enters.
//!
//! *Source*: G. Ricart, A. K. Agrawala, "An optimal algorithm for mutual exclusion in computer networks", CACM 24(1), 1981.
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs** 2(n−1) messages a use: n−1 requests and n−1 replies. An entry waits for a round trip; from an exit to the next
//! entry it takes one message.
//!
//! **Safe**: of two that want to enter, the one with the larger timestamp needs the other's reply. If the other had
//! not asked yet when it replied, its later request is larger, for it has seen this one; otherwise it replies only
//! after it has left. **Live**: timestamps are totally ordered, so the smallest request is put off by nobody. **In order**
//! (ME3): every message carries the highest number its sender has seen, and so does an application's stamp, so a request that
//! happened after another has a larger number. (The paper's replies are bare: `replies=bare`. Then a request can overtake
//! one that happened before it.)
//!
//! **Fence**: the request's own timestamp. Everybody who granted it has seen it, so every later request is larger, and
//! entries follow timestamps.

use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Choice, Entry, Family, Measure, OptionSpec, Property, Published, Values};
use crate::clock::{Fence, LamportClock, Number, Timestamp};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Process};
use crate::setting::Setting;

/// A process of Ricart and Agrawala's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    me: Id,
    n: u32,
    /// Whether replies carry no number, as in the paper.
    bare: bool,
    clock: LamportClock,
    phase: Phase,
    /// Who is owed a reply when we have left.
    deferred: IdSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    Wanted { request: Timestamp, missing: IdSet },
    Held { request: Timestamp },
}

/// What processes say: *may I?* and *you may*.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// From who wants to enter, to everybody.
    Request {
        /// The request's number; with its sender, the timestamp.
        number: Number,
    },
    /// To who asked, from who lets it go first.
    Reply {
        /// The highest number the sender has seen; none in the paper.
        highest: Option<Number>,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request { .. } => "request",
            Message::Reply { .. } => "reply",
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Request { number } => Some(number.get()),
            Message::Reply { highest } => highest.map(Number::get),
        }
    }
}

impl Mutex for RicartAgrawala {
    const ENTRY: Entry = Entry {
        summary: "ask everybody; who is ahead of you answers when it has left",
        paper: "G. Ricart, A. K. Agrawala, CACM 24(1), 1981",
        promises: &[Property::MutualExclusion, Property::Progress, Property::RequestOrder, Property::Fencing],
        published: &[
            Published::exactly(Measure::Messages, "A, D, E", "2(N−1)", |size| 2.0 * (size.n - 1.0)),
            Published::exactly(Measure::Messages, "B", "2N−1", |size| 2.0 * size.n - 1.0),
            Published::between(Measure::MessagesToExit, "C", "0 to N−1", |_| 0.0, |size| size.n - 1.0),
            Published::exactly(Measure::ClientDelay, "A, B, E", "2", |_| 2.0),
            Published::exactly(Measure::ExitDelay, "B", "0.5", |_| 0.5),
            Published::exactly(Measure::SyncDelay, "A, B, E", "1", |_| 1.0),
        ],
        options: &[OptionSpec {
            key: "replies",
            values: Values::OneOf(&[
                Choice::plain("numbered"),
                Choice { name: "bare", forfeits: &[Property::RequestOrder] },
            ]),
            default: "numbered",
            meaning: "whether replies carry the highest number seen, or nothing, as in the paper",
        }],
        ..Entry::new("ricart-agrawala", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        RicartAgrawala {
            me: setting.me,
            n: setting.n(),
            bare: setting.group.options.choice("replies") == "bare",
            clock: LamportClock::default(),
            phase: Phase::Released,
            deferred: IdSet::new(),
        }
    }

    fn stamp(&self) -> Number {
        self.clock.now()
    }
}

impl Process for RicartAgrawala {
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
            Event::Receive { from, message: Message::Reply { highest } } => self.on_reply(from, highest, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

impl RicartAgrawala {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        let request = Timestamp::new(self.clock.tick(), self.me);
        self.phase = Phase::Wanted { request, missing: IdSet::others(self.me, self.n) };
        effects.multicast(self.me.others(self.n), &Message::Request { number: request.number });
        self.enter_if_granted(effects);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { .. } = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        effects.output(Output::Exited);
        let reply = self.reply();
        effects.multicast(self.deferred.take().iter(), &reply);
    }

    fn on_request(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.clock.observe(number);
        let ahead = match self.phase {
            Phase::Released => false,
            Phase::Wanted { request, .. } => request < Timestamp::new(number, from),
            Phase::Held { .. } => true,
        };
        if !ahead {
            effects.send(from, self.reply());
        } else if !self.deferred.insert(from) {
            effects.unexpected(from, "a second request before the first was answered");
        }
    }

    fn on_reply(&mut self, from: Id, highest: Option<Number>, effects: &mut Effects<Self>) {
        self.clock.observe(highest.unwrap_or_default());
        let awaited = match &mut self.phase {
            Phase::Wanted { missing, .. } => missing.remove(from),
            Phase::Released | Phase::Held { .. } => false,
        };
        if awaited {
            self.enter_if_granted(effects);
        } else {
            effects.unexpected(from, "a reply that nobody waits for");
        }
    }

    fn enter_if_granted(&mut self, effects: &mut Effects<Self>) {
        if let Phase::Wanted { request, ref missing } = self.phase
            && missing.is_empty()
        {
            self.phase = Phase::Held { request };
            effects.output(Output::Entered { fence: Fence::stamped(request) });
        }
    }

    fn reply(&self) -> Message {
        Message::Reply { highest: (!self.bare).then(|| self.clock.now()) }
    }
}
