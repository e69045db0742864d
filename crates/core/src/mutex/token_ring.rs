//! The token ring: a token goes round, and who has it may enter.
//!
//! The processes form a ring, 1, 2, … n, 1. Process 1 starts with the token. Who gets the token and wants to enter,
//! enters and passes it on when it leaves; who does not want to enter passes it on at once. Nobody enters twice with
//! the same visit of the token.
//!
//! *Source*: G. Le Lann, "Distributed systems: towards a formal approach", IFIP Congress, 1977.
//!
//! **Assumes** that every message arrives once, and that nobody crashes. There is only one message, so order means
//! nothing.
//!
//! **Costs** messages all the time, also when nobody wants to enter. An entry waits for the token, 0 to n messages
//! away; from an exit to the next entry it takes 1 to n.
//!
//! **Safe**: there is one token. **Live**: it passes everybody in turn. **Not in order**: the ring decides who is next,
//! not who asked first.
//!
//! **Crashes**: told of them, and with an [election](crate::stack::Elected) beside it, the ring closes around the dead,
//! and a token that is lost is made anew, in a new epoch; how is in `lost_token.rs`.
//!
//! **Fence**: the token counts the entries, and who enters has the token and adds one. A new token counts anew, in a
//! later epoch than any before that somebody alive knows of.

use alloc::vec::Vec;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::lost_token::{Said, Succession, TokenKeeper};
use super::{ALREADY_ENTERING, Input, Led, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Entry, Family, Measure, Property, Published, Recovery};
use crate::clock::{Counting, Epoch, Fence, Number};
use crate::id::Id;
use crate::process::{self, Effects, Event, Notice, Process};
use crate::setting::Setting;

/// A process of the token ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRing {
    me: Id,
    n: u32,
    counting: Counting,
    phase: Phase,
    succession: Succession<(), Token>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    /// Who is alone has nobody to pass the token to.
    ReleasedWithToken(Token),
    Wanted,
    Held(Token),
}

/// The right to enter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// How many entries there have been so far in its epoch.
    entries: Number,
    /// Who last answered for it, when it was thought to be lost.
    name: Option<Id>,
}

/// What processes say: as long as nobody crashes, only *it is your turn*, each to its successor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// It is your turn.
    Token {
        /// Of which epoch it is.
        epoch: Epoch,
        /// What it knows.
        token: Token,
    },
    /// The token may be lost.
    Lost(Said<()>),
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Token { .. } => "token",
            Message::Lost(said) => said.kind(),
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Token { token, .. } => Some(token.entries.get()),
            Message::Lost(said) => said.number(),
        }
    }
}

impl Mutex for TokenRing {
    const ENTRY: Entry = Entry {
        summary: "a token goes round, and who has it may enter",
        paper: "G. Le Lann, IFIP Congress, 1977",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        recovery: Some(Recovery {
            elects: true,
            ..Recovery::new(
                "the dead are skipped; who is elected asks for the token, and makes another if nobody has it",
            )
        }),
        published: &[
            Published::vaguely(Measure::Messages, "A, C, E", "1 to ∞"),
            Published::exactly(Measure::MessagesToExit, "A, E", "1", |_| 1.0),
            Published::exactly(Measure::MessagesToExit, "B", "(N+1)/2", |size| (size.n + 1.0) / 2.0),
            Published::exactly(Measure::ClientDelay, "A, B", "N/2 on average", |size| size.n / 2.0),
            Published::between(Measure::ClientDelay, "E", "0 to N", |_| 0.0, |size| size.n),
            Published::vaguely(Measure::ClientDelay, "A", "N−1 at worst"),
            Published::exactly(Measure::ExitDelay, "B", "0", |_| 0.0),
            Published::exactly(Measure::ExitDelay, "A", "1", |_| 1.0),
            Published::exactly(Measure::SyncDelay, "A", "N/2 on average", |size| size.n / 2.0),
            Published::exactly(Measure::SyncDelay, "B", "(N+1)/2", |size| (size.n + 1.0) / 2.0),
            Published::between(Measure::SyncDelay, "E", "1 to N", |_| 1.0, |size| size.n),
        ],
        restless: true,
        finite: true,
        ..Entry::new("token-ring", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        TokenRing {
            me: setting.me,
            n: setting.n(),
            counting: setting.group.counting,
            phase: Phase::Released,
            succession: Succession::default(),
        }
    }
}

impl Led for TokenRing {
    fn misses_leader(&self) -> bool {
        self.succession.misses_leader()
    }
}

impl Process for TokenRing {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = Epoch;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => self.start(incarnation, saved, effects),
            Event::Input(Input::Observe(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Token { epoch, token } } => {
                self.on_token(from, epoch, token, effects);
            }
            Event::Receive { from, message: Message::Lost(said) } => self.on_said(from, said, effects),
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => {
                self.trust(id, effects);
                self.go_on_if_alone(effects);
            }
            Event::Notice(Notice::Leader(id)) => self.elect(id, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

impl TokenKeeper for TokenRing {
    type Told = ();
    type Token = Token;

    fn identity(&self) -> (Id, u32) {
        (self.me, self.n)
    }

    fn succession(&self) -> &Succession<(), Token> {
        &self.succession
    }

    fn succession_mut(&mut self) -> &mut Succession<(), Token> {
        &mut self.succession
    }

    fn to_save(&self) -> Epoch {
        self.succession.epoch
    }

    fn held_token(&self) -> Option<&Token> {
        match &self.phase {
            Phase::ReleasedWithToken(token) => Some(token),
            Phase::Held(token) => Some(token).filter(|_| !self.succession.is_void),
            Phase::Released | Phase::Wanted => None,
        }
    }

    fn held_token_mut(&mut self) -> Option<&mut Token> {
        match &mut self.phase {
            Phase::ReleasedWithToken(token) => Some(token),
            Phase::Held(token) => Some(token).filter(|_| !self.succession.is_void),
            Phase::Released | Phase::Wanted => None,
        }
    }

    fn name_of(token: &Token) -> Option<Id> {
        token.name
    }

    fn name(token: &mut Token, by: Id) {
        token.name = Some(by);
    }

    fn drop_token(&mut self) {
        match self.phase {
            Phase::ReleasedWithToken(_) => self.phase = Phase::Released,
            Phase::Held(_) => self.succession.is_void = true,
            Phase::Released | Phase::Wanted => {}
        }
    }

    fn tell(&self) {}

    fn say(said: Said<()>) -> Message {
        Message::Lost(said)
    }

    fn take_token(&mut self, from: Id, token: Token, effects: &mut Effects<Self>) {
        match &mut self.phase {
            Phase::Released => self.pass(token, effects),
            Phase::Wanted => self.hold(token, effects),
            Phase::Held(old) if self.succession.is_void => {
                *old = token;
                self.succession.is_void = false;
            }
            // There are two where the living are taken for dead. From here on, there is one less.
            Phase::ReleasedWithToken(_) | Phase::Held(_) => effects.unexpected(from, "a second token"),
        }
    }

    fn make_token(&mut self, _: Vec<(Id, ())>, effects: &mut Effects<Self>) {
        let me = self.me;
        self.take_token(me, Token::default(), effects);
    }
}

impl TokenRing {
    /// The first life of process 1 begins with the token; a later one must not make a second.
    fn start(&mut self, incarnation: u64, saved: Option<Epoch>, effects: &mut Effects<Self>) {
        self.succession.epoch = saved.unwrap_or_default();
        if self.me == Id::new(1) && incarnation == 1 {
            self.pass(Token::default(), effects);
        }
    }

    fn enter(&mut self, effects: &mut Effects<Self>) {
        match self.phase {
            Phase::Released => self.phase = Phase::Wanted,
            Phase::ReleasedWithToken(token) => self.hold(token, effects),
            Phase::Wanted | Phase::Held(_) => effects.misused(ALREADY_ENTERING),
        }
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held(token) = self.phase else { return effects.misused(NOT_INSIDE) };
        effects.output(Output::Exited);
        if core::mem::take(&mut self.succession.is_void) {
            self.phase = Phase::Released;
        } else {
            self.pass(token, effects);
        }
    }

    /// Who was alone is not any more.
    fn go_on_if_alone(&mut self, effects: &mut Effects<Self>) {
        if let Phase::ReleasedWithToken(token) = self.phase {
            self.pass(token, effects);
        }
    }

    fn hold(&mut self, token: Token, effects: &mut Effects<Self>) {
        let entries = self.counting.after(token.entries);
        self.phase = Phase::Held(Token { entries, ..token });
        effects.output(Output::Entered { fence: Fence::counted(self.succession.epoch, entries) });
    }

    fn pass(&mut self, token: Token, effects: &mut Effects<Self>) {
        let successor = self.succession.next_living(self.me, self.n);
        if successor == self.me {
            self.phase = Phase::ReleasedWithToken(token);
        } else {
            self.phase = Phase::Released;
            effects.send(successor, Message::Token { epoch: self.succession.epoch, token });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    fn ring(me: u32, n: u32) -> TokenRing {
        TokenRing::new(&test_setting(&TokenRing::ENTRY, me, n, &[]))
    }

    fn token(entries: Number) -> Message {
        Message::Token { epoch: Epoch::FIRST, token: Token { entries, name: None } }
    }

    fn start(incarnation: u64) -> Event<TokenRing> {
        Event::Start { incarnation, saved: None }
    }

    fn arrives(from: u32, entries: Number) -> Event<TokenRing> {
        Event::Receive { from: Id::new(from), message: token(entries) }
    }

    const ZERO: Number = Number::ZERO;

    #[test]
    fn the_first_process_starts_with_the_token_once() {
        let sends = vec![Effect::Send { to: Id::new(2), message: token(ZERO) }];
        assert_eq!(effects_of(1, &mut ring(1, 3), start(1)), sends);
        assert_eq!(effects_of(1, &mut ring(1, 3), start(2)), vec![]);
        assert_eq!(effects_of(2, &mut ring(2, 3), start(1)), vec![]);
    }

    #[test]
    fn who_wants_nothing_passes_the_token_on_and_the_last_to_the_first() {
        let sends = vec![Effect::Send { to: Id::new(1), message: token(ZERO) }];
        assert_eq!(effects_of(3, &mut ring(3, 3), arrives(2, ZERO)), sends);
    }

    /// T10: nobody enters twice with the same visit of the token.
    #[test]
    fn who_leaves_passes_the_token_on_before_entering_again() {
        let mut process = ring(2, 3);
        effects_of(2, &mut process, Event::Input(Input::Enter));
        let fence = Fence::counted(Epoch::FIRST, ZERO.next());
        let entered = vec![Effect::Output(Output::Entered { fence })];
        assert_eq!(effects_of(2, &mut process, arrives(1, ZERO)), entered);
        let left = vec![Effect::Output(Output::Exited), Effect::Send { to: Id::new(3), message: token(ZERO.next()) }];
        assert_eq!(effects_of(2, &mut process, Event::Input(Input::Exit)), left);
        assert_eq!(effects_of(2, &mut process, Event::Input(Input::Enter)), vec![]);
    }

    #[test]
    fn a_ring_of_one_keeps_its_token() {
        let mut process = ring(1, 1);
        assert_eq!(effects_of(1, &mut process, start(1)), vec![]);
        for count in 1..4 {
            let fence = Fence::counted(Epoch::FIRST, count.try_into().unwrap());
            let entered = vec![Effect::Output(Output::Entered { fence })];
            assert_eq!(effects_of(1, &mut process, Event::Input(Input::Enter)), entered);
            let left = vec![Effect::Output(Output::Exited)];
            assert_eq!(effects_of(1, &mut process, Event::Input(Input::Exit)), left);
        }
    }
}
