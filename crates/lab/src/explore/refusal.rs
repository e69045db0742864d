//! Errors: what cannot be explored, and why.

use quorate_core::catalog::{ENTRIES, Entry, Family, UnknownAlgorithm};
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::setting::SettingError;

use super::goal::Goal;
use super::{Exploration, LARGEST_GROUP, budget};
use crate::stage::wish::Times;

/// The reason why an exploration was refused. Nothing was explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each means")]
pub enum ExplorationError {
    #[error(transparent)]
    UnknownAlgorithm(#[from] UnknownAlgorithm),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("{algorithm} cannot recover from crashes here; these algorithms can: {known}")]
    NoRecovery { algorithm: &'static str, known: String },
    #[error("n = {0}: the number of processes must be from 1 to {LARGEST_GROUP}")]
    GroupSize(u32),
    #[error("{what} = {given}: the largest accepted number is {most}")]
    TooMany { what: &'static str, given: u32, most: u32 },
    #[error("absent process {id} does not exist: process ids are 1 to {n}")]
    NoSuchProcess { id: u32, n: u32 },
    #[error("all {n} processes are absent: at least one process must take part")]
    NobodyLives { n: u32 },
    #[error("property {goal} does not apply to {family}; these properties do: {}", known.join(", "))]
    WrongGoal { goal: Goal, family: Family, known: Vec<String> },
    #[error("no property to check: name at least one")]
    NoGoal,
    #[error("pokes apply only to mutual exclusion, not to {family}: leave them out")]
    NoPokes { family: Family },
    #[error("withdrawals apply only to mutual exclusion, not to {family}: leave them out")]
    NoWithdrawals { family: Family },
    #[error("writes apply only to mutual exclusion, not to {family}: leave them out")]
    NoWrites { family: Family },
    #[error("property {goal} is about writes to the resource: allow at least one write")]
    NothingWritten { goal: Goal },
    #[error("delay bound = {0} ticks: it must be from 1 to 100")]
    DelayBound(Ticks),
    #[error("drift = {0} ticks: it must be from 0 to 100")]
    Drift(Ticks),
    #[error(
        "endless entries: the counters of {algorithm} grow without bound, so it has infinitely many states; give a \
         number of entries per process"
    )]
    Endless { algorithm: &'static str },
    #[error(
        "endless entries are not counted, so they have no fences: leave out the property fencing and all writes, or \
         give a number of entries per process"
    )]
    EndlessFences,
}

impl Exploration {
    /// Refuses what cannot be explored.
    pub(super) fn check(&self, entry: &Entry) -> Result<(), ExplorationError> {
        if self.recovery.is_some() && entry.recovery.is_none() {
            let recovers = |entry: &&&Entry| entry.recovery.is_some();
            let known: Vec<_> = ENTRIES.iter().filter(recovers).map(|entry| entry.name).collect();
            return Err(ExplorationError::NoRecovery { algorithm: entry.name, known: known.join(", ") });
        }
        if self.n == 0 || self.n > LARGEST_GROUP {
            return Err(ExplorationError::GroupSize(self.n));
        }
        let bounds = &self.bounds;
        for (what, given, most) in [
            ("pokes", bounds.pokes, budget::LARGEST),
            ("crashes", bounds.crashes, budget::LARGEST),
            ("restarts", bounds.restarts, budget::LARGEST),
            ("losses", bounds.losses, budget::LARGEST),
            ("duplicates", bounds.duplicates, budget::LARGEST),
            ("withdrawals", bounds.withdrawals, budget::LARGEST),
            ("writes", bounds.writes, budget::LARGEST),
            ("suspicions", bounds.suspicions, budget::LARGEST),
            ("timeouts", bounds.timeouts.unwrap_or(0), budget::MOST_TIMEOUTS),
        ] {
            if given > most {
                return Err(ExplorationError::TooMany { what, given, most });
            }
        }
        if let Some(&id) = self.absent.iter().find(|id| id.number() > self.n) {
            return Err(ExplorationError::NoSuchProcess { id: id.number(), n: self.n });
        }
        if Id::all(self.n).all(|id| self.absent.contains(&id)) {
            return Err(ExplorationError::NobodyLives { n: self.n });
        }
        if self.drift > 100 {
            return Err(ExplorationError::Drift(self.drift));
        }
        if !(1..=100).contains(&self.delay_bound) {
            return Err(ExplorationError::DelayBound(self.delay_bound));
        }
        if entry.family != Family::Mutex && bounds.pokes > 0 {
            return Err(ExplorationError::NoPokes { family: entry.family });
        }
        if entry.family != Family::Mutex && bounds.withdrawals > 0 {
            return Err(ExplorationError::NoWithdrawals { family: entry.family });
        }
        if entry.family != Family::Mutex && bounds.writes > 0 {
            return Err(ExplorationError::NoWrites { family: entry.family });
        }
        if self.times == Times::Endless && bounds.writes > 0 {
            return Err(ExplorationError::EndlessFences);
        }
        if self.times == Times::Endless && !entry.finite {
            return Err(ExplorationError::Endless { algorithm: entry.name });
        }
        Ok(())
    }
}
