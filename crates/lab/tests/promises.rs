//! Every promise of the catalogue, over many seeded runs in all worlds that the algorithm's assumptions allow; and
//! where an assumption is dropped, the run that shows that it was needed.
//!
//! A thousand seeds an algorithm; `QUORATE_SEEDS=10000 cargo test -p quorate-lab --test promises` runs more.

use quorate_core::catalog::{ENTRIES, Entry, Family, Property};
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::network::{Delay, Order, Partition};
use quorate_lab::random::Chance;
use quorate_lab::report::{Report, Severity};
use quorate_lab::simulate::Fault;
use quorate_lab::time::DELTA;

fn seeds() -> u64 {
    let given = std::env::var("QUORATE_SEEDS").ok();
    given.map_or(1_000, |seeds| seeds.parse().expect("QUORATE_SEEDS is a number of seeds"))
}

fn run(entry: &Entry, experiment: &Experiment) -> Report {
    experiment.run(entry.name, Spectators::default()).unwrap_or_else(|error| panic!("{error}: {experiment:?}"))
}

fn one_of<T: Clone>(chance: &mut Chance, choices: &[T]) -> T {
    choices[chance.below(choices.len() as u64) as usize].clone()
}

/// What befalls processes, as far as the assumptions allow, and who calls elections. One process survives everything,
/// and calls.
fn faults_and_starters(entry: &Entry, n: u32, chance: &mut Chance) -> (Vec<Fault>, Vec<(Id, Ticks)>) {
    let survivor = Id::new(1 + chance.below(u64::from(n)) as u32);
    let mut faults = Vec::new();
    let mut starters = vec![(survivor, chance.below(3 * DELTA))];
    for id in survivor.others(n) {
        let dies = !entry.assumptions.crash_free && chance.below(3) == 0;
        let at = chance.below(40 * DELTA);
        match (dies, chance.below(2) == 0) {
            (true, true) if entry.family == Family::Election => faults.push(Fault::AbsentFromTheBeginning(id)),
            (true, _) => faults.push(Fault::Crash(id, if entry.family == Family::Election { at / 8 } else { at })),
            (false, true) => starters.push((id, chance.below(3 * DELTA))),
            (false, false) => {}
        }
    }
    if entry.assumptions.crash_free && chance.below(4) == 0 {
        let from = chance.below(10 * DELTA);
        faults.push(Fault::Pause(survivor, from, from + 1 + chance.below(20 * DELTA)));
    }
    (faults, starters)
}

/// A cut or two, which hold messages back.
fn partitions(n: u32, chance: &mut Chance) -> Vec<Partition> {
    let cut = |chance: &mut Chance| {
        let from = chance.below(20 * DELTA);
        let part = Id::all(n).filter(|_| chance.below(2) == 0).collect();
        Partition { parts: vec![part], from, to: from + 1 + chance.below(20 * DELTA) }
    };
    (0..=chance.below(2)).map(|_| cut(chance)).collect()
}

/// A world that an algorithm's assumptions allow, drawn by a seed.
fn allowed_world(entry: &Entry, seed: u64) -> Experiment {
    let mut chance = Chance::new(seed);
    let n = 1 + chance.below(7) as u32;
    let bounded = [
        Delay::Constant(DELTA),
        Delay::Uniform(DELTA / 2, 3 * DELTA / 2),
        Delay::Uniform(1, 4 * DELTA),
        Delay::PerLink(DELTA / 10, 3 * DELTA),
    ];
    let unbounded = [&bounded[..], &[Delay::Exponential(DELTA)]].concat();
    let orders = if entry.assumptions.fifo { &[Order::Fifo][..] } else { &[Order::Fifo, Order::Any] };
    let workloads =
        [Workload::Contended, Workload::Contended, Workload::Causal, Workload::Poisson(0.2), Workload::Alone];
    let (faults, starters) = faults_and_starters(entry, n, &mut chance);
    let late = !entry.assumptions.synchronous && chance.below(3) == 0;
    Experiment {
        n,
        seed,
        delay: one_of(&mut chance, if entry.assumptions.synchronous { &bounded } else { &unbounded }),
        order: Some(one_of(&mut chance, orders)),
        partitions: if late { partitions(n, &mut chance) } else { vec![] },
        // Only an election whose processes crash in the middle needs to be told.
        detector: faults
            .iter()
            .any(|fault| matches!(fault, Fault::Crash(..)))
            .then_some(entry.family == Family::Election),
        faults,
        clients: ClientPlan {
            workload: one_of(&mut chance, &workloads),
            entries: 20,
            time_inside: one_of(&mut chance, &[0, DELTA / 3, DELTA]),
            withdraw: one_of(&mut chance, &[0.0, 0.3]),
            ..ClientPlan::default()
        },
        starters,
        ..Experiment::default()
    }
}

/// Runs all seeds of an algorithm and demands every promise.
fn keeps_its_promises(entry: &Entry) {
    let (mut entries, mut runs_with_messages) = (0, 0);
    for seed in 0..seeds() {
        let experiment = allowed_world(entry, seed);
        let report = run(entry, &experiment);
        let told = || format!("{} with {experiment:?}: {:?}", entry.name, report.outcome.verdicts);
        assert!(report.broken_assumptions.is_empty(), "{}: {:?}", told(), report.broken_assumptions);
        assert_eq!(report.severity(), Severity::Fine, "{}", told());
        assert_eq!(report.outcome.unexpected, 0, "{}: {:?}", told(), report.outcome.first_unexpected);
        entries += report.outcome.costs.entries;
        runs_with_messages += u64::from(report.outcome.costs.messages > 0);
    }
    // The promises were not kept by doing nothing.
    assert!(runs_with_messages > seeds() / 2, "only {runs_with_messages} runs had messages");
    if entry.family == Family::Mutex && entry.promises.contains(&Property::Progress) {
        assert!(entries > 10 * seeds(), "only {entries} entries");
    }
}

macro_rules! promises {
    ($($test:ident $name:literal)*) => {
        $(
            #[test]
            fn $test() {
                keeps_its_promises(quorate_core::catalog::entry($name).unwrap());
            }
        )*

        #[test]
        fn no_algorithm_is_left_out() {
            let tested = [$($name),*];
            let listed: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
            assert_eq!(listed, tested);
        }
    };
}

promises! {
    central "central"
    token_ring "token-ring"
    suzuki_kasami "suzuki-kasami"
    lamport "lamport"
    ricart_agrawala "ricart-agrawala"
    roucairol_carvalho "roucairol-carvalho"
    maekawa "maekawa"
    maekawa_deadlock_free "maekawa-deadlock-free"
    majority "majority"
    chang_roberts "chang-roberts"
    bully "bully"
    ring "ring"
    heartbeat "heartbeat"
}

/// The first seed whose run breaks a property, and the report.
fn first_violation(name: &str, property: Property, experiment: impl Fn(u64) -> Experiment) -> (u64, Report) {
    let entry = quorate_core::catalog::entry(name).unwrap();
    (0..1_000)
        .map(|seed| (seed, run(entry, &experiment(seed))))
        .find(|(_, report)| report.outcome.violated(property))
        .unwrap_or_else(|| panic!("{name} kept {property} in a thousand runs"))
}

fn contended(n: u32, seed: u64, delay: Delay) -> Experiment {
    Experiment { n, seed, delay, ..Experiment::default() }
}

/// M2: three processes, each with the vote that the next one needs.
#[test]
fn maekawa_deadlocks_and_that_is_reported_but_not_failed() {
    let (_, report) = first_violation("maekawa", Property::Progress, |seed| {
        contended(3, seed, Delay::Uniform(DELTA / 2, 3 * DELTA / 2))
    });
    assert!(!report.promised.contains(&Property::Progress));
    assert_eq!(report.severity(), Severity::Fine);
}

#[test]
fn maekawa_deadlocks_on_the_triangle_when_all_ask_at_once() {
    let report = run(quorate_core::catalog::entry("maekawa").unwrap(), &contended(3, 1, Delay::Constant(DELTA)));
    assert!(report.outcome.violated(Property::Progress));
    assert_eq!(report.outcome.costs.entries, 0);
}

/// L2: why Lamport's algorithm needs FIFO channels.
#[test]
fn lamport_without_fifo_lets_two_in() {
    let (_, report) = first_violation("lamport", Property::MutualExclusion, |seed| Experiment {
        order: Some(Order::Any),
        ..contended(3, seed, Delay::Exponential(DELTA))
    });
    assert_eq!(report.severity(), Severity::Safety);
    assert_eq!(report.broken_assumptions, ["messages may overtake each other"]);
}

/// B4: too tight a deadline.
#[test]
fn bully_with_too_tight_a_deadline_names_two_leaders() {
    let (_, report) = first_violation("bully", Property::SingleLeader, |seed| Experiment {
        bound: Some(DELTA / 4),
        starters: vec![(Id::new(1), 0)],
        ..contended(5, seed, Delay::Uniform(DELTA / 2, DELTA))
    });
    assert_eq!(report.severity(), Severity::Safety);
    assert_eq!(report.broken_assumptions, ["messages take longer than the delay bound that the processes assume"]);
}

/// B4c: who answers only while it has no election of its own running.
#[test]
fn bully_that_answers_only_when_idle_names_two_leaders() {
    let (_, report) = first_violation("bully", Property::SingleLeader, |seed| Experiment {
        options: vec![("answers".into(), "idle".into())],
        faults: vec![Fault::AbsentFromTheBeginning(Id::new(5))],
        starters: Id::all(4).map(|id| (id, 0)).collect(),
        ..contended(5, seed, Delay::Uniform(DELTA / 2, DELTA))
    });
    assert!(!report.promised.contains(&Property::SingleLeader));
}

/// R1: the paper's bare replies do not keep the order of requests; numbers on them do.
#[test]
fn bare_replies_break_the_request_order() {
    let world = |replies: &str, seed| Experiment {
        options: vec![("replies".into(), replies.into())],
        ..contended(3, seed, Delay::Exponential(DELTA))
    };
    let (seed, report) = first_violation("ricart-agrawala", Property::RequestOrder, |seed| world("bare", seed));
    assert!(!report.promised.contains(&Property::RequestOrder));
    let entry = quorate_core::catalog::entry("ricart-agrawala").unwrap();
    assert!(!run(entry, &world("numbered", seed)).outcome.violated(Property::RequestOrder));
}

/// C2, T2, and what the others do not promise: a request is overtaken by one that happened after it.
#[test]
fn what_is_not_promised_of_the_request_order_is_not_kept() {
    for entry in ENTRIES.iter().filter(|entry| entry.family == Family::Mutex) {
        if entry.promises.contains(&Property::RequestOrder) {
            continue;
        }
        first_violation(entry.name, Property::RequestOrder, |seed| Experiment {
            clients: ClientPlan { workload: Workload::Causal, entries: 60, ..ClientPlan::default() },
            ..contended(5, seed, Delay::Exponential(DELTA))
        });
    }
}

/// F1: none survives the loss of a message. (Majority voting asks again, but a lost release leaves a vote with nobody.)
#[test]
fn a_lost_message_blocks_every_mutex() {
    for entry in ENTRIES.iter().filter(|entry| entry.family == Family::Mutex) {
        first_violation(entry.name, Property::Progress, |seed| Experiment {
            loss: 0.02,
            ..contended(3, seed, Delay::Constant(DELTA))
        });
    }
}

/// C7, T7, R6: a crash blocks them.
#[test]
fn a_crash_blocks_those_that_assume_none() {
    for name in ["central", "token-ring", "suzuki-kasami", "lamport", "ricart-agrawala", "maekawa-deadlock-free"] {
        let (_, report) = first_violation(name, Property::Progress, |seed| Experiment {
            faults: vec![Fault::Crash(Id::new(1), 5 * DELTA / 2)],
            ..contended(3, seed, Delay::Uniform(DELTA / 2, DELTA))
        });
        assert_eq!(report.broken_assumptions, ["processes crash"], "{name}");
    }
}

/// D3: coordinators that forget their votes let a second one in.
#[test]
fn majority_voting_breaks_when_coordinators_forget() {
    first_violation("majority", Property::MutualExclusion, |seed| {
        let resets = (1..=3).flat_map(|id| {
            let at = 3 * DELTA + u64::from(id) * DELTA / 10;
            [Fault::Crash(Id::new(id), at), Fault::Restart(Id::new(id), at)]
        });
        Experiment {
            faults: resets.collect(),
            clients: ClientPlan { time_inside: 20 * DELTA, ..ClientPlan::default() },
            ..contended(5, seed, Delay::Uniform(DELTA / 2, DELTA))
        }
    });
}

/// H3: a guessed bound that is too small reports the living dead.
#[test]
fn a_heartbeat_with_too_small_a_bound_suspects_the_living() {
    let (_, report) = first_violation("heartbeat", Property::Accuracy, |seed| Experiment {
        bound: Some(DELTA / 10),
        ..contended(3, seed, Delay::Exponential(DELTA))
    });
    assert!(report.outcome.detection.corrections > 0);
}

/// Every breach of an assumption of elections is told, so that no promise breaks without a warning.
#[test]
fn elections_say_what_they_need() {
    let run = |name: &str, experiment: Experiment| run(quorate_core::catalog::entry(name).unwrap(), &experiment);
    let crash =
        |at| Experiment { faults: vec![Fault::Crash(Id::new(4), at)], ..contended(4, 1, Delay::Constant(DELTA)) };
    let unnoticed = run("bully", crash(50 * DELTA));
    assert_eq!(unnoticed.broken_assumptions, ["no process starts an election after the last crash"]);
    assert!(unnoticed.outcome.violated(Property::Decided));
    let noticed = run("bully", Experiment { starters: vec![(Id::new(2), 51 * DELTA)], ..crash(50 * DELTA) });
    assert_eq!((noticed.severity(), noticed.outcome.election.leader()), (Severity::Fine, Some(Id::new(3))));
    for name in ["bully", "ring"] {
        let back = run(
            name,
            Experiment {
                faults: vec![Fault::AbsentFromTheBeginning(Id::new(4)), Fault::Restart(Id::new(4), 50 * DELTA)],
                ..contended(4, 1, Delay::Constant(DELTA))
            },
        );
        assert_eq!(back.broken_assumptions, ["processes restart"]);
        assert_eq!(back.outcome.election.leader(), Some(Id::new(4)), "{name}");
    }
    let orphaned =
        run("bully", Experiment { detector: Some(true), starters: vec![(Id::new(4), 0)], ..crash(DELTA / 2) });
    assert_eq!(orphaned.broken_assumptions, ["every process that starts an election crashes"]);
}
