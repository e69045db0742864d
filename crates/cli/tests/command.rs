//! The command as people and scripts use it: what it prints, what it refuses, and the exit codes.

use std::io::{BufRead, BufReader};
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

#[test]
fn a_short_run_is_shown_as_a_conversation() {
    let text = stdout(&["sim", "central", "-n", "3", "--workload", "alone", "--entries", "1"]);
    for line in ["0  p3  requests entry", "0  p3  sends request to p1", "2  p3  ENTERS with fence 1", "3  p3  exits"] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "there are colours although this is no terminal");
    let long = stdout(&["sim", "central", "-n", "3"]);
    assert!(!long.contains("requests entry") && long.contains("--conversation always"));
    assert!(stdout(&["sim", "central", "-n", "3", "--conversation", "always"]).contains("requests entry"));
    let short = ["sim", "central", "-n", "3", "--workload", "alone", "--entries", "1", "--conversation", "never"];
    assert!(!stdout(&short).contains("requests entry"));
}

/// With recovery, time without bounds means that verdicts may be false; and only then.
#[test]
fn where_delays_have_no_bound_the_living_may_be_suspected() {
    let check = |more: &[&str]| {
        let asked = ["check", "central", "--recovery", "--crashes", "1", "--property", "mutual-exclusion", "--quiet"];
        let output = quorate(&[&asked, more].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let asynchronous = check(&["--timing", "asynchronous"]);
    assert!(asynchronous.contains("counterexample to mutual-exclusion, 7 steps"), "{asynchronous}");
    for right in [&["--timing", "synchronous"][..], &["--timing", "asynchronous", "--suspicions", "0"]] {
        let found = check(right);
        assert!(found.contains("mutual-exclusion  holds"), "{found}");
    }
}

/// What is asked for and changes nothing with recovery is said; so is an election that needs what it does not get.
#[test]
fn options_without_effect_on_recovery_are_named() {
    for (more, words) in [
        (&["central", "--order", "any"][..], "--order has no effect with --recovery"),
        (&["central", "--detector", "none"], "--detector has no effect with --recovery"),
        (&["lamport", "--election", "bully"], "--election has no effect here"),
        (
            &["central", "--timing", "synchronous", "--delay-bound", "3"],
            "--delay-bound has no effect here: crashes are notified",
        ),
        (
            &["central", "--election", "bully"],
            "message delays have no bound, but the election beside the algorithm needs one",
        ),
    ] {
        let output = quorate(&[&["check"], more, &["-n", "2", "--recovery", "--crashes", "1"]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(words), "{more:?}: {said}");
    }
    let refused = quorate(&["check", "maekawa", "--recovery"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("maekawa cannot recover from crashes here; these algorithms can: central, ")
    );
}

#[test]
fn json_has_what_is_documented() {
    let report = json(&["sim", "ricart-agrawala", "-n", "5", "--entries", "50", "--seed", "7"]);
    assert_eq!(report["algorithm"], "ricart-agrawala");
    assert_eq!((&report["n"], &report["seed"], &report["entries"]), (&5.into(), &7.into(), &50.into()));
    assert_eq!((&report["messages"], &report["messages_per_entry"]), (&400.into(), &8.0.into()));
    for delay in ["client_delay", "sync_delay"] {
        for figure in ["mean", "p50", "p90", "p99", "max"] {
            assert!(report[delay][figure].is_number(), "{delay} {figure}");
        }
    }
    assert_eq!(report["sync_delay"]["max"], 1.0);
    assert!(report["throughput"].is_number() && report["events"].is_u64() && report["events_per_second"].is_number());
    for property in ["mutual-exclusion", "progress", "request-order", "fencing"] {
        assert_eq!(report["properties"][property], "held");
    }
    let election = json(&["sim", "chang-roberts", "-n", "5", "--starter", "1"]);
    assert_eq!(
        (&election["leader"], &election["messages"], &election["turnaround"]),
        (&5.into(), &14.into(), &13.0.into())
    );
    assert_eq!(
        (&election["properties"]["single-leader"], &election["properties"]["decided"]),
        (&"held".into(), &"held".into())
    );
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut report = json(&[
            "sim",
            "majority",
            "--seed",
            seed,
            "--delay",
            "exponential:1",
            "--withdraw-rate",
            "0.2",
            "--drift-ppm",
            "50",
        ]);
        report.as_object_mut().unwrap().remove("events_per_second");
        report
    };
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3")["events"], run("4")["events"]);
}

#[test]
fn a_trace_is_a_line_of_json_for_each_record() {
    let directory = std::env::temp_dir().join(format!("quorate-trace-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("trace.jsonl");
    stdout(&["sim", "lamport", "-n", "3", "--trace", file.to_str().unwrap()]);
    let trace = std::fs::read_to_string(&file).unwrap();
    let records: Vec<Value> = trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |event: &str| records.iter().filter(|record| record["event"] == event).count();
    assert_eq!((count("wanted"), count("entered"), count("exited")), (20, 20, 20));
    assert_eq!((count("sent"), count("received")), (120, 120));
    std::fs::remove_dir_all(&directory).unwrap();

    let output = quorate(&["sim", "lamport", "--trace", "/no/such/directory/trace.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("quorate: cannot write /no/such/directory/trace.jsonl: ")
    );
}

#[test]
fn exit_codes_tell_safety_from_liveness_and_from_what_was_not_promised() {
    let code = |arguments: &[&str]| quorate(arguments).status.code().unwrap();
    assert_eq!(code(&["sim", "lamport", "-n", "3", "--order", "any", "--delay", "exponential:1", "--seed", "2"]), 10);
    assert_eq!(code(&["sim", "ricart-agrawala", "-n", "3", "--crash", "1@2.5"]), 11);
    assert_eq!(code(&["sim", "maekawa", "-n", "3"]), 0);
    assert_eq!(code(&["sim", "central", "-n", "3", "--until", "4"]), 12);
    assert_eq!(code(&["sim", "bully", "-n", "5", "--delay-bound", "0.25"]), 10);
}

#[test]
fn a_run_that_breaks_an_assumption_says_so() {
    let output = quorate(&["sim", "central", "-n", "3", "--loss-rate", "0.5"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "quorate: an assumption of central is broken: messages may be lost\n");
    assert!(quorate(&["sim", "central", "-n", "3", "--loss-rate", "0.5", "--quiet"]).stderr.is_empty());
}

#[test]
fn a_scenario_is_listed_printed_and_played() {
    let listed = json(&["scenarios"])["scenarios"].take();
    assert!(listed.as_array().unwrap().len() >= 50);
    assert!(stdout(&["scenarios"]).contains("central-queue"));
    assert!(stdout(&["scenarios", "central-queue"]).contains("\nalgorithm central\n"));
    let played = json(&["replay", "central-queue"]);
    assert_eq!(played["properties"]["progress"], "held");
    assert_eq!(played["unexpected"].as_array().unwrap().len(), 0);
    assert!(stdout(&["replay", "bully-worked-example"]).contains("p7  BECOMES LEADER"));
    let code = |name: &str| quorate(&["replay", name, "--quiet"]).status.code().unwrap();
    assert_eq!(code("lamport-needs-fifo"), 10);
    assert_eq!(code("ricart-agrawala-crash"), 11);
    // Nobody promised otherwise.
    assert_eq!(code("maekawa-deadlock"), 0);
}

/// A verdict that took a while is not lost because of a file.
#[test]
fn a_file_that_cannot_be_written_leaves_the_verdict_printed() {
    let nowhere = std::env::temp_dir().join("quorate-no-such-directory").join("run.svg");
    let nowhere = nowhere.to_str().unwrap();
    for (arguments, found) in [
        (["check", "maekawa", "--property", "deadlock-freedom", "--diagram", nowhere], "deadlock-freedom  violated"),
        (["sim", "central", "--entries", "3", "--diagram", nowhere], "mutual-exclusion  held"),
    ] {
        assert_printed_before_failing(&arguments, found, nowhere);
    }
    // A trace is opened before the run, and fails when it is written.
    #[cfg(target_os = "linux")]
    {
        let full = std::env::temp_dir().join(format!("quorate-full-{}.jsonl", std::process::id()));
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        let file = full.to_str().unwrap();
        let sim = ["sim", "central", "--entries", "3", "--trace", file];
        assert_printed_before_failing(&sim, "mutual-exclusion  held", file);
        std::fs::remove_file(full).unwrap();
    }
}

fn assert_printed_before_failing(arguments: &[&str], found: &str, file: &str) {
    let output = quorate(arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(found), "{found} is not in\n{text}");
    assert!(String::from_utf8(output.stderr).unwrap().contains(file));
    assert_eq!(output.status.code(), Some(1));
}

/// A run is drawn in every form, at once or from its trace, and the traces of nodes are drawn too.
#[test]
fn runs_and_traces_are_drawn() {
    let directory = std::env::temp_dir().join(format!("quorate-diagram-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = |name: &str| directory.join(name).to_str().unwrap().to_string();
    let (page, trace) = (path("run.html"), path("run.jsonl"));
    stdout(&["sim", "bully", "-n", "4", "--diagram", &page, "--trace", &trace, "--down", "--clocks", "lamport"]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<title>bully, n = 4, seed 1</title>") && page.contains("Lamport clock"));
    for (name, begin) in [("a.svg", "<svg"), ("a.html", "<!doctype html>"), ("a.txt", "run")] {
        stdout(&["diagram", &trace, "-o", &path(name), "--to", "1"]);
        let drawn = std::fs::read(path(name)).unwrap();
        assert!(drawn.starts_with(begin.as_bytes()), "{name}");
    }
    assert!(std::fs::read_to_string(path("a.svg")).unwrap().contains("later records are not shown"));
    // Three real nodes wrote these.
    let nodes = [1, 2, 3].map(|id| format!("{}/tests/traces/{id}.trace", env!("CARGO_MANIFEST_DIR")));
    let [first, second, third] = nodes.each_ref().map(String::as_str);
    stdout(&["diagram", first, second, third, "-o", &path("nodes.svg"), "--clocks", "vector"]);
    let some = quorate(&["diagram", first, second, "-o", &path("some.svg")]);
    let warned = String::from_utf8_lossy(&some.stderr).into_owned();
    assert!(some.status.success() && warned.contains("no trace of p3"), "{warned}");
    let nodes = std::fs::read_to_string(path("nodes.svg")).unwrap();
    assert!(nodes.contains("ricart-agrawala, 3 nodes, &quot;printer&quot;") && nodes.contains("time in s →"));
    std::fs::remove_dir_all(directory).unwrap();
}

/// What a check finds is kept as a scenario, which replays to the same verdict; and what it does not find is a failure.
#[test]
fn a_counterexample_is_kept_and_played_again() {
    let directory = std::env::temp_dir().join(format!("quorate-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = |name: &str| directory.join(name).to_str().unwrap().to_string();
    let (file, drawing) = (path("found.txt"), path("found.svg"));
    let check = ["check", "lamport", "-n", "2", "--order", "any", "--scenario", &file, "--quiet"];
    assert_eq!(quorate(&check).status.code(), Some(10));
    assert_eq!(quorate(&["replay", &file, "--diagram", &drawing, "--quiet"]).status.code(), Some(10));
    assert!(std::fs::read_to_string(&drawing).unwrap().contains("<svg"));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("expect mutual-exclusion violated", "expect holds")).unwrap();
    let output = quorate(&["replay", &file, "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("`expect holds` failed"));
    std::fs::write(&file, text.replace("p2  ENTERS", "p2  exits")).unwrap();
    let output = quorate(&["replay", &file, "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("the conversation differs from the expected one"));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn bad_input_gets_one_line_that_names_it_and_says_what_is_accepted() {
    for (arguments, named, accepted) in [
        (&["sim", "paxos"][..], "paxos", "ricart-agrawala"),
        (&["sim", "central", "-n", "0"], "0", "a whole number from 1 to 16383"),
        (&["sim", "central", "-n", "three"], "three", "a whole number from 1 to 16383"),
        (&["sim", "central", "--entries", "0"], "0", "a whole number, at least 1"),
        (&["sim", "central", "-n", "3", "--crash", "4@1"], "process 4", "process ids are 1 to 3"),
        (&["sim", "central", "-n", "3", "--crash", "0@1"], "process 0", "numbered 1 to n"),
        (&["sim", "central", "--crash", "3"], "`3` has no time", "--absent 3"),
        (&["sim", "central", "--entries-each", "endless"], "endless", "`check`"),
        (&["sim", "central", "--property", "deadlock-freedom"], "deadlock-freedom", "which `check` decides"),
        (&["sim", "central", "--property", "decided"], "decided", "mutual-exclusion, progress"),
        (&["check", "lamport", "--sets", "grid"], "lamport", "maekawa and maekawa-deadlock-free"),
        (&["sim", "central", "-n", "3", "--restart", "2@1"], "process 2", "has not crashed"),
        (&["sim", "central", "-n", "3", "--partition", "1,2/2,3@1..2"], "process 2", "two parts"),
        (&["sim", "central", "-n", "3", "--partition", "1/2@5..5"], "5", "end after it begins"),
        (&["sim", "central", "--pause", "1@5..2"], "5..2", "must not be larger"),
        (&["sim", "central", "--delay", "uniform:2..1"], "2..1", "must not be larger"),
        (&["sim", "central", "--delay", "constant:0"], "constant:0", "at least 0.000001"),
        (&["sim", "central", "--delay", "gaussian:1"], "gaussian:1", "exponential:MEAN"),
        (&["sim", "central", "-n", "-1"], "-1", "a whole number from 1 to 16383"),
        (&["sim", "central", "--seed", "-1"], "-1", "a whole number, 0 or greater"),
        (&["sim", "central", "--cs", "-1"], "-1", "a number of δ"),
        (&["sim", "lamport", "--sets", "grid"], "lamport", "maekawa and maekawa-deadlock-free"),
        (&["sim", "maekawa", "--sets", "grid", "--option", "sets=best"], "sets", "give it once"),
        (&["sim", "majority", "--delay-bound", "0"], "bound 0", "0.001"),
        (&["sim", "central", "--conversation", "loud"], "loud", "auto, always, never"),
        (&["sim", "central", "--loss-rate", "1.5"], "1.5", "from 0 to 1"),
        (&["sim", "central", "--workload", "busy"], "busy", "poisson:RATE"),
        (&["sim", "central", "--option", "replies=bare"], "replies", "central has no options"),
        (&["sim", "ricart-agrawala", "--option", "replies=loud"], "loud", "numbered or bare"),
        (&["sim", "ricart-agrawala", "--option", "reply=bare"], "reply", "the options of ricart-agrawala are replies"),
        (&["sim", "maekawa", "-n", "8", "--sets", "plane"], "8", "n = 7 or n = 13"),
        (&["sim", "majority", "-n", "5", "--option", "votes=2"], "2", "3 to 5"),
        (&["sim", "bully", "--starter", "9"], "process 9", "process ids are 1 to 5"),
        (&["sim", "bully", "--absent", "2", "--starter", "2"], "process 2", "it is absent"),
        (&["sim", "bully", "-n", "1", "--absent", "1"], "all 1", "at least one must live"),
        (&["voting-sets", "-n", "8", "--kind", "plane"], "8", "grid"),
        (&["violation", "--coordinators", "16", "--votes", "8", "--uptime", "1h", "--reset", "30s"], "8", "9 to 16"),
        (&["violation", "--coordinators", "16", "--votes", "9", "--uptime", "1h", "--reset", "30"], "30", "30s"),
        (&["compare", "-n", "3,x"], "x", "a whole number from 2 to 1000"),
        (&["sim", "bully", "--entries", "5"], "--entries", "bully is for election"),
        (&["sim", "central", "--starter", "1"], "--starter", "central is for mutual exclusion"),
        (&["replay", "no-such-thing"], "no-such-thing", "quorate scenarios"),
        (&["replay", "central-queue", "--diagram", "picture.gif"], "picture.gif", ".svg"),
        (&["replay", "central-queue", "--down"], "--down", "--diagram"),
        (&["sim", "central", "--diagram", "x.svg", "--records", "5..2"], "5..2", "counted from 1"),
        (&["diagram", "/dev/null", "-o", "run.jsonl"], "run.jsonl", ".html"),
        (&["diagram", "/dev/null", "-o", "run.svg"], "/dev/null", "the file contains no trace"),
        (&["scenarios", "no-such-thing"], "no-such-thing", "central-queue"),
        (&["simulate"], "simulate", "sim"),
    ] {
        let output = quorate(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert_eq!(told.lines().count(), 1, "{arguments:?}: {told}");
        assert!(told.starts_with("quorate: "), "{told}");
        assert!(told.contains(named) && told.contains(accepted), "{arguments:?}: {told}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_quorate"))
        .args(["voting-sets", "-n", "10000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_closed_pipe_does_not_hide_what_was_found() {
    let script =
        "{ sleep 0.2; \"$0\" sim lamport -n 3 --order any --delay exponential:1 --seed 2 -q; echo $? >&2; } | true";
    let output = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_quorate")]).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "10\n");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error_and_never_a_panic() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_quorate")).args(arguments).stderr(full()).output().unwrap()
    };
    assert_eq!(run(&["sim", "paxos"]).status.code(), Some(2));
    assert_eq!(run(&["sim", "central", "-n", "3", "--loss-rate", "0.001", "--entries", "1"]).status.code(), Some(0));
    let output = Command::new(env!("CARGO_BIN_EXE_quorate")).args(["algorithms"]).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    // The name does not say which kind of trace to write.
    assert_eq!(quorate(&["sim", "central", "--trace", "/dev/full"]).status.code(), Some(2));
}

#[test]
fn text_is_reproducible_to_the_byte() {
    let run = || stdout(&["sim", "majority", "-n", "7", "--delay", "exponential:1"]);
    assert_eq!(run(), run());
}

#[test]
fn the_comparison_has_both_tables_and_marks_what_differs() {
    let text = stdout(&["compare", "-n", "3,9"]);
    assert!(text.contains("Mutual exclusion") && text.contains("Election"));
    let line = |formula: &str| text.lines().find(|line| line.contains(formula)).unwrap().to_string();
    assert!(line("2N−1 (B)").contains("17 → 16 *"));
    assert!(line("3N−1 (A, B)").contains("26 → 26"));
    assert!(!line("3N−1 (A, B)").contains('*'));
    let one = stdout(&["compare", "bully", "-n", "3"]);
    assert!(one.contains("bully") && !one.contains("lamport") && !one.contains("Mutual exclusion"));
    let compared = json(&["compare", "-n", "3"]);
    assert!(compared["mutex"].as_array().unwrap().len() > 30);
    assert!(compared["election"].as_array().unwrap().len() >= 9);
}

#[test]
fn the_catalogue_lists_every_algorithm() {
    let listed = json(&["algorithms"])["algorithms"].take();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 13);
    let text = stdout(&["algorithms", "--short"]);
    for name in names {
        assert!(text.contains(name));
        let full = stdout(&["algorithms", name]);
        assert!(full.contains("assumes") && full.contains("promises"), "{full}");
    }
}

#[test]
fn the_chance_of_a_violation_is_told_three_ways() {
    let chance = json(&["violation", "--coordinators", "16", "--votes", "9", "--uptime", "1h", "--reset", "30s"]);
    let value = |name: &str| chance[name].as_f64().unwrap();
    assert!((value("formula") - 0.0725).abs() < 0.0001);
    assert!((value("exact") - 0.0024).abs() < 0.0001);
    assert!((value("simulated") - value("exact")).abs() < 0.001);
}

#[test]
fn completions_and_man_pages_come_from_the_same_definitions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&["completions", shell]);
        assert!(["voting-sets", "member", "observe", "dev"].iter().all(|name| script.contains(name)), "{shell}");
    }
    assert!(stdout(&["man"]).contains(".TH quorate"));
    let directory = std::env::temp_dir().join(format!("quorate-man-{}", std::process::id()));
    stdout(&["man", directory.to_str().unwrap()]);
    for page in ["quorate.1", "quorate-sim.1", "quorate-member-add.1", "quorate-demo-fence.1"] {
        assert!(directory.join(page).exists(), "{page}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// A million entries fit where a run that grew with its length would not: 40 million records are no small thing.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_length_of_the_run() {
    let script = "ulimit -v 100000; exec \"$0\" sim central -n 3 --entries 1000000 --delay uniform:0.5..1.5 --json";
    let output = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_quorate")]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["entries"], &report["messages"]), (&1_000_000.into(), &3_000_000.into()));
}

#[test]
fn voting_sets_are_drawn_and_judged() {
    let text = stdout(&["voting-sets", "-n", "36"]);
    assert!(text.contains("13  14  15  16  17  18\n"), "{text}");
    assert!(text.contains("p14  {2, 8, 13, 14, 15, 16, 17, 18, 20, 26, 32}"), "{text}");
    assert_eq!(text.matches("yes").count(), 4);
    assert_eq!(stdout(&["voting-sets", "-n", "11"]).matches("  no").count(), 2);
}
