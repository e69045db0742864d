//! The laboratory on the command line, for any algorithm: those of the catalogue in the program `quorate`, and one's
//! own in a program of one's own, whose whole main function is [`quorate_lab::main::<Mine>()`](main()).
//!
//! A command is a module: what it takes but for the algorithm (`Arguments`, read by clap), and
//! `run(subject, arguments, terminal)`, which gives the exit code or a [`Failure`](failure::Failure). It is written
//! once, for every [`Subject`](crate::subject::Subject), and listed in two places: [`program`], for an algorithm by its
//! type, and the program `quorate`, whose commands take a name.
//!
//! Libraries do not print, and this one does so nowhere else. Here it does because who writes an algorithm outside this
//! repository wants the same commands, not parts to build them from. What only embeds the laboratory leaves the feature
//! `command` off, and with it this module and all that it needs.

pub mod check;
pub mod failure;
pub mod files;
pub mod interrupt;
pub mod output;
pub mod parse;
pub mod program;
pub mod renamed;
pub mod replay;
pub mod scenarios;
pub mod sim;
pub mod view;

pub use program::{main, main_election};
