//! Process numbers, and sets of them.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// The number of a process: 1, 2, … n. There is no process 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(NonZeroU32);

impl Id {
    /// The process with this number.
    ///
    /// # Panics
    /// If the number is 0; where it comes from outside, use [`Id::try_from`].
    pub const fn new(number: u32) -> Id {
        match NonZeroU32::new(number) {
            Some(number) => Id(number),
            None => panic!("processes are numbered from 1"),
        }
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0.get()
    }

    /// Its place in an array of all processes.
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The process at this place in an array of all processes.
    pub const fn at(index: usize) -> Id {
        Id::new(index as u32 + 1)
    }

    /// All processes of a group of `n`, in order.
    pub fn all(n: u32) -> impl DoubleEndedIterator<Item = Id> + Clone {
        (1..=n).map(Id::new)
    }

    /// All processes of a group of `n` but this one, in order.
    pub fn others(self, n: u32) -> impl DoubleEndedIterator<Item = Id> + Clone {
        Id::all(n).filter(move |&id| id != self)
    }

    /// The next process on the ring 1, 2, … n, 1.
    pub fn successor(self, n: u32) -> Id {
        Id::new(self.number() % n + 1)
    }

    /// The previous process on the ring 1, 2, … n, 1.
    pub fn predecessor(self, n: u32) -> Id {
        Id::new((self.number() + n - 2) % n + 1)
    }
}

impl TryFrom<u32> for Id {
    type Error = core::num::TryFromIntError;

    fn try_from(number: u32) -> Result<Id, Self::Error> {
        NonZeroU32::try_from(number).map(Id)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A set of processes: one bit each, so that what n processes keep of each other stays small.
///
/// Equal sets are equal values whatever led to them: no word at the end is ever zero.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct IdSet {
    words: Vec<u64>,
}

const BITS: usize = u64::BITS as usize;

impl IdSet {
    /// The empty set.
    pub const fn new() -> IdSet {
        IdSet { words: Vec::new() }
    }

    /// All of a group of `n` but `me`.
    pub fn others(me: Id, n: u32) -> IdSet {
        let n = n as usize;
        let mut words = alloc::vec![u64::MAX; n / BITS];
        if !n.is_multiple_of(BITS) {
            words.push((1 << (n % BITS)) - 1);
        }
        let mut set = IdSet { words };
        set.remove(me);
        set
    }

    /// Adds a process; false if it was there already.
    pub fn insert(&mut self, id: Id) -> bool {
        let (word, bit) = (id.index() / BITS, 1 << (id.index() % BITS));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let absent = self.words[word] & bit == 0;
        self.words[word] |= bit;
        absent
    }

    /// Removes a process; false if it was not there.
    pub fn remove(&mut self, id: Id) -> bool {
        let (word, bit) = (id.index() / BITS, 1u64 << (id.index() % BITS));
        let Some(bits) = self.words.get_mut(word) else { return false };
        let present = *bits & bit != 0;
        *bits &= !bit;
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
        present
    }

    /// Whether the process is in the set.
    pub fn contains(&self, id: Id) -> bool {
        let bit = 1u64 << (id.index() % BITS);
        self.words.get(id.index() / BITS).is_some_and(|word| word & bit != 0)
    }

    /// Whether nobody is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = Id> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            core::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                Some(Id::at(index * BITS + bit))
            })
        })
    }

    /// Empties the set and gives what was in it.
    pub fn take(&mut self) -> IdSet {
        core::mem::take(self)
    }
}

impl FromIterator<Id> for IdSet {
    fn from_iter<I: IntoIterator<Item = Id>>(ids: I) -> IdSet {
        let mut set = IdSet::new();
        for id in ids {
            set.insert(id);
        }
        set
    }
}

impl fmt::Debug for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
