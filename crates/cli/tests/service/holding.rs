//! Those who hold a lock or lead while a command runs: when they are told to end, and when they lose it.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::running::{Running, lives, signal};
use crate::support::{Directory, Served, eventually, quorate};

/// The signals that end a process, and the exit codes that say so.
const ENDS: [(&str, i32); 6] = [("HUP", 129), ("INT", 130), ("QUIT", 131), ("TERM", 143), ("USR1", 138), ("USR2", 140)];

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
    for (verb, name, words) in [("lock", "job", "holding lock job"), ("elect", "db", "leading election db")] {
        for (signal, code) in ENDS {
            let mut holding = start(&node, &[verb, name, "--ttl", "1h"]);
            let told = holding.line();
            assert!(told.starts_with(&format!("{words}, fence ")), "{told}");
            holding.signal(signal);
            // Ctrl-C is how to end it.
            let code = if signal == "INT" { 0 } else { code };
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
    let mut all = [(&mut running, 0), (&mut waiting, 143), (&mut holding, 143)];
    all.iter().for_each(|(one, _)| one.signal("TERM"));
    for (one, code) in &mut all {
        one.until_it_complains("closed here, but no node answered");
        assert_eq!(one.wait().code(), Some(*code));
    }
}

#[test]
fn a_refused_lock_is_reported_as_an_object_with_json() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let holder = start(&node, &["lock", "job"]);
    holder.line();
    for (arguments, kind, code) in [(&["--try"][..], "held", 122), (&["--wait", "10ms"], "timeout", 124)] {
        let output = quorate(&node.address, &[&["lock", "job", "--json"][..], arguments, &["--", "true"]].concat());
        let errors = String::from_utf8(output.stderr).unwrap();
        let error: serde_json::Value = serde_json::from_str(&errors).unwrap_or_else(|_| panic!("{errors}"));
        assert_eq!((&error["kind"], &error["exit"]), (&kind.into(), &code.into()), "{errors}");
        assert!(error["error"].as_str().unwrap().contains("the lock"), "{errors}");
        assert_eq!(output.status.code(), Some(code), "{errors}");
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

#[test]
fn a_command_gets_the_signals_that_we_get() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let script = "for signal in HUP INT QUIT USR1 USR2; do trap \"echo $signal\" $signal; done; trap 'exit 9' TERM
                  echo ready; while kill -0 $PPID; do sleep 0.1; done";
    let mut running = start(&node, &["lock", "job", "--", "sh", "-c", script]);
    assert_eq!(running.line(), "ready");
    for signal in ["HUP", "INT", "QUIT", "USR1", "USR2"] {
        running.signal(signal);
        assert_eq!(running.line(), signal);
    }
    assert_eq!(node.get("/v1/locks/job").1["holders"].as_array().unwrap().len(), 1, "none of them ended it");
    running.signal("TERM");
    assert_eq!(running.wait().code(), Some(9));
    assert_eq!(node.get("/v1/status").1["sessions"], 0);
    // One that a command does not handle ends it, and its end is ours.
    let mut running = start(&node, &["lock", "job", "--", "sh", "-c", "echo ready; exec sleep 600"]);
    assert_eq!(running.line(), "ready");
    running.signal("USR1");
    assert_eq!(running.wait().code(), Some(138));
}

/// A script that says its process, and then does nothing but what it is told by signals, while we are there.
const STUBBORN: &str =
    "trap 'echo told' TERM; trap 'echo asked' USR1; echo $$; while kill -0 $PPID; do sleep 0.1; done";

/// Runs it under a lock, takes that away, and waits until this is known; with the script's process.
fn lose(node: &Served, on_loss: &str) -> (Running, u32) {
    let running = start(node, &["lock", "job", "--ttl", "1h", "--on-loss", on_loss, "--", "sh", "-c", STUBBORN]);
    let command = running.line().parse().unwrap();
    assert_eq!(node.post("/v1/locks/job/force", "").0, 204);
    running.until_it_complains("lock job was lost while the command ran: ");
    (running, command)
}

#[test]
fn a_command_that_does_not_stop_when_the_lock_is_lost_is_killed() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let before = Instant::now();
    let (mut running, command) = lose(&node, "term");
    assert_eq!(running.line(), "told");
    assert_eq!(running.wait().code(), Some(123));
    assert!(!lives(command));
    assert!(before.elapsed() >= Duration::from_secs(5), "it was given time");

    let (mut running, command) = lose(&node, "kill");
    assert_eq!(running.wait().code(), Some(123));
    assert!(!lives(command));
    assert_eq!(running.try_line(), None, "it was not asked to stop");
}

#[test]
fn a_command_may_go_on_when_the_lock_is_lost() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let (mut running, command) = lose(&node, "ignore");
    running.signal("USR1");
    assert_eq!(running.line(), "asked", "it was not told to stop, and still gets signals");
    assert!(lives(command));
    signal(command, "KILL");
    assert_eq!(running.wait().code(), Some(123));
}

#[test]
fn who_is_elected_says_its_value_or_else_its_label() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let observer = Running::start(&node.address, &["observe", "db"]);
    assert_eq!(observer.line(), "no leader");
    let script = "echo $QUORATE_ELECTION $QUORATE_FENCE $QUORATE_SESSION; read line; exit 7";
    let arguments = ["elect", "db", "--value", "10.0.0.1:5432", "--label", "db1", "--", "sh", "-c", script];
    let mut first = start(&node, &arguments);
    let told = first.line();
    let leader = node.get("/v1/elections/db").1["leader"].clone();
    assert_eq!(told, format!("db {} {}", leader["fence"], leader["session"].as_str().unwrap()));
    assert_eq!(observer.line(), format!("leader db1, fence {}, value 10.0.0.1:5432", leader["fence"]));
    let second = start(&node, &["elect", "db"]);
    second.until_it_complains(&format!("waiting behind db1, the leader with fence {}", leader["fence"]));
    first.type_in("\n");
    assert_eq!(first.wait().code(), Some(7));

    second.line();
    let leader = node.get("/v1/elections/db").1["leader"].clone();
    assert!(leader["label"].as_str().unwrap().ends_with(&format!(":{}", second.pid())), "{leader}");
    assert_eq!(leader["value"], leader["label"]);
}

#[test]
fn who_waits_far_behind_is_told_that_it_is_far() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    node.post("/v1/locks/job/acquire", r#"{"ttl": "60s", "label": "keeper"}"#);
    let line: Vec<_> = (0..110).map(|_| node.send("/v1/locks/job/acquire", r#"{"ttl": "60s"}"#)).collect();
    until_waiting(&node, "/v1/locks/job", 110);
    let last = start(&node, &["lock", "job", "--", "true"]);
    // Those who come first are listed, and it is not among them.
    last.until_it_complains("; at least 101 ahead");
    drop(line);
}

/// A script that says under what it runs, and ends when something is typed.
const SHOWS: &str = "echo $QUORATE_LOCK $QUORATE_FENCE $QUORATE_SESSION; read line; exit 7";

/// What such scripts say, by what the node knows of the holders.
fn shown(node: &Served) -> Vec<String> {
    let lock = node.get("/v1/locks/job").1;
    let said = |holder: &Value| format!("job {} {}", holder["fence"], holder["session"].as_str().unwrap());
    lock["holders"].as_array().unwrap().iter().map(said).collect()
}

#[test]
fn a_command_sees_under_what_it_runs_and_locks_are_shared_as_wanted() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    for (mode, is_full) in [(&["--shared"][..], false), (&["--permits", "2"], true)] {
        let arguments = [&["lock", "job"], mode, &["--", "sh", "-c", SHOWS]].concat();
        let mut holders = [1, 2].map(|holders| {
            let holder = start(&node, &arguments);
            let (said, shown) = (holder.line(), shown(&node));
            assert!(shown.len() == holders && shown.contains(&said), "{mode:?}: {said} is not in {shown:?}");
            holder
        });
        let alone = quorate(&node.address, &["lock", "job", "--try", "--", "true"]);
        assert_eq!(alone.status.code(), Some(122), "{mode:?}");
        let third = quorate(&node.address, &[&["lock", "job", "--try"], mode, &["--", "true"]].concat());
        assert_eq!(third.status.code(), Some(if is_full { 122 } else { 0 }), "{mode:?}");
        for holder in &mut holders {
            holder.type_in("\n");
            assert_eq!(holder.wait().code(), Some(7), "{mode:?}");
        }
        assert_eq!(node.get("/v1/status").1["sessions"], 0, "{mode:?}");
    }
}
