//! What a process knows of its sessions with each other one.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::{Limits, Message};
use crate::id::Id;

/// A session of one process with another: in which of its own lives, and the how-manieth of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) life: u64,
    pub(super) count: u64,
}

impl Session {
    /// Everybody's first session with everybody.
    const FIRST: Session = Session { life: 1, count: 0 };

    pub(super) fn begins_later_life(self) -> bool {
        self.life > 1 && self.count == 0
    }
}

/// What one process knows of its sessions with another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Link<M> {
    pub(super) mine: Session,
    /// The other's session, if any was heard of since ours began.
    pub(super) theirs: Option<Session>,
    /// The latest that was ever heard of: who speaks in an earlier one speaks of the past.
    pub(super) latest: Session,
    /// Whether the two sessions know each other: from then on, a new one of the other ends ours.
    pub(super) is_established: bool,
    pub(super) is_suspected: bool,
    /// Whether there was no room for what is to be said to it, so that it is taken for dead for a while.
    pub(super) is_overfull: bool,
    /// What has not been acknowledged, and the number of the first of it.
    pub(super) unacknowledged: VecDeque<M>,
    pub(super) first: u64,
    /// The number of the first message from the other that has not arrived.
    pub(super) expected: u64,
    /// What has arrived too early, by its number.
    pub(super) early: BTreeMap<u64, M>,
    /// How many have arrived since an acknowledgement was sent.
    pub(super) owed: usize,
}

/// The sessions of a process with all others, each at its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Links<M> {
    me: Id,
    links: Vec<Link<M>>,
}

impl<M> Links<M> {
    /// As they are at the very beginning.
    pub(super) fn new(me: Id, n: u32) -> Self {
        Links { me, links: me.others(n).map(|_| Link::first()).collect() }
    }

    /// Those before this process have its number as their place, those after it one less.
    fn place(&self, other: Id) -> Option<usize> {
        match other.cmp(&self.me) {
            Ordering::Less => Some(other.index()),
            Ordering::Equal => None,
            Ordering::Greater => Some(other.index() - 1),
        }
    }

    /// The sessions with this one, if it belongs to the group.
    pub(super) fn get(&self, other: Id) -> Option<&Link<M>> {
        self.links.get(self.place(other)?)
    }

    pub(super) fn get_mut(&mut self, other: Id) -> Option<&mut Link<M>> {
        let place = self.place(other)?;
        self.links.get_mut(place)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &Link<M>)> {
        self.me.others(self.links.len() as u32 + 1).zip(&self.links)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Link<M>> {
        self.links.iter_mut()
    }
}

impl<M> Link<M> {
    fn first() -> Self {
        Link {
            mine: Session::FIRST,
            theirs: Some(Session::FIRST),
            latest: Session::FIRST,
            is_established: true,
            is_suspected: false,
            is_overfull: false,
            unacknowledged: VecDeque::new(),
            first: 0,
            expected: 0,
            early: BTreeMap::new(),
            owed: 0,
        }
    }

    /// Whether nothing is said to it, and nothing heard of it.
    pub(super) fn is_mute(&self) -> bool {
        self.is_suspected || self.is_overfull
    }
}

impl<M: Clone> Link<M> {
    /// Begins a new session of ours.
    pub(super) fn begin(&mut self, theirs: Option<Session>) {
        self.mine.count += 1;
        self.theirs = theirs;
        self.is_established = false;
        self.forget();
    }

    pub(super) fn forget(&mut self) {
        self.unacknowledged.clear();
        self.early.clear();
        (self.first, self.expected, self.owed) = (0, 0, 0);
    }

    /// One more has arrived with all before it.
    pub(super) fn arrive(&mut self) {
        self.expected += 1;
        self.owed += 1;
    }

    pub(super) fn in_flight(&self, limits: Limits) -> usize {
        self.unacknowledged.len().min(limits.in_flight)
    }

    /// Takes the next message that has arrived with all before it.
    pub(super) fn next(&mut self) -> Option<M> {
        let first = self.early.first_entry().filter(|first| *first.key() < self.expected)?;
        Some(first.remove())
    }

    pub(super) fn say(&self, content: Option<(u64, M)>) -> Message<M> {
        let (from, to, asks) = (self.mine, self.theirs, !self.is_established);
        Message { from, to, asks, acknowledged: self.expected, content }
    }
}
