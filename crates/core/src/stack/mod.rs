//! Processes around processes: what surrounds an algorithm is simulated and explored with it.

mod elected;
mod rejoining;
mod withdrawable;

pub use elected::Elected;
pub use rejoining::Rejoining;
pub use withdrawable::{Request, Withdrawable};
