//! How fast the explorer is: against a plain search over plain states, and on two threads against one.
//!
//! `cargo bench -p quorate-lab --bench explore` prints states a second, and demands ratios within one run, as the
//! machine's mood changes all sides alike. Each is the middle one of several rounds that take turns.

use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Instant;

use quorate_core::mutex::{Mutex, RicartAgrawala};
use quorate_core::setting::{Group, Options, Timing};
use quorate_core::stack::Withdrawable;
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{Exploration, Findings};
use quorate_lab::network::Order;
use quorate_lab::stage::host::Company;
use quorate_lab::stage::wish::{Client, Times};
use quorate_lab::stage::{Bounds, Rules, Stage};

const ROUNDS: usize = 5;
/// The explorer does at least so many times as many states a second as a plain search.
const FASTER_THAN_PLAIN: f64 = 8.0;
/// And on two threads so many times as many as on one.
const FASTER_ON_TWO: f64 = 1.15;

fn main() -> ExitCode {
    let mut rounds: Vec<[f64; 3]> = (0..ROUNDS).map(|_| [plain(), speed(&explore(1)), speed(&explore(2))]).collect();
    let mut middle = |of: fn(&[f64; 3]) -> f64| {
        rounds.sort_by(|one, other| of(one).total_cmp(&of(other)));
        of(&rounds[ROUNDS / 2])
    };
    let findings = explore(1);
    println!("ricart-agrawala, replies=bare, one entry each, any order; mutual exclusion and deadlock freedom");
    println!("n = 3, plain search:       {:>5.2} million states a second", middle(|round| round[0]) / 1e6);
    println!("n = 4, one thread:         {:>5.2} million states a second", middle(|round| round[1]) / 1e6);
    println!("n = 4, two threads:        {:>5.2} million states a second", middle(|round| round[2]) / 1e6);
    println!("visited states, ways back: {:>5.1} bytes a state", findings.bytes as f64 / findings.states as f64);
    let (plain, two) = (middle(|round| round[1] / round[0]), middle(|round| round[2] / round[1]));
    println!("one thread against plain:  {plain:>5.1} times as fast, demanded {FASTER_THAN_PLAIN}");
    println!("two threads against one:   {two:>5.2} times as fast, demanded {FASTER_ON_TWO}");
    ExitCode::from(u8::from(plain < FASTER_THAN_PLAIN || two < FASTER_ON_TWO))
}

fn explore(threads: usize) -> Findings {
    let exploration = Exploration {
        n: 4,
        threads: Some(threads),
        options: vec![("replies".into(), "bare".into())],
        goals: Some(vec![Goal::MutualExclusion, Goal::DeadlockFreedom]),
        ..Exploration::default()
    };
    exploration.run("ricart-agrawala", &mut |_| {}).expect("it can be explored")
}

fn speed(findings: &Findings) -> f64 {
    findings.states as f64 / findings.seconds
}

/// States a second of a search that knows nothing but a stage: no numbers, no fingerprints, nothing remembered.
fn plain() -> f64 {
    let entry = &RicartAgrawala::ENTRY;
    let options = Options::new(entry, [("replies", "bare")]).expect("it has this option");
    let group = Group::new(entry, 3, 1, Timing::Asynchronous, options).expect("three is a group");
    let company =
        Company { group, create: Withdrawable::<RicartAgrawala>::new, timed: false, drift: 0, with_resource: false };
    let rules = Rules {
        order: Order::Any,
        delay_bound: None,
        detector: false,
        sessions: false,
        stamped_pokes: true,
        times: Times::AtMost(1),
        coordinator: None,
        elects: false,
        absent: std::collections::BTreeSet::new(),
        bounds: Bounds::default(),
        causal: false,
        sealed: false,
    };
    let began = Instant::now();
    let (first, _) = Stage::<_, Client>::new(company, rules);
    let mut known = HashSet::from([first.situation()]);
    let mut open = vec![first];
    while let Some(stage) = open.pop() {
        for choice in stage.choices() {
            let mut next = stage.clone();
            next.happen(choice);
            if known.insert(next.situation()) {
                open.push(next);
            }
        }
    }
    assert_eq!(known.len(), 2_822, "the plain search finds every state");
    known.len() as f64 / began.elapsed().as_secs_f64()
}
