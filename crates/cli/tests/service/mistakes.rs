//! First mistakes with the commands of the service: the answer says what to type instead, and the exit code is 2.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Directory, Served, quorate};

/// Runs a command that must fail with this code, and returns its error.
fn refused(code: i32, address: &str, arguments: &[&str]) -> String {
    let output = quorate(address, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    error
}

#[test]
fn a_command_without_two_hyphens_gets_the_corrected_line() {
    for (arguments, corrected) in [
        (&["lock", "job", "sleep", "1"][..], "quorate lock job -- sleep 1"),
        (&["lock", "job", "pg_dump", "-Fc", "db"], "quorate lock job -- pg_dump -Fc db"),
        (&["elect", "db", "--ttl", "5s", "sh", "-c", "run it"], "quorate elect db --ttl 5s -- sh -c 'run it'"),
        (&["lock", "job", "sleep", "1", "--", "true"], "quorate lock job -- sleep 1 true"),
    ] {
        let error = refused(2, "127.0.0.1:1", arguments);
        assert!(error.contains("the command to run goes after `--`") && error.contains(corrected), "{error}");
    }
}

#[test]
fn what_is_missing_or_unknown_is_named() {
    for (arguments, answer) in [
        (&["release", "--force"][..], "the name of the lock is missing: quorate release NAME --force"),
        (&["release", "--force", "--election"], "the name of the election is missing"),
        (&["release", "job"], "add --force"),
        (&["lokc", "job"], "'lock'"),
        (&["lock", "job", "--tll", "5s", "--", "true"], "did you mean `--ttl`?"),
        (&["elect", "job", "--vale=x"], "did you mean `--value`?"),
        (&["serve", "--lissen", "127.0.0.1:0"], "'--listen'"),
        (&["member", "ad", "2=127.0.0.1:1"], "'add'"),
    ] {
        let error = refused(2, "127.0.0.1:1", arguments);
        assert!(error.contains(answer), "{arguments:?}: {error}");
    }
}

#[test]
fn where_no_node_answers_the_error_says_how_to_start_one() {
    let expected = "no node answered at 127.0.0.1:1: start one with `quorate serve`, or name others with --endpoints";
    for (code, arguments) in [(125, &["lock", "job", "--try", "--", "true"][..]), (1, &["status"])] {
        let error = refused(code, "127.0.0.1:1", arguments);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn wrong_arguments_exit_2_whoever_finds_that_out() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let long = "n".repeat(2_000);
    for (arguments, named) in [
        // The client.
        (&["lock", "job", "--endpoints", "nonsense", "--", "true"][..], "nonsense"),
        (&["lock", "job", "--ca", "/no/such/file", "--", "true"], "/no/such/file"),
        // The service.
        (&["lock", "job", "--permits", "0", "--", "true"], "permits"),
        (&["elect", &long, "--", "true"], "name"),
        (&["locks", &long], "name"),
        // A process that this one starts.
        (&["dev", "--port", "0", "--algorithm", "central", "--option", "colour=red"], "colour"),
    ] {
        let error = refused(2, &node.address, arguments);
        assert!(error.contains(named), "{error}");
    }
    assert_eq!(node.get("/v1/status").1["sessions"], 0, "no session is left");
}

/// The label of a session and the user of a forced release, with these variables in the environment.
fn names(node: &Served, variables: &[(&str, &str)]) -> (String, String) {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        command.args(arguments).env("QUORATE_ENDPOINTS", &node.address).env_remove("USER").env_remove("LOGNAME");
        command.envs(variables.iter().copied()).stdin(Stdio::null()).output().unwrap()
    };
    let script = format!("{} locks job --json", env!("CARGO_BIN_EXE_quorate"));
    let shown = run(&["lock", "job", "--", "sh", "-c", &script]);
    let lock: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(node.post("/v1/locks/job/acquire", r#"{"ttl": "60s"}"#).0, 200);
    let released: Value = serde_json::from_slice(&run(&["release", "job", "--force", "--json"]).stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    (text(&lock["holders"][0]["label"]), text(&released["by"]))
}

#[test]
fn without_a_user_name_labels_have_the_number_of_the_user() {
    use std::os::unix::fs::MetadataExt;
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let by_number = format!("uid-{}", std::fs::metadata("/proc/self").unwrap().uid());
    for (variables, user) in [
        (&[][..], by_number.as_str()),
        (&[("USER", ""), ("LOGNAME", "")], &by_number),
        (&[("USER", ""), ("LOGNAME", "alice")], "alice"),
        (&[("USER", "bob"), ("LOGNAME", "alice")], "bob"),
    ] {
        let (label, by) = names(&node, variables);
        assert!(label.starts_with(&format!("{user}@")), "{variables:?}: {label}");
        assert_eq!(by, user, "{variables:?}");
    }
}
