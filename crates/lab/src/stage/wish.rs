//! Applications that are free: they do whatever they may, whenever whoever chooses lets them.
//!
//! The counterpart of [`application`](crate::application), where a workload says when.

use std::fmt;

use quorate_core::clock::{Fence, Number};
use quorate_core::detector::Detector;
use quorate_core::election::{self, Election};
use quorate_core::mutex::{Mutex, Output};
use quorate_core::process::{Process, Value};
use quorate_core::stack::{Request, Withdrawable};
use quorate_core::trace::What;

/// What an application may want.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wish {
    /// To enter.
    Enter,
    /// To leave.
    Exit,
    /// Not to enter any more.
    Withdraw,
    /// An election.
    Call,
    /// To read the resource.
    Read,
    /// To write to it.
    Write,
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wish::Enter => "requests",
            Wish::Exit => "exits",
            Wish::Withdraw => "withdraws",
            Wish::Call => "starts an election",
            Wish::Read => "reads",
            Wish::Write => "writes",
        })
    }
}

/// How often an application may want something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Times {
    /// So many times.
    AtMost(u32),
    /// For ever.
    Endless,
}

impl Times {
    fn any_left(self) -> bool {
        self != Times::AtMost(0)
    }

    fn one_less(self) -> Times {
        match self {
            Times::AtMost(left) => Times::AtMost(left.saturating_sub(1)),
            Times::Endless => Times::Endless,
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Times::AtMost(times) => times.fmt(f),
            Times::Endless => f.write_str("endless"),
        }
    }
}

/// What comes of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed<I> {
    /// Something is asked of the process.
    Ask(I),
    /// The resource is touched, of which this is recorded. The process knows nothing of it.
    Touch(What),
}

/// A free application of a process `P`.
pub trait Free<P: Process>: Value {
    /// One that may ask so many times.
    fn new(times: Times) -> Self;

    /// What it may want now.
    fn wishes(&self) -> Vec<Wish>;

    /// It wants this, which is one of its [wishes](Self::wishes).
    fn wish(&mut self, wish: Wish) -> Deed<P::Input>;

    /// Its process tells it something. Where there is a resource, it enters to read and write that.
    fn hear(&mut self, output: &P::Output, with_resource: bool);

    /// Its process has crashed, and it with it.
    fn crash(&mut self);

    /// Whether it waits for its process.
    fn is_waiting(&self) -> bool {
        false
    }

    /// What to attach to a message of its own.
    fn stamp(_process: &P) -> Number {
        Number::ZERO
    }

    /// How its process observes the stamp of one.
    fn observe(_stamp: Number) -> Option<P::Input> {
        None
    }
}

/// Enters and leaves. Where there is a resource, it reads it once while it is inside, and may write to it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    state: ClientState,
    left: Times,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ClientState {
    Idle,
    Waiting,
    Inside,
    /// It has left, and waits until its process is done with that.
    Leaving,
    /// It has taken its request back, and waits until that is through.
    Withdrawing,
    /// It is inside, and shows this fence to the resource.
    AtResource {
        fence: Fence,
        has_read: bool,
    },
}

impl<M: Mutex> Free<Withdrawable<M>> for Client {
    fn new(times: Times) -> Client {
        Client { state: ClientState::Idle, left: times }
    }

    fn wishes(&self) -> Vec<Wish> {
        match self.state {
            ClientState::Idle if self.left.any_left() => vec![Wish::Enter],
            ClientState::Waiting => vec![Wish::Withdraw],
            ClientState::Inside => vec![Wish::Exit],
            ClientState::AtResource { has_read: false, .. } => vec![Wish::Exit, Wish::Read],
            ClientState::AtResource { has_read: true, .. } => vec![Wish::Exit, Wish::Write],
            ClientState::Idle | ClientState::Leaving | ClientState::Withdrawing => Vec::new(),
        }
    }

    fn wish(&mut self, wish: Wish) -> Deed<Request> {
        match (wish, self.state) {
            (Wish::Read, ClientState::AtResource { fence, .. }) => {
                self.state = ClientState::AtResource { fence, has_read: true };
                Deed::Touch(What::Read { fence, accepted: true })
            }
            (Wish::Write, ClientState::AtResource { fence, .. }) => Deed::Touch(What::Wrote { fence, accepted: true }),
            (Wish::Read | Wish::Write, _) => unreachable!("only who is inside touches the resource"),
            (Wish::Exit, _) => {
                self.state = ClientState::Leaving;
                Deed::Ask(Request::Exit)
            }
            (Wish::Withdraw, _) => {
                self.state = ClientState::Withdrawing;
                Deed::Ask(Request::Withdraw)
            }
            (Wish::Enter | Wish::Call, _) => {
                self.state = ClientState::Waiting;
                self.left = self.left.one_less();
                Deed::Ask(Request::Enter)
            }
        }
    }

    fn hear(&mut self, output: &Output, with_resource: bool) {
        self.state = match (output, self.state) {
            (&Output::Entered { fence }, ClientState::Waiting) if with_resource => {
                ClientState::AtResource { fence, has_read: false }
            }
            (Output::Entered { .. }, ClientState::Waiting) => ClientState::Inside,
            (Output::Lost, ClientState::Inside | ClientState::AtResource { .. }) => ClientState::Leaving,
            (Output::Exited, ClientState::Leaving) | (Output::Withdrawn, ClientState::Withdrawing) => ClientState::Idle,
            // A broken algorithm says what nobody asked for. The properties have seen it.
            (Output::Entered { .. } | Output::Exited | Output::Lost | Output::Withdrawn, state) => state,
        };
    }

    fn crash(&mut self) {
        self.state = ClientState::Idle;
    }

    fn is_waiting(&self) -> bool {
        self.state == ClientState::Waiting
    }

    fn stamp(process: &Withdrawable<M>) -> Number {
        process.stamp()
    }

    fn observe(stamp: Number) -> Option<Request> {
        Some(Request::Observe(stamp))
    }
}

/// Calls elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    left: Times,
}

impl<E: Election> Free<E> for Caller {
    fn new(times: Times) -> Caller {
        Caller { left: times }
    }

    fn wishes(&self) -> Vec<Wish> {
        if self.left.any_left() { vec![Wish::Call] } else { Vec::new() }
    }

    fn wish(&mut self, _: Wish) -> Deed<election::Input> {
        self.left = self.left.one_less();
        Deed::Ask(election::Input::Call)
    }

    fn hear(&mut self, _: &election::Output, _: bool) {}

    fn crash(&mut self) {}
}

/// Only listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listener;

impl<D: Detector> Free<D> for Listener {
    fn new(_: Times) -> Listener {
        Listener
    }

    fn wishes(&self) -> Vec<Wish> {
        Vec::new()
    }

    fn wish(&mut self, _: Wish) -> Deed<D::Input> {
        unreachable!("a listener wants nothing")
    }

    fn hear(&mut self, _: &D::Output, _: bool) {}

    fn crash(&mut self) {}
}
