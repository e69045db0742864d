//! No page of somebody else changes anything here through the browser of whoever looks at it. Programs are not asked:
//! only browsers say where a request comes from.
//!
//! And no page of somebody else becomes one of ours by its name: a name that leads to this machine for a moment is, for
//! a browser, where the page came from. So a node that is there for this machine alone, and asks nobody who they are,
//! answers only who calls it by an address of this machine.

use std::net::IpAddr;

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
    let detail = "this request was sent by a web page of another site and was refused; nothing was done: open this \
         node's own address";
    Failure::from(Problem::new(ProblemKind::Forbidden, detail)).into_response()
}

/// For a node that only this machine reaches and that asks nobody who they are: who calls it by another name is
/// refused.
pub(crate) async fn guard_name(request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(|authority| authority.as_str());
    let host = request.headers().get(header::HOST).map(|host| host.to_str().unwrap_or("?"));
    if host.or(authority).is_none_or(is_this_machine) {
        return next.run(request).await;
    }
    let detail = "this node has no tokens, so it answers only requests whose Host header is a local address such as \
         127.0.0.1 or localhost; nothing was done: use such an address, or start the node with tokens (--tokens)";
    Failure::from(Problem::new(ProblemKind::Forbidden, detail)).into_response()
}

/// Whether this may be an address of this machine, with or without a port. One in digits nobody can make lead
/// elsewhere, and a name without a dot is of the machine, or of its network: nobody outside has such a name to give.
fn is_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => authority.split(':').next().unwrap_or(authority),
    };
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    !name.contains('.') || name.ends_with(".localhost") || host.parse::<IpAddr>().is_ok()
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
    fn a_name_that_others_can_make_lead_here_is_not_this_machines() {
        for here in [
            "127.0.0.1:7420",
            "127.0.0.1",
            "localhost:7420",
            "LOCALHOST",
            "[::1]:7420",
            "node1.localhost",
            "localhost.",
            "database:7420",
        ] {
            assert!(is_this_machine(here), "{here}");
        }
        for elsewhere in ["evil.example:7420", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example"] {
            assert!(!is_this_machine(elsewhere), "{elsewhere}");
        }
    }

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
