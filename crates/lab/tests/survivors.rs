//! Everything that lets an algorithm survive crashes, on a bad network: seeded runs with random crashes, returns,
//! pauses, cuts, losses, second arrivals and overtaking.
//!
//! 175 seeds an algorithm in each of seven kinds of worlds, 9,800 in all; `QUORATE_SEEDS=3500 cargo test -p quorate-lab
//! --test survivors` runs so many for each.

use std::collections::BTreeSet;

use quorate_core::catalog::{ENTRIES, Entry, Family, Property};
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::setting::Recovering;
use quorate_core::trace::{Record, What};
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::network::{Delay, Partition};
use quorate_lab::observer::Verdict;
use quorate_lab::random::Chance;
use quorate_lab::recovery::Beside;
use quorate_lab::report::Report;
use quorate_lab::shake::Shaking;
use quorate_lab::simulate::{Fault, last_change};
use quorate_lab::time::DELTA;

/// How many seeds each algorithm gets, in each kind of world.
fn seeds() -> u64 {
    let given = std::env::var("QUORATE_SEEDS").ok();
    given.map_or(175, |seeds| seeds.parse().expect("QUORATE_SEEDS is a number of seeds"))
}

fn mutexes() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().copied().filter(|entry| entry.family == Family::Mutex && entry.recovery.is_some())
}

/// A group of 3 to 9 on a network that repeats and reorders, without faults yet.
fn world(seed: u64) -> Experiment {
    let mut chance = Chance::new(seed);
    let delays = [Delay::Constant(DELTA), Delay::Uniform(DELTA / 10, DELTA), Delay::PerLink(DELTA / 4, DELTA)];
    let workloads = [Workload::Poisson(0.1), Workload::Poisson(0.05), Workload::Contended];
    // The bully's deadlines are those of a network that loses nothing.
    let elections = [Beside::Ring, Beside::ChangRoberts];
    Experiment {
        n: 3 + chance.below(7) as u32,
        seed,
        delay: delays[chance.below(3) as usize],
        duplicate: if chance.happens(0.5) { 0.05 } else { 0.0 },
        recovery: Some(Recovering::with(elections[chance.below(2) as usize])),
        clients: ClientPlan {
            workload: workloads[chance.below(3) as usize].clone(),
            entries: 60,
            withdraw: if chance.happens(0.3) { 0.1 } else { 0.0 },
            ..ClientPlan::default()
        },
        ..Experiment::default()
    }
}

fn faults(seed: u64) -> u32 {
    1 + Chance::new(seed ^ 0xF).below(6) as u32
}

/// Crashes and returns, all of which the detector is right about.
fn crashing_world(seed: u64) -> Experiment {
    world(seed).shaken(Shaking::Crashes, faults(seed))
}

/// The same, and messages are lost. That so many heartbeats in a row are lost does not happen.
fn losing_world(seed: u64) -> Experiment {
    let shaken = crashing_world(seed);
    let recovery = shaken.recovery.map(|recovery| Recovering { missed: 9, ..recovery });
    Experiment { loss: 0.05, recovery, ..shaken }
}

/// The same where nobody comes back.
fn lasting_world(seed: u64) -> Experiment {
    let shaken = losing_world(seed);
    let back: BTreeSet<Id> = shaken
        .faults
        .iter()
        .filter_map(|fault| if let Fault::Restart(id, _) = fault { Some(*id) } else { None })
        .collect();
    let faults = shaken.faults.iter().copied().filter(|fault| match fault {
        Fault::Crash(id, _) => !back.contains(id),
        Fault::AbsentFromTheBeginning(_) | Fault::Restart(..) | Fault::Pause(..) => false,
    });
    Experiment { faults: faults.collect(), ..shaken }
}

/// Whatever can go wrong goes wrong, and ends.
fn shaken_world(seed: u64) -> Experiment {
    world(seed).shaken(Shaking::Everything, faults(seed))
}

/// The same with the quorum guard: processes resign, and come back as newcomers when a majority is there again.
fn guarded_world(seed: u64) -> Experiment {
    let shaken = shaken_world(seed);
    Experiment { recovery: shaken.recovery.map(|recovery| Recovering { guard: true, ..recovery }), ..shaken }
}

/// Runs it, and says when two were inside for the last time.
fn run(entry: &Entry, experiment: &Experiment) -> (Report, Option<Ticks>) {
    let mut inside: BTreeSet<Id> = BTreeSet::new();
    let mut last = None;
    let mut watch = |record: &Record| match record.what {
        What::Entered { .. } => {
            inside.insert(record.process);
            if inside.len() > 1 {
                last = Some(record.at);
            }
        }
        What::Leaving | What::Withdrew | What::Crashed => {
            inside.remove(&record.process);
        }
        _ => {}
    };
    let spectators = Spectators { records: Some(&mut watch), ..Spectators::default() };
    let report = experiment.run(entry.name, spectators).unwrap_or_else(|error| panic!("{error}: {experiment:?}"));
    (report, last)
}

fn assert_held(entry: &Entry, experiment: &Experiment, report: &Report, properties: &[Property]) {
    for property in properties {
        let held = report.outcome.verdict(*property) == Some(&Verdict::Held);
        assert!(held, "{}, seed {}: {property}\n{experiment:?}", entry.name, experiment.seed);
    }
}

fn check(entry: &Entry, experiment: &Experiment, properties: &[Property]) {
    let (report, _) = run(entry, experiment);
    assert_held(entry, experiment, &report, properties);
    assert!(report.outcome.costs.entries > 0, "{}, seed {}", entry.name, experiment.seed);
}

const SAFE_AND_LIVE: [Property; 2] = [Property::MutualExclusion, Property::Progress];

/// Somebody comes back about when others would miss it: some of them have, others hear of its new life before.
fn returning_world(seed: u64) -> Experiment {
    let mut chance = Chance::new(seed ^ 0x2E7);
    let world = world(seed);
    let n = 2 + chance.below(4) as u32;
    let mut at = 0;
    let mut faults = Vec::new();
    for _ in 0..2 {
        let id = Id::at(chance.below(u64::from(n)) as usize);
        at += 10 * DELTA + chance.below(20 * DELTA);
        faults.push(Fault::Crash(id, at));
        at += 4 * DELTA + chance.below(4 * DELTA);
        faults.push(Fault::Restart(id, at));
    }
    let time_inside = DELTA + chance.below(10 * DELTA);
    let delay = [Delay::Uniform(DELTA / 1000, DELTA), Delay::Uniform(DELTA / 10, DELTA)][chance.below(2) as usize];
    Experiment { n, delay, faults, clients: ClientPlan { time_inside, ..world.clients.clone() }, ..world }
}

#[test]
fn who_comes_back_about_when_it_is_missed_is_inside_alone_and_everybody_is_served() {
    for entry in mutexes() {
        for seed in 0..seeds() {
            check(entry, &returning_world(seed), &SAFE_AND_LIVE);
        }
    }
}

/// Somebody does nothing from the beginning on, until the others have given it up: as one that is started late.
fn late_world(seed: u64, gather: bool) -> Experiment {
    let mut chance = Chance::new(seed ^ 0x1A7E);
    let world = world(seed);
    let n = 3 + chance.below(3) as u32;
    let late = Id::at(chance.below(2) as usize);
    let recovery = world.recovery.map(|recovery| Recovering { guard: true, gather, ..recovery });
    let faults = vec![Fault::Pause(late, 0, 30 * DELTA + chance.below(30 * DELTA))];
    let delay = Delay::Uniform(DELTA / 10, DELTA);
    let clients = ClientPlan { time_inside: 4 * DELTA, withdraw: 0.0, ..world.clients.clone() };
    Experiment { n, delay, duplicate: 0.0, recovery, faults, clients, ..world }
}

/// In a laboratory all begin at the same time, and one of them may have the token from the beginning. On a network it
/// may come when the others have made another one. So nobody begins there before all are known to be there.
#[test]
fn who_starts_when_it_has_been_given_up_is_inside_alone_if_all_gather_first() {
    let mut broken = BTreeSet::new();
    for entry in mutexes() {
        for seed in 0..seeds() {
            check(entry, &late_world(seed, true), &SAFE_AND_LIVE);
            let (report, _) = run(entry, &late_world(seed, false));
            broken.extend(report.outcome.violated(Property::MutualExclusion).then_some(entry.name));
        }
    }
    assert!(broken.contains("token-ring"), "a token of the first life is a second one: {broken:?}");
}

#[test]
fn who_voted_for_itself_in_a_former_life_gives_its_vote_to_others() {
    let process = |id| Id::new(id);
    let experiment = Experiment {
        n: 3,
        options: vec![("memory".into(), "kept".into())],
        faults: vec![
            Fault::Crash(process(3), DELTA),
            Fault::Crash(process(1), 20 * DELTA),
            Fault::Restart(process(1), 30 * DELTA),
        ],
        recovery: Some(Recovering::default()),
        clients: ClientPlan {
            workload: Workload::List(vec![(process(1), 15 * DELTA), (process(2), 60 * DELTA)]),
            time_inside: 20 * DELTA,
            ..ClientPlan::default()
        },
        until: Some(1000 * DELTA),
        ..Experiment::default()
    };
    let majority = mutexes().find(|entry| entry.name == "majority").unwrap();
    let (report, _) = run(majority, &experiment);
    assert_held(majority, &experiment, &report, &SAFE_AND_LIVE);
    assert_eq!(report.outcome.costs.entries, 2);
}

#[test]
fn whoever_crashes_and_comes_back_one_at_a_time_is_inside_and_everybody_is_served() {
    for entry in mutexes() {
        for seed in 0..seeds() {
            let experiment = crashing_world(seed);
            check(entry, &experiment, &SAFE_AND_LIVE);
            if experiment.faults.iter().filter(|fault| matches!(fault, Fault::Crash(..))).count() <= 1 {
                check(entry, &experiment, &[Property::Fencing]);
            }
        }
    }
}

/// The run of docs/recovery.md: clocks that are further apart than an era, and what a crash makes of it.
#[test]
fn clocks_further_apart_than_an_era_break_fences_that_grow_over_one_crash() {
    let process = |id| Id::new(id);
    let far = |clock: u64| Experiment {
        n: 3,
        faults: vec![Fault::Crash(process(2), 8 * DELTA)],
        recovery: Some(Recovering::default()),
        clients: ClientPlan {
            workload: Workload::List(vec![(process(2), DELTA), (process(1), 30 * DELTA)]),
            time_inside: 10 * DELTA,
            clocks: vec![(process(3), clock.try_into().unwrap())],
            ..ClientPlan::default()
        },
        ..Experiment::default()
    };
    let maekawa = mutexes().find(|entry| entry.name == "maekawa-deadlock-free").unwrap();
    let [near, apart] = [40_000, 400_000].map(|clock| run(maekawa, &far(clock)).0);
    assert_eq!(near.outcome.verdict(Property::Fencing), Some(&Verdict::Held));
    assert!(apart.outcome.violated(Property::Fencing) && !apart.promised.contains(&Property::Fencing));
}

/// The run of docs/recovery.md: the second who dies has entered in an era that nobody else who lives has heard of.
#[test]
fn over_two_crashes_fences_of_majority_voting_do_not_always_grow() {
    let delay = Delay::Uniform(DELTA / 10, DELTA);
    let calm = Experiment { n: 7, seed: 491, delay, recovery: Some(Recovering::default()), ..Experiment::default() };
    let majority = mutexes().find(|entry| entry.name == "majority").unwrap();
    let (report, _) = run(majority, &calm.shaken(Shaking::Crashes, 2));
    assert!(report.outcome.violated(Property::Fencing) && !report.promised.contains(&Property::Fencing));
}

#[test]
fn whatever_the_network_loses_arrives_at_last() {
    for entry in mutexes() {
        for seed in 0..seeds() {
            check(entry, &losing_world(seed), &SAFE_AND_LIVE);
        }
    }
}

/// Over any number of crashes fences grow with those that say so, as long as nobody comes back who knows less.
#[test]
fn whoever_crashes_for_good_fences_grow() {
    for entry in mutexes() {
        let always = entry.recovery.is_some_and(|recovery| recovery.fenced_crashes.is_none());
        for seed in 0..seeds() {
            let experiment = lasting_world(seed);
            check(entry, &experiment, &SAFE_AND_LIVE);
            if always || experiment.faults.len() <= 1 {
                check(entry, &experiment, &[Property::Fencing]);
            }
        }
    }
}

/// How long after the last fault the last mistake is found and made up for.
const SETTLED: Ticks = 100 * DELTA;

fn heals(world: fn(u64) -> Experiment) {
    for entry in mutexes() {
        for seed in 0..seeds() {
            let experiment = world(seed);
            let (report, last) = run(entry, &experiment);
            assert_held(entry, &experiment, &report, &[Property::Progress]);
            let healed = last_change(&experiment.faults, &experiment.partitions) + SETTLED;
            assert!(last <= Some(healed), "{}, seed {seed}: two inside at {last:?}\n{experiment:?}", entry.name);
        }
    }
}

#[test]
fn after_pauses_and_cuts_everybody_is_served_again_and_one_at_a_time() {
    heals(shaken_world);
}

#[test]
fn with_the_guard_too_everybody_is_served_again_and_one_at_a_time() {
    heals(guarded_world);
}

/// What was found first by a seed that is not among those of every run: both kept a token back, or lost it.
#[test]
fn what_once_went_wrong_does_not_again() {
    let shaken = [
        ("token-ring", 363),
        ("token-ring", 1033),
        ("token-ring", 2181),
        ("suzuki-kasami", 252),
        ("suzuki-kasami", 1236),
        ("suzuki-kasami", 1329),
    ];
    for (algorithm, seed) in shaken {
        let entry = mutexes().find(|entry| entry.name == algorithm).unwrap();
        let experiment = shaken_world(seed);
        let (report, _) = run(entry, &experiment);
        assert_held(entry, &experiment, &report, &[Property::Progress]);
    }
    // Of those who elect, some were told of a pause, and others were not.
    let entry = mutexes().find(|entry| entry.name == "suzuki-kasami").unwrap();
    let experiment = guarded_world(2951);
    assert_held(entry, &experiment, &run(entry, &experiment).0, &[Property::Progress]);
    for (algorithm, seed) in [("token-ring", 1553), ("suzuki-kasami", 1113), ("suzuki-kasami", 189)] {
        let entry = mutexes().find(|entry| entry.name == algorithm).unwrap();
        check(entry, &crashing_world(seed), &SAFE_AND_LIVE);
    }
}

#[test]
fn what_does_not_recover_is_refused() {
    for algorithm in ["maekawa", "ring", "heartbeat"] {
        let error = world(1).run(algorithm, Spectators::default()).unwrap_err().to_string();
        assert!(
            error
                .starts_with(&format!("{algorithm} has no recovery from crashes; these algorithms have it: central, ")),
            "{error}"
        );
    }
}

/// Five of which two are cut off for 200 δ.
fn cut(seed: u64, guard: bool) -> Experiment {
    let part = vec![Id::new(1), Id::new(2)];
    Experiment {
        n: 5,
        seed,
        partitions: vec![Partition { parts: vec![part], from: 20 * DELTA, to: 220 * DELTA }],
        recovery: Some(Recovering { guard, ..Recovering::default() }),
        clients: ClientPlan {
            workload: Workload::Poisson(0.1),
            entries: 200,
            time_inside: 4 * DELTA,
            ..ClientPlan::default()
        },
        ..Experiment::default()
    }
}

/// How many entries there are on the smaller side of the cut when it has been found out, and whether two were inside.
fn in_a_minority(entry: &Entry, experiment: &Experiment) -> (usize, bool) {
    let mut alone = 0;
    let mut count = |record: &Record| {
        let is_cut = (40 * DELTA..220 * DELTA).contains(&record.at);
        alone += usize::from(is_cut && record.process <= Id::new(2) && matches!(record.what, What::Entered { .. }));
    };
    let spectators = Spectators { records: Some(&mut count), ..Spectators::default() };
    let report = experiment.run(entry.name, spectators).unwrap();
    assert_held(entry, experiment, &report, &[Property::Progress]);
    (alone, report.outcome.violated(Property::MutualExclusion))
}

/// What the quorum guard prevents: that a minority goes on by itself; and, as the others wait until it has found out
/// that it is one, that they let somebody in while one of it is still inside.
#[test]
fn with_the_guard_a_minority_lets_nobody_in_and_who_is_inside_has_left_before_the_others_go_on() {
    let mut entries = BTreeSet::new();
    for entry in mutexes() {
        let (mut without, mut entered, mut broken) = (0, 0, [0, 0]);
        for seed in 0..20 {
            let (alone, two) = in_a_minority(entry, &cut(seed, false));
            without += alone;
            broken[0] += usize::from(two);
            let (alone, two) = in_a_minority(entry, &cut(seed, true));
            entered += alone;
            broken[1] += usize::from(two);
        }
        println!("{}: {without} entries of a minority, {entered} with the guard; two inside: {broken:?}", entry.name);
        // Votes are the guard of who votes by majority.
        let is_majority = entry.name == "majority";
        let all_runs = if is_majority { 0 } else { 20 };
        assert_eq!((without > 0, broken[0]), (!is_majority, all_runs), "{}", entry.name);
        assert_eq!((entered, broken[1]), (0, 0), "{}", entry.name);
        entries.extend((!is_majority).then_some(without));
    }
    assert_eq!((entries.first(), entries.last()), (Some(&237), Some(&461)), "docs/recovery.md says how many");
}

/// What it does not prevent: who is not awake does not find out anything. Process 1 is paused for 100 δ, of which 4 are
/// its time inside. In some runs it is inside then, and another enters; in others it waits, and what others said in the
/// meantime lets it in when it wakes up, though they have given it up since. Of the latter the guard makes more: in the
/// grace, others go on saying such things.
#[test]
fn with_the_guard_who_is_paused_is_not_alone_when_it_goes_on() {
    let (from, to) = (40 * DELTA, 140 * DELTA);
    let (mut asleep, mut awake) = (BTreeSet::new(), (0, 0));
    for entry in mutexes() {
        let paused = |seed, guard| {
            let faults = vec![Fault::Pause(Id::new(1), from, to)];
            Experiment { partitions: Vec::new(), faults, ..cut(seed, guard) }
        };
        let [without, with] = [false, true].map(|guard| {
            let (mut asleep, mut awake) = (0, 0);
            for seed in 0..60 {
                let (_, two) = run(entry, &paused(seed, guard));
                match two {
                    Some(at) if at < to => asleep += 1,
                    Some(_) => awake += 1,
                    None => {}
                }
            }
            (asleep, awake)
        });
        println!("{}: two inside (while it sleeps, when it wakes) {without:?}, with the guard {with:?}", entry.name);
        assert_eq!(with.0, without.0, "{}", entry.name);
        assert!(with.1 >= without.1, "{}", entry.name);
        asleep.extend((entry.name != "central").then_some(with.0));
        awake = (awake.0.max(without.1), awake.1.max(with.1));
    }
    assert_eq!((asleep.first(), asleep.last()), (Some(&7), Some(&13)), "docs/recovery.md says in how many");
    assert_eq!(awake, (12, 21), "docs/recovery.md says in how many");
}
