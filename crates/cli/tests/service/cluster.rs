//! Three nodes, and what happens when one of them dies.

use std::time::Duration;

use serde_json::Value;

use crate::ports::free_addresses;
use crate::support::{Directory, Served, eventually, quorate, try_request};

/// How many wait at one node.
const CROWD: usize = 300;

struct Cluster {
    directory: Directory,
    addresses: Vec<String>,
    nodes: Vec<Option<Served>>,
}

impl Cluster {
    fn start(n: usize) -> Cluster {
        let addresses = free_addresses(n);
        let mut cluster = Cluster { directory: Directory::new(), addresses, nodes: (0..n).map(|_| None).collect() };
        for node in 0..n {
            cluster.start_node(node);
        }
        cluster
    }

    fn start_node(&mut self, node: usize) {
        let members: Vec<_> =
            self.addresses.iter().enumerate().map(|(at, address)| format!("{}={address}", at + 1)).collect();
        let number = (node + 1).to_string();
        let mut arguments = vec!["--node", &number, "--listen", &self.addresses[node]];
        for member in &members {
            arguments.extend(["--member", member]);
        }
        let data = self.directory.path().join(&number);
        self.nodes[node] = Some(Served::start(&data, &arguments));
    }

    fn kill(&mut self, node: usize) {
        self.nodes[node].take().unwrap().kill();
    }

    /// Asks any living node until it answers with success.
    fn insist(&self, method: &str, path: &str, body: &str) -> Value {
        eventually(path, || {
            self.nodes.iter().flatten().find_map(|node| {
                let (status, value) = try_request(&node.address, method, path, body).ok()?;
                (status < 300).then_some(value)
            })
        })
    }

    fn leader(&self) -> usize {
        eventually("a leader", || {
            let leaders = self.nodes.iter().flatten().map(|node| node.get("/v1/status").1["leader"].as_u64());
            let leaders: Vec<_> = leaders.collect();
            let first = leaders[0]?;
            leaders.iter().all(|leader| *leader == Some(first)).then_some(first as usize - 1)
        })
    }
}

#[test]
fn without_a_majority_nobody_is_promised_anything_and_it_is_said_what_to_look_at() {
    let mut cluster = Cluster::start(3);
    cluster.leader();
    cluster.kill(0);
    cluster.kill(1);
    let refused = quorate(&cluster.addresses[2], &["lock", "job", "--try", "--", "true"]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(125), "{told}");
    assert!(told.contains("a majority of the members runs"), "{told}");
    cluster.start_node(0);
    cluster.leader();
    assert!(quorate(&cluster.addresses[2], &["lock", "job", "--", "true"]).status.success());
}

#[test]
fn a_grant_survives_the_loss_of_the_leader_and_any_node_answers() {
    let mut cluster = Cluster::start(3);
    let leader = cluster.leader();
    let session = cluster.insist("POST", "/v1/sessions", r#"{"ttl": "60s", "label": "holder"}"#);
    let session = session["session"].as_str().unwrap();
    let acquire = format!(r#"{{"session": "{session}", "request": 1}}"#);
    let follower = (leader + 1) % 3;
    let (status, grant) = cluster.nodes[follower].as_ref().unwrap().post("/v1/locks/a/acquire", &acquire);
    assert_eq!(status, 200, "{grant}");
    cluster.kill(leader);
    let lock = cluster.insist("GET", "/v1/locks/a", "");
    assert_eq!(lock["holders"][0]["fence"], grant["fence"], "{lock}");
    assert_eq!(cluster.insist("POST", "/v1/locks/a/acquire", &acquire), grant, "asked again, the same grant");
    cluster.insist("POST", "/v1/locks/a/release", &format!(r#"{{"session": "{session}", "request": 2}}"#));
    let next = cluster.insist("POST", "/v1/locks/a/acquire", &format!(r#"{{"session": "{session}", "request": 3}}"#));
    assert!(next["fence"].as_u64() > grant["fence"].as_u64());
    cluster.start_node(leader);
    let back = cluster.nodes[leader].as_ref().unwrap();
    eventually("catching up", || (back.get("/v1/locks/a").1["holders"][0]["fence"] == next["fence"]).then_some(()));
}

#[test]
fn two_of_three_are_needed_and_enough() {
    let mut cluster = Cluster::start(3);
    let leader = cluster.leader();
    let grant = cluster.insist("POST", "/v1/locks/a/acquire", r#"{"ttl": "120s"}"#);
    cluster.kill(leader);
    cluster.kill((leader + 1) % 3);
    let last = cluster.nodes[(leader + 2) % 3].as_ref().unwrap();
    let (status, problem) = last.post("/v1/locks/b/acquire", r#"{"wait": 0}"#);
    assert!(matches!(status, 503 | 504), "alone it must not answer: {status} {problem}");
    cluster.start_node(leader);
    let lock = cluster.insist("GET", "/v1/locks/a", "");
    assert_eq!(lock["holders"][0]["fence"], grant["fence"], "{lock}");
}

#[test]
fn a_lock_outlives_the_node_that_its_client_speaks_with() {
    let cluster = Cluster::start(3);
    let spoken_with = (cluster.leader() + 1) % 3;
    let endpoints: Vec<_> = (0..3).map(|next| cluster.addresses[(spoken_with + next) % 3].clone()).collect();
    let run =
        std::thread::spawn(move || quorate(&endpoints.join(","), &["lock", "job", "--ttl", "4s", "--", "sleep", "5"]));
    let is_held = || cluster.insist("GET", "/v1/locks/job", "")["holders"][0]["fence"].is_u64();
    eventually("the grant", || is_held().then_some(()));
    // It keeps its connections open, and says nothing any more.
    cluster.nodes[spoken_with].as_ref().unwrap().signal("STOP");
    let output = run.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A leader that is stopped in an orderly way tells its successor how long each session has left: nobody waits longer
/// for the lock of a client that has died.
#[test]
fn what_is_left_of_a_lease_is_handed_over_with_the_lead() {
    let mut cluster = Cluster::start(3);
    let leader = cluster.leader();
    let session = cluster.insist("POST", "/v1/sessions", r#"{"ttl": "60s"}"#);
    let path = format!("/v1/sessions/{}", session["session"].as_str().unwrap());
    let spent = Duration::from_secs(3);
    std::thread::sleep(spent);
    let stopped = cluster.nodes[leader].as_mut().unwrap();
    stopped.signal("TERM");
    assert_eq!(stopped.wait(), Some(0));
    cluster.nodes[leader] = None;
    let left_ms = cluster.insist("GET", &path, "")["left_ms"].as_u64().unwrap();
    assert!(left_ms <= 60_000 - spent.as_millis() as u64, "{left_ms} ms are left");
    assert!(left_ms > 0);
}

/// More wait at one node than questions of it are worked on at once: they must not keep others from being heard.
#[test]
fn a_crowd_that_waits_at_a_follower_is_in_nobodys_way() {
    let cluster = Cluster::start(3);
    let follower = cluster.nodes[(cluster.leader() + 1) % 3].as_ref().unwrap();
    let held = follower.post("/v1/locks/a/acquire", r#"{"ttl": "10m"}"#).1;
    let waiting: Vec<_> = (0..CROWD).map(|_| follower.send("/v1/locks/a/acquire", r#"{"ttl": "10m"}"#)).collect();
    let crowd = || (follower.get("/v1/locks/a").1["waiting"] == CROWD).then_some(());
    eventually("a crowd", crowd);
    assert_eq!(follower.post("/v1/locks/b/acquire", r#"{"ttl": "10m"}"#).0, 200);
    let session = held["session"].as_str().unwrap();
    assert_eq!(follower.post(&format!("/v1/sessions/{session}/renew"), "").0, 200);
    let release = format!(r#"{{"session": "{session}"}}"#);
    assert_eq!(follower.post("/v1/locks/a/release", &release).0, 204);
    eventually("a hand-over", || {
        let lock = follower.get("/v1/locks/a").1;
        (lock["waiting"] == CROWD - 1 && lock["holders"][0]["fence"].as_u64() > held["fence"].as_u64()).then_some(())
    });
    drop(waiting);
}
