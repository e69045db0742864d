//! What there is, for people and for who answers them.

use serde::Serialize;

use super::command::{Acquire, Fence, Mode, Name, SessionId};
use super::{Machine, Session};

/// So many of those who hold a lock are shown.
const MOST_HOLDERS: usize = 100;

/// A session, as it can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionView<'m> {
    /// Its number.
    pub session: SessionId,
    /// What people call it.
    pub label: &'m str,
    /// Who may use it.
    pub owner: &'m str,
    /// How long it lasts without renewal.
    pub ttl_ms: u64,
    /// When it was opened, by the leader's calendar.
    pub since_ms: u64,
    /// The number of the command that opened it.
    pub opened: u64,
}

/// Somebody who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// Who.
    pub session: SessionId,
    /// What people call it.
    pub label: String,
    /// The number of its grant.
    pub fence: Fence,
    /// With whom it shares it.
    pub mode: Mode,
    /// Since when, by the leader's calendar.
    pub since_ms: u64,
    /// What it says.
    pub value: Vec<u8>,
}

/// Somebody who waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiter {
    /// Who.
    pub session: SessionId,
    /// What people call it.
    pub label: String,
    /// With whom it would share it.
    pub mode: Mode,
    /// Since when, by the leader's calendar.
    pub since_ms: u64,
}

/// A lock or an election, as it can be seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LockView {
    /// Who holds it, up to a limit.
    pub holders: Vec<Holder>,
    /// How many hold it in all.
    pub holding: u64,
    /// Who waits, in order, up to a limit.
    pub waiters: Vec<Waiter>,
    /// How many wait in all.
    pub waiting: u64,
    /// For how long nobody gets it after a loss, and the number of that delay: the longest, if there are several.
    pub delay: Option<(Fence, u64)>,
}

impl Machine {
    /// A session, if it exists.
    pub fn session(&self, id: SessionId) -> Option<SessionView<'_>> {
        self.sessions.get(&id).map(|session| seen(id, session))
    }

    /// All sessions, in the order of their numbers.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = SessionView<'_>> {
        self.sessions.iter().map(|(&id, session)| seen(id, session))
    }

    /// What a session holds or awaits.
    pub fn places(&self, id: SessionId) -> impl Iterator<Item = &Name> {
        self.sessions.get(&id).into_iter().flat_map(|session| session.places.keys())
    }

    /// How many locks and elections a session holds, and how many it waits for.
    pub fn burden(&self, id: SessionId) -> (usize, usize) {
        let holds = self.places(id).filter(|name| self.fence_of(id, name).is_some()).count();
        (holds, self.places(id).count() - holds)
    }

    /// The names of all locks and elections that somebody holds or awaits, or that nobody gets for a while.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &Name> + Clone {
        self.locks.keys()
    }

    /// How often a backup was restored, or a number larger than that.
    pub fn generation(&self) -> u16 {
        self.generation
    }

    /// The grant of a session, if it holds this.
    pub fn fence_of(&self, id: SessionId, name: &Name) -> Option<Fence> {
        Some(self.locks.get(name)?.holders.get(&id)?.fence)
    }

    /// A lock or an election, with so many of those who wait; nobody holds or awaits what there is nothing of.
    pub fn lock(&self, name: &Name, most_waiters: usize) -> Option<LockView> {
        let lock = self.locks.get(name)?;
        let label = |id: &SessionId| self.sessions.get(id).map_or_else(String::new, |session| session.label.clone());
        let holders = lock.holders.iter().take(MOST_HOLDERS).map(|(id, holding)| Holder {
            session: *id,
            label: label(id),
            fence: holding.fence,
            mode: holding.mode,
            since_ms: holding.since_ms,
            value: holding.value.clone(),
        });
        let waiters = lock.line.values().take(most_waiters).map(|waiting| Waiter {
            session: waiting.session,
            label: label(&waiting.session),
            mode: waiting.mode,
            since_ms: waiting.since_ms,
        });
        Some(LockView {
            holders: holders.collect(),
            holding: lock.holders.len() as u64,
            waiters: waiters.collect(),
            waiting: lock.line.len() as u64,
            delay: lock.longest_delay(),
        })
    }

    /// How many hold a lock or an election, and how many wait for it.
    pub fn crowd(&self, name: &Name) -> (usize, usize) {
        self.locks.get(name).map_or((0, 0), |lock| (lock.holders.len(), lock.line.len()))
    }

    /// Whether this request would have to wait in line, as things are.
    pub fn queues(&self, acquire: &Acquire) -> bool {
        acquire.wait && self.locks.get(&acquire.name).is_some_and(|lock| !lock.is_free_for(acquire.mode))
    }

    /// How many hold the lock or wait before this session, if it waits.
    pub fn ahead_of(&self, id: SessionId, name: &Name) -> Option<u64> {
        let (lock, place) = (self.locks.get(name)?, self.sessions.get(&id)?.places.get(name)?);
        lock.line.contains_key(place).then(|| lock.ahead_of(*place))
    }

    /// All delays that have not ended: of which lock, their numbers, how long they are.
    pub fn delays(&self) -> impl Iterator<Item = (&Name, Fence, u64)> {
        self.locks.iter().flat_map(|(name, lock)| lock.delays.iter().map(move |(&fence, &ms)| (name, fence, ms)))
    }
}

fn seen(id: SessionId, session: &Session) -> SessionView<'_> {
    let Session { label, owner, ttl_ms, since_ms, opened, .. } = session;
    SessionView { session: id, label, owner, ttl_ms: *ttl_ms, since_ms: *since_ms, opened: *opened }
}
