//! How fast the simulator is, as a ratio within one run: against a bare binary heap that moves the same messages and
//! does nothing else.
//!
//! `cargo bench -p quorate-lab` prints a line for each size and delay. The machine's mood changes both sides alike, so
//! the ratio is steadier than the speed; it is the middle one of several rounds that take turns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::ExitCode;
use std::time::Instant;

use quorate_core::catalog::Property;
use quorate_core::mutex::RicartAgrawala;
use quorate_core::process::{Process, Ticks};
use quorate_core::trace::{Record, What};
use quorate_lab::application::ClientPlan;
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::network::Delay;
use quorate_lab::time::DELTA;

/// As large as what the simulator moves for each message.
type Payload = [u8; size_of::<<RicartAgrawala as Process>::Message>()];

/// What the heap holds: when a message arrives, its number, between whom, and what it says.
type Item = Reverse<(Ticks, u64, u32, u32, Payload)>;

/// One message of a run: when it was sent, when it arrived, between whom.
struct Sent {
    at: Ticks,
    arrives: Ticks,
    from: u32,
    to: u32,
}

const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let mut fast_enough = true;
    println!("ricart-agrawala, contended; costs, mutual exclusion, progress and fencing watched; one core");
    println!(
        "{:>5}  {:<12} {:>9} {:>14} {:>14} {:>7}  demanded",
        "n", "delay", "messages", "heap, M/s", "simulator, M/s", "ratio"
    );
    for (n, entries, demanded) in [(100, 10_000, 0.4), (1_000, 2_000, 0.3)] {
        for (name, delay) in [
            ("constant", Delay::Constant(DELTA)),
            ("uniform", Delay::Uniform(DELTA / 2, 3 * DELTA / 2)),
            ("exponential", Delay::Exponential(DELTA)),
        ] {
            let experiment = experiment(n, entries, delay);
            let messages = messages(&experiment);
            let mut rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (heap(&messages), simulator(&experiment))).collect();
            rounds.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
            let (heap, simulator) = rounds[ROUNDS / 2];
            let ratio = simulator / heap;
            fast_enough &= ratio >= demanded;
            println!(
                "{n:>5}  {name:<12} {:>9} {:>14.2} {:>14.2} {ratio:>7.2}  {demanded}",
                messages.len(),
                heap / 1e6,
                simulator / 1e6
            );
        }
    }
    if fast_enough { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn experiment(n: u32, entries: u64, delay: Delay) -> Experiment {
    Experiment {
        n,
        delay,
        clients: ClientPlan { entries, ..ClientPlan::default() },
        properties: Some(vec![Property::MutualExclusion, Property::Progress, Property::Fencing]),
        ..Experiment::default()
    }
}

/// The messages of a run, in the order in which they were sent.
fn messages(experiment: &Experiment) -> Vec<Sent> {
    let mut messages: Vec<Sent> = Vec::new();
    let mut note = |record: &Record| match record.what {
        What::Sent { to, sequence, .. } => {
            assert_eq!(sequence as usize, messages.len() + 1);
            messages.push(Sent { at: record.at, arrives: 0, from: record.process.number(), to: to.number() });
        }
        What::Received { sequence, .. } => messages[sequence as usize - 1].arrives = record.at,
        _ => {}
    };
    experiment
        .run("ricart-agrawala", Spectators { records: Some(&mut note), ..Spectators::default() })
        .expect("the experiment is a valid one");
    messages
}

/// Messages a second through a bare heap.
fn heap(messages: &[Sent]) -> f64 {
    let began = Instant::now();
    let mut heap: BinaryHeap<Item> = BinaryHeap::new();
    let (mut next, mut moved) = (0, 0u64);
    loop {
        while let Some(message) = messages.get(next)
            && heap.peek().is_none_or(|Reverse(first)| message.at <= first.0)
        {
            heap.push(Reverse((message.arrives, next as u64, message.from, message.to, Payload::default())));
            next += 1;
        }
        let Some(Reverse(first)) = heap.pop() else { break };
        std::hint::black_box(first);
        moved += 1;
    }
    moved as f64 / began.elapsed().as_secs_f64()
}

/// Events a second through the simulator.
fn simulator(experiment: &Experiment) -> f64 {
    let began = Instant::now();
    let report = experiment.run("ricart-agrawala", Spectators::default()).expect("the experiment is a valid one");
    report.outcome.events as f64 / began.elapsed().as_secs_f64()
}
