//! The states seen so far: fingerprints in shards, each state's number, and where it came from.
//!
//! A fingerprint takes 12 bytes in a table that is at least half full once it has grown, and the way back 8: at most 32
//! bytes a state. Shards make the tables small enough for the cache, and let threads fill different ones at once.

use super::action::Action;

/// How many shards there are. It does not depend on the number of threads, so neither does any answer.
pub(super) const SHARDS: usize = 64;

/// Which shard a fingerprint belongs to.
pub(super) fn shard_of(fingerprint: u64) -> usize {
    (fingerprint >> 58) as usize
}

/// The fingerprints of one shard, each with the number of its state: open addressing, linear probing.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    /// 0 where there is none.
    fingerprints: Vec<u64>,
    numbers: Vec<u32>,
    len: usize,
}

const SMALLEST: usize = 64;

impl Shard {
    pub(super) fn new() -> Shard {
        Shard { fingerprints: vec![0; SMALLEST], numbers: vec![0; SMALLEST], len: 0 }
    }

    /// Where a fingerprint is if it does not have to make way for another.
    #[inline]
    fn home(&self, fingerprint: u64) -> usize {
        // The highest bits chose the shard; the next ones choose the place, whatever the size of the table.
        let spread = u128::from(fingerprint << 6) * self.fingerprints.len() as u128;
        (spread >> 64) as usize
    }

    /// What is at the home of a fingerprint: so that the memory of several is under way at once.
    #[inline]
    pub(super) fn at_home(&self, fingerprint: u64) -> u64 {
        self.fingerprints[self.home(fingerprint)]
    }

    /// Where a fingerprint is, or would be.
    #[inline]
    fn place(&self, fingerprint: u64) -> usize {
        let mut place = self.home(fingerprint);
        while self.fingerprints[place] != fingerprint && self.fingerprints[place] != 0 {
            place += 1;
            if place == self.fingerprints.len() {
                place = 0;
            }
        }
        place
    }

    /// The number of the state with this fingerprint.
    pub(super) fn get(&self, fingerprint: u64) -> Option<u32> {
        let place = self.place(fingerprint);
        (self.fingerprints[place] != 0).then(|| self.numbers[place])
    }

    /// The number of the state with this fingerprint; if there is none, it gets this one.
    #[inline]
    pub(super) fn get_or_insert(&mut self, fingerprint: u64, number: u32) -> Option<u32> {
        let place = self.place(fingerprint);
        if self.fingerprints[place] != 0 {
            return Some(self.numbers[place]);
        }
        self.fingerprints[place] = fingerprint;
        self.numbers[place] = number;
        self.len += 1;
        if self.len * 8 > self.fingerprints.len() * 7 {
            self.grow();
        }
        None
    }

    /// Gives a state that is there another number.
    pub(super) fn renumber(&mut self, fingerprint: u64, number: u32) {
        let place = self.place(fingerprint);
        debug_assert_ne!(self.fingerprints[place], 0, "only what is there can be renumbered");
        self.numbers[place] = number;
    }

    fn grow(&mut self) {
        let size = self.fingerprints.len() * 8 / 5;
        let fingerprints = std::mem::replace(&mut self.fingerprints, vec![0; size]);
        let numbers = std::mem::replace(&mut self.numbers, vec![0; size]);
        for (fingerprint, number) in fingerprints.into_iter().zip(numbers).filter(|(fingerprint, _)| *fingerprint != 0)
        {
            let place = self.place(fingerprint);
            self.fingerprints[place] = fingerprint;
            self.numbers[place] = number;
        }
    }

    fn bytes(&self) -> usize {
        self.fingerprints.capacity() * 8 + self.numbers.capacity() * 4
    }
}

/// All states seen so far.
#[derive(Clone, Debug)]
pub(super) struct Visited {
    pub(super) shards: Vec<Shard>,
    /// For each state but the first, the state it was first reached from, and how.
    parents: Vec<(u32, Action)>,
}

impl Visited {
    pub(super) fn new() -> Visited {
        Visited { shards: vec![Shard::new(); SHARDS], parents: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.parents.len()
    }

    /// The number of the state with this fingerprint.
    pub(super) fn get(&self, fingerprint: u64) -> Option<u32> {
        self.shards[shard_of(fingerprint)].get(fingerprint)
    }

    /// Adds the way to the state of the next number.
    pub(super) fn add(&mut self, parent: u32, action: Action) {
        if self.parents.len() == self.parents.capacity() {
            // Doubling would waste as much as it holds.
            self.parents.reserve_exact((self.parents.len() / 4).max(1024));
        }
        self.parents.push((parent, action));
    }

    /// How a state was first reached: all actions from the beginning.
    pub(super) fn way_to(&self, mut state: u32) -> Vec<Action> {
        let mut way = Vec::new();
        while state != 0 {
            let (parent, action) = self.parents[state as usize];
            way.push(action);
            state = parent;
        }
        way.reverse();
        way
    }

    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.shards.iter().map(Shard::bytes).sum::<usize>() + self.parents.capacity() * size_of::<(u32, Action)>()
    }
}
