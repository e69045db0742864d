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
        Route::new(get.clone(), "/v1/sessions", "listSessions", "The sessions, or a part of them.", sessions::list::<E>)
            .takes::<Listing>().answers::<Vec<Session>>(200),
        Route::new(post.clone(), "/v1/sessions", "openSession", "Opens a session.", sessions::open::<E>)
            .asks::<OpenSession>(r#"{"ttl": "30s", "label": "deploy@web1"}"#).answers::<Session>(201),
        Route::new(get.clone(), "/v1/sessions/{session}", "showSession", "A session.", sessions::show::<E>)
            .answers::<Session>(200),
        Route::new(delete.clone(), "/v1/sessions/{session}", "closeSession",
            "Closes a session: what it holds is released, and it waits no more.", sessions::close::<E>),
        Route::new(post.clone(), "/v1/sessions/{session}/renew", "renewSession",
            "Gives a session its full time again.", sessions::renew::<E>).answers::<Renewed>(200),
        Route::new(get.clone(), "/v1/locks", "listLocks", "The locks, or a part of them.", locks::list::<E>)
            .takes::<Listing>().answers::<Locks>(200),
        Route::new(get.clone(), "/v1/locks/{name}", "showLock", "Who holds a lock, and who waits.", locks::show::<E>)
            .answers::<Lock>(200),
        Route::new(get.clone(), "/v1/locks/{name}/history", "lockHistory",
            "What has happened to a lock, as far as this node remembers.", history::of_lock::<E>)
            .answers::<History>(200),
        Route::new(post.clone(), "/v1/locks/{name}/acquire", "acquireLock",
            "Asks for a lock, and waits for it. Without a session one is opened, which ends with the lock.",
            locks::acquire::<E>)
            .asks::<AcquireLock>(r#"{"ttl": "30s", "wait": "10s", "label": "deploy@web1"}"#).answers::<Grant>(200),
        Route::new(post.clone(), "/v1/locks/{name}/release", "releaseLock", "Gives back a lock.", locks::release::<E>)
            .asks::<ReleaseLock>(r#"{"session": "75878f2a", "request": 2}"#),
        Route::new(post.clone(), "/v1/locks/{name}/withdraw", "withdraw", "Leaves the line.", locks::withdraw::<E>)
            .asks::<ReleaseLock>(r#"{"session": "75878f2a"}"#),
        Route::new(post.clone(), "/v1/locks/{name}/force", "forceRelease",
            "Takes a lock away from all who hold it, for operators.", locks::force::<E>)
            .asks::<ForceRelease>(r#"{"by": "alice"}"#),
        Route::new(get.clone(), "/v1/elections", "listElections", "The elections, or a part of them.",
            elections::list::<E>).takes::<Listing>().answers::<Elections>(200),
        Route::new(get.clone(), "/v1/elections/{name}", "showElection", "Who leads.", elections::show::<E>)
            .answers::<Election>(200),
        Route::new(get.clone(), "/v1/elections/{name}/history", "electionHistory",
            "What has happened to an election, as far as this node remembers.", history::of_election::<E>)
            .answers::<History>(200),
        Route::new(post.clone(), "/v1/elections/{name}/campaign", "campaign",
            "Asks for leadership, and waits for it.", elections::campaign::<E>)
            .asks::<Campaign>(r#"{"value": "10.0.0.1:5432", "ttl": "30s", "wait": "10s"}"#).answers::<Grant>(200),
        Route::new(post.clone(), "/v1/elections/{name}/proclaim", "proclaim",
            "Changes what a leader has to say.", elections::proclaim::<E>)
            .asks::<Proclaim>(r#"{"session": "75878f2a", "fence": 42, "value": "10.0.0.2:5432"}"#),
        Route::new(post.clone(), "/v1/elections/{name}/resign", "resign", "Steps down.", elections::resign::<E>)
            .asks::<ReleaseLock>(r#"{"session": "75878f2a"}"#),
        Route::new(post.clone(), "/v1/elections/{name}/force", "forceResignation",
            "Takes the lead away from whoever has it, for operators.", elections::force::<E>)
            .asks::<ForceRelease>(r#"{"by": "alice"}"#),
        Route::new(get.clone(), "/v1/elections/{name}/observe", "observe",
            "The leader, now and whenever it changes.", events::observe::<E>)
            .tells(200, events, "Events `leader`, each with a `leader` like that of an election, or null."),
        Route::new(get.clone(), "/v1/events", "watch", "Everything that happens, from now on.", events::all::<E>)
            .tells(200, events, "Events by their names; `missed` means that the client was too slow, and must look."),
        Route::new(get.clone(), "/v1/history", "history",
            "What has happened last, as far as this node remembers.", history::all::<E>).answers::<History>(200),
        Route::new(get.clone(), "/v1/stream", "stream",
            "Turns the connection into a stream, for client libraries: ask with `Upgrade: quorate-stream-1`.",
            stream::open::<E>).tells(101, "application/octet-stream", "Frames, as quorate-client's contract says."),
        Route::new(get.clone(), "/v1/status", "status", "How this node is.", status::status::<E>)
            .answers::<Status>(200),
        Route::new(get.clone(), "/v1/whoami", "whoami", "Who asks, and what that one may do.", status::whoami::<E>)
            .answers::<Whoami>(200),
        Route::new(get.clone(), "/v1/digest", "digest",
            "What this node has become, in one number.", status::digest::<E>).answers::<Digest>(200),
        Route::new(get.clone(), "/v1/members", "listMembers", "The members.", status::members::<E>)
            .answers::<Vec<Member>>(200),
        Route::new(post, "/v1/members", "addMember",
            "Adds a member, which waits for it (`quorate serve --join`).", status::add_member::<E>)
            .asks::<AddMember>(r#"{"node": 4, "address": "10.0.0.4:7420"}"#),
        Route::new(delete, "/v1/members/{node}", "removeMember", "Removes a member.", status::remove_member::<E>),
        Route::new(get.clone(), "/v1/backup", "backup",
            "Everything that was decided before, for `quorate restore`.", backup::backup::<E>)
            .tells(200, "application/octet-stream", "A sealed file, with a checksum."),
        Route::new(get.clone(), "/v1/openapi.json", "openapi", "This document.", openapi::show::<E>)
            .tells(200, "application/json", "OpenAPI 3.1."),
        Route::new(get.clone(), "/metrics", "metrics", "Figures, for Prometheus.", status::metrics::<E>)
            .tells(200, "text/plain", "The text format of Prometheus, 0.0.4."),
        Route::new(get.clone(), "/healthz", "alive", "Whether the process lives.", status::alive)
            .tells(200, "text/plain", "The word ok."),
        Route::new(get, "/readyz", "ready",
            "Whether this node can answer: it knows a leader, which a majority has confirmed, or trusts a majority.",
            status::ready::<E>)
            .tells(200, "text/plain", "The word ready."),
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
