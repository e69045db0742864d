//! Processes around processes: what surrounds an algorithm is simulated and explored with it.

mod detected;
mod elected;
mod guarded;
mod rejoining;
mod reliable;
mod withdrawable;

pub use detected::Detected;
pub use elected::Elected;
pub use guarded::Guarded;
pub use rejoining::Rejoining;
pub use reliable::{Limits, Reliable};
pub use withdrawable::{Request, Withdrawable};

/// Everything that an algorithm `M` needs to survive crashes on a network that loses, repeats and reorders messages.
pub type Surviving<M> = Detected<Guarded<Reliable<Rejoining<M>>>>;
