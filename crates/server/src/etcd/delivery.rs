//! Whether an answer has left: a grant that could not be told is given up.
//!
//! The claim goes along with the answer, and is fulfilled when the last part of the answer has been handed to the
//! connection. If the connection is lost before, the answer is dropped, and the claim with it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use axum::http;
use hyper::body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

use super::claim::Claim;
use crate::engine::Engine;
use crate::machine::Fence;

/// A grant that the client does not know of yet.
pub(super) struct Granted<E: Engine> {
    pub(super) claim: Claim<E>,
    pub(super) fence: Fence,
}

/// A grant on its way to the client. What travels with an answer must be copyable, so it is kept in one place.
struct Letter<E: Engine>(Arc<Mutex<Option<Granted<E>>>>);

impl<E: Engine> Clone for Letter<E> {
    fn clone(&self) -> Letter<E> {
        Letter(Arc::clone(&self.0))
    }
}

/// An answer that tells of a grant.
pub(super) fn tell<E: Engine, T>(answer: T, granted: Granted<E>) -> tonic::Response<T> {
    let mut response = tonic::Response::new(answer);
    response.extensions_mut().insert(Letter(Arc::new(Mutex::new(Some(granted)))));
    response
}

/// Watches an answer on its way out, if it tells of a grant.
pub(super) fn watch<E: Engine>(mut response: http::Response<Body>) -> http::Response<Watched<E>> {
    let letter = response.extensions_mut().remove::<Letter<E>>();
    let granted = letter.and_then(|letter| letter.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    response.map(|body| Watched { body, granted })
}

/// A body that may tell of a grant.
pub(super) struct Watched<E: Engine> {
    body: Body,
    granted: Option<Granted<E>>,
}

impl<E: Engine> hyper::body::Body for Watched<E> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        let is_last = match &frame {
            None => true,
            Some(Ok(frame)) => frame.is_trailers(),
            Some(Err(_)) => false,
        };
        if is_last && let Some(Granted { claim, .. }) = this.granted.take() {
            claim.told();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
