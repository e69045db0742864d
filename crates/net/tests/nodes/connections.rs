//! Members that cannot all reach each other, connections that break, and strangers that reach all of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use quorate_net::{Node, PeerStatus};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::{Group, Resource, free_address, soon};
use crate::{contend, log};

/// Nobody can open a connection to it, so all speak on those that it has opened.
#[tokio::test]
async fn who_cannot_be_reached_takes_part_over_its_own_connections() {
    for unreachable in 1..=3 {
        let group = Group::new(3, |config| config);
        let mut nodes = Vec::new();
        for id in 1..=3 {
            let config = group.config(id);
            let config = if id == unreachable { config.listen(free_address()) } else { config };
            nodes.push(Node::join(config).await.unwrap());
        }
        let resource = Resource::default();
        soon("all take turns", contend(&nodes, "printer", 5, &resource)).await;
        assert_eq!(resource.entries(), 15);
        for node in &nodes {
            for peer in node.status().await.unwrap().peers {
                assert_eq!(peer.is_connected, peer.id.number() != unreachable, "{} to {peer:?}", node.id());
                assert!(!peer.is_suspected);
            }
        }
    }
}

/// Passes on what is said to a member, and hangs up on everybody whenever its turn has come, or that of all.
async fn pass_on(listener: TcpListener, id: u32, to: String, mut turn: watch::Receiver<u32>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (mut here, to) = (accepted.unwrap().0, to.clone());
                here.set_nodelay(true).unwrap();
                connections.spawn(async move {
                    let mut there = TcpStream::connect(to).await?;
                    there.set_nodelay(true)?;
                    tokio::io::copy_bidirectional(&mut here, &mut there).await
                });
            }
            told = turn.changed() => match told {
                Ok(()) if [0, id].contains(&(*turn.borrow_and_update() % 4)) => connections.abort_all(),
                Ok(()) => {}
                Err(_) => break,
            },
        }
    }
}

/// Of the two connections between two members now the one breaks, now the other, and now both, while all take turns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whichever_connection_breaks_nothing_is_lost_and_nothing_comes_twice() {
    // Who cannot connect for a while is not taken for dead: then exclusion would be up to the fences.
    let group = Group::new(3, |config| config.beat(Duration::from_millis(100), Duration::from_secs(60)));
    let (turn, _) = watch::channel(0);
    let mut nodes = Vec::new();
    for (id, member) in (1..).zip(group.members()) {
        let (behind, listener) = (free_address(), TcpListener::bind(member).await.unwrap());
        tokio::spawn(pass_on(listener, id, behind.clone(), turn.subscribe()));
        nodes.push(Node::join(group.config(id).listen(behind)).await.unwrap());
    }
    let resource = Resource::default();
    let breaking = async {
        loop {
            tokio::time::sleep(Duration::from_millis(40)).await;
            turn.send_modify(|turn| *turn += 1);
        }
    };
    let taking_turns = async {
        let mut rounds = 0;
        loop {
            contend(&nodes, "printer", 20, &resource).await;
            rounds += 1;
            let mut connections = Vec::new();
            for node in &nodes {
                let status = node.status().await.unwrap();
                assert_eq!((status.unexpected, status.wanted), (0, (0, 0)), "{status:?}");
                assert!(status.peers.iter().all(|peer| peer.suspicions == 0), "{status:?}");
                connections.extend(status.peers.iter().map(|peer| peer.connections));
            }
            if connections.iter().all(|&count| count > 2) {
                return rounds;
            }
        }
    };
    let rounds = tokio::select! {
        rounds = soon("each has broken a few times", taking_turns) => rounds,
        () = breaking => unreachable!("it goes on for ever"),
    };
    assert_eq!(resource.entries(), 60 * rounds);
}

/// A node that can be reached where node 2 should be, and reaches nobody itself.
async fn in_place_of_the_second(group: &Group) -> Node {
    let mut elsewhere: Vec<_> = (1..=3).map(|_| free_address()).collect();
    elsewhere[1] = group.members()[1].clone();
    Node::join(group.config_among(2, elsewhere).data(group.scratch("empty"))).await.unwrap()
}

/// What the others have against it, it hears when they hang up.
#[tokio::test]
async fn who_is_refused_on_connections_of_others_hears_why() {
    log::begin();
    let group = Group::new(3, |config| config);
    let _second = Node::join(group.config(2).listen(free_address())).await.unwrap();
    let nodes = [group.join(1).await.unwrap(), group.join(3).await.unwrap()];
    drop(soon("they find each other", nodes[0].lock("printer")).await.unwrap());
    let pretends = in_place_of_the_second(&group).await;
    let why = "rejected by the peer: another process is connected as node 2";
    soon("it knows", async {
        let is_known = |peer: &PeerStatus| peer.failure.as_deref().is_some_and(|failure| failure.starts_with(why));
        while !pretends.status().await.unwrap().peers.iter().all(is_known) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(
        log::lines(&["node rejected by peer", "peer=1 ", "another process is connected as node 2"]).len(),
        1,
        "once, however often it is told"
    );
    assert_eq!(pretends.trouble(), None, "the other one may leave");
}

/// And if that is that it has forgotten what it promised, it leaves.
#[tokio::test]
async fn who_has_forgotten_what_it_promised_leaves_also_if_others_tell_it() {
    log::begin();
    let group = Group::new(3, |config| config);
    let nodes = group.join_all().await;
    drop(soon("they find each other", nodes[1].lock("printer")).await.unwrap());
    nodes[1].stop().await;
    let without_its_directory = in_place_of_the_second(&group).await;
    let why = "node 2 uses another data directory than it did in incarnation 1";
    soon("it leaves", async { while without_its_directory.leadership().changed().await.is_ok() {} }).await;
    let trouble = without_its_directory.trouble().expect("it says why");
    assert!(trouble.starts_with("the node stopped because node ") && trouble.contains(why), "{trouble}");
    assert!(!log::lines(&["node=2 ", "node stopped by peer", why]).is_empty());
    assert!(!log::lines(&["node=1 peer=2 ", "connect failed", why]).is_empty());
}

/// Without a certificate, or any word: whoever reaches the ports of the members opens connections all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_nothing_keeps_no_member_out() {
    log::begin();
    let (begin, group) = (Instant::now(), Group::new(3, |config| config));
    let mut nodes = group.join_all().await;
    drop(soon("they find each other", nodes[2].lock("printer")).await.unwrap());
    nodes[2].stop().await;
    let addresses = [nodes[0].address(), nodes[1].address()];
    let (tell, mut opened) = tokio::sync::watch::channel(0);
    let silence = tokio::spawn(async move {
        let mut silent = VecDeque::new();
        loop {
            for address in addresses {
                silent.push_back(TcpStream::connect(address).await.unwrap());
            }
            silent.drain(..silent.len().saturating_sub(300));
            tell.send_modify(|count| *count += 1);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    soon("there are more than may be", opened.wait_for(|count| *count >= 150)).await.unwrap();
    nodes[2] = group.join(3).await.unwrap();
    drop(soon("a member is heard nevertheless", nodes[2].lock("printer")).await.unwrap());
    soon("by all, and hears all", async {
        while !nodes[2].status().await.unwrap().peers.iter().all(|peer| peer.is_connected) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    silence.abort();
    let warned = log::lines(&["unidentified connection evicted", "from=127.0.0.1 "]);
    let minutes = 1 + begin.elapsed().as_secs() as usize / 60;
    assert!((2..=2 * minutes).contains(&warned.len()), "each says so once a minute: {warned:?}");
}
