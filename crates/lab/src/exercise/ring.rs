//! An election on a ring, after Chang and Roberts: only the largest id comes all the way round.

use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::election::{Election, Input, Output};
use quorate_core::id::Id;
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use serde::{Deserialize, Serialize};

pub(super) const PASSES_ALL: u8 = 1;
pub(super) const STOPS_SMALLER: u8 = 2;
pub(super) const WINS_EARLY: u8 = 3;

pub(super) const SOURCE: &str = include_str!("ring.rs");
pub(super) const STORY: &str = "The processes form a ring, and each sends to the next. A process that starts an \
    election becomes a candidate and sends its own id. A process passes a larger id than its own on, and then counts \
    as a candidate too. When it receives a smaller id, a process that is not yet a candidate becomes one and sends its \
    own id instead; a candidate sends nothing, because a larger id is in transit already. A process whose own id comes \
    back has won, and sends that result once round the ring.";

// shown:
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Candidate {
    flaw: u8,
    me: Id,
    n: u32,
    stands: bool,
}
// end.

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Message {
    Stands(Id),
    Won(Id),
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Stands(_) => "stands",
            Message::Won(_) => "won",
        }
    }

    fn number(&self) -> Option<u64> {
        let (Message::Stands(id) | Message::Won(id)) = self;
        Some(id.number().into())
    }
}

impl Election for Candidate {
    const ENTRY: Entry = Entry {
        promises: &[Property::SingleLeader, Property::Decided],
        options: super::FLAW,
        ..Entry::new("ring-election", Family::Election)
    };

    fn new(setting: &Setting) -> Self {
        let flaw = super::flaw_of(setting);
        Candidate { flaw, me: setting.me, n: setting.n(), stands: false }
    }
}

impl Process for Candidate {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { .. } | Event::Notice(_) => {}
            Event::Input(Input::Call) => self.call(effects),
            Event::Receive { message: Message::Stands(id), .. } => self.on_stands(id, effects),
            Event::Receive { message: Message::Won(id), .. } => self.on_won(id, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

// shown:
impl Candidate {
    fn call(&mut self, effects: &mut Effects<Self>) {
        if !self.stands {
            self.send(Message::Stands(self.me), effects);
        }
        self.stands = true;
    }

    fn on_stands(&mut self, id: Id, effects: &mut Effects<Self>) {
        let has_won = match self.flaw {
            WINS_EARLY => id <= self.me && self.stands,
            _ => id == self.me,
        };
        if has_won {
            self.stands = false;
            effects.output(Output::Leader(self.me));
            self.send(Message::Won(self.me), effects);
        } else if id > self.me {
            self.stands = true;
            self.send(Message::Stands(id), effects);
        } else {
            match self.flaw {
                PASSES_ALL => self.send(Message::Stands(id), effects),
                STOPS_SMALLER => {}
                _ => self.call(effects),
            }
        }
    }

    fn on_won(&mut self, winner: Id, effects: &mut Effects<Self>) {
        if winner != self.me {
            effects.output(Output::Leader(winner));
            self.stands = false;
            self.send(Message::Won(winner), effects);
        }
    }

    fn send(&self, message: Message, effects: &mut Effects<Self>) {
        effects.send(self.me.successor(self.n), message);
    }
}
// end.
