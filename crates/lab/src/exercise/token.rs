//! A token on request, after Suzuki and Kasami: who has it may enter.

use std::collections::VecDeque;
use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::clock::{Epoch, Fence, Number};
use quorate_core::id::Id;
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use serde::{Deserialize, Serialize};

pub(super) const COPIES: u8 = 1;
pub(super) const FORGETS_THE_LAST: u8 = 2;
pub(super) const DEAF_WHILE_WAITING: u8 = 3;
pub(super) const OWN_COUNT: u8 = 4;

pub(super) const SOURCE: &str = include_str!("token.rs");
pub(super) const STORY: &str = "There is one token. It starts at process 1, and only the process that has the token \
    may enter. A process that wants to enter without the token numbers its request and sends it to all others; each \
    process notes the highest number that it has received from each other process. The token carries the number of the \
    last served request of each process, a queue, and a count of entries. A process that exits puts every process with \
    a request that it knows of and that has not been served into the token's queue, and sends the token to the first \
    process in that queue. If the queue is empty, it keeps the token and sends it to the first process whose request \
    arrives.";

// shown:
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bearer {
    flaw: u8,
    me: Id,
    n: u32,
    phase: Phase,
    /// The highest request number that we have received from each process.
    heard: Vec<u32>,
    token: Option<Token>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting,
    Inside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Token {
    /// The number of the last served request of each process.
    served: Vec<u32>,
    queue: VecDeque<Id>,
    entries: Number,
}
// end.

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Message {
    Request(u32),
    Token(Token),
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request(_) => "request",
            Message::Token(_) => "token",
        }
    }
}

impl Mutex for Bearer {
    const ENTRY: Entry = Entry {
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        options: super::FLAW,
        ..Entry::new("token", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let zeros = vec![0; setting.n() as usize];
        let token = Token { served: zeros.clone(), queue: VecDeque::new(), entries: Number::ZERO };
        let token = (setting.me == Id::new(1)).then_some(token);
        let flaw = super::flaw_of(setting);
        Bearer { flaw, me: setting.me, n: setting.n(), phase: Phase::Outside, heard: zeros, token }
    }
}

impl Process for Bearer {
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
            Event::Receive { from, message: Message::Request(number) } => self.on_request(from, number, effects),
            Event::Receive { message: Message::Token(token), .. } => self.on_token(token, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

// shown:
impl Bearer {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        self.heard[self.me.index()] += 1;
        self.phase = Phase::Waiting;
        match self.token.take() {
            Some(token) => self.on_token(token, effects),
            None => effects.multicast(self.me.others(self.n), &Message::Request(self.heard[self.me.index()])),
        }
    }

    fn on_token(&mut self, mut token: Token, effects: &mut Effects<Self>) {
        token.entries = token.entries.next();
        let count = match self.flaw {
            OWN_COUNT => Number::ZERO.next(),
            _ => token.entries,
        };
        self.token = Some(token);
        self.phase = Phase::Inside;
        effects.output(Output::Entered { fence: Fence::counted(Epoch::FIRST, count) });
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        effects.output(Output::Exited);
        let Some(token) = &mut self.token else { return };
        token.served[self.me.index()] = self.heard[self.me.index()];
        let count = match self.flaw {
            FORGETS_THE_LAST => self.n - 1,
            _ => self.n,
        };
        for id in Id::all(count) {
            if self.heard[id.index()] > token.served[id.index()] && !token.queue.contains(&id) {
                token.queue.push_back(id);
            }
        }
        if let Some(next) = token.queue.pop_front() {
            self.pass_to(next, effects);
        }
    }

    fn on_request(&mut self, from: Id, number: u32, effects: &mut Effects<Self>) {
        let is_noted = match self.flaw {
            DEAF_WHILE_WAITING => self.phase != Phase::Waiting,
            _ => true,
        };
        if is_noted {
            self.heard[from.index()] = self.heard[from.index()].max(number);
        }
        if self.phase == Phase::Outside
            && self.token.as_ref().is_some_and(|token| self.heard[from.index()] > token.served[from.index()])
        {
            self.pass_to(from, effects);
        }
    }

    fn pass_to(&mut self, next: Id, effects: &mut Effects<Self>) {
        let token = match self.flaw {
            COPIES => self.token.clone(),
            _ => self.token.take(),
        };
        if let Some(token) = token {
            effects.send(next, Message::Token(token));
        }
    }
}
// end.
