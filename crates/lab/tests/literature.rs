//! What the literature says of the algorithms' costs, and its worked examples, run.

use quorate_core::catalog::{Family, Measure};
use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Record, What};
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::compare::{Row, compare};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::report::Report;
use quorate_lab::simulate::Fault;
use quorate_lab::time::DELTA;

const SIZES: [u32; 4] = [3, 5, 9, 25];

fn rows(family: Family) -> Vec<Row> {
    compare(family, &[], &SIZES, &mut || {}).unwrap()
}

/// Whether a published figure was measured at every size.
fn agrees(rows: &[Row], algorithm: &str, measure: Measure, formula: &str) -> bool {
    let mut found =
        rows.iter().filter(|row| (row.algorithm, row.measure, row.formula) == (algorithm, measure, Some(formula)));
    let row = found.next().unwrap_or_else(|| panic!("nobody published {formula} of {algorithm}"));
    assert_eq!(row.cells.len(), SIZES.len());
    row.cells.iter().all(|cell| !cell.differs)
}

#[test]
fn measured_costs_of_mutual_exclusion_are_the_published_ones() {
    let rows = rows(Family::Mutex);
    for (algorithm, measure, formula) in [
        ("central", Measure::Messages, "3"),
        ("central", Measure::MessagesToExit, "1"),
        ("central", Measure::ClientDelay, "2"),
        ("central", Measure::ExitDelay, "0"),
        ("central", Measure::SyncDelay, "2"),
        ("token-ring", Measure::MessagesToExit, "1"),
        ("token-ring", Measure::ClientDelay, "N/2 on average"),
        ("token-ring", Measure::SyncDelay, "1 to N"),
        ("central", Measure::MessagesToEnter, "2"),
        ("suzuki-kasami", Measure::Messages, "N"),
        ("suzuki-kasami", Measure::MessagesAgain, "0"),
        ("suzuki-kasami", Measure::MessagesContended, "N"),
        ("lamport", Measure::Messages, "3(N−1)"),
        ("lamport", Measure::ClientDelay, "2"),
        ("lamport", Measure::SyncDelay, "1"),
        ("ricart-agrawala", Measure::Messages, "2(N−1)"),
        ("ricart-agrawala", Measure::ClientDelay, "2"),
        ("ricart-agrawala", Measure::SyncDelay, "1"),
        ("roucairol-carvalho", Measure::Messages, "2(N−1)"),
        ("roucairol-carvalho", Measure::MessagesAgain, "0"),
        ("maekawa", Measure::Messages, "3(K−1)"),
        ("maekawa", Measure::ClientDelay, "2"),
        ("maekawa-deadlock-free", Measure::Messages, "3(K−1)"),
    ] {
        assert!(agrees(&rows, algorithm, measure, formula), "{algorithm}: {formula}");
    }
}

/// Where documents contradict each other, at most one is right, and a comparison that could not differ would be none.
#[test]
fn what_is_published_and_wrong_differs() {
    let rows = rows(Family::Mutex);
    assert!(!agrees(&rows, "ricart-agrawala", Measure::Messages, "2N−1"));
    assert!(!agrees(&rows, "maekawa", Measure::Messages, "3√N"));
    assert!(!agrees(&rows, "central", Measure::ExitDelay, "1"));
    assert!(!agrees(&rows, "central", Measure::ExitDelay, "0.5"));
    assert!(!agrees(&rows, "token-ring", Measure::MessagesToExit, "(N+1)/2"));
}

#[test]
fn measured_costs_of_elections_are_the_published_ones() {
    let rows = rows(Family::Election);
    for (algorithm, measure, formula) in [
        ("chang-roberts", Measure::ElectionBest, "2N"),
        ("chang-roberts", Measure::ElectionWorst, "3N−1"),
        ("chang-roberts", Measure::ElectionWorstAllStart, "N(N+1)/2 + N"),
        ("bully", Measure::ElectionBest, "N−2"),
    ] {
        assert!(agrees(&rows, algorithm, measure, formula), "{algorithm}: {formula}");
    }
}

fn run(algorithm: &str, experiment: &Experiment) -> (Report, Vec<Record>) {
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    let report = experiment.run(algorithm, Spectators { records: Some(&mut keep), ..Spectators::default() }).unwrap();
    (report, records)
}

/// Who entered, in order, and when.
fn entries(records: &[Record]) -> Vec<(u32, Ticks)> {
    let entered = records.iter().filter(|record| matches!(record.what, What::Entered { .. }));
    entered.map(|record| (record.process.number(), record.at)).collect()
}

fn asks(list: &[(u32, f64)]) -> ClientPlan {
    let list: Vec<_> = list.iter().map(|&(id, at)| (Id::new(id), (at * DELTA as f64) as Ticks)).collect();
    ClientPlan { workload: Workload::List(list), ..ClientPlan::default() }
}

fn alone(n: u32, entries: u64) -> Experiment {
    let clients = ClientPlan { workload: Workload::Alone, entries, ..ClientPlan::default() };
    Experiment { n, clients, ..Experiment::default() }
}

#[test]
fn who_has_every_permission_or_the_token_enters_for_nothing() {
    for n in [2, 5, 50] {
        let messages = |algorithm, entries| run(algorithm, &alone(n, entries)).0.outcome.costs.messages;
        assert_eq!(messages("roucairol-carvalho", 1), 2 * (u64::from(n) - 1));
        assert_eq!(messages("roucairol-carvalho", 100), messages("roucairol-carvalho", 1));
        assert_eq!(messages("suzuki-kasami", 1), u64::from(n));
        assert_eq!(messages("suzuki-kasami", 100), u64::from(n));
    }
}

/// C11: p3 holds, p4 then p2 wait; p3 leaves, p4 enters.
#[test]
fn central_server_example() {
    let clients = asks(&[(3, 0.0), (4, 0.25), (2, 0.5)]);
    let (_, records) = run("central", &Experiment { n: 4, clients, ..Experiment::default() });
    assert_eq!(entries(&records).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 4, 2]);
}

/// L7: requests (1, p1) and (1, p2) at once: p1 enters, then p2.
#[test]
fn lamport_example() {
    let clients = asks(&[(2, 0.0), (1, 0.0)]);
    let (_, records) = run("lamport", &Experiment { n: 3, clients, ..Experiment::default() });
    assert_eq!(entries(&records), [(1, 2 * DELTA), (2, 4 * DELTA)]);
}

/// R10: p1 asks at 41, p2 at 34, p3 does not ask: p2 enters first, then p1.
#[test]
fn ricart_agrawala_example() {
    let clock = |id, number: u64| (Id::new(id), Number::try_from(number).unwrap());
    let clients = ClientPlan { clocks: vec![clock(1, 40), clock(2, 33)], ..asks(&[(1, 0.0), (2, 0.0)]) };
    let (report, records) = run("ricart-agrawala", &Experiment { n: 3, clients, ..Experiment::default() });
    assert_eq!(entries(&records), [(2, 2 * DELTA), (1, 4 * DELTA)]);
    let requests: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.what {
            What::Sent { label, .. } if label.kind == "request" => Some((record.process.number(), label.number)),
            _ => None,
        })
        .collect();
    assert_eq!(requests, [(1, Some(41)), (1, Some(41)), (2, Some(34)), (2, Some(34))]);
    assert_eq!(report.outcome.costs.messages, 8);
}

/// Whom a message of this kind was sent to, by each sender.
fn sent(records: &[Record], kind: &str) -> Vec<(u32, u32)> {
    records
        .iter()
        .filter_map(|record| match &record.what {
            What::Sent { to, label, .. } if label.kind == kind => Some((record.process.number(), to.number())),
            _ => None,
        })
        .collect()
}

/// B5, numbered from 1: of 8, process 8 has crashed and 5 notices: 6 and 7 answer, 7 wins.
#[test]
fn bully_example() {
    let experiment = Experiment {
        n: 8,
        faults: vec![Fault::AbsentFromTheBeginning(Id::new(8))],
        starters: vec![(Id::new(5), 0)],
        ..Experiment::default()
    };
    let (report, records) = run("bully", &experiment);
    let answers_to_5: Vec<_> = sent(&records, "answer").into_iter().filter(|(_, to)| *to == 5).collect();
    assert_eq!(answers_to_5, [(6, 5), (7, 5)]);
    assert_eq!(sent(&records, "election"), [(5, 6), (5, 7), (5, 8), (6, 7), (6, 8), (7, 8)]);
    assert_eq!(sent(&records, "coordinator"), (1..=6).map(|to| (7, to)).collect::<Vec<_>>());
    assert_eq!(report.outcome.election.leader(), Some(Id::new(7)));
}

/// G2, numbered from 1: 4 and 7 notice at once that 8 has crashed: both elections end with 7.
#[test]
fn ring_example() {
    let experiment = Experiment {
        n: 8,
        faults: vec![Fault::AbsentFromTheBeginning(Id::new(8))],
        starters: vec![(Id::new(4), 0), (Id::new(7), 0)],
        ..Experiment::default()
    };
    let (report, records) = run("ring", &experiment);
    assert_eq!(sent(&records, "election").len(), 14);
    assert_eq!(sent(&records, "coordinator").len(), 14);
    let named: Vec<_> = records
        .iter()
        .filter_map(|record| match record.what {
            What::Leader { leader } => Some(leader.number()),
            _ => None,
        })
        .collect();
    assert!(named.iter().all(|&leader| leader == 7), "{named:?}");
    assert_eq!(report.outcome.election.leader(), Some(Id::new(7)));
}

/// T10: nobody enters twice with the same visit of the token, so who is alone waits for a whole round.
#[test]
fn the_token_goes_round_before_it_is_used_again() {
    let (_, records) = run("token-ring", &alone(4, 3));
    let times: Vec<_> = entries(&records).into_iter().map(|(_, at)| at / DELTA).collect();
    assert_eq!(times, [3, 8, 13]);
}

/// F3: throughput is 1/(E + SD), where somebody is always waiting.
#[test]
fn throughput_is_the_inverse_of_time_inside_and_synchronization_delay() {
    for (algorithm, sync_delay) in [("central", 2.0), ("token-ring", 1.0), ("lamport", 1.0), ("ricart-agrawala", 1.0)] {
        for time_inside in [DELTA / 2, DELTA, 5 * DELTA] {
            let clients = ClientPlan { entries: 200, time_inside, ..ClientPlan::default() };
            let (report, _) = run(algorithm, &Experiment { n: 5, clients, ..Experiment::default() });
            let expected = 1.0 / (time_inside as f64 / DELTA as f64 + sync_delay);
            let costs = &report.outcome.costs;
            assert!((costs.throughput.unwrap() - expected).abs() < 1e-9, "{algorithm}: {:?}", costs.throughput);
            assert!((costs.throughput_predicted.unwrap() - expected).abs() < 1e-9, "{algorithm}");
        }
    }
}

/// Ten thousand processes work for every algorithm.
#[test]
fn ten_thousand_processes_work() {
    for entry in quorate_core::catalog::ENTRIES {
        let experiment = match entry.family {
            Family::Mutex => alone(10_000, 10),
            // The bully's other starters send hundreds of millions of messages.
            Family::Election => Experiment { n: 10_000, starters: vec![(Id::new(10_000), 0)], ..Experiment::default() },
            Family::Detector => continue,
        };
        let report = experiment.run(entry.name, Spectators::default()).unwrap();
        assert_eq!(report.severity(), quorate_lab::report::Severity::Fine, "{}", entry.name);
        match entry.family {
            Family::Mutex => assert_eq!(report.outcome.costs.entries, 10, "{}", entry.name),
            Family::Election | Family::Detector => {
                assert_eq!(report.outcome.election.leader(), Some(Id::new(10_000)), "{}", entry.name);
            }
        }
    }
}
