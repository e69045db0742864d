//! No page of somebody else changes anything here through the browser of whoever looks at it. Programs are not asked:
//! only browsers say where a request comes from.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use quorate_client::contract::{Problem, ProblemKind};

use super::problems::Failure;

pub(super) async fn guard(request: Request, next: Next) -> Response {
    let looks = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if looks || is_own(request.headers()) {
        return next.run(request).await;
    }
    let detail = "this request comes from a page of another site, and nothing was done: open this node's own address";
    Failure::from(Problem::new(ProblemKind::Forbidden, detail)).into_response()
}

/// Whether a request is one of our own page's, or not of a page at all.
fn is_own(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    match (text("sec-fetch-site"), text(header::ORIGIN.as_str())) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        // Browsers say no more than this where nothing is encrypted. Who sends neither is no browser.
        (None, Some(origin)) => {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some() && host == text(header::HOST.as_str())
        }
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_others_are_refused_and_programs_are_not_asked() {
        let of = |pairs: &[(&'static str, &str)]| {
            is_own(&pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect())
        };
        assert!(of(&[]) && of(&[("host", "127.0.0.1:7420")]));
        assert!(of(&[("host", "a:1"), ("origin", "http://a:1")]));
        assert!(of(&[("sec-fetch-site", "same-origin"), ("origin", "https://proxy"), ("host", "a:1")]));
        assert!(!of(&[("host", "a:1"), ("origin", "http://b:1")]));
        assert!(!of(&[("host", "a:1"), ("origin", "null")]));
        assert!(!of(&[("sec-fetch-site", "cross-site"), ("host", "a:1"), ("origin", "http://a:1")]));
        assert!(!of(&[("sec-fetch-site", "same-site")]));
    }
}
