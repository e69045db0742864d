//! What the pages of Quorate have in common: the laboratory's, the dashboard's, and those that stand alone.
//!
//! - [`LOOK`], the visual language: colours for light and dark, letters, distances, and the parts that pages are made
//!   of. A page adds how its own parts look, and no colour.
//! - [`ELEMENTS`], the module by which scripts make elements: of text, and never of markup.
//! - [`ICON`], the mark.
//! - With the feature `serve`, `router`: how files that are embedded in the program are answered, and what the browser
//!   is told that it may do with them.
//!
//! All of it is written by hand, and nothing of anybody else's is among it.

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
