//! What went wrong, as an answer.

use axum::Extension;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use quorate_client::contract::{Problem, ProblemKind};

use crate::access::Denial;
use crate::engine::Unavailable;
use crate::machine::{Beyond, Refusal};
use crate::service::{Gone, ServiceError};

/// A problem that becomes an answer.
#[derive(Debug)]
pub struct Failure(Box<Problem>);

impl Failure {
    pub(super) fn problem(&mut self) -> &mut Problem {
        &mut self.0
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure(Box::new(problem))
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Failure {
        Problem::new(kind(&error), error.to_string()).into()
    }
}

fn kind(error: &ServiceError) -> ProblemKind {
    match error {
        ServiceError::Busy => ProblemKind::Held,
        ServiceError::WaitedInVain => ProblemKind::WaitedInVain,
        ServiceError::Gone(Gone::Expired | Gone::Closed) => ProblemKind::NoSession,
        ServiceError::Gone(Gone::Withdrawn | Gone::Forced | Gone::TurnLost) => ProblemKind::WaitEnded,
        ServiceError::Gone(Gone::NoTurn(_)) => ProblemKind::TooMany,
        ServiceError::Over => ProblemKind::Over,
        ServiceError::NoLeader => ProblemKind::NoLeader,
        ServiceError::LedElsewhere => ProblemKind::NotWithThisEngine,
        ServiceError::Unavailable(unavailable) => match unavailable {
            Unavailable::Elsewhere { .. } => ProblemKind::NoLeader,
            Unavailable::NoMajority => ProblemKind::NoMajority,
            Unavailable::Unknown => ProblemKind::Unknown,
            Unavailable::Overloaded => ProblemKind::Overloaded,
            Unavailable::Stopping => ProblemKind::Stopping,
        },
        ServiceError::Denied(Denial::NoToken | Denial::UnknownToken) => ProblemKind::Unauthenticated,
        ServiceError::Denied(Denial::NotFor { .. } | Denial::OthersSession { .. }) => ProblemKind::Forbidden,
        ServiceError::Refused(refusal) => match refusal {
            Refusal::NoSession(_) => ProblemKind::NoSession,
            Refusal::SessionExists(_) => ProblemKind::SessionExists,
            Refusal::OtherMode { .. } | Refusal::OtherPermits { .. } => ProblemKind::OtherMode,
            Refusal::NotHeld { .. } | Refusal::NotHeldHere { .. } => ProblemKind::NotHeld,
            Refusal::TooMany { .. } => ProblemKind::TooMany,
            Refusal::LastGeneration { .. } | Refusal::GrantsByItself | Refusal::OtherGrant { .. } => {
                ProblemKind::Conflict
            }
            Refusal::NotByTurns(Beyond::TooManyNames) => ProblemKind::TooMany,
            Refusal::NotByTurns(_) => ProblemKind::NotWithThisEngine,
        },
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let media = HeaderValue::from_static("application/problem+json");
        // Who counts requests reads what came of this one.
        let counted = Extension(self.0.kind);
        let mut response = (status, [(header::CONTENT_TYPE, media)], counted, body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

pub(super) async fn nothing_here(uri: Uri) -> Failure {
    let detail = format!(
        "no such path: {}; sessions, locks, elections and status are under /v1, and a / within a name must be written \
         %2F",
        uri.path()
    );
    Problem::new(ProblemKind::NoSuchAddress, detail).into()
}

pub(super) async fn not_with_this_method(uri: Uri) -> Response {
    let detail = format!(
        "{} does not support this method: read with GET, change with POST or DELETE; see \
         /v1/openapi.json",
        uri.path()
    );
    let problem = Problem { status: 405, ..Problem::new(ProblemKind::NoSuchAddress, detail) };
    Failure::from(problem).into_response()
}
