//! The laboratory of Quorate: simulate a distributed algorithm under faults, or explore all of its runs, and check
//! properties on them.
//!
//! An algorithm is one of the catalogue in [`quorate_core`], or your own type. The laboratory runs it in virtual time,
//! so a run is determined by its seed and can be repeated.
//!
//! # Example
//! ```
//! use quorate_lab::experiment::{Experiment, Spectators};
//! use quorate_lab::explore::Exploration;
//! use quorate_lab::explore::goal::Goal;
//! use quorate_lab::report::Severity;
//!
//! // One run of five processes, determined by its seed.
//! let report = Experiment { n: 5, seed: 7, ..Experiment::default() }.run("ricart-agrawala", Spectators::default())?;
//! assert_eq!(report.severity(), Severity::Fine);
//!
//! // Every run of two processes: the property holds in all reachable states.
//! let findings = Exploration { n: 2, ..Exploration::default() }.run("ricart-agrawala", &mut |_| ())?;
//! assert!(findings.holds(Goal::MutualExclusion));
//! println!("{} states explored", findings.states);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//! Run an algorithm:
//!
//! | module | contents |
//! |---|---|
//! | [`experiment`] | **start here**: simulate an algorithm by name or by type, and get a report |
//! | [`explore`] | explore every run of a small group: a proof, or a shortest counterexample |
//! | [`scenario`], [`stage`] | runs in which a file or a person chooses every event |
//! | [`judge`] | check the traces of real nodes against the same properties |
//! | [`claims`] | statements of the literature, each with a verdict and its evidence |
//! | [`exercise`] | algorithms with one fault each, to be found |
//! | [`compare`] | all algorithms side by side: published and measured costs |
//! | `command`, `main` (feature `command`) | the laboratory's commands, for a program with an algorithm of its own |
//! | `page` (feature `page`) | the laboratory in a browser |
//!
//! See what happened:
//!
//! | module | contents |
//! |---|---|
//! | [`report`] | the result of a run, for programs |
//! | [`conversation`] | a run as text |
//! | [`diagram`] | a run as a space-time diagram, and as a trace for other tools |
//! | `plot` (feature `plot`) | charts of measured values, with published curves |
//! | [`cost`], [`distribution`] | messages and delays per entry, and their distribution |
//!
//! What these are built from:
//!
//! | module | contents |
//! |---|---|
//! | [`subject`] | an algorithm, chosen by name or by type |
//! | [`simulate`], [`agenda`], [`random`], [`time`] | the discrete-event simulator: its queue, its random numbers, ticks and δ |
//! | [`world`], [`network`], [`application`] | the processes, the channels between them, and the applications that use them |
//! | [`property`], [`observer`] | the properties, each a small automaton, and the observer that feeds them |
//! | [`linearize`] | whether a history of calls is linearizable |
//! | [`recovery`], [`recovery_costs`], [`shake`] | runs with crashes and restarts, and what they cost |
//! | [`markup`] | what pages and drawings share |
//! | [`violation`] | the probability that majority voting admits two processes |

pub mod agenda;
pub mod application;
pub mod claims;
#[cfg(feature = "command")]
pub mod command;
pub mod compare;
pub mod conversation;
pub mod cost;
pub mod diagram;
pub mod distribution;
pub mod exercise;
pub mod experiment;
pub mod explore;
pub mod judge;
pub mod linearize;
pub mod markup;
pub mod network;
pub mod observer;
#[cfg(feature = "page")]
pub mod page;
#[cfg(feature = "plot")]
pub mod plot;
pub mod property;
pub mod random;
pub mod recovery;
pub mod recovery_costs;
pub mod report;
pub mod scenario;
pub mod shake;
pub mod simulate;
pub mod stage;
pub mod subject;
pub mod time;
pub mod violation;
pub mod world;

#[cfg(feature = "command")]
pub use command::{main, main_election};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
