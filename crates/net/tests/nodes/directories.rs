//! Directories that are lost, old, or somebody else's: what a node has promised is in its directory, or nowhere.

use quorate_net::{Node, Refused};

use crate::support::{Group, free_address, soon};

#[tokio::test]
async fn who_has_lost_its_directory_is_refused_until_it_says_so() {
    let group = Group::new(3, |config| config);
    let nodes = group.join_all().await;
    drop(soon("they find each other", nodes[0].lock("printer")).await.unwrap());
    nodes[0].stop().await;
    std::fs::remove_dir_all(group.scratch("1")).unwrap();
    let unaware = group.join(1).await.unwrap();
    assert_eq!(soon("it leaves by itself", unaware.lock("printer")).await.unwrap_err(), Refused::Stopped);
    let trouble = unaware.trouble().expect("it says why");
    assert!(
        trouble.contains("because node ") && trouble.contains("is lost, start it once with `Config::forgotten`"),
        "{trouble}"
    );
    // Nor does it help to start it again and again, until its life has a number that is large enough.
    for _ in 0..3 {
        let refused = group.join(1).await.expect_err("what it promised it does not know any better").to_string();
        assert!(refused.ends_with(&*trouble), "{refused}");
    }
    let aware = Node::join(group.config(1).forgotten()).await.unwrap();
    drop(soon("it is back", aware.lock("printer")).await.unwrap());
    assert_eq!(aware.trouble(), None);
}

/// Who was restarted has heard of no former lives: it would take the one without its directory for a member, and wait
/// for it, while the others do not talk with it.
#[tokio::test]
async fn who_has_lost_its_directory_keeps_nobody_waiting_who_does_not_know_it() {
    let group = Group::new(3, |config| config);
    let mut nodes = group.join_all().await;
    for node in &nodes {
        drop(soon("they find each other", node.lock("printer")).await.unwrap());
    }
    nodes[0].stop().await;
    nodes[2].stop().await;
    std::fs::remove_dir_all(group.scratch("3")).unwrap();
    nodes[0] = Node::join(group.config(1).forgotten()).await.unwrap();
    nodes[2] = group.join(3).await.unwrap();
    for node in &nodes[..2] {
        drop(soon("those who know what they promised go on", node.lock("printer")).await.unwrap());
    }
    soon("the other has left", async { while nodes[2].leadership().changed().await.is_ok() {} }).await;
    let trouble = nodes[2].trouble().expect("it says why");
    assert!(trouble.contains("because node 2 rejected it"), "{trouble}");
}

/// What was written after the copy was made is missing, however many lives it begins.
#[tokio::test]
async fn a_copy_of_a_directory_is_no_directory() {
    let group = Group::new(3, |config| config);
    let mut nodes = group.join_all().await;
    drop(soon("they find each other", nodes[2].lock("printer")).await.unwrap());
    nodes[2].stop().await;
    std::fs::create_dir(group.scratch("copy")).unwrap();
    std::fs::copy(group.scratch("3/state"), group.scratch("copy/state")).unwrap();
    for _ in 0..2 {
        nodes[2] = group.join(3).await.unwrap();
        drop(soon("it is back", nodes[2].lock("printer")).await.unwrap());
        nodes[2].stop().await;
    }
    std::fs::copy(group.scratch("copy/state"), group.scratch("3/state")).unwrap();
    let copied = group.join(3).await.unwrap();
    assert_eq!(soon("it leaves by itself", copied.lock("printer")).await.unwrap_err(), Refused::Stopped);
    for _ in 0..3 {
        assert!(group.join(3).await.is_err(), "it was told already");
    }
    let aware = Node::join(group.config(3).forgotten()).await.unwrap();
    drop(soon("it is back", aware.lock("printer")).await.unwrap());
}

/// Who was restarted has met the wrong directory only, and knows nothing else of that node. So the right one does not
/// know what the wrong one may have promised, and somebody has to say that this is known.
#[tokio::test]
async fn the_right_directory_comes_back_after_a_wrong_one_if_somebody_says_so() {
    let group = Group::new(3, |config| config);
    let mut nodes = group.join_all().await;
    drop(soon("they find each other", nodes[2].lock("printer")).await.unwrap());
    nodes[2].stop().await;
    nodes[0].stop().await;
    nodes[0] = group.join(1).await.unwrap();
    drop(soon("it is back", nodes[0].lock("printer")).await.unwrap());
    // It reaches the first one only, and has met it before the other one finds it.
    let elsewhere = vec![group.members()[0].clone(), free_address(), group.members()[2].clone()];
    let wrong = Node::join(group.config_among(3, elsewhere).data(group.scratch("wrong"))).await.unwrap();
    soon("it leaves", async { while wrong.leadership().changed().await.is_ok() {} }).await;
    assert!(wrong.trouble().expect("it says why").contains("because node 2 rejected it"));
    let right = group.join(3).await.unwrap();
    soon("it leaves, too", async { while right.leadership().changed().await.is_ok() {} }).await;
    let trouble = right.trouble().expect("it says why");
    assert!(
        trouble.contains("because node 1 rejected it") && trouble.contains("uses another data directory"),
        "{trouble}"
    );
    let aware = Node::join(group.config(3).forgotten()).await.unwrap();
    for node in [&aware, &nodes[0], &nodes[1]] {
        drop(soon("all go on", node.lock("printer")).await.unwrap());
    }
}
