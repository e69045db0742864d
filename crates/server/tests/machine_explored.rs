//! The machine of the service in the laboratory: every run of a small group, and thousands of runs of a larger one.
//!
//! Besides what is asked here, the server itself asserts after every command of every run that grants have growing
//! fences and go in the order of arrival, that no request is granted twice and nobody dead anything, and that nobody
//! waits for a lock that nobody holds.

use quorate_core::catalog::Property;
use quorate_core::id::Id;
use quorate_core::setting::Timing;
use quorate_core::trace::What;
use quorate_lab::application::ClientPlan;
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{Exploration, Findings};
use quorate_lab::network::Delay;
use quorate_lab::report::{Report, Severity};
use quorate_lab::simulate::Fault;
use quorate_lab::stage::Bounds;
use quorate_lab::stage::wish::Times;
use quorate_lab::time::DELTA;
use quorate_server::machine::laboratory::LockService;

const NO_FAULTS: Bounds = Bounds {
    pokes: 0,
    crashes: 0,
    restarts: 0,
    losses: 0,
    duplicates: 0,
    withdrawals: 0,
    writes: 0,
    suspicions: 0,
    timeouts: None,
};
const SAFETY: [Goal; 2] = [Goal::MutualExclusion, Goal::Fencing];

fn options(given: &[(&str, &str)]) -> Vec<(String, String)> {
    given.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// A server and two clients, each of which enters once, in a world where clocks keep time. A client that has lost its
/// session does not open another: who comes back is who restarts.
fn in_time() -> Exploration {
    Exploration {
        n: 3,
        timing: Some(Timing::Synchronous),
        goals: Some(SAFETY.to_vec()),
        options: options(&[("lease", "4"), ("renewals", "0"), ("attempts", "1")]),
        ..Exploration::default()
    }
}

/// The same in a world without time, where any timer may run out at any moment, so many of them in all.
fn without_time(timeouts: u32) -> Exploration {
    let bounds = Bounds { timeouts: Some(timeouts), ..NO_FAULTS };
    let options = options(&[("renewals", "1"), ("attempts", "2")]);
    Exploration { timing: Some(Timing::Asynchronous), bounds, options, ..in_time() }
}

fn explore(what: &str, exploration: &Exploration) -> Findings {
    let findings = exploration.run_mutex::<LockService>(&mut |_| {}).unwrap();
    println!("{what}: {} states, {} steps deep, {:.1} s", findings.states, findings.depth, findings.seconds);
    findings
}

#[track_caller]
fn holds(what: &str, exploration: &Exploration) {
    let findings = explore(what, exploration);
    for (goal, verdict) in &findings.verdicts {
        assert!(findings.holds(*goal), "{what}: {goal}: {verdict:#?}");
    }
    assert!(findings.complete && findings.ends > 0);
}

#[test]
fn while_clocks_keep_time_everybody_gets_in_alone_and_with_growing_fences() {
    let goals = vec![Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom, Goal::Fencing];
    let options = options(&[("lease", "6"), ("renewals", "0"), ("attempts", "4")]);
    holds("nothing goes wrong", &Exploration { goals: Some(goals), options, ..in_time() });
}

#[test]
fn renewals_keep_a_lock_without_harm() {
    let options = options(&[("lease", "4"), ("renewals", "1"), ("attempts", "1")]);
    holds("one renewal", &Exploration { options, ..in_time() });
}

#[test]
fn lost_and_repeated_messages_do_no_harm() {
    holds("a loss", &Exploration { bounds: Bounds { losses: 1, ..NO_FAULTS }, ..in_time() });
    holds("a duplicate", &Exploration { bounds: Bounds { duplicates: 1, ..NO_FAULTS }, ..in_time() });
}

/// Each client enters twice in one session, which does not end as no timer runs out: what is left over of the first
/// turn does not spoil the second.
#[test]
fn repeated_messages_of_an_earlier_turn_do_no_harm() {
    for duplicates in [1, 2] {
        let bounds = Bounds { duplicates, timeouts: Some(0), ..NO_FAULTS };
        let twice = Exploration { times: Times::AtMost(2), bounds, ..without_time(0) };
        holds(&format!("two turns, {duplicates} duplicates"), &twice);
    }
}

#[test]
fn crashes_and_returns_of_the_server_or_a_client_do_no_harm() {
    holds("a crash", &Exploration { bounds: Bounds { crashes: 1, ..NO_FAULTS }, ..in_time() });
    holds("a return", &Exploration { bounds: Bounds { crashes: 1, restarts: 1, ..NO_FAULTS }, ..in_time() });
}

/// A client must count from when it asked: the server may have begun to count any time since.
#[test]
fn a_client_that_counts_from_the_answer_is_inside_when_the_next_one_enters() {
    let options = options(&[("lease", "6"), ("renewals", "0"), ("attempts", "4"), ("count-from", "answer")]);
    let findings = explore("counting from the answer", &Exploration { options, ..in_time() });
    let run = findings.counterexample(Goal::MutualExclusion).expect("two are inside");
    println!("{}", run.steps.join("\n"));
}

/// Why there are fences: where clocks do not keep time, one who has lost the lock may not know.
#[test]
fn without_time_two_believe_to_hold_the_lock_and_their_fences_tell_them_apart() {
    let findings = explore("two believers", &without_time(1));
    let run = findings.counterexample(Goal::MutualExclusion).expect("two are inside");
    println!("{}", run.steps.join("\n"));
    let entered = run.records.iter().filter_map(|record| match record.what {
        What::Entered { fence } => Some((record.process, fence)),
        _ => None,
    });
    let entered: Vec<_> = entered.collect();
    let [(first, old), (second, new)] = entered[..] else { panic!("{entered:?}") };
    assert!(first != second && old != new, "{entered:?}");
    // A grant that is late lets somebody in after the next holder: at entry, fences do not even grow.
    assert!(findings.counterexample(Goal::Fencing).is_some());
}

#[test]
fn without_time_a_resource_that_checks_fences_is_safe_and_one_that_trusts_is_not() {
    let with = |resource, exploration: Exploration| Exploration {
        goals: Some(vec![Goal::Fencing]),
        options: options(&[("renewals", "1"), ("attempts", "2"), ("resource", resource)]),
        ..exploration
    };
    let trusting = explore("a resource that trusts", &with("trusting", without_time(1)));
    println!("{}", trusting.counterexample(Goal::Fencing).expect("an old holder writes last").steps.join("\n"));
    holds("a resource that checks", &with("checking", without_time(2)));
    for (what, bounds) in [
        ("with a loss", Bounds { losses: 1, ..NO_FAULTS }),
        ("with a duplicate", Bounds { duplicates: 1, ..NO_FAULTS }),
        ("with a crash and a return", Bounds { crashes: 1, restarts: 1, ..NO_FAULTS }),
    ] {
        let bounds = Bounds { timeouts: Some(1), ..bounds };
        holds(&format!("one that checks, {what}"), &with("checking", Exploration { bounds, ..without_time(1) }));
    }
    let three = Exploration { n: 4, ..without_time(1) };
    holds("one that checks, three clients", &with("checking", three));
}

/// A server and four clients on a bad network; the server and one client crash and come back.
fn bad_day(seed: u64) -> Experiment {
    let at = |place: u64| (5 + (seed * 7 + place * 13) % 40) * DELTA;
    let client = Id::new(2 + (seed % 4) as u32);
    let crash = |id, from: u64| [Fault::Crash(id, from), Fault::Restart(id, from + (1 + seed % 9) * DELTA)];
    Experiment {
        n: 5,
        seed,
        delay: Delay::Uniform(DELTA / 10, DELTA),
        loss: 0.1,
        duplicate: 0.1,
        drift_ppm: 1000,
        faults: [crash(Id::new(1), at(0)), crash(client, at(1))].concat(),
        clients: ClientPlan { entries: 20, time_inside: (seed % 12) * DELTA, ..ClientPlan::default() },
        properties: Some(vec![Property::MutualExclusion, Property::Progress, Property::Fencing]),
        ..Experiment::default()
    }
}

fn simulate(experiment: &Experiment) -> Report {
    experiment.run_mutex::<LockService>(Spectators::default()).unwrap()
}

#[test]
fn thousands_of_bad_days_end_well() {
    for seed in 0..3000 {
        let report = simulate(&bad_day(seed));
        assert_eq!(report.severity(), Severity::Fine, "seed {seed}: {:?}", report.outcome.verdicts);
        assert_eq!(report.outcome.unexpected, 0, "seed {seed}: {:?}", report.outcome.first_unexpected);
    }
}

/// Clients go by their own clocks, so that it takes clocks that go alike, but no bound on delays.
#[test]
fn delays_without_a_bound_do_no_harm() {
    for seed in 0..1000 {
        let report = simulate(&Experiment { delay: Delay::Exponential(DELTA / 2), ..bad_day(seed) });
        assert_eq!(report.severity(), Severity::Fine, "seed {seed}: {:?}", report.outcome.verdicts);
    }
}

/// A client that stops for longer than its session lasts does not know it, and its clock does not help.
#[test]
fn a_client_that_pauses_is_inside_when_the_next_one_enters() {
    let pauses = |seed: u64| Experiment {
        faults: vec![Fault::Pause(Id::new(2 + (seed % 4) as u32), 10 * DELTA, 60 * DELTA)],
        clients: ClientPlan { entries: 20, time_inside: 3 * DELTA, ..ClientPlan::default() },
        ..bad_day(seed)
    };
    let two_inside = |seed: &u64| simulate(&pauses(*seed)).outcome.violated(Property::MutualExclusion);
    let broken = (0..100).filter(two_inside).count();
    println!("two are inside in {broken} of 100 runs");
    assert!(broken > 0);
}
