//! The dashboard, at the node's own address: a page for whoever has to know who holds what, and what goes wrong.
//!
//! It is written by hand and embedded: a document, how its own parts look, and modules of script that the browser puts
//! together. There is no build step and nothing of anybody else's; what it has in common with other pages, and how
//! files are answered, is in `quorate-web`. The page is nobody's secret; what it shows it gets from the API like
//! everybody else, with the token of who looks at it.

use axum::Router;
use quorate_web::{File, Kind};

/// Every file of its own: where it is, what it is, what is in it.
const FILES: [File; 11] = [
    ("/", Kind::Html, include_str!("index.html")),
    ("/web/style.css", Kind::Css, include_str!("style.css")),
    ("/web/main.js", Kind::Script, include_str!("main.js")),
    ("/web/service.js", Kind::Script, include_str!("service.js")),
    ("/web/reading.js", Kind::Script, include_str!("reading.js")),
    ("/web/events.js", Kind::Script, include_str!("events.js")),
    ("/web/words.js", Kind::Script, include_str!("words.js")),
    ("/web/cluster.js", Kind::Script, include_str!("cluster.js")),
    ("/web/figures.js", Kind::Script, include_str!("figures.js")),
    ("/web/lists.js", Kind::Script, include_str!("lists.js")),
    ("/web/subject.js", Kind::Script, include_str!("subject.js")),
];

/// The addresses of the page.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    quorate_web::router(&FILES, &[])
}
