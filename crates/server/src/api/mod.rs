//! HTTP and JSON: what curl speaks. The bodies are those of [`quorate_client::contract`].

mod backup;
mod body;
mod elections;
mod events;
mod history;
#[cfg(feature = "hostile")]
pub(crate) mod hostile;
mod listing;
mod locks;
mod openapi;
mod path;
mod problems;
mod routes;
pub(crate) mod same_origin;
mod sessions;
mod status;
mod stream;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bytes::Bytes;
use quorate_client::contract::{self, LONGEST_LABEL, LONGEST_NAME, Problem, Span};

pub use problems::Failure;

use crate::access::Authorised;
use crate::engine::{Cluster, Engine};
use crate::machine::{Mode, Name, SessionId};
use crate::telemetry::Telemetry;

/// How long a request that does not wait for a lock may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What people see of a session whose client has not said what it is.
const NAMELESS: &str = "(no label)";

/// What the handlers share: the service, on behalf of whoever makes the request.
#[derive(Debug)]
pub struct Api<E> {
    service: Authorised<E>,
    telemetry: Arc<Telemetry>,
    asked: Arc<stream::Asked>,
    document: Bytes,
}

impl<E> Clone for Api<E> {
    fn clone(&self) -> Api<E> {
        let Api { service, telemetry, asked, document } = self;
        let (service, telemetry, asked) = (service.clone(), Arc::clone(telemetry), Arc::clone(asked));
        Api { service, telemetry, asked, document: document.clone() }
    }
}

/// A handler that takes this is reached only by those who may come at all.
impl<E: Engine> FromRequestParts<Api<E>> for Api<E> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, api: &Api<E>) -> Result<Api<E>, Failure> {
        Ok(Api { service: api.service.of(&parts.headers)?, ..api.clone() })
    }
}

/// The addresses under `/v1`, and those that operators ask.
pub fn routes<E: Engine + Cluster>(service: impl Into<Authorised<E>>, telemetry: Arc<Telemetry>) -> Router {
    let table = routes::table::<E>();
    let (document, asked) = (openapi::document(&table).into(), Arc::new(stream::Asked::new(&telemetry)));
    routes::router(table, &telemetry).with_state(Api { service: service.into(), telemetry, asked, document })
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
    number.ok_or_else(|| Problem::of_field(field, "a session id must be 1 to 16 hexadecimal digits, and not 0").into())
}

fn checked_name(name: String) -> Result<String, Failure> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(Problem::of_field("name", format!("a name must have 1 to {LONGEST_NAME} bytes")).into());
    }
    if name.chars().any(char::is_control) {
        return Err(Problem::of_field("name", "a name must not contain control characters").into());
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
    checked_words("label", label)
}

/// What people call somebody.
fn checked_words(field: &str, words: Option<String>) -> Result<String, Failure> {
    let words = words.unwrap_or_else(|| NAMELESS.into());
    if words.len() > LONGEST_LABEL {
        return Err(Problem::of_field(field, format!("too long: at most {LONGEST_LABEL} bytes are accepted")).into());
    }
    Ok(words)
}

fn checked_ttl(ttl: Option<Span>) -> Result<Duration, Failure> {
    let (shortest, longest) = (contract::SHORTEST_TTL, contract::LONGEST_TTL);
    let ttl = ttl.unwrap_or(contract::DEFAULT_TTL);
    if ttl < shortest || ttl > longest {
        let detail = format!("the TTL must be between {shortest} and {longest}, not {ttl}");
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
            Err(Problem::of_field("mode", format!("the number of permits must be 1 to {}", contract::MOST_PERMITS))
                .into())
        }
    }
}

fn checked_delay(delay: Option<Span>) -> Result<u64, Failure> {
    let (delay, longest) = (delay.unwrap_or(Span::from_millis(0)), contract::LONGEST_DELAY);
    if delay > longest {
        return Err(Problem::of_field("delay", format!("the delay must be at most {longest}, not {delay}")).into());
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
