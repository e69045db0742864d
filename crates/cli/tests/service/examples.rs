//! The examples of the client, with a node and workers that are real processes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::running::signal;
use crate::support::{Directory, Served, eventually};

/// An example of the client: built with all tests, and otherwise now.
fn example(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_quorate")).parent().unwrap().join("examples").join(name);
    if !path.exists() {
        let built = Command::new(env!("CARGO")).args(["build", "-p", "quorate-client", "--example", name]).status();
        assert!(built.unwrap().success());
    }
    path
}

#[test]
fn workers_that_are_paused_past_their_lease_lose_no_count() {
    const ROUNDS: u64 = 60;
    let (directory, program) = (Directory::new(), example("fenced_file"));
    let node = Served::start(&directory.path().join("data"), &[]);
    let file = directory.path().join("number");
    let number = || -> u64 {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.split(' ').nth(1).map_or(0, |number| number.parse().unwrap())
    };
    let start = |name: &&str| {
        let mut command = Command::new(&program);
        command.arg(&file).arg(name).arg(ROUNDS.to_string()).env("QUORATE_ENDPOINTS", &node.address);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut workers: Vec<Child> = ["A", "B", "C"].iter().map(start).collect();
    eventually("a beginning", || (number() > 2).then_some(()));
    // Wherever it happens to be, for longer than its lease.
    signal(workers[0].id(), "STOP");
    std::thread::sleep(Duration::from_millis(1_500));
    signal(workers[0].id(), "CONT");
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success());
    }
    assert_eq!(number(), 3 * ROUNDS);
}
