//! All algorithms side by side: what the literature says they cost, beside what they cost.
//!
//! Each measure has its experiment, the same for every algorithm, with constant delays of one δ:
//!
//! | measure | experiment |
//! |---|---|
//! | messages, messages to enter, client delay | one process alone enters once (where messages flow all the time: everybody asks, but so rarely that a hundred δ pass between two entries; what is measured may then differ by 5 %) |
//! | messages again | the same process enters once more |
//! | messages to exit, exit delay, sync delay | everybody asks at once, and again as soon as they have left |
//! | messages contended | the same, and what twice as many entries cost more |
//! | throughput | the same; published is 1/(E + SD) of the published synchronization delay, each staying inside for E = 1 δ |
//! | election, best and worst | one starter, all alive; where the algorithm finds crashes out by itself also with the highest dead, known to be or not: the least and the most |
//! | election, all start | everybody starts at once, on the ring that is the worse one |

use std::collections::BTreeMap;

use quorate_core::catalog::{ENTRIES, Entry, Family, Formula, Measure, Property, Published, Size, Values};
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::setting::Options;
use serde::Serialize;

use crate::application::{ClientPlan, Workload};
use crate::experiment::{Experiment, ExperimentError, Spectators};
use crate::report::Report;
use crate::simulate::Fault;
use crate::time::DELTA;

/// One published cost of one algorithm, or one that nobody published, and what was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The algorithm.
    pub algorithm: &'static str,
    /// What is counted.
    #[serde(serialize_with = "measure_as_name")]
    pub measure: Measure,
    /// The published formula, if any.
    pub formula: Option<&'static str>,
    /// Who published it.
    pub sources: Option<&'static str>,
    /// The values for each size of the group.
    pub cells: Vec<Cell>,
}

/// One value, published and measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Processes.
    pub n: u32,
    /// The published value, or the least of a published range.
    pub published: Option<f64>,
    /// The most of a published range.
    pub published_most: Option<f64>,
    /// What was measured; nothing where the run never got that far.
    pub measured: Option<f64>,
    /// Whether the two differ.
    pub differs: bool,
}

fn measure_as_name<S: serde::Serializer>(measure: &Measure, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(measure_name(*measure))
}

/// The name of a measure in tables.
pub fn measure_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Messages => "messages, alone",
        Measure::MessagesAgain => "messages, again",
        Measure::MessagesToEnter => "messages to enter",
        Measure::MessagesContended => "messages, contended",
        Measure::MessagesToExit => "messages to exit",
        Measure::ClientDelay => "client delay",
        Measure::ExitDelay => "exit delay",
        Measure::SyncDelay => "sync delay",
        Measure::Throughput => "throughput",
        Measure::ElectionBest => "one starter, best",
        Measure::ElectionWorst => "one starter, worst",
        Measure::ElectionWorstAllStart => "all start",
    }
}

/// The measures of a family, in the order of the tables.
fn measures(family: Family) -> &'static [Measure] {
    match family {
        Family::Mutex => &[
            Measure::Messages,
            Measure::MessagesAgain,
            Measure::MessagesContended,
            Measure::MessagesToEnter,
            Measure::MessagesToExit,
            Measure::ClientDelay,
            Measure::ExitDelay,
            Measure::SyncDelay,
            Measure::Throughput,
        ],
        Family::Election => &[Measure::ElectionBest, Measure::ElectionWorst, Measure::ElectionWorstAllStart],
        Family::Detector => &[],
    }
}

/// Whether to show a measure of which nobody has said anything.
fn is_measured_anyway(measure: Measure) -> bool {
    !matches!(measure, Measure::MessagesAgain | Measure::MessagesToEnter)
}

/// Compares algorithms of a family for these sizes: those of these names, or all if there are none. `progress` hears of
/// each algorithm and size that is done.
pub fn compare(
    family: Family,
    names: &[String],
    sizes: &[u32],
    progress: &mut dyn FnMut(),
) -> Result<Vec<Row>, ExperimentError> {
    let mut rows = Vec::new();
    let chosen = |entry: &&&Entry| names.is_empty() || names.iter().any(|name| name == entry.name);
    for entry in ENTRIES.iter().filter(|entry| entry.family == family).filter(chosen) {
        let mut measured = Vec::new();
        for &n in sizes {
            measured.push((n, size_of(entry, n)?, measure(entry, n)?));
            progress();
        }
        for &measure in measures(family) {
            if measure == Measure::Throughput {
                rows.extend(throughput(entry, &measured));
                continue;
            }
            let published: Vec<_> = entry.published.iter().filter(|published| published.measure == measure).collect();
            if published.is_empty() && is_measured_anyway(measure) {
                rows.push(row(entry, measure, None, &measured));
            }
            rows.extend(published.into_iter().map(|published| row(entry, measure, Some(published), &measured)));
        }
    }
    Ok(rows)
}

/// Throughput, as it follows from each published synchronization delay: 1/(E + SD), E being one δ.
fn throughput(entry: &Entry, measured: &[(u32, Size, Measured)]) -> Vec<Row> {
    let delays = entry.published.iter().filter(|published| published.measure == Measure::SyncDelay);
    let exact = delays.filter(|published| !matches!(published.value, Formula::Vague));
    let mut rows: Vec<_> = exact
        .map(|published| {
            let mut row = row(entry, Measure::Throughput, None, measured);
            row.formula = Some("1/(E+SD)");
            row.sources = Some(published.sources);
            for (cell, (_, size, values)) in row.cells.iter_mut().zip(measured) {
                let of = |delay: f64| 1.0 / (1.0 + delay);
                // The longer the delay, the less gets through.
                let range = range(published, *size).map(|(least, most)| match most {
                    Some(most) => (of(most), Some(of(least))),
                    None => (of(least), None),
                });
                *cell = compared(cell.n, range, values.get(&Measure::Throughput).copied());
            }
            row
        })
        .collect();
    if rows.is_empty() {
        rows.push(row(entry, Measure::Throughput, None, measured));
    }
    rows
}

/// The rows of one run of `n`, of which this was measured: what, how much, and whether it is in the unit of what is
/// published.
pub(crate) fn of_run(
    entry: &'static Entry,
    n: u32,
    options: &Options,
    measured: &[(Measure, Option<f64>, bool)],
) -> Vec<Row> {
    let options = options.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let group = Experiment { n, options, ..Experiment::default() }.group(entry);
    let k = group.map_or(f64::NAN, |group| group.voting_sets.of(Id::new(n)).len() as f64);
    let size = Size { n: f64::from(n), root_n: f64::from(n).sqrt(), k };
    let mut rows = Vec::new();
    for &(measure, value, is_comparable) in measured {
        let values = value.map(|value| (measure, Value { value, tolerance: EXACT }));
        let measured = [(n, size, Measured::from_iter(values))];
        let published: Vec<_> = entry.published.iter().filter(|published| published.measure == measure).collect();
        if published.is_empty() {
            rows.push(row(entry, measure, None, &measured));
        }
        for published in published {
            let mut row = row(entry, measure, Some(published), &measured);
            if !is_comparable {
                row.cells = vec![Cell { n, published: None, published_most: None, measured: value, differs: false }];
            }
            rows.push(row);
        }
    }
    rows
}

type Measured = BTreeMap<Measure, Value>;

/// A measured value, and how exact it is.
#[derive(Clone, Copy, Debug)]
struct Value {
    value: f64,
    /// How far it may be from a published one before they differ, as a fraction: more than nothing where chance has a
    /// part.
    tolerance: f64,
}

fn row(entry: &Entry, measure: Measure, published: Option<&Published>, measured: &[(u32, Size, Measured)]) -> Row {
    let cell = |(n, size, values): &(u32, Size, Measured)| {
        let range = published.and_then(|published| range(published, *size));
        compared(*n, range, values.get(&measure).copied())
    };
    Row {
        algorithm: entry.name,
        measure,
        formula: published.map(|published| published.formula),
        sources: published.map(|published| published.sources),
        cells: measured.iter().map(cell).collect(),
    }
}

/// A published value, or the least and the most of a published range.
fn range(published: &Published, size: Size) -> Option<(f64, Option<f64>)> {
    match published.value {
        Formula::Exactly(formula) => Some((formula(size), None)),
        Formula::Between(least, most) => Some((least(size), Some(most(size)))),
        Formula::Vague => None,
    }
}

/// What is published beside what was measured.
fn compared(n: u32, range: Option<(f64, Option<f64>)>, value: Option<Value>) -> Cell {
    let differs = match (range, value) {
        (Some((least, most)), Some(Value { value, tolerance })) => {
            let (least, most) = (least, most.unwrap_or(least));
            value < least - tolerance * least.abs() || value > most + tolerance * most.abs()
        }
        (Some(_), None) => true,
        (None, _) => false,
    };
    Cell {
        n,
        published: range.map(|(least, _)| least),
        published_most: range.and_then(|(_, most)| most),
        measured: value.map(|value| value.value),
        differs,
    }
}

/// What published formulas are functions of. The voting set is that of process n, which is the one that enters alone.
fn size_of(entry: &Entry, n: u32) -> Result<Size, ExperimentError> {
    let group = Experiment { n, ..Experiment::default() }.group(entry)?;
    let root_n = f64::from(n).sqrt();
    Ok(Size { n: f64::from(n), root_n, k: group.voting_sets.of(Id::new(n)).len() as f64 })
}

fn measure(entry: &Entry, n: u32) -> Result<Measured, ExperimentError> {
    match entry.family {
        Family::Mutex => measure_mutex(entry, n),
        Family::Election => measure_election(entry, n),
        Family::Detector => Ok(Measured::new()),
    }
}

const EXACT: f64 = 1e-9;
/// Two thousand entries at random times: their mean is this close to the expected one nearly always.
const BY_CHANCE: f64 = 0.05;
const ENTRIES_BY_CHANCE: u64 = 2_000;

fn measure_mutex(entry: &Entry, n: u32) -> Result<Measured, ExperimentError> {
    let run = |workload, entries| {
        let clients = ClientPlan { workload, entries, ..ClientPlan::default() };
        let properties = Some(vec![Property::Progress]);
        Experiment { n, clients, properties, ..Experiment::default() }.run(entry.name, Spectators::default())
    };
    let entries = 2 * u64::from(n) + 20;
    let contended = run(Workload::Contended, entries)?;
    let longer = run(Workload::Contended, 2 * entries)?;
    let (alone, tolerance) = if entry.restless {
        (run(Workload::Poisson(0.01 / f64::from(n)), ENTRIES_BY_CHANCE)?, BY_CHANCE)
    } else {
        (run(Workload::Alone, 1)?, EXACT)
    };
    let again = run(Workload::Alone, 2)?.outcome.costs.messages.checked_sub(alone.outcome.costs.messages);
    // Where contention ends in a deadlock, two who ask one after the other show the delay between them.
    let handed_over = match contended.outcome.costs.sync_delay {
        Some(_) => None,
        None => Some(run(Workload::List(vec![(Id::new(1), 0), (Id::new(n), DELTA / 2)]), 2)?),
    };
    let sync_delay = handed_over.as_ref().unwrap_or(&contended).outcome.costs.sync_delay;
    let (alone, contended, longer) = (&alone.outcome.costs, &contended.outcome.costs, &longer.outcome.costs);
    // What one more entry costs: how a run begins and ends is in both and cancels out.
    let more = (longer.entries > contended.entries).then(|| (longer.entries - contended.entries) as f64);
    let messages_contended = more.map(|more| (longer.messages - contended.messages) as f64 / more);
    let exit_delay = contended.exit_delay.or(alone.exit_delay);
    let messages_of_exit = contended.messages_of_exit.or(alone.messages_of_exit);
    let values = [
        (Measure::Messages, alone.messages_per_entry, tolerance),
        (Measure::MessagesAgain, again.map(|messages| messages as f64), EXACT),
        (Measure::MessagesToEnter, Some(alone.entry_messages.values().map(|kind| kind.mean).sum()), tolerance),
        (Measure::MessagesContended, messages_contended, EXACT),
        (Measure::MessagesToExit, messages_of_exit.map(|summary| summary.mean), EXACT),
        (Measure::ClientDelay, alone.client_delay.map(|summary| summary.mean), tolerance),
        (Measure::ExitDelay, exit_delay.map(|summary| summary.mean), EXACT),
        (Measure::SyncDelay, sync_delay.map(|summary| summary.mean), EXACT),
        (Measure::Throughput, longer.throughput, EXACT),
    ];
    let known = values
        .into_iter()
        .filter_map(|(measure, value, tolerance)| value.map(|value| (measure, Value { value, tolerance })));
    Ok(known.collect())
}

fn measure_election(entry: &Entry, n: u32) -> Result<Measured, ExperimentError> {
    let run = |starters: Vec<(Id, Ticks)>, faults: Vec<Fault>, told: bool, options: Vec<(String, String)>| {
        let detector = told.then_some(true);
        Experiment { n, starters, faults, detector, options, ..Experiment::default() }
            .run(entry.name, Spectators::default())
    };
    let mut messages = Vec::new();
    let finds_crashes = !entry.assumptions.crash_free && !entry.assumptions.detector;
    let dead = vec![Fault::AbsentFromTheBeginning(Id::new(n))];
    for starter in starters(n) {
        messages.extend(decided(&run(vec![(starter, 0)], vec![], false, vec![])?));
        if finds_crashes && starter != Id::new(n) {
            messages.extend(decided(&run(vec![(starter, 0)], dead.clone(), false, vec![])?));
            messages.extend(decided(&run(vec![(starter, 0)], dead.clone(), true, vec![])?));
        }
    }
    let mut all_start = Vec::new();
    for options in rings(entry) {
        all_start.extend(decided(&run(Id::all(n).map(|id| (id, 0)).collect(), vec![], false, options)?));
    }
    let values = [
        (Measure::ElectionBest, messages.iter().min()),
        (Measure::ElectionWorst, messages.iter().max()),
        (Measure::ElectionWorstAllStart, all_start.iter().max()),
    ];
    let known = values
        .into_iter()
        .filter_map(|(measure, value)| value.map(|&value| (measure, Value { value: value as f64, tolerance: EXACT })));
    Ok(known.collect())
}

/// Who starts: the ends, where the best and worst cases are, and one between.
fn starters(n: u32) -> std::collections::BTreeSet<Id> {
    [1, 2, n / 2, n.saturating_sub(1), n].into_iter().filter(|&id| 1 <= id && id <= n).map(Id::new).collect()
}

/// The ways to lay the ring, if the algorithm has a choice.
fn rings(entry: &Entry) -> Vec<Vec<(String, String)>> {
    let option = entry.options.iter().find(|option| option.key == "ring");
    match option.map(|option| option.values) {
        Some(Values::OneOf(choices)) => {
            choices.iter().map(|choice| vec![("ring".to_string(), choice.name.to_string())]).collect()
        }
        Some(Values::Integer { .. }) | None => vec![vec![]],
    }
}

/// The messages of an election that came to an end as it should.
fn decided(report: &Report) -> Option<u64> {
    let decided = !report.outcome.violated(Property::Decided) && report.outcome.election.leader().is_some();
    decided.then_some(report.outcome.costs.messages)
}
