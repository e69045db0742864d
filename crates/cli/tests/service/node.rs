//! One node: what it keeps over a crash, and the commands that use it.

use crate::running::Running;
use crate::support::{Directory, Served, eventually, quorate, try_request};

fn stdout(address: &str, arguments: &[&str]) -> String {
    let output = quorate(address, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "quorate {}: {errors}", arguments.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_grant_survives_a_crash_and_fences_grow_on() {
    let directory = Directory::new();
    let mut node = Served::start(directory.path(), &[]);
    let (_, grant) = node.post("/v1/locks/a/acquire", r#"{"ttl": "60s", "label": "survivor"}"#);
    node.kill();
    let node = Served::start(directory.path(), &[]);
    let (_, lock) = node.get("/v1/locks/a");
    assert_eq!(lock["holders"][0]["fence"], grant["fence"], "{lock}");
    assert_eq!(lock["holders"][0]["label"], "survivor");
    let release = format!(r#"{{"session": {}}}"#, grant["session"]);
    assert_eq!(node.post("/v1/locks/a/release", &release).0, 204);
    let (_, next) = node.post("/v1/locks/a/acquire", "");
    assert!(next["fence"].as_u64() > grant["fence"].as_u64());
}

#[test]
fn a_node_stops_cleanly_and_refuses_anothers_data() {
    let directory = Directory::new();
    let mut node = Served::start(directory.path(), &[]);
    node.signal("TERM");
    assert_eq!(node.wait(), Some(0));
    let other =
        quorate("", &["serve", "--listen", "127.0.0.1:0", "--node", "2", "--data", directory.path().to_str().unwrap()]);
    assert_eq!(other.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&other.stderr).contains("belongs to node 1"));
    let open = quorate("", &["serve", "--listen", "0.0.0.0:0", "--data", directory.path().to_str().unwrap()]);
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("--insecure"));
}

#[test]
fn what_a_node_says_to_try_works() {
    let directory = Directory::new();
    let data = directory.path().to_str().unwrap();
    let node = Running::start("", &["serve", "--listen", "127.0.0.1:0", "--data", data]);
    let mut told = std::iter::repeat_with(|| node.line());
    for before in ["try    quorate ", "       quorate "] {
        let line = told.find(|line| line.starts_with(before)).unwrap().replace("sleep 10", "true");
        // The environment names nobody.
        stdout("127.0.0.1:1", &line[before.len()..].split_whitespace().collect::<Vec<_>>());
    }
}

#[test]
fn a_full_disk_ends_the_node_and_takes_nothing_away() {
    let directory = Directory::new();
    let mut node = Served::start_on_a_small_disk(directory.path(), 200);
    let (mut acknowledged, mut fence) = (0, 0);
    while let Ok((200, grant)) =
        try_request(&node.address, "POST", &format!("/v1/locks/l{}/acquire", acknowledged + 1), r#"{"ttl": "1h"}"#)
    {
        fence = grant["fence"].as_u64().unwrap();
        acknowledged += 1;
        assert!(acknowledged < 100_000, "the disk is not small");
    }
    assert!(acknowledged > 0);
    assert_eq!(node.wait(), Some(1), "it ends by itself");
    let node = Served::start(directory.path(), &[]);
    assert_eq!(node.get(&format!("/v1/locks/l{acknowledged}")).1["holders"][0]["fence"], fence);
    assert!(node.get("/v1/status").1["locks"].as_u64().unwrap() >= acknowledged);
}

#[test]
fn a_command_runs_under_a_lock_and_sees_its_fence() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let script = "echo $QUORATE_LOCK $QUORATE_FENCE; quorate() { :; }; exit 7";
    let output = quorate(&node.address, &["lock", "job", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(7));
    let line = String::from_utf8(output.stdout).unwrap();
    let fence: u64 = line.trim().strip_prefix("job ").unwrap().parse().unwrap();
    assert!(fence > 0);
    assert_eq!(node.get("/v1/locks/job").1["holders"].as_array().unwrap().len(), 0, "it is given back");
    assert_eq!(node.get("/v1/status").1["sessions"], 0);
    assert_eq!(quorate(&node.address, &["lock", "job", "--", "no-such-command-here"]).status.code(), Some(127));
}

#[test]
fn exit_codes_tell_busy_from_late_and_from_failed() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let (_, _) = node.post("/v1/locks/job/acquire", r#"{"ttl": "60s", "label": "deploy@web1:812"}"#);
    let busy = quorate(&node.address, &["lock", "job", "--try", "--", "true"]);
    assert_eq!(busy.status.code(), Some(122));
    let late = quorate(&node.address, &["lock", "job", "--wait", "1s", "--", "true"]);
    assert_eq!(late.status.code(), Some(124));
    let told = String::from_utf8(late.stderr).unwrap();
    assert!(told.contains("waiting behind deploy@web1:812") && told.contains("1 ahead"), "{told}");
    let text = stdout(&node.address, &["locks"]);
    assert!(text.contains("held by deploy@web1:812"), "{text}");
    stdout(&node.address, &["release", "job", "--force", "--by", "operator"]);
    assert!(stdout(&node.address, &["locks"]).contains("no lock is held or waited for"));
    let nobody = quorate("127.0.0.1:1", &["status"]);
    assert_eq!(nobody.status.code(), Some(1));
}

#[test]
fn elections_are_listed_and_the_lead_can_be_taken_away() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    assert!(stdout(&node.address, &["elections"]).contains("no election has a leader or candidates"));
    let campaign = r#"{"value": "10.0.0.1:5432", "label": "db1", "ttl": "60s"}"#;
    let (_, won) = node.post("/v1/elections/db/campaign", campaign);
    let expected = format!("db\n  leader db1, fence {}, value 10.0.0.1:5432", won["fence"]);
    for arguments in [&["elections"][..], &["elections", "db"]] {
        assert!(stdout(&node.address, arguments).starts_with(&expected), "{arguments:?}");
    }
    let listed: serde_json::Value =
        serde_json::from_str(&stdout(&node.address, &["elections", "--json"])).expect("it is JSON");
    assert_eq!((&listed["total"], &listed["elections"][0]["leader"]["fence"]), (&1.into(), &won["fence"]));
    let no_lock = quorate(&node.address, &["release", "db", "--force"]);
    assert_eq!(no_lock.status.code(), Some(1), "a lock of that name is something else");
    let other = quorate(&node.address, &["release", "db", "--election", "--force", "--fence", "1"]);
    let told = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.code() == Some(1) && told.contains("nothing was released: check the holder again"), "{told}");
    let fence = won["fence"].to_string();
    stdout(&node.address, &["release", "db", "--election", "--force", "--fence", &fence]);
    assert_eq!(node.get("/v1/elections/db").1["leader"], serde_json::Value::Null);
}

#[test]
fn quiet_is_about_chatter_and_not_about_failures() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let (_, _) = node.post("/v1/locks/job/acquire", r#"{"ttl": "60s"}"#);
    let late = quorate(&node.address, &["lock", "job", "--quiet", "--wait", "1s", "--", "true"]);
    let told = String::from_utf8(late.stderr).unwrap();
    assert_eq!((late.status.code(), told.lines().count()), (Some(124), 1), "{told}");
    assert!(told.contains("was not granted in time"), "{told}");
    let missing = quorate(&node.address, &["lock", "free", "--quiet", "--", "no-such-command-here"]);
    assert!(String::from_utf8(missing.stderr).unwrap().contains("no-such-command-here"));
}

#[test]
fn a_command_is_stopped_when_the_lock_is_lost() {
    let directory = Directory::new();
    let mut node = Served::start(directory.path(), &[]);
    let address = node.address.clone();
    let run = std::thread::spawn(move || {
        quorate(
            &address,
            &["lock", "job", "--ttl", "1s", "--", "sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"],
        )
    });
    eventually("the grant", || (node.get("/v1/locks/job").1["holders"][0]["fence"].is_u64()).then_some(()));
    node.kill();
    let output = run.join().unwrap();
    assert_eq!(output.status.code(), Some(123), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_command_is_stopped_when_the_lock_is_taken_away() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let address = node.address.clone();
    let run = std::thread::spawn(move || quorate(&address, &["lock", "job", "--ttl", "1h", "--", "sleep", "600"]));
    eventually("the grant", || (node.get("/v1/locks/job").1["holders"][0]["fence"].is_u64()).then_some(()));
    stdout(&node.address, &["release", "job", "--force", "--by", "operator"]);
    let output = run.join().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(123), "{told}");
    assert!(told.contains("released it by force"), "{told}");
    assert_eq!(node.get("/v1/status").1["sessions"], 0, "it leaves nothing for an hour");
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let refused = |arguments: &[&str], code: i32| {
        let output = quorate(&node.address, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&["bench", "--duration", "0s"], 2).contains("`--duration` must be greater than zero"));
    assert!(refused(&["release", "free", "--force"], 1).contains("free has no holder"));
    let other = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_quorate")).args(arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(other(&["dev", "--nodes", "2", "--port", "65535"]).contains("leaves no room"));
    assert!(other(&["serve", "--listen", "localhost:7420"]).contains("as in 127.0.0.1:7420"));
    let file = directory.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    assert!(other(&["serve", "--listen", "127.0.0.1:0", "--data", file]).contains("a-file as the data directory"));
    let tokens = "/no/such/tokens.toml";
    let data = directory.path().join("other");
    let data = data.to_str().unwrap();
    let told = other(&["serve", "--listen", "127.0.0.1:0", "--data", data, "--tokens", tokens]);
    assert!(told.contains("`quorate keys token --file FILE` creates one"), "{told}");
    let zeroth = std::process::Command::new(env!("CARGO_BIN_EXE_quorate")).args(["serve", "--node", "0"]).output();
    assert_eq!(zeroth.unwrap().status.code(), Some(2));
}

/// One node of several stands still: whoever looks asks the next one.
#[test]
fn who_looks_does_not_wait_for_long_for_one_who_stands_still() {
    let (directory, other) = (Directory::new(), Directory::new());
    let (still, node) = (Served::start(directory.path(), &[]), Served::start(other.path(), &[]));
    still.signal("STOP");
    node.post("/v1/locks/a/acquire", r#"{"ttl": "60s", "label": "somebody"}"#);
    let seen = stdout(&format!("{},{}", still.address, node.address), &["locks"]);
    assert!(seen.contains("somebody"), "{seen}");
    still.signal("CONT");
}

#[test]
fn the_benchmark_finds_no_violation() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let arguments = ["bench", "--clients", "8", "--duration", "300ms", "--warmup", "50ms", "--json"];
    let reports: serde_json::Value = serde_json::from_str(&stdout(&node.address, &arguments)).unwrap();
    for report in reports.as_array().unwrap() {
        assert!(report["cycles_per_second"].as_f64().unwrap() > 0.0, "{report}");
        assert_eq!(report["violations"], 0);
    }
}
