//! What operators do: members, backups, and the way out of a lost majority.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::ports::free_addresses;
use crate::support::{Directory, Served, eventually, quorate};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that must succeed, and returns what it prints.
fn succeeds(address: &str, arguments: &[&str]) -> String {
    let output = quorate(address, arguments);
    assert!(output.status.success(), "quorate {}: {}", arguments.join(" "), text(&output.stderr));
    text(&output.stdout)
}

/// Runs a command that must fail with this code, and returns what it complains of.
fn fails(code: i32, address: &str, arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = quorate(address, arguments);
    assert_eq!(status.code(), Some(code), "quorate {}: {}", arguments.join(" "), text(&stderr));
    text(&stderr)
}

fn members(address: &str) -> Vec<(u64, bool)> {
    let members: Value = serde_json::from_str(&succeeds(address, &["member", "list", "--json"])).unwrap();
    let shown = |member: &Value| (member["node"].as_u64().unwrap(), member["votes"].as_bool().unwrap());
    members.as_array().unwrap().iter().map(shown).collect()
}

#[test]
fn members_are_added_and_removed_through_any_node() {
    let directory = Directory::new();
    let start = |node: &str| Served::start(&directory.path().join(node), &["--node", node, "--join"]);
    let first = Served::start(&directory.path().join("1"), &[]);
    assert_eq!(first.post("/v1/locks/a/acquire", r#"{"ttl": "60s"}"#).0, 200);
    let (second, third) = (start("2"), start("3"));
    let added = quorate(&first.address, &["member", "add", &format!("2={}", second.address)]);
    assert!(added.status.success(), "{}", text(&added.stderr));
    assert!(text(&added.stderr).contains("node 2 is a learner until it has caught up"), "{}", text(&added.stderr));
    assert!(text(&added.stdout).contains("node 2 at") && text(&added.stdout).contains("is a member and a voter"));
    // The second one does not lead, and asks who does.
    let added = succeeds(&second.address, &["member", "add", &format!("3={}", third.address), "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&added).unwrap()["votes"], true, "{added}");
    assert_eq!(members(&third.address), [(1, true), (2, true), (3, true)]);
    assert!(
        succeeds(&third.address, &["member", "list"]).contains(&format!("node 1  {}  voter, leader", first.address))
    );
    assert_eq!(third.get("/v1/locks/a").1["holders"].as_array().unwrap().len(), 1);

    let nowhere = fails(1, &first.address, &["member", "add", "9=127.0.0.1:1"]);
    assert!(nowhere.contains("The node must already run") && nowhere.contains("nothing was changed"), "{nowhere}");
    assert!(fails(2, &first.address, &["member", "add", "nine"]).contains("2=10.0.0.2:7420"));
    assert!(fails(1, &third.address, &["member", "remove", "7"]).contains("node 7 is not a member"));

    let removed = succeeds(&third.address, &["member", "remove", "2"]);
    assert!(removed.contains("do not use its id again"), "{removed}");
    assert_eq!(members(&first.address), [(1, true), (3, true)]);
    drop(second);
    let wiped = Served::start(&directory.path().join("2-again"), &["--node", "2", "--join"]);
    let reused = fails(1, &first.address, &["member", "add", &format!("2={}", wiped.address)]);
    assert!(reused.contains("add this node under a new id"), "{reused}");
}

#[test]
fn a_backup_begins_another_cluster_with_larger_fences() {
    let directory = Directory::new();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let mut node = Served::start(&directory.path().join("old"), &[]);
    let (_, held) = node.post("/v1/locks/a/acquire", r#"{"ttl": "60s", "label": "keeper"}"#);
    let file = path("backup");
    let made: Value = serde_json::from_str(&succeeds(&node.address, &["backup", &file, "--json"])).unwrap();
    assert_eq!((made["sessions"].as_u64(), made["locks"].as_u64()), (Some(1), Some(1)), "{made}");
    assert!(fails(1, &node.address, &["backup", &file]).contains("choose another name"));
    // The backup knows nothing of these.
    for _ in 0..20 {
        node.post("/v1/locks/b/acquire", r#"{"wait": 0, "mode": "shared"}"#);
    }
    let (_, lost) = node.post("/v1/locks/c/acquire", "");
    let of_running = fails(1, "", &["backup", &path("other"), "--data", &path("old")]);
    assert!(of_running.contains("in use by another process"), "{of_running}");
    node.kill();
    assert!(fails(1, &node.address, &["backup", &path("other")]).contains("no node answered at"));
    assert!(
        fails(1, "", &["backup", &path("other"), "--data", &path("nowhere")]).contains("is not the data directory")
    );

    let mut damaged = std::fs::read(&file).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(path("damaged"), damaged).unwrap();
    let refused = fails(1, "", &["restore", &path("damaged"), "--data", &path("new")]);
    assert!(refused.contains("checksum is wrong") && refused.contains("nothing was written"), "{refused}");
    let told = succeeds("", &["restore", &file, "--data", &path("new"), "--node", "5", "--listen", "127.0.0.1:7"]);
    assert!(told.contains(&format!("quorate serve --data {} --node 5 --listen 127.0.0.1:7", path("new"))), "{told}");
    assert!(fails(1, "", &["restore", &file, "--data", &path("new")]).contains("is not empty"));

    let node = Served::start(&directory.path().join("new"), &["--node", "5"]);
    let lock = eventually("the lock", || {
        let (status, lock) = node.get("/v1/locks/a");
        (status == 200).then_some(lock)
    });
    assert_eq!(lock["holders"][0]["fence"], held["fence"], "who held it holds it: {lock}");
    let (_, next) = node.post("/v1/locks/b/acquire", r#"{"wait": 0}"#);
    assert!(next["fence"].as_u64() > lost["fence"].as_u64(), "{next} must be larger than {lost}");
}

/// The steps of the documentation, with addresses that are free here.
fn documented_steps(heading: &str, addresses: &[String]) -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
    let page = std::fs::read_to_string(path).unwrap();
    let section = page.split(heading).nth(1).unwrap_or_else(|| panic!("there is no section {heading:?}"));
    let block = section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let commands = block.lines().filter_map(|line| line.strip_prefix("quorate "));
    let here = |word: &str| {
        (1..)
            .zip(addresses)
            .fold(word.to_string(), |word, (node, address)| word.replace(&format!("10.0.0.{node}:7420"), address))
    };
    commands.map(|command| command.split_whitespace().map(here).collect()).collect()
}

fn run_in(directory: &Path, arguments: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_documented_way_out_of_a_lost_majority_works() {
    let directory = Directory::new();
    let addresses = free_addresses(5);
    let first: Vec<_> = (1..=3).map(|node| format!("--member={node}={}", addresses[node - 1])).collect();
    let nodes: Vec<_> = (1..=3)
        .map(|node| {
            let (number, data) = (node.to_string(), directory.path().join(format!("d{node}")));
            let mut arguments = vec!["--node", &number, "--listen", &addresses[node - 1]];
            arguments.extend(first.iter().map(String::as_str));
            Served::start(&data, &arguments)
        })
        .collect();
    let acquire = || nodes[2].post("/v1/locks/a/acquire", r#"{"ttl": "120s", "label": "keeper"}"#);
    let held = eventually("a grant", || Some(acquire()).filter(|(status, _)| *status == 200)).1;
    // The third node has it, too, whoever leads.
    assert_eq!(nodes[2].get("/v1/locks/a").1["holders"][0]["fence"], held["fence"]);
    drop(nodes);
    for lost in ["d1", "d2"] {
        std::fs::remove_dir_all(directory.path().join(lost)).unwrap();
    }

    let steps = documented_steps("## When a majority is lost", &addresses);
    assert!(steps.iter().filter(|step| step[0] == "serve").count() == 3, "{steps:?}");
    let mut served = Vec::new();
    for step in &steps {
        if step[0] == "serve" {
            let (data, rest): (Vec<_>, Vec<_>) = step[1..].chunks(2).partition(|option| option[0] == "--data");
            let rest: Vec<_> = rest.concat();
            let rest: Vec<_> = rest.iter().map(String::as_str).collect();
            served.push(Served::start(&directory.path().join(&data[0][1]), &rest));
        } else {
            let output = run_in(directory.path(), step);
            assert!(output.status.success(), "quorate {}: {}", step.join(" "), text(&output.stderr));
        }
    }
    assert_eq!(members(&addresses[4]), [(3, true), (4, true), (5, true)]);
    // Any two of the three go on.
    served.remove(0).kill();
    let lock = eventually("the lock", || {
        let (status, lock) = served[0].get("/v1/locks/a");
        (status == 200).then_some(lock)
    });
    assert_eq!((&lock["holders"][0]["label"], &lock["holders"][0]["fence"]), (&"keeper".into(), &held["fence"]));
    let next =
        eventually("a grant", || Some(served[0].post("/v1/locks/b/acquire", "")).filter(|(status, _)| *status == 200));
    assert!(next.1["fence"].as_u64().unwrap() > held["fence"].as_u64().unwrap() + (1 << 40), "another generation");
}
