//! Engines that take turns, three in one process, and the services on them: what clients of etcd are told, and what
//! becomes of turns that nobody wants any more.

#[path = "../../../tests/ports.rs"]
mod ports;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use futures_util::FutureExt;
use ports::free_addresses;
use prost::Message;
use quorate_server::engine::{Cluster, Engine, Standing};
use quorate_server::etcd::{Calls, Identity};
use quorate_server::machine::{Acquire, Command, Departure, Name, SessionId};
use quorate_server::peer::{PeerEngine, PeerSettings, TurnSettings};
use quorate_server::service::{Desk, NewSession, Service, ServiceError, plain_request};
use quorate_server::telemetry::Telemetry;

const LOCK: &str = "/v3lockpb.Lock/Lock";
const LEADER: &str = "/v3electionpb.Election/Leader";
const CAMPAIGN: &str = "/v3electionpb.Election/Campaign";

/// A request for a lock, or a candidacy without a value, or a question who leads.
#[derive(Clone, PartialEq, Message)]
struct Wish {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
    #[prost(int64, tag = "2")]
    lease: i64,
}

/// The beginning of an answer.
#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
}

#[derive(Clone, PartialEq, Message)]
struct Header {
    #[prost(uint64, tag = "2")]
    member_id: u64,
    #[prost(int64, tag = "3")]
    revision: i64,
}

struct Node {
    service: Arc<Service<PeerEngine>>,
    calls: Arc<Calls<PeerEngine>>,
}

/// Nodes that are gone when the test is, with their data.
struct Group {
    nodes: Vec<Node>,
    data: PathBuf,
}

impl Drop for Group {
    fn drop(&mut self) {
        // What is left is the system's to clean up.
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

impl Group {
    async fn start(algorithm: &str) -> Group {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let data = std::env::temp_dir().join(format!("quorate-peer-{}-{number}", std::process::id()));
        let members: BTreeMap<_, _> = (1..).zip(free_addresses(3)).collect();
        let mut group = Group { nodes: Vec::new(), data };
        for node in 1..=3 {
            let turns = TurnSettings {
                algorithm: algorithm.into(),
                beat: Duration::from_millis(200),
                tolerance: Duration::from_secs(5),
                delay: Duration::from_millis(50),
                ..TurnSettings::default()
            };
            let data = group.data.join(node.to_string());
            let settings = PeerSettings {
                node,
                members: members.clone(),
                listen: None,
                data,
                tls: None,
                is_insecure: false,
                is_forgotten: false,
                trace: None,
                turns,
            };
            group.nodes.push(Node::start(settings).await);
        }
        group
    }

    /// Waits until somebody has got a lock at every node: then all know each other.
    async fn settle(&self) {
        for node in &self.nodes {
            let session = node.session().await;
            node.service.acquire(plain_request(session, Name::lock("begin")), None, soon()).await.unwrap();
            node.service.close(session, soon()).await.unwrap();
        }
    }
}

impl Node {
    async fn start(settings: PeerSettings) -> Node {
        let (desk, number) = (Desk::open(), settings.node);
        let (telemetry, _) = Telemetry::begin();
        let listener = Arc::new((Arc::clone(&desk), Arc::clone(&telemetry)));
        let engine = PeerEngine::start(settings, listener).await.unwrap();
        let service = Service::start(engine, desk);
        let identity = move || Identity { cluster_id: 1, member_id: number };
        let calls = Arc::new(Calls::new(Arc::clone(&service), identity, &telemetry));
        Node { service, calls }
    }

    async fn session(&self) -> SessionId {
        let (label, owner, ttl) = (String::new(), String::new(), Duration::from_secs(60));
        let new = NewSession { number: None, ttl, label, owner, transient: false };
        self.service.open(&new, soon()).await.unwrap().session
    }

    /// Calls a method of etcd's for `name`: who answers and the revision, or the code and the text of a refusal.
    async fn call(&self, path: &str, lease: SessionId) -> Result<(u64, u64), (String, String)> {
        let wish = Wish { name: b"name".to_vec(), lease: lease.number() as i64 }.encode_to_vec();
        let framed = [&[0], (wish.len() as u32).to_be_bytes().as_slice(), &wish].concat();
        let request = Request::post(path).header("content-type", "application/grpc").header("te", "trailers");
        let request = request.body(Body::from(framed)).unwrap();
        let called = Calls::<PeerEngine>::called(request.uri().path()).unwrap();
        let response = Arc::clone(&self.calls).answer(called, request).await;
        let text = |name| response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_string();
        let refused = (text("grpc-status"), text("grpc-message"));
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        if body.len() < 5 {
            return Err(refused);
        }
        let length = u32::from_be_bytes(body[1..5].try_into().unwrap()) as usize;
        let header = Answer::decode(&body[5..5 + length]).unwrap().header.unwrap();
        Ok((header.member_id, header.revision as u64))
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_etcd_at_different_nodes_exclude_each_other_and_revisions_are_fences() {
    let group = Group::start("ricart-agrawala").await;
    let [one, two, three] = &group.nodes[..] else { panic!("three") };
    let (first, second) = (one.session().await, two.session().await);
    let (member, fence) = one.call(LOCK, first).await.unwrap();
    assert_eq!(member, 1);
    assert_eq!(one.service.look(|machine| machine.fence_of(first, &Name::lock("name"))).unwrap().number(), fence);
    let waiting = two.call(LOCK, second);
    tokio::pin!(waiting);
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err(), "one at a time");
    one.service.release(first, 0, Name::lock("name"), None, soon()).await.unwrap();
    let (member, next) = waiting.await.unwrap();
    assert!(member == 2 && next > fence, "{next} comes after {fence}");

    // Who leads is told by the node whose client does, and no other one says that nobody does.
    let candidate = three.session().await;
    three.call(CAMPAIGN, candidate).await.unwrap();
    three.call(LEADER, candidate).await.unwrap();
    let (code, text) = one.call(LEADER, first).await.unwrap_err();
    assert!(code == "12" && text.contains("replicated"), "{code} {text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_nobody_wants_any_more_is_given_back() {
    let group = Group::start("central").await;
    group.settle().await;
    let [one, two, _] = &group.nodes[..] else { panic!("three") };
    let (holder, other, name) = (one.session().await, two.session().await, Name::lock("a"));
    one.service.acquire(plain_request(holder, name.clone()), None, soon()).await.unwrap();

    // Who gives up its place leaves nothing behind, and who does not want to wait is told soon.
    let in_vain = two.service.acquire(plain_request(other, name.clone()), Some(Instant::now()), soon()).await;
    assert_eq!(in_vain, Err(ServiceError::WaitedInVain));
    let tried = Acquire { wait: false, ..plain_request(other, name.clone()) };
    assert_eq!(two.service.acquire(tried.clone(), None, soon()).await, Err(ServiceError::Busy));
    assert_eq!(two.service.look(|machine| machine.places(other).count()), 0);

    // Its session ends, and with it the turn.
    one.service.close(holder, soon()).await.unwrap();
    until("the turn of the other", async || two.service.acquire(tried.clone(), None, soon()).await.is_ok()).await;
    two.service.close(other, soon()).await.unwrap();
    let third = one.session().await;
    one.service.acquire(plain_request(third, name), None, soon()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stops_tells_its_clients_first_and_others_go_on() {
    let group = Group::start("majority").await;
    group.settle().await;
    let [one, two, _] = &group.nodes[..] else { panic!("three") };
    let (holder, name) = (one.session().await, Name::lock("a"));
    let fence = one.service.acquire(plain_request(holder, name.clone()), None, soon()).await.unwrap();
    let mut told = Box::pin(one.service.until_lost(holder, &name, fence));
    assert!((&mut told).now_or_never().is_none(), "it is held");
    one.service.engine().stop().await;
    assert_eq!(told.await, Some(Departure::TurnLost));
    assert!(one.service.engine().submit(Command::Close { session: holder }).await.is_err());
    let Standing::Peer(status) = one.service.engine().standing().await else { panic!("it takes turns") };
    assert!(status.node.is_none() && one.service.engine().trouble().borrow().is_none());
    let other = two.session().await;
    let next = two.service.acquire(plain_request(other, name.clone()), None, soon()).await.unwrap();
    assert!(next > fence);
}
