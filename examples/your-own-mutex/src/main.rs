//! Ask everybody, with a number. Who wants to enter and has a smaller one answers when it has left, all others at once.

use std::convert::Infallible;
use std::process::ExitCode;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::clock::{Fence, LamportClock, Number, Timestamp};
use quorate_core::id::{Id, IdSet};
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use serde::{Deserialize, Serialize};

/// A process of this algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mine {
    n: u32,
    clock: LamportClock,
    /// The last request: its number, and who we are.
    request: Timestamp,
    /// Whose answers are missing; nobody's when inside, and `None` outside.
    missing: Option<IdSet>,
    /// Who gets an answer when we have left.
    owed: IdSet,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    MayI(Number),
    YouMay,
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        if *self == Message::YouMay { "you-may" } else { "may-i" }
    }
}

impl Mutex for Mine {
    const ENTRY: Entry = Entry {
        summary: "ask everybody; who has a smaller number answers when it has left",
        promises: &[Property::MutualExclusion, Property::Progress],
        ..Entry::new("mine", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let (clock, request) = (LamportClock::default(), Timestamp::new(Number::ZERO, setting.me));
        Mine { n: setting.n(), clock, request, missing: None, owed: IdSet::new() }
    }
}

impl Process for Mine {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Input(Input::Enter) => {
                self.request.number = self.clock.tick();
                self.missing = Some(Id::all(self.n).collect());
                effects.multicast(Id::all(self.n), &Message::MayI(self.request.number));
            }
            Event::Input(Input::Exit) => {
                self.missing = None;
                effects.output(Output::Exited);
                effects.multicast(self.owed.take().iter(), &Message::YouMay);
            }
            Event::Receive { from, message: Message::MayI(number) } => match &self.missing {
                Some(missing) if missing.is_empty() || self.request < Timestamp::new(number, from) => {
                    self.owed.insert(from);
                }
                Some(_) | None => effects.send(from, Message::YouMay),
            },
            Event::Receive { from, message: Message::YouMay } => {
                if self.missing.as_mut().is_some_and(|missing| missing.remove(from) && missing.is_empty()) {
                    effects.output(Output::Entered { fence: Fence::stamped(self.request) });
                }
            }
            Event::Input(Input::Observe(_)) | Event::Start { .. } | Event::Notice(_) | Event::Timeout(_) => {}
        }
    }
}

fn main() -> ExitCode {
    quorate_lab::main::<Mine>()
}
