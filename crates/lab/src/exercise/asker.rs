//! Asking everybody, after Ricart and Agrawala: who is ahead of you answers when it has left.

use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::clock::{Fence, LamportClock, Number, Timestamp};
use quorate_core::id::{Id, IdSet};
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use serde::{Deserialize, Serialize};

pub(super) const ANSWERS_INSIDE: u8 = 1;
pub(super) const BOTH_YIELD: u8 = 2;
pub(super) const BOTH_INSIST: u8 = 3;
pub(super) const SLOW_CLOCK: u8 = 4;
pub(super) const ANSWERS_AGAIN: u8 = 5;
pub(super) const DEAF_TO_STAMPS: u8 = 6;

pub(super) const SOURCE: &str = include_str!("asker.rs");
pub(super) const STORY: &str = "A process that wants to enter takes the next number of its clock and sends a request \
    with that number to every other process. A process that receives a request answers at once, unless it is ahead. A \
    process is ahead if it is inside, or if it is waiting with a smaller number; if both numbers are equal, the \
    smaller id is ahead. A process that is ahead answers when it has exited. A process enters when it has an answer \
    from every other process. A clock moves up to every larger number that it sees, also in application messages. So a \
    process that knows of a request makes a later one.";

// shown:
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asker {
    flaw: u8,
    me: Id,
    n: u32,
    clock: LamportClock,
    phase: Phase,
    /// The processes to answer when we have exited.
    owed: IdSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting { request: Timestamp, missing: IdSet },
    Inside,
}
// end.

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Message {
    MayI(Number),
    YouMay(Number),
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::MayI(_) => "may-i",
            Message::YouMay(_) => "you-may",
        }
    }

    fn number(&self) -> Option<u64> {
        let (Message::MayI(number) | Message::YouMay(number)) = self;
        Some(number.get())
    }
}

impl Mutex for Asker {
    const ENTRY: Entry = Entry {
        promises: &[Property::MutualExclusion, Property::Progress, Property::RequestOrder, Property::Fencing],
        options: super::FLAW,
        ..Entry::new("asker", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let (clock, owed) = (LamportClock::default(), IdSet::new());
        let flaw = super::flaw_of(setting);
        Asker { flaw, me: setting.me, n: setting.n(), clock, phase: Phase::Outside, owed }
    }

    fn stamp(&self) -> Number {
        self.clock.now()
    }
}

impl Process for Asker {
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
            Event::Input(Input::Observe(number)) => self.observe(number),
            Event::Receive { from, message: Message::MayI(number) } => self.on_may_i(from, number, effects),
            Event::Receive { from, message: Message::YouMay(number) } => self.on_you_may(from, number, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

// shown:
impl Asker {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let request = Timestamp::new(self.clock.tick(), self.me);
        self.phase = Phase::Waiting { request, missing: IdSet::others(self.me, self.n) };
        effects.multicast(self.me.others(self.n), &Message::MayI(request.number));
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        effects.output(Output::Exited);
        let owed = match self.flaw {
            ANSWERS_AGAIN => self.owed.clone(),
            _ => self.owed.take(),
        };
        effects.multicast(owed.iter(), &Message::YouMay(self.clock.now()));
    }

    /// The application has received a message with this number.
    fn observe(&mut self, number: Number) {
        match self.flaw {
            DEAF_TO_STAMPS => {}
            _ => self.clock.observe(number),
        }
    }

    fn on_may_i(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        match self.flaw {
            SLOW_CLOCK => {}
            _ => self.clock.observe(number),
        }
        if self.is_ahead_of(Timestamp::new(number, from)) {
            self.owed.insert(from);
        } else {
            effects.send(from, Message::YouMay(self.clock.now()));
        }
    }

    fn is_ahead_of(&self, theirs: Timestamp) -> bool {
        match &self.phase {
            Phase::Outside => false,
            Phase::Waiting { request, .. } => match self.flaw {
                BOTH_YIELD => request.number < theirs.number,
                BOTH_INSIST => request.number <= theirs.number,
                _ => *request < theirs,
            },
            Phase::Inside => match self.flaw {
                ANSWERS_INSIDE => false,
                _ => true,
            },
        }
    }

    fn on_you_may(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.clock.observe(number);
        let Phase::Waiting { request, missing } = &mut self.phase else { return };
        missing.remove(from);
        if missing.is_empty() {
            effects.output(Output::Entered { fence: Fence::stamped(*request) });
            self.phase = Phase::Inside;
        }
    }
}
// end.
