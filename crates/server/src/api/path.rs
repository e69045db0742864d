//! The variable part of an address; what is wrong with it is said by name, as with a field of a body.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use quorate_client::contract::Problem;
use serde::de::DeserializeOwned;

use super::problems::Failure;

/// The part of an address that the handler wants to know.
pub(super) struct Path<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, Failure> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(part)) => Ok(Path(part)),
            Err(rejection) => {
                let named = RawPathParams::from_request_parts(parts, state).await;
                let name = named.ok().and_then(|parts| parts.iter().next().map(|(name, _)| name.to_string()));
                // Without a name it is no text, which only names of locks and elections could be.
                let name = name.unwrap_or_else(|| "name".into());
                Err(Problem::of_field(&name, format!("malformed path: {}", rejection.body_text())).into())
            }
        }
    }
}
