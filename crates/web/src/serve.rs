//! How embedded files are answered.
//!
//! - *Nothing but our own files is run or loaded*, and the browser is told so: what users write, as names and labels,
//!   could not do any harm even if it came to be taken for more than text.
//! - *A file is asked for every time, and sent only if it has changed* (an `ETag` with `no-cache`): after an upgrade
//!   no script of one version ever meets another one's, and a page that is opened again costs a few empty answers.

use std::hash::{DefaultHasher, Hasher};

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::{ELEMENTS, ICON, LOOK};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A document.
    Html,
    /// A style sheet.
    Css,
    /// A module of script.
    Script,
    /// A picture.
    Svg,
}

impl Kind {
    fn media(self) -> &'static str {
        match self {
            Kind::Html => "text/html; charset=utf-8",
            Kind::Css => "text/css; charset=utf-8",
            Kind::Script => "text/javascript; charset=utf-8",
            Kind::Svg => "image/svg+xml",
        }
    }
}

/// A file: where it is, what it is, what is in it.
pub type File = (&'static str, Kind, &'static str);

/// What every page uses.
const SHARED: [File; 3] = [
    ("/web/look.css", Kind::Css, LOOK),
    ("/web/elements.js", Kind::Script, ELEMENTS),
    ("/web/icon.svg", Kind::Svg, ICON),
];

/// The addresses of a page: its own files, and below `/web/` those that all pages share.
///
/// `styles` are the hashes (`sha256-…`) of styles that may stand in a document, as those of drawings do. No other may.
pub fn router<S: Clone + Send + Sync + 'static>(files: &[File], styles: &[String]) -> Router<S> {
    let policy = policy(styles);
    let mut router = Router::new();
    for &(path, kind, text) in SHARED.iter().chain(files) {
        let (tag, policy) = (tag(text), policy.clone());
        let reply = move |asked: HeaderMap| std::future::ready(answer(&asked, kind, text, &tag, &policy));
        router = router.route(path, get(reply));
    }
    router
}

/// What the browser may load and run: what comes from here, and these styles.
fn policy(styles: &[String]) -> HeaderValue {
    let styles: String = styles.iter().map(|hash| format!(" '{hash}'")).collect();
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'{styles}; connect-src 'self'; img-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).expect("a policy is plain text")
}

/// What changes with a file. Nobody gains by two that have the same, so that it need not be hard to find them.
fn tag(text: &str) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    HeaderValue::from_str(&format!("\"{:016x}\"", hasher.finish())).expect("hexadecimal digits fit into a header")
}

fn answer(asked: &HeaderMap, kind: Kind, text: &'static str, tag: &HeaderValue, policy: &HeaderValue) -> Response {
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::CONTENT_TYPE, kind.media()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_from_here_and_the_styles_that_are_named_may_be_used() {
        let part = |policy: &HeaderValue| {
            let text = policy.to_str().unwrap().to_string();
            assert!(text.starts_with("default-src 'none'; script-src 'self'; "), "{text}");
            assert!(!text.contains("unsafe") && !text.contains('*'), "{text}");
            text.split("; ").find(|part| part.starts_with("style-src")).unwrap().to_string()
        };
        assert_eq!(part(&policy(&[])), "style-src 'self'");
        assert_eq!(part(&policy(&["sha256-a".into(), "sha256-b".into()])), "style-src 'self' 'sha256-a' 'sha256-b'");
    }

    #[test]
    fn what_is_known_is_not_sent_again_and_what_has_changed_is() {
        let (tag, policy) = (tag(LOOK), policy(&[]));
        let ask = |known: Option<&HeaderValue>| {
            let headers = known.map(|known| (header::IF_NONE_MATCH, known.clone()));
            answer(&headers.into_iter().collect(), Kind::Css, LOOK, &tag, &policy)
        };
        let first = ask(None);
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[header::CONTENT_TYPE], "text/css; charset=utf-8");
        assert_eq!(first.headers()[header::CACHE_CONTROL], "no-cache");
        assert_eq!(ask(first.headers().get(header::ETAG)).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(ask(Some(&super::tag("another"))).status(), StatusCode::OK);
    }

    #[test]
    fn two_files_cannot_have_one_address() {
        let files: [File; 1] = [("/", Kind::Html, "<!doctype html>")];
        let _: Router = router(&files, &[]);
        let twice = std::panic::catch_unwind(|| router::<()>(&SHARED[..1], &[]));
        assert!(twice.is_err(), "a page does not replace what all pages share");
    }
}
