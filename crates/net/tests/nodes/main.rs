//! Groups of nodes on loopback, in one program: every algorithm, tasks that wait and give up, members that go and come
//! back, and those who do not belong.

mod authority;
mod beginning;
mod connections;
mod directories;
mod late;
mod log;
#[path = "../../../../tests/ports.rs"]
mod ports;
mod secret;
mod stopping;
mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use quorate_core::catalog::{ENTRIES, Entry, Family};
use quorate_core::election::Kind;
use quorate_net::{Config, JoinError, Node, Refused};
use support::{Group, Resource, soon};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

fn algorithms() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().copied().filter(|entry| entry.family == Family::Mutex && entry.recovery.is_some())
}

/// Every node enters so many times, at the same time as all others.
async fn contend(nodes: &[Node], name: &'static str, times: u64, resource: &Resource) {
    let mut tasks = JoinSet::new();
    for node in nodes {
        let (node, resource) = (node.clone(), resource.clone());
        tasks.spawn(async move {
            for _ in 0..times {
                let guard = node.lock(name).await.unwrap();
                resource.enter(guard.fence());
                tokio::task::yield_now().await;
                resource.leave();
                guard.release().await.unwrap();
            }
        });
    }
    soon("everybody is served", async { while tasks.join_next().await.transpose().unwrap().is_some() {} }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_algorithm_one_is_inside_at_a_time_and_fences_grow() {
    for entry in algorithms() {
        let group = Group::new(5, |config| config.algorithm(entry.name));
        let nodes = group.join_all().await;
        let resource = Resource::default();
        contend(&nodes, "printer", 5, &resource).await;
        assert_eq!(resource.entries(), 25, "{}", entry.name);
        for node in &nodes {
            let status = node.status().await.unwrap();
            assert_eq!((status.unexpected, status.wanted), (0, (0, 0)), "{}: {status:?}", entry.name);
            node.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_apart() {
    let group = Group::new(3, |config| config.algorithm("token-ring"));
    let nodes = group.join_all().await;
    let guards = [
        nodes[0].lock("printer").await.unwrap(),
        nodes[1].lock("scanner").await.unwrap(),
        nodes[1].lock("plotter").await.unwrap(),
    ];
    assert!(nodes[2].try_lock("printer").await.unwrap().is_none());
    assert!(nodes[0].try_lock("printer").await.unwrap().is_none());
    drop(guards);
    soon("the withdrawn request is through", async {
        while nodes[2].status().await.unwrap().wanted != (0, 0) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Asks for its turn, and does not want it any more before it has come.
async fn ask_and_withdraw(node: &Node, name: &str) {
    drop(futures_util::poll!(std::pin::pin!(node.lock(name))));
}

/// What nodes have sent, but for what says that they live.
async fn said(nodes: &[Node]) -> Vec<BTreeMap<&'static str, u64>> {
    let mut said = Vec::new();
    for node in nodes {
        let sent = node.status().await.unwrap().sent;
        said.push(sent.into_iter().filter(|(kind, _)| *kind != "beat").collect());
    }
    said
}

/// Of each: the time of its next beat, and the silence of each other.
async fn are_idle(nodes: &[Node]) -> bool {
    for node in nodes {
        let status = node.status().await.unwrap();
        if status.wanted != (0, 0) || status.timers != nodes.len() {
            return false;
        }
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_algorithm_idle_names_send_nothing_and_arm_no_timer() {
    for entry in algorithms() {
        let group = Group::new(3, |config| config.algorithm(entry.name));
        let nodes = group.join_all().await;
        for name in ["printer", "scanner"] {
            contend(&nodes, name, 3, &Resource::default()).await;
        }
        ask_and_withdraw(&nodes[2], "printer").await;
        let mut before = Vec::new();
        soon("nothing is under way", async {
            loop {
                let now = said(&nodes).await;
                if are_idle(&nodes).await && now == before {
                    break;
                }
                before = now;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await;
        // Several beats, and longer than anything is waited for.
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(said(&nodes).await, before, "{}: an idle resource says nothing", entry.name);
        assert!(are_idle(&nodes).await, "{}: an idle resource waits for nothing", entry.name);
        let resources = nodes[0].status().await.unwrap().resources;
        assert_eq!(resources, 2, "{}: it was there all the time", entry.name);
        for node in &nodes {
            node.stop().await;
        }
    }
}

/// The node has not been told by the algorithm that it has left when it is asked again.
#[tokio::test]
async fn who_tries_at_once_after_a_release_or_a_withdrawal_gets_what_nobody_has() {
    let group = Group::new(1, |config| {
        config.delay(Duration::from_secs(2)).beat(Duration::from_secs(2), Duration::from_secs(20))
    });
    let node = group.join(1).await.unwrap();
    let mut guard = node.lock("printer").await.unwrap();
    for _ in 0..20 {
        drop(guard);
        guard = node.try_lock("printer").await.unwrap().expect("nobody has it, or wants it");
        assert!(node.try_lock("printer").await.unwrap().is_none(), "now somebody has it");
    }
    drop(guard);
    ask_and_withdraw(&node, "printer").await;
    assert!(node.try_lock("printer").await.unwrap().is_some(), "who waited has withdrawn");
}

#[tokio::test]
async fn tasks_of_a_node_are_served_in_order_and_who_gives_up_leaves_no_trace() {
    let group = Group::new(3, |config| config);
    let nodes = group.join_all().await;
    let first = nodes[0].lock("printer").await.unwrap();
    assert!(nodes[0].lock_timeout("printer", Duration::from_millis(20)).await.unwrap().is_none());
    assert!(nodes[1].lock_timeout("printer", Duration::from_millis(20)).await.unwrap().is_none());
    let order = std::sync::Arc::new(AtomicU64::new(1));
    let mut tasks = JoinSet::new();
    for turn in 1..=4 {
        let (node, order) = (nodes[0].clone(), order.clone());
        tasks.spawn(async move {
            let guard = node.lock("printer").await.unwrap();
            assert_eq!(order.fetch_add(1, Ordering::Relaxed), turn);
            guard.fence()
        });
        // So that they come in this order.
        while nodes[0].status().await.unwrap().wanted.1 < turn as usize {
            tokio::task::yield_now().await;
        }
    }
    let fence = first.fence();
    drop(first);
    let mut fences = soon("all are served", tasks.join_all()).await;
    fences.sort();
    fences.dedup();
    assert!(fences.len() == 4 && fences[0] > fence, "every guard has a fence of its own: {fences:?}");
    let guard = soon("nothing is left", nodes[1].lock("printer")).await.unwrap();
    assert!(guard.fence() > fences[3]);
}

#[tokio::test]
async fn a_leader_is_found_and_followed_by_another() {
    for election in Kind::ALL {
        let group = Group::new(3, move |config| config.election(election));
        let nodes = group.join_all().await;
        for node in &nodes {
            let leader = soon("somebody leads", node.leader()).await.unwrap();
            assert_eq!(leader.number(), 3, "{}", election.name());
        }
        let mut leadership = nodes[0].leadership();
        nodes[2].stop().await;
        soon("another leads", async {
            while leadership.leader().is_none_or(|leader| leader.number() != 2) {
                leadership.changed().await.unwrap();
            }
        })
        .await;
        nodes[0].stop().await;
        assert_eq!(nodes[0].leadership().changed().await, Err(Refused::Stopped));
    }
}

/// The one with the largest number leads, is killed, and comes back while the others elect somebody else. All are
/// honest, so nobody is told of anything that should not have been sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_comes_back_at_any_time_of_an_election_surprises_nobody() {
    for election in Kind::ALL {
        let group = Group::new(3, move |config| {
            config.election(election).beat(Duration::from_millis(40), Duration::from_millis(200))
        });
        let mut nodes = group.join_all().await;
        for pause in [0, 150, 200, 250, 300, 400] {
            for node in &nodes {
                soon("somebody leads", node.leader()).await.unwrap();
            }
            nodes[2].stop().await;
            tokio::time::sleep(Duration::from_millis(pause)).await;
            nodes[2] = group.join(3).await.unwrap();
            soon("the largest leads again", async {
                for node in &nodes {
                    let mut leadership = node.leadership();
                    while leadership.leader().is_none_or(|leader| leader.number() != 3) {
                        leadership.changed().await.unwrap();
                    }
                }
            })
            .await;
            for node in &nodes {
                let status = node.status().await.unwrap();
                assert_eq!(status.unexpected, 0, "{}, after {pause} ms: {status:?}", election.name());
            }
        }
        for node in &nodes {
            node.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_goes_is_done_without_and_joins_again() {
    for entry in algorithms() {
        let group = Group::new(3, |config| config.algorithm(entry.name));
        let mut nodes = group.join_all().await;
        let resource = Resource::default();
        contend(&nodes, "printer", 2, &resource).await;
        // It goes with the turn in its hands.
        let guard = nodes[0].lock("printer").await.unwrap();
        let fence = guard.fence();
        nodes[0].stop().await;
        soon("it is lost", guard.lost()).await;
        assert_eq!(guard.release().await, Err(Refused::Stopped));
        contend(&nodes[1..], "printer", 2, &resource).await;
        assert!(resource.latest() > Some(fence), "{}", entry.name);
        nodes[0] = group.join(1).await.unwrap();
        assert_eq!(nodes[0].status().await.unwrap().incarnation, 2);
        contend(&nodes, "printer", 2, &resource).await;
        // It is the first to ask for this one.
        let fence = soon("nobody else knows of it", nodes[0].lock("scanner")).await.unwrap().fence();
        let next = soon("now another does", nodes[1].lock("scanner")).await.unwrap().fence();
        assert!(next > fence, "{}", entry.name);
        for node in &nodes {
            node.stop().await;
        }
    }
}

/// What was released before it stops has been said; and its port and its directory are free.
#[tokio::test]
async fn who_stops_in_order_keeps_nobody_waiting() {
    let group = Group::new(3, |config| config.beat(Duration::from_secs(5), Duration::from_secs(50)));
    let mut nodes = group.join_all().await;
    for _ in 0..3 {
        let guard = soon("it is its turn", nodes[0].lock("printer")).await.unwrap();
        let second = nodes[1].clone();
        let waiting = tokio::spawn(async move { second.lock("printer").await.unwrap().fence() });
        while nodes[1].status().await.unwrap().wanted != (1, 1) {
            tokio::task::yield_now().await;
        }
        // So that the first one has been asked.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let fence = guard.fence();
        drop(guard);
        nodes[0].stop().await;
        assert!(soon("the other is let in, long before anybody is missed", waiting).await.unwrap() > fence);
        nodes[0] = group.join(1).await.unwrap();
    }
}

#[tokio::test]
async fn two_nodes_do_not_write_one_trace() {
    let group = Group::new(2, |config| config);
    let trace = group.scratch("both.trace");
    let first = Node::join(group.config(1).trace(&trace)).await.unwrap();
    let refused = Node::join(group.config(2).trace(&trace)).await.unwrap_err();
    assert!(refused.to_string().contains("give every node a trace file of its own"), "{refused}");
    first.stop().await;
    Node::join(group.config(2).trace(&trace)).await.unwrap().stop().await;
}

#[tokio::test]
async fn a_minority_lets_nobody_in() {
    let group = Group::new(3, |config| config);
    let nodes = group.join_all().await;
    let guard = nodes[0].lock("printer").await.unwrap();
    nodes[1].stop().await;
    nodes[2].stop().await;
    soon("it is lost", guard.lost()).await;
    assert!(guard.is_lost());
    let within = Duration::from_millis(1500);
    assert!(nodes[0].lock_timeout("printer", within).await.unwrap().is_none());
    let second = group.join(2).await.unwrap();
    let guard = soon("a majority is back", nodes[0].lock("printer")).await.unwrap();
    drop(guard);
    drop(soon("for both", second.lock("printer")).await.unwrap());
}

#[tokio::test]
async fn what_one_has_seen_another_observes() {
    let group = Group::new(3, |config| config.algorithm("lamport"));
    let nodes = group.join_all().await;
    nodes[0].lock("printer").await.unwrap().release().await.unwrap();
    let stamp = nodes[0].stamp().await.unwrap();
    assert!(stamp.get() > 0);
    nodes[1].observe(stamp).unwrap();
    assert!(nodes[1].stamp().await.unwrap() >= stamp);
}

#[tokio::test]
async fn who_does_not_belong_is_refused_and_the_others_go_on() {
    log::begin();
    let (begin, group) = (Instant::now(), Group::new(3, |config| config));
    let nodes = group.join_all().await;
    drop(soon("they find each other", nodes[0].lock("printer")).await.unwrap());

    // The same directory, the same port, the same number from elsewhere.
    let Err(error @ JoinError::Listen { .. }) = group.join(1).await else { panic!("the port is in use") };
    assert!(error.to_string().contains("set `Config::listen`"), "{error}");
    let elsewhere = support::free_address();
    let Err(JoinError::Store(error)) = Node::join(group.config(1).listen(&elsewhere)).await else { panic!("in use") };
    assert!(error.to_string().contains("is in use by another process"), "{error}");
    let twin = Node::join(group.config(1).listen(&elsewhere).data(group.scratch("twin"))).await.unwrap();
    let stranger = group.config(2).cluster("others").listen(support::free_address()).data(group.scratch("stranger"));
    let stranger = Node::join(stranger).await.unwrap();
    let other = group.config(3).algorithm("lamport").listen(support::free_address()).data(group.scratch("other"));
    let other = Node::join(other).await.unwrap();

    // Nonsense.
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[0, 0, 0, 3, 1, 2, 3]] {
        let mut socket = tokio::net::TcpStream::connect(nodes[0].address()).await.unwrap();
        // It may be gone before all is written.
        _ = socket.write_all(nonsense).await;
    }
    // They try again and again.
    tokio::time::sleep(Duration::from_secs(3)).await;
    for (refused, why) in [(&twin, "as node 1"), (&stranger, "belongs to the cluster"), (&other, "node 3 runs")] {
        let status = refused.status().await.unwrap();
        for peer in status.peers {
            let failure = peer.failure.unwrap_or_default();
            assert!(!peer.is_connected && failure.contains(why), "{why} is not why node {}: {failure}", peer.id);
        }
    }
    let warned = log::lines(&["node=1 ", "inbound connection rejected", "node 2 belongs to the cluster"]);
    let minutes = 1 + begin.elapsed().as_secs() as usize / 60;
    assert!((1..=minutes).contains(&warned.len()), "however often it tries, it is logged once a minute: {warned:?}");
    let resource = Resource::default();
    contend(&nodes, "printer", 2, &resource).await;
    assert_eq!(resource.entries(), 6);
}

#[tokio::test]
async fn bad_settings_are_refused_with_a_sentence() {
    let refused = |config: Config| async {
        match Node::join(config).await {
            Ok(_) => panic!("it joined"),
            Err(error) => error.to_string(),
        }
    };
    let members = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"];
    let config = || Config::new(1, members);
    assert_eq!(refused(Config::new(4, members)).await, "node 4 is not a member: the members are numbered 1 to 3");
    assert!(refused(Config::of(1, Vec::new())).await.starts_with("the group has no members"));
    let unknown = refused(config().algorithm("lamprot")).await;
    assert!(unknown.starts_with("unknown algorithm `lamprot`; choose one of central"), "{unknown}");
    let bully = refused(config().algorithm("bully")).await;
    assert!(bully.starts_with("bully is not a mutual exclusion algorithm"), "{bully}");
    let cluster = refused(config().cluster("x".repeat(257))).await;
    assert!(cluster.contains("has 257 bytes, the maximum is 256"), "{cluster}");
    let maekawa = refused(config().algorithm("maekawa")).await;
    assert!(maekawa.starts_with("maekawa does not recover from crashes"), "{maekawa}");
    let insecure = refused(Config::new(1, ["10.0.0.1:1", "10.0.0.2:1"])).await;
    assert!(insecure.contains("any process that reaches it could act as a member"), "{insecure}");
    assert!(insecure.contains("`Config::insecure`"), "{insecure}");
    let everywhere = refused(config().listen("0.0.0.0:1")).await;
    assert!(everywhere.starts_with("0.0.0.0:1 is not a loopback address"), "{everywhere}");
    let address = refused(Config::new(1, ["localhost"])).await;
    assert!(address.contains("expected HOST:PORT"), "{address}");
    let same = refused(Config::new(1, ["127.0.0.1:1", "127.0.0.1:1"])).await;
    assert_eq!(same, "members 1 and 2 have the same address, 127.0.0.1:1: each needs its own");
    let times = refused(config().beat(Duration::from_secs(2), Duration::from_secs(1))).await;
    assert!(times.contains("the tolerance at least the interval"), "{times}");
    let between = refused(config().beat(Duration::from_secs(1), Duration::from_millis(1900))).await;
    assert!(
        between.contains("the tolerance of 1.9s is not a whole multiple of the heartbeat interval, 1s"),
        "{between}"
    );
    assert!(between.contains("use 1s or 2s"), "{between}");
    let beat = config().delay(Duration::from_millis(500)).beat(Duration::from_millis(950), Duration::from_secs(19));
    let beat = refused(beat).await;
    assert!(
        beat.contains("the heartbeat interval of 950ms is not a whole multiple of the delay, 500ms")
            && beat.contains("use 500ms or 1s"),
        "{beat}"
    );
    let node = Group::new(1, |config| config).join(1).await.unwrap();
    assert_eq!(node.lock("").await.unwrap_err(), Refused::Name);
    assert_eq!(node.lock(&"x".repeat(513)).await.unwrap_err(), Refused::Name);
    drop(node.lock(&"x".repeat(512)).await.unwrap());
}

/// A node that has not met the others keeps what it is asked: for so many names, and no more.
#[tokio::test]
async fn names_are_counted_also_while_a_node_takes_no_part() {
    let long = Duration::from_secs(60);
    let group = Group::new(3, move |config| config.algorithm("central").beat(Duration::from_millis(100), long));
    let node = group.join(1).await.unwrap();
    // Asked for, and given up at once.
    for name in 0..1 << 17 {
        assert!(node.lock(&name.to_string()).now_or_never().is_none());
    }
    assert_eq!(node.lock("another").await.unwrap_err(), Refused::TooManyNames);
    assert!(node.lock_timeout("5", Duration::ZERO).await.unwrap().is_none());
}

/// Whoever uses another name for everything it does is told so, before memory runs out.
#[tokio::test]
async fn there_are_names_for_many_things_but_not_for_everything() {
    let node = Group::new(1, |config| config.algorithm("central")).join(1).await.unwrap();
    let use_one = async |name: usize| node.lock(&name.to_string()).await.map(drop);
    for name in 0..1 << 17 {
        use_one(name).await.unwrap();
    }
    assert_eq!(use_one(1 << 17).await, Err(Refused::TooManyNames));
    use_one(5).await.unwrap();
}
