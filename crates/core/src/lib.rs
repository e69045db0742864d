//! Algorithms for distributed mutual exclusion and leader election, each as one readable state machine.
//!
//! A process receives events and returns effects: messages to send, timers to set, state to save, outputs to the
//! application. It never reads a clock, a socket or a random number; the crate is `no_std`, so it cannot. The same code
//! therefore runs in a unit test, in the simulator, in the exhaustive explorer and on a network, unchanged.
//!
//! # Example
//! Three processes run Ricart–Agrawala's algorithm, and process 2 enters the critical section:
//!
//! ```
//! use std::collections::VecDeque;
//!
//! use quorate_core::id::Id;
//! use quorate_core::mutex::{Input, Mutex, Output, RicartAgrawala};
//! use quorate_core::process::{Effect, Effects, Event, perform};
//! use quorate_core::setting::{Group, Options, Setting, Timing};
//!
//! let options = Options::defaults(&RicartAgrawala::ENTRY);
//! let group = Group::new(&RicartAgrawala::ENTRY, 3, 1, Timing::Asynchronous, options)?;
//! let mut processes: Vec<_> = Id::all(3).map(|id| RicartAgrawala::new(&Setting::new(id, &group))).collect();
//!
//! // A network without delays: events are delivered in the order in which they arise.
//! let mut events: VecDeque<_> = Id::all(3).map(|id| (id, Event::Start { incarnation: 1, saved: None })).collect();
//! events.push_back((Id::new(2), Event::Input(Input::Enter)));
//! let mut entered = None;
//! while let Some((id, event)) = events.pop_front() {
//!     let mut effects = Effects::<RicartAgrawala>::new(id);
//!     perform(&mut processes[id.index()], event, &mut effects);
//!     for effect in effects.drain() {
//!         match effect {
//!             Effect::Send { to, message } => events.push_back((to, Event::Receive { from: id, message })),
//!             Effect::Output(Output::Entered { fence }) => entered = Some((id, fence)),
//!             other => println!("not carried out: {other:?}"),
//!         }
//!     }
//! }
//! let (id, fence) = entered.expect("all replies have arrived");
//! println!("process {id} is in the critical section, with fence {fence}");
//! # Ok::<(), quorate_core::setting::SettingError>(())
//! ```
//!
//! # Modules
//! | module | contents |
//! |---|---|
//! | [`process`] | **start here**: what a process is, how to write one, how to drive one |
//! | [`id`], [`clock`] | process ids; Lamport clocks and vector clocks, timestamps, fences |
//! | [`setting`] | what a process knows when it starts: its id, the group, the options |
//! | [`mutex`] | mutual exclusion algorithms, one file each |
//! | [`election`] | leader election algorithms, one file each |
//! | [`detector`] | failure detectors |
//! | [`stack`] | layers around processes: reliable channels, recovery, the quorum guard, many locks |
//! | [`catalog`] | the list of algorithms, with assumptions, guarantees and published costs as data |
//! | [`trace`] | the records of what happened at which process, which every driver emits |
//! | [`journal`] | the file format in which real nodes write these records, with vector clocks |

#![no_std]

extern crate alloc;

pub mod catalog;
pub mod clock;
pub mod detector;
pub mod election;
pub mod id;
pub mod journal;
pub mod mutex;
pub mod process;
pub mod setting;
pub mod stack;
pub mod trace;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
