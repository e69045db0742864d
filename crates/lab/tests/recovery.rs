//! Crashes that are told of: every run of three processes in which one of them crashes, whoever and whenever, between
//! any two effects of a step; and what comes of it where those who live are taken for dead.

use quorate_core::catalog::{ENTRIES, Entry, Family};
use quorate_core::election::Ring;
use quorate_core::id::Id;
use quorate_core::mutex::Central;
use quorate_core::setting::Timing;
use quorate_core::stack::Elected;
use quorate_core::trace::What;
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{Exploration, Findings, Verdict};
use quorate_lab::recovery::Beside;
use quorate_lab::scenario::Scenario;
use quorate_lab::stage::Bounds;

fn explore(algorithm: &str, n: u32, bounds: Bounds) -> Findings {
    explore_with(algorithm, n, bounds, Beside::Ring)
}

fn explore_with(algorithm: &str, n: u32, bounds: Bounds, election: Beside) -> Findings {
    let timing = election.entry().assumptions.synchronous.then_some(Timing::Synchronous);
    let exploration = Exploration { n, bounds, recovery: Some(election), timing, ..Exploration::default() };
    exploration.run(algorithm, &mut |_| {}).expect("it can be explored")
}

fn crashes(crashes: u32) -> Bounds {
    Bounds { crashes, ..Bounds::default() }
}

fn mutexes() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().copied().filter(|entry| entry.family == Family::Mutex && entry.recovery.is_some())
}

/// All that is asked holds, and is promised. But for who votes and tries again: its tries go on beyond any number of
/// timers, so that whether it ever enters is not decided here; `retries.rs` is about that.
fn assert_survives(what: &str, findings: &Findings) {
    println!("{what}: {} states", findings.states);
    assert!(findings.complete);
    for (goal, verdict) in &findings.verdicts {
        match (findings.algorithm, goal) {
            ("majority", Goal::DeadlockFreedom | Goal::StarvationFreedom) => {
                assert!(matches!(verdict, Verdict::Undecided(_)), "{what}: {goal}: {verdict:?}");
            }
            _ => assert_eq!(*verdict, Verdict::Holds, "{what}: {goal}"),
        }
        assert!(findings.promised.contains(goal), "{what}: {goal} is not promised");
    }
}

#[test]
fn whoever_crashes_and_whenever_the_others_go_on_with_growing_fences() {
    assert_eq!(mutexes().count(), 8, "all but the one that deadlocks");
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recovery.md")).unwrap();
    let mut missing = Vec::new();
    for entry in mutexes() {
        let findings = explore(entry.name, 3, crashes(1));
        assert_eq!(findings.verdicts.len(), 4, "mutual exclusion, no deadlock, no starvation, fences");
        assert_survives(entry.name, &findings);
        let told = Exploration { bounds: crashes(1), recovery: Some(Beside::Ring), ..Exploration::default() };
        let synchronous = Exploration { timing: Some(Timing::Synchronous), ..told };
        let in_time = synchronous.run(entry.name, &mut |_| {}).expect("it can be explored");
        assert_eq!(in_time.states, findings.states, "{}: who is told of crashes waits for no deadline", entry.name);
        let row = format!("| `{}` | {} |", entry.name, findings.states);
        if !page.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "docs/recovery.md should say {missing:#?}");
}

#[test]
fn who_comes_back_takes_part_again() {
    let bounds = Bounds { restarts: 1, ..crashes(1) };
    // What it means that a voter comes back shows only among three: claim D3 explores it.
    for entry in mutexes().filter(|entry| entry.name != "majority") {
        // Some have too many states among three: there it is left to simulation.
        let n = match entry.name {
            "token-ring" | "suzuki-kasami" => 2,
            _ => 3,
        };
        assert_survives(entry.name, &explore(entry.name, n, bounds));
    }
}

/// A vote more than the living have lets nobody in, and that is neither held for progress nor promised.
#[test]
fn where_no_majority_lives_nobody_who_needs_one_is_said_to_enter() {
    let two_dead = vec![Id::new(1), Id::new(2)];
    let exploration = Exploration { absent: two_dead, recovery: Some(Beside::Ring), ..Exploration::default() };
    let findings = exploration.run("majority", &mut |_| {}).expect("it can be explored");
    for goal in [Goal::DeadlockFreedom, Goal::StarvationFreedom] {
        let verdict = findings.verdict(goal);
        assert!(matches!(verdict, Some(Verdict::Undecided(_))), "{goal}: {verdict:?}");
        assert!(!findings.promised.contains(&goal), "{goal}");
    }
}

#[test]
fn what_does_not_recover_is_refused() {
    let exploration = Exploration { recovery: Some(Beside::Ring), ..Exploration::default() };
    for algorithm in ["maekawa", "heartbeat"] {
        let error = exploration.run(algorithm, &mut |_| {}).unwrap_err().to_string();
        assert!(
            error
                .starts_with(&format!("{algorithm} cannot recover from crashes here; these algorithms can: central, ")),
            "{error}"
        );
    }
}

/// Why who comes back waits until everybody has greeted it.
#[test]
fn who_takes_part_before_all_know_of_its_return_lets_two_in() {
    let bounds = Bounds { restarts: 1, ..crashes(1) };
    let goals = Some(vec![Goal::MutualExclusion]);
    let recovery = Some(Beside::Ring);
    let exploration = Exploration { n: 3, bounds, recovery, goals, stop: true, ..Exploration::default() };
    let findings = exploration.run_mutex::<Elected<Ring, Central>>(&mut |_| {}).expect("it can be explored");
    let found = findings.counterexample(Goal::MutualExclusion).expect("some take it for dead, and enter without it");
    assert_eq!(found.steps.len(), 17, "{:#?}", found.steps);
}

#[test]
fn any_election_finds_another_coordinator() {
    for election in Beside::ALL {
        assert_survives(election.name(), &explore_with("central", 3, crashes(1), election));
    }
}

#[test]
fn two_crashes_are_survived_but_fences_that_count_on_being_told_do_not_always_grow() {
    for entry in mutexes().filter(|entry| entry.name != "majority") {
        let findings = explore(entry.name, 3, crashes(2));
        let broken: Vec<_> = findings.verdicts.iter().filter(|(_, verdict)| *verdict != Verdict::Holds).collect();
        let fenced = entry.recovery.is_some_and(|recovery| recovery.fenced_crashes.is_none());
        match broken[..] {
            [] => assert!(fenced, "{}: its file says less than is true", entry.name),
            [(Goal::Fencing, Verdict::Violated(_))] => {
                assert!(!fenced && !findings.promised.contains(&Goal::Fencing), "{}", entry.name);
            }
            _ => panic!("{}: {broken:?}", entry.name),
        }
    }
}

/// What "any number" of crashes does not mean.
#[test]
fn who_comes_back_when_all_who_knew_more_are_dead_has_a_smaller_fence() {
    let findings = explore("token-ring", 2, Bounds { restarts: 1, ..crashes(2) });
    let found = findings.counterexample(Goal::Fencing).expect("it knows nothing of the epoch that began without it");
    assert_eq!(found.steps.len(), 7, "{:#?}", found.steps);
    assert!(findings.holds(Goal::MutualExclusion) && !findings.promised.contains(&Goal::Fencing));
}

/// Two are inside where one that lives is taken for dead. The run that shows it can be played again.
#[test]
fn where_the_living_are_suspected_two_are_inside() {
    let bounds = Bounds { suspicions: 1, ..Bounds::default() };
    for (algorithm, steps) in [
        ("central", 7),
        ("lamport", 7),
        ("ricart-agrawala", 8),
        ("roucairol-carvalho", 8),
        ("maekawa-deadlock-free", 5),
        ("majority", 7),
    ] {
        let goals = Some(vec![Goal::MutualExclusion]);
        let exploration =
            Exploration { n: 3, bounds, recovery: Some(Beside::Ring), goals, stop: true, ..Exploration::default() };
        let findings = exploration.run(algorithm, &mut |_| {}).expect("it can be explored");
        let found = findings.counterexample(Goal::MutualExclusion).expect("somebody is inside who is taken for dead");
        let entry = quorate_core::catalog::entry(algorithm).unwrap();
        let scenario = Scenario::of_counterexample(&exploration, entry, Goal::MutualExclusion, found).unwrap();
        let played = scenario.to_string().parse::<Scenario>().unwrap().play().unwrap();
        assert_eq!(played.records, found.records, "{algorithm}");
        assert_eq!(found.steps.len(), steps, "{algorithm}: {:#?}", found.steps);
    }
}

fn elect(election: Beside, bounds: Bounds, goals: &[Goal]) -> Findings {
    let timing = election.entry().assumptions.synchronous.then_some(Timing::Synchronous);
    let (recovery, goals) = (Some(Beside::Ring), Some(goals.to_vec()));
    let exploration = Exploration { n: 3, bounds, recovery, timing, goals, stop: true, ..Exploration::default() };
    exploration.run(election.name(), &mut |_| {}).expect("it can be explored")
}

#[test]
fn whoever_crashes_during_an_election_the_winner_too_one_of_the_others_leads() {
    for election in Beside::ALL {
        for most in [1, 2] {
            let findings = elect(election, crashes(most), &[Goal::SingleLeader, Goal::Decided]);
            assert!(findings.complete, "{}", election.name());
            assert!(findings.holds(Goal::SingleLeader) && findings.holds(Goal::Decided), "{}", election.name());
        }
    }
}

/// Who comes back with a larger id than the leader's takes over, and not everybody hears of it at once.
#[test]
fn who_comes_back_during_an_election_can_be_a_second_leader_for_a_while() {
    let bounds = Bounds { restarts: 1, ..crashes(1) };
    for (election, steps) in [(Beside::Ring, 9), (Beside::ChangRoberts, 10), (Beside::Bully, 4)] {
        let findings = elect(election, bounds, &[Goal::SingleLeader]);
        let found = findings.counterexample(Goal::SingleLeader).expect("two lead for a while");
        assert_eq!(found.steps.len(), steps, "{}: {:#?}", election.name(), found.steps);
    }
    // The bully's deadlines are those of who was there all the time.
    let found = elect(Beside::Bully, bounds, &[Goal::Decided]);
    let steps = found.counterexample(Goal::Decided).expect("who comes back is not heard of").steps.len();
    assert_eq!(steps, 16);
}

/// A crash within a step: what was sent before it has been sent, and what comes after it has not.
#[test]
fn a_crash_may_fall_between_two_effects_of_a_step() {
    let half = "\
# A multicast that ends half-way

algorithm ricart-agrawala
n 3

p1 requests, and crashes after 1
p2 receives request from p1
---
1  p1  requests entry
1  p1  sends request(1) to p2
1  p1  CRASHES
2  p2  receives request(1) from p1
2  p2  sends reply(1) to p1
2  p2  reply(1) to p1 is lost
";
    let played = half.parse::<Scenario>().unwrap().play().unwrap();
    let kinds: Vec<_> = played.records.iter().map(|record| format!("{:?}", record.what)).collect();
    assert_eq!(kinds.iter().filter(|what| what.starts_with("Sent")).count(), 2, "{kinds:?}");
    // That of who takes a living one for dead is a step like others: p3 would have told both that it leads.
    let suspicion =
        "# Half a suspicion\n\nalgorithm central\nn 3\nrecovery bully\n\np3 suspects p1, and crashes after 1\n";
    let played = suspicion.parse::<Scenario>().unwrap().play().unwrap();
    let did: Vec<_> = played.records.iter().map(|record| record.what.clone()).collect();
    let said = did.iter().filter(|what| matches!(what, What::Sent { .. })).count();
    assert!(said == 1 && did.contains(&What::Crashed), "{did:?}");
    let too_late = half.replace("after 1", "after 2");
    let error = too_late.parse::<Scenario>().unwrap().play().unwrap_err();
    assert!(error.to_string().contains("has no more than 2 effects"), "{error}");
}
