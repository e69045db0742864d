//! Runs that are the same to the byte on every machine: a conversation that people can read, and fingerprints of long
//! ones.
//!
//! A change of behaviour is a diff of this file. If it is meant, `UPDATE=1 cargo test -p quorate-lab --test golden`
//! rewrites the files in `tests/golden`, to be reviewed like code.

use std::fmt::Write;
use std::path::Path;

use quorate_core::catalog::{ENTRIES, Family};
use quorate_core::id::Id;
use quorate_core::trace::Record;
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::conversation::conversation;
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::network::Delay;
use quorate_lab::simulate::Fault;
use quorate_lab::time::DELTA;

fn compare_with_golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{name} changed; it is now:\n{actual}");
}

fn records(algorithm: &str, experiment: &Experiment) -> Vec<Record> {
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    experiment.run(algorithm, Spectators { records: Some(&mut keep), ..Spectators::default() }).unwrap();
    records
}

/// A short run of each algorithm, as a reader would see it.
#[test]
fn conversations() {
    for entry in ENTRIES {
        let experiment = match entry.family {
            Family::Mutex => Experiment {
                n: 3,
                clients: ClientPlan {
                    workload: Workload::List(vec![(Id::new(2), 0), (Id::new(3), DELTA / 2)]),
                    ..ClientPlan::default()
                },
                ..Experiment::default()
            },
            Family::Election => Experiment {
                n: 4,
                faults: if entry.assumptions.crash_free {
                    vec![]
                } else {
                    vec![Fault::AbsentFromTheBeginning(Id::new(4))]
                },
                starters: vec![(Id::new(2), 0)],
                ..Experiment::default()
            },
            Family::Detector => Experiment {
                n: 2,
                faults: vec![Fault::Crash(Id::new(2), 3 * DELTA / 2)],
                until: Some(12 * DELTA),
                ..Experiment::default()
            },
        };
        let text = conversation(&records(entry.name, &experiment));
        compare_with_golden(&format!("{}.txt", entry.name), &text);
    }
}

/// FNV-1a over the records as they are written to a trace.
fn fingerprint(records: &[Record]) -> u64 {
    let bytes = records.iter().flat_map(|record| serde_json::to_vec(record).unwrap());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Long runs with every kind of chance in them.
#[test]
fn fingerprints() {
    let mut text = String::new();
    for entry in ENTRIES {
        for (name, delay) in [
            ("uniform", Delay::Uniform(DELTA / 2, 3 * DELTA / 2)),
            ("exponential", Delay::Exponential(DELTA)),
            ("per-link", Delay::PerLink(DELTA / 2, 2 * DELTA)),
        ] {
            let experiment = Experiment {
                n: 6,
                seed: 42,
                delay,
                drift_ppm: 100,
                loss: 0.001,
                duplicate: 0.001,
                clients: ClientPlan {
                    workload: Workload::Poisson(0.3),
                    entries: 100,
                    withdraw: 0.1,
                    ..ClientPlan::default()
                },
                ..Experiment::default()
            };
            let records = records(entry.name, &experiment);
            writeln!(text, "{} {name}: {} records, {:016x}", entry.name, records.len(), fingerprint(&records)).unwrap();
        }
    }
    compare_with_golden("fingerprints.txt", &text);
}
