//! One lock: who holds it, who waits in line, and who is next. Strictly first come, first served: whoever arrives
//! waits behind everybody who waits, even if it could share the lock with its holders.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Moment;
use super::command::{Acquire, Fence, Mode, SessionId};

/// A lock that somebody holds or awaits, or that nobody gets for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lock {
    pub(super) holders: BTreeMap<SessionId, Holding>,
    /// Who waits, by the number of the command that put it there.
    pub(super) line: BTreeMap<u64, Waiting>,
    /// Nobody gets it before this delay has ended.
    pub(super) delay: Option<Delay>,
    permits: Option<Permits>,
}

/// How many permits there are, for as long as anybody holds or awaits one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Permits {
    of: u32,
    /// How many hold or await one.
    users: u64,
}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holding {
    pub(super) fence: Fence,
    pub(super) mode: Mode,
    pub(super) delay_ms: u64,
    pub(super) value: Vec<u8>,
    pub(super) since_ms: u64,
}

/// A place in line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) session: SessionId,
    pub(super) mode: Mode,
    pub(super) delay_ms: u64,
    pub(super) value: Vec<u8>,
    pub(super) since_ms: u64,
}

/// Why nobody gets a lock for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Delay {
    /// The grant that was lost.
    pub(super) fence: Fence,
    pub(super) delay_ms: u64,
}

/// Somebody got the lock.
pub(super) struct Admitted {
    pub(super) session: SessionId,
    /// Since when it had waited.
    pub(super) since_ms: u64,
    pub(super) value: Vec<u8>,
}

impl Lock {
    /// Whether nothing would be lost if it were forgotten.
    pub(super) fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.line.is_empty() && self.delay.is_none()
    }

    /// Puts a request at the end of the line.
    pub(super) fn queue(&mut self, acquire: Acquire, moment: Moment) {
        let Acquire { session, mode, delay_ms, value, .. } = acquire;
        if let Mode::Permit { of } = mode {
            let users = self.permits.map_or(0, |permits| permits.users);
            self.permits = Some(Permits { of, users: users + 1 });
        }
        self.line.insert(moment.index, Waiting { session, mode, delay_ms, value, since_ms: moment.at_ms });
    }

    /// Whether a request that comes now gets the lock at once.
    pub(super) fn is_free_for(&self, mode: Mode) -> bool {
        self.line.is_empty() && self.admits(mode)
    }

    /// Whether the next in line gets the lock, if it asks for this mode.
    fn admits(&self, mode: Mode) -> bool {
        if self.delay.is_some() {
            return false;
        }
        match mode {
            Mode::Exclusive => self.holders.is_empty(),
            Mode::Shared => self.holders.values().all(|holding| holding.mode == Mode::Shared),
            Mode::Permit { of } => {
                self.holders.len() < of as usize && self.holders.values().all(|holding| holding.mode == mode)
            }
        }
    }

    /// Lets in who is next, if it can be let in.
    pub(super) fn admit(&mut self, fence: Fence, moment: Moment) -> Option<Admitted> {
        let (_, next) = self.line.first_key_value()?;
        if !self.admits(next.mode) {
            return None;
        }
        let (_, Waiting { session, mode, delay_ms, value, since_ms }) = self.line.pop_first()?;
        let admitted = Admitted { session, since_ms, value: value.clone() };
        self.holders.insert(session, Holding { fence, mode, delay_ms, value, since_ms: moment.at_ms });
        Some(admitted)
    }

    /// Takes out who holds it.
    pub(super) fn remove_holder(&mut self, session: SessionId) -> Option<Holding> {
        let holding = self.holders.remove(&session)?;
        self.remove_user(holding.mode);
        Some(holding)
    }

    /// Takes out who waits at this place.
    pub(super) fn remove_waiter(&mut self, place: u64) {
        if let Some(waiting) = self.line.remove(&place) {
            self.remove_user(waiting.mode);
        }
    }

    fn remove_user(&mut self, mode: Mode) {
        if let (Mode::Permit { .. }, Some(permits)) = (mode, &mut self.permits) {
            permits.users -= 1;
            if permits.users == 0 {
                self.permits = None;
            }
        }
    }

    /// How many hold it or wait before this place.
    pub(super) fn ahead_of(&self, place: u64) -> u64 {
        (self.holders.len() + self.line.range(..place).count()) as u64
    }

    /// How many permits there are, if anybody holds or awaits one.
    pub(super) fn permits(&self) -> Option<u32> {
        self.permits.map(|permits| permits.of)
    }
}
