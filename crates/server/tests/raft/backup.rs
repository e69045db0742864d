//! Backups, and clusters that begin from one.

use std::time::Duration;

use bytes::Bytes;
use quorate_server::engine::{Engine, Unavailable};
use quorate_server::machine::{Acquire, Command, Fence, Mode, Name, Response, SessionId};
use quorate_server::raft::{RestoreError, SalvageError, Settings, examine, restore, salvage};

use crate::harness::{Cluster, Node, TemporaryDirectory, open};

fn acquire(session: u64, name: &str) -> Command {
    Command::Acquire(Acquire {
        session: SessionId::new(session).unwrap(),
        request: 0,
        call: 0,
        name: Name::lock(name),
        mode: Mode::Exclusive,
        wait: false,
        delay_ms: 0,
        value: Vec::new(),
    })
}

fn fence(response: &Response) -> Fence {
    match response {
        Response::Granted { fence } => *fence,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fences_grow_on_after_a_backup_is_restored() {
    let cluster = Cluster::three().await;
    cluster.submit(open(1)).await;
    let backup = cluster.replica(cluster.leader().await).backup();
    // The backup knows nothing of this.
    cluster.open_sessions(2..=50).await;
    let lost = fence(&cluster.submit(acquire(1, "a")).await.response);

    let directory = TemporaryDirectory::new();
    restore(&directory.0, 8, "127.0.0.1:0", &backup, None).await.unwrap();
    let refused = restore(&directory.0, 8, "127.0.0.1:0", &backup, None).await;
    assert!(matches!(refused, Err(RestoreError::NotEmpty(_))));
    for attempt in 0..2 {
        let node = Node::start(Settings::new(8, &directory.0, "127.0.0.1:0")).await;
        node.replica.leadership().wait_for(|leadership| leadership.is_here).await.unwrap();
        assert_eq!(node.replica.look(|machine| machine.sessions().len()), 1);
        let granted = fence(&node.replica.submit(acquire(1, "a")).await.unwrap().response);
        assert!(granted > lost, "attempt {attempt}: {granted} is not larger than {lost}");
        node.stop().await;
    }
}

/// Those who had a fence from the first restoration must lose against those of the second.
#[tokio::test]
async fn a_backup_that_is_restored_twice_goes_on_in_another_generation() {
    let cluster = Cluster::begin([1], |_| ()).await;
    cluster.submit(open(1)).await;
    let backup = cluster.replica(1).backup();
    let mut fences = Vec::new();
    let mut generation = None;
    for _ in 0..2 {
        let directory = TemporaryDirectory::new();
        let restored = restore(&directory.0, 8, "127.0.0.1:0", &backup, generation).await.unwrap();
        generation = Some(restored + 1);
        let node = Node::start(Settings::new(8, &directory.0, "127.0.0.1:0")).await;
        node.replica.leadership().wait_for(|leadership| leadership.is_here).await.unwrap();
        fences.push(fence(&node.replica.submit(acquire(1, "a")).await.unwrap().response));
        node.stop().await;
    }
    assert!(fences[0] < fences[1], "{fences:?}");
}

#[tokio::test]
async fn a_damaged_backup_is_refused() {
    let cluster = Cluster::begin([1], |_| ()).await;
    cluster.open_sessions(1..=3).await;
    let mut backup = cluster.replica(1).backup();
    *backup.last_mut().unwrap() ^= 1;
    let directory = TemporaryDirectory::new();
    let refused = restore(&directory.0, 8, "nowhere", &backup, None).await.unwrap_err();
    assert!(refused.to_string().contains("checksum is wrong"), "{refused}");
    assert!(std::fs::read_dir(&directory.0).unwrap().next().is_none(), "nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_the_disk_of_the_last_node_is_saved() {
    let mut cluster = Cluster::three().await;
    cluster.open_sessions(1..=9).await;
    cluster.agree().await;
    let (last, lost) = (cluster.follower().await, fence(&cluster.submit(acquire(1, "a")).await.response));
    let directory = cluster.settings[&last].directory.clone();
    let in_use = salvage(&directory).unwrap_err().to_string();
    assert!(in_use.contains("in use by another process"), "{in_use}");
    cluster.agree().await;
    for id in 1..=3 {
        cluster.stop(id).await;
    }
    let backup = salvage(&directory).unwrap();
    assert_eq!(salvage(&directory).unwrap(), backup, "it can be done again");
    let contents = examine(&backup).unwrap();
    assert_eq!((contents.sessions, contents.locks), (9, 1));

    let fresh = TemporaryDirectory::new();
    assert!(matches!(salvage(&fresh.0), Err(SalvageError::NoData(_))));
    restore(&fresh.0, 8, "127.0.0.1:0", &backup, None).await.unwrap();
    let node = Node::start(Settings::new(8, &fresh.0, "127.0.0.1:0")).await;
    node.replica.leadership().wait_for(|leadership| leadership.is_here).await.unwrap();
    let kept = node.replica.submit(acquire(1, "a")).await.unwrap().response;
    assert_eq!(fence(&kept), lost, "who held it holds it still");
    let next = fence(&node.replica.submit(acquire(2, "b")).await.unwrap().response);
    assert!(next.number() > lost.number() + (1 << 40), "another generation: {next}");
    node.stop().await;
}

/// The nodes of the old cluster come back, know the restored one by its number and address, and call it. It goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_node_is_not_impressed_by_the_cluster_that_was_lost() {
    let mut cluster = Cluster::three().await;
    cluster.open_sessions(1..=3).await;
    let last = cluster.follower().await;
    let backup = cluster.replica(last).backup();
    cluster.stop(last).await;
    let (fresh, address) = (TemporaryDirectory::new(), cluster.settings[&last].address.clone());
    restore(&fresh.0, last, &address, &backup, None).await.unwrap();
    let node = Node::start(Settings::new(last, &fresh.0, &address)).await;
    node.replica.leadership().wait_for(|leadership| leadership.is_here).await.unwrap();
    let old = cluster.leader().await;
    let refused = Err(Unavailable::Elsewhere { leader: None });
    while cluster.replica(old).ask(last, Bytes::new()).await != refused {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(*node.replica.trouble().borrow(), None);
    node.replica.submit(open(9)).await.unwrap();
    node.stop().await;
}
