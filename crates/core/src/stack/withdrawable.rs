//! Taking a request back: a timeout, a cancellation.
//!
//! Works for every mutual exclusion algorithm, because it is the one way that is safe for all of them: the request stays,
//! and when it is granted the process leaves at once, without its application having been inside. So nothing is left behind
//! that could block others, and no reply to a dead request is ever counted for a living one. (Naive withdrawal, which
//! forgets the request, breaks Ricart–Agrawala in eight steps: a stale reply is counted.)
//!
//! An application that wants to enter again waits until it hears that the old request is [through](Output::Withdrawn). It
//! could not have the old one's place, for another request may have happened before the new one and after the old; and
//! if the new one were kept here and made later, it would be overtaken by requests that happened after it. Both break ME3,
//! and simulation finds both within twenty seeds.

use serde::{Deserialize, Serialize};

use crate::clock::Number;
use crate::mutex::{self, Mutex, Output};
use crate::process::{Effects, Event, Process};
use crate::setting::Setting;
use crate::trace::{Recorded, What};

/// A mutual exclusion algorithm whose requests can be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Withdrawable<M> {
    algorithm: M,
    wish: Wish,
}

/// What the application wants, as against what the algorithm is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wish {
    /// It wants nothing, and nothing is asked for.
    Nothing,
    /// It waits to be let in.
    Enter,
    /// It has been let in.
    Stay,
    /// It has withdrawn; the algorithm still asks for it.
    Withdrawn,
}

/// What an application asks, withdrawal included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Request {
    /// I want to enter.
    Enter,
    /// I am done and have left.
    Exit,
    /// I do not want to enter any more; if I have been let in meanwhile, I have left.
    Withdraw,
    /// I have received a message of the application that carries this stamp.
    Observe(Number),
}

impl Recorded for Request {
    fn what(&self) -> Option<What> {
        match self {
            Request::Enter => mutex::Input::Enter.what(),
            Request::Exit => mutex::Input::Exit.what(),
            Request::Withdraw => Some(What::Withdrew),
            Request::Observe(number) => mutex::Input::Observe(*number).what(),
        }
    }
}

impl<M: Mutex> Withdrawable<M> {
    /// A process before its first event.
    pub fn new(setting: &Setting) -> Self {
        Withdrawable { algorithm: M::new(setting), wish: Wish::Nothing }
    }

    /// What the application attaches to a message of its own.
    pub fn stamp(&self) -> Number {
        self.algorithm.stamp()
    }

    /// The algorithm itself.
    pub fn algorithm(&self) -> &M {
        &self.algorithm
    }

    /// Lets the algorithm take a step, and sees to it that what nobody wants any more is left at once.
    fn forward(&mut self, event: Event<M>, effects: &mut Effects<Self>) {
        let since = effects.len();
        self.algorithm.step(event, effects);
        match self.wish {
            Wish::Nothing | Wish::Stay => {}
            Wish::Enter | Wish::Withdrawn => match effects.output_since(since) {
                Some(Output::Entered { .. }) => self.granted(since, effects),
                Some(Output::Exited | Output::Withdrawn) | None => {}
            },
        }
    }

    fn granted(&mut self, since: usize, effects: &mut Effects<Self>) {
        if self.wish == Wish::Withdrawn {
            self.wish = Wish::Nothing;
            self.leave_unseen(since, effects);
            effects.output(Output::Withdrawn);
        } else {
            self.wish = Wish::Stay;
        }
    }

    /// Leaves again, without a word to the application.
    fn leave_unseen(&mut self, since: usize, effects: &mut Effects<Self>) {
        effects.retract_output(since);
        let since = effects.len();
        self.algorithm.step(Event::Input(mutex::Input::Exit), effects);
        effects.retract_output(since);
    }

    fn enter(&mut self, effects: &mut Effects<Self>) {
        match self.wish {
            Wish::Nothing => {
                self.wish = Wish::Enter;
                self.forward(Event::Input(mutex::Input::Enter), effects);
            }
            Wish::Enter | Wish::Stay => effects.misused(mutex::ALREADY_ENTERING),
            Wish::Withdrawn => effects.misused("asked to enter before what it withdrew was through"),
        }
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        match self.wish {
            Wish::Stay => {
                self.wish = Wish::Nothing;
                self.forward(Event::Input(mutex::Input::Exit), effects);
            }
            Wish::Nothing | Wish::Enter | Wish::Withdrawn => effects.misused(mutex::NOT_INSIDE),
        }
    }

    fn withdraw(&mut self, effects: &mut Effects<Self>) {
        match self.wish {
            Wish::Enter => self.wish = Wish::Withdrawn,
            // The grant and the withdrawal crossed: the application has been let in, and leaves.
            Wish::Stay => self.exit(effects),
            Wish::Nothing | Wish::Withdrawn => effects.misused("withdrew without waiting to enter"),
        }
    }
}

impl<M: Mutex> Process for Withdrawable<M> {
    type Message = M::Message;
    type Input = Request;
    type Output = Output;
    type Timer = M::Timer;
    type Stable = M::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Input(Request::Enter) => self.enter(effects),
            Event::Input(Request::Withdraw) => self.withdraw(effects),
            Event::Input(Request::Exit) => self.exit(effects),
            Event::Input(Request::Observe(number)) => {
                self.forward(Event::Input(mutex::Input::Observe(number)), effects);
            }
            Event::Start { incarnation, saved } => self.forward(Event::Start { incarnation, saved }, effects),
            Event::Notice(notice) => self.forward(Event::Notice(notice), effects),
            Event::Receive { from, message } => self.forward(Event::Receive { from, message }, effects),
            Event::Timeout(timer) => self.forward(Event::Timeout(timer), effects),
        }
    }
}
