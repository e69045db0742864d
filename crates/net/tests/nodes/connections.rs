//! Members that cannot all reach each other, and strangers that reach all of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use quorate_net::Node;

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
                silent.push_back(tokio::net::TcpStream::connect(address).await.unwrap());
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
    let warned = log::lines(&["too many connections do not say who they are: one from 127.0.0.1 was closed"]);
    let minutes = 1 + begin.elapsed().as_secs() as usize / 60;
    assert!((2..=2 * minutes).contains(&warned.len()), "each says so once a minute: {warned:?}");
}
