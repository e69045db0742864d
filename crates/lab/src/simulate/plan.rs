//! What shall happen in a run, apart from what the processes do.

use quorate_core::id::Id;
use quorate_core::process::Ticks;

use crate::network::{Conditions, Partition};
use crate::observer::Watch;

/// What shall happen in a run, apart from what the processes do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Determines everything that is left to chance.
    pub seed: u64,
    /// What the network is like.
    pub conditions: Conditions,
    /// What befalls processes.
    pub faults: Vec<Fault>,
    /// How far clocks may be off, in parts per million. Each process gets a drift of its own within it.
    pub drift_ppm: u32,
    /// Whether every process is told of every crash, when all that the crashed one sent has arrived.
    pub detector: bool,
    /// Whether processes find out about crashes themselves, and what they find is to be seen.
    pub detects: bool,
    /// When to stop at the latest.
    pub until: Option<Ticks>,
    /// Whether the algorithm never falls silent, so that the run is over when the applications are done.
    pub restless: bool,
    /// What to watch.
    pub watch: Watch,
}

/// What befalls a process. Of faults at the same time, the first in the plan's list comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It never starts.
    AbsentFromTheBeginning(Id),
    /// It crashes.
    Crash(Id, Ticks),
    /// It begins another life.
    Restart(Id, Ticks),
    /// It does nothing between these times, and then goes on as if nothing had been. A crash ends it.
    Pause(Id, Ticks, Ticks),
}

/// When the last of these begins or ends.
pub fn last_change(faults: &[Fault], partitions: &[Partition]) -> Ticks {
    let faults = faults.iter().map(|fault| match *fault {
        Fault::AbsentFromTheBeginning(_) => 0,
        Fault::Crash(_, at) | Fault::Restart(_, at) | Fault::Pause(_, _, at) => at,
    });
    faults.chain(partitions.iter().map(|cut| cut.to)).max().unwrap_or(0)
}
