//! The body of a request, read as JSON; what is wrong with it is said by field.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use quorate_client::contract::{LONGEST_BODY, Problem, ProblemKind};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::problems::Failure;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// A body that was understood. No body at all is an empty object.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Body<T>, Response> {
        let bytes = match timeout(PATIENCE, Bytes::from_request(request, state)).await {
            Ok(Ok(bytes)) if bytes.len() <= LONGEST_BODY => bytes,
            Err(_) => {
                let detail = format!("the body did not arrive within {} seconds", PATIENCE.as_secs());
                return Err(Failure::from(Problem::new(ProblemKind::BadRequest, detail)).into_response());
            }
            Ok(Ok(_) | Err(_)) => {
                let detail = format!("the body is longer than {LONGEST_BODY} bytes, or it ended early");
                return Err(Failure::from(Problem::new(ProblemKind::TooLong, detail)).into_response());
            }
        };
        parse(&bytes).map(Body).map_err(|problem| Failure::from(problem).into_response())
    }
}

/// Reads a body, or says which of its fields is wrong.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let bytes = if bytes.iter().all(u8::is_ascii_whitespace) { b"{}" } else { bytes };
    // A list would be read as the fields in their order, which is nobody's business.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::new(ProblemKind::BadRequest, "the body must be a JSON object: { … }"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.inner().to_string());
        // A field that is missing or unknown is named by the reason, not by the path.
        let named = why.split('`').nth(1).filter(|_| why.contains("field `")).map(String::from);
        match named.or((path != "." && path != "?").then_some(path)) {
            Some(field) => Problem::of_field(&field, why),
            None => Problem::new(ProblemKind::BadRequest, format!("malformed JSON in the body: {why}")),
        }
    })?;
    deserializer.end().map_err(|error| {
        Problem::new(
            ProblemKind::BadRequest,
            format!(
                "unexpected characters after the JSON object in the body: \
             {error}"
            ),
        )
    })?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use quorate_client::contract::{AcquireLock, ReleaseLock};

    use super::*;

    #[test]
    fn a_broken_body_names_the_field() {
        let field = |body: &str| parse::<AcquireLock>(body.as_bytes()).unwrap_err().field;
        assert_eq!(field(r#"{"ttl": "soon"}"#).as_deref(), Some("ttl"));
        assert_eq!(field(r#"{"ttl": -1}"#).as_deref(), Some("ttl"));
        assert_eq!(field(r#"{"tll": "1s"}"#).as_deref(), Some("tll"));
        assert_eq!(field(r#"{"mode": {"permits": "x"}}"#).as_deref(), Some("mode.permits"));
        assert_eq!(field(r#"{"mode": "alone"}"#).as_deref(), Some("mode"));
        assert_eq!(field("[").as_deref(), None);
        assert_eq!(field(r#"["1", "10s"]"#).as_deref(), None);
        assert_eq!(field(r#"{"tt"#).as_deref(), None);
        assert_eq!(field("{} {}").as_deref(), None);
        let missing = parse::<ReleaseLock>(b"{}").unwrap_err();
        assert_eq!(missing.field.as_deref(), Some("session"));
        assert!(parse::<AcquireLock>(b" ").is_ok());
    }
}
