//! The service under faults: three real nodes in network namespaces, clients that write down what they are told, faults
//! by chance, and a judge.
//!
//! ```text
//! cargo test -p quorate --test faults                       the harness proves itself, then short runs of fixed seeds
//! cargo test -p quorate --test faults -- long 600 [SEED]    other seeds for so many seconds, or one run of this seed
//! cargo test -p quorate --test faults -- judge DIR STEPS    a run that was kept once more, with so much patience
//! cargo test -p quorate --test faults -- load 3600          load for so many seconds; memory and disk are watched
//! cargo test -p quorate --test faults -- figures            what many locks, waiters and sessions cost
//! ```
//!
//! It needs to make network namespaces: root, or user namespaces, with `unshare` and `ip`. Where that is missing it
//! says so and does nothing, or fails if `QUORATE_FAULTS=required` is set. With `QUORATE_FAULTS_KEEP` what nodes and
//! clients have written is kept.

mod cluster;
mod faults;
mod figures;
mod history;
mod http;
mod judge;
mod load;
mod network;
mod order;
mod plain;
mod proofs;
mod resource;
mod run;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::judge::Judge;
use crate::network::Network;
use crate::run::{Outcome, Plan, run};

/// Says inside the namespaces where to work.
const INSIDE: &str = "QUORATE_FAULTS_INSIDE";
/// A new leader serves within this time after the loss of the one before, on a machine that is quiet.
const PROMISED: Duration = Duration::from_secs(3);
/// The seeds of the short version.
const SEEDS: [u64; 1] = [1];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["worker", orders] = arguments[..] {
        worker::main(orders);
        return ExitCode::SUCCESS;
    }
    if let ["judge", directory, steps] = arguments[..] {
        return judge_again(Path::new(directory), steps.parse().expect("a number of steps"));
    }
    match std::env::var_os(INSIDE) {
        None => outside(&arguments),
        Some(directory) => act(&PathBuf::from(directory), &arguments),
    }
}

/// Judges what a run has left: one that was not decided may be with more steps.
fn judge_again(directory: &Path, most_steps: usize) -> ExitCode {
    let history = std::fs::read_to_string(directory.join("history")).expect("a directory of a run, `seed-…`");
    let judgement = Judge::read(history.lines()).judge(directory, most_steps);
    println!("{} grants, {} reads, {} unknown", judgement.grants, judgement.looks, judgement.unknown);
    for complaint in &judgement.complaints {
        println!("WRONG     {complaint}");
    }
    if judgement.complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs this program again in namespaces of its own, with a directory that is removed if all went well.
fn outside(arguments: &[&str]) -> ExitCode {
    if arguments.iter().any(|argument| !argument.starts_with('-') && !"faults".contains(argument))
        && !matches!(arguments[0], "long" | "load" | "figures")
    {
        println!("faults: skipped, because other tests were selected: {arguments:?}");
        return ExitCode::SUCCESS;
    }
    if let Some(obstacle) = network::obstacle() {
        let is_required = std::env::var("QUORATE_FAULTS").is_ok_and(|value| value == "required");
        println!("\nSKIPPED: the service was not tested under faults: {obstacle}\n");
        return if is_required { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let directory = std::env::temp_dir().join(format!("quorate-faults-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory to work in");
    let this = std::env::current_exe().expect("this program has a path");
    let status = network::inside().arg(this).args(arguments).env(INSIDE, &directory).status();
    let is_well = status.expect("this program can be run").success();
    if is_well && std::env::var_os("QUORATE_FAULTS_KEEP").is_none() {
        // What is left is the system's to clean up.
        let _ = std::fs::remove_dir_all(&directory);
    } else {
        println!("the files of the nodes and the clients are in {}", directory.display());
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn act(directory: &Path, arguments: &[&str]) -> ExitCode {
    let mut network = Network::new(cluster::NODES);
    let began = Instant::now();
    let is_well = match *arguments {
        ["long", seconds] => {
            let until = began + Duration::from_secs(seconds.parse().expect("a number of seconds"));
            long(&mut network, directory, until)
        }
        ["load", seconds] => {
            let lasting = Duration::from_secs(seconds.parse().expect("a number of seconds"));
            load::run(&directory.join("load"), lasting)
        }
        ["figures"] => {
            figures::print(&directory.join("figures"));
            true
        }
        ["long", _, seed] => random_run(&mut network, directory, seed.parse().expect("a seed"), 2 * faults::ALL.len()),
        _ => short(&mut network, directory),
    };
    println!("took      {:.0?}", began.elapsed());
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn short(network: &mut Network, directory: &Path) -> bool {
    proofs::prove(network, &directory.join("proof"));
    print_failovers(directory, 3);
    SEEDS.iter().all(|&seed| random_run(network, directory, seed, faults::ALL.len()))
}

fn long(network: &mut Network, directory: &Path, until: Instant) -> bool {
    let median = print_failovers(directory, 20);
    let mut is_well = median < PROMISED;
    if !is_well {
        println!("WRONG     a new leader must serve within {PROMISED:?}: is the machine busy with something else?");
    }
    while is_well && Instant::now() < until {
        is_well = random_run(network, directory, history::now(), 2 * faults::ALL.len());
    }
    is_well
}

/// Times failovers, and says what half of them took at most.
fn print_failovers(directory: &Path, count: usize) -> Duration {
    let mut failovers = faults::time_failovers(&directory.join("failover"), count);
    failovers.sort();
    let (median, longest) = (failovers[failovers.len() / 2], failovers[failovers.len() - 1]);
    println!(
        "failover  kill of the leader to the next grant, {count} times: median {median:.2?}, longest {longest:.2?}"
    );
    median
}

/// One run by chance. Says whether nothing was wrong.
fn random_run(network: &mut Network, directory: &Path, seed: u64, faults: usize) -> bool {
    println!("seed      {seed}, {faults} faults");
    let plan = Plan { seed, faults, only: None, switches: Vec::new(), ignores_expiry: false };
    let Outcome { judgement, seen, in_order } = run(&plan, network, &directory.join(format!("seed-{seed}")));
    for seen in &seen {
        let failover = seen.failover.map_or_else(String::new, |time| format!("served {time:.2?} after its start, "));
        let leader = if seen.is_deposed { "another leader" } else { "the same leader" };
        println!(
            "          {:<15} {failover}served {:.2?} after its end; {} terms later, {leader}",
            format!("{:?}", seen.fault),
            seen.recovery,
            seen.terms
        );
    }
    println!(
        "          {} grants, {} reads, {} unknown, {} late writes refused, {in_order} grants in log order",
        judgement.grants, judgement.looks, judgement.unknown, judgement.refused
    );
    for complaint in &judgement.complaints {
        println!("WRONG     {complaint}");
    }
    judgement.complaints.is_empty() && judgement.grants > 0 && in_order > 0
}
