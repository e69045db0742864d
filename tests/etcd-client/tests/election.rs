//! Elections.

use etcd_client::{
    CampaignResponse, Client, Error, LeaderKey, LockOptions, ObserveStream, ProclaimOptions, ResignOptions,
};
use quorate_etcd_client_tests::{Code, SHORT, Server, in_time, key, keys, lease, name, refusal, said, until_places};
use tokio::task::JoinHandle;
use tokio::time::timeout;

async fn win(client: &mut Client, name: &str, value: &str, lease: i64) -> LeaderKey {
    in_time(client.campaign(name, value, lease)).await.unwrap().take_leader().unwrap()
}

/// Campaigns in a call of its own, and returns when it is a candidate.
async fn run(client: &mut Client, name: &str, lease: i64) -> JoinHandle<Result<CampaignResponse, Error>> {
    let (mut other, text) = (client.clone(), name.to_string());
    let candidate = tokio::spawn(async move { other.campaign(text, "candidate", lease).await });
    until_places(client, lease, 1).await;
    candidate
}

async fn resign(client: &mut Client, leader: &LeaderKey) {
    client.resign(Some(ResignOptions::new().with_leader(leader.clone()))).await.unwrap();
}

/// What an observer is told next: the leader's value and its fence, or that nobody leads.
async fn next(stream: &mut ObserveStream) -> Option<(String, i64)> {
    let told = in_time(stream.message()).await.unwrap().expect("the stream goes on");
    assert!(told.header().unwrap().revision() > 0);
    told.kv().map(|kv| (kv.value_str().unwrap().to_string(), kv.create_revision()))
}

fn not_leader() -> (Code, String) {
    said(Code::Unknown, "election: not leader")
}

fn no_leader() -> (Code, String) {
    said(Code::Unknown, "election: no leader")
}

fn no_lease() -> (Code, String) {
    said(Code::Unknown, "etcdserver: requested lease not found")
}

#[tokio::test]
async fn a_leader_is_elected_proclaims_and_resigns() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a) = (name("plain"), lease(&mut client).await);
    assert_eq!(refusal(client.leader(name.clone()).await), no_leader());
    let leader = win(&mut client, &name, "one", a).await;
    assert_eq!((leader.name(), leader.key(), leader.lease()), (name.as_bytes(), &*key(&name, a), a));
    assert!(leader.rev() > 0);

    let shown = client.leader(name.clone()).await.unwrap();
    let kv = shown.kv().unwrap();
    assert_eq!((kv.key(), kv.value(), kv.lease()), (leader.key(), b"one".as_slice(), a));
    assert_eq!(kv.create_revision(), leader.rev());
    assert!(kv.version() >= 1 && kv.mod_revision() >= kv.create_revision());

    let options = Some(ProclaimOptions::new().with_leader(leader.clone()));
    let proclaimed = client.proclaim("two", options.clone()).await.unwrap();
    assert!(proclaimed.header().unwrap().revision() > leader.rev());
    assert_eq!(client.leader(name.clone()).await.unwrap().kv().unwrap().value(), b"two");

    resign(&mut client, &leader).await;
    assert_eq!(refusal(client.leader(name.clone()).await), no_leader());
    assert_eq!(refusal(client.proclaim("three", options).await), not_leader());
    // Once more is no error.
    resign(&mut client, &leader).await;
}

#[tokio::test]
async fn who_leads_and_campaigns_again_proclaims() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a) = (name("again"), lease(&mut client).await);
    let first = win(&mut client, &name, "one", a).await;
    let second = win(&mut client, &name, "two", a).await;
    assert_eq!((first.key(), first.rev()), (second.key(), second.rev()));
    assert_eq!(client.leader(name.clone()).await.unwrap().kv().unwrap().value(), b"two");
}

#[tokio::test]
async fn candidates_lead_in_turn_and_a_former_leader_can_do_nothing() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("turns"), lease(&mut client).await, lease(&mut client).await);
    let c = lease(&mut client).await;
    let first = win(&mut client, &name, "one", a).await;
    let (second, third) = (run(&mut client, &name, b).await, run(&mut client, &name, c).await);
    resign(&mut client, &first).await;
    let second = in_time(second).await.unwrap().unwrap().take_leader().unwrap();
    assert!(second.rev() > first.rev());
    assert!(!third.is_finished());

    resign(&mut client, &first).await;
    let options = Some(ProclaimOptions::new().with_leader(first.clone()));
    assert_eq!(refusal(client.proclaim("late", options).await), not_leader());
    let shown = client.leader(name.clone()).await.unwrap();
    assert_eq!((shown.kv().unwrap().lease(), shown.kv().unwrap().value()), (b, b"candidate".as_slice()));

    client.lease_revoke(b).await.unwrap();
    let third = in_time(third).await.unwrap().unwrap().take_leader().unwrap();
    assert!(third.rev() > second.rev());
    // The first leads again: what it was before does not count.
    resign(&mut client, &third).await;
    let again = win(&mut client, &name, "again", a).await;
    assert_eq!(again.key(), first.key());
    resign(&mut client, &first).await;
    assert_eq!(client.leader(name.clone()).await.unwrap().kv().unwrap().create_revision(), again.rev());
}

#[tokio::test]
async fn a_candidate_whose_lease_dies_is_not_told_that_it_was_elected() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("dies"), lease(&mut client).await, lease(&mut client).await);
    let leader = win(&mut client, &name, "one", a).await;
    let revoked = run(&mut client, &name, b).await;
    client.lease_revoke(b).await.unwrap();
    assert_eq!(refusal(in_time(revoked).await.unwrap()), no_lease());
    let c = client.lease_grant(1, None).await.unwrap().id();
    let expires = run(&mut client, &name, c).await;
    assert_eq!(refusal(in_time(expires).await.unwrap()), no_lease());
    resign(&mut client, &leader).await;
    assert_eq!(refusal(client.leader(name.clone()).await), no_leader());
}

#[tokio::test]
async fn who_stops_campaigning_leaves_nothing_behind() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("cancelled"), lease(&mut client).await, lease(&mut client).await);
    let leader = win(&mut client, &name, "one", a).await;
    let candidate = run(&mut client, &name, b).await;
    candidate.abort();
    until_places(&mut client, b, 0).await;
    resign(&mut client, &leader).await;
    assert_eq!(refusal(client.leader(name.clone()).await), no_leader());
}

#[tokio::test]
async fn observers_are_told_who_leads_what_it_says_and_that_nobody_leads() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("observed"), lease(&mut client).await, lease(&mut client).await);
    let mut early = client.observe(name.clone()).await.unwrap();
    assert!(timeout(SHORT, early.message()).await.is_err(), "as long as nobody has led nothing is told");

    let first = win(&mut client, &name, "one", a).await;
    let mut late = client.observe(name.clone()).await.unwrap();
    let options = Some(ProclaimOptions::new().with_leader(first.clone()));
    for stream in [&mut early, &mut late] {
        assert_eq!(next(stream).await, Some(("one".to_string(), first.rev())));
    }
    client.proclaim("two", options).await.unwrap();
    let candidate = run(&mut client, &name, b).await;
    resign(&mut client, &first).await;
    let second = in_time(candidate).await.unwrap().unwrap().take_leader().unwrap();
    client.lease_revoke(b).await.unwrap();
    let third = win(&mut client, &name, "three", a).await;
    for stream in [&mut early, &mut late] {
        assert_eq!(next(stream).await, Some(("two".to_string(), first.rev())));
        assert_eq!(next(stream).await, Some(("candidate".to_string(), second.rev())));
        assert_eq!(next(stream).await, None, "nobody led for a while");
        assert_eq!(next(stream).await, Some(("three".to_string(), third.rev())));
        assert!(timeout(SHORT, stream.message()).await.is_err(), "nothing else has happened");
    }
}

#[tokio::test]
async fn observers_are_told_when_a_leaders_lease_expires() {
    let server = Server::start();
    let mut client = server.client().await;
    let name = name("expires");
    let a = client.lease_grant(1, None).await.unwrap().id();
    let leader = win(&mut client, &name, "one", a).await;
    let mut stream = client.observe(name.clone()).await.unwrap();
    assert_eq!(next(&mut stream).await, Some(("one".to_string(), leader.rev())));
    assert_eq!(next(&mut stream).await, None);
}

#[tokio::test]
async fn locks_and_elections_of_the_same_name_have_nothing_to_do_with_each_other() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a, b) = (name("both"), lease(&mut client).await, lease(&mut client).await);
    win(&mut client, &name, "one", a).await;
    let options = Some(LockOptions::new().with_lease(b));
    let locked = in_time(client.lock(name.clone(), options)).await.unwrap();
    client.unlock(locked.key()).await.unwrap();
    client.unlock(key(&name, a)).await.unwrap();
    assert_eq!(client.leader(name.clone()).await.unwrap().kv().unwrap().lease(), a);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let server = Server::start();
    let mut client = server.client().await;
    let (name, a) = (name("refused"), lease(&mut client).await);
    assert_eq!(refusal(client.campaign(name.clone(), "", -1).await), no_lease());
    assert_eq!(refusal(client.campaign(name.clone(), "", i64::MAX).await), no_lease());
    assert_eq!(refusal(client.campaign("n".repeat(1025), "", a).await).0, Code::InvalidArgument);
    assert_eq!(refusal(client.campaign(vec![0xff], "", a).await).0, Code::InvalidArgument);
    assert_eq!(refusal(client.campaign(name.clone(), vec![0; 65537], a).await).0, Code::InvalidArgument);
    assert_eq!(refusal(client.leader(vec![0xff]).await).0, Code::InvalidArgument);
    assert_eq!(refusal(client.observe(vec![0xff]).await).0, Code::InvalidArgument);
    assert!(keys(&mut client, a).await.is_empty());

    let no_field = said(Code::Unknown, "\"leader\" field must be provided");
    assert_eq!(refusal(client.proclaim("", None).await), no_field);
    assert_eq!(refusal(client.resign(None).await), no_field);
    let no_key = said(Code::Unknown, "etcdserver: key is not provided");
    let empty = LeaderKey::new();
    let proclaim = |leader: &LeaderKey| Some(ProclaimOptions::new().with_leader(leader.clone()));
    assert_eq!(refusal(client.proclaim("", proclaim(&empty)).await), no_key);
    assert_eq!(refusal(client.resign(Some(ResignOptions::new().with_leader(empty))).await), no_key);
    for nonsense in [LeaderKey::new().with_key("nonsense"), LeaderKey::new().with_key("a/1").with_rev(-1)] {
        assert_eq!(refusal(client.proclaim("", proclaim(&nonsense)).await), not_leader());
        resign(&mut client, &nonsense).await;
    }
    let leader = win(&mut client, &name, &"v".repeat(65536), a).await;
    assert_eq!(refusal(client.proclaim(vec![0; 65537], proclaim(&leader)).await).0, Code::InvalidArgument);
}

#[tokio::test]
async fn who_campaigns_without_a_lease_has_a_session_of_its_own() {
    let server = Server::start();
    let mut client = server.client().await;
    let name = name("own");
    let leader = win(&mut client, &name, "one", 0).await;
    assert_eq!(client.lease_time_to_live(leader.lease(), None).await.unwrap().granted_ttl(), 60);
    resign(&mut client, &leader).await;
    assert_eq!(client.lease_time_to_live(leader.lease(), None).await.unwrap().ttl(), -1);
}
