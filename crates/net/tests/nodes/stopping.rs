//! Nodes that are stopped, and what they say then.

use quorate_net::Refused;

use crate::support::{Group, soon};

/// Whoever asks it to stop finds its port and its directory free afterwards, also who was not the first to ask.
#[tokio::test]
async fn who_is_stopped_twice_has_stopped_both_times() {
    let group = Group::new(3, |config| config);
    let nodes = group.join_all().await;
    drop(soon("they find each other", nodes[0].lock("printer")).await.unwrap());
    let mut node = nodes[0].clone();
    for _ in 0..5 {
        let same = node.clone();
        let first = std::pin::pin!(same.stop());
        assert!(futures_util::poll!(first).is_pending());
        soon("it has stopped", node.stop()).await;
        node = group.join(1).await.expect("nobody has its port, nor its directory");
    }
}

/// Who has stopped does not lead, nor follow; and does not say that somebody else has the turn.
#[tokio::test]
async fn who_has_stopped_says_so_to_whoever_asks() {
    let group = Group::new(3, |config| config);
    let nodes = group.join_all().await;
    let mut leadership = nodes[0].leadership();
    soon("a leader is found", nodes[0].leader()).await.unwrap();
    while leadership.leader().is_none() {
        leadership.changed().await.unwrap();
    }
    let trying = async {
        loop {
            if let Err(refused) = nodes[0].try_lock("printer").await {
                break refused;
            }
        }
    };
    let (refused, ()) = soon("it has stopped", async { tokio::join!(trying, nodes[0].stop()) }).await;
    assert_eq!(refused, Refused::Stopped);
    assert_eq!(leadership.leader(), None);
    assert_eq!(nodes[0].leader().await, Err(Refused::Stopped));
    while let Ok(leader) = leadership.changed().await {
        assert_eq!(leader, None, "nobody is named any more");
    }
}
