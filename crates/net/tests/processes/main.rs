//! Groups of five real processes on loopback: every algorithm and every election of the catalogue, contended and alone.
//! Every turn is shown to a resource that checks fences; every trace is judged as `quorate judge` does, and what it
//! says of the messages is compared with what the simulator says.

mod group;
mod member;
#[path = "../../../../tests/ports.rs"]
mod ports;

use std::collections::BTreeMap;
use std::process::Command;

use group::Processes;
use quorate_core::catalog::{ENTRIES, Entry, Family};
use quorate_core::id::Id;
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::judge::{Finding, Judgement};
use quorate_net::ElectionKind;

const N: u32 = 5;

/// Not a test: what this program is when another of these tests has started it.
#[test]
fn member() {
    if let Ok(plan) = std::env::var(group::PLAN) {
        member::run(&serde_json::from_str(&plan).unwrap());
    }
}

fn algorithms() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().copied().filter(|entry| entry.family == Family::Mutex)
}

/// What the simulator counts, by kind, with the same applications.
fn simulated(entry: &Entry, workload: Workload, entries: u64) -> BTreeMap<String, u64> {
    // On a network tokens rest.
    let rests = entry.options.iter().any(|option| option.key == "rest");
    let options = if rests { vec![("rest".to_string(), "yes".to_string())] } else { Vec::new() };
    let clients = ClientPlan { workload, entries, ..ClientPlan::default() };
    let report = Experiment { n: N, clients, options, ..Experiment::default() };
    let costs = report.run(entry.name, Spectators::default()).unwrap().outcome.costs;
    assert_eq!(costs.entries, entries, "{}", entry.name);
    costs.messages_by_kind.into_iter().map(|(kind, count)| (kind.to_string(), count)).collect()
}

/// Nothing is broken, nothing is missing, nobody was taken for dead.
fn assert_held(judgement: &Judgement, entry: &Entry, entries: u64) {
    let Judgement { missing, has_suspicions, mistaken, .. } = judgement;
    assert_eq!((missing, *has_suspicions, *mistaken), (&vec![], false, None), "{}", entry.name);
    assert_eq!(judgement.resources.len(), 1, "{}", entry.name);
    assert_eq!(judgement.bill.entries, entries, "{}", entry.name);
    let findings = &judgement.resources[0].findings;
    assert_eq!(findings.len(), 5, "{}: {findings:?}", entry.name);
    for (property, finding) in findings {
        let is_fine = *finding == Finding::Held || !judgement.is_promised(*property, finding);
        assert!(is_fine, "{}: {property} {finding:?}", entry.name);
    }
}

#[test]
fn alone_every_algorithm_says_what_it_says_in_the_simulator() {
    for entry in algorithms() {
        let mut processes = Processes::start(N, entry.name, "ring");
        processes.enter(&[N], 3);
        let judgement = processes.stop();
        assert_held(&judgement, entry, 3);
        assert_eq!(judgement.bill.contended, 0, "{}", entry.name);
        assert_eq!(judgement.bill.messages, simulated(entry, Workload::Alone, 3), "{}", entry.name);
    }
}

/// How many messages a contended use takes at least, and at most if there is a bound.
fn bounds(entry: &Entry) -> (f64, Option<f64>) {
    let n = f64::from(N);
    match entry.name {
        // From none, for who was the last inside, to what one who was not takes alone.
        "suzuki-kasami" => (0.0, Some(n)),
        "roucairol-carvalho" => (0.0, Some(2.0 * (n - 1.0))),
        // The want goes round, and the token.
        "token-ring" => (0.0, Some(2.0 * n)),
        // What it takes alone: request, vote and release; and with each of its voters, a request makes at most one
        // inquiry, one vote come back and be given again, and two fail: itself, and who was next before.
        "maekawa-deadlock-free" => {
            let group = Experiment { n: N, ..Experiment::default() }.group(entry).unwrap();
            let sizes = || Id::all(N).map(|id| group.voting_sets.of(id).len() as f64);
            let (least, most) = (sizes().fold(f64::MAX, f64::min), sizes().fold(0.0, f64::max));
            (3.0 * (least - 1.0), Some(8.0 * (most - 1.0)))
        }
        // What it takes alone; tries that fail have no bound.
        "majority" => (3.0 * (n - 1.0), None),
        other => panic!("{other} has no bounds: it is compared with the simulator"),
    }
}

#[test]
fn contended_every_algorithm_lets_in_one_at_a_time_and_says_no_more_than_it_should() {
    for entry in algorithms().filter(|entry| entry.recovery.is_some()) {
        let mut processes = Processes::start(N, entry.name, "ring");
        let askers: Vec<u32> = (1..=N).filter(|&id| entry.coordinator != Some(Id::new(id))).collect();
        processes.enter(&askers, 5);
        let judgement = processes.stop();
        let entries = 5 * askers.len() as u64;
        assert_held(&judgement, entry, entries);
        assert!(judgement.bill.contended > 0, "{}", entry.name);
        match entry.name {
            "central" | "lamport" | "ricart-agrawala" => {
                assert_eq!(judgement.bill.messages, simulated(entry, Workload::Contended, entries), "{}", entry.name);
            }
            _ => {
                let (least, most) = bounds(entry);
                let each = judgement.bill.per_entry().unwrap();
                assert!(each >= least && most.is_none_or(|most| each <= most), "{}: {each} a use", entry.name);
            }
        }
    }
}

/// Clocks that are hours apart, which needs the program `faketime` (Debian's package of that name).
#[test]
fn clocks_hours_apart_change_nothing() {
    const AHEAD: [i32; N as usize] = [0, 5, -7, 0, 26];
    let has_faketime = Command::new("faketime").args(["-f", "+1h", "true"]).status().is_ok_and(|ended| ended.success());
    if !has_faketime {
        assert_ne!(std::env::var("QUORATE_CLOCKS").as_deref(), Ok("required"), "there is no faketime");
        eprintln!("SKIPPED: clocks hours apart, as there is no program `faketime` to make them");
        return;
    }
    for entry in algorithms().filter(|entry| entry.recovery.is_some()) {
        let mut processes = Processes::start_with_clocks(&AHEAD, entry.name, "ring");
        let askers: Vec<u32> = (1..=N).filter(|&id| entry.coordinator != Some(Id::new(id))).collect();
        processes.enter(&askers, 2);
        let judgement = processes.stop();
        assert_held(&judgement, entry, 2 * askers.len() as u64);
        // What is said of time is right, too, as far as anybody has spoken with others.
        let hours = |micros: i64| (micros as f64 / 3.6e9).round() as i32;
        let found = judgement.corrections.iter().map(|one| (one.process.number(), hours(one.ahead)));
        // Those of one machine may differ by less than a message takes.
        let found: Vec<_> = found.filter(|(_, hours)| *hours != 0).collect();
        let expected: Vec<_> = (1..).zip(AHEAD).filter(|(_, ahead)| *ahead != 0).collect();
        assert_eq!(found, expected, "{}: {:?}", entry.name, judgement.corrections);
        assert!(judgement.bill.sync_delay.max() < 60_000_000, "{}: {:?}", entry.name, judgement.bill.sync_delay);
    }
}

#[test]
fn with_every_election_all_name_the_same_leader() {
    for election in ElectionKind::ALL {
        let mut processes = Processes::start(N, "ricart-agrawala", election.name());
        let leaders = processes.lead();
        assert_eq!(leaders.len(), N as usize);
        assert!(leaders.iter().all(|leader| *leader == leaders[0]), "{}: {leaders:?}", election.name());
        let judgement = processes.stop();
        let named: Vec<u32> = judgement.leaders.values().map(|leader| leader.number()).collect();
        assert_eq!(named, leaders, "{}", election.name());
    }
}
