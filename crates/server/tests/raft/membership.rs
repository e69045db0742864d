//! Who belongs to a cluster.

use quorate_server::engine::{Engine, Unavailable};
use quorate_server::raft::MemberError;

use crate::harness::{Cluster, open, until};
use crate::ports::free_addresses;

#[tokio::test(flavor = "multi_thread")]
async fn members_come_and_go() {
    let mut cluster = Cluster::begin([1], |_| ()).await;
    cluster.open_sessions(1..=10).await;
    for id in [2, 3] {
        let address = cluster.start_another(id).await;
        cluster.replica(1).add_member(id, &address).await.unwrap();
    }
    let votes: Vec<_> = cluster.replica(1).members().iter().map(|member| (member.node, member.is_voter)).collect();
    assert_eq!(votes, [(1, true), (2, true), (3, true)]);
    cluster.agree().await;
    let again = cluster.settings[&2].address.clone();
    assert_eq!(cluster.replica(1).add_member(2, &again).await, Ok(()), "it is there already");
    // Without the first one the others go on.
    cluster.replica(1).remove_member(1).await.unwrap();
    cluster.stop(1).await;
    cluster.open_sessions(11..=20).await;
    let leader = cluster.leader().await;
    assert_eq!(cluster.replica(leader).members().len(), 2);
    let other = cluster.follower().await;
    cluster.replica(leader).remove_member(other).await.unwrap();
    assert_eq!(cluster.replica(leader).remove_member(leader).await, Err(MemberError::Last { node: leader }));
    assert_eq!(cluster.replica(leader).remove_member(other).await, Err(MemberError::NoMember { node: other }));
    cluster.open_sessions(21..=22).await;
    cluster.has_sessions(leader, 1..=22);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_come_at_once_are_made_one_after_the_other() {
    let mut cluster = Cluster::begin([1], |_| ()).await;
    let mut added = Vec::new();
    for id in 2..=5 {
        let address = cluster.start_another(id).await;
        let replica = cluster.replica(1).clone();
        added.push(tokio::spawn(async move { replica.add_member(id, &address).await }));
    }
    for task in added {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
    cluster.open_sessions(1..=5).await;
    cluster.agree().await;
    let leader = cluster.leader().await;
    let removed = (2..=4).filter(|id| *id != leader).map(|id| {
        let replica = cluster.replica(leader).clone();
        tokio::spawn(async move { replica.remove_member(id).await })
    });
    for task in removed.collect::<Vec<_>>() {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
    cluster.open_sessions(6..=7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_comes_back_with_an_empty_disk_is_refused() {
    let mut cluster = Cluster::three().await;
    cluster.open_sessions(1..=3).await;
    // The first one would begin another cluster; the second would only wait.
    for wiped in [1, 2] {
        cluster.agree().await;
        cluster.stop(wiped).await;
        let directory = cluster.settings[&wiped].directory.clone();
        let kept = directory.with_extension("kept");
        std::fs::rename(&directory, &kept).unwrap();
        cluster.start(wiped).await;
        let trouble = cluster.replica(wiped).trouble();
        until("it says what to do", || trouble.borrow().is_some()).await;
        let sentence = trouble.borrow().clone().unwrap();
        let expected = format!("`quorate member remove {wiped}`, then add it under a new id");
        let otherwise = "`quorate member remove`), start it with an empty data directory, a new --node id";
        assert!(sentence.contains(&expected) || sentence.contains(otherwise), "{sentence}");
        cluster.open_sessions(10 * wiped..10 * wiped + 3).await;
        assert_eq!(cluster.replica(wiped).status().commands, 0, "it takes no part");
        cluster.stop(wiped).await;
        std::fs::remove_dir_all(&directory).unwrap();
        std::fs::rename(&kept, &directory).unwrap();
        cluster.start(wiped).await;
    }
    cluster.agree().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_not_used_again_with_another_disk() {
    let mut cluster = Cluster::three().await;
    let leader = cluster.leader().await;
    let removed = cluster.follower().await;
    cluster.replica(leader).remove_member(removed).await.unwrap();
    cluster.stop(removed).await;
    std::fs::remove_dir_all(&cluster.settings[&removed].directory).unwrap();
    cluster.settings.get_mut(&removed).unwrap().first_members.clear();
    cluster.start(removed).await;
    let address = cluster.settings[&removed].address.clone();
    let leader = cluster.leader().await;
    let added = cluster.replica(leader).add_member(removed, &address).await;
    assert_eq!(added, Err(MemberError::NumberUsed { node: removed }));
    let nowhere = cluster.replica(leader).add_member(7, "127.0.0.1:1").await.unwrap_err();
    assert!(nowhere.to_string().contains("cannot add node 7"), "{nowhere}");
    let mistaken = cluster.replica(leader).add_member(7, &address).await.unwrap_err();
    assert!(mistaken.to_string().contains("answers at the address of node 7"), "{mistaken}");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_node_can_be_asked_to_change_the_members() {
    let mut cluster = Cluster::three().await;
    cluster.open_sessions(1..=3).await;
    let address = cluster.start_another(4).await;
    let follower = cluster.follower().await;
    assert_eq!(cluster.replica(follower).add_member(4, &address).await, Ok(()));
    cluster.agree().await;
    assert_eq!(cluster.replica(4).remove_member(9).await, Err(MemberError::NoMember { node: 9 }));
    assert_eq!(cluster.replica(follower).remove_member(4).await, Ok(()));
    let leader = cluster.leader().await;
    assert_eq!(cluster.replica(leader).members().len(), 3);
}

/// Starts a node that is alone at another address.
async fn move_to(cluster: &mut Cluster, address: &str) {
    cluster.stop(1).await;
    let settings = cluster.settings.get_mut(&1).unwrap();
    settings.address = address.into();
    *settings = settings.clone().alone();
    cluster.start(1).await;
    cluster.leader().await;
}

/// A node that began alone, wherever it was, is reached by whoever is added where it is now.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_alone_is_added_to_where_it_can_be_reached() {
    let mut cluster = Cluster::begin([1], |_| ()).await;
    let other = cluster.start_another(2).await;
    move_to(&mut cluster, "0.0.0.0:0").await;
    let refused = cluster.replica(1).add_member(2, &other).await.unwrap_err().to_string();
    assert!(refused.contains("restart node 1 with `--advertise ADDRESS`"), "{refused}");
    let address = free_addresses(1).remove(0);
    move_to(&mut cluster, &address).await;
    assert_eq!(cluster.replica(1).add_member(2, &other).await, Ok(()));
    cluster.agree().await;
    let known = cluster.replica(2).members().into_iter().find(|member| member.node == 1).unwrap();
    assert_eq!(known.address, address);
}

/// What a leader wanted in one term, it does not do in another one: somebody else may have led meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_meant_for_one_term_is_done_in_no_other() {
    let cluster = Cluster::begin([1], |_| ()).await;
    let term = cluster.replica(1).leadership().borrow().term;
    let replica = cluster.replica(1);
    assert_eq!(replica.submit_in(term - 1, open(1)).await, Err(Unavailable::Elsewhere { leader: None }));
    assert_eq!(replica.submit_in(term + 1, open(1)).await, Err(Unavailable::Elsewhere { leader: None }));
    assert_eq!(replica.look(|machine| machine.sessions().len()), 0);
    replica.submit_in(term, open(1)).await.unwrap();
    assert_eq!(replica.look(|machine| machine.sessions().len()), 1);
}
