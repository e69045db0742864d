//! An algorithm is the same whether it is chosen by its name or by its type.

use quorate_core::election::Bully;
use quorate_core::mutex::Central;
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::subject::{Named, OfElection, OfMutex, Subject};

/// What a run of this algorithm reports.
fn reported(subject: &impl Subject) -> serde_json::Value {
    let report = Experiment::default().run_subject(subject, Spectators::default()).unwrap();
    assert_eq!(report.algorithm, subject.entry().name);
    serde_json::Value::Object(report.json())
}

#[test]
fn a_name_and_a_type_give_the_same_run() {
    assert_eq!(reported(&Named::new("central").unwrap()), reported(&OfMutex::<Central>::new()));
    assert_eq!(reported(&Named::new("bully").unwrap()), reported(&OfElection::<Bully>::new()));
}

#[test]
fn a_name_that_nobody_has_is_refused() {
    let refused = Named::new("paxos").unwrap_err().to_string();
    assert!(refused.starts_with("unknown algorithm `paxos`; choose one of central, "), "{refused}");
}
