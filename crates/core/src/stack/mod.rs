//! Processes around processes: what surrounds an algorithm is simulated and explored with it.

mod alone;
mod detected;
mod elected;
mod gathered;
mod guarded;
#[cfg(debug_assertions)]
pub mod made;
mod rejoining;
mod reliable;
pub mod resources;
pub mod traced;
mod withdrawable;

use crate::clock::Number;
use crate::mutex::{Input, Mutex};
use crate::process::Process;

pub use alone::{Alone, Surviving, incarnation_of};
pub use detected::Detected;
pub use elected::Elected;
pub use gathered::Gathered;
pub use guarded::{Guarded, Resigned, Resigning};
pub use rejoining::Rejoining;
pub use reliable::{Limits, Reliable};
pub use resources::{Name, Resources};
pub use traced::Traced;
pub use withdrawable::{Request, Withdrawable};

/// What those around a process have to know of it: a mutual exclusion algorithm, or [many of them](Resources).
pub trait Member: Process {
    /// The highest number it has seen.
    fn highest_seen(&self) -> Number;

    /// The highest number that a former life may have seen, by what it has saved.
    fn highest_saved(saved: &Self::Stable) -> Number;

    /// How it is told of a number that others have seen.
    fn observing(stamp: Number) -> Self::Input;

    /// Whether there is nobody to lead, and somebody has to.
    fn lacks_leader(&self) -> bool;
}

impl<M: Mutex> Member for M {
    fn highest_seen(&self) -> Number {
        self.stamp()
    }

    fn highest_saved(saved: &M::Stable) -> Number {
        M::saved_stamp(saved)
    }

    fn observing(stamp: Number) -> Input {
        Input::Observe(stamp)
    }

    fn lacks_leader(&self) -> bool {
        self.misses_leader()
    }
}
