//! The simulator's worlds, each by a process whose every word is known: what the network, faults, clocks and
//! applications do to a run.

mod applications;
mod chatter;
mod faults;
mod network;
mod runs;
mod timers;
