//! A process sends a numbered request to all, and enters when all have replied. A process that is inside, or that waits
//! with a smaller number, replies after its exit; all others reply at once.

use std::convert::Infallible;
use std::process::ExitCode;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::clock::{Fence, LamportClock, Number, Timestamp};
use quorate_core::id::{Id, IdSet};
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use serde::{Deserialize, Serialize};

/// The state of one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mine {
    n: u32,
    clock: LamportClock,
    /// The timestamp of the latest request: its number, and the id of this process.
    request: Timestamp,
    /// The processes whose replies are missing: empty when inside, `None` when neither inside nor waiting.
    missing: Option<IdSet>,
    /// The processes that get a reply at the next exit.
    deferred: IdSet,
}

/// What processes send to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Request(Number),
    Reply,
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        if *self == Message::Reply { "reply" } else { "request" }
    }
}

impl Mutex for Mine {
    const ENTRY: Entry = Entry {
        summary: "a process needs a reply from all others; those with a smaller number reply after their exit",
        promises: &[Property::MutualExclusion, Property::Progress],
        ..Entry::new("mine", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let (clock, request) = (LamportClock::default(), Timestamp::new(Number::ZERO, setting.me));
        Mine { n: setting.n(), clock, request, missing: None, deferred: IdSet::new() }
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
                effects.multicast(Id::all(self.n), &Message::Request(self.request.number));
            }
            Event::Input(Input::Exit) => {
                self.missing = None;
                effects.output(Output::Exited);
                effects.multicast(self.deferred.take().iter(), &Message::Reply);
            }
            Event::Receive { from, message: Message::Request(number) } => match &self.missing {
                Some(missing) if missing.is_empty() || self.request < Timestamp::new(number, from) => {
                    self.deferred.insert(from);
                }
                Some(_) | None => effects.send(from, Message::Reply),
            },
            Event::Receive { from, message: Message::Reply } => {
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
