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
//! away; from an exit to the next entry it takes 1 to n. With `rest=yes` the token stays where it is until somebody
//! asks for it: how, and what that costs, is in `rest.rs`.
//!
//! **Safe**: there is one token. **Live**: it passes everybody in turn. **Not in order**: the ring decides who is next,
//! not who asked first.
//!
//! **Crashes**: told of them, and with an [election](crate::stack::Elected) beside it, the ring closes around the dead,
//! and a token that is lost is made anew, in a new epoch; how is in `lost_token.rs`. Not told of them, but where
//! messages take no longer than a known time, `acknowledged=yes` skips a dead successor; how is in `acknowledged.rs`.
//!
//! **Fence**: the token counts the entries, and who enters has the token and adds one. A new token counts anew, in a
//! later epoch than any before that somebody alive knows of.

mod acknowledged;
mod rest;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::lost_token::{Said, Succession, TokenKeeper};
use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Assumptions, Choice, Entry, Family, Measure, OptionSpec, Property, Published, Recovery, Values};
use crate::clock::{Counting, Epoch, Fence, Number};
use crate::id::Id;
use crate::process::{self, Effects, Event, Notice, Process, Ticks};
use crate::setting::Setting;
use acknowledged::Pass;

/// A process of the token ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRing {
    me: Id,
    n: u32,
    counting: Counting,
    phase: Phase,
    succession: Succession<(), Token>,
    /// How long one waits for an acknowledgement, if tokens are acknowledged.
    patience: Option<Ticks>,
    /// The last token that was passed on, if it is not acknowledged yet.
    unacknowledged: Option<Pass>,
    /// Whether a token that nobody asks for stays where it is.
    rests: bool,
    /// Who has asked for the token since it was here last; of several the last one on its way.
    asked: Option<Id>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    /// Nobody is there to pass the token to, or nobody has asked for it, or the last one is not acknowledged yet.
    ReleasedWithToken(Token),
    Wanted,
    /// The token has rested here, and its epoch is not known to others yet.
    WantedWithToken(Token),
    Held(Token),
}

/// The right to enter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Token {
    /// In which epoch it was made.
    made: Epoch,
    /// How many entries there have been since then.
    entries: Number,
}

/// Why a process wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The acknowledgement of a token takes too long: its receiver must have crashed.
    Acknowledgement,
}

/// What processes say: as long as nobody crashes, and with no option, only *it is your turn*, each to its successor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// It is your turn.
    Token {
        /// Of which epoch it is.
        epoch: Epoch,
        /// How many entries there have been so far in it.
        entries: Number,
    },
    /// The token may be lost.
    Lost(Said<()>),
    /// It is your turn, and there is more to say of the token.
    MarkedToken {
        /// Of which epoch it is.
        epoch: Epoch,
        /// In which epoch it was made.
        made: Epoch,
        /// How many entries there have been since then.
        entries: Number,
        /// Where it is to rest.
        towards: Option<Id>,
    },
    /// To the predecessor: the token is here.
    Acknowledge,
    /// Somebody asks for the token. Each tells its successor, until it comes to who has the token or asks as well.
    Want {
        /// Who asks.
        by: Id,
    },
    /// Crashes may have taken what was asked: who wants to enter asks again.
    AskAgain,
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Token { .. } | Message::MarkedToken { .. } => "token",
            Message::Acknowledge => "acknowledge",
            Message::Want { .. } => "want",
            Message::AskAgain => "ask-again",
            Message::Lost(said) => said.kind(),
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Token { entries, .. } | Message::MarkedToken { entries, .. } => Some(entries.get()),
            Message::Want { by } => Some(by.number().into()),
            Message::Acknowledge | Message::AskAgain => None,
            Message::Lost(said) => said.number(),
        }
    }
}

impl Mutex for TokenRing {
    const ENTRY: Entry = Entry {
        summary: "a token travels round a ring, and only the process that has it may enter",
        paper: "G. Le Lann, \"Distributed systems: towards a formal approach\", IFIP Congress, 1977",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        recovery: Some(Recovery {
            elects: true,
            ..Recovery::new(
                "crashed processes are skipped; the elected leader asks every process for the token, and creates a \
                 new one if none has it",
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
        options: &[
            OptionSpec {
                key: "acknowledged",
                values: Values::OneOf(&[
                    Choice::plain("no"),
                    Choice {
                        assumes: Some(Assumptions { synchronous: true, ..Assumptions::RELIABLE }),
                        ..Choice::plain("yes")
                    },
                ]),
                default: "no",
                meaning: "whether a successor that does not acknowledge the token in time is skipped from then on; \
                          the token is still lost if the process that has it crashes",
            },
            OptionSpec {
                key: "rest",
                values: Values::OneOf(&[
                    Choice::plain("no"),
                    Choice {
                        assumes: Some(Assumptions { fifo: true, ..Assumptions::RELIABLE }),
                        quiet: true,
                        ..Choice::plain("yes")
                    },
                ]),
                default: "no",
                meaning: "whether the token stays where it is until a process requests it: no messages are sent while \
                          no process wants to enter, but an uncontended entry waits for n−1 messages on average \
                          instead of n/2",
            },
        ],
        restless: true,
        finite: true,
        check: |group| {
            let is_chosen = |key| group.options.choice(key) == "yes";
            if is_chosen("acknowledged") && group.recovering.is_some() {
                Err("option acknowledged = yes cannot be combined with recovery: every process is notified of \
                     crashes, and a crash could lose the acknowledgement but not the token; leave one of them out"
                    .into())
            } else if is_chosen("acknowledged") && is_chosen("rest") {
                Err("option acknowledged = yes cannot be combined with rest = yes: only tokens are acknowledged, so a \
                     request for the token that was sent to a crashed process would be lost; leave one of them out"
                    .into())
            } else {
                Ok(())
            }
        },
        ..Entry::new("token-ring", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        TokenRing {
            me: setting.me,
            n: setting.n(),
            counting: setting.group.counting,
            phase: Phase::Released,
            succession: Succession::new(setting),
            patience: acknowledged::patience(setting),
            unacknowledged: None,
            rests: setting.group.options.choice("rest") == "yes",
            asked: None,
        }
    }

    fn misses_leader(&self) -> bool {
        self.succession.misses_leader()
    }
}

impl Process for TokenRing {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Timer;
    type Stable = Epoch;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => self.start(incarnation, saved, effects),
            Event::Input(Input::Observe(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Token { epoch, entries } } => {
                self.acknowledge(from, effects);
                self.on_token(from, epoch, Token { made: epoch, entries }, effects);
            }
            Event::Receive { from, message: Message::MarkedToken { epoch, made, entries, towards } } => {
                if epoch >= self.succession.epoch {
                    self.note(towards);
                }
                self.on_token(from, epoch, Token { made, entries }, effects);
            }
            Event::Receive { from, message: Message::Acknowledge } => self.on_acknowledge(from, effects),
            Event::Receive { from, message: Message::Want { by } } => self.on_want(from, by, effects),
            Event::Receive { message: Message::AskAgain, .. } => self.ask_if_wanted(effects),
            Event::Receive { from, message: Message::Lost(said) } => self.on_said(from, said, effects),
            Event::Notice(Notice::Suspect(id)) => {
                self.asked.take_if(|asked| *asked == id);
                self.suspect(id, effects);
            }
            Event::Notice(Notice::Trust(id)) => {
                self.trust(id, effects);
                self.go_on(effects);
            }
            Event::Notice(Notice::Leader(id)) => self.elect(id, effects),
            Event::Timeout(Timer::Acknowledgement) => self.on_acknowledgement_late(effects),
        }
        self.enter_if_known(effects);
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
            Phase::ReleasedWithToken(token) | Phase::WantedWithToken(token) => Some(token),
            Phase::Held(token) => Some(token).filter(|_| !self.succession.is_void),
            Phase::Released | Phase::Wanted => None,
        }
    }

    fn made_in(token: &Token) -> Epoch {
        token.made
    }

    fn drop_token(&mut self) {
        match self.phase {
            Phase::ReleasedWithToken(_) => self.phase = Phase::Released,
            Phase::WantedWithToken(_) => self.phase = Phase::Wanted,
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
            Phase::ReleasedWithToken(_) | Phase::WantedWithToken(_) | Phase::Held(_) => {
                effects.unexpected(from, "a second token");
            }
        }
    }

    fn make_token(&mut self, _: Vec<(Id, ())>, effects: &mut Effects<Self>) {
        let (me, made) = (self.me, self.succession.epoch);
        self.take_token(me, Token { made, entries: Number::ZERO }, effects);
    }

    fn settled(&mut self, effects: &mut Effects<Self>) {
        self.let_all_ask_again(effects);
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
            Phase::Released => {
                self.phase = Phase::Wanted;
                self.ask_if_wanted(effects);
            }
            Phase::ReleasedWithToken(token) => self.phase = Phase::WantedWithToken(token),
            Phase::Wanted | Phase::WantedWithToken(_) | Phase::Held(_) => effects.misused(ALREADY_ENTERING),
        }
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held(token) = self.phase else { return effects.misused(NOT_INSIDE) };
        effects.output(Output::Exited);
        if core::mem::take(&mut self.succession.is_void) {
            self.phase = Phase::Released;
        } else if self.is_spent(token.entries) {
            self.phase = Phase::Released;
            self.give_up_token(effects);
        } else {
            self.pass(token, effects);
        }
    }

    /// What has kept the token here may be over: who was alone is not any more.
    fn go_on(&mut self, effects: &mut Effects<Self>) {
        if let Phase::ReleasedWithToken(token) = self.phase {
            self.pass(token, effects);
        }
    }

    fn hold(&mut self, token: Token, effects: &mut Effects<Self>) {
        let entries = self.counting.after(token.entries);
        self.phase = Phase::Held(Token { entries, ..token });
        effects.output(Output::Entered { fence: Fence::counted(token.made, entries) });
    }

    fn pass(&mut self, token: Token, effects: &mut Effects<Self>) {
        let successor = self.successor();
        if successor == self.me || self.lets_rest() || self.unacknowledged.is_some() {
            self.phase = Phase::ReleasedWithToken(token);
        } else {
            self.phase = Phase::Released;
            let (epoch, towards) = (self.succession.epoch, self.asked.take());
            let Token { made, entries } = token;
            let message = if made == epoch && towards.is_none() {
                Message::Token { epoch, entries }
            } else {
                Message::MarkedToken { epoch, made, entries, towards }
            };
            effects.send(successor, message);
            self.await_acknowledgement(successor, token, effects);
        }
    }

    /// The next on the ring that is not known to have crashed; the process itself, if it is alone.
    fn successor(&self) -> Id {
        self.succession.next_living(self.me, self.n)
    }
}
