//! Mutual exclusion: processes take turns.
//!
//! What is the same for all algorithms: an application asks to [enter](Input::Enter), is told when it is
//! [inside](Output::Entered), with a [fence](Fence) to show to the resource, and [exits](Input::Exit). It asks again
//! only after it has left. A request can be taken back at any time through
//! [`Withdrawable`](crate::stack::Withdrawable), which works for every algorithm.
//!
//! **Causality for the application.** ME3 speaks of requests of which one happened before the other, and what happens
//! before includes the application's own messages. So it can attach [`Mutex::stamp`] to a message it sends, and
//! [observe](Input::Observe) the stamp of one it receives.

mod central;
mod lamport;
mod lost_token;
mod maekawa;
mod maekawa_deadlock_free;
mod majority;
mod ricart_agrawala;
mod roucairol_carvalho;
mod suzuki_kasami;
mod token_ring;
pub mod voting_set;

use serde::{Deserialize, Serialize};

use crate::catalog::{Choice, Entry, OptionSpec, Values};
use crate::clock::{Fence, Number};
use crate::id::Id;
use crate::process::Process;
use crate::setting::Setting;
use crate::trace::{Recorded, What};

pub use central::Central;
pub use lamport::Lamport;
pub use maekawa::Maekawa;
pub use maekawa_deadlock_free::MaekawaDeadlockFree;
pub use majority::Majority;
pub use ricart_agrawala::RicartAgrawala;
pub use roucairol_carvalho::RoucairolCarvalho;
pub use suzuki_kasami::SuzukiKasami;
pub use token_ring::TokenRing;

/// What an application asks of a mutual exclusion algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// I want to enter.
    Enter,
    /// I am done and have left.
    Exit,
    /// I have received a message of the application that carries this stamp.
    Observe(Number),
}

/// What a mutual exclusion algorithm tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Output {
    /// You are inside.
    Entered {
        /// Larger than the fence of every earlier entry.
        fence: Fence,
    },
    /// You may go on; the exit is done as far as you are concerned.
    Exited,
    /// You are not inside any more, although you have not left: what let you in has run out. [`Output::Exited`]
    /// follows. Said where a process finds out that its turn was given away, or that it does not trust a majority.
    Lost,
    /// What you withdrew is through, and you may ask again. [`Withdrawable`](crate::stack::Withdrawable) says so; an
    /// algorithm never does.
    Withdrawn,
}

/// A mutual exclusion algorithm.
pub trait Mutex: Process<Input = Input, Output = Output> {
    /// What is known of it.
    const ENTRY: Entry;

    /// A process before its first event.
    fn new(setting: &Setting) -> Self;

    /// What the application attaches to a message of its own. Algorithms without a clock have nothing to say.
    fn stamp(&self) -> Number {
        Number::ZERO
    }

    /// The highest number that the [stamps](Self::stamp) of a life can have shown that has saved this.
    fn saved_stamp(saved: &Self::Stable) -> Number {
        let _ = saved;
        Number::ZERO
    }

    /// Whether it takes somebody for dead, where it finds out about crashes itself.
    fn suspects(&self, id: Id) -> bool {
        let _ = id;
        false
    }

    /// Whether one process has to lead the others, and there is nobody to, nor elected to. When it becomes true, an
    /// [election](crate::stack::Elected) is called; its outcome is told as
    /// [`Notice::Leader`](crate::process::Notice::Leader).
    fn misses_leader(&self) -> bool {
        false
    }
}

impl Recorded for Input {
    fn what(&self) -> Option<What> {
        match self {
            Input::Enter => Some(What::Wanted),
            Input::Exit => Some(What::Leaving),
            Input::Observe(_) => None,
        }
    }
}

impl Recorded for Output {
    fn what(&self) -> Option<What> {
        match *self {
            Output::Entered { fence } => Some(What::Entered { fence }),
            Output::Exited => Some(What::Exited),
            Output::Lost => Some(What::Leaving),
            Output::Withdrawn => Some(What::Withdrawn),
        }
    }
}

/// What the application got wrong if it enters while it waits or is inside.
pub(crate) const ALREADY_ENTERING: &str = "requested entry while waiting or inside";
/// What the application got wrong if it exits while it is outside.
pub(crate) const NOT_INSIDE: &str = "requested exit while not inside";

/// The option by which the voting algorithms choose who asks whom.
const SETS: OptionSpec = OptionSpec {
    key: "sets",
    values: Values::OneOf(&[Choice::plain("grid"), Choice::plain("plane"), Choice::plain("best")]),
    default: "grid",
    meaning: "the voting sets: row and column of a grid, a finite projective plane, or the smallest sets that can be \
              constructed",
};
