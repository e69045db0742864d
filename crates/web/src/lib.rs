//! What the web pages of Quorate share: one style sheet, one script module, one icon, and a way to serve embedded
//! files.
//!
//! - [`LOOK`] is the style sheet: colours for light and dark, fonts, spacing, and the parts that pages consist of. A
//!   page adds the layout of its own parts, and no colours.
//! - [`ELEMENTS`] is the script module that creates elements. It sets text, never markup, so that text written by users
//!   cannot become HTML.
//! - [`ICON`] is the logo.
//! - `router` (feature `serve`) serves files that are embedded in the program, with entity tags and a content security
//!   policy that allows these files only.
//!
//! # Example
//! ```
//! # #[cfg(feature = "serve")]
//! # {
//! use quorate_web::{File, Kind, router};
//!
//! const FILES: [File; 1] = [(
//!     "/",
//!     Kind::Html,
//!     r#"<!doctype html><link rel="stylesheet" href="/web/look.css"><h1>Nodes</h1>"#,
//! )];
//! let page: axum::Router = router(&FILES, &[]);
//! # }
//! ```
//!
//! All files are written by hand for this project; no third-party code is included.

#[cfg(feature = "serve")]
mod serve;

#[cfg(feature = "serve")]
pub use crate::serve::{File, Kind, router};

/// The visual language, as a style sheet.
pub const LOOK: &str = include_str!("look.css");
/// The module that makes elements: it exports `el`, `show`, `head` and `by`, and `written`,
/// `visible` and `plain` for what users have written.
pub const ELEMENTS: &str = include_str!("elements.js");
/// The mark, as SVG.
pub const ICON: &str = include_str!("icon.svg");

#[cfg(all(doctest, feature = "serve"))]
#[doc = include_str!("../README.md")]
struct Readme;
