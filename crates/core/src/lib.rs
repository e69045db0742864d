//! The algorithms of distributed mutual exclusion and leader election, each as one readable state machine.
//!
//! Nothing here reads a clock, a socket or a random number: the crate is `no_std`, so it cannot. The same file is
//! stepped by hand in a unit test and simulated under faults, unchanged; whatever else drives it (a search, a network)
//! can do so, too.
//!
//! | module | what it holds |
//! |---|---|
//! | [`process`] | **start here**: what a process is, how to write one, how to drive one |
//! | [`id`], [`clock`] | process numbers; Lamport and vector clocks, timestamps, fences |
//! | [`setting`] | what a process knows when it begins: who it is, how many there are, its options |
//! | [`mutex`] | mutual exclusion, one file an algorithm |
//! | [`election`] | leader election, one file an algorithm |
//! | [`detector`] | failure detection |
//! | [`stack`] | processes around processes |
//! | [`catalog`] | the one list of algorithms, with assumptions, promises and published costs as data |
//! | [`trace`] | what happened, at whom: the records that every driver emits |
//! | [`journal`] | how nodes write them down, with vector clocks |

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
