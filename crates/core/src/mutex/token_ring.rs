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
//! **Fence**: the token counts the entries, and who enters has the token and adds one. A crash takes the token with it
//! or breaks the ring, so there is no entry whose fence could be too small.

use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Entry, Family, Measure, Property, Published};
use crate::clock::{Counting, Fence, Number};
use crate::id::Id;
use crate::process::{self, Effects, Event, Process};
use crate::setting::Setting;

/// A process of the token ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRing {
    me: Id,
    n: u32,
    counting: Counting,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    /// A ring of one has nobody to pass the token to.
    ReleasedWithToken {
        entries: Number,
    },
    Wanted,
    Held {
        entries: Number,
    },
}

/// The only message there is, from each process to its successor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// It is your turn.
    Token {
        /// How many entries there have been so far.
        entries: Number,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        "token"
    }

    fn number(&self) -> Option<u64> {
        let Message::Token { entries } = self;
        Some(entries.get())
    }
}

impl Mutex for TokenRing {
    const ENTRY: Entry = Entry {
        summary: "a token goes round, and who has it may enter",
        paper: "G. Le Lann, IFIP Congress, 1977",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
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
        TokenRing { me: setting.me, n: setting.n(), counting: setting.group.counting, phase: Phase::Released }
    }
}

impl Process for TokenRing {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, .. } => self.start(incarnation, effects),
            Event::Notice(_) | Event::Input(Input::Observe(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Token { entries } } => self.on_token(from, entries, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

impl TokenRing {
    /// The first life of process 1 begins with the token; a later one must not make a second.
    fn start(&mut self, incarnation: u64, effects: &mut Effects<Self>) {
        if self.me == Id::new(1) && incarnation == 1 {
            self.pass(Number::ZERO, effects);
        }
    }

    fn enter(&mut self, effects: &mut Effects<Self>) {
        match self.phase {
            Phase::Released => self.phase = Phase::Wanted,
            Phase::ReleasedWithToken { entries } => self.hold(entries, effects),
            Phase::Wanted | Phase::Held { .. } => effects.misused(ALREADY_ENTERING),
        }
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { entries } = self.phase else { return effects.misused(NOT_INSIDE) };
        effects.output(Output::Exited);
        self.pass(entries, effects);
    }

    fn on_token(&mut self, from: Id, entries: Number, effects: &mut Effects<Self>) {
        match self.phase {
            Phase::Released => self.pass(entries, effects),
            Phase::Wanted => self.hold(entries, effects),
            Phase::ReleasedWithToken { .. } | Phase::Held { .. } => effects.unexpected(from, "a second token"),
        }
    }

    fn hold(&mut self, entries: Number, effects: &mut Effects<Self>) {
        let entries = self.counting.after(entries);
        self.phase = Phase::Held { entries };
        effects.output(Output::Entered { fence: Fence::counted(0, entries) });
    }

    fn pass(&mut self, entries: Number, effects: &mut Effects<Self>) {
        let successor = self.me.successor(self.n);
        if successor == self.me {
            self.phase = Phase::ReleasedWithToken { entries };
        } else {
            self.phase = Phase::Released;
            effects.send(successor, Message::Token { entries });
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
        Message::Token { entries }
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
        let fence = Fence::counted(0, ZERO.next());
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
            let fence = Fence::counted(0, count.try_into().unwrap());
            let entered = vec![Effect::Output(Output::Entered { fence })];
            assert_eq!(effects_of(1, &mut process, Event::Input(Input::Enter)), entered);
            let left = vec![Effect::Output(Output::Exited)];
            assert_eq!(effects_of(1, &mut process, Event::Input(Input::Exit)), left);
        }
    }
}
