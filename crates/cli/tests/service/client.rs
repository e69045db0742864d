//! The client library: what is dropped is given back, and what waits holds up nothing.

use std::time::Duration;

use quorate_client::contract::ProblemKind;
use quorate_client::contract::stream::MOST_STANDING;
use quorate_client::{Client, Session};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::{Directory, Served, eventually};

const A_MINUTE: Duration = Duration::from_secs(60);

async fn session(node: &Served) -> Session {
    Client::new([&*node.address]).unwrap().session().ttl(A_MINUTE).open().await.unwrap()
}

fn waiting(node: &Served, name: &str) -> u64 {
    node.get(&format!("/v1/locks/{name}")).1["waiting"].as_u64().unwrap()
}

fn holders(node: &Served, name: &str) -> usize {
    node.get(&format!("/v1/locks/{name}")).1["holders"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stops_waiting_leaves_the_line() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let (holder, waiter) = (session(&node).await, session(&node).await);
    let held = holder.lock("a").acquire().await.unwrap();
    let request = waiter.lock("a");
    let waits = tokio::spawn(async move { request.acquire().await.map(|guard| guard.fence()) });
    eventually("the wait", || (waiting(&node, "a") == 1).then_some(()));
    waits.abort();
    eventually("the end of it", || (waiting(&node, "a") == 0).then_some(()));
    // Nor does it lose what somebody else of its session holds.
    let mine = waiter.lock("b").acquire().await.unwrap();
    assert!(timeout(Duration::from_millis(100), waiter.lock("b").acquire()).await.is_err());
    held.release().await.unwrap();
    let next = timeout(A_MINUTE, waiter.lock("a").acquire()).await.unwrap().unwrap();
    assert_eq!((holders(&node, "a"), holders(&node, "b")), (1, 1));
    drop((next, mine));
}

/// However early it stops: before its request has been sent, on its way, or after the grant.
#[tokio::test(flavor = "multi_thread")]
async fn whenever_somebody_stops_waiting_nothing_stays_behind() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let session = session(&node).await;
    for attempt in 0..100 {
        let request = session.lock("a");
        // If it was granted in time, it is dropped here.
        let _ = timeout(Duration::from_micros(20 * attempt), request.acquire()).await;
    }
    eventually("nobody", || (holders(&node, "a") == 0 && waiting(&node, "a") == 0).then_some(()));
    session.lock("a").acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_is_given_back_wherever_that_happens() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let session = session(&node).await;
    let guard = session.lock("a").acquire().await.unwrap();
    std::thread::spawn(move || drop(guard)).join().unwrap();
    eventually("the release", || (holders(&node, "a") == 0).then_some(()));
    let guard = session.lock("a").acquire().await.unwrap();
    // Whoever stops to wait for a release has released all the same.
    let _ = timeout(Duration::ZERO, guard.release()).await;
    eventually("the release", || (holders(&node, "a") == 0).then_some(()));
    std::thread::spawn(move || drop(session)).join().unwrap();
    let sessions = || node.get("/v1/sessions").1.as_array().unwrap().len();
    eventually("the end of the session", || (sessions() == 0).then_some(()));
}

/// A session that waits for as much as it may is renewed and releases all the same; more is refused.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_holds_up_nothing_and_has_a_bound() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let client = Client::new([&*node.address]).unwrap();
    let (holder, crowd) = (session(&node).await, client.session().ttl(Duration::from_secs(9)).open().await.unwrap());
    let mine = crowd.lock("mine").acquire().await.unwrap();
    let mut grants = JoinSet::new();
    for number in 0..=MOST_STANDING {
        let request = holder.lock(number.to_string()).wait(Duration::ZERO);
        grants.spawn(async move { request.acquire().await.unwrap() });
    }
    let _held = grants.join_all().await;
    let mut waits = JoinSet::new();
    for number in 0..=MOST_STANDING {
        let request = crowd.lock(number.to_string());
        waits.spawn(async move { request.acquire().await.unwrap_err() });
    }
    // All the others wait.
    let refused = waits.join_next().await.unwrap().unwrap();
    assert_eq!(refused.kind(), Some(ProblemKind::TooMany), "{refused}");
    assert!(refused.to_string().contains("10000 requests"), "{refused}");
    let before = crowd.valid_for();
    mine.release().await.unwrap();
    let renewed = async {
        while crowd.valid_for() <= before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(A_MINUTE, renewed).await.expect("it is renewed while it waits");
}
