//! Algorithms that are wrong on purpose: the simulator finds what is wrong with each of them, and nothing else; and
//! with the right ones nothing at all.
//!
//! They are nobody's but this test's: [`Experiment::run_mutex`] takes any type that is a [`Mutex`]. Each family has one
//! right member, and the others differ from it in one place.

mod asker;
mod ring;
mod server;

use std::collections::BTreeMap;

use quorate_core::catalog::Property;
use quorate_core::mutex::Mutex;
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::network::Delay;
use quorate_lab::observer::Verdict;
use quorate_lab::report::{Report, Severity};
use quorate_lab::time::DELTA;

/// All of these claim to be right.
const EVERYTHING: &[Property] =
    &[Property::MutualExclusion, Property::Progress, Property::RequestOrder, Property::Fencing];

const SEEDS: std::ops::RangeInclusive<u64> = 1..=20;

/// What is found wrong with an algorithm of four processes within some seeds, each with the first reason.
fn found<M: Mutex>(workload: &Workload, delay: Delay) -> BTreeMap<Property, String> {
    let mut found = BTreeMap::new();
    for seed in SEEDS {
        let report = run::<M>(seed, workload, delay);
        let mut worst = Severity::Fine;
        for (property, verdict) in &report.outcome.verdicts {
            match verdict {
                Verdict::Held => {}
                Verdict::Violated(violation) => {
                    worst = worst.max(if property.is_safety() { Severity::Safety } else { Severity::Liveness });
                    let why = &violation.why;
                    found.entry(*property).or_insert_with(|| {
                        println!("{}, seed {seed}, {property} at {}: {why}", M::ENTRY.name, violation.at);
                        why.clone()
                    });
                }
                Verdict::Undecided => panic!("nothing cuts these runs off"),
            }
        }
        assert_eq!(report.severity(), worst, "what was promised and broken counts");
    }
    found
}

fn run<M: Mutex>(seed: u64, workload: &Workload, delay: Delay) -> Report {
    let clients = ClientPlan { workload: workload.clone(), entries: 40, ..ClientPlan::default() };
    let experiment = Experiment { n: 4, seed, delay, clients, ..Experiment::default() };
    experiment.run_mutex::<M>(Spectators::default()).expect("the experiment is possible")
}

/// Asserts that exactly these properties are found broken, each for a reason with these words in it.
fn assert_found<M: Mutex>(workload: &Workload, delay: Delay, expected: &[(Property, &str)]) {
    let found = found::<M>(workload, delay);
    let properties: Vec<_> = found.keys().copied().collect();
    assert_eq!(properties, expected.iter().map(|(property, _)| *property).collect::<Vec<_>>(), "{found:?}");
    for (property, words) in expected {
        assert!(found[property].contains(words), "`{}` does not say `{words}`", found[property]);
    }
}

const CONSTANT: Delay = Delay::Constant(DELTA);
const RANDOM: Delay = Delay::Exponential(DELTA);

/// Nothing is wrong.
const RIGHT: u8 = 0;
