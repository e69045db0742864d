//! Nodes that stop, come back, and lag behind.

use std::time::Duration;

use bytes::Bytes;
use quorate_server::engine::{Engine, Unavailable};

use crate::harness::{Cluster, open, until};

#[tokio::test(flavor = "multi_thread")]
async fn another_node_leads_when_the_leader_stops_and_nothing_acknowledged_is_lost() {
    let mut cluster = Cluster::three().await;
    cluster.open_sessions(1..=30).await;
    let first = cluster.leader().await;
    let term = cluster.replica(first).status().term;
    cluster.stop(first).await;
    let second = cluster.leader().await;
    assert_ne!(first, second);
    cluster.has_sessions(second, 1..=30);
    assert!(cluster.replica(second).status().term > term);
    cluster.open_sessions(31..=40).await;
    cluster.start(first).await;
    cluster.agree().await;
    cluster.has_sessions(first, 1..=40);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_submit_at_once_are_all_answered_while_leaders_come_and_go() {
    let mut cluster = Cluster::three().await;
    for round in 0..3 {
        let leader = cluster.leader().await;
        let replica = cluster.replica(leader).clone();
        let tasks: Vec<_> = (1..=200)
            .map(|n| {
                let (replica, session) = (replica.clone(), round * 1000 + n);
                tokio::spawn(async move { (session, replica.submit(open(session)).await) })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(2)).await;
        cluster.stop(leader).await;
        let mut acknowledged = Vec::new();
        for task in tasks {
            if let (session, Ok(_)) = task.await.unwrap() {
                acknowledged.push(session);
            }
        }
        let next = cluster.leader().await;
        cluster.has_sessions(next, acknowledged);
        cluster.start(leader).await;
        cluster.agree().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_was_away_catches_up() {
    let mut cluster = Cluster::three().await;
    cluster.open_sessions(1..=10).await;
    let away = cluster.follower().await;
    cluster.stop(away).await;
    cluster.open_sessions(11..=20).await;
    cluster.start(away).await;
    cluster.agree().await;
    cluster.has_sessions(away, 1..=20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_was_away_too_long_gets_a_snapshot() {
    let brief = |settings: &mut quorate_server::raft::Settings| {
        (settings.snapshot_after, settings.kept_entries) = (20, 5);
    };
    let mut cluster = Cluster::begin(1..=3, brief).await;
    let away = cluster.follower().await;
    cluster.stop(away).await;
    cluster.open_sessions(1..=100).await;
    let leader = cluster.leader().await;
    until("the leader has deleted the beginning of its log", || {
        cluster.replica(leader).status().purged.is_some_and(|purged| purged > 50)
    })
    .await;
    cluster.start(away).await;
    cluster.agree().await;
    assert!(cluster.replica(away).status().snapshot.is_some_and(|snapshot| snapshot > 50));
    // It has it on disk, too, and counts on from it.
    cluster.stop(away).await;
    cluster.start(away).await;
    cluster.open_sessions(101..=105).await;
    cluster.agree().await;
    cluster.has_sessions(away, 1..=105);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_hands_over_before_it_stops() {
    let mut cluster = Cluster::three().await;
    cluster.open_sessions(1..=5).await;
    for _ in 0..3 {
        let leader = cluster.leader().await;
        let term = cluster.replica(leader).status().term;
        assert!(cluster.replica(leader).hand_over().await);
        let next = cluster.leader().await;
        assert_ne!(next, leader);
        assert_eq!(cluster.replica(next).status().term, term + 1, "at the first attempt");
    }
    let leader = cluster.leader().await;
    cluster.nodes.remove(&leader).unwrap().shutdown().await;
    cluster.open_sessions(6..=7).await;
    cluster.has_sessions(cluster.leader().await, 1..=7);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_leader_takes_commands_and_confirms_and_only_with_a_majority() {
    let mut cluster = Cluster::three().await;
    let (leader, follower) = (cluster.leader().await, cluster.follower().await);
    until("the follower knows the leader", || cluster.replica(follower).status().leader == Some(leader)).await;
    let elsewhere = Unavailable::Elsewhere { leader: Some(leader) };
    assert_eq!(cluster.replica(follower).submit(open(1)).await, Err(elsewhere.clone()));
    assert_eq!(cluster.replica(follower).confirm().await, Err(elsewhere));
    let replica = cluster.replica(leader);
    let confirmed = futures_util::future::join_all((0..100).map(|_| replica.confirm())).await;
    assert!(confirmed.iter().all(Result::is_ok));
    let followers: Vec<_> = cluster.nodes.keys().copied().filter(|id| *id != leader).collect();
    for follower in followers {
        cluster.stop(follower).await;
    }
    assert_eq!(cluster.replica(leader).submit(open(2)).await, Err(Unavailable::Unknown));
    assert_eq!(cluster.replica(leader).confirm().await, Err(Unavailable::Elsewhere { leader: None }));
    // It does not resign, but whoever asks how it is doing is told.
    until("it says that it leads nobody", || cluster.replica(leader).status().leader.is_none()).await;
    let status = cluster.replica(leader).status();
    assert!(status.trouble.is_some_and(|why| why.contains("no majority of the members has answered for")));
    until("it says who is silent", || {
        let followers = cluster.replica(leader).status().followers;
        followers.len() == 2 && followers.iter().all(|follower| follower.silent_ms.is_some())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_ask_each_other() {
    let cluster = Cluster::three().await;
    let (leader, follower) = (cluster.leader().await, cluster.follower().await);
    until("the follower knows the members", || cluster.replica(follower).members().len() == 3).await;
    let answer = cluster.replica(follower).ask(leader, Bytes::from_static(b"hello")).await;
    assert_eq!(answer, Ok(format!("{follower} said hello").into()));
    let unknown = cluster.replica(follower).ask(9, Bytes::new()).await;
    assert_eq!(unknown, Err(Unavailable::Elsewhere { leader: None }));
}
