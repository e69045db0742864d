//! What a crash costs those who go on: messages and time from the crash to the next entry, for every algorithm that
//! recovers.
//!
//! Everybody wants to enter all the time. A run without a crash says who is inside when; the same run is then repeated
//! with a crash at such a moment, which is the same run up to there. Heartbeats and acknowledgements are not counted:
//! they flow anyway.

use quorate_core::catalog::{ENTRIES, Entry, Family};
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::setting::Recovering;
use quorate_core::trace::{Record, What};
use serde::Serialize;

use crate::application::ClientPlan;
use crate::experiment::{Experiment, ExperimentError, Spectators};
use crate::simulate::Fault;
use crate::time::{DELTA, in_delta};

/// Who crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// Who is inside.
    Inside,
    /// The process 1, which coordinates at first, while somebody else is inside.
    First,
}

impl Victim {
    /// Both of them.
    pub const ALL: [Victim; 2] = [Victim::Inside, Victim::First];

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Victim::Inside => "the holder",
            Victim::First => "process 1, while another is inside",
        }
    }
}

/// What a crash costs an algorithm, in groups of several sizes.
#[derive(Clone, Debug, Serialize)]
pub struct RecoveryRow {
    /// The algorithm.
    pub algorithm: &'static str,
    /// Who crashes.
    pub victim: Victim,
    /// One for each group.
    pub cells: Vec<RecoveryCell>,
}

/// What a crash costs a group, on average over several moments of the crash.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RecoveryCell {
    /// How many processes.
    pub n: u32,
    /// Messages from the crash to the next entry; nothing, if there is no such entry.
    pub messages: Option<f64>,
    /// Time from the crash to the next entry, in δ.
    pub delay: Option<f64>,
}

/// How many moments of a crash are tried.
const MOMENTS: usize = 12;

/// What crashes cost the algorithms of these names, or all if there are none, in groups of these sizes. `progress`
/// hears of each algorithm, victim and size that is done.
pub fn recovery_costs(
    names: &[String],
    sizes: &[u32],
    progress: &mut dyn FnMut(),
) -> Result<Vec<RecoveryRow>, ExperimentError> {
    let recovers = |entry: &&&Entry| entry.family == Family::Mutex && entry.recovery.is_some();
    let asked = |entry: &&&Entry| names.is_empty() || names.iter().any(|name| name == entry.name);
    let mut rows = Vec::new();
    for entry in ENTRIES.iter().filter(recovers).filter(asked) {
        for victim in Victim::ALL {
            let mut cells = Vec::new();
            for &n in sizes {
                cells.push(cell(entry, n, victim)?);
                progress();
            }
            rows.push(RecoveryRow { algorithm: entry.name, victim, cells });
        }
    }
    Ok(rows)
}

fn cell(entry: &Entry, n: u32, victim: Victim) -> Result<RecoveryCell, ExperimentError> {
    let mut entered = Vec::new();
    let mut note = |record: &Record| {
        if let What::Entered { .. } = record.what {
            entered.push((record.at, record.process));
        }
    };
    let plan = plan(n);
    plan.run(entry.name, Spectators { records: Some(&mut note), ..Spectators::default() })?;
    // The first round is like no other. Half-way through a stay, nothing else happens.
    let moments = entered.into_iter().skip(n as usize).filter_map(|(at, id)| {
        let dies = match victim {
            Victim::Inside => id,
            Victim::First => Id::new(1),
        };
        (victim == Victim::Inside || id != dies).then_some((dies, at + DELTA / 2))
    });
    let mut costs = Vec::new();
    for (id, at) in moments.take(MOMENTS) {
        costs.extend(cost(entry, &plan, id, at)?);
    }
    let mean = |of: fn(&(u64, Ticks)) -> f64| {
        let sum: f64 = costs.iter().map(of).sum();
        (!costs.is_empty()).then(|| sum / costs.len() as f64)
    };
    Ok(RecoveryCell { n, messages: mean(|cost| cost.0 as f64), delay: mean(|cost| in_delta(cost.1)) })
}

/// Messages and time from the crash of a process to the next entry.
fn cost(entry: &Entry, plan: &Experiment, id: Id, at: Ticks) -> Result<Option<(u64, Ticks)>, ExperimentError> {
    // What comes after the next entry does not matter, and it nearly always comes soon.
    match cost_until(entry, plan, id, at, Some(at + SOON))? {
        Some(cost) => Ok(Some(cost)),
        None => cost_until(entry, plan, id, at, None),
    }
}

const SOON: Ticks = 50 * DELTA;

fn cost_until(
    entry: &Entry,
    plan: &Experiment,
    id: Id,
    at: Ticks,
    until: Option<Ticks>,
) -> Result<Option<(u64, Ticks)>, ExperimentError> {
    let (mut messages, mut next) = (0, None);
    let mut count = |record: &Record| {
        if record.at < at || next.is_some() {
            return;
        }
        match &record.what {
            What::Entered { .. } => next = Some(record.at),
            What::Sent { label, .. } => messages += u64::from(!FLOWS_ANYWAY.contains(&label.kind.as_ref())),
            _ => {}
        }
    };
    let crash = Experiment { faults: vec![Fault::Crash(id, at)], until, ..plan.clone() };
    crash.run(entry.name, Spectators { records: Some(&mut count), ..Spectators::default() })?;
    Ok(next.map(|next| (messages, next - at)))
}

const FLOWS_ANYWAY: [&str; 2] = ["beat", "acknowledgement"];

/// Everybody wants to enter all the time, and there is a heartbeat every 5 δ.
fn plan(n: u32) -> Experiment {
    let entries = 4 * u64::from(n) + 2 * MOMENTS as u64;
    Experiment {
        n,
        recovery: Some(Recovering::default()),
        clients: ClientPlan { entries, ..ClientPlan::default() },
        ..Experiment::default()
    }
}
