//! What goes wrong, by chance: each fault is done, lasts for a while, and is undone.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use quorate_lab::random::Chance;
use rustix::process::Signal;
use serde_json::json;

use crate::cluster::{Cluster, NODES, post, signal};
use crate::network::{CLIENTS, Network};

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    KillLeader,
    KillFollower,
    /// Nobody can be granted anything until one of them is back.
    KillTwo,
    /// All at once, and all come back.
    KillAll,
    PauseLeader,
    /// A process of clients stands still for longer than its sessions last.
    PauseClients,
    /// The leader reaches no other node, and none reaches it; clients reach all.
    IsolateLeader,
    /// What the leader says is lost; what it is told is not.
    MuteLeader,
    /// What the leader is told is lost; what it says is not.
    DeafenLeader,
    /// What is said to a follower is lost: it stands for election again and again.
    DeafenFollower,
    /// Clients and leader do not reach each other.
    HideLeader,
}

/// All of them.
pub(crate) const ALL: [Fault; 11] = [
    Fault::KillLeader,
    Fault::KillFollower,
    Fault::KillTwo,
    Fault::KillAll,
    Fault::PauseLeader,
    Fault::PauseClients,
    Fault::IsolateLeader,
    Fault::MuteLeader,
    Fault::DeafenLeader,
    Fault::DeafenFollower,
    Fault::HideLeader,
];

/// All faults, in an order by chance: no run leaves one out before it repeats another.
pub(crate) fn schedule(chance: &mut Chance, length: usize) -> Vec<Fault> {
    let mut schedule = Vec::new();
    while schedule.len() < length {
        let mut round = ALL.to_vec();
        while !round.is_empty() {
            schedule.push(round.swap_remove(chance.below(round.len() as u64) as usize));
        }
    }
    schedule.truncate(length);
    schedule
}

/// What was seen of a fault.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) fault: Fault,
    /// How long it took until somebody was granted something after the leader was lost.
    pub(crate) failover: Option<Duration>,
    /// How long it took until somebody was granted something after it was over.
    pub(crate) recovery: Duration,
    /// How many terms passed,
    pub(crate) terms: u64,
    /// and whether another node leads in the end.
    pub(crate) is_deposed: bool,
    /// What is wrong about it.
    pub(crate) complaint: Option<String>,
}

/// Where faults are done.
pub(crate) struct Stage<'s> {
    pub(crate) cluster: &'s mut Cluster,
    pub(crate) network: &'s mut Network,
    /// The processes of clients; the last is paused.
    pub(crate) workers: &'s [Child],
}

impl Stage<'_> {
    /// Does something wrong for a while, and undoes it.
    pub(crate) fn suffer(&mut self, fault: Fault, lasting: Duration) -> Seen {
        let leader = self.cluster.leader();
        let (follower, other) = (leader % NODES + 1, (leader + 1) % NODES + 1);
        let term = self.cluster.term();
        let (mut failover, mut complaint) = (None, None);
        let began = Instant::now();
        match fault {
            Fault::KillLeader => {
                self.cluster.kill(&[leader]);
                failover = Some(time_to_grant(&[follower, other], began));
            }
            Fault::KillFollower => self.cluster.kill(&[follower]),
            Fault::KillTwo => {
                self.cluster.kill(&[leader, follower]);
                let alone = post(other, "/v1/locks/probe/acquire", &json!({ "ttl": 1000, "wait": 0 }), lasting);
                if let Ok((200, grant)) = alone {
                    complaint = Some(format!("node {other} is alone, and grants {grant}"));
                }
            }
            Fault::KillAll => self.cluster.kill(&[1, 2, 3]),
            Fault::PauseLeader => {
                self.cluster.pause(leader);
                failover = Some(time_to_grant(&[follower, other], began));
            }
            Fault::PauseClients => signal(self.workers.last().expect("there are clients"), Signal::STOP),
            Fault::IsolateLeader => {
                self.network.cut(leader, follower);
                self.network.cut(leader, other);
                failover = Some(time_to_grant(&[follower, other], began));
            }
            Fault::MuteLeader => {
                self.network.cut_one_way(leader, follower);
                self.network.cut_one_way(leader, other);
                failover = Some(time_to_grant(&[follower, other], began));
            }
            Fault::DeafenLeader => {
                self.network.cut_one_way(follower, leader);
                self.network.cut_one_way(other, leader);
                failover = Some(time_to_grant(&[follower, other], began));
            }
            Fault::DeafenFollower => self.network.cut_one_way(leader, follower),
            Fault::HideLeader => self.network.cut(leader, CLIENTS),
        }
        std::thread::sleep(lasting.saturating_sub(began.elapsed()));
        self.undo();
        let recovery = time_to_grant(&[1, 2, 3], Instant::now());
        // Whoever cannot be counted on any more makes itself known by its absence here.
        let is_deposed = self.cluster.leader() != leader;
        let terms = self.cluster.term().saturating_sub(term);
        Seen { fault, failover, recovery, terms, is_deposed, complaint }
    }

    /// Makes everything well again.
    pub(crate) fn undo(&mut self) {
        self.network.heal();
        self.cluster.resume();
        self.cluster.start_all();
        for worker in self.workers {
            signal(worker, Signal::CONT);
        }
    }
}

/// Kills the leader of a cluster on which nothing else goes on, again and again, and says how long each time nobody was
/// granted anything.
pub(crate) fn time_failovers(directory: &Path, count: usize) -> Vec<Duration> {
    let mut cluster = Cluster::start(directory, &[]);
    let fail = |_| {
        let leader = cluster.leader();
        let began = Instant::now();
        cluster.kill(&[leader]);
        let others: Vec<_> = (1..=NODES).filter(|node| *node != leader).collect();
        let failover = time_to_grant(&others, began);
        cluster.start_all();
        cluster.compare_digests().expect("replicas that have applied the same are the same");
        failover
    };
    (0..count).map(fail).collect()
}

/// Asks these nodes for locks of their own until one is granted, and says how long that took.
fn time_to_grant(nodes: &[usize], since: Instant) -> Duration {
    for attempt in 0.. {
        let node = nodes[attempt % nodes.len()];
        let path = format!("/v1/locks/probe-{attempt}-{}/acquire", since.elapsed().as_nanos());
        let body = json!({ "ttl": 1000, "wait": 0, "label": "probe" });
        if let Ok((200, _)) = post(node, &path, &body, Duration::from_secs(10)) {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "no new leader serves within 30 s");
        std::thread::sleep(Duration::from_millis(5));
    }
    since.elapsed()
}
