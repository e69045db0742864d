//! The laboratory: any algorithm, run under faults in virtual time or explored exhaustively, watched by properties,
//! measured against the literature.
//!
//! | module | what it holds |
//! |---|---|
//! | [`experiment`] | **start here**: an algorithm by name or type, a plan, a report |
//! | [`subject`] | the algorithm that something is about, by name or type |
//! | [`simulate`] | one run: discrete events, determined by a seed |
//! | [`explore`] | every run: a proof for a small group, or the shortest run that breaks a property |
//! | [`world`], [`network`], [`application`] | the processes; the channels between them; what their applications do |
//! | [`property`] | what is demanded of a run, one small automaton each |
//! | [`judge`] | traces of real nodes, judged by the same properties |
//! | [`linearize`] | whether a history of calls could have happened one at a time |
//! | [`observer`], [`cost`], [`distribution`] | who watches a run; what it costs; how that is summed up |
//! | [`claims`] | what the literature claims, judged |
//! | [`exercise`] | algorithms that are wrong in one place, and the question how that shows |
//! | [`compare`] | all algorithms side by side, published and measured |
//! | [`report`] | what came of it, for programs |
//! | [`conversation`] | a run in words |
//! | [`diagram`] | a run as a space-time diagram, and as a trace for other tools |
//! | `plot` (feature `plot`) | figures of what was measured, published curves beside it |
//! | [`markup`] | what pages and drawings share |
//! | [`stage`], [`scenario`] | a run of which somebody else decides what happens next; such runs as files |
//! | [`violation`] | majority voting's chance of letting two in |
//! | `page` (feature `page`) | the laboratory in a browser |
//! | [`agenda`], [`random`], [`time`] | what is due next; seeded chance; ticks and δ |
//! | `command`, `main` (feature `command`) | the laboratory on the command line, for any algorithm |

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
