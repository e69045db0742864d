//! The dashboard, at the node's own address: a page for whoever has to know who holds what, and what goes wrong.
//!
//! It is written by hand and embedded: a document, one file of style, and modules of script that the browser puts
//! together. There is no build step and nothing of anybody else's. The page is nobody's secret; what it shows it gets
//! from the API like everybody else, with the token of who looks at it.
//!
//! - *Nothing but our own files is run or loaded*, and the browser is told so ([`POLICY`]): what users write, as names
//!   and labels, could not do any harm even if it came to be taken for more than text.
//! - *A file is asked for every time, and sent only if it has changed* (an `ETag` with `no-cache`): after an upgrade
//!   no script of one version ever meets another one's, and a page that is opened again costs a few empty answers.

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// What the browser may load and run: what comes from here, and nothing that stands in the document itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Every file: where it is, what it is, what is in it.
const FILES: [(&str, &str, &str); 11] = [
    ("/", HTML, include_str!("index.html")),
    ("/web/style.css", CSS, include_str!("style.css")),
    ("/web/icon.svg", PICTURE, include_str!("icon.svg")),
    ("/web/main.js", SCRIPT, include_str!("main.js")),
    ("/web/service.js", SCRIPT, include_str!("service.js")),
    ("/web/elements.js", SCRIPT, include_str!("elements.js")),
    ("/web/words.js", SCRIPT, include_str!("words.js")),
    ("/web/cluster.js", SCRIPT, include_str!("cluster.js")),
    ("/web/figures.js", SCRIPT, include_str!("figures.js")),
    ("/web/lists.js", SCRIPT, include_str!("lists.js")),
    ("/web/subject.js", SCRIPT, include_str!("subject.js")),
];

/// The addresses of the page.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let mut router = Router::new();
    for (path, media, text) in FILES {
        let tag = tag(text);
        router = router.route(path, get(move |asked: HeaderMap| std::future::ready(answer(&asked, media, text, &tag))));
    }
    router
}

/// What changes with a file.
fn tag(text: &str) -> HeaderValue {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let hex: String = digest.as_ref().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("\"{hex}\"")).expect("hexadecimal digits fit into a header")
}

fn answer(asked: &HeaderMap, media: &'static str, text: &'static str, tag: &HeaderValue) -> Response {
    let fixed: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_TYPE, media),
        (header::CONTENT_SECURITY_POLICY, POLICY),
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
    headers.insert(header::ETAG, tag.clone());
    response
}
