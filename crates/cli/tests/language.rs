//! The language of the command: one for `sim` and `check`, what counts, errors for programs, help, completion.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn quorate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quorate")).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = quorate(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn stdout(arguments: &[&str]) -> String {
    let output = quorate(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Options that were renamed, and those of the other command, are answered with the name to use.
#[test]
fn an_option_by_another_name_is_answered_with_its_name() {
    for (arguments, option) in [
        (&["sim", "central", "--loss", "0.1"][..], "--loss-rate"),
        (&["sim", "central", "--losses", "1"], "--loss-rate"),
        (&["sim", "central", "--duplicate", "0.1"], "--duplicate-rate"),
        (&["sim", "central", "--withdraw", "0.1"], "--withdraw-rate"),
        (&["sim", "central", "--drift", "5"], "--drift-ppm"),
        (&["sim", "central", "--bound", "2"], "--delay-bound"),
        (&["sim", "central", "--clock", "1=4"], "--initial-clock"),
        (&["sim", "central", "--crashes", "1"], "--crash ID@TIME"),
        (&["check", "central", "--loss", "1"], "--losses"),
        (&["check", "central", "--loss-rate", "0.1"], "--losses"),
        (&["check", "central", "--drift", "1"], "--drift-ticks"),
        (&["check", "central", "--entries", "2"], "--entries-each"),
        (&["check", "central", "--crash", "2@3"], "--crashes"),
        (&["check", "central", "--reduce"], "removed"),
    ] {
        let output = quorate(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{arguments:?}: {told}");
        assert!(told.contains("has no option --") && told.contains(option), "{arguments:?}: {told}");
    }
}

#[test]
fn both_commands_take_the_same_names() {
    let each = json(&["sim", "central", "-n", "4", "--entries-each", "3", "--property", "ME1,progress"]);
    assert_eq!(each["entries"], 9, "the coordinator does not request entry");
    assert_eq!(each["watched"], serde_json::json!(["mutual-exclusion", "progress"]));
    let total = json(&["sim", "central", "-n", "4", "--entries-each", "3", "--entries", "4"]);
    assert_eq!(total["entries"], 4);
    let absent = json(&["sim", "central", "-n", "4", "--entries-each", "3", "--absent", "4", "--recovery"]);
    assert_eq!((&absent["entries"], &absent["ending"]), (&6.into(), &"finished".into()));
    let checked = json(&["check", "maekawa", "--sets", "grid", "--property", "ME2"]);
    let asked: Vec<_> = checked["properties"].as_object().unwrap().keys().collect();
    assert_eq!(asked, ["deadlock-freedom", "starvation-freedom"]);
    let sim = json(&["sim", "maekawa", "-n", "7", "--sets", "plane"]);
    assert_eq!(sim["algorithm"], "maekawa");
}

/// What an algorithm does not promise is reported, and its files are written; it counts if it is named.
#[test]
fn check_counts_what_is_promised_or_named() {
    let code = |arguments: &[&str]| quorate(arguments).status.code().unwrap();
    let scenario = quorate(&["check", "maekawa", "--quiet", "--scenario", "-"]);
    let text = String::from_utf8(scenario.stdout).unwrap();
    assert_eq!(scenario.status.code(), Some(0), "{text}");
    assert!(text.contains("counterexample to deadlock-freedom") && text.contains("(not promised)"), "{text}");
    assert!(text.contains("\nalgorithm maekawa\n"), "the scenario is printed: {text}");
    assert_eq!(code(&["check", "maekawa", "--property", "deadlock-freedom"]), 11);
    assert_eq!(code(&["check", "lamport", "-n", "2", "--order", "any"]), 10, "a broken assumption does not excuse");
    assert_eq!(code(&["check", "lamport", "--max-states", "100"]), 12);
    // The deadlock is found early, and is no reason to stop.
    let stopped = json(&["check", "maekawa", "--stop"]);
    assert_eq!(stopped["complete"], true, "{stopped}");
    let stopped = json(&["check", "maekawa", "--stop", "--property", "ME1,ME2"]);
    assert_eq!(stopped["complete"], false, "{stopped}");
    // In sim, too.
    let broken = ["sim", "central", "-n", "4", "--workload", "causal", "--delay", "exponential:1", "--runs", "20"];
    assert_eq!(code(&broken), 0);
    assert_eq!(code(&[&broken[..], &["--property", "request-order"]].concat()), 10);
}

#[test]
fn with_json_an_error_is_an_object() {
    for (arguments, kind, exit) in [
        (&["sim", "paxos", "--json"][..], "usage", 2),
        (&["check", "central", "--loss", "1", "--json"], "usage", 2),
        (&["replay", "no-such-thing", "--json"], "usage", 2),
        (&["check", "central", "--scenario", "-", "--json"], "usage", 2),
        (&["check", "central", "--diagram", "-", "--json"], "usage", 2),
        (&["replay", "central-queue", "--diagram", "-", "--json"], "usage", 2),
        (&["sim", "central", "--trace", "-", "--json"], "usage", 2),
        (&["sim", "central", "--trace", "run.svg", "--json"], "usage", 2),
        (&["sim", "central", "--trace", "run", "--json"], "usage", 2),
        (&["sim", "central", "--runs", "3", "--down", "--json"], "usage", 2),
        (&["sim", "central", "--runs", "3", "--clocks", "lamport", "--json"], "usage", 2),
        (&["sim", "central", "--runs", "3", "--fold", "--json"], "usage", 2),
        (&["sim", "central", "--runs", "3", "--from", "1", "--json"], "usage", 2),
        (&["sim", "central", "--runs", "3", "--to", "1", "--json"], "usage", 2),
        (&["sim", "central", "--runs", "3", "--records", "1..2", "--json"], "usage", 2),
        (&["claims", "D6", "--markdown", "-", "--json"], "usage", 2),
        (&["judge", "/no/such/file", "--json"], "read", 1),
        (&["sim", "central", "--trace", "/no/such/directory/t.jsonl", "--json"], "write", 1),
    ] {
        let output = quorate(arguments);
        assert_eq!(output.status.code(), Some(exit), "{output:?}");
        let error: Value = serde_json::from_slice(&output.stderr).unwrap_or_else(|why| panic!("{why}: {output:?}"));
        assert_eq!((&error["kind"], &error["exit"]), (&kind.into(), &exit.into()));
        assert!(error["error"].as_str().is_some_and(|text| !text.is_empty()), "{error}");
        assert_eq!(error.as_object().unwrap().len(), 3);
    }
    let warned = quorate(&["sim", "central", "-n", "3", "--loss-rate", "0.5", "--json"]);
    let warning: Value = serde_json::from_slice(&warned.stderr).unwrap();
    assert_eq!(warning["warning"], "an assumption of central is broken: messages may be lost");
    for arguments in [&["completions", "bash"][..], &["man"], &["diagram", "/dev/null"]] {
        let refused = quorate(&[arguments, &["--json"]].concat());
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
    }
}

/// The output of a long check that receives this many SIGINTs in quick succession.
#[cfg(target_os = "linux")]
fn interrupted_check(times: u32) -> Output {
    let arguments = ["check", "lamport", "-n", "5", "--entries-each", "3", "--threads", "1", "--max-states", "2000000"];
    let child = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until it listens, SIGINT would kill it.
    let status = format!("/proc/{}/status", child.id());
    let is_listening = || {
        let status = std::fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        u64::from_str_radix(caught, 16).unwrap() & 0b10 != 0
    };
    while !is_listening() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for time in 0..times {
        if time > 0 {
            // Otherwise, the kernel may deliver two as one.
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
    }
    child.wait_with_output().unwrap()
}

/// Ctrl-C ends a search, and what it has found is printed.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_check_prints_how_far_it_came() {
    let output = interrupted_check(1);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(12), "{text}");
    assert!(text.contains("not decided  the search was interrupted"), "{text}");
    assert!(text.contains(" states, ") && text.contains("deepest state: "), "{text}");
}

/// GNU `timeout` signals the command and then its process group, so that one interrupt arrives twice.
#[cfg(target_os = "linux")]
#[test]
fn a_second_interrupt_right_after_the_first_one_is_ignored() {
    let output = interrupted_check(2);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(12), "{text}");
    assert!(text.contains("not decided  the search was interrupted"), "{text}");
}

/// The help of every command of the laboratory says more than its first line, and has examples that are accepted.
#[test]
fn long_help_explains_and_has_examples() {
    for command in [
        "sim",
        "check",
        "claims",
        "replay",
        "scenarios",
        "compare",
        "judge",
        "diagram",
        "algorithms",
        "voting-sets",
        "violation",
        "exercise",
        "lab",
    ] {
        let [long, short] = ["--help", "-h"].map(|option| stdout(&[command, option]));
        let (_, examples) = long.split_once("Examples:\n").unwrap_or_else(|| panic!("{command}: {long}"));
        assert!(long.lines().count() > short.lines().count(), "{command}");
        let lines: Vec<_> = examples.lines().filter_map(|line| line.strip_prefix("    quorate ")).collect();
        assert!(!lines.is_empty(), "{command}");
        for line in lines {
            let words = line.split(" > ").next().unwrap_or(line).split(' ').chain(["--help"]).collect::<Vec<_>>();
            assert!(quorate(&words).status.success(), "{line}");
        }
    }
    assert!(stdout(&["check", "--help"]).contains("The exit code counts only the properties"));
}

#[test]
fn completion_offers_values() {
    let script = stdout(&["completions", "bash"]);
    for value in [
        "ricart-agrawala",
        "central-queue",
        "deadlock-freedom",
        "P6.liveness",
        "asynchronous",
        "poisson:0.1",
        "fifo any",
    ] {
        assert!(script.contains(value), "{value}");
    }
}
