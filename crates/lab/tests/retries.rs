//! Majority voting tries again when votes are split: a run in which that never ends, and how long it takes when waiting
//! is random.

use quorate_core::setting::Timing;
use quorate_core::trace::What;
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{Exploration, Findings, Verdict};
use quorate_lab::network::Delay;
use quorate_lab::stage::Bounds;
use quorate_lab::time::DELTA;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recovery.md");

/// In a world with time, timers run out when it is time, however often.
fn explore(n: u32, options: &[(&str, &str)], exploration: Exploration) -> Findings {
    let options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    let exploration = Exploration { n, options, timing: Some(Timing::Synchronous), ..exploration };
    exploration.run("majority", &mut |_| {}).expect("it can be explored")
}

fn starvation() -> Exploration {
    Exploration { goals: Some(vec![Goal::StarvationFreedom]), max_states: 1 << 20, ..Exploration::default() }
}

/// `quorate check majority -n 2 --timing synchronous --option doublings=0 --property starvation-freedom`; also with 3.
#[test]
fn who_always_tries_at_the_same_time_as_others_never_enters() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    for n in [2, 3] {
        let findings = explore(n, &[("doublings", "0")], starvation());
        let found = findings.counterexample(Goal::StarvationFreedom).expect("their tries clash for ever");
        println!("n = {n}: {}\n{:#?}", found.why, found.steps);
        let begins = found.repeats_from.expect("it is a run without end");
        let round = &found.steps[begins..];
        for process in 1..=n {
            let tries = format!("p{process} times out: back-off");
            assert!(round.contains(&tries), "p{process} tries again on the way round: {round:#?}");
            let refused = format!("p{process} receives refuse");
            assert!(round.iter().any(|step| step.starts_with(&refused)), "and is refused: {round:#?}");
        }
        assert!(found.why.ends_with("can repeat for ever, with larger numbers each time"), "{}", found.why);
        assert!(found.records.iter().all(|record| !matches!(record.what, What::Entered { .. })), "nobody enters");
        let repeated = format!("steps {} to {}", begins + 1, found.steps.len());
        assert!(page.contains(&repeated), "docs/recovery.md should say {repeated}, n = {n}");
    }
}

/// Numbers on a disk are not looked at; a bound on timeouts ends the tries.
#[test]
fn where_tries_are_not_compared_by_their_numbers_alone_nothing_is_said() {
    let findings =
        explore(2, &[("doublings", "0"), ("memory", "kept")], Exploration { max_states: 50_000, ..starvation() });
    assert!(findings.counterexample(Goal::StarvationFreedom).is_none());
    assert!(!findings.complete);
    let bounds = Bounds { timeouts: Some(2), ..Bounds::default() };
    let findings = explore(2, &[("doublings", "0")], Exploration { bounds, ..starvation() });
    let verdict = findings.verdict(Goal::StarvationFreedom);
    assert!(matches!(verdict, Some(Verdict::Undecided(_))), "nothing is said of runs beyond the bound: {verdict:?}");
}

/// The table of the page is what comes out here.
#[test]
fn random_waiting_ends_it_after_a_time_that_is_measured() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let mut missing: Vec<String> = Vec::new();
    for n in [3, 5, 7] {
        for (workload, name) in [(Workload::Poisson(0.05), "`poisson:0.05`"), (Workload::Contended, "`contended`")] {
            let clients = ClientPlan { workload, entries: 10_000, ..ClientPlan::default() };
            let delay = Delay::Uniform(DELTA / 2, DELTA * 3 / 2);
            let experiment = Experiment { n, delay, clients, ..Experiment::default() };
            let costs = experiment.run("majority", Spectators::default()).expect("it can be run").outcome.costs;
            let delay = costs.client_delay.expect("somebody entered");
            let [p50, p90, p99, max] = [delay.p50, delay.p90, delay.p99, delay.max].map(|delay| format!("{delay:.1}"));
            let row = format!("| {n} | {name} | {p50} | {p90} | {p99} | {max} |");
            missing.extend((!page.contains(&row)).then_some(row));
        }
    }
    assert!(missing.is_empty(), "docs/recovery.md should say\n{}", missing.join("\n"));
}
