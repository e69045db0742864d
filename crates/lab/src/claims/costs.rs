//! Costs, measured, beside a formula.

use super::Court;
use super::court::{delta, experiment, number, p};
use crate::application::{ClientPlan, Workload};
use crate::experiment::Experiment;

/// The sizes of the groups in which costs are measured.
pub(super) const SIZES: [u32; 4] = [3, 5, 9, 25];

/// What is measured, with constant delays of one δ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meter {
    /// Messages of an entry and its exit, alone.
    Messages,
    /// Messages of an entry, alone.
    ToEnter,
    /// Messages of an exit, alone.
    ToExit,
    /// The most messages of an exit, when everybody wants to enter all the time.
    ToExitContended,
    /// From the request to the entry, alone.
    ClientDelay,
    /// From leaving to going on, when everybody wants to enter all the time.
    ExitDelay,
    /// From an exit to the entry of one who waited.
    SyncDelay,
}

impl Meter {
    fn words(self) -> &'static str {
        match self {
            Meter::Messages => "messages per use, uncontended",
            Meter::ToEnter => "messages to enter, uncontended",
            Meter::ToExit => "messages to exit, uncontended",
            Meter::ToExitContended => "most messages of an exit, under contention",
            Meter::ClientDelay => "client delay to enter in δ, uncontended",
            Meter::ExitDelay => "client delay to exit in δ",
            Meter::SyncDelay => "synchronization delay in δ",
        }
    }

    /// The run that shows it.
    fn experiment(self, n: u32) -> Experiment {
        let clients = match self {
            Meter::Messages | Meter::ToEnter | Meter::ToExit | Meter::ClientDelay => {
                ClientPlan { workload: Workload::Alone, entries: 1, ..ClientPlan::default() }
            }
            Meter::ToExitContended => ClientPlan { entries: 4 * u64::from(n), ..ClientPlan::default() },
            Meter::ExitDelay => asks(&[(n, 0.0)]),
            Meter::SyncDelay => asks(&[(2, 0.0), (n, 0.5)]),
        };
        Experiment { clients, ..experiment(n) }
    }
}

/// What a cost is in a group of this size; nothing where the run did not get that far.
pub(super) fn measure(court: &mut Court, algorithm: &'static str, meter: Meter, n: u32) -> Option<f64> {
    let run = court.run(algorithm, &meter.experiment(n));
    let costs = &run.report.outcome.costs;
    match meter {
        Meter::Messages => costs.messages_per_entry,
        Meter::ToEnter => (costs.entries > 0).then(|| costs.entry_messages.values().map(|kind| kind.mean).sum()),
        Meter::ToExit => costs.messages_of_exit.map(|summary| summary.mean),
        Meter::ToExitContended => costs.messages_of_exit.map(|summary| summary.max),
        Meter::ClientDelay => costs.client_delay.map(|summary| summary.mean),
        Meter::ExitDelay => costs.exit_delay.map(|summary| summary.mean),
        Meter::SyncDelay => costs.sync_delay.map(|summary| summary.mean),
    }
}

/// Whether a cost is what a formula says, at every size.
pub(super) fn agrees(
    court: &mut Court,
    algorithm: &'static str,
    meter: Meter,
    formula: &str,
    published: fn(f64) -> f64,
) -> bool {
    let values: Vec<_> = SIZES.iter().map(|&n| (n, measure(court, algorithm, meter, n))).collect();
    let agree = |&(n, measured): &(u32, Option<f64>)| {
        measured.is_some_and(|measured| (measured - published(f64::from(n))).abs() < 1e-9)
    };
    let shown: Vec<_> =
        values.iter().map(|(n, value)| format!("{} for n = {n}", value.map_or("none".to_string(), number))).collect();
    let all = values.iter().all(agree);
    let said: Vec<_> = SIZES.iter().map(|&n| number(published(f64::from(n)))).collect();
    court.say(format!("{algorithm}: {}: {}", meter.words(), shown.join(", ")));
    let is_constant = said.iter().all(|value| value == formula);
    let values = if is_constant { String::new() } else { format!(", that is {}", said.join(", ")) };
    court.say(format!("claimed: {formula}{values}; the measurement {}", if all { "agrees" } else { "differs" }));
    all
}

/// Requests of these processes at these times.
pub(super) fn asks(list: &[(u32, f64)]) -> ClientPlan {
    let list: Vec<_> = list.iter().map(|&(id, at)| (p(id), delta(at))).collect();
    ClientPlan { entries: list.len() as u64, workload: Workload::List(list), ..ClientPlan::default() }
}

/// These processes ask at these times, and stay inside for one δ.
pub(super) fn asking(n: u32, list: &[(u32, f64)]) -> Experiment {
    Experiment { clients: asks(list), ..experiment(n) }
}
