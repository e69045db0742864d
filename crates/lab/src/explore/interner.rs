//! Every distinct value once, as a small number, with a hash of its content.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::random::mix;

/// The values so far. Their numbers count from 0 in the order in which they came.
#[derive(Clone, Debug)]
pub(super) struct Interner<T> {
    numbers: FxHashMap<T, u32>,
    values: Vec<T>,
    /// A well-mixed hash of each value's content. No two are equal.
    hashes: Vec<u64>,
    taken: FxHashSet<u64>,
    /// Keeps equal contents of different interners apart.
    salt: u64,
}

impl<T: Clone + Eq + Hash> Interner<T> {
    pub(super) fn new(salt: u64) -> Interner<T> {
        let (numbers, taken) = (FxHashMap::default(), FxHashSet::default());
        Interner { numbers, values: Vec::new(), hashes: Vec::new(), taken, salt }
    }

    /// The number of a value, and whether it is new.
    pub(super) fn intern(&mut self, value: T) -> (u32, bool) {
        if let Some(&number) = self.numbers.get(&value) {
            return (number, false);
        }
        let number = u32::try_from(self.values.len()).expect("there are fewer distinct parts of states than states");
        let mut hasher = FxHasher::default();
        value.hash(&mut hasher);
        let content = hasher.finish();
        let fresh = (0..).map(|again| mix(content, self.salt, again)).find(|hash| self.taken.insert(*hash));
        self.hashes.push(fresh.expect("some hash is free"));
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        (number, true)
    }

    pub(super) fn value(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub(super) fn hash(&self, number: u32) -> u64 {
        self.hashes[number as usize]
    }
}
