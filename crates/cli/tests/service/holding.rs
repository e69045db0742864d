//! Those who hold a lock or lead while a command runs: when they are told to end, and when they lose it.

use std::path::Path;

use crate::running::Running;
use crate::support::{Directory, Served, eventually};

/// The signals that end a process, and the exit codes that say so.
const ENDS: [(&str, i32); 3] = [("HUP", 129), ("INT", 130), ("TERM", 143)];

/// Starts a command that hears every signal.
fn start(node: &Served, arguments: &[&str]) -> Running {
    Running::start_ignoring(&[], &node.address, arguments)
}

/// Waits until so many are in line.
fn until_waiting(node: &Served, path: &str, waiting: u64) {
    eventually("a line", || (node.get(path).1["waiting"] == waiting).then_some(()));
}

#[test]
fn who_is_told_to_end_while_it_waits_leaves_the_line() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    node.post("/v1/locks/job/acquire", r#"{"ttl": "60s"}"#);
    node.post("/v1/elections/db/campaign", r#"{"ttl": "60s"}"#);
    for (verb, name, path) in [("lock", "job", "/v1/locks/job"), ("elect", "db", "/v1/elections/db")] {
        for (signal, code) in ENDS {
            let mut waiting = start(&node, &[verb, name, "--ttl", "1h", "--", "true"]);
            until_waiting(&node, path, 1);
            waiting.signal(signal);
            assert_eq!(waiting.wait().code(), Some(code), "{verb} {signal}");
            assert_eq!(node.get(path).1["waiting"], 0, "{verb} {signal}");
        }
    }
    assert_eq!(node.get("/v1/status").1["sessions"], 2, "nothing is left of them");
}

#[test]
fn what_is_held_without_a_command_is_given_back_at_any_signal_and_at_the_end_of_input() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    for (verb, name) in [("lock", "job"), ("elect", "db")] {
        for (signal, code) in ENDS {
            let mut holding = start(&node, &[verb, name, "--ttl", "1h"]);
            let told = holding.line();
            assert!(told.starts_with(&format!("{name} is held, fence ")), "{told}");
            holding.signal(signal);
            assert_eq!(holding.wait().code(), Some(code), "{verb} {signal}");
            assert_eq!(node.get("/v1/status").1["sessions"], 0, "{verb} {signal}");
        }
        let mut holding = start(&node, &[verb, name, "--ttl", "1h", "--json"]);
        let held = holding.json();
        assert_eq!((held["name"].as_str(), held["fence"].is_u64()), (Some(name), true), "{held}");
        holding.type_in("whatever is typed\n");
        assert_eq!(node.get("/v1/status").1["sessions"], 1);
        holding.end_input();
        assert_eq!(holding.wait().code(), Some(0), "{verb}");
        assert_eq!(node.get("/v1/status").1["sessions"], 0, "{verb}");
    }
}

#[test]
fn who_is_told_to_end_does_not_wait_for_a_service_that_is_gone() {
    let directory = Directory::new();
    let mut node = Served::start(directory.path(), &[]);
    let arguments = |name: &'static str| ["lock", name, "--ttl", "1h", "--", "sh", "-c", "echo $$; read line"];
    let mut running = start(&node, &arguments("job"));
    let command = running.line();
    let mut waiting = start(&node, &arguments("job"));
    until_waiting(&node, "/v1/locks/job", 1);
    let mut holding = start(&node, &["lock", "other", "--ttl", "1h"]);
    holding.line();
    node.kill();
    running.type_in("\n");
    eventually("its end", || (!Path::new("/proc").join(&command).exists()).then_some(()));
    let mut all = [(&mut running, 125), (&mut waiting, 143), (&mut holding, 143)];
    all.iter().for_each(|(one, _)| one.signal("TERM"));
    for (one, code) in &mut all {
        one.until_it_complains("nobody answered its end");
        assert_eq!(one.wait().code(), Some(*code));
    }
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let mut first = Running::start_ignoring(&["HUP"], &node.address, &["lock", "job"]);
    first.line();
    // The command ignores it, too: otherwise it would end by it.
    let script = "kill -s HUP $$; echo here; read line";
    let arguments = ["lock", "job", "--", "sh", "-c", script];
    let mut second = Running::start_ignoring(&["HUP"], &node.address, &arguments);
    until_waiting(&node, "/v1/locks/job", 1);
    second.signal("HUP");
    first.signal("HUP");
    first.end_input();
    assert_eq!(first.wait().code(), Some(0));
    assert_eq!(second.line(), "here");
    second.signal("HUP");
    second.type_in("\n");
    assert_eq!(second.wait().code(), Some(0));
}
