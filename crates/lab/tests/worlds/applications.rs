//! What applications do, and that they die and come back with their processes.

use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Record, What};
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::experiment::Experiment;
use quorate_lab::observer::Ending;
use quorate_lab::simulate::Fault;
use quorate_lab::time::DELTA;

use crate::chatter::{times, watch};

fn asks(list: &[(u32, Ticks)]) -> ClientPlan {
    let list = list.iter().map(|&(id, at)| (Id::new(id), at * DELTA)).collect();
    ClientPlan { workload: Workload::List(list), ..ClientPlan::default() }
}

fn wanted(records: &[Record], process: u32) -> Vec<Ticks> {
    times(records, process, |what| *what == What::Wanted)
}

fn crash_and_restart(id: u32, crash: Ticks, restart: Ticks) -> Vec<Fault> {
    vec![Fault::Crash(Id::new(id), crash), Fault::Restart(Id::new(id), restart)]
}

#[test]
fn the_last_asks_alone_and_again_when_it_has_left() {
    let clients = ClientPlan { workload: Workload::Alone, entries: 3, ..ClientPlan::default() };
    let (report, records) = watch(&Experiment { clients, ..Experiment::default() }, "central");
    assert_eq!(wanted(&records, 5), [0, 3 * DELTA, 6 * DELTA]);
    assert_eq!(times(&records, 5, |what| *what == What::Leaving), [3 * DELTA, 6 * DELTA, 9 * DELTA]);
    assert_eq!(report.outcome.costs.entries, 3);
    assert!((1..5).all(|id| wanted(&records, id).is_empty()));
}

#[test]
fn no_more_requests_are_made_than_planned_and_the_coordinator_makes_none() {
    let clients = ClientPlan { entries: 7, ..ClientPlan::default() };
    let (report, records) = watch(&Experiment { clients, ..Experiment::default() }, "central");
    let requests: Vec<usize> = (1..=5).map(|id| wanted(&records, id).len()).collect();
    assert_eq!((requests[0], requests.iter().sum::<usize>(), report.outcome.costs.entries), (0, 7, 7));
    assert!((2..=5).all(|id| wanted(&records, id)[0] == 0), "all at once");
}

#[test]
fn a_list_is_followed_to_the_letter() {
    let clients = asks(&[(3, 4), (1, 2), (3, 20)]);
    let (report, records) = watch(&Experiment { clients, ..Experiment::default() }, "central");
    assert_eq!((wanted(&records, 1), wanted(&records, 3)), (vec![2 * DELTA], vec![4 * DELTA, 20 * DELTA]));
    assert_eq!((1..=5).map(|id| wanted(&records, id).len()).sum::<usize>(), 3);
    assert_eq!(report.outcome.costs.entries, 3);
}

#[test]
fn rates_are_per_message_delay() {
    let clients = ClientPlan { workload: Workload::Poisson(0.1), entries: 2_000, ..ClientPlan::default() };
    let clients = ClientPlan { time_inside: 0, ..clients };
    let (report, records) = watch(&Experiment { n: 1, clients, ..Experiment::default() }, "central");
    let span = report.outcome.end as f64 / DELTA as f64;
    assert_eq!(wanted(&records, 1).len(), 2_000);
    assert!((span / 20_000.0 - 1.0).abs() < 0.1, "{span} δ for 2000 requests, one every 10 δ");
}

#[test]
fn who_asks_tells_another_which_then_asks_having_seen_the_stamp() {
    let clients = ClientPlan { workload: Workload::Causal, entries: 200, ..ClientPlan::default() };
    let (report, records) = watch(&Experiment { clients, ..Experiment::default() }, "ricart-agrawala");
    assert_eq!(report.outcome.costs.entries, 200);
    let mut followed = 0;
    for (index, record) in records.iter().enumerate() {
        if let What::Poked { to, sequence } = record.what {
            let before = &records[..index];
            assert!(before.iter().any(|asked| asked.what == What::Wanted && asked.process == record.process));
            let from = record.process;
            let heard = Record { at: record.at + DELTA, process: to, what: What::Heard { from, sequence } };
            assert!(records.contains(&heard), "{record:?}");
            let asks = Record { what: What::Wanted, ..heard };
            followed += u32::from(records.contains(&asks));
        }
    }
    assert!(followed > 20, "only {followed} asked because they were told");
}

#[test]
fn clocks_begin_where_they_are_set() {
    let clocks = vec![(Id::new(2), Number::try_from(40).unwrap())];
    let clients = ClientPlan { clocks, ..asks(&[(2, 0)]) };
    let (_, records) = watch(&Experiment { clients, ..Experiment::default() }, "ricart-agrawala");
    let number = records.iter().find_map(|record| match &record.what {
        What::Sent { label, .. } => label.number,
        _ => None,
    });
    assert_eq!(number, Some(41));
}

/// Process 2 is inside from 2 to 3.
#[test]
fn an_application_dies_with_its_process_and_its_alarms_with_it() {
    let faults = crash_and_restart(2, 25 * DELTA / 10, 27 * DELTA / 10);
    let experiment = Experiment { n: 3, faults, ..Experiment::default() };
    let (_, records) = watch(&experiment, "central");
    assert_eq!(times(&records, 2, |what| matches!(what, What::Entered { .. })), [2 * DELTA]);
    assert!(times(&records, 2, |what| *what == What::Leaving).is_empty());
    // Its next life asks anew, at once.
    assert_eq!(wanted(&records, 2), [0, 27 * DELTA / 10]);
}

#[test]
fn a_life_that_has_ended_does_not_ask_in_the_next() {
    // Were the next request of each life still made, there would be twenty times as many afterwards.
    let faults: Vec<_> = (1..=20).flat_map(|at| crash_and_restart(1, at * DELTA, at * DELTA)).collect();
    let clients =
        ClientPlan { workload: Workload::Poisson(0.1), entries: 100_000, time_inside: 0, ..ClientPlan::default() };
    let until = Some(2_020 * DELTA);
    let (_, records) = watch(&Experiment { n: 1, faults, clients, until, ..Experiment::default() }, "central");
    let requests = wanted(&records, 1).into_iter().filter(|&at| at > 20 * DELTA).count();
    assert!((140..260).contains(&requests), "{requests} requests in 2000 δ, one every 10 δ");
}

#[test]
fn who_begins_late_asks_at_its_own_rate() {
    let faults = vec![Fault::AbsentFromTheBeginning(Id::new(2)), Fault::Restart(Id::new(2), DELTA)];
    let plan =
        ClientPlan { workload: Workload::Poisson(0.01), entries: 100_000, time_inside: 0, ..ClientPlan::default() };
    let mut requests = 0;
    for seed in 1..=20 {
        let (faults, clients) = (faults.clone(), plan.clone());
        let until = Some(1_001 * DELTA);
        let (_, records) =
            watch(&Experiment { n: 3, seed, faults, clients, until, ..Experiment::default() }, "suzuki-kasami");
        requests += wanted(&records, 2).len();
    }
    assert!((150..250).contains(&requests), "{requests} requests in 20000 δ, one every 100 δ");
}

#[test]
fn a_list_speaks_of_times_not_of_lives() {
    let restarted = Experiment {
        clients: asks(&[(2, 10)]),
        faults: crash_and_restart(2, DELTA, 2 * DELTA),
        ..Experiment::default()
    };
    assert_eq!(wanted(&watch(&restarted, "central").1, 2), [10 * DELTA]);
    let faults = vec![Fault::Crash(Id::new(2), DELTA)];
    let (report, records) = watch(&Experiment { faults, ..restarted }, "central");
    assert_eq!((wanted(&records, 2), report.outcome.ending), (vec![], Ending::Quiet));
}

/// Nobody asks any more, though fewer requests were made than listed: the token would go round for ever.
#[test]
fn a_run_that_is_never_quiet_is_over_when_nobody_will_ask_again() {
    let (report, records) =
        watch(&Experiment { clients: asks(&[(2, 0), (2, 0), (3, 5)]), ..Experiment::default() }, "token-ring");
    assert_eq!((wanted(&records, 2).len(), wanted(&records, 3).len()), (1, 1));
    assert_eq!((report.outcome.ending, report.outcome.costs.entries), (Ending::Finished, 2));
    let (report, _) = watch(&Experiment { clients: asks(&[]), ..Experiment::default() }, "token-ring");
    assert_eq!(report.outcome.ending, Ending::Finished);
    // Only a request that is made while another waits is not made; one that comes later is waited for.
    let (report, _) =
        watch(&Experiment { clients: asks(&[(2, 0), (2, 0), (3, 500)]), ..Experiment::default() }, "token-ring");
    assert_eq!(report.outcome.costs.entries, 2);
}
