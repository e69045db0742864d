//! Everybody keeps the same queue, after Lamport: its first enters.

use std::collections::BTreeSet;
use std::convert::Infallible;

use quorate_core::catalog::{Assumptions, Entry, Family, Property};
use quorate_core::clock::{Fence, LamportClock, Number, Timestamp};
use quorate_core::id::{Id, IdSet};
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use serde::{Deserialize, Serialize};

pub(super) const HEARS_OLD_NEWS: u8 = 1;
pub(super) const MISSES_ITS_TURN: u8 = 2;
pub(super) const QUEUES_NOBODY_INSIDE: u8 = 3;

pub(super) const SOURCE: &str = include_str!("queue.rs");
pub(super) const STORY: &str = "Every process keeps a queue of all requests, ordered by number and then by id. A \
    process that wants to enter takes the next number of its clock and sends its request to all others. A process that \
    receives a request puts it into its queue and replies. A process enters when its own request is first in its queue \
    and it has received a number at least as large as its own from every other process. Then no smaller request can \
    still be in transit, because messages between two processes arrive in the order in which they were sent. A process \
    that has exited sends a release, and the others remove its request from their queues.";

// shown:
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    flaw: u8,
    me: Id,
    n: u32,
    clock: LamportClock,
    /// The requests of the other processes.
    queue: BTreeSet<Timestamp>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    /// From the processes in `behind` we have not received a number as large as our own.
    Waiting {
        request: Timestamp,
        behind: IdSet,
    },
    Inside,
}
// end.

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Message {
    Request(Number),
    Reply(Number),
    Release(Number),
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request(_) => "request",
            Message::Reply(_) => "reply",
            Message::Release(_) => "release",
        }
    }

    fn number(&self) -> Option<u64> {
        let (Message::Request(number) | Message::Reply(number) | Message::Release(number)) = self;
        Some(number.get())
    }
}

impl Mutex for Queue {
    const ENTRY: Entry = Entry {
        assumptions: Assumptions { fifo: true, ..Assumptions::RELIABLE },
        promises: &[Property::MutualExclusion, Property::Progress, Property::RequestOrder, Property::Fencing],
        options: super::FLAW,
        ..Entry::new("queue", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let (clock, queue) = (LamportClock::default(), BTreeSet::new());
        let flaw = super::flaw_of(setting);
        Queue { flaw, me: setting.me, n: setting.n(), clock, queue, phase: Phase::Outside }
    }

    fn stamp(&self) -> Number {
        self.clock.now()
    }
}

impl Process for Queue {
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
            Event::Receive { from, message: Message::Request(number) } => self.on_request(from, number, effects),
            Event::Receive { from, message: Message::Reply(number) } => self.on_reply(from, number, effects),
            Event::Receive { from, message: Message::Release(number) } => self.on_release(from, number, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

// shown:
impl Queue {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let request = Timestamp::new(self.clock.tick(), self.me);
        self.phase = Phase::Waiting { request, behind: IdSet::others(self.me, self.n) };
        effects.multicast(self.me.others(self.n), &Message::Request(request.number));
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        effects.output(Output::Exited);
        let number = self.clock.tick();
        effects.multicast(self.me.others(self.n), &Message::Release(number));
    }

    fn on_request(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.hear(from, number);
        match self.flaw {
            QUEUES_NOBODY_INSIDE => {
                if self.phase != Phase::Inside {
                    self.queue.insert(Timestamp::new(number, from));
                }
            }
            _ => {
                self.queue.insert(Timestamp::new(number, from));
            }
        }
        effects.send(from, Message::Reply(self.clock.now()));
        self.enter_if_first(effects);
    }

    fn on_reply(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.hear(from, number);
        self.enter_if_first(effects);
    }

    fn on_release(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.hear(from, number);
        self.queue.retain(|request| request.id != from);
        match self.flaw {
            MISSES_ITS_TURN => {}
            _ => self.enter_if_first(effects),
        }
    }

    fn hear(&mut self, from: Id, number: Number) {
        self.clock.observe(number);
        let Phase::Waiting { request, behind } = &mut self.phase else { return };
        let is_past_our_time = match self.flaw {
            HEARS_OLD_NEWS => number > Number::ZERO,
            _ => number >= request.number,
        };
        if is_past_our_time {
            behind.remove(from);
        }
    }

    fn enter_if_first(&mut self, effects: &mut Effects<Self>) {
        let Phase::Waiting { request, behind } = &self.phase else { return };
        if behind.is_empty() && self.queue.first().is_none_or(|first| request < first) {
            effects.output(Output::Entered { fence: Fence::stamped(*request) });
            self.phase = Phase::Inside;
        }
    }
}
// end.
