//! The page itself: documents, styles and modules, written by hand and embedded.

use axum::Router;
use quorate_web::{File, Kind};

use crate::diagram::html::{VIEWER, VIEWER_STYLE, hashes_of_drawings};

/// Every file of its own: where it is, what it is, what is in it.
const FILES: [File; 12] = [
    ("/", Kind::Html, include_str!("web/run.html")),
    ("/check", Kind::Html, include_str!("web/check.html")),
    ("/claims", Kind::Html, include_str!("web/claims.html")),
    ("/lab/viewer.css", Kind::Css, VIEWER_STYLE),
    ("/lab/lab.css", Kind::Css, include_str!("web/lab.css")),
    ("/lab/viewer.js", Kind::Script, VIEWER),
    ("/lab/parts.js", Kind::Script, include_str!("web/parts.js")),
    ("/lab/controls.js", Kind::Script, include_str!("web/controls.js")),
    ("/lab/variables.js", Kind::Script, include_str!("web/variables.js")),
    ("/lab/run.js", Kind::Script, include_str!("web/run.js")),
    ("/lab/check.js", Kind::Script, include_str!("web/check.js")),
    ("/lab/claims.js", Kind::Script, include_str!("web/claims.js")),
];

/// The addresses of the page. Drawings bring their style along.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    quorate_web::router(&FILES, &hashes_of_drawings())
}
