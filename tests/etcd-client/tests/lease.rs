//! Leases.

use std::time::Duration;

use etcd_client::{Error, LeaseGrantOptions};
use quorate_etcd_client_tests::{Code, LONG, Server, in_time, key, keys, lease, name, refusal, said};
use tokio::time::{Instant, sleep};

fn no_lease() -> (Code, String) {
    said(Code::NotFound, "etcdserver: requested lease not found")
}

#[tokio::test]
async fn a_lease_is_granted_looked_at_and_revoked() {
    let server = Server::start();
    let mut client = server.client().await;
    let granted = client.lease_grant(60, None).await.unwrap();
    assert!(granted.id() > 0);
    assert_eq!((granted.ttl(), granted.error()), (60, ""));
    let header = granted.header().unwrap();
    assert!(header.revision() > 0);
    assert!(header.raft_term() > 0);

    let left = client.lease_time_to_live(granted.id(), None).await.unwrap();
    assert_eq!((left.id(), left.granted_ttl()), (granted.id(), 60));
    assert!((50..=60).contains(&left.ttl()), "{}", left.ttl());
    assert!(left.keys().is_empty());
    let listed = client.leases().await.unwrap();
    assert!(listed.leases().iter().any(|lease| lease.id() == granted.id()));

    let revoked = client.lease_revoke(granted.id()).await.unwrap();
    assert!(revoked.header().unwrap().revision() > granted.header().unwrap().revision());
    assert_eq!(client.lease_time_to_live(granted.id(), None).await.unwrap().ttl(), -1);
    assert_eq!(refusal(client.lease_revoke(granted.id()).await), no_lease());
    let listed = client.leases().await.unwrap();
    assert!(listed.leases().iter().all(|lease| lease.id() != granted.id()));
}

#[tokio::test]
async fn a_lease_has_the_number_that_is_asked_for_once() {
    let server = Server::start();
    let mut client = server.client().await;
    let id = lease(&mut client).await;
    client.lease_revoke(id).await.unwrap();
    let numbered = Some(LeaseGrantOptions::new().with_id(id));
    assert_eq!(client.lease_grant(60, numbered.clone()).await.unwrap().id(), id);
    let exists = said(Code::FailedPrecondition, "etcdserver: lease already exists");
    assert_eq!(refusal(client.lease_grant(60, numbered).await), exists);
    let negative = Some(LeaseGrantOptions::new().with_id(-5));
    assert_eq!(refusal(client.lease_grant(60, negative).await).0, Code::InvalidArgument);
}

#[tokio::test]
async fn a_lease_lasts_from_a_second_to_nine_billion() {
    let server = Server::start();
    let mut client = server.client().await;
    for too_short in [0, -1, i64::MIN] {
        assert_eq!(client.lease_grant(too_short, None).await.unwrap().ttl(), 1);
    }
    let longest = client.lease_grant(9_000_000_000, None).await.unwrap();
    assert_eq!(client.lease_time_to_live(longest.id(), None).await.unwrap().granted_ttl(), 9_000_000_000);
    client.lease_revoke(longest.id()).await.unwrap();
    let too_large = said(Code::OutOfRange, "etcdserver: too large lease TTL");
    assert_eq!(refusal(client.lease_grant(9_000_000_001, None).await), too_large);
    assert_eq!(refusal(client.lease_grant(i64::MAX, None).await), too_large);
}

#[tokio::test]
async fn a_lease_lives_for_as_long_as_it_is_kept_alive() {
    let server = Server::start();
    let mut client = server.client().await;
    let id = client.lease_grant(1, None).await.unwrap().id();
    let (mut keeper, mut answers) = client.lease_keep_alive(id).await.unwrap();
    for _ in 0..8 {
        sleep(Duration::from_millis(300)).await;
        keeper.keep_alive().await.unwrap();
        let answer = in_time(answers.message()).await.unwrap().unwrap();
        assert_eq!((answer.id(), answer.ttl()), (id, 1));
        assert!(answer.header().unwrap().revision() > 0);
    }
    let began = Instant::now();
    while client.lease_time_to_live(id, None).await.unwrap().ttl() >= 0 {
        assert!(began.elapsed() < LONG);
        sleep(Duration::from_millis(20)).await;
    }
    assert!(began.elapsed() > Duration::from_millis(500), "it has its full time after the last renewal");
    // The same stream says that it is gone.
    keeper.keep_alive().await.unwrap();
    assert_eq!(in_time(answers.message()).await.unwrap().unwrap().ttl(), 0);
}

#[tokio::test]
async fn what_is_no_lease_is_neither_kept_alive_nor_found() {
    let server = Server::start();
    let mut client = server.client().await;
    for id in [0, -1, i64::MIN, i64::MAX] {
        let kept = in_time(client.lease_keep_alive(id)).await;
        assert!(matches!(kept, Err(Error::LeaseKeepAliveError(text)) if text == "lease not found"));
        let left = client.lease_time_to_live(id, None).await.unwrap();
        assert_eq!((left.id(), left.ttl(), left.granted_ttl()), (id, -1, 0));
        assert_eq!(refusal(client.lease_revoke(id).await), no_lease());
    }
}

#[tokio::test]
async fn a_lease_shows_what_it_holds_and_awaits() {
    let server = Server::start();
    let mut client = server.client().await;
    let (mine, yours) = (lease(&mut client).await, lease(&mut client).await);
    let (held, awaited) = (name("held"), name("awaited"));
    let lock = |name: &str, lease| (name.to_string(), Some(etcd_client::LockOptions::new().with_lease(lease)));
    let (text, options) = lock(&held, mine);
    client.lock(text, options).await.unwrap();
    let (text, options) = lock(&awaited, yours);
    client.lock(text, options).await.unwrap();
    let mut waiting = client.clone();
    let (text, options) = lock(&awaited, mine);
    let waiter = tokio::spawn(async move { waiting.lock(text, options).await });
    quorate_etcd_client_tests::until_places(&mut client, mine, 2).await;
    let mut expected = vec![key(&awaited, mine), key(&held, mine)];
    expected.sort();
    let mut shown = keys(&mut client, mine).await;
    shown.sort();
    assert_eq!(shown, expected);
    assert!(client.lease_time_to_live(mine, None).await.unwrap().keys().is_empty());
    waiter.abort();
}
