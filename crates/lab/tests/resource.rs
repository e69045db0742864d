//! What fences are for: where the living are taken for dead, two are inside, and a resource that checks fences stays in
//! order all the same.

use quorate_core::catalog::{self, ENTRIES, Entry, Family};
use quorate_core::trace::What;
use quorate_lab::explore::counterexample::Counterexample;
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{Exploration, ExplorationError, Findings, Verdict};
use quorate_lab::recovery::Beside;
use quorate_lab::scenario::{Scenario, builtin};
use quorate_lab::stage::Bounds;
use quorate_lab::stage::wish::Times;

/// One that lives is taken for dead, and two writes are made: enough for one to be lost.
const SUSPICION: Bounds = Bounds { suspicions: 1, writes: 2, ..NOTHING };
const NOTHING: Bounds = Bounds {
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

fn exploration(n: u32, bounds: Bounds, sealed: bool, goals: &[Goal]) -> Exploration {
    let goals = Some(goals.to_vec());
    Exploration { n, bounds, sealed, goals, recovery: Some(Beside::Ring), ..Exploration::default() }
}

fn explore(algorithm: &str, exploration: &Exploration) -> Findings {
    let findings = exploration.run(algorithm, &mut |_| {}).expect("it can be explored");
    println!("{algorithm}, n = {}: {} states, {:.1} s", findings.n, findings.states, findings.seconds);
    findings
}

fn mutexes() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().copied().filter(|entry| entry.family == Family::Mutex && entry.recovery.is_some())
}

/// Among how many it is explored here: some have too many states among three.
fn size(algorithm: &str) -> u32 {
    match algorithm {
        "token-ring" | "suzuki-kasami" | "lamport" => 2,
        _ => 3,
    }
}

fn verdict_in_words(findings: &Findings, goal: Goal) -> String {
    match findings.verdict(goal).expect("it was asked") {
        Verdict::Holds => "holds".into(),
        Verdict::Violated(found) => format!("violated in {} steps", found.steps.len()),
        Verdict::Undecided(why) => panic!("{}: {goal} is not decided: {why}", findings.algorithm),
    }
}

/// The table of the page is what comes out here.
#[test]
fn with_fences_checked_at_the_resource_it_stays_in_order_although_two_are_inside() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recovery.md")).unwrap();
    assert_eq!(mutexes().count(), 8);
    let mut missing: Vec<String> = Vec::new();
    for entry in mutexes() {
        if entry.name == "majority" {
            continue;
        }
        let n = size(entry.name);
        let goals = [Goal::ResourceSafety, Goal::NoLostUpdate];
        let [unsealed, sealed] = [false, true].map(|sealed| {
            let findings = explore(entry.name, &exploration(n, SUSPICION, sealed, &goals));
            goals.map(|goal| verdict_in_words(&findings, goal))
        });
        assert_eq!(sealed, ["holds", "holds"], "{}", entry.name);
        let row = format!("| `{}` | {n} | {} | {} | holds |", entry.name, unsealed[0], unsealed[1]);
        missing.extend((!page.contains(&row)).then_some(row));
    }
    assert!(missing.is_empty(), "docs/recovery.md should say\n{}", missing.join("\n"));
}

/// Majority voting has too many states among three, and between two nobody enters without the other's vote. So it is
/// explored among three as far as to the run that breaks it; what holds where no timer runs out is shown by
/// `./soak explore`.
#[test]
fn who_votes_by_majority_loses_an_update_without_a_seal() {
    let findings = explore("majority", &exploration(3, SUSPICION, false, &[Goal::NoLostUpdate]));
    let broken = verdict_in_words(&findings, Goal::NoLostUpdate);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recovery.md")).unwrap();
    let row = format!("| `majority` | 3 | holds, if no timer expires | {broken} | holds, if no timer expires |");
    assert!(page.contains(&row), "docs/recovery.md should say\n{row}");
}

/// What is promised where the living are suspected, and where they are not. Few states are enough to ask.
#[test]
fn where_the_living_are_suspected_only_a_seal_promises_that_no_update_is_lost() {
    let goals = [Goal::ResourceSafety, Goal::NoLostUpdate];
    let promised = |algorithm: &str, bounds, sealed| {
        let exploration = Exploration { max_states: 10, ..exploration(3, bounds, sealed, &goals) };
        exploration.run(algorithm, &mut |_| {}).expect("it can be explored").promised
    };
    for entry in mutexes() {
        assert_eq!(promised(entry.name, SUSPICION, false), [Goal::ResourceSafety], "{}", entry.name);
        assert_eq!(promised(entry.name, SUSPICION, true), goals, "{}", entry.name);
        assert_eq!(promised(entry.name, Bounds { writes: 2, ..NOTHING }, false), goals, "{}", entry.name);
    }
}

/// Who reads, and who writes, by number, from where a run first touches the resource.
fn touches(found: &Counterexample) -> Vec<String> {
    let is_touch = |step: &&String| step.ends_with(" reads") || step.ends_with(" writes");
    found.steps.iter().filter(is_touch).cloned().collect()
}

/// The gap: between what the successor reads and its first write, nothing newer than the old holder's fence was shown.
#[test]
fn unsealed_an_old_holder_writes_before_its_successor_does_and_what_it_wrote_is_lost() {
    let unsealed = Exploration { stop: true, ..exploration(3, SUSPICION, false, &[Goal::NoLostUpdate]) };
    let findings = explore("central", &unsealed);
    let found = findings.counterexample(Goal::NoLostUpdate).expect("the old holder's write is accepted");
    assert_eq!(found.steps.len(), 11, "seven steps to two inside, and what they do there: {:#?}", found.steps);
    let touches = touches(found);
    let [.., old, successor] = &touches[..] else { panic!("{touches:?}") };
    assert!(old.ends_with("writes") && successor.ends_with("writes") && old != successor, "{touches:?}");
    // The run can be kept, and played with a seal: then it is in order.
    let entry = catalog::entry("central").unwrap();
    let scenario = Scenario::of_counterexample(&unsealed, entry, Goal::NoLostUpdate, found).unwrap();
    let mut scenario: Scenario = scenario.to_string().parse().unwrap();
    let played = scenario.play().unwrap();
    assert_eq!(played.records, found.records);
    assert_eq!(played.disappointment(scenario.header.expect[0]), None);
    scenario.header.sealed = Some(true);
    let played = scenario.play().unwrap();
    assert_eq!(
        played.disappointment(scenario.header.expect[0]),
        Some("`expect no-lost-update violated` failed: no-lost-update held".into())
    );
}

/// The two that come with the laboratory are the same run but for the seal, as far as both go.
#[test]
fn the_scenarios_with_and_without_a_seal_are_the_same_run() {
    let steps = |name: &str| -> Vec<String> {
        let scenario = builtin::find(name).unwrap().scenario();
        scenario.script.iter().map(|written| written.step.to_string()).collect()
    };
    let (unsealed, sealed) = (steps("central-old-holder-writes-first"), steps("central-sealed-resource"));
    assert_eq!(sealed[..], unsealed[..sealed.len()]);
}

/// Two that vote, and take each other for dead, count to the same number; their fences differ by who they are.
#[test]
fn two_inside_that_count_to_the_same_number_have_different_fences() {
    let played = builtin::find("maekawa-deadlock-free-same-number").unwrap().scenario().play().unwrap();
    let fences = played.records.iter().filter_map(|record| match record.what {
        What::Entered { fence } => Some((u64::from(record.process.number()), fence.get())),
        _ => None,
    });
    let [(one, first), (other, second)] = fences.collect::<Vec<_>>()[..] else { panic!("two enter") };
    assert_eq!(first - one, second - other, "the numbers are the same");
    assert_ne!(first, second);
}

/// Where nobody is suspected who lives, crashes and all, nobody needs a seal.
#[test]
fn where_mutual_exclusion_holds_no_update_is_lost() {
    let crash = Bounds { crashes: 1, writes: 2, ..NOTHING };
    for entry in mutexes().filter(|entry| entry.name != "majority") {
        for sealed in [false, true] {
            let goals = [Goal::MutualExclusion, Goal::ResourceSafety, Goal::NoLostUpdate];
            let findings = explore(entry.name, &exploration(size(entry.name), crash, sealed, &goals));
            for goal in goals {
                assert!(findings.holds(goal), "{}: {goal}", entry.name);
                assert!(findings.promised.contains(&goal), "{}: {goal} is not promised", entry.name);
            }
        }
    }
}

/// A resource only answers: what it is asked changes nothing of what the processes do.
#[test]
fn a_resource_changes_nothing_of_the_lock() {
    let goals = [Goal::MutualExclusion];
    let steps = |bounds, sealed| {
        let findings = explore("central", &exploration(3, bounds, sealed, &goals));
        findings.counterexample(Goal::MutualExclusion).map(|found| found.steps.len())
    };
    let without = steps(Bounds { writes: 0, ..SUSPICION }, false);
    assert_eq!(without, Some(7));
    assert_eq!(steps(SUSPICION, false), without);
    assert_eq!(steps(SUSPICION, true), without);
}

#[test]
fn what_cannot_be_asked_is_said() {
    let resource = |bounds| exploration(2, bounds, false, &[Goal::ResourceSafety]);
    let error = |algorithm: &str, exploration: &Exploration| exploration.run(algorithm, &mut |_| {}).unwrap_err();
    let nothing_written = ExplorationError::NothingWritten { goal: Goal::ResourceSafety };
    assert_eq!(error("central", &resource(NOTHING)), nothing_written);
    let plain = Exploration { recovery: None, ..resource(SUSPICION) };
    let endless = Exploration { times: Times::Endless, ..plain.clone() };
    assert_eq!(error("central", &endless), ExplorationError::EndlessFences);
    let election = Exploration { goals: None, ..plain };
    assert_eq!(error("ring", &election), ExplorationError::NoWrites { family: Family::Election });
}
