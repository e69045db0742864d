//! What a node writes into its log: a line for each thing that an operator wants to know of, and none for a request.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Directory, eventually, request};

/// A node whose log goes to a file. It dies with the test.
struct Logging {
    child: Child,
    address: String,
}

impl Logging {
    fn start(data: &Path, log: &Path, extra: &[&str]) -> Logging {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        command.args(["serve", "--json", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(extra);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(log).unwrap());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the node said {line:?}"));
        Logging { child, address: started["address"].as_str().unwrap().to_string() }
    }

    fn post(&self, path: &str, body: &str) -> (u16, Value) {
        request(&self.address, "POST", path, body)
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a log, each an object.
fn lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    // The last line may not be whole yet.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect()
}

fn wait_for(log: &Path, message: &str) -> Value {
    let found = |line: &Value| line["message"].as_str().is_some_and(|text| text.contains(message));
    eventually(message, || lines(log).into_iter().find(found))
}

#[test]
fn an_operator_is_told_in_json_what_happened_and_nothing_of_single_requests() {
    let directory = Directory::new();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    let node = Logging::start(&data, &log, &["--log", "json"]);
    assert_eq!(wait_for(&log, "node started")["level"], "INFO");
    assert!(wait_for(&log, "became leader")["term"].is_u64());
    let before = lines(&log).len();
    let (_, session) = node.post("/v1/sessions", r#"{"ttl": "500ms", "label": "worker 7"}"#);
    let session = session["session"].as_str().unwrap();
    for _ in 0..20 {
        node.post(&format!("/v1/sessions/{session}/renew"), "");
    }
    assert_eq!(node.post("/v1/locks/a/acquire", &format!(r#"{{"session": "{session}"}}"#)).0, 200);
    let expired = wait_for(&log, "session expired");
    assert_eq!((&expired["label"], &expired["lost"]), (&"worker 7".into(), &"a".into()), "{expired}");
    assert_eq!(expired["session"], session);
    node.post("/v1/locks/b/acquire", r#"{"ttl": "10m"}"#);
    assert_eq!(node.post("/v1/locks/b/force", r#"{"by": "alice"}"#).0, 204);
    let forced = wait_for(&log, "lock released by force");
    assert_eq!((&forced["by"], &forced["name"], &forced["level"]), (&"alice".into(), &"b".into(), &"WARN".into()));
    assert_eq!(lines(&log).len(), before + 2, "{:?}", lines(&log));
}

#[test]
fn a_torn_record_is_cut_off_and_told_in_words() {
    let directory = Directory::new();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    let node = Logging::start(&data, &log, &[]);
    for number in 0..3 {
        assert_eq!(node.post(&format!("/v1/locks/l{number}/acquire"), r#"{"ttl": "10m"}"#).0, 200);
    }
    eventually("the log", || std::fs::read_to_string(&log).unwrap().contains("became leader").then_some(()));
    drop(node);
    let files = std::fs::read_dir(data.join("log")).unwrap().map(|entry| entry.unwrap().path());
    let last = files.filter(|path| path.extension().is_some_and(|end| end == "wal")).max().unwrap();
    let mut bytes = std::fs::read(&last).unwrap();
    // The end of a record whose beginning has not arrived.
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    let torn = (end + 1).next_multiple_of(512) + 100;
    bytes[torn] = 1;
    std::fs::write(&last, bytes).unwrap();
    let again = directory.path().join("again");
    let _node = Logging::start(&data, &again, &["--log", "json"]);
    let cut = wait_for(&again, "torn record cut off");
    assert_eq!(cut["level"], "WARN");
    assert!((1..=torn as u64).contains(&cut["at"].as_u64().unwrap()), "{cut}");
}
