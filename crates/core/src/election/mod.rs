//! Leader election: processes agree on one of them, the live one with the largest id.
//!
//! What is the same for all algorithms: an application [calls](Input::Call) an election when it misses a leader, and
//! every process tells its application [whom it follows](Output::Leader), as often as that changes.

mod bully;
mod chang_roberts;
mod chosen;
mod ring;

use serde::{Deserialize, Serialize};

use crate::catalog::Entry;
use crate::id::Id;
use crate::process::Process;
use crate::setting::Setting;
use crate::trace::{Recorded, What};

pub use bully::Bully;
pub use chang_roberts::ChangRoberts;
pub use chosen::{Chosen, Kind};
pub use ring::Ring;

/// What an application asks of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// There is no leader, or it is gone: elect one.
    Call,
}

/// What an election tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Output {
    /// Follow this one from now on.
    Leader(Id),
}

/// A leader election algorithm.
pub trait Election: Process<Input = Input, Output = Output> {
    /// What is known of it.
    const ENTRY: Entry;

    /// A process before its first event.
    fn new(setting: &Setting) -> Self;
}

impl Recorded for Input {
    fn what(&self) -> Option<What> {
        match self {
            Input::Call => Some(What::Called),
        }
    }
}

impl Recorded for Output {
    fn what(&self) -> Option<What> {
        match *self {
            Output::Leader(leader) => Some(What::Leader { leader }),
        }
    }
}
