//! Every address: who answers it, and what the document says of it. One table makes the router and the document, so
//! neither has what the other lacks.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use quorate_client::contract::{
    AcquireLock, AddMember, Campaign, Digest, Election, Elections, ForceRelease, Grant, History, Listing, Lock, Locks,
    Member, OpenSession, ProblemKind, Proclaim, ReleaseLock, Renewed, Session, Status, Whoami,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{Api, backup, elections, events, history, locks, openapi, problems, same_origin, sessions, status, stream};
use crate::engine::{Cluster, Engine};
use crate::telemetry::{Results, Row, Telemetry};
use crate::web;

/// The schema of a type, by a generator.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What a request has to say.
#[derive(Clone, Copy)]
pub(super) struct Asks {
    pub(super) schema: SchemaOf,
    pub(super) example: &'static str,
}

/// What is answered if all goes well.
#[derive(Clone, Copy)]
pub(super) enum Answers {
    /// JSON.
    Json(u16, SchemaOf),
    /// Nothing but that it is done.
    Done,
    /// Something else: its media type, and what it is.
    Other(u16, &'static str, &'static str),
}

/// One address with one method.
pub(super) struct Route<E> {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// Its name, in the document and in the figures.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// What may follow the path, after a question mark.
    pub(super) takes: Option<SchemaOf>,
    pub(super) asks: Option<Asks>,
    pub(super) answers: Answers,
    handler: MethodRouter<Api<E>>,
}

impl<E: Engine + Cluster> Route<E> {
    fn new<T: 'static>(
        method: Method,
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        handler: impl Handler<T, Api<E>>,
    ) -> Route<E> {
        let filter = MethodFilter::try_from(method.clone()).expect("the methods of the table are ordinary ones");
        let (takes, asks, answers) = (None, None, Answers::Done);
        Route { method, path, id, summary, takes, asks, answers, handler: on(filter, handler) }
    }

    fn takes<T: JsonSchema>(self) -> Route<E> {
        Route { takes: Some(T::json_schema), ..self }
    }

    fn asks<T: JsonSchema>(self, example: &'static str) -> Route<E> {
        Route { asks: Some(Asks { schema: SchemaGenerator::subschema_for::<T>, example }), ..self }
    }

    fn answers<T: JsonSchema>(self, status: u16) -> Route<E> {
        Route { answers: Answers::Json(status, SchemaGenerator::subschema_for::<T>), ..self }
    }

    fn tells(self, status: u16, media: &'static str, what: &'static str) -> Route<E> {
        Route { answers: Answers::Other(status, media, what), ..self }
    }
}

/// The table. Examples are sent to a node by a test, with a session of its own in place of theirs.
#[rustfmt::skip]
pub(super) fn table<E: Engine + Cluster>() -> Vec<Route<E>> {
    let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
    let events = "text/event-stream";
    vec![
        Route::new(get.clone(), "/v1/sessions", "listSessions", "List sessions", sessions::list::<E>)
            .takes::<Listing>().answers::<Vec<Session>>(200),
        Route::new(post.clone(), "/v1/sessions", "openSession", "Open a session", sessions::open::<E>)
            .asks::<OpenSession>(r#"{"ttl": "30s", "label": "deploy@web1"}"#).answers::<Session>(201),
        Route::new(get.clone(), "/v1/sessions/{session}", "showSession", "Show a session", sessions::show::<E>)
            .answers::<Session>(200),
        Route::new(delete.clone(), "/v1/sessions/{session}", "closeSession",
            "Close a session: its locks are released, and it leaves all queues", sessions::close::<E>),
        Route::new(post.clone(), "/v1/sessions/{session}/renew", "renewSession",
            "Renew a session", sessions::renew::<E>).answers::<Renewed>(200),
        Route::new(get.clone(), "/v1/locks", "listLocks", "List locks", locks::list::<E>)
            .takes::<Listing>().answers::<Locks>(200),
        Route::new(get.clone(), "/v1/locks/{name}", "showLock", "Show a lock: its holders and queue", locks::show::<E>)
            .answers::<Lock>(200),
        Route::new(get.clone(), "/v1/locks/{name}/history", "lockHistory",
            "Show recent events of a lock, as far back as this node keeps them", history::of_lock::<E>)
            .answers::<History>(200),
        Route::new(post.clone(), "/v1/locks/{name}/acquire", "acquireLock",
            "Acquire a lock, waiting in its queue. A request without a session opens one, which is closed on release",
            locks::acquire::<E>)
            .asks::<AcquireLock>(r#"{"ttl": "30s", "wait": "10s", "label": "deploy@web1"}"#).answers::<Grant>(200),
        Route::new(post.clone(), "/v1/locks/{name}/release", "releaseLock", "Release a lock", locks::release::<E>)
            .asks::<ReleaseLock>(r#"{"session": "75878f2a", "request": 2}"#),
        Route::new(post.clone(), "/v1/locks/{name}/withdraw", "withdraw", "Leave the queue of a lock",
            locks::withdraw::<E>)
            .asks::<ReleaseLock>(r#"{"session": "75878f2a"}"#),
        Route::new(post.clone(), "/v1/locks/{name}/force", "forceRelease",
            "Release a lock by force, for operators: it is taken away from all its holders", locks::force::<E>)
            .asks::<ForceRelease>(r#"{"by": "alice"}"#),
        Route::new(get.clone(), "/v1/elections", "listElections", "List elections",
            elections::list::<E>).takes::<Listing>().answers::<Elections>(200),
        Route::new(get.clone(), "/v1/elections/{name}", "showElection", "Show an election: its leader and the number \
             of candidates", elections::show::<E>)
            .answers::<Election>(200),
        Route::new(get.clone(), "/v1/elections/{name}/history", "electionHistory",
            "Show recent events of an election, as far back as this node keeps them", history::of_election::<E>)
            .answers::<History>(200),
        Route::new(post.clone(), "/v1/elections/{name}/campaign", "campaign",
            "Campaign in an election, waiting until it is won", elections::campaign::<E>)
            .asks::<Campaign>(r#"{"value": "10.0.0.1:5432", "ttl": "30s", "wait": "10s"}"#).answers::<Grant>(200),
        Route::new(post.clone(), "/v1/elections/{name}/proclaim", "proclaim",
            "Change the value that the leader publishes", elections::proclaim::<E>)
            .asks::<Proclaim>(r#"{"session": "75878f2a", "fence": 42, "value": "10.0.0.2:5432"}"#),
        Route::new(post.clone(), "/v1/elections/{name}/resign", "resign", "Resign as leader", elections::resign::<E>)
            .asks::<ReleaseLock>(r#"{"session": "75878f2a"}"#),
        Route::new(post.clone(), "/v1/elections/{name}/force", "forceResignation",
            "Remove the leader of an election by force, for operators", elections::force::<E>)
            .asks::<ForceRelease>(r#"{"by": "alice"}"#),
        Route::new(get.clone(), "/v1/elections/{name}/observe", "observe",
            "Follow an election: the leader now and after every change", events::observe::<E>)
            .tells(200, events, "Server-sent events named `leader`; each has the `leader` of the election, or null."),
        Route::new(get.clone(), "/v1/events", "watch", "Follow all events from now on", events::all::<E>)
            .tells(200, events, "Server-sent events, named by their type. `missed` means that the client read too \
                 slowly and events were dropped: it must read the state again."),
        Route::new(get.clone(), "/v1/history", "history",
            "Show recent events, as far back as this node keeps them", history::all::<E>).answers::<History>(200),
        Route::new(get.clone(), "/v1/stream", "stream",
            "Upgrade the connection to the binary protocol of client libraries (`Upgrade: quorate-stream-1`)",
            stream::open::<E>).tells(101, "application/octet-stream", "Frames, as described in the documentation of \
                 quorate_client::contract::stream."),
        Route::new(get.clone(), "/v1/status", "status", "Show the status of this node", status::status::<E>)
            .answers::<Status>(200),
        Route::new(get.clone(), "/v1/whoami", "whoami", "Show the identity and the permissions of the caller",
            status::whoami::<E>)
            .answers::<Whoami>(200),
        Route::new(get.clone(), "/v1/digest", "digest",
            "Show a digest of this node's replicated state, equal on replicas that applied the same index",
            status::digest::<E>).answers::<Digest>(200),
        Route::new(get.clone(), "/v1/members", "listMembers", "List the members of the cluster", status::members::<E>)
            .answers::<Vec<Member>>(200),
        Route::new(post, "/v1/members", "addMember",
            "Add a member; it must already run and wait to be added (`quorate serve --join`)", status::add_member::<E>)
            .asks::<AddMember>(r#"{"node": 4, "address": "10.0.0.4:7420"}"#),
        Route::new(delete, "/v1/members/{node}", "removeMember", "Remove a member", status::remove_member::<E>),
        Route::new(get.clone(), "/v1/backup", "backup",
            "Download a backup of everything that was committed before the request, for `quorate restore`",
            backup::backup::<E>)
            .tells(200, "application/octet-stream", "A binary file with a checksum."),
        Route::new(get.clone(), "/v1/openapi.json", "openapi", "Show this document", openapi::show::<E>)
            .tells(200, "application/json", "An OpenAPI 3.1 document."),
        Route::new(get.clone(), "/metrics", "metrics", "Show metrics for Prometheus", status::metrics::<E>)
            .tells(200, "text/plain", "Metrics in the text format of Prometheus, version 0.0.4."),
        Route::new(get.clone(), "/healthz", "alive", "Check whether the process runs", status::alive)
            .tells(200, "text/plain", "The word `ok`."),
        Route::new(get, "/readyz", "ready",
            "Check whether this node can serve requests. Replicated engine: it knows a leader that a majority has \
             confirmed. Peer engine: it has joined its group and reaches a majority",
            status::ready::<E>)
            .tells(200, "text/plain", "The word `ready`."),
    ]
}

/// The router of a table, and of the page. Every request is counted.
pub(super) fn router<E: Engine + Cluster>(table: Vec<Route<E>>, telemetry: &Telemetry) -> Router<Api<E>> {
    let mut router = Router::new();
    for Route { path, id, handler, .. } in table {
        let row = telemetry.row("http", id, Results::Problems);
        router = router.route(path, handler.route_layer(from_fn_with_state(row, count)));
    }
    let row = telemetry.row("http", "page", Results::Problems);
    router = router.merge(web::router().route_layer(from_fn_with_state(row, count)));
    let router = router.fallback(problems::nothing_here).method_not_allowed_fallback(problems::not_with_this_method);
    router.layer(from_fn(same_origin::guard))
}

async fn count(State(row): State<Arc<Row>>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    row.count(response.extensions().get::<ProblemKind>().copied());
    response
}
