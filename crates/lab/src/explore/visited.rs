//! The states seen so far: fingerprints in shards, each state's number, and where it came from.
//!
//! A fingerprint and its number take 16 bytes, side by side as both are read at once, in a table that is more than
//! half full once it has grown; the way back takes 8: less than 40 bytes a state. Shards make the tables small enough
//! for the cache, and let threads fill different ones at once.

use super::action::Action;

/// How many shards there are. It does not depend on the number of threads, so neither does any answer.
pub(super) const SHARDS: usize = 64;

/// Which shard a fingerprint belongs to.
pub(super) fn shard_of(fingerprint: u64) -> usize {
    (fingerprint >> 58) as usize
}

/// The fingerprints of one shard, each beside the number of its state: open addressing, linear probing.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    /// The fingerprint is 0 where there is none.
    slots: Vec<(u64, u32)>,
    len: usize,
}

const SMALLEST: usize = 64;

impl Shard {
    pub(super) fn new() -> Shard {
        Shard { slots: vec![(0, 0); SMALLEST], len: 0 }
    }

    /// Where a fingerprint is if it does not have to make way for another.
    #[inline]
    fn home(&self, fingerprint: u64) -> usize {
        // The highest bits chose the shard; the next ones choose the place, whatever the size of the table.
        let spread = u128::from(fingerprint << 6) * self.slots.len() as u128;
        (spread >> 64) as usize
    }

    /// What is at the home of a fingerprint: so that the memory of several is under way at once.
    #[inline]
    pub(super) fn at_home(&self, fingerprint: u64) -> u64 {
        self.slots[self.home(fingerprint)].0
    }

    /// Where a fingerprint is, or would be.
    #[inline]
    fn place(&self, fingerprint: u64) -> usize {
        let mut place = self.home(fingerprint);
        while self.slots[place].0 != fingerprint && self.slots[place].0 != 0 {
            place += 1;
            if place == self.slots.len() {
                place = 0;
            }
        }
        place
    }

    /// The number of the state with this fingerprint.
    pub(super) fn get(&self, fingerprint: u64) -> Option<u32> {
        let (found, number) = self.slots[self.place(fingerprint)];
        (found != 0).then_some(number)
    }

    /// The number of the state with this fingerprint; if there is none, it gets this one.
    #[inline]
    pub(super) fn get_or_insert(&mut self, fingerprint: u64, number: u32) -> Option<u32> {
        let place = self.place(fingerprint);
        let slot = &mut self.slots[place];
        if slot.0 != 0 {
            return Some(slot.1);
        }
        *slot = (fingerprint, number);
        self.len += 1;
        if self.len * 8 > self.slots.len() * 7 {
            self.grow();
        }
        None
    }

    /// Gives a state that is there another number.
    pub(super) fn renumber(&mut self, fingerprint: u64, number: u32) {
        let place = self.place(fingerprint);
        debug_assert_ne!(self.slots[place].0, 0, "only what is there can be renumbered");
        self.slots[place].1 = number;
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 8 / 5;
        let slots = std::mem::replace(&mut self.slots, vec![(0, 0); size]);
        for slot in slots.into_iter().filter(|(fingerprint, _)| *fingerprint != 0) {
            let place = self.place(slot.0);
            self.slots[place] = slot;
        }
    }

    fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<(u64, u32)>()
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
