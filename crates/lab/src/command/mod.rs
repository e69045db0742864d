//! The laboratory's command line: for the algorithms of the catalogue in the program `quorate`, and for your own
//! algorithm in a program of your own, whose main function is one call of [`quorate_lab::main::<Mine>()`](main()).
//!
//! Each command is a module with its arguments except the algorithm (`Arguments`, read by clap) and a function
//! `run(subject, arguments, terminal)`, which returns the exit code or a [`Failure`](failure::Failure). It works for
//! every [`Subject`](crate::subject::Subject). Two programs list the commands: [`program`], for an algorithm by its
//! type, and `quorate`, for an algorithm by its name.
//!
//! This is the only module of the library that prints. A program that only embeds the laboratory leaves the feature
//! `command` off, and with it this module and its dependencies.

pub mod check;
mod choice;
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
