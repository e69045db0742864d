//! Nodes that take turns (`--engine peer`): real processes, and clients of different nodes.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;

use crate::ports::free_addresses;
use crate::running::{Running, lives};
use crate::security::Keys;
use crate::support::{Directory, Served, eventually, quorate, request};

/// Quick enough for a test, and slow enough for a machine that has much else to do.
const TIMES: [&str; 6] = ["--beat", "200ms", "--tolerance", "3s", "--delay-bound", "50ms"];

struct Group {
    directory: Directory,
    members: Vec<String>,
    options: Vec<Vec<String>>,
    nodes: Vec<Option<Served>>,
}

impl Group {
    /// Three nodes with this algorithm.
    fn start(algorithm: &str) -> Group {
        let more = |_| ["--algorithm", algorithm].iter().chain(&TIMES).map(ToString::to_string).collect();
        Group::of((1..=3).map(more).collect())
    }

    /// As many nodes as there are options of.
    fn of(options: Vec<Vec<String>>) -> Group {
        let members = free_addresses(options.len());
        let nodes = options.iter().map(|_| None).collect();
        let mut group = Group { directory: Directory::new(), members, options, nodes };
        (1..=group.nodes.len()).for_each(|node| group.start_node(node));
        group
    }

    fn data(&self, number: usize) -> PathBuf {
        self.directory.path().join(number.to_string())
    }

    fn arguments(&self, number: usize) -> Vec<String> {
        let members = self.members.iter().enumerate().map(|(at, address)| format!("--member={}={address}", at + 1));
        let options = self.options[number - 1].iter().cloned();
        [format!("--id={number}")].into_iter().chain(members).chain(options).collect()
    }

    fn start_node(&mut self, number: usize) {
        let arguments = self.arguments(number);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        self.nodes[number - 1] = Some(Served::start(&self.data(number), &arguments));
    }

    /// Starts a node that does not begin to serve.
    fn start_in_vain(&self, number: usize) -> Output {
        let mut node = Command::new(env!("CARGO_BIN_EXE_quorate"));
        node.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(self.data(number)).args(self.arguments(number));
        node.output().unwrap()
    }

    fn node(&self, number: usize) -> &Served {
        self.nodes[number - 1].as_ref().unwrap()
    }

    fn kill(&mut self, number: usize) {
        self.nodes[number - 1].take().unwrap().kill();
    }
}

fn fence(grant: &Value) -> u64 {
    grant["fence"].as_u64().unwrap_or_else(|| panic!("{grant}"))
}

#[test]
fn clients_of_different_nodes_exclude_each_other_and_fences_grow() {
    let group = Group::start("maekawa-deadlock-free");
    let log = group.directory.path().join("log");
    let script = format!("echo in $QUORATE_FENCE >> {0}; sleep 0.02; echo out $QUORATE_FENCE >> {0}", log.display());
    std::thread::scope(|scope| {
        for client in 0..9 {
            let (address, script) = (&group.node(client % 3 + 1).address, &script);
            scope.spawn(move || {
                let held = quorate(address, &["lock", "job", "--", "sh", "-c", script]);
                assert!(held.status.success(), "{}", String::from_utf8_lossy(&held.stderr));
            });
        }
    });
    let log = std::fs::read_to_string(log).unwrap();
    let lines: Vec<_> = log.lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert_eq!(lines.len(), 18, "{log}");
    let pairs = lines.chunks(2).map(|pair| match pair {
        [("in", entered), ("out", left)] if entered == left => entered.parse::<u64>().unwrap(),
        _ => panic!("two were inside: {log}"),
    });
    let fences: Vec<_> = pairs.collect();
    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
}

#[test]
fn what_one_node_gives_another_node_does_not_until_it_is_given_back() {
    let group = Group::start("ricart-agrawala");
    let held = eventually("a grant", || {
        let (status, grant) = group.node(1).post("/v1/locks/a/acquire", r#"{"ttl": "60s", "wait": "20s"}"#);
        (status == 200).then_some(grant)
    });
    assert_eq!(group.node(1).post("/v1/locks/a/acquire", r#"{"wait": 0}"#).0, 409, "busy here");
    assert_eq!(group.node(2).post("/v1/locks/a/acquire", r#"{"wait": 0}"#).0, 409, "busy elsewhere");
    let refused = quorate(&group.node(3).address, &["lock", "a", "--try", "--", "true"]);
    assert_eq!(refused.status.code(), Some(122), "{}", String::from_utf8_lossy(&refused.stderr));
    assert_eq!(group.node(2).post("/v1/locks/a/acquire", r#"{"wait": "100ms"}"#).0, 408, "waited in vain");
    let session = held["session"].as_str().unwrap();
    assert_eq!(group.node(1).post("/v1/locks/a/release", &format!(r#"{{"session": "{session}"}}"#)).0, 204);
    let (status, next) = group.node(2).post("/v1/locks/a/acquire", r#"{"wait": 0}"#);
    assert_eq!(status, 200, "who does not want to wait gets what nobody has: {next}");
    assert!(fence(&next) > fence(&held));
    let shown = group.node(1).get("/v1/locks/a").1;
    assert_eq!((&shown["here_only"], &shown["holding"]), (&true.into(), &0.into()), "{shown}");
    // A lock and an election of the same name have nothing to do with each other.
    let (status, led) = group.node(1).post("/v1/elections/a/campaign", r#"{"value": "one", "wait": "20s"}"#);
    assert_eq!(status, 200, "{led}");
    assert_eq!(group.node(1).get("/v1/elections/a").1["leader"]["value"], "one");
    assert_eq!(group.node(2).get("/v1/elections/a").1["here_only"], true);
}

#[test]
fn the_lock_of_a_node_that_is_killed_passes_on_and_the_node_comes_back() {
    let mut group = Group::start("token-ring");
    let (status, held) = group.node(1).post("/v1/locks/a/acquire", r#"{"ttl": "600s", "wait": "30s"}"#);
    assert_eq!(status, 200, "{held}");
    group.kill(1);
    let (status, next) = group.node(2).post("/v1/locks/a/acquire", r#"{"ttl": "600s", "wait": "60s"}"#);
    assert_eq!(status, 200, "{next}");
    assert!(fence(&next) > fence(&held));
    let session = next["session"].as_str().unwrap();
    assert_eq!(group.node(2).post("/v1/locks/a/release", &format!(r#"{{"session": "{session}"}}"#)).0, 204);
    group.start_node(1);
    assert_eq!(group.node(1).get("/v1/locks/a").1["holding"], 0, "its sessions have ended with it");
    let again = eventually("a grant after its return", || {
        let (status, grant) = group.node(1).post("/v1/locks/a/acquire", r#"{"ttl": "600s", "wait": "20s"}"#);
        (status == 200).then_some(grant)
    });
    assert!(fence(&again) > fence(&next));
}

#[test]
fn who_holds_a_lock_at_a_node_that_is_left_alone_is_told_that_it_is_lost() {
    let mut group = Group::start("lamport");
    let mut holder =
        Running::start(&group.node(3).address, &["lock", "a", "--", "sh", "-c", "echo held; exec sleep 600"]);
    assert_eq!(holder.line(), "held");
    group.kill(1);
    group.kill(2);
    assert_eq!(holder.wait().code(), Some(123), "it is lost while the command runs");
    let refused = quorate(&group.node(3).address, &["lock", "a", "--try", "--", "true"]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(125) && told.contains("a majority of the members runs"), "{told}");
    assert_eq!(group.node(3).get("/readyz").0, 503, "it lets nobody in");
    group.start_node(1);
    eventually("a majority", || {
        let held = quorate(&group.node(3).address, &["lock", "a", "--wait", "20s", "--", "true"]);
        held.status.success().then_some(())
    });
}

#[test]
fn what_turns_cannot_promise_is_refused_and_it_is_said_what_to_do() {
    let group = Group::start("central");
    let node = group.node(1);
    let long = "n".repeat(600);
    let acquire = |name: &str, body: &str| node.post(&format!("/v1/locks/{name}/acquire"), body);
    for ((status, problem), said) in [
        (acquire("a", r#"{"mode": "shared"}"#), "no shared locks"),
        (acquire("a", r#"{"mode": {"permits": 2}}"#), "with permits"),
        (acquire("a", r#"{"delay": "5s"}"#), "check the fence"),
        (acquire(&long, "{}"), "at most 503 bytes"),
        (node.get("/v1/elections/a/observe"), "look at each node"),
        (node.get("/v1/backup"), "nothing to back up"),
        (node.post("/v1/members", r#"{"node": 4, "address": "127.0.0.1:1"}"#), "a fixed list"),
        (request(&node.address, "DELETE", "/v1/members/2", ""), "a fixed list"),
    ] {
        assert_eq!((status, &problem["type"]), (501, &"not-with-this-engine".into()), "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said) && detail.contains("--engine replicated"), "{detail}");
    }
    assert_eq!(node.get("/v1/sessions").1.as_array().unwrap().len(), 0, "no session is left of what was refused");
    let held = acquire("a", r#"{"ttl": "60s", "wait": "30s"}"#);
    assert_eq!(held.0, 200, "{}", held.1);
    let elsewhere = quorate(&group.node(2).address, &["release", "a", "--force"]);
    let told = String::from_utf8_lossy(&elsewhere.stderr).into_owned();
    assert!(!elsewhere.status.success() && told.contains("send the request to that node"), "{told}");
    assert!(quorate(&node.address, &["release", "a", "--force"]).status.success());
    let listed = String::from_utf8(quorate(&node.address, &["member", "list"]).stdout).unwrap();
    assert!(listed.matches("  peer").count() == 3 && !listed.contains("voter"), "{listed}");
    let added = quorate(&node.address, &["member", "add", "4=127.0.0.1:1"]);
    let told = String::from_utf8_lossy(&added.stderr).into_owned();
    assert!(!added.status.success() && told.contains("a fixed list") && !told.contains("learner"), "{told}");
}

/// The others would wait for what it does not know that it has promised.
#[test]
fn who_comes_back_without_its_directory_stops_and_the_others_go_on() {
    let mut group = Group::start("ricart-agrawala");
    let locks = |node: &Served| quorate(&node.address, &["lock", "a", "--wait", "60s", "--", "true"]).status.success();
    assert!(locks(group.node(1)) && locks(group.node(2)));
    group.kill(2);
    std::fs::remove_dir_all(group.data(2)).unwrap();
    group.start_node(2);
    assert_eq!(group.nodes[1].as_mut().unwrap().wait(), Some(1), "its log says what to do");
    // Nor does it help to start it again and again, as a supervisor does.
    for _ in 0..3 {
        let refused = group.start_in_vain(2);
        assert_eq!(refused.status.code(), Some(1));
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(told.contains("rejected it") && told.contains("with `--forgotten`"), "{told}");
    }
    assert!(locks(group.node(1)) && locks(group.node(3)));
    group.options[1].push("--forgotten".into());
    group.start_node(2);
    assert!(locks(group.node(2)));
}

#[test]
fn status_and_figures_tell_of_turns_and_of_the_others() {
    let group = Group::start("suzuki-kasami");
    let node = group.node(2);
    assert_eq!(node.post("/v1/locks/a/acquire", r#"{"wait": "30s"}"#).0, 200);
    let status = eventually("a leader and both others", || {
        let status = node.get("/v1/status").1;
        let is_met = |peer: &Value| peer["connected"] == true && peer["round_trip_us"].is_u64();
        let peers = status["turns"]["peers"].as_array().unwrap();
        (status["leader"].is_u64() && peers.iter().all(is_met)).then_some(status)
    });
    assert_eq!((&status["engine"], &status["node"]), (&"peer".into(), &2.into()), "{status}");
    assert_eq!(status["turns"]["algorithm"], "suzuki-kasami");
    assert_eq!(status["members"].as_array().unwrap().len(), 3);
    let shown = String::from_utf8(quorate(&node.address, &["status"]).stdout).unwrap();
    assert!(shown.contains("peer engine") && shown.contains("suzuki-kasami among 3"), "{shown}");
    assert!(shown.contains("this node") && shown.contains("round trip"), "{shown}");
    let page = figures_of(&node.address);
    for figure in [
        "quorate_peer_info{algorithm=\"suzuki-kasami\",election=\"ring\"} 1",
        "quorate_peer_messages_total{kind=",
        "quorate_peer_reconnects_total{peer=\"1\"}",
        "quorate_peer_suspicions_total{peer=\"3\"}",
        "quorate_peer_elections_total",
        "quorate_lock_grants_total{kind=\"lock\",name=\"a\"} 1",
        "quorate_lock_wait_seconds_count{kind=\"lock\",name=\"a\"} 1",
    ] {
        assert!(page.contains(figure), "{figure} is not in {page}");
    }
    assert!(!page.contains("quorate_raft_"), "there is no Raft here");
    let alerts = include_str!("../../../../docs/alerts.md").split_once("With `--engine peer`").unwrap().1;
    let rows = alerts.lines().filter(|line| line.starts_with('|'));
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let mut count = 0;
    for row in rows {
        for (at, _) in row.match_indices("quorate_") {
            let name = row[at..].split(|c| !is_part(c)).next().unwrap();
            let family = name.strip_suffix("_bucket").unwrap_or(name);
            assert!(page.contains(&format!("# TYPE {family} ")), "{family}, which an alert needs, is in no figure");
            count += 1;
        }
    }
    assert!(count > 8, "{count}");
}

/// The page of figures, which is no JSON.
fn figures_of(address: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: quorate\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

#[test]
fn members_know_each_other_by_the_certificates_of_the_service() {
    let keys = Keys::new(&["node1=127.0.0.1", "node2=127.0.0.1"]);
    let of = |node: u32| {
        let more = ["--algorithm", "ricart-agrawala"].iter().chain(&TIMES).map(ToString::to_string);
        keys.options(&format!("node{node}")).into_iter().chain(more).collect()
    };
    let group = Group::of(vec![of(1), of(2)]);
    let ca = keys.path("ca.crt");
    for node in [1, 2] {
        let held = quorate(&group.node(node).address, &["lock", "a", "--ca", &ca, "--wait", "60s", "--", "true"]);
        assert!(held.status.success(), "{}", String::from_utf8_lossy(&held.stderr));
    }
    // Node 2's certificate does not make it node 1.
    let data = Directory::new();
    let mut wrong = vec!["serve".to_string(), "--data".into(), data.path().display().to_string(), "--id=1".into()];
    wrong.extend(["--member=1=127.0.0.1:1".into(), "--member=2=127.0.0.1:2".into(), "--listen=127.0.0.1:0".into()]);
    wrong.extend(of(2));
    let refused = quorate("", &wrong.iter().map(String::as_str).collect::<Vec<_>>());
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("is not the certificate of node 1"), "{told}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_begun() {
    let directory = Directory::new();
    let file = directory.path().join("node.toml");
    let written = |text: &str| {
        std::fs::write(&file, text).unwrap();
        quorate("", &["serve", "--config", file.to_str().unwrap()])
    };
    let data = directory.path().join("data").display().to_string();
    let serve = |more: &[&str]| quorate("", &[&["serve", "--data", &data, "--listen=127.0.0.1:7420"], more].concat());
    let member = "--member=1=127.0.0.1:7431";
    for (refused, said) in [
        (written("engine = \"peer\"\n[turns]\nalgoritm = \"central\""), "did you mean `algorithm`?"),
        (written("[turns]\ndelay_bound = \"1s\""), "did you mean `delay-bound`?"),
        (written("enginne = \"peer\""), "did you mean `engine`?"),
        (written("[turns]\nelection = \"bull\"\n[members]\n1 = \"127.0.0.1:1\""), "turns.election"),
        (written("[turns]\nalgorithm = \"bully\"\n[members]\n1 = \"127.0.0.1:1\""), "not a mutual exclusion algorithm"),
        (serve(&["--algorithm", "token-rin"]), "token-ring"),
        (serve(&["--algorithm", "token-ring"]), "name all of them with --member"),
        (serve(&["--algorithm=token-ring", member, "--join"]), "cannot be used with"),
        (serve(&["--algorithm=token-ring", member, "--advertise=10.0.0.1:1"]), "leave out --advertise"),
        (serve(&["--algorithm=token-ring", "--member=1=127.0.0.1:7420"]), "need different ports"),
        (serve(&["--algorithm=token-ring", member, member]), "named twice"),
        (serve(&["--algorithm=token-ring", "--member=2=127.0.0.1:7431"]), "numbered 1 to 1"),
        (serve(&["--algorithm=token-ring", "--member=1=10.0.0.1:7431"]), "--insecure"),
        (serve(&["--algorithm=token-ring", member, "--option=colour=red"]), "colour"),
        (serve(&["--algorithm=token-ring", member, "--beat=1ms"]), "the interval at least the delay"),
        (serve(&["--engine=replicated", "--algorithm=central"]), "need --engine peer"),
        (serve(&["--cluster=mine"]), "need --engine peer"),
        (serve(&["--algorithm=token-ring", member, "--member-listen=127.0.0.1:x"]), "write a host and a port"),
        (serve(&["--node=5", member]), "node 5 is not among the members (1)"),
        (serve(&["--advertise=here"]), "write a host and a port"),
        (serve(&["--member=1=127.0.0.1:x"]), "2=10.0.0.2:7420"),
        (written("advertise = \"here\""), "advertise = \"here\""),
    ] {
        let told = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}: {told}");
        assert!(told.contains(said), "{said}: {told}");
    }
}

#[test]
fn a_directory_belongs_to_one_engine() {
    let (replicated, turns) = (Directory::new(), Directory::new());
    let (alone, member) = (&["--listen", "127.0.0.1:0"], format!("--member=1={}", free_addresses(1)[0]));
    drop(Served::start(replicated.path(), &[]));
    let mut node = Served::start(turns.path(), &["--engine=peer", &member]);
    assert_eq!(node.post("/v1/locks/a/acquire", r#"{"wait": 0}"#).0, 200, "one that is alone has every turn");
    node.signal("TERM");
    assert_eq!(node.wait(), Some(0), "it stops in an orderly way");
    for (directory, option, said) in
        [(&replicated, Some(member.as_str()), "--engine replicated"), (&turns, None, "--engine peer")]
    {
        let data = directory.path().display().to_string();
        let mut arguments = [&["serve", "--data", &data][..], alone].concat();
        arguments.extend(option.into_iter().flat_map(|member| ["--engine=peer", member]));
        let refused = quorate("", &arguments);
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && told.contains(said), "{told}");
    }
}

#[test]
fn a_local_cluster_takes_turns_by_the_algorithm_that_was_named() {
    let more = ["--nodes", "5", "--algorithm", "token-ring", "--tolerance", "3s"];
    let mut dev = Running::start("", &[&["dev", "--json", "--port", "0"][..], &more].concat());
    let mut pids: Vec<_> = (0..5).map(|_| dev.json()["pid"].as_u64().unwrap() as u32).collect();
    let ready = dev.json();
    assert_eq!((&ready["event"], &ready["algorithm"]), (&"ready".into(), &"token-ring".into()), "{ready}");
    let addresses: Vec<_> = ready["endpoints"].as_str().unwrap().split(',').map(String::from).collect();
    dev.until(|event| event["event"] == "leader" && event["node"].is_u64());
    for address in &addresses {
        let held = quorate(address, &["lock", "a", "--wait", "60s", "--", "true"]);
        assert!(held.status.success(), "{}", String::from_utf8_lossy(&held.stderr));
    }
    dev.type_in("r1k2");
    dev.until(|event| {
        assert_ne!(event["event"], "started", "who runs is not started");
        event["event"] == "killed"
    });
    let held = quorate(&addresses[0], &["lock", "a", "--wait", "60s", "--", "true"]);
    assert!(held.status.success(), "{}", String::from_utf8_lossy(&held.stderr));
    dev.type_in("r2");
    pids.push(dev.until(|event| event["event"] == "started")["pid"].as_u64().unwrap() as u32);
    dev.type_in("p3");
    dev.until(|event| event["event"] == "paused");
    let held = quorate(&addresses[1], &["lock", "a", "--wait", "60s", "--", "true"]);
    assert!(
        held.status.success(),
        "a token at who is paused is done without: {}",
        String::from_utf8_lossy(&held.stderr)
    );
    dev.type_in("c3");
    dev.until(|event| event["event"] == "continued");
    let held = quorate(&addresses[2], &["lock", "a", "--wait", "60s", "--", "true"]);
    assert!(held.status.success(), "{}", String::from_utf8_lossy(&held.stderr));
    dev.signal("INT");
    assert_eq!(dev.wait().code(), Some(0));
    assert!(pids.iter().all(|pid| !lives(*pid)));
    assert!(!std::path::Path::new(ready["data"].as_str().unwrap()).exists(), "its data are deleted");
}

/// What servers write down is judged like what the laboratory simulates.
#[test]
fn traces_of_servers_are_judged() {
    let traces = Directory::new();
    let trace = |number: usize| traces.path().join(format!("{number}.trace")).display().to_string();
    let more = |number| {
        let said = ["--algorithm", "lamport", "--trace"].map(ToString::to_string).into_iter();
        said.chain([trace(number)]).chain(TIMES.map(ToString::to_string)).collect()
    };
    let mut group = Group::of((1..=3).map(more).collect());
    for number in [1, 2, 3, 1] {
        let held = quorate(&group.node(number).address, &["lock", "job", "--", "true"]);
        assert!(held.status.success(), "{}", String::from_utf8_lossy(&held.stderr));
    }
    for node in group.nodes.iter_mut().flatten() {
        node.signal("TERM");
    }
    for node in group.nodes.iter_mut().flatten() {
        assert_eq!(node.wait(), Some(0));
    }
    let judged = quorate("127.0.0.1:1", &["judge", &trace(1), &trace(2), &trace(3), "--json"]);
    let said = String::from_utf8_lossy(&judged.stdout);
    let report: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(report["costs"]["entries"], 4, "{report}");
    assert_eq!(report["resources"][0]["name"], "lock/job", "{report}");
    assert_eq!(judged.status.code(), Some(0), "{report}");
}
