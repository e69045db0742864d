//! A run: a cluster, clients, faults by chance, then everything is well again, and all is judged.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use quorate_lab::random::Chance;
use serde_json::json;

use crate::cluster::{Cluster, NODES, addresses, eventually, post};
use crate::faults::{Fault, Seen, Stage, schedule};
use crate::judge::{Judge, Judgement, MOST_STEPS};
use crate::network::{self, CLIENTS, Network};
use crate::order::Listener;
use crate::worker::{ELECTION, LOCKS, Orders};

/// What a run is to be.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// So many faults, by chance,
    pub(crate) faults: usize,
    /// or just these.
    pub(crate) only: Option<Vec<Fault>>,
    /// How the nodes misbehave, if they do.
    pub(crate) switches: Vec<&'static str>,
    /// Whether clients do not notice that their lease is over.
    pub(crate) ignores_expiry: bool,
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) judgement: Judgement,
    pub(crate) seen: Vec<Seen>,
    /// How many grants were seen to be first come, first served.
    pub(crate) in_order: usize,
}

/// Processes of clients, and what they have written down.
pub(crate) struct Workers {
    pub(crate) children: Vec<Child>,
    lines: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts two processes: the sessions of the second last for less than a second, so that it can be paused for
    /// longer.
    fn start(plan: &Plan, directory: &Path) -> Workers {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (mut children, mut readers) = (Vec::new(), Vec::new());
        for (number, ttl_ms, clients, plain_clients, lookers) in [(1, 4000, 4, 2, 2), (2, 800, 2, 2, 0)] {
            let (seed, ignores_expiry) = (plan.seed, plan.ignores_expiry);
            let (nodes, directory) = (addresses(), directory.to_path_buf());
            let orders =
                Orders { number, seed, nodes, directory, ttl_ms, clients, plain_clients, lookers, ignores_expiry };
            let orders = serde_json::to_string(&orders).expect("orders can be written down");
            let this = std::env::current_exe().expect("this program has a path");
            let mut command = network::at(CLIENTS, &this);
            command.args(["worker", &orders]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("clients can be started");
            let (out, lines) = (child.stdout.take().expect("it is piped"), Arc::clone(&lines));
            readers.push(std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    lines.lock().expect("no reader panics").push(line);
                }
            }));
            children.push(child);
        }
        Workers { children, lines, readers }
    }

    /// Lets the clients finish what they are at, and returns what they have written down.
    fn finish(mut self) -> Vec<String> {
        for child in &mut self.children {
            drop(child.stdin.take());
        }
        for child in &mut self.children {
            let status = child.wait().expect("the process is ours");
            assert!(status.success(), "clients failed: {status}");
        }
        for reader in self.readers {
            reader.join().expect("no reader panics");
        }
        std::mem::take(&mut *self.lines.lock().expect("no reader panics"))
    }
}

/// Runs a plan in a directory of its own.
pub(crate) fn run(plan: &Plan, network: &mut Network, directory: &Path) -> Outcome {
    let mut cluster = Cluster::start(directory, &plan.switches);
    let mut chance = Chance::new(plan.seed);
    let listener = Listener::start(NODES);
    let workers = Workers::start(plan, directory);
    let faults = plan.only.clone().unwrap_or_else(|| schedule(&mut chance, plan.faults));
    let mut seen = Vec::new();
    for fault in faults {
        std::thread::sleep(Duration::from_millis(200 + chance.below(500)));
        let lasting = Duration::from_millis(1200 + chance.below(800));
        let mut stage = Stage { cluster: &mut cluster, network, workers: &workers.children };
        seen.push(stage.suffer(fault, lasting));
    }
    std::thread::sleep(Duration::from_millis(500));
    let lines = workers.finish();
    std::fs::write(directory.join("history"), lines.join("\n")).expect("the history can be kept");
    let mut judgement = Judge::read(lines.iter().map(String::as_str)).judge(directory, MOST_STEPS);
    let complaints = &mut judgement.complaints;
    complaints.extend(seen.iter().filter_map(|seen| seen.complaint.clone()));
    complaints.extend(cluster.ended().into_iter().map(|node| format!("node {node} has ended by itself")));
    if plan.only.is_none() {
        demand_progress(&cluster);
    }
    complaints.extend(cluster.compare_digests().err());
    let in_order = listener.judge().unwrap_or_else(|complaint| {
        complaints.push(complaint);
        0
    });
    Outcome { judgement, seen, in_order }
}

/// All is well, and whoever has held anything is gone: everything can be had again.
fn demand_progress(cluster: &Cluster) {
    let leader = cluster.leader();
    for lock in LOCKS {
        let path = if lock == ELECTION {
            format!("/v1/elections/{lock}/campaign")
        } else {
            format!("/v1/locks/{lock}/acquire")
        };
        eventually(&format!("a grant of {lock}"), || {
            let body = json!({ "ttl": 500, "wait": 10_000, "label": "the end" });
            matches!(post(leader, &path, &body, Duration::from_secs(12)), Ok((200, _))).then_some(())
        });
    }
}
