//! Locks.

use std::time::Duration;

use etcd_client::{Client, Error, LockOptions, LockResponse};
use quorate_etcd_client_tests::{
    Code, LONG, SHORT, Server, in_time, key, keys, lease, name, refusal, said, until_places,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

async fn lock(client: &mut Client, name: &str, lease: i64) -> Result<LockResponse, Error> {
    client.lock(name, Some(LockOptions::new().with_lease(lease))).await
}

/// Waits for a lock in a call of its own, and returns when it is in line.
async fn wait_for(client: &mut Client, name: &str, lease: i64) -> JoinHandle<Result<LockResponse, Error>> {
    let (mut waiting, text) = (client.clone(), name.to_string());
    let waiter = tokio::spawn(async move { lock(&mut waiting, &text, lease).await });
    until_places(client, lease, 1).await;
    waiter
}

fn revision(response: &LockResponse) -> i64 {
    response.header().unwrap().revision()
}

fn expired() -> (Code, String) {
    said(Code::Unknown, "mutex: session is expired")
}

#[tokio::test]
async fn a_lock_is_held_until_it_is_unlocked_and_its_revision_grows() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("plain"), lease(&mut client).await, lease(&mut client).await);
    let mut last = 0;
    for lease in [a, b, a] {
        let locked = in_time(lock(&mut client, &name, lease)).await.unwrap();
        assert_eq!(locked.key(), key(&name, lease));
        assert!(revision(&locked) > last);
        last = revision(&locked);
        let unlocked = client.unlock(locked.key()).await.unwrap();
        assert!(unlocked.header().unwrap().revision() > last);
    }
}

#[tokio::test]
async fn the_same_lease_locks_twice_and_unlocks_once() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("twice"), lease(&mut client).await, lease(&mut client).await);
    let first = lock(&mut client, &name, a).await.unwrap();
    let second = in_time(lock(&mut client, &name, a)).await.unwrap();
    assert_eq!(first.key(), second.key());
    assert!(revision(&second) >= revision(&first));
    client.unlock(second.key()).await.unwrap();
    in_time(lock(&mut client, &name, b)).await.unwrap();
}

#[tokio::test]
async fn first_come_first_served() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, holder) = (name("line"), lease(&mut client).await);
    let mut last = lock(&mut client, &name, holder).await.unwrap();
    let mut line = Vec::new();
    for _ in 0..5 {
        let lease = lease(&mut client).await;
        line.push((lease, wait_for(&mut client, &name, lease).await));
    }
    for index in 0..line.len() {
        sleep(Duration::from_millis(30)).await;
        assert!(line[index..].iter().all(|(_, waiter)| !waiter.is_finished()));
        client.unlock(last.key()).await.unwrap();
        let (lease, waiter) = &mut line[index];
        let locked = in_time(waiter).await.unwrap().unwrap();
        assert_eq!(locked.key(), key(&name, *lease));
        assert!(revision(&locked) > revision(&last));
        last = locked;
    }
}

#[tokio::test]
async fn a_lock_is_handed_over_when_its_lease_expires() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, b, c) = (name("expiry"), lease(&mut client).await, lease(&mut client).await);
    let a = client.lease_grant(1, None).await.unwrap().id();
    let lost = lock(&mut client, &name, a).await.unwrap();
    let locked = in_time(lock(&mut client, &name, b)).await.unwrap();
    assert!(revision(&locked) > revision(&lost));
    // Who does not know yet that it has lost the lock unlocks nothing.
    client.unlock(lost.key()).await.unwrap();
    assert!(timeout(SHORT, lock(&mut client, &name, c)).await.is_err());
    let no_lease = said(Code::Unknown, "etcdserver: requested lease not found");
    assert_eq!(refusal(lock(&mut client, &name, a).await), no_lease);
}

#[tokio::test]
async fn who_waits_is_told_when_its_lease_dies() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("dies"), lease(&mut client).await, lease(&mut client).await);
    let held = lock(&mut client, &name, a).await.unwrap();
    let revoked = wait_for(&mut client, &name, b).await;
    client.lease_revoke(b).await.unwrap();
    assert_eq!(refusal(in_time(revoked).await.unwrap()), expired());

    let c = client.lease_grant(1, None).await.unwrap().id();
    let expires = wait_for(&mut client, &name, c).await;
    assert_eq!(refusal(in_time(expires).await.unwrap()), expired());

    let d = lease(&mut client).await;
    let unlocked = wait_for(&mut client, &name, d).await;
    client.unlock(key(&name, d)).await.unwrap();
    assert_eq!(refusal(in_time(unlocked).await.unwrap()), expired());
    client.unlock(held.key()).await.unwrap();
    in_time(lock(&mut client, &name, d)).await.unwrap();
}

#[tokio::test]
async fn who_stops_waiting_leaves_nothing_behind() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("cancelled"), lease(&mut client).await, lease(&mut client).await);
    let held = lock(&mut client, &name, a).await.unwrap();
    let waiter = wait_for(&mut client, &name, b).await;
    waiter.abort();
    until_places(&mut client, b, 0).await;

    // So it is if the connection is lost with all its calls.
    let (mut other, text) = (server.client().await, name.clone());
    let waiter = tokio::spawn(async move { lock(&mut other, &text, b).await });
    until_places(&mut client, b, 1).await;
    waiter.abort();
    until_places(&mut client, b, 0).await;

    let c = lease(&mut client).await;
    client.unlock(held.key()).await.unwrap();
    in_time(lock(&mut client, &name, c)).await.unwrap();
}

/// Whether the grant was on its way when the client hung up, nobody can know. Whatever has come of it, asking again finds
/// it or gets it anew, and nothing that was left behind takes it away afterwards.
#[tokio::test]
async fn a_grant_that_crosses_a_cancellation_is_not_lost() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, b) = (name("crossing"), lease(&mut client).await);
    for round in 0..100 {
        let a = lease(&mut client).await;
        let held = in_time(lock(&mut client, &name, a)).await.unwrap();
        let waiter = wait_for(&mut client, &name, b).await;
        let mut other = client.clone();
        let unlocking = tokio::spawn(async move { other.unlock(held.key()).await });
        sleep(Duration::from_micros(round * 20)).await;
        waiter.abort();
        let again = in_time(lock(&mut client, &name, b)).await.unwrap();
        unlocking.await.unwrap().unwrap();
        sleep(Duration::from_millis(5)).await;
        assert_eq!(keys(&mut client, b).await, [key(&name, b)]);
        client.unlock(again.key()).await.unwrap();
        assert!(keys(&mut client, b).await.is_empty());
        client.lease_revoke(a).await.unwrap();
    }
}

#[tokio::test]
async fn what_one_call_was_told_another_one_does_not_give_up() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("calls"), lease(&mut client).await, lease(&mut client).await);
    let held = lock(&mut client, &name, a).await.unwrap();
    // The same lease asks again, and hangs up.
    for round in 0..20 {
        let (mut other, text) = (client.clone(), name.clone());
        let again = tokio::spawn(async move { lock(&mut other, &text, a).await });
        sleep(Duration::from_micros(round * 100)).await;
        again.abort();
    }
    sleep(SHORT).await;
    assert_eq!(keys(&mut client, a).await, [key(&name, a)]);

    // A client that has lost its connection asks again before anybody has noticed.
    let first = wait_for(&mut client, &name, b).await;
    let (mut other, text) = (client.clone(), name.clone());
    let second = tokio::spawn(async move { lock(&mut other, &text, b).await });
    sleep(SHORT).await;
    first.abort();
    sleep(SHORT).await;
    assert_eq!(keys(&mut client, b).await, [key(&name, b)]);
    client.unlock(held.key()).await.unwrap();
    in_time(second).await.unwrap().unwrap();
    sleep(SHORT).await;
    assert_eq!(keys(&mut client, b).await, [key(&name, b)]);
}

#[tokio::test]
async fn who_asks_again_at_once_gets_a_place_that_stays() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("again"), lease(&mut client).await, lease(&mut client).await);
    let held = lock(&mut client, &name, a).await.unwrap();
    let mut waiter = wait_for(&mut client, &name, b).await;
    for _ in 0..50 {
        waiter.abort();
        let (mut other, text) = (client.clone(), name.clone());
        waiter = tokio::spawn(async move { lock(&mut other, &text, b).await });
        sleep(Duration::from_millis(2)).await;
    }
    sleep(SHORT).await;
    assert!(!waiter.is_finished());
    assert_eq!(keys(&mut client, b).await, [key(&name, b)]);
    client.unlock(held.key()).await.unwrap();
    in_time(waiter).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_lock_without_a_lease_has_a_session_of_its_own() {
    let server = Server::start();
    let mut client = server.client().await;
    let name = name("own");
    let held = client.lock(name.clone(), None).await.unwrap();
    let text = String::from_utf8(held.key().to_vec()).unwrap();
    let (prefix, lease) = text.rsplit_once('/').unwrap();
    assert_eq!(prefix, name);
    let lease = i64::from_str_radix(lease, 16).unwrap();
    assert_eq!(client.lease_time_to_live(lease, None).await.unwrap().granted_ttl(), 60);

    // Whoever waits without a lease and hangs up leaves no session.
    let known: Vec<_> = client.leases().await.unwrap().leases().iter().map(|lease| lease.id()).collect();
    let (mut other, text) = (client.clone(), name.clone());
    let waiter = tokio::spawn(async move { other.lock(text, None).await });
    let began = Instant::now();
    let own = loop {
        let now = client.leases().await.unwrap();
        if let Some(own) = now.leases().iter().find(|lease| !known.contains(&lease.id())) {
            break own.id();
        }
        assert!(began.elapsed() < LONG);
    };
    until_places(&mut client, own, 1).await;
    waiter.abort();
    while client.lease_time_to_live(own, None).await.unwrap().ttl() >= 0 {
        assert!(began.elapsed() < LONG);
    }

    client.unlock(held.key()).await.unwrap();
    assert_eq!(client.lease_time_to_live(lease, None).await.unwrap().ttl(), -1);
}

#[tokio::test]
async fn a_client_that_waits_only_for_so_long_gives_up_its_place() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("deadline"), lease(&mut client).await, lease(&mut client).await);
    lock(&mut client, &name, a).await.unwrap();
    assert!(timeout(SHORT, lock(&mut client, &name, b)).await.is_err());
    until_places(&mut client, b, 0).await;
}

#[tokio::test]
async fn what_cannot_be_locked_is_refused_and_what_is_not_locked_can_be_unlocked() {
    let server = Server::start();
    let mut client = server.client().await;
    let a = lease(&mut client).await;
    let no_lease = said(Code::Unknown, "etcdserver: requested lease not found");
    for unknown in [-1, i64::MIN, i64::MAX] {
        assert_eq!(refusal(lock(&mut client, &name("refused"), unknown).await), no_lease);
    }
    assert_eq!(refusal(lock(&mut client, &"n".repeat(1025), a).await).0, Code::InvalidArgument);
    let options = Some(LockOptions::new().with_lease(a));
    assert_eq!(refusal(client.lock(vec![0xff], options.clone()).await).0, Code::InvalidArgument);
    assert_eq!(refusal(client.lock(vec![b'n'; 1 << 20], options).await).0, Code::OutOfRange);
    let longest = lock(&mut client, &"n".repeat(1024), a).await.unwrap();
    client.unlock(longest.key()).await.unwrap();

    assert_eq!(refusal(client.unlock("").await), said(Code::Unknown, "etcdserver: key is not provided"));
    let malformed: [&[u8]; 6] = [b"nobody", b"nobody/", b"nobody/1f", b"nobody/zz", b"\xff/1", b"/"];
    for key in malformed {
        client.unlock(key).await.unwrap();
    }
    client.unlock(key(&name("never"), a)).await.unwrap();
    assert!(keys(&mut client, a).await.is_empty());
}
