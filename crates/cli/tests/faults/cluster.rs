//! Three nodes, each a process of its own in a place of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::http::{Unanswered, ask};
use crate::network;

/// So many nodes there are.
pub(crate) const NODES: usize = 3;
/// Where all of them listen, each at its own address.
const PORT: u16 = 7420;
/// How long a node may take to tell how it is.
const QUICKLY: Duration = Duration::from_millis(500);

/// The nodes, numbered from 1 as everywhere.
pub(crate) struct Cluster {
    directory: PathBuf,
    switches: Vec<&'static str>,
    nodes: Vec<Option<Child>>,
    stopped: Vec<bool>,
}

/// Sends a signal to a process that this one has started.
pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process has a number");
    kill_process(pid, signal).expect("the process is ours, and not yet waited for");
}

/// Where a node listens.
pub(crate) fn address(node: usize) -> String {
    format!("{}:{PORT}", network::address(node))
}

/// Where all nodes listen.
pub(crate) fn addresses() -> Vec<String> {
    (1..=NODES).map(address).collect()
}

/// The command under test.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("QUORATE_BIN").map_or_else(|| env!("CARGO_BIN_EXE_quorate").into(), PathBuf::from)
}

impl Cluster {
    /// Starts one node on an empty directory, that needs no others, and waits until it serves.
    pub(crate) fn start_alone(directory: &Path) -> Cluster {
        let mut cluster = Cluster::empty(directory, &[]);
        cluster.start_node(1, &[]);
        eventually("a node that serves", || get(1, "/v1/locks"));
        cluster
    }

    /// Starts all nodes on empty directories, with switches that make them misbehave, and waits for a leader.
    pub(crate) fn start(directory: &Path, switches: &[&'static str]) -> Cluster {
        let mut cluster = Cluster::empty(directory, switches);
        cluster.start_all();
        cluster.leader();
        cluster
    }

    fn empty(directory: &Path, switches: &[&'static str]) -> Cluster {
        // What is left of an earlier run is of no use.
        let _ = std::fs::remove_dir_all(directory);
        std::fs::create_dir_all(directory).expect("a directory for the nodes");
        let nodes = (0..NODES).map(|_| None).collect();
        let (switches, stopped) = (switches.to_vec(), vec![false; NODES]);
        Cluster { directory: directory.into(), switches, nodes, stopped }
    }

    /// Starts whoever does not run.
    pub(crate) fn start_all(&mut self) {
        for node in 1..=NODES {
            if self.nodes[node - 1].is_none() {
                self.start_node(node, &[1, 2, 3]);
            }
        }
    }

    fn start_node(&mut self, node: usize, members: &[usize]) {
        let log = self.directory.join(format!("node-{node}.log"));
        let log = File::options().create(true).append(true).open(log).expect("a file for the node's log");
        let mut command = network::at(node, &binary());
        command.args(["serve", "--json", "--insecure", "--node", &node.to_string(), "--listen", &address(node)]);
        command.arg("--data").arg(self.directory.join(node.to_string()));
        for &member in members {
            command.args(["--member", &format!("{member}={}", address(member))]);
        }
        command.envs(self.switches.iter().map(|switch| (switch, "1")));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.nodes[node - 1] = Some(command.spawn().expect("a node can be started"));
    }

    /// Kills nodes, all before any is waited for, as a loss of power would.
    pub(crate) fn kill(&mut self, nodes: &[usize]) {
        let mut dying: Vec<Child> = nodes.iter().filter_map(|node| self.nodes[node - 1].take()).collect();
        for child in &mut dying {
            child.kill().expect("the process is ours");
        }
        for mut child in dying {
            child.wait().expect("the process is ours");
        }
    }

    /// Lets a node stand still.
    pub(crate) fn pause(&mut self, node: usize) {
        if let Some(child) = &self.nodes[node - 1] {
            signal(child, Signal::STOP);
            self.stopped[node - 1] = true;
        }
    }

    /// Lets all nodes go on.
    pub(crate) fn resume(&mut self) {
        for (child, stopped) in self.nodes.iter().zip(&mut self.stopped) {
            if let (Some(child), true) = (child, std::mem::take(stopped)) {
                signal(child, Signal::CONT);
            }
        }
    }

    /// Which nodes have ended by themselves.
    pub(crate) fn ended(&mut self) -> Vec<usize> {
        let has_ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        (1..=NODES).filter(|node| self.nodes[node - 1].as_mut().is_some_and(has_ended)).collect()
    }

    /// The memory that a node uses, in bytes.
    pub(crate) fn memory(&self, node: usize) -> u64 {
        let Some(child) = &self.nodes[node - 1] else { return 0 };
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes: u64 = resident.and_then(|text| text.trim().split(' ').next()?.parse().ok()).unwrap_or(0);
        kilobytes * 1024
    }

    /// How a node says it is, if it answers.
    pub(crate) fn status(&self, node: usize) -> Option<Value> {
        get(node, "/v1/status")
    }

    /// The largest term that any node knows.
    pub(crate) fn term(&self) -> u64 {
        (1..=NODES).filter_map(|node| self.status(node)?["term"].as_u64()).max().unwrap_or(0)
    }

    /// The node that says of itself that it leads, and of which a majority says so, too: waits until there is one.
    pub(crate) fn leader(&self) -> usize {
        eventually("a leader", || {
            let statuses: Vec<_> = (1..=NODES).filter_map(|node| self.status(node)).collect();
            let term = statuses.iter().filter_map(|status| status["term"].as_u64()).max()?;
            let of_term: Vec<_> = statuses.iter().filter(|status| status["term"] == term).collect();
            let leader = of_term.iter().find(|status| status["leader"] == status["node"])?["node"].as_u64()?;
            let agree = of_term.iter().filter(|status| status["leader"] == leader).count();
            (agree > NODES / 2).then_some(leader as usize)
        })
    }

    /// Some node that does not lead.
    pub(crate) fn follower(&self) -> usize {
        self.leader() % NODES + 1
    }

    /// Waits until all nodes have applied the same, and says if they have become different by it, or do not get there.
    pub(crate) fn compare_digests(&self) -> Result<(), String> {
        let digests = soon(|| {
            let digests: Vec<_> = (1..=NODES).filter_map(|node| get(node, "/v1/digest")).collect();
            let is_same = digests.len() == NODES && digests.iter().all(|one| one["applied"] == digests[0]["applied"]);
            is_same.then_some(digests)
        });
        let digests = digests.ok_or("not all nodes had applied the same number of commands after a minute")?;
        if digests.iter().all(|one| one == &digests[0]) { Ok(()) } else { Err(format!("replicas differ: {digests:?}")) }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.resume();
        self.kill(&[1, 2, 3]);
    }
}

fn get(node: usize, path: &str) -> Option<Value> {
    let (status, value) = ask(&address(node), "GET", path, &Value::Null, QUICKLY).ok()?;
    (status == 200).then_some(value)
}

/// Tells a node something from where the harness is, which no cut separates from any node.
pub(crate) fn post(node: usize, path: &str, body: &Value, patience: Duration) -> Result<(u16, Value), Unanswered> {
    ask(&address(node), "POST", path, body, patience)
}

/// Tries until it succeeds, for a generous time.
pub(crate) fn eventually<T>(what: &str, attempt: impl FnMut() -> Option<T>) -> T {
    soon(attempt).unwrap_or_else(|| panic!("{what} did not happen within a minute"))
}

/// The same, if it succeeds at all.
fn soon<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let done = attempt();
        if done.is_some() || Instant::now() > until {
            return done;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
