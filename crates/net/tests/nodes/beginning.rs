//! How a group begins: nobody is let in by a node that has not met the others, whatever it would begin with.

use std::time::Duration;

use futures_util::future::{join, join_all};
use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_net::{Node, Refused};

use crate::algorithms;
use crate::support::{Group, free_address, soon};

/// While the others may still come, and when they are taken for dead.
const LONG_ENOUGH: Duration = Duration::from_millis(2500);
const TOLERANCE: Duration = Duration::from_millis(1000);

/// Does the same with every algorithm, at the same time. Who is silent for this long is taken for dead.
async fn with_every_algorithm<F: Future<Output = ()>>(tolerance: Duration, what: impl Fn(Group, &'static str) -> F) {
    let beat = Duration::from_millis(100);
    let of = |name| Group::new(3, move |config| config.algorithm(name).beat(beat, tolerance));
    join_all(algorithms().map(|entry| what(of(entry.name), entry.name))).await;
}

async fn lets_nobody_in(node: &Node, algorithm: &str) {
    let guard = node.lock_timeout("printer", LONG_ENOUGH).await;
    assert!(matches!(guard, Ok(None)), "{algorithm}: {guard:?}");
}

#[tokio::test]
async fn who_starts_alone_lets_nobody_in_before_it_has_met_a_majority() {
    with_every_algorithm(TOLERANCE, |group, algorithm| async move {
        let first = group.join(1).await.unwrap();
        lets_nobody_in(&first, algorithm).await;
        assert_eq!(first.status().await.unwrap().leader, None, "{algorithm}");
        let second = group.join(2).await.unwrap();
        let fence = soon("two of three are there", first.lock("printer")).await.unwrap().fence();
        // The others have begun without it.
        let third = group.join(3).await.unwrap();
        for node in [&third, &second, &first] {
            let guard = soon(algorithm, node.lock("printer")).await.unwrap();
            assert!(guard.fence() > fence, "{algorithm}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_second_one_with_the_same_number_lets_nobody_in() {
    with_every_algorithm(TOLERANCE, |group, algorithm| async move {
        let nodes = group.join_all().await;
        let guard = soon(algorithm, nodes[1].lock("printer")).await.unwrap();
        let twin = group.config(1).listen(free_address()).data(group.scratch("twin"));
        let twin = Node::join(twin).await.unwrap();
        lets_nobody_in(&twin, algorithm).await;
        assert!(!guard.is_lost(), "{algorithm}");
        let fence = guard.fence();
        drop(guard);
        assert!(soon(algorithm, nodes[0].lock("printer")).await.unwrap().fence() > fence, "{algorithm}");
    })
    .await;
}

#[tokio::test]
async fn who_has_lost_its_directory_leaves_and_is_let_in_nowhere() {
    with_every_algorithm(TOLERANCE, |group, algorithm| async move {
        let nodes = group.join_all().await;
        let guard = soon(algorithm, nodes[1].lock("printer")).await.unwrap();
        nodes[0].stop().await;
        std::fs::remove_dir_all(group.scratch("1")).unwrap();
        let unaware = group.join(1).await.unwrap();
        let refused = soon(algorithm, unaware.lock("printer")).await;
        assert!(matches!(refused, Err(Refused::Stopped)), "{algorithm}: {refused:?}");
        assert!(unaware.trouble().is_some_and(|why| why.contains("rejected it")), "{algorithm}");
        let fence = guard.fence();
        drop(guard);
        assert!(soon(algorithm, nodes[2].lock("printer")).await.unwrap().fence() > fence, "{algorithm}");
    })
    .await;
}

/// All begin together if nobody waits too long, so that nothing has to be found out by asking.
#[tokio::test]
async fn all_begin_their_first_life_together() {
    with_every_algorithm(Duration::from_secs(60), |group, algorithm| async move {
        let nodes = group.join_all().await;
        drop(soon(algorithm, nodes[0].lock("printer")).await.unwrap());
        tokio::time::sleep(Duration::from_millis(50)).await;
        for node in nodes {
            let sent = node.status().await.unwrap().sent;
            assert!(sent.contains_key("agreed") && !sent.contains_key("late"), "{algorithm}: {sent:?}");
            assert!(!sent.contains_key("welcome") && !sent.contains_key("inquire"), "{algorithm}: {sent:?}");
        }
    })
    .await;
}

/// Who does not take part keeps what it is told until it does; what is only observed, as one number.
#[tokio::test]
async fn what_is_observed_before_the_beginning_comes_before_what_is_asked_for() {
    let of_the_other = |node: &Node| {
        let node = node.clone();
        async move { node.status().await.unwrap().awaited }
    };
    let long = Duration::from_secs(60);
    let group = Group::new(2, move |config| config.algorithm("ricart-agrawala").beat(Duration::from_millis(100), long));
    let number = |number: u64| Number::try_from(number).unwrap();
    let first = group.join(1).await.unwrap();
    assert_eq!(of_the_other(&first).await, Some(vec![Id::new(2)]));
    for seen in [7000, 9000, 8000] {
        first.observe(number(seen)).unwrap();
    }
    assert_eq!(first.stamp().await.unwrap(), number(9000));
    let (guard, second) = soon("both have begun", join(first.lock("printer"), group.join(2))).await;
    let (guard, second) = (guard.unwrap(), second.unwrap());
    // A fence has the number of the request above that of the process.
    assert!(guard.fence().get() > 9000 << 14, "{}", guard.fence());
    assert!(first.stamp().await.unwrap() > number(9000));
    drop(soon("the other has begun as well", second.lock("scanner")).await.unwrap());
    assert_eq!([of_the_other(&first).await, of_the_other(&second).await], [None, None]);
}
