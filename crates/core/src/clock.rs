//! Logical time: Lamport's clock, the total order made of it, vector clocks; and fences, the numbers of entries.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::process::Stable;

/// A reading of a Lamport clock.
///
/// One that comes from outside is refused above [`Number::LARGEST_RECEIVED`], half of what a [`Fence`] can hold, so
/// that no peer can make a clock run over. (One that lies can still bring it to where others refuse what it says:
/// crashes are survived here, lies are not.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Number(u64);

impl Stable for Number {}

impl Number {
    /// What every clock shows at first.
    pub const ZERO: Number = Number(0);
    /// The largest number accepted from outside.
    pub const LARGEST_RECEIVED: u64 = (1 << (Fence::NUMBER_BITS - 1)) - 1;

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Number {
        Number(self.0 + 1)
    }

    /// The reading as an integer.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl From<Number> for u64 {
    fn from(number: Number) -> u64 {
        number.0
    }
}

impl TryFrom<u64> for Number {
    type Error = NumberTooLarge;

    fn try_from(number: u64) -> Result<Number, NumberTooLarge> {
        if number <= Number::LARGEST_RECEIVED { Ok(Number(number)) } else { Err(NumberTooLarge(number)) }
    }
}

/// Whether entries are counted, for their fences.
///
/// They are, but where every state is to be explored while the applications never stop asking: there a count would make
/// each state a new one for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Counting {
    /// Each entry has the next number.
    #[default]
    Up,
    /// All have the same.
    Still,
}

impl Counting {
    /// The number of the entry after the one with this number.
    #[must_use]
    pub const fn after(self, number: Number) -> Number {
        match self {
            Counting::Up => number.next(),
            Counting::Still => number,
        }
    }
}

/// A number that no honest clock can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberTooLarge(u64);

impl fmt::Display for NumberTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the number {} is larger than any clock can show ({})", self.0, Number::LARGEST_RECEIVED)
    }
}

impl core::error::Error for NumberTooLarge {}

/// Lamport's clock: the highest number seen so far.
///
/// It moves at the events an algorithm names (requests, releases) and takes the maximum on receipt. A tick at *every*
/// event is correct too, orders nothing more that matters here, and multiplies the states to explore.
///
/// **Crashes.** A process whose clock comes to another [block](LamportClock::BLOCK) of numbers saves the end of that
/// block before anybody hears of it; its next life [goes on](LamportClock::reborn) from there. So no number is used
/// twice, and none is smaller than one of a former life, for one save in a thousand numbers. Who survives another may
/// [begin another era](LamportClock::begin_era), past whatever numbers the other has taken with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LamportClock {
    highest: Number,
}

impl LamportClock {
    /// How many numbers one save is for.
    pub const BLOCK: u64 = 1 << 10;
    /// How many numbers an era has: nobody uses up so many without being heard of.
    pub const ERA: u64 = 1 << 16;

    /// The clock of a life that begins with what the one before had saved.
    pub fn reborn(saved: Option<Number>) -> LamportClock {
        LamportClock { highest: saved.unwrap_or_default() }
    }

    /// The end of the block of numbers that it is in: what to save when a life begins.
    pub fn end_of_block(&self) -> Number {
        let end = (self.highest.0 / LamportClock::BLOCK + 1) * LamportClock::BLOCK;
        Number(end.min(Number::LARGEST_RECEIVED))
    }

    /// What to save, first of all, if it has come to another block since it showed `before`.
    pub fn begun_since(&self, before: Number) -> Option<Number> {
        (self.highest.0 / LamportClock::BLOCK > before.0 / LamportClock::BLOCK).then(|| self.end_of_block())
    }

    /// In which era a number is.
    pub const fn era_of(number: Number) -> u64 {
        number.0 / LamportClock::ERA
    }

    /// Moves on to the next era, to its second number: the first is for who [comes there](Self::comes_unheard) by
    /// counting. There are four million eras; in the last one it stays, as others would not accept more.
    pub fn begin_era(&mut self) {
        let beginning = (LamportClock::era_of(self.highest) + 1) * LamportClock::ERA + 1;
        if beginning <= Number::LARGEST_RECEIVED {
            self.highest = Number(beginning);
        }
    }

    /// Whether it has come to the era in which it is by its last two ticks, so that perhaps nobody has heard of that.
    pub fn comes_unheard(&self) -> bool {
        LamportClock::era_of(Number(self.highest.0.saturating_sub(2))) < LamportClock::era_of(self.highest)
    }

    /// Moves on, and shows the new number: larger than all seen so far.
    pub fn tick(&mut self) -> Number {
        self.highest = self.highest.next();
        self.highest
    }

    /// Sees a number somewhere else.
    pub fn observe(&mut self, number: Number) {
        self.highest = self.highest.max(number);
    }

    /// The highest number seen so far.
    pub const fn now(&self) -> Number {
        self.highest
    }
}

/// A number made unique by the process that gave it: the total order of requests, (1, p1) < (1, p2) < (2, p1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp {
    /// When, by the requester's clock.
    pub number: Number,
    /// Who; breaks ties.
    pub id: Id,
}

impl Timestamp {
    /// The moment `number` at process `id`.
    pub const fn new(number: Number, id: Id) -> Timestamp {
        Timestamp { number, id }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.number.0, self.id)
    }
}

/// The time in which one process serves the others: counts the grants, or has made the token that counts the entries.
///
/// Who begins one takes a number that is its own, so that no two begin the same, whatever they believe of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Epoch(u32);

impl Stable for Epoch {}

impl Epoch {
    /// The one in which everything begins, and which nobody has to begin.
    pub const FIRST: Epoch = Epoch(0);
    /// There is none after this.
    pub const LAST: Epoch = Epoch((1 << Fence::EPOCH_BITS) - 1);

    /// The first epoch after this one that is `me`'s to begin, in a group of `n`; nothing when all are used up.
    pub fn next_of(self, me: Id, n: u32) -> Option<Epoch> {
        let (me, n) = (me.number() % n, n);
        let ahead = (me + n - (self.0 + 1) % n) % n;
        Some(Epoch(self.0 + 1 + ahead)).filter(|&next| next <= Epoch::LAST)
    }

    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl From<Epoch> for u32 {
    fn from(epoch: Epoch) -> u32 {
        epoch.0
    }
}

impl TryFrom<u32> for Epoch {
    type Error = NumberTooLarge;

    fn try_from(number: u32) -> Result<Epoch, NumberTooLarge> {
        if number <= Epoch::LAST.0 { Ok(Epoch(number)) } else { Err(NumberTooLarge(number.into())) }
    }
}

/// The number of an entry: strictly larger than that of any earlier entry to the same resource.
///
/// One integer below 2^53, so that every language's JSON keeps it exactly. It is made in one of two ways: from a
/// request's timestamp (39 bits of number, 14 of process), or from an epoch and a count within it (26 and 27). Who has
/// counted to [the end](Fence::ends_epoch) of an epoch begins another; where there is only one, it may go on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(u64);

impl Fence {
    const BITS: u32 = 53;
    const ID_BITS: u32 = 14;
    const NUMBER_BITS: u32 = Fence::BITS - Fence::ID_BITS;
    const EPOCH_BITS: u32 = 26;
    const COUNT_BITS: u32 = Fence::BITS - Fence::EPOCH_BITS;
    /// The largest group whose ids fit.
    pub const MOST_PROCESSES: u32 = (1 << Fence::ID_BITS) - 1;

    /// The fence of a request that entries follow in timestamp order.
    pub fn stamped(request: Timestamp) -> Fence {
        assert!(request.number.0 < 1 << Fence::NUMBER_BITS, "received numbers are limited, so a clock never gets here");
        Fence(request.number.0 << Fence::ID_BITS | u64::from(request.id.number()))
    }

    /// The `count`-th entry of an epoch.
    pub fn counted(epoch: Epoch, count: Number) -> Fence {
        let beginning = u64::from(epoch.0) << Fence::COUNT_BITS;
        Fence(beginning.saturating_add(count.0).min((1 << Fence::BITS) - 1))
    }

    /// Whether this was the last entry of its epoch: the next one would have the number of one of the next epoch.
    pub const fn ends_epoch(count: Number) -> bool {
        count.0 + 1 >= 1 << Fence::COUNT_BITS
    }

    /// The integer to give to the resource.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A vector clock: how many events of each process are in the past.
///
/// `a < b` if `a` happened before `b`; neither is smaller where they are concurrent. Entries after the last are zero,
/// and the last one kept is not, so that equal clocks are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<u64>")]
pub struct VectorClock(Vec<u64>);

impl From<Vec<u64>> for VectorClock {
    fn from(mut entries: Vec<u64>) -> VectorClock {
        while entries.last() == Some(&0) {
            entries.pop();
        }
        VectorClock(entries)
    }
}

impl VectorClock {
    /// An event of `id`.
    pub fn tick(&mut self, id: Id) {
        if self.0.len() <= id.index() {
            self.0.resize(id.index() + 1, 0);
        }
        self.0[id.index()] += 1;
    }

    /// Adds everything in the past of `other` to this past.
    pub fn merge(&mut self, other: &VectorClock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// How many events of `id` are in the past.
    pub fn of(&self, id: Id) -> u64 {
        self.0.get(id.index()).copied().unwrap_or(0)
    }
}

impl PartialOrd for VectorClock {
    fn partial_cmp(&self, other: &VectorClock) -> Option<Ordering> {
        let longest = self.0.len().max(other.0.len());
        let (mut less, mut greater) = (false, false);
        for id in (0..longest).map(Id::at) {
            match self.of(id).cmp(&other.of(id)) {
                Ordering::Less => less = true,
                Ordering::Greater => greater = true,
                Ordering::Equal => {}
            }
        }
        match (less, greater) {
            (false, false) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (true, true) => None,
        }
    }
}
