//! Everything that lets an algorithm survive crashes, on a bad network: seeded runs with random crashes, returns,
//! pauses, cuts, losses, second arrivals and overtaking.
//!
//! A few hundred seeds an algorithm, 5,000 in all; `QUORATE_SEEDS=12500 cargo test -p quorate-lab --test survivors`
//! runs so many for each.

use std::collections::BTreeSet;

use quorate_core::catalog::{ENTRIES, Entry, Family, Property};
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::setting::Recovering;
use quorate_core::trace::{Record, What};
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::network::Delay;
use quorate_lab::observer::Verdict;
use quorate_lab::random::Chance;
use quorate_lab::recovery::Beside;
use quorate_lab::report::Report;
use quorate_lab::shake::Shaking;
use quorate_lab::simulate::{Fault, last_change};
use quorate_lab::time::DELTA;

/// How many seeds each algorithm gets, in each kind of world.
fn seeds() -> u64 {
    let given = std::env::var("QUORATE_SEEDS").ok();
    given.map_or(210, |seeds| seeds.parse().expect("QUORATE_SEEDS is a number of seeds"))
}

fn mutexes() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().copied().filter(|entry| entry.family == Family::Mutex && entry.recovery.is_some())
}

/// A group of 3 to 9 on a network that repeats and reorders, without faults yet.
fn world(seed: u64) -> Experiment {
    let mut chance = Chance::new(seed);
    let delays = [Delay::Constant(DELTA), Delay::Uniform(DELTA / 10, DELTA), Delay::PerLink(DELTA / 4, DELTA)];
    let workloads = [Workload::Poisson(0.1), Workload::Poisson(0.05), Workload::Contended];
    // The bully's deadlines are those of a network that loses nothing.
    let elections = [Beside::Ring, Beside::ChangRoberts];
    Experiment {
        n: 3 + chance.below(7) as u32,
        seed,
        delay: delays[chance.below(3) as usize],
        duplicate: if chance.happens(0.5) { 0.05 } else { 0.0 },
        recovery: Some(Recovering::with(elections[chance.below(2) as usize])),
        clients: ClientPlan {
            workload: workloads[chance.below(3) as usize].clone(),
            entries: 60,
            withdraw: if chance.happens(0.3) { 0.1 } else { 0.0 },
            ..ClientPlan::default()
        },
        ..Experiment::default()
    }
}

fn faults(seed: u64) -> u32 {
    1 + Chance::new(seed ^ 0xF).below(6) as u32
}

/// Crashes and returns, all of which the detector is right about.
fn crashing_world(seed: u64) -> Experiment {
    world(seed).shaken(Shaking::Crashes, faults(seed))
}

/// Messages are lost, and processes crash for good. That so many heartbeats in a row are lost does not happen.
fn losing_world(seed: u64) -> Experiment {
    let shaken = crashing_world(seed);
    let back: BTreeSet<Id> = shaken
        .faults
        .iter()
        .filter_map(|fault| if let Fault::Restart(id, _) = fault { Some(*id) } else { None })
        .collect();
    let faults = shaken.faults.iter().copied().filter(|fault| match fault {
        Fault::Crash(id, _) => !back.contains(id),
        Fault::AbsentFromTheBeginning(_) | Fault::Restart(..) | Fault::Pause(..) => false,
    });
    let recovery = shaken.recovery.map(|recovery| Recovering { missed: 9, ..recovery });
    Experiment { faults: faults.collect(), loss: 0.05, recovery, ..shaken }
}

/// Whatever can go wrong goes wrong, and ends.
fn shaken_world(seed: u64) -> Experiment {
    world(seed).shaken(Shaking::Everything, faults(seed))
}

/// Runs it, and says when two were inside for the last time.
fn run(entry: &Entry, experiment: &Experiment) -> (Report, Option<Ticks>) {
    let mut inside: BTreeSet<Id> = BTreeSet::new();
    let mut last = None;
    let mut watch = |record: &Record| match record.what {
        What::Entered { .. } => {
            inside.insert(record.process);
            if inside.len() > 1 {
                last = Some(record.at);
            }
        }
        What::Leaving | What::Withdrew | What::Crashed => {
            inside.remove(&record.process);
        }
        _ => {}
    };
    let spectators = Spectators { records: Some(&mut watch), progress: None };
    let report = experiment.run(entry.name, spectators).unwrap_or_else(|error| panic!("{error}: {experiment:?}"));
    (report, last)
}

fn assert_held(entry: &Entry, experiment: &Experiment, report: &Report, properties: &[Property]) {
    for property in properties {
        let held = report.outcome.verdict(*property) == Some(&Verdict::Held);
        assert!(held, "{}, seed {}: {property}\n{experiment:?}", entry.name, experiment.seed);
    }
}

fn check(entry: &Entry, experiment: &Experiment, properties: &[Property]) {
    let (report, _) = run(entry, experiment);
    assert_held(entry, experiment, &report, properties);
    assert!(report.outcome.costs.entries > 0, "{}, seed {}", entry.name, experiment.seed);
}

const SAFE_AND_LIVE: [Property; 2] = [Property::MutualExclusion, Property::Progress];

#[test]
fn whoever_crashes_and_comes_back_one_at_a_time_is_inside_and_everybody_is_served() {
    for entry in mutexes() {
        for seed in 0..seeds() {
            let experiment = crashing_world(seed);
            check(entry, &experiment, &SAFE_AND_LIVE);
            if experiment.faults.iter().filter(|fault| matches!(fault, Fault::Crash(..))).count() <= 1 {
                check(entry, &experiment, &[Property::Fencing]);
            }
        }
    }
}

#[test]
fn whatever_the_network_loses_arrives_at_last() {
    for entry in mutexes() {
        for seed in 0..seeds() {
            check(entry, &losing_world(seed), &SAFE_AND_LIVE);
        }
    }
}

/// How long after the last fault the last mistake is found and made up for.
const SETTLED: Ticks = 100 * DELTA;

#[test]
fn after_pauses_and_cuts_everybody_is_served_again_and_one_at_a_time() {
    let mut bad = std::collections::BTreeMap::<String, Vec<u64>>::new();
    for entry in mutexes() {
        for seed in 0..seeds() {
            let experiment = shaken_world(seed);
            let (report, last) = run(entry, &experiment);
            if report.outcome.verdict(Property::Progress) != Some(&Verdict::Held) {
                bad.entry(format!("{} progress", entry.name)).or_default().push(seed);
            }
            let healed = last_change(&experiment.faults, &experiment.partitions) + SETTLED;
            if last.is_some_and(|last| last > healed) {
                bad.entry(format!("{} two inside after healing", entry.name)).or_default().push(seed);
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}
