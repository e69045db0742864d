//! Clusters and demonstrations that start processes of their own.

use std::path::Path;

use serde_json::Value;

use crate::running::{Running, lives, signal};
use crate::support::{Directory, eventually, quorate};

/// A cluster of three that is ready, the processes of its nodes, and where its data are.
fn start(extra: &[&str]) -> (Running, Vec<u32>, Value) {
    let dev = Running::start("", &[&["dev", "--json", "--port", "0"], extra].concat());
    let pids = (1..=3).map(|node| pid_of(&dev.json(), node)).collect();
    let ready = dev.json();
    assert_eq!(ready["event"], "ready", "{ready}");
    (dev, pids, ready)
}

fn pid_of(event: &Value, node: u64) -> u32 {
    assert_eq!((&event["event"], &event["node"]), (&"started".into(), &node.into()), "{event}");
    event["pid"].as_u64().unwrap() as u32
}

/// The node that leads next.
fn next_leader(dev: &Running) -> u64 {
    dev.until(|event| event["event"] == "leader" && event["node"].is_u64())["node"].as_u64().unwrap()
}

#[test]
fn a_cluster_lives_through_what_is_typed_and_nothing_is_left_of_it() {
    let (mut dev, mut pids, ready) = start(&["--nodes", "3"]);
    let endpoints = ready["endpoints"].as_str().unwrap();
    let killed = next_leader(&dev);
    dev.type_in(&format!("k{killed}\n"));
    dev.until(|event| event["event"] == "killed" && event["node"] == killed);
    let paused = next_leader(&dev);
    assert_ne!(paused, killed);
    assert!(!lives(pids[killed as usize - 1]));
    dev.type_in(&format!("x9 r{killed}"));
    dev.until_it_complains("k2 kills node 2");
    let again = dev.until(|event| event["event"] == "started");
    pids.push(pid_of(&again, killed));
    dev.type_in(&format!("p{paused}"));
    dev.until(|event| event["event"] == "paused");
    assert_ne!(next_leader(&dev), paused);
    assert!(lives(pids[paused as usize - 1]), "it only stands still");
    let held = quorate(endpoints, &["lock", "a", "--", "true"]);
    assert!(held.status.success(), "{}", String::from_utf8_lossy(&held.stderr));
    dev.type_in(&format!("c{paused}\n"));
    dev.until(|event| event["event"] == "continued");
    dev.type_in("k7");
    dev.until_it_complains("there is no node 7");
    dev.type_in("q");
    assert_eq!(dev.wait().code(), Some(0));
    assert!(pids.iter().all(|pid| !lives(*pid)));
    assert!(!Path::new(ready["data"].as_str().unwrap()).exists(), "its data are deleted");
}

#[test]
fn the_nodes_end_with_a_cluster_that_is_killed_itself() {
    let directory = Directory::new();
    let (mut dev, pids, _) = start(&["--data", directory.path().to_str().unwrap()]);
    // It notices what was done behind its back, and goes on.
    let victim = next_leader(&dev);
    signal(pids[victim as usize - 1], "KILL");
    dev.until(|event| event["event"] == "died" && event["node"] == victim);
    assert_ne!(next_leader(&dev), victim);
    dev.signal("KILL");
    dev.wait();
    eventually("their end", || pids.iter().all(|pid| !lives(*pid)).then_some(()));
    // The data are there still, and another cluster goes on with them, until it is told to end.
    let (mut dev, pids, _) = start(&["--data", directory.path().to_str().unwrap()]);
    next_leader(&dev);
    dev.signal("TERM");
    assert_eq!(dev.wait().code(), Some(0));
    assert!(pids.iter().all(|pid| !lives(*pid)));
}

#[test]
fn the_demonstration_shows_what_a_fence_is_for() {
    let told = quorate("", &["demo", "fence"]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let story = String::from_utf8(told.stdout).unwrap();
    assert!(story.contains("without fences: accepted, and B's write is lost"), "{story}");
    assert!(story.contains("with fences:    refused, because"), "{story}");
    let told = quorate("", &["demo", "fence", "--json"]);
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(told["paused"]["fence"].as_u64() < told["successor"]["fence"].as_u64(), "{told}");
    assert_eq!((&told["left_without_fences"], &told["left_with_fences"]), (&"A".into(), &"B".into()), "{told}");
}
