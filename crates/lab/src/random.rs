//! Seeded chance, the same on every machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::RangeInclusive;

/// A stream of chance that its seed determines.
#[derive(Clone, Debug)]
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Chance {
        Chance(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of this is at most bound / 2^64, far below what any number of runs could show.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number of this range.
    pub fn within(&mut self, range: &RangeInclusive<u64>) -> u64 {
        let width = range.end() - range.start();
        if width == 0 {
            return *range.start();
        }
        range.start() + if width == u64::MAX { self.0.next_u64() } else { self.below(width + 1) }
    }

    /// A fraction of 1, at least 0 and less than 1.
    pub fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether something of this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.fraction() < probability
    }

    /// A waiting time with this mean, memoryless.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // `libm` gives the same bits everywhere, where a system's logarithm may not.
        -libm::log(1.0 - self.fraction()) * mean
    }
}

/// A number that these determine, spread evenly: for what must be the same whenever it is asked for.
pub fn mix(seed: u64, a: u64, b: u64) -> u64 {
    let mut word = seed ^ a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.wrapping_mul(0xC2B2_AE3D_27D4_EB4F).rotate_left(31);
    for _ in 0..2 {
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^= word >> 31;
    }
    word
}
