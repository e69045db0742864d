//! Processes around processes: what surrounds an algorithm is simulated and explored with it.

mod withdrawable;

pub use withdrawable::{Request, Withdrawable};
