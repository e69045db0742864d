//! What no client of etcd can bring about: answers that are never read, leases that die at the last moment, clusters
//! without a leader. What clients see is tested by one, in `tests/etcd-client`.

#[path = "support/in_memory.rs"]
mod in_memory;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use futures_util::FutureExt;
use in_memory::InMemory;
use prost::Message;
use quorate_server::engine::Leadership;
use quorate_server::etcd::{Calls, Identity};
use quorate_server::machine::{Command, Fence, Name, SessionId};
use quorate_server::service::{NewSession, Service, plain_request};
use quorate_server::telemetry::Telemetry;

/// A request for a lock, or a candidacy without a value.
#[derive(Clone, PartialEq, Message)]
struct Wish {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
    #[prost(int64, tag = "2")]
    lease: i64,
}

const LOCK: &str = "/v3lockpb.Lock/Lock";
const CAMPAIGN: &str = "/v3electionpb.Election/Campaign";
const LEADER: &str = "/v3electionpb.Election/Leader";

struct Node {
    service: Arc<Service<InMemory>>,
    calls: Arc<Calls<InMemory>>,
}

impl Node {
    fn start() -> Node {
        Node::of(InMemory::serve())
    }

    /// Another one of the same cluster.
    fn beside(&self) -> Node {
        Node::of(Arc::clone(&self.service))
    }

    fn of(service: Arc<Service<InMemory>>) -> Node {
        let (telemetry, _) = Telemetry::begin();
        let calls = Calls::new(Arc::clone(&service), || Identity { cluster_id: 1, member_id: 1 }, &telemetry);
        Node { service, calls: Arc::new(calls) }
    }

    async fn session(&self) -> SessionId {
        let (label, owner, ttl) = (String::new(), String::new(), Duration::from_secs(60));
        let new = NewSession { number: None, ttl, label, owner, transient: false };
        self.service.open(&new, soon()).await.unwrap().session
    }

    /// A lock that somebody holds, and who.
    async fn held(&self, name: &Name) -> SessionId {
        let holder = self.session().await;
        self.service.acquire(plain_request(holder, name.clone()), None, soon()).await.unwrap();
        holder
    }

    async fn release(&self, session: SessionId, name: &Name) {
        self.service.release(session, 0, name.clone(), None, soon()).await.unwrap();
    }

    fn fence_of(&self, session: SessionId, name: &Name) -> Option<Fence> {
        self.service.look(|machine| machine.fence_of(session, name))
    }

    fn places(&self, session: SessionId) -> usize {
        self.service.look(|machine| machine.places(session).count())
    }

    async fn until_places(&self, session: SessionId, places: usize) {
        let began = Instant::now();
        while self.places(session) != places {
            assert!(began.elapsed() < Duration::from_secs(5), "there never were {places} places");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Calls a method for `name`, with one thing to say besides.
    fn call(
        &self,
        path: &str,
        session: SessionId,
        said: (&str, &str),
    ) -> impl Future<Output = Response<Body>> + Send + 'static {
        let wish = Wish { name: b"name".to_vec(), lease: session.number() as i64 }.encode_to_vec();
        let framed = [&[0], (wish.len() as u32).to_be_bytes().as_slice(), &wish].concat();
        let request = Request::post(path).header("content-type", "application/grpc").header("te", "trailers");
        let request = request.header(said.0, said.1).body(Body::from(framed)).unwrap();
        self.answer(request)
    }

    fn answer(&self, request: Request<Body>) -> impl Future<Output = Response<Body>> + Send + 'static {
        let called = Calls::<InMemory>::called(request.uri().path()).unwrap();
        Arc::clone(&self.calls).answer(called, request)
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

/// Nothing in particular.
const NOTHING: (&str, &str) = ("client-api-version", "3.5");

/// The code and the text of an answer that was refused.
fn refusal(response: &Response<Body>) -> (String, String) {
    let text = |name| response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_string();
    (text("grpc-status"), text("grpc-message").replace("%20", " "))
}

fn said(code: &str, text: &str) -> (String, String) {
    (code.to_string(), text.to_string())
}

#[tokio::test]
async fn a_grant_that_could_not_be_told_is_given_up() {
    let (node, name) = (Node::start(), Name::lock("name"));
    let session = node.session().await;
    let unread = node.call(LOCK, session, NOTHING).await;
    assert!(node.fence_of(session, &name).is_some());
    drop(unread);
    node.until_places(session, 0).await;

    // One that was read is kept.
    let read = node.call(LOCK, session, NOTHING).await;
    to_bytes(read.into_body(), 1000).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(node.fence_of(session, &name).is_some());

    // And it is kept if the same session asks again and does not read the answer.
    drop(node.call(LOCK, session, NOTHING).await);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(node.fence_of(session, &name).is_some());
}

#[tokio::test]
async fn a_call_that_is_dropped_at_any_moment_leaves_nothing_behind() {
    let (node, name) = (Node::start(), Name::lock("name"));
    let holder = node.held(&name).await;
    let session = node.session().await;
    let mut call = Box::pin(node.call(LOCK, session, NOTHING));
    assert!((&mut call).now_or_never().is_none());
    assert_eq!(node.places(session), 1);
    drop(call);
    node.until_places(session, 0).await;

    // It is granted, but the call does not get to run any more.
    let mut call = Box::pin(node.call(LOCK, session, NOTHING));
    assert!((&mut call).now_or_never().is_none());
    node.release(holder, &name).await;
    assert!(node.fence_of(session, &name).is_some());
    drop(call);
    node.until_places(session, 0).await;
}

/// A client that was cut off from one node asks another one for the same. When the first one notices, it must not take
/// away what the second one has granted.
#[tokio::test]
async fn what_was_asked_for_again_elsewhere_is_kept() {
    let (node, name) = (Node::start(), Name::lock("name"));
    let other = node.beside();
    let holder = node.held(&name).await;
    let session = node.session().await;
    let mut cut_off = Box::pin(node.call(LOCK, session, NOTHING));
    assert!((&mut cut_off).now_or_never().is_none());
    let again = tokio::spawn(other.call(LOCK, session, NOTHING));
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(cut_off);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(node.places(session), 1);
    node.release(holder, &name).await;
    to_bytes(again.await.unwrap().into_body(), 1000).await.unwrap();
    assert!(node.fence_of(session, &name).is_some());
}

#[tokio::test]
async fn a_lease_that_dies_between_the_grant_and_the_answer_has_not_won() {
    let texts = [
        (LOCK, Name::lock("name"), "mutex: session is expired"),
        (CAMPAIGN, Name::election("name"), "etcdserver: requested lease not found"),
    ];
    for (path, name, text) in texts {
        let node = Node::start();
        let holder = node.held(&name).await;
        let session = node.session().await;
        let call = tokio::spawn(node.call(path, session, NOTHING));
        node.until_places(session, 1).await;
        // The others know already what this node is about to hear.
        node.service.engine().meanwhile.lock().unwrap().push(Command::Expire { session, opened: 0 });
        node.release(holder, &name).await;
        assert_eq!(refusal(&call.await.unwrap()), said("2", text));
    }
}

#[tokio::test]
async fn a_client_that_says_how_long_it_waits_waits_no_longer() {
    let (node, name) = (Node::start(), Name::lock("name"));
    node.held(&name).await;
    let session = node.session().await;
    let response = node.call(LOCK, session, ("grpc-timeout", "50m")).await;
    assert_eq!(refusal(&response), said("4", "context deadline exceeded"));
    node.until_places(session, 0).await;
}

#[tokio::test]
async fn who_requires_a_leader_is_refused_without_one() {
    let node = Node::start();
    let session = node.session().await;
    node.service.engine().leadership.send_replace(Leadership { term: 2, leader: None, is_here: false });
    for path in [LOCK, CAMPAIGN, LEADER] {
        let response = node.call(path, session, ("hasleader", "true")).await;
        assert_eq!(refusal(&response), said("14", "etcdserver: no leader"));
    }
}

#[tokio::test]
async fn what_is_no_message_or_no_method_does_no_harm() {
    let node = Node::start();
    let session = node.session().await;
    assert_eq!(refusal(&node.call("/v3lockpb.Lock/TryLock", session, NOTHING).await).0, "12");
    for framed in [vec![], vec![0], vec![0, 0, 0, 0, 1, 0xff], vec![0, 0xff, 0xff, 0xff, 0xff], vec![9; 100]] {
        let request = Request::post(LOCK).header("content-type", "application/grpc").body(Body::from(framed)).unwrap();
        let response = node.answer(request).await;
        assert_ne!(refusal(&response).0, "0");
    }
    assert_eq!(node.places(session), 0);
}
