//! Suzuki and Kasami: ask everybody for the token; it comes to you with the list of who is next.
//!
//! One token exists; who has it may enter, as often as it likes, without a message. Who has not got it numbers its
//! request and sends it to everybody, for it cannot know where the token is. Who has the token and does not use it
//! sends it to who asks. The token remembers for each process the last request that was served, so that an old request
//! is told from a new one, and carries the queue of those who wait.
//!
//! *Source*: I. Suzuki, T. Kasami, "A distributed mutual exclusion algorithm", ACM TOCS 3(4), 1985. The same as Ricart
//! and Agrawala's own token version (CACM 26(2), 1983).
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs** n messages a use (n−1 requests and the token), or none for who has the token already. An entry waits for
//! a round trip or for nothing; from an exit to the next entry it takes one message.
//!
//! **Safe**: there is one token. **Live**: a request reaches whoever has the token or will have it, who adds it to the
//! queue when leaving; the queue is served in order. **Not in order**: who gets the token next is a matter of whose
//! request got there.
//!
//! **Crashes**: told of them, and with an [election](crate::stack::Elected) beside it, a token that is lost is made
//! anew, in a new epoch, for all who say that they wait; how is in `lost_token.rs`. Who comes back numbers its requests
//! from where it had saved that it might have come to.
//!
//! **Fence**: the token counts the entries, and who enters has the token and adds one. A new token counts anew, in a
//! later epoch than any before that somebody alive knows of.

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::lost_token::{Said, Succession, TokenKeeper};
use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Entry, Family, Measure, Property, Published, Recovery};
use crate::clock::{Epoch, Fence, LamportClock, Number};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process};
use crate::setting::Setting;

/// A process of Suzuki and Kasami's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SuzukiKasami {
    me: Id,
    n: u32,
    /// The highest request number heard of each process, ourselves included. Who never asked is not in it.
    requested: BTreeMap<Id, Number>,
    phase: Phase,
    succession: Succession<Told, Box<Token>>,
}

/// What has to survive a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Saved {
    epoch: Epoch,
    /// No request has a larger number.
    requests: Number,
}

impl process::Stable for Saved {}

/// What a process tells of itself where the token may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Told {
    /// The number of its last request.
    requested: Number,
    /// Whether it waits.
    wants: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    ReleasedWithToken(Box<Token>),
    Wanted,
    Held(Box<Token>),
}

/// The right to enter, and what it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The number of the last request of each process that was served.
    served: BTreeMap<Id, Number>,
    /// Who is next.
    waiting: VecDeque<Id>,
    /// How many entries there have been with it.
    entries: Number,
    /// Of which epoch it is, when it was last sent.
    epoch: Epoch,
    /// In which epoch it was made. Its entries are counted since then.
    made: Epoch,
}

/// What processes say: *I need the token*, and the token.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// From who wants to enter, to everybody.
    Request {
        /// Which of the sender's requests this is.
        number: Number,
    },
    /// From who had it to who is next.
    Token(Box<Token>),
    /// The token may be lost.
    Lost(Said<Told>),
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request { .. } => "request",
            Message::Token(_) => "token",
            Message::Lost(said) => said.kind(),
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Request { number } => Some(number.get()),
            Message::Token(token) => Some(token.entries.get()),
            Message::Lost(said) => said.number(),
        }
    }
}

impl Mutex for SuzukiKasami {
    const ENTRY: Entry = Entry {
        summary: "a process requests the token from all others; the token carries the queue of waiting processes",
        paper: "I. Suzuki and T. Kasami, \"A distributed mutual exclusion algorithm\", ACM TOCS 3(4), 1985; G. Ricart \
                and A. K. Agrawala, CACM 26(2), 1983",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        recovery: Some(Recovery {
            elects: true,
            ..Recovery::new("the elected leader asks every process for the token, and creates a new one if none has it")
        }),
        published: &[
            Published::exactly(Measure::Messages, "Suzuki & Kasami", "N", |size| size.n),
            Published::exactly(Measure::MessagesAgain, "Suzuki & Kasami", "0", |_| 0.0),
            Published::exactly(Measure::MessagesContended, "E", "N", |size| size.n),
        ],
        ..Entry::new("suzuki-kasami", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        SuzukiKasami {
            me: setting.me,
            n: setting.n(),
            requested: BTreeMap::new(),
            phase: Phase::Released,
            succession: Succession::new(setting),
        }
    }

    fn misses_leader(&self) -> bool {
        self.succession.misses_leader()
    }
}

impl TokenKeeper for SuzukiKasami {
    type Told = Told;
    type Token = Box<Token>;

    fn identity(&self) -> (Id, u32) {
        (self.me, self.n)
    }

    fn succession(&self) -> &Succession<Told, Box<Token>> {
        &self.succession
    }

    fn succession_mut(&mut self) -> &mut Succession<Told, Box<Token>> {
        &mut self.succession
    }

    fn to_save(&self) -> Saved {
        let requests = LamportClock::reborn(self.requested.get(&self.me).copied()).end_of_block();
        Saved { epoch: self.succession.epoch, requests }
    }

    fn held_token(&self) -> Option<&Box<Token>> {
        match &self.phase {
            Phase::ReleasedWithToken(token) => Some(token),
            Phase::Held(token) => Some(token).filter(|_| !self.succession.is_void),
            Phase::Released | Phase::Wanted => None,
        }
    }

    fn made_in(token: &Box<Token>) -> Epoch {
        token.made
    }

    fn drop_token(&mut self) {
        match self.phase {
            Phase::ReleasedWithToken(_) => self.phase = Phase::Released,
            Phase::Held(_) => self.succession.is_void = true,
            Phase::Released | Phase::Wanted => {}
        }
    }

    fn tell(&self) -> Told {
        let requested = self.requested.get(&self.me).copied().unwrap_or_default();
        Told { requested, wants: self.phase == Phase::Wanted }
    }

    fn say(said: Said<Told>) -> Message {
        Message::Lost(said)
    }

    /// All who wait are in its queue, and all others have been served.
    fn take_token(&mut self, from: Id, token: Box<Token>, effects: &mut Effects<Self>) {
        match &mut self.phase {
            Phase::Wanted => self.hold(token, effects),
            // The token must not get lost, whatever brought it here, nor stay where nobody waits.
            Phase::Released => {
                effects.unexpected(from, "a token that this process did not request");
                self.hand_on(token, effects);
            }
            Phase::Held(old) if self.succession.is_void => {
                *old = token;
                self.succession.is_void = false;
            }
            // There are two where the living are taken for dead. From here on, there is one less.
            Phase::ReleasedWithToken(_) | Phase::Held(_) => effects.unexpected(from, "a second token"),
        }
    }

    fn make_token(&mut self, told: Vec<(Id, Told)>, effects: &mut Effects<Self>) {
        let mut token = Box::<Token>::default();
        token.made = self.succession.epoch;
        for (id, Told { requested, wants }) in told {
            if !wants {
                token.served.insert(id, requested);
            } else if id != self.me {
                token.waiting.push_back(id);
            }
        }
        if self.phase == Phase::Wanted { self.hold(token, effects) } else { self.send_on(token, effects) }
    }
}

impl Process for SuzukiKasami {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = Saved;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => self.start(incarnation, saved, effects),
            Event::Input(Input::Observe(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Request { number } } => self.on_request(from, number, effects),
            Event::Receive { from, message: Message::Token(token) } => self.on_token(from, token, effects),
            Event::Receive { from, message: Message::Lost(said) } => self.on_said(from, said, effects),
            Event::Notice(Notice::Suspect(id)) => {
                self.requested.remove(&id);
                self.suspect(id, effects);
            }
            Event::Notice(Notice::Trust(id)) => {
                self.trust(id, effects);
                self.ask_again(id, effects);
            }
            Event::Notice(Notice::Leader(id)) => self.elect(id, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

impl SuzukiKasami {
    /// The first life of process 1 begins with the token; a later one must not make a second.
    fn start(&mut self, incarnation: u64, saved: Option<Saved>, effects: &mut Effects<Self>) {
        if let Some(Saved { epoch, requests }) = saved {
            self.succession.epoch = epoch;
            self.requested.insert(self.me, requests);
        }
        effects.save(self.to_save());
        if self.me == Id::new(1) && incarnation == 1 {
            self.phase = Phase::ReleasedWithToken(Box::default());
        }
    }

    fn enter(&mut self, effects: &mut Effects<Self>) {
        match core::mem::replace(&mut self.phase, Phase::Wanted) {
            Phase::ReleasedWithToken(token) => self.hold(token, effects),
            Phase::Released => {
                let before = self.requested.get(&self.me).copied().unwrap_or_default();
                let number = before.next();
                self.requested.insert(self.me, number);
                if LamportClock::reborn(Some(number)).begun_since(before).is_some() {
                    effects.save(self.to_save());
                }
                let living = self.me.others(self.n).filter(|&other| !self.succession.suspected.contains(other));
                effects.multicast(living, &Message::Request { number });
            }
            busy @ (Phase::Wanted | Phase::Held(_)) => {
                self.phase = busy;
                effects.misused(ALREADY_ENTERING);
            }
        }
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let token = match core::mem::replace(&mut self.phase, Phase::Released) {
            Phase::Held(token) => token,
            outside @ (Phase::Released | Phase::ReleasedWithToken(_) | Phase::Wanted) => {
                self.phase = outside;
                return effects.misused(NOT_INSIDE);
            }
        };
        effects.output(Output::Exited);
        if core::mem::take(&mut self.succession.is_void) {
            return;
        }
        if self.is_spent(token.entries) {
            self.give_up_token(effects);
        } else {
            self.hand_on(token, effects);
        }
    }

    /// It does not want the token, or not any more.
    fn hand_on(&mut self, mut token: Box<Token>, effects: &mut Effects<Self>) {
        if let Some(&number) = self.requested.get(&self.me) {
            token.served.insert(self.me, number);
        }
        // Everybody with a request that is not served and not queued yet joins the queue, the next on the ring first,
        // so that small ids are not preferred.
        let queued: IdSet = token.waiting.iter().copied().collect();
        let (before, after) = (self.requested.range(..self.me), self.requested.range(self.me..));
        for (&id, &number) in after.chain(before) {
            if id != self.me && token.is_next(id, number) && !queued.contains(id) {
                token.waiting.push_back(id);
            }
        }
        self.send_on(token, effects);
    }

    /// The first of the queue that lives gets it; if there is none, it stays.
    fn send_on(&mut self, mut token: Box<Token>, effects: &mut Effects<Self>) {
        let suspected = &self.succession.suspected;
        token.waiting.retain(|&waiting| !suspected.contains(waiting));
        match token.waiting.pop_front() {
            Some(next) => {
                token.epoch = self.succession.epoch;
                self.phase = Phase::Released;
                effects.send(next, Message::Token(token));
            }
            None => self.phase = Phase::ReleasedWithToken(token),
        }
    }

    /// It has come back, and knows of no request.
    fn ask_again(&mut self, id: Id, effects: &mut Effects<Self>) {
        if let (Phase::Wanted, Some(&number)) = (&self.phase, self.requested.get(&self.me)) {
            effects.send(id, Message::Request { number });
        }
    }

    fn on_request(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        let highest = self.requested.entry(from).or_default();
        *highest = (*highest).max(number);
        let number = *highest;
        if let Phase::ReleasedWithToken(token) = &mut self.phase
            && token.is_next(from, number)
        {
            let mut token = core::mem::take(token);
            token.epoch = self.succession.epoch;
            self.phase = Phase::Released;
            effects.send(from, Message::Token(token));
        }
    }

    fn on_token(&mut self, from: Id, token: Box<Token>, effects: &mut Effects<Self>) {
        if token.waiting.iter().any(|id| id.number() > self.n) {
            return effects.unexpected(from, "a token whose queue names processes that do not exist");
        }
        TokenKeeper::on_token(self, from, token.epoch, token, effects);
    }

    fn hold(&mut self, mut token: Box<Token>, effects: &mut Effects<Self>) {
        token.entries = token.entries.next();
        effects.output(Output::Entered { fence: Fence::counted(token.made, token.entries) });
        self.phase = Phase::Held(token);
    }
}

impl Token {
    /// Whether this is a request of the process that has not been served. It is the first: nobody asks again before.
    /// (The paper says so: the last one that was served, plus one. Who has come back counts from further on.)
    fn is_next(&self, id: Id, number: Number) -> bool {
        number > self.served.get(&id).copied().unwrap_or_default()
    }
}
