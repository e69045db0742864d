//! The page itself: documents, styles and modules, written by hand and embedded, and what the browser may do with them.

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use crate::diagram::html::{STYLE, VIEWER, VIEWER_STYLE, hashes_of_drawings};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Every file: where it is, what it is, what is in it.
const FILES: [(&str, &str, &str); 13] = [
    ("/", HTML, include_str!("web/run.html")),
    ("/check", HTML, include_str!("web/check.html")),
    ("/claims", HTML, include_str!("web/claims.html")),
    ("/lab/icon.svg", PICTURE, include_str!("web/icon.svg")),
    ("/lab/style.css", CSS, STYLE),
    ("/lab/viewer.css", CSS, VIEWER_STYLE),
    ("/lab/lab.css", CSS, include_str!("web/lab.css")),
    ("/lab/viewer.js", SCRIPT, VIEWER),
    ("/lab/parts.js", SCRIPT, include_str!("web/parts.js")),
    ("/lab/controls.js", SCRIPT, include_str!("web/controls.js")),
    ("/lab/run.js", SCRIPT, include_str!("web/run.js")),
    ("/lab/check.js", SCRIPT, include_str!("web/check.js")),
    ("/lab/claims.js", SCRIPT, include_str!("web/claims.js")),
];

/// The addresses of the page.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let policy = policy();
    let mut router = Router::new();
    for (path, media, text) in FILES {
        let (tag, policy) = (tag(text), policy.clone());
        let reply = move |asked: HeaderMap| std::future::ready(answer(&asked, media, text, &tag, &policy));
        router = router.route(path, get(reply));
    }
    router
}

/// What the browser may load and run: what comes from here, and the styles that drawings bring along.
fn policy() -> HeaderValue {
    let [one, other] = hashes_of_drawings();
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' '{one}' '{other}'; connect-src 'self'; \
         img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).expect("a policy is plain text")
}

/// What changes with a file.
fn tag(text: &str) -> HeaderValue {
    let hex: String = Sha256::digest(text).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("\"{hex}\"")).expect("hexadecimal digits fit into a header")
}

fn answer(
    asked: &HeaderMap,
    media: &'static str,
    text: &'static str,
    tag: &HeaderValue,
    policy: &HeaderValue,
) -> Response {
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::CONTENT_TYPE, media),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    let is_known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag);
    let mut response = if is_known { StatusCode::NOT_MODIFIED.into_response() } else { text.into_response() };
    let headers = response.headers_mut();
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
    headers.insert(header::ETAG, tag.clone());
    response
}
