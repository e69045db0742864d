//! What runs cost, worked out by hand with delays of one δ.

use std::collections::BTreeMap;

use quorate_core::clock::{Epoch, Fence, Number};
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Record, What};
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::cost::{CostReport, Costs};
use quorate_lab::distribution::Summary;
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::recovery_costs::{RecoveryRow, recovery_costs};
use quorate_lab::report::Report;
use quorate_lab::time::DELTA;

fn run(algorithm: &str, n: u32, clients: ClientPlan) -> Report {
    let experiment = Experiment { n, clients, ..Experiment::default() };
    experiment.run(algorithm, Spectators::default()).expect("the experiment is possible")
}

fn costs(algorithm: &str, n: u32, clients: ClientPlan) -> CostReport {
    run(algorithm, n, clients).outcome.costs
}

fn entries(entries: u64) -> ClientPlan {
    ClientPlan { entries, ..ClientPlan::default() }
}

/// Requests of these processes, at these times in tenths of δ.
fn asks(list: &[(u32, Ticks)]) -> ClientPlan {
    let list = list.iter().map(|&(id, at)| (Id::new(id), at * DELTA / 10)).collect();
    ClientPlan { workload: Workload::List(list), ..ClientPlan::default() }
}

fn always(value: f64) -> Option<Summary> {
    Some(Summary { mean: value, p50: value, p90: value, p99: value, max: value })
}

/// The mean number of messages of each kind.
fn means(kinds: &BTreeMap<&'static str, Summary>) -> Vec<(&'static str, f64)> {
    kinds.iter().map(|(kind, summary)| (*kind, summary.mean)).collect()
}

/// Process 1 serves; 2 and 3 ask at 0, and again when they leave.
///
/// | | asks | enters | leaves |
/// |---|---|---|---|
/// | p2 | 0 | 2: request and grant | 3 |
/// | p3 | 0 | 5: p2's release and the grant | 6 |
/// | p2 | 3 | 8 | 9 |
/// | p3 | 6 | 11 | 12, and the release arrives at 13 |
#[test]
fn a_contended_server() {
    let report = run("central", 3, entries(4));
    let costs = &report.outcome.costs;
    assert_eq!((costs.entries, costs.messages, report.outcome.end), (4, 12, 13 * DELTA));
    assert_eq!(costs.messages_per_entry, Some(3.0));
    assert_eq!(costs.messages_by_kind, BTreeMap::from([("grant", 4), ("release", 4), ("request", 4)]));
    assert_eq!(means(&costs.entry_messages), [("grant", 1.0), ("request", 1.0)]);
    assert_eq!(costs.exit_messages, BTreeMap::from([("release", always(1.0).unwrap())]));
    // Both requests are made before the first entry; p2's next one at 3, before the second entry; and none before the
    // last.
    let requests = Summary { mean: 1.0, p50: 1.0, p90: 2.0, p99: 2.0, max: 2.0 };
    assert_eq!(costs.entry_messages["request"], requests);
    assert_eq!(costs.messages_of_exit, always(1.0));
    // Two requests and a grant, then three times a release and a grant, the first two times with another request.
    assert_eq!(
        costs.messages_between_entries,
        Some(Summary { mean: 11.0 / 4.0, p50: 3.0, p90: 3.0, p99: 3.0, max: 3.0 })
    );
    assert_eq!(costs.client_delay, Some(Summary { mean: 17.0 / 4.0, p50: 5.0, p90: 5.0, p99: 5.0, max: 5.0 }));
    assert_eq!(costs.exit_delay, always(0.0));
    assert_eq!(costs.sync_delay, always(2.0));
    // Three entries after the first, in 9 δ; and a round takes 1 inside and 2 to hand over.
    assert_eq!((costs.throughput, costs.throughput_predicted), (Some(1.0 / 3.0), Some(1.0 / 3.0)));
    // A byte for the kind, one for the epoch, and one for the count of a grant.
    assert_eq!(costs.bytes, 4 * (2 + 3 + 2));
    assert_eq!(costs.bytes_per_message, Some(Summary { mean: 28.0 / 12.0, p50: 2.0, p90: 3.0, p99: 3.0, max: 3.0 }));
}

#[test]
fn time_inside_is_part_of_a_round() {
    let costs = costs("central", 3, ClientPlan { time_inside: 3 * DELTA, ..entries(4) });
    assert_eq!((costs.throughput, costs.throughput_predicted), (Some(0.2), Some(0.2)));
    assert_eq!(costs.sync_delay, always(2.0));
}

/// p1 asks at 0 and enters at 2; p2 asks at 0.5 with the same number, so that p1 answers only when it leaves, at 3.
#[test]
fn two_who_ask_everybody() {
    let report = run("ricart-agrawala", 3, asks(&[(1, 0), (2, 5)]));
    let costs = &report.outcome.costs;
    assert_eq!((costs.entries, costs.messages, report.outcome.end), (2, 8, 5 * DELTA));
    assert_eq!(costs.client_delay, Some(Summary { mean: 2.75, p50: 2.0, p90: 3.5, p99: 3.5, max: 3.5 }));
    assert_eq!(costs.sync_delay, always(1.0));
    assert_eq!((costs.throughput, costs.throughput_predicted), (Some(0.5), Some(0.5)));
    assert_eq!(means(&costs.entry_messages), [("reply", 1.5), ("request", 2.0)]);
    assert_eq!(means(&costs.exit_messages), [("reply", 0.5)]);
    assert_eq!(costs.messages_of_exit, Some(Summary { mean: 0.5, p50: 0.0, p90: 1.0, p99: 1.0, max: 1.0 }));
    // Before p1 enters at 2: four requests and three replies.
    assert_eq!(costs.messages_between_entries, Some(Summary { mean: 4.0, p50: 1.0, p90: 7.0, p99: 7.0, max: 7.0 }));
    // A request is its kind and a number; a reply says also whether there is a number.
    assert_eq!(costs.bytes, 4 * 2 + 4 * 3);
}

/// The token leaves p1 at 0, is with p3 at 2, and goes on when p3 leaves at 3: then the run is over.
#[test]
fn a_token_on_its_way() {
    let report = run("token-ring", 4, asks(&[(3, 0)]));
    let costs = &report.outcome.costs;
    assert_eq!((costs.entries, costs.messages, report.outcome.end), (1, 3, 3 * DELTA));
    assert_eq!((costs.client_delay, costs.messages_of_exit), (always(2.0), always(1.0)));
    assert_eq!((costs.throughput, costs.throughput_predicted), (None, None), "one entry has no rate");
    assert_eq!(costs.bytes, 9);
}

#[test]
fn synchronization_is_between_one_who_leaves_and_one_who_waits() {
    let costs = costs("central", 3, asks(&[(2, 0), (3, 200)]));
    assert_eq!(costs.entries, 2);
    assert_eq!((costs.sync_delay, costs.throughput_predicted), (None, None));
    assert_eq!((costs.client_delay, costs.throughput), (always(2.0), Some(0.05)));
}

#[test]
fn nothing_costs_nothing() {
    let costs = costs("central", 3, asks(&[]));
    assert_eq!((costs.entries, costs.messages, costs.bytes), (0, 0, 0));
    assert_eq!((costs.messages_per_entry, costs.throughput, costs.client_delay), (None, None, None));
    assert_eq!((costs.bytes_per_message, costs.messages_between_entries, costs.exit_delay), (None, None, None));
}

#[test]
fn who_serves_itself_sends_nothing() {
    let costs = costs("central", 1, entries(3));
    assert_eq!((costs.entries, costs.messages, costs.bytes), (3, 0, 0));
    assert_eq!((costs.client_delay, costs.messages_of_exit), (always(0.0), always(0.0)));
    // It asks again when it has left: nobody waited meanwhile.
    assert_eq!((costs.sync_delay, costs.throughput), (None, Some(1.0)));
}

/// The bill of these records; times are in δ.
fn bill(records: &[(Ticks, u32, What)]) -> CostReport {
    let mut costs = Costs::new(4);
    for (at, process, what) in records {
        costs.observe(&Record { at: at * DELTA, process: Id::new(*process), what: what.clone() });
    }
    costs.report()
}

const ENTERED: fn() -> What = || What::Entered { fence: Fence::counted(Epoch::FIRST, Number::ZERO) };

#[test]
fn a_request_taken_back_has_no_delay() {
    let costs = bill(&[
        (0, 1, What::Wanted),
        (0, 2, What::Wanted),
        (1, 2, What::Withdrew),
        (2, 1, ENTERED()),
        (4, 3, What::Wanted),
        (5, 1, What::Leaving),
        (6, 1, What::Exited),
        (6, 2, What::Wanted),
        (7, 3, ENTERED()),
    ]);
    assert_eq!(costs.entries, 2);
    assert_eq!(costs.client_delay, Some(Summary { mean: 2.5, p50: 2.0, p90: 3.0, p99: 3.0, max: 3.0 }));
    assert_eq!((costs.sync_delay, costs.exit_delay), (always(2.0), always(1.0)));
    assert_eq!((costs.throughput, costs.throughput_predicted), (Some(0.2), Some(0.2)));
}

#[test]
fn a_request_taken_back_counts_nothing_but_its_messages() {
    let clients = ClientPlan { workload: Workload::Alone, withdraw: 1.0, ..entries(40) };
    let mut withdrew = 0;
    let mut count = |record: &Record| withdrew += u64::from(record.what == What::Withdrew);
    let spectators = Spectators { records: Some(&mut count), ..Spectators::default() };
    let experiment = Experiment { n: 2, clients, ..Experiment::default() };
    let costs = experiment.run("central", spectators).expect("the experiment is possible").outcome.costs;
    assert!(withdrew > 10 && costs.entries > 10, "{withdrew} withdrew, {} entered", costs.entries);
    assert_eq!((costs.entries + withdrew, costs.messages), (40, 120));
    assert_eq!((costs.client_delay, costs.sync_delay), (always(2.0), None));
}

#[test]
fn a_crash_inside_is_no_exit() {
    let costs = bill(&[
        (0, 1, What::Wanted),
        (0, 2, What::Wanted),
        (0, 3, What::Wanted),
        (2, 1, ENTERED()),
        (4, 1, What::Crashed),
        (5, 3, What::Crashed),
        (9, 2, ENTERED()),
        (10, 2, What::Leaving),
    ]);
    assert_eq!(costs.entries, 2);
    assert_eq!((costs.sync_delay, costs.exit_delay), (None, None));
    assert_eq!(costs.client_delay, Some(Summary { mean: 5.5, p50: 2.0, p90: 9.0, p99: 9.0, max: 9.0 }));
}

#[test]
fn an_entry_that_nobody_asked_for_is_none() {
    let costs =
        bill(&[(1, 1, ENTERED()), (2, 1, What::Leaving), (3, 2, What::Wanted), (4, 2, ENTERED()), (5, 2, ENTERED())]);
    assert_eq!((costs.entries, costs.client_delay, costs.sync_delay), (1, always(1.0), None));
}

/// Two are inside at once: each entry counts, and the handover is from the last exit before it.
#[test]
fn even_a_broken_run_has_its_price() {
    let costs = bill(&[
        (0, 1, What::Wanted),
        (0, 2, What::Wanted),
        (0, 3, What::Wanted),
        (1, 1, ENTERED()),
        (2, 2, ENTERED()),
        (3, 1, What::Leaving),
        (4, 2, What::Leaving),
        (6, 3, ENTERED()),
    ]);
    assert_eq!((costs.entries, costs.sync_delay), (3, always(2.0)));
    assert_eq!(costs.throughput, Some(2.0 / 5.0));
}

/// Whatever the algorithm, a crash is found after a beat and two delays at the latest, and somebody enters soon
/// after, but where tries clash and are put off. More members are more messages.
#[test]
fn every_algorithm_goes_on_within_a_few_delays_of_the_detection() {
    let rows = recovery_costs(&[], &[3, 9], &mut || {}).unwrap();
    assert_eq!(rows.len(), 16);
    for RecoveryRow { algorithm, victim, cells } in rows {
        let [few, many] = cells[..] else { panic!("two sizes") };
        for cell in [few, many] {
            let delay = cell.delay.unwrap_or_else(|| panic!("{algorithm}, {victim:?}: nobody enters"));
            let most = if algorithm == "majority" { 100.0 } else { 15.0 };
            assert!((0.5..=most).contains(&delay), "{algorithm}, {victim:?}, n = {}: {delay} δ", cell.n);
        }
        assert!(few.messages <= many.messages, "{algorithm}, {victim:?}: {few:?}, {many:?}");
    }
}
