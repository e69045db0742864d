//! The laboratory in a browser: choose an algorithm and a world, run, look, interfere, and look again.
//!
//! A run is a seed and a list of interventions, and both are in the address of the page: a link shows what one sees.
//! So nothing is kept here. Who clicks "crash" at a moment adds a crash to the address, and the run is made again from
//! its seed; up to that moment it is the same.
//!
//! | module | what it holds |
//! |---|---|
//! | `query` | what an address says, read as a command line is |
//! | `run`, `state` | one run, drawn and measured; a process before and after a step of it |
//! | `check` | every run, with progress while it goes on |
//! | `stream` | how what goes on for a while is told |
//! | `claims` | what the literature claims, judged when somebody asks |
//! | `door` | who is let in: so many connections of one visitor, and so many in all |
//! | `limits`, `turns` | how much one visitor may ask for, and who is next |
//! | `files` | the page itself, which refers to nothing outside |

mod check;
mod claims;
mod door;
mod files;
mod limits;
mod query;
mod run;
mod state;
mod stream;
mod turns;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use claims::CourtRoom;
use limits::Places;
use query::Words;
use turns::Length;

pub use limits::Limits;

/// Where the page is unless told otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7430";

/// Shows the page to whoever comes, until the future that this is is dropped.
pub async fn serve(listener: TcpListener, limits: Limits) -> Infallible {
    door::serve(listener, router(limits), limits).await
}

fn router(limits: Limits) -> Router {
    let room = Room { places: Places::new(limits), court: Arc::new(CourtRoom::open(limits.threads)) };
    files::router()
        .route("/api/catalogue", get(catalogue))
        .route("/api/run", get(run_once))
        .route("/api/state", get(look))
        .route("/api/check", get(explore))
        .route("/api/claims", get(list_claims))
        .route("/api/claim", get(judge))
        .with_state(room)
}

/// What all requests share.
#[derive(Clone)]
struct Room {
    places: Arc<Places>,
    court: Arc<CourtRoom>,
}

/// Why somebody does not get what was asked for, in words.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    /// The question makes no sense, and the text says why.
    #[error("{0}")]
    Question(String),
    /// It is more than one may ask for.
    #[error("{0}")]
    TooMuch(String),
    /// It is too soon.
    #[error("{0}")]
    TooMany(String),
    /// Another page asks.
    #[error("only the laboratory's own page may send requests: open it in the browser")]
    Elsewhere,
    /// Our own mistake.
    #[error("this run failed because of an error in the laboratory itself; other runs are not affected")]
    Broken,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self {
            Refusal::Question(_) | Refusal::TooMuch(_) => StatusCode::BAD_REQUEST,
            Refusal::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Elsewhere => StatusCode::FORBIDDEN,
            Refusal::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, answer(&json!({ "error": self.to_string() }))).into_response()
    }
}

/// A value as an answer that nobody keeps.
fn answer(value: &Value) -> Response {
    let mut response = value.to_string().into_response();
    let fixed = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Who asks. Pages of others, of which a browser tells where they are from, may not.
struct Visitor(IpAddr);

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Visitor, Refusal> {
        let site = parts.headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
            return Err(Refusal::Elsewhere);
        }
        let ConnectInfo(address) =
            ConnectInfo::<SocketAddr>::from_request_parts(parts, state).await.map_err(|_| Refusal::Broken)?;
        Ok(Visitor(address.ip().to_canonical()))
    }
}

type Pairs = Query<Vec<(String, String)>>;

async fn catalogue(State(room): State<Room>, _: Visitor) -> Response {
    answer(&query::catalogue(room.places.limits()))
}

async fn run_once(State(room): State<Room>, visitor: Visitor, pairs: Pairs) -> Result<Response, Refusal> {
    let (words, limits) = (Words::new(pairs.0)?, *room.places.limits());
    let place = room.places.enter(visitor.0)?;
    stream::stream("run", place, Length::Short, move |teller| run::answer(&words, &limits, teller)).await
}

async fn look(State(room): State<Room>, visitor: Visitor, pairs: Pairs) -> Result<Response, Refusal> {
    let words = Words::new(pairs.0)?;
    work(&room, &visitor, move |limits| state::answer(&words, limits)).await
}

async fn explore(State(room): State<Room>, visitor: Visitor, pairs: Pairs) -> Result<Response, Refusal> {
    let asked = check::Asked::new(&Words::new(pairs.0)?, room.places.limits())?;
    let place = room.places.enter(visitor.0)?;
    stream::stream("found", place, Length::Long, move |teller| asked.answer(teller)).await
}

async fn list_claims(_: Visitor) -> Response {
    answer(&claims::list())
}

async fn judge(State(room): State<Room>, visitor: Visitor, pairs: Pairs) -> Result<Response, Refusal> {
    let place = room.places.enter(visitor.0)?;
    let claim = claims::chosen(&Words::new(pairs.0)?)?;
    room.court.judge(claim, place).await.map(|ruling| answer(&ruling))
}

/// Does something that takes a while on a thread of its own, if there is room for it.
async fn work(
    room: &Room,
    visitor: &Visitor,
    task: impl FnOnce(&Limits) -> Result<Value, Refusal> + Send + 'static,
) -> Result<Response, Refusal> {
    let place = room.places.enter(visitor.0)?;
    let turn = place.turn(Length::Short).await;
    let limits = *room.places.limits();
    let done = tokio::task::spawn_blocking(move || {
        let done = task(&limits);
        drop((place, turn));
        done
    });
    done.await.map_err(|_| Refusal::Broken)?.map(|value| answer(&value))
}
