//! How long drawings take: 1,000 records as SVG in less than 50 ms, and what else there is beside it.
//!
//! `cargo bench -p quorate-lab --bench diagram` prints a line for each; with `--features command` also the page. Each
//! is the middle one of several rounds.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use quorate_core::trace::Record;
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::diagram::{Clocks, FILE_COLUMNS, Picture, View};
use quorate_lab::experiment::{Experiment, Spectators};

const ROUNDS: usize = 9;
const DEMANDED: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let records = records();
    let part = &records[..1_000];
    let picture = Picture { n: 5, records: part, title: "ricart-agrawala".into(), marks: vec![] };
    let vectors = View { clocks: Some(Clocks::Vector), down: true, ..View::default() };
    println!("ricart-agrawala, 5 processes");
    let svg = report("1000 records as SVG", || picture.svg().len());
    report("1000 records as SVG, downwards, with vector clocks", || picture.svg_of(&vectors).len());
    report("1000 records as text", || picture.text(FILE_COLUMNS).len());
    #[cfg(feature = "command")]
    {
        let long = Picture { n: 5, records: &records, title: "ricart-agrawala".into(), marks: vec![] };
        report("10000 records as a page", || long.html(&View::default()).len());
    }
    if svg > DEMANDED {
        println!("too slow: {svg:?} for SVG, and {DEMANDED:?} were demanded");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn records() -> Vec<Record> {
    let clients = ClientPlan { workload: Workload::Poisson(0.3), entries: 800, ..ClientPlan::default() };
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    let experiment = Experiment { n: 5, clients, ..Experiment::default() };
    let spectators = Spectators { records: Some(&mut keep), ..Spectators::default() };
    experiment.run("ricart-agrawala", spectators).expect("the catalogue has it");
    records
}

fn report(what: &str, draw: impl Fn() -> usize) -> Duration {
    let mut rounds: Vec<(Duration, usize)> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            let bytes = draw();
            (began.elapsed(), bytes)
        })
        .collect();
    rounds.sort_unstable();
    let (time, bytes) = rounds[ROUNDS / 2];
    println!("{:>9.2} ms  {:>6} kB  {what}", time.as_secs_f64() * 1e3, bytes / 1000);
    time
}
