//! How runs end, that they can be repeated, and that no experiment breaks the laboratory.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use quorate_core::catalog::{ENTRIES, Family, Property};
use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::Record;
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::experiment::{Experiment, ExperimentError, Spectators};
use quorate_lab::network::{Delay, Order, Partition};
use quorate_lab::observer::{Ending, Verdict};
use quorate_lab::report::Severity;
use quorate_lab::simulate::Fault;
use quorate_lab::time::DELTA;

use crate::chatter::watch;

fn verdict(experiment: &Experiment, algorithm: &str, property: Property) -> (Ending, Verdict) {
    let (report, _) = watch(experiment, algorithm);
    (report.outcome.ending, report.outcome.verdict(property).expect("it was watched").clone())
}

#[test]
fn a_cut_run_ends_when_it_was_to_end_and_liveness_is_undecided() {
    let until = Some(25 * DELTA / 10);
    let (report, records) = watch(&Experiment { until, ..Experiment::default() }, "central");
    assert_eq!((report.outcome.ending, report.outcome.end), (Ending::CutOff, 25 * DELTA / 10));
    assert_eq!(report.outcome.verdict(Property::Progress), Some(&Verdict::Undecided));
    assert_eq!(report.outcome.verdict(Property::MutualExclusion), Some(&Verdict::Held));
    assert_eq!(report.severity(), Severity::Undecided);
    assert!(records.iter().all(|record| record.at <= 25 * DELTA / 10));
    // What happens at that very moment still happens.
    let (_, records) = watch(&Experiment { until: Some(2 * DELTA), ..Experiment::default() }, "central");
    assert_eq!(records.last().map(|record| record.at), Some(2 * DELTA));
}

#[test]
fn who_is_cut_off_while_nobody_waits_has_made_progress() {
    let clients = ClientPlan { workload: Workload::Alone, entries: 5, ..ClientPlan::default() };
    let experiment = Experiment { until: Some(25 * DELTA / 10), clients, ..Experiment::default() };
    assert_eq!(verdict(&experiment, "central", Property::Progress), (Ending::CutOff, Verdict::Held));
}

#[test]
fn a_detector_that_is_cut_off_before_it_can_know_is_undecided() {
    let faults = vec![Fault::Crash(Id::new(3), 50 * DELTA)];
    let run = |until| {
        verdict(
            &Experiment { until, faults: faults.clone(), ..Experiment::default() },
            "heartbeat",
            Property::Completeness,
        )
    };
    assert_eq!(run(Some(51 * DELTA)), (Ending::CutOff, Verdict::Undecided));
    assert_eq!(run(Some(60 * DELTA)), (Ending::CutOff, Verdict::Held));
    assert_eq!(run(None), (Ending::CutOff, Verdict::Held));
}

#[test]
fn a_stranger_detector_without_options_runs_too() {
    // It never finds anything out, and by default the run lasts long enough to say so.
    let faults = vec![Fault::Crash(Id::new(3), 50 * DELTA)];
    let report =
        Experiment { faults, ..Experiment::default() }.run_detector::<blind::Blind>(Spectators::default()).unwrap();
    assert!(report.outcome.violated(Property::Completeness) && report.outcome.end >= 50 * DELTA);
}

mod blind {
    //! A detector that sees nothing, but never rests.

    use quorate_core::catalog::{Entry, Family};
    use quorate_core::detector::{Detector, Input, Output};
    use quorate_core::process::{self, Effects, Event, Process};
    use quorate_core::setting::Setting;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub(super) struct Blind;

    #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub(super) struct Nothing;

    impl process::Message for Nothing {
        fn kind(&self) -> &'static str {
            "nothing"
        }
    }

    impl Detector for Blind {
        const ENTRY: Entry = Entry { restless: true, ..Entry::new("blind", Family::Detector) };

        fn new(_: &Setting) -> Self {
            Blind
        }
    }

    impl Process for Blind {
        type Message = Nothing;
        type Input = Input;
        type Output = Output;
        type Timer = ();
        type Stable = ();

        fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
            match event {
                Event::Start { .. } | Event::Timeout(()) => effects.set_timer((), 1_000_000..=1_000_000),
                Event::Input(never) => match never {},
                Event::Notice(_) | Event::Receive { .. } => {}
            }
        }
    }
}

/// Slowness is no stall: whoever waits is served in the end.
#[test]
fn waiting_for_long_is_not_waiting_for_ever() {
    let held = |experiment: Experiment| {
        let experiment = Experiment { n: 3, ..experiment };
        for algorithm in ["central", "ricart-agrawala", "token-ring", "majority"] {
            let (ending, verdict) = verdict(&experiment, algorithm, Property::Progress);
            assert_eq!(verdict, Verdict::Held, "{algorithm}: {ending:?} of {experiment:?}");
        }
    };
    let long = 20_000 * DELTA;
    let clients = ClientPlan { entries: 4, ..ClientPlan::default() };
    held(Experiment { clients: ClientPlan { time_inside: long, ..clients.clone() }, ..Experiment::default() });
    held(Experiment { delay: Delay::Constant(long), clients: clients.clone(), ..Experiment::default() });
    held(Experiment { delay: Delay::Exponential(long), clients: clients.clone(), ..Experiment::default() });
    let faults = vec![Fault::Pause(Id::new(1), DELTA / 2, long)];
    held(Experiment { faults, clients: clients.clone(), ..Experiment::default() });
    let partitions = vec![Partition { parts: vec![vec![Id::new(1)]], from: DELTA / 2, to: long }];
    held(Experiment { partitions, clients, ..Experiment::default() });
}

/// Those who wait try again and again meanwhile, so that much happens and nothing comes of it.
#[test]
fn nobody_is_given_up_before_what_is_planned_has_ended() {
    let long = 100_000 * DELTA;
    let alone = Id::all(3).map(|id| vec![id]).collect();
    let partitions = vec![Partition { parts: alone, from: DELTA / 2, to: long }];
    let cut = Experiment { n: 3, partitions, ..Experiment::default() };
    let paused = [1, 2].map(|id| Fault::Pause(Id::new(id), DELTA / 2, long)).to_vec();
    let gone = [1, 2].map(Id::new).into_iter();
    let gone = gone.flat_map(|id| [Fault::AbsentFromTheBeginning(id), Fault::Restart(id, long)]).collect();
    for experiment in [cut.clone(), with_faults(&cut, paused), with_faults(&cut, gone)] {
        let (report, _) = watch(&experiment, "majority");
        assert!(report.outcome.events > 2_000 && report.outcome.end > long, "{experiment:?}");
        assert_eq!(report.outcome.verdict(Property::Progress), Some(&Verdict::Held), "{experiment:?}");
    }
    // They wait for as long as they think that messages may take.
    let slow = Experiment { n: 30, bound: Some(100 * long), ..Experiment::default() };
    assert_eq!(verdict(&slow, "majority", Property::Progress), (Ending::Quiet, Verdict::Held));
}

fn with_faults(experiment: &Experiment, faults: Vec<Fault>) -> Experiment {
    Experiment { faults, partitions: vec![], ..experiment.clone() }
}

#[test]
fn a_run_is_over_when_the_algorithm_goes_on_for_nobody() {
    // Without a majority that lives, a request is never granted, and after it was taken back the algorithm still asks.
    let workload = Workload::List(vec![(Id::new(2), 0)]);
    let clients = ClientPlan { workload, withdraw: 1.0, ..ClientPlan::default() };
    let faults = vec![Fault::AbsentFromTheBeginning(Id::new(1))];
    let experiment = Experiment { n: 2, clients, faults, ..Experiment::default() };
    assert_eq!(verdict(&experiment, "majority", Property::Progress), (Ending::Stalled, Verdict::Held));
}

#[test]
fn a_late_or_slow_election_is_not_cut_off() {
    let late = Experiment { starters: vec![(Id::new(2), 3_000_000 * DELTA)], ..Experiment::default() };
    let slow = Experiment { delay: Delay::Constant(3_000_000 * DELTA), ..Experiment::default() };
    for algorithm in ["chang-roberts", "bully", "ring"] {
        for experiment in [&late, &slow] {
            let (ending, verdict) = verdict(experiment, algorithm, Property::Decided);
            assert_eq!((ending, verdict), (Ending::Quiet, Verdict::Held), "{algorithm} in {experiment:?}");
        }
    }
}

#[test]
fn time_itself_can_end() {
    // Each message takes 10^15 ticks, and there are 2^64.
    let clients = ClientPlan { entries: 50_000, ..ClientPlan::default() };
    let experiment = Experiment { delay: Delay::Constant(1_000_000_000 * DELTA), clients, ..Experiment::default() };
    for algorithm in ["central", "token-ring", "majority"] {
        assert_eq!(
            verdict(&experiment, algorithm, Property::Progress),
            (Ending::CutOff, Verdict::Undecided),
            "{algorithm}"
        );
    }
    let delay = Delay::Exponential(1_000_000_000 * DELTA);
    let options = vec![("interval".to_string(), "1000".to_string())];
    watch(&Experiment { delay, options, ..Experiment::default() }, "heartbeat");
    let late = Ticks::MAX;
    for entry in ENTRIES {
        let faults = vec![
            Fault::Crash(Id::new(2), late - 1),
            Fault::Restart(Id::new(2), late),
            Fault::Pause(Id::new(1), late - 1, late),
        ];
        let partitions = vec![Partition { parts: vec![], from: late - 1, to: late }];
        let workload = Workload::List(vec![(Id::new(1), 0), (Id::new(2), late)]);
        let clients = ClientPlan { workload, time_inside: late, ..ClientPlan::default() };
        watch(
            &Experiment { faults, partitions, clients, until: Some(100 * DELTA), ..Experiment::default() },
            entry.name,
        );
    }
}

#[test]
fn one_process_is_a_group() {
    for entry in ENTRIES {
        for workload in [Workload::Alone, Workload::Contended, Workload::Poisson(1.0), Workload::Causal] {
            let clients = ClientPlan { workload, ..ClientPlan::default() };
            let (report, _) = watch(&Experiment { n: 1, clients, ..Experiment::default() }, entry.name);
            assert_eq!(report.severity(), Severity::Fine, "{}", entry.name);
            assert_eq!(
                report.outcome.costs.entries,
                if entry.family == Family::Mutex { 20 } else { 0 },
                "{}",
                entry.name
            );
        }
    }
}

#[test]
fn more_requests_than_can_be_counted_are_cut_off_like_others() {
    let clients = ClientPlan { entries: u64::MAX, ..ClientPlan::default() };
    for entry in ENTRIES.iter().filter(|entry| entry.family == Family::Mutex) {
        let experiment = Experiment { clients: clients.clone(), until: Some(100 * DELTA), ..Experiment::default() };
        let (report, _) = watch(&experiment, entry.name);
        assert!(report.outcome.ending == Ending::CutOff || entry.name == "maekawa", "{}", entry.name);
    }
}

#[test]
fn impossible_groups_are_refused_before_anything_is_built() {
    for n in [0, 20_000, u32::MAX] {
        for entry in ENTRIES {
            let refused = Experiment { n, ..Experiment::default() }.run(entry.name, Spectators::default());
            assert!(matches!(refused, Err(ExperimentError::Setting(_))), "{} with n = {n}", entry.name);
        }
    }
}

#[test]
fn impossible_plans_are_refused() {
    let two = Id::new(2);
    let nine = Id::new(9);
    let cut = |parts: Vec<Vec<Id>>, from, to| Experiment {
        partitions: vec![Partition { parts, from, to }],
        ..Experiment::default()
    };
    let faults = |faults: &[Fault]| Experiment { faults: faults.to_vec(), ..Experiment::default() };
    let list = ClientPlan { workload: Workload::List(vec![(nine, 0)]), ..ClientPlan::default() };
    let clocks = ClientPlan { clocks: vec![(nine, Number::ZERO)], ..ClientPlan::default() };
    let absent: Vec<Fault> = Id::all(5).map(Fault::AbsentFromTheBeginning).collect();
    let refusals = [
        (faults(&[Fault::Crash(nine, 1)]), "crash of process 9: no such process; process ids are 1 to 5"),
        (faults(&[Fault::Restart(nine, 1)]), "restart of process 9: no such process; process ids are 1 to 5"),
        (faults(&[Fault::Pause(nine, 1, 2)]), "pause of process 9: no such process; process ids are 1 to 5"),
        (faults(&[Fault::Pause(two, DELTA, DELTA)]), "pause from 1 to 1: it must end after it begins"),
        (faults(&absent), "all 5 processes are absent from the beginning: at least one must live"),
        (cut(vec![vec![nine]], 0, 1), "partition of process 9: no such process; process ids are 1 to 5"),
        (cut(vec![vec![two], vec![two]], 0, 1), "partition: process 2 is in two parts"),
        (cut(vec![], 2 * DELTA, DELTA), "partition from 2 to 1: it must end after it begins"),
        (
            Experiment { clients: list, ..Experiment::default() },
            "request of process 9: no such process; process ids are 1 to 5",
        ),
        (
            Experiment { clients: clocks, ..Experiment::default() },
            "clock of process 9: no such process; process ids are 1 to 5",
        ),
        (
            Experiment { starters: vec![(nine, 0)], ..Experiment::default() },
            "starter of process 9: no such process; process ids are 1 to 5",
        ),
        (
            Experiment { starters: vec![(two, 0)], ..faults(&[Fault::AbsentFromTheBeginning(two)]) },
            "process 2 cannot start an election at time 0, because it is absent; choose another starter",
        ),
        (
            Experiment { delay: Delay::Constant(0), ..Experiment::default() },
            "delay 0..0: the first value must be at least 0.000001 δ and not larger than the second",
        ),
        (
            Experiment { delay: Delay::Uniform(2 * DELTA, DELTA), ..Experiment::default() },
            "delay 2..1: the first value must be at least 0.000001 δ and not larger than the second",
        ),
    ];
    for (experiment, why) in refusals {
        for algorithm in ["central", "bully", "heartbeat"] {
            let refused = experiment.run(algorithm, Spectators::default()).unwrap_err();
            assert_eq!(refused.to_string(), why);
        }
    }
}

#[test]
fn to_watch_a_run_does_not_change_it() {
    for entry in ENTRIES {
        let experiment =
            Experiment { delay: Delay::Exponential(DELTA), until: Some(200 * DELTA), ..Experiment::default() };
        let (watched, records) = watch(&experiment, entry.name);
        let unwatched = Experiment { properties: Some(vec![]), ..experiment.clone() };
        let unwatched = unwatched.run(entry.name, Spectators::default()).unwrap();
        assert_eq!(watched.outcome.costs, unwatched.outcome.costs, "{}", entry.name);
        assert_eq!(watched.outcome.events, unwatched.outcome.events, "{}", entry.name);
        let kept = Experiment { keep_records: records.len(), ..experiment.clone() };
        assert_eq!(kept.run(entry.name, Spectators::default()).unwrap().outcome.records, Some(records.clone()));
        let too_many = Experiment { keep_records: records.len() - 1, ..experiment };
        assert_eq!(too_many.run(entry.name, Spectators::default()).unwrap().outcome.records, None);
    }
}

#[test]
fn another_seed_is_another_run_where_anything_is_left_to_chance() {
    for entry in ENTRIES {
        let run = |seed, delay| {
            watch(&Experiment { seed, delay, until: Some(100 * DELTA), ..Experiment::default() }, entry.name).1
        };
        for delay in [Delay::Exponential(DELTA), Delay::Uniform(DELTA / 2, DELTA), Delay::PerLink(DELTA / 2, DELTA)] {
            assert_ne!(run(1, delay), run(2, delay), "{} with {delay:?}", entry.name);
        }
        if entry.name != "majority" {
            assert_eq!(run(1, Delay::Constant(DELTA)), run(2, Delay::Constant(DELTA)), "{}", entry.name);
        }
    }
}

fn delays() -> impl Strategy<Value = Delay> {
    prop_oneof![
        Just(Delay::Constant(DELTA)),
        Just(Delay::Uniform(1, 2 * DELTA)),
        Just(Delay::Exponential(DELTA)),
        Just(Delay::PerLink(DELTA / 2, 3 * DELTA)),
    ]
}

/// Times of which many are the same.
fn moments() -> impl Strategy<Value = Ticks> {
    (0..12u64).prop_map(|half| half * DELTA / 2)
}

fn faults(n: u32) -> impl Strategy<Value = Vec<Fault>> {
    let faults = (1..=n, moments(), moments(), 0..4).prop_map(|(id, at, length, kind)| match (Id::new(id), kind) {
        (id, 0) => vec![Fault::AbsentFromTheBeginning(id)],
        (id, 1) => vec![Fault::Crash(id, at)],
        (id, 2) => vec![Fault::Crash(id, at), Fault::Restart(id, at + length)],
        (id, _) => vec![Fault::Pause(id, at, at + length + 1)],
    });
    prop::collection::vec(faults, 0..4).prop_map(|faults| faults.concat())
}

fn partitions(n: u32) -> impl Strategy<Value = Vec<Partition>> {
    let cut = (prop::sample::subsequence(Id::all(n).collect::<Vec<_>>(), 0..=n as usize), moments(), moments());
    let cut = cut.prop_map(|(part, from, length)| Partition { parts: vec![part], from, to: from + length + 1 });
    prop::collection::vec(cut, 0..3)
}

fn workloads(n: u32) -> impl Strategy<Value = Workload> {
    let request = (1..=n, moments()).prop_map(|(id, at)| (Id::new(id), at));
    prop_oneof![
        Just(Workload::Alone),
        Just(Workload::Contended),
        Just(Workload::Poisson(0.5)),
        Just(Workload::Causal),
        prop::collection::vec(request, 0..8).prop_map(Workload::List),
    ]
}

/// Anything that can happen to a small group; some of it is refused.
fn experiments() -> impl Strategy<Value = Experiment> {
    (1..=4u32).prop_flat_map(|n| {
        let network = (delays(), prop::option::of(prop_oneof![Just(Order::Fifo), Just(Order::Any)]), 0..3u8, 0..3u8);
        let clients = (workloads(n), 0..3u8, moments());
        (any::<u64>(), network, partitions(n), faults(n), clients, any::<bool>(), prop_oneof![Just(0), Just(100_000)])
            .prop_map(
                move |(
                    seed,
                    (delay, order, loss, duplicate),
                    partitions,
                    faults,
                    (workload, withdraw, time_inside),
                    told,
                    drift_ppm,
                )| {
                    let chance = |some: u8| f64::from(some) * 0.15;
                    Experiment {
                        n,
                        seed,
                        delay,
                        order,
                        loss: chance(loss),
                        duplicate: chance(duplicate),
                        partitions,
                        faults,
                        drift_ppm,
                        detector: told.then_some(true),
                        clients: ClientPlan {
                            entries_each: None,
                            workload,
                            entries: 12,
                            time_inside,
                            withdraw: chance(withdraw),
                            clocks: vec![],
                        },
                        ..Experiment::default()
                    }
                },
            )
    })
}

/// The report of a run and all that happened; the run must come to an end by itself.
fn run(experiment: &Experiment, algorithm: &str) -> Result<(String, Vec<Record>), ExperimentError> {
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    let mut limit = |events, _| assert!(events < 1_000_000, "{algorithm} does not come to an end: {experiment:?}");
    let spectators = Spectators { records: Some(&mut keep), progress: Some(&mut limit), ..Spectators::default() };
    let report = experiment.run(algorithm, spectators)?;
    let json = serde_json::to_string(&report.json()).expect("a report is plain data");
    Ok((json, records))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn every_experiment_ends_and_can_be_repeated(experiment in experiments()) {
        for entry in ENTRIES {
            let first = run(&experiment, entry.name);
            prop_assert_eq!(&first, &run(&experiment, entry.name), "{}", entry.name);
            if let Ok((_, records)) = first {
                prop_assert!(records.is_sorted_by_key(|record| record.at), "time goes on");
            }
        }
    }
}
