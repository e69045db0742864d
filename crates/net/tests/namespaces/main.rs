//! Real nodes on a network that is not kind: five members, each a process on a host of its own (a network namespace),
//! 20 ms apart, more or less; frames are lost, cables cut, members killed and paused.
//!
//! ```text
//! cargo test -p quorate-net --test namespaces                          every fault on one algorithm, two on all
//! QUORATE_NAMESPACES=all cargo test -p quorate-net --test namespaces   every fault on all, also without loss
//! cargo test -p quorate-net --test namespaces -- job central kill 5 7  one: algorithm, fault, loss %, seed
//! ```
//!
//! It needs to make network namespaces: root, or user namespaces, with `unshare` and `ip`. Where that is missing it
//! says so and does nothing, or fails if `QUORATE_FAULTS=required` is set. What failing groups have written is kept.

mod group;
mod member;
mod network;
mod resource;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use quorate_core::catalog::{ENTRIES, Family};

/// So many groups at the same time.
const AT_ONCE: usize = 4;
/// The algorithm that has every fault, every time.
const THOROUGHLY: &str = "ricart-agrawala";
/// Of a hundred frames so many are lost, where some are.
const LOSS_PERCENT: u64 = 5;

/// What befalls one member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Nothing: frames may be lost.
    Nothing,
    /// It is killed, and started again.
    Kill,
    /// It is stopped for longer than silence is tolerated.
    Pause,
    /// So it is, when another one is dead, and stays so for longer.
    PauseBesideDead,
    /// Its cable is cut.
    Cut,
    /// Nothing comes from it.
    Mute,
    /// Nothing comes to it.
    Deaf,
}

impl Fault {
    const ALL: [Fault; 7] =
        [Fault::Nothing, Fault::Kill, Fault::Pause, Fault::PauseBesideDead, Fault::Cut, Fault::Mute, Fault::Deaf];

    fn name(self) -> &'static str {
        match self {
            Fault::Nothing => "nothing",
            Fault::Kill => "kill",
            Fault::Pause => "pause",
            Fault::PauseBesideDead => "pause-beside-dead",
            Fault::Cut => "cut",
            Fault::Mute => "mute",
            Fault::Deaf => "deaf",
        }
    }
}

/// A group, and what befalls it.
#[derive(Clone)]
struct Job {
    algorithm: String,
    fault: Fault,
    loss_percent: u64,
    seed: u64,
}

impl Job {
    fn words(&self) -> [String; 4] {
        [self.algorithm.clone(), self.fault.name().into(), self.loss_percent.to_string(), self.seed.to_string()]
    }

    fn parse([algorithm, fault, loss, seed]: [&str; 4]) -> Job {
        let fault = Fault::ALL.into_iter().find(|known| known.name() == fault).expect("a fault");
        let (loss_percent, seed) = (loss.parse().expect("a percentage"), seed.parse().expect("a seed"));
        Job { algorithm: algorithm.into(), fault, loss_percent, seed }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["member", id, members, algorithm, seed, directory] => {
            let (id, members) = (id.parse().expect("an id"), members.parse().expect("a number"));
            member::run(id, members, algorithm, seed.parse().expect("a seed"), Path::new(directory));
            ExitCode::SUCCESS
        }
        ["inside", algorithm, fault, loss, seed, directory] => {
            match group::run(&Job::parse([algorithm, fault, loss, seed]), Path::new(directory)) {
                Ok(said) => {
                    println!("{said}");
                    ExitCode::SUCCESS
                }
                Err(wrong) => {
                    println!("WRONG: {wrong}");
                    ExitCode::FAILURE
                }
            }
        }
        ["job", algorithm, fault, loss, seed] => outside(&[Job::parse([algorithm, fault, loss, seed])]),
        _ if arguments.iter().any(|argument| !argument.starts_with('-') && !"namespaces".contains(argument)) => {
            println!("namespaces: left out, as other tests are asked for: {arguments:?}");
            ExitCode::SUCCESS
        }
        _ => outside(&jobs(std::env::var("QUORATE_NAMESPACES").is_ok_and(|which| which == "all"))),
    }
}

fn jobs(all: bool) -> Vec<Job> {
    let algorithms = ENTRIES.iter().filter(|entry| entry.family == Family::Mutex && entry.recovery.is_some());
    let mut jobs = Vec::new();
    for entry in algorithms {
        let is_thorough = entry.name == THOROUGHLY;
        for (fault, loss_percent) in Fault::ALL.into_iter().flat_map(|fault| [(fault, 0), (fault, LOSS_PERCENT)]) {
            let is_basic = matches!(fault, Fault::Kill | Fault::Pause) || is_thorough;
            if !all && (!is_basic || (loss_percent > 0) != is_thorough) {
                continue;
            }
            // The seed chooses who it is. Where not all are equal, everybody has to be killed once.
            let has_many = fault == Fault::Kill && (all || entry.coordinator.is_some());
            for _ in 0..if has_many { group::N } else { 1 } {
                let seed = jobs.len() as u64;
                jobs.push(Job { algorithm: entry.name.into(), fault, loss_percent, seed });
            }
        }
    }
    jobs
}

/// Runs each job in namespaces of its own, several at the same time.
fn outside(jobs: &[Job]) -> ExitCode {
    if let Some(obstacle) = network::obstacle() {
        let is_required = std::env::var("QUORATE_FAULTS").is_ok_and(|value| value == "required");
        println!("\n!!! NODES WERE NOT TESTED ON A NETWORK OF THEIR OWN: {obstacle}\n");
        return if is_required { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let directory = std::env::temp_dir().join(format!("quorate-namespaces-{}", std::process::id()));
    let (next, is_well, began) = (AtomicUsize::new(0), AtomicBool::new(true), Instant::now());
    let print = Mutex::new(());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(jobs.len()) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (is_fine, said) = run(job, &directory);
                    is_well.fetch_and(is_fine, Ordering::Relaxed);
                    let _alone = print.lock();
                    println!("{:<48} {}", job.words().join(" "), said.trim());
                }
            });
        }
    });
    println!("took {:.0?}", began.elapsed());
    if is_well.into_inner() {
        // What is left is the system's to clean up.
        _ = std::fs::remove_dir_all(&directory);
        return ExitCode::SUCCESS;
    }
    println!("what the members have written is in {}", directory.display());
    ExitCode::FAILURE
}

/// Runs a job, and says whether all was well, and what it was.
fn run(job: &Job, directory: &Path) -> (bool, String) {
    let directory: PathBuf = directory.join(job.words().join("-"));
    std::fs::create_dir_all(&directory).expect("a directory to work in");
    let this = std::env::current_exe().expect("this program has a path");
    let output = network::inside().arg(this).arg("inside").args(job.words()).arg(&directory).output();
    let output = output.expect("this program can be run");
    let is_fine = output.status.success();
    if is_fine {
        _ = std::fs::remove_dir_all(&directory);
    }
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    (is_fine, said.concat())
}
