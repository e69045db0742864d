//! HTTP and JSON: what curl speaks. The bodies are those of [`quorate_client::contract`].

mod body;
mod elections;
mod events;
mod locks;
mod problems;
mod sessions;
mod status;
mod stream;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::{get, post};
use quorate_client::contract::{self, LONGEST_LABEL, LONGEST_NAME, Problem, Span};

pub use problems::Failure;

use crate::engine::{Cluster, Engine};
use crate::machine::{Mode, Name, SessionId};
use crate::service::Service;

/// How long a request that does not wait for a lock may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What people see of a session whose client has not said what it is.
const NAMELESS: &str = "somebody without a label";

/// What the handlers share.
#[derive(Debug)]
pub struct Api<E> {
    service: Arc<Service<E>>,
}

impl<E> Clone for Api<E> {
    fn clone(&self) -> Api<E> {
        Api { service: Arc::clone(&self.service) }
    }
}

/// The addresses under `/v1`, and those that operators ask.
pub fn routes<E: Engine + Cluster>(service: Arc<Service<E>>) -> Router {
    Router::new()
        .route("/v1/sessions", get(sessions::list::<E>).post(sessions::open::<E>))
        .route("/v1/sessions/{session}", get(sessions::show::<E>).delete(sessions::close::<E>))
        .route("/v1/sessions/{session}/renew", post(sessions::renew::<E>))
        .route("/v1/locks", get(locks::list::<E>))
        .route("/v1/locks/{name}", get(locks::show::<E>))
        .route("/v1/locks/{name}/acquire", post(locks::acquire::<E>))
        .route("/v1/locks/{name}/release", post(locks::release::<E>))
        .route("/v1/locks/{name}/withdraw", post(locks::withdraw::<E>))
        .route("/v1/locks/{name}/force", post(locks::force::<E>))
        .route("/v1/elections/{name}", get(elections::show::<E>))
        .route("/v1/elections/{name}/campaign", post(elections::campaign::<E>))
        .route("/v1/elections/{name}/proclaim", post(elections::proclaim::<E>))
        .route("/v1/elections/{name}/resign", post(elections::resign::<E>))
        .route("/v1/elections/{name}/observe", get(events::observe::<E>))
        .route("/v1/events", get(events::all::<E>))
        .route("/v1/stream", get(stream::open::<E>))
        .route("/v1/status", get(status::status::<E>))
        .route("/v1/digest", get(status::digest::<E>))
        .route("/v1/members", get(status::members::<E>).post(status::add_member::<E>))
        .route("/v1/members/{node}", axum::routing::delete(status::remove_member::<E>))
        .route("/healthz", get(status::alive))
        .route("/readyz", get(status::ready::<E>))
        .fallback(problems::nothing_here)
        .method_not_allowed_fallback(problems::not_with_this_method)
        .with_state(Api { service })
}

/// When a wait ends. One that would outlast the clock does not end.
fn end_of(wait: Option<Span>) -> Option<Instant> {
    wait.and_then(|wait| Instant::now().checked_add(wait.duration()))
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

fn session_id(field: &str, text: &str) -> Result<SessionId, Failure> {
    let number = u64::from_str_radix(text, 16).ok().filter(|_| text.len() <= 16).and_then(SessionId::new);
    number.ok_or_else(|| Problem::of_field(field, "a session's number is 1 to 16 hexadecimal digits").into())
}

fn checked_name(name: String) -> Result<String, Failure> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(Problem::of_field("name", format!("a name has 1 to {LONGEST_NAME} bytes")).into());
    }
    if name.chars().any(char::is_control) {
        return Err(Problem::of_field("name", "a name has no control characters").into());
    }
    Ok(name)
}

fn lock_name(name: String) -> Result<Name, Failure> {
    checked_name(name).map(Name::lock)
}

fn election_name(name: String) -> Result<Name, Failure> {
    checked_name(name).map(Name::election)
}

fn checked_label(label: Option<String>) -> Result<String, Failure> {
    let label = label.unwrap_or_else(|| NAMELESS.into());
    if label.len() > LONGEST_LABEL {
        return Err(Problem::of_field("label", format!("a label has at most {LONGEST_LABEL} bytes")).into());
    }
    Ok(label)
}

fn checked_ttl(ttl: Option<Span>) -> Result<Duration, Failure> {
    let (shortest, longest) = (contract::SHORTEST_TTL, contract::LONGEST_TTL);
    let ttl = ttl.unwrap_or(contract::DEFAULT_TTL);
    if ttl < shortest || ttl > longest {
        let detail = format!("a session lasts from {shortest} to {longest} without renewal, not {ttl}");
        return Err(Problem::of_field("ttl", detail).into());
    }
    Ok(ttl.duration())
}

fn checked_mode(mode: contract::Mode) -> Result<Mode, Failure> {
    match mode {
        contract::Mode::Exclusive => Ok(Mode::Exclusive),
        contract::Mode::Shared => Ok(Mode::Shared),
        contract::Mode::Permits(of) if (1..=contract::MOST_PERMITS).contains(&of) => Ok(Mode::Permit { of }),
        contract::Mode::Permits(_) => {
            Err(Problem::of_field("mode", format!("there are 1 to {} permits", contract::MOST_PERMITS)).into())
        }
    }
}

fn checked_delay(delay: Option<Span>) -> Result<u64, Failure> {
    let (delay, longest) = (delay.unwrap_or(Span::from_millis(0)), contract::LONGEST_DELAY);
    if delay > longest {
        return Err(Problem::of_field("delay", format!("a delay takes at most {longest}, not {delay}")).into());
    }
    Ok(delay.as_millis())
}

fn shown_mode(mode: Mode) -> contract::Mode {
    match mode {
        Mode::Exclusive => contract::Mode::Exclusive,
        Mode::Shared => contract::Mode::Shared,
        Mode::Permit { of } => contract::Mode::Permits(of),
    }
}

/// What the calendar shows, in milliseconds since 1970.
fn calendar_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
