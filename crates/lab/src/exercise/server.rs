//! A server: process 1 lets in one after the other.

use std::collections::VecDeque;
use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::clock::{Epoch, Fence, Number};
use quorate_core::id::Id;
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use serde::{Deserialize, Serialize};

pub(super) const ONE_CHAIR: u8 = 1;
pub(super) const STALE_COUNT: u8 = 2;
pub(super) const GUESSES: u8 = 3;

pub(super) const SOURCE: &str = include_str!("server.rs");
pub(super) const STORY: &str = "Process 1 is the server. A process that wants to enter sends the server a request and \
    waits for the grant; when it has exited, it sends a release. The server grants a request at once if no process \
    holds the grant, and queues it otherwise. At a release, it grants the first request of the queue. Messages may \
    overtake each other, so the next request of a process may arrive before the release of its last entry. The server \
    counts its grants, and the count is the fence.";

// shown:
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Server {
    flaw: u8,
    /// The rest is the server's.
    wants: bool,
    holder: Option<Id>,
    waiting: VecDeque<Id>,
    grants: Number,
}
// end.

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Message {
    Request,
    Grant(Number),
    Release,
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request => "request",
            Message::Grant(_) => "grant",
            Message::Release => "release",
        }
    }
}

const SERVER: Id = Id::new(1);

impl Mutex for Server {
    const ENTRY: Entry = Entry {
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        coordinator: Some(SERVER),
        options: super::FLAW,
        ..Entry::new("server", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let flaw = super::flaw_of(setting);
        Server { flaw, wants: false, holder: None, waiting: VecDeque::new(), grants: Number::ZERO }
    }
}

impl Process for Server {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { .. } | Event::Notice(_) | Event::Input(Input::Observe(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Request } => self.on_request(from, effects),
            Event::Receive { message: Message::Grant(number), .. } => self.on_grant(number, effects),
            Event::Receive { from, message: Message::Release } => self.on_release(from, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

// shown:
impl Server {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        self.wants = true;
        effects.send(SERVER, Message::Request);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        effects.output(Output::Exited);
        effects.send(SERVER, Message::Release);
    }

    fn on_request(&mut self, from: Id, effects: &mut Effects<Self>) {
        let is_free = match self.flaw {
            GUESSES => self.holder.is_none_or(|holder| holder == from),
            _ => self.holder.is_none(),
        };
        if is_free {
            self.grants = self.grants.next();
            self.grant(from, effects);
            return;
        }
        match self.flaw {
            ONE_CHAIR => self.waiting = VecDeque::from([from]),
            _ => self.waiting.push_back(from),
        }
    }

    fn on_release(&mut self, from: Id, effects: &mut Effects<Self>) {
        if self.holder != Some(from) {
            return;
        }
        self.holder = None;
        if let Some(next) = self.waiting.pop_front() {
            match self.flaw {
                STALE_COUNT => {}
                _ => self.grants = self.grants.next(),
            }
            self.grant(next, effects);
        }
    }

    fn grant(&mut self, to: Id, effects: &mut Effects<Self>) {
        self.holder = Some(to);
        effects.send(to, Message::Grant(self.grants));
    }

    fn on_grant(&mut self, number: Number, effects: &mut Effects<Self>) {
        if self.wants {
            self.wants = false;
            effects.output(Output::Entered { fence: Fence::counted(Epoch::FIRST, number) });
        }
    }
}
// end.
