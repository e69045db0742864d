//! What names cost that were used once: 100,000 of them have to fit in 1 GB, with every algorithm.

#[path = "../../../tests/ports.rs"]
mod ports;

use std::time::Duration;

use ports::free_addresses;
use quorate_core::catalog::{ENTRIES, Family};
use quorate_net::{Config, Node};
use tokio::task::JoinSet;

const NODES: usize = 5;
/// Of each algorithm; and before it is measured, so that what there is once is there.
const NAMES: usize = 2000;
const BEFORE: usize = 200;
/// What one name may cost on one node, in bytes.
const MOST: f64 = 10e3;
/// So many are asked for at a time.
const AT_ONCE: usize = 50;

/// The memory that this process has, in bytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
}

/// How many names the nodes have heard of, each node by itself.
async fn resources(nodes: &[Node]) -> usize {
    let mut sum = 0;
    for node in nodes {
        sum += node.status().await.unwrap().resources;
    }
    sum
}

/// Every name is used once, by one of the nodes.
async fn use_names(nodes: &[Node], names: std::ops::Range<usize>) {
    let mut tasks = JoinSet::new();
    for start in 0..AT_ONCE {
        let (nodes, names) = (nodes.to_vec(), names.clone());
        tasks.spawn(async move {
            for name in names.skip(start).step_by(AT_ONCE) {
                drop(nodes[name % NODES].lock(&format!("a name of some length {name}")).await.unwrap());
            }
        });
    }
    let all = async { while tasks.join_next().await.transpose().unwrap().is_some() {} };
    tokio::time::timeout(Duration::from_secs(300), all).await.expect("all names are used");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_algorithm_a_hundred_thousand_names_fit_in_a_gigabyte() {
    let directory = std::env::temp_dir().join(format!("quorate-net-memory-{}", std::process::id()));
    // What is given back to the system by one would be counted for the next: so nothing is.
    let mut groups = Vec::new();
    for entry in ENTRIES.iter().filter(|entry| entry.family == Family::Mutex && entry.recovery.is_some()) {
        let members = free_addresses(NODES);
        let mut nodes = Vec::new();
        for id in 1..=NODES as u32 {
            let config = Config::new(id, members.clone()).algorithm(entry.name);
            // On a machine that has much else to do nobody is taken for dead.
            let config = config.beat(Duration::from_secs(1), Duration::from_secs(60));
            nodes.push(Node::join(config.data(directory.join(entry.name).join(id.to_string()))).await.unwrap());
        }
        use_names(&nodes, 0..BEFORE).await;
        let (memory_before, names_before) = (resident(), resources(&nodes).await);
        use_names(&nodes, BEFORE..BEFORE + NAMES).await;
        let names = resources(&nodes).await - names_before;
        assert!(names >= NAMES, "{}: {names}", entry.name);
        let each = (resident() - memory_before) / names as f64;
        println!("{}: {each:.0} bytes a name on each node that knows of it", entry.name);
        assert!(each < MOST, "{}: {each:.0} bytes a name", entry.name);
        groups.push(nodes);
    }
    for node in groups.iter().flatten() {
        node.stop().await;
    }
    // What cannot be removed is left to the system.
    _ = std::fs::remove_dir_all(&directory);
}
