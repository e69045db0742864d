//! One lock: who holds it, who waits in line, and who is next. Strictly first come, first served: whoever arrives
//! waits behind everybody who waits, even if it could share the lock with its holders.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Moment;
use super::command::{Acquire, Fence, Mode, SessionId};

/// A lock that somebody holds or awaits, or that nobody gets for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Lock {
    /// Boxed, as most locks have one holder, and a tree has room for eleven.
    pub(super) holders: BTreeMap<SessionId, Box<Holding>>,
    /// Who waits, by the number of the command that put it there.
    pub(super) line: BTreeMap<u64, Waiting>,
    /// Nobody gets it before these have ended: each by its number, with its length in milliseconds. There are several
    /// where holders who shared it were lost one after the other.
    pub(super) delays: BTreeMap<Fence, u64>,
    permits: Option<Permits>,
    /// How many have ever stood in this line.
    arrivals: u64,
    /// How many of each [`CROWD`] arrivals still wait, if any: so that nobody's place is counted person by person.
    crowds: BTreeMap<u64, u64>,
}

/// So many arrivals are counted together.
const CROWD: u64 = 256;

/// How many permits there are, for as long as anybody holds or awaits one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Permits {
    of: u32,
    /// How many hold or await one.
    users: u64,
}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Holding {
    pub(super) fence: Fence,
    /// The call that it was granted to, for as long as nobody else has asked for it.
    pub(super) call: u64,
    pub(super) mode: Mode,
    pub(super) delay_ms: u64,
    pub(super) value: Vec<u8>,
    pub(super) since_ms: u64,
}

/// A place in line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) session: SessionId,
    /// The number of the last request that asked for it.
    pub(super) request: u64,
    /// The last call that asked for it.
    pub(super) call: u64,
    pub(super) mode: Mode,
    pub(super) delay_ms: u64,
    pub(super) value: Vec<u8>,
    pub(super) since_ms: u64,
    /// How many came before it, ever.
    arrival: u64,
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
        self.holders.is_empty() && self.line.is_empty() && self.delays.is_empty()
    }

    /// Grants it to a request that does not have to wait.
    pub(super) fn grant(&mut self, acquire: Acquire, fence: Fence, moment: Moment) {
        self.add_user(acquire.mode);
        let Acquire { session, call, mode, delay_ms, value, .. } = acquire;
        self.holders.insert(session, Box::new(Holding { fence, call, mode, delay_ms, value, since_ms: moment.at_ms }));
    }

    /// Puts a request at the end of the line.
    pub(super) fn queue(&mut self, acquire: Acquire, moment: Moment) {
        self.add_user(acquire.mode);
        let Acquire { session, request, call, mode, delay_ms, value, .. } = acquire;
        let arrival = self.arrivals;
        self.arrivals += 1;
        *self.crowds.entry(arrival / CROWD).or_default() += 1;
        let waiting = Waiting { session, request, call, mode, delay_ms, value, since_ms: moment.at_ms, arrival };
        self.line.insert(moment.index, waiting);
    }

    /// Whether a request that comes now gets the lock at once.
    pub(super) fn is_free_for(&self, mode: Mode) -> bool {
        self.line.is_empty() && self.admits(mode)
    }

    /// Whether the next in line gets the lock, if it asks for this mode.
    fn admits(&self, mode: Mode) -> bool {
        if !self.delays.is_empty() {
            return false;
        }
        // All who hold a lock hold it in the same mode, so that one speaks for all.
        let Some((_, holding)) = self.holders.first_key_value() else { return mode != Mode::Permit { of: 0 } };
        match mode {
            Mode::Exclusive => false,
            Mode::Shared => holding.mode == mode,
            Mode::Permit { of } => holding.mode == mode && self.holders.len() < of as usize,
        }
    }

    /// Lets in who is next, if it can be let in.
    pub(super) fn admit(&mut self, fence: Fence, moment: Moment) -> Option<Admitted> {
        let (_, next) = self.line.first_key_value()?;
        if !self.admits(next.mode) {
            return None;
        }
        let (_, Waiting { session, call, mode, delay_ms, value, since_ms, arrival, .. }) = self.line.pop_first()?;
        self.leave_crowd(arrival);
        let admitted = Admitted { session, since_ms, value: value.clone() };
        self.holders.insert(session, Box::new(Holding { fence, call, mode, delay_ms, value, since_ms: moment.at_ms }));
        Some(admitted)
    }

    /// Takes out who holds it.
    pub(super) fn remove_holder(&mut self, session: SessionId) -> Option<Box<Holding>> {
        let holding = self.holders.remove(&session)?;
        self.remove_user(holding.mode);
        Some(holding)
    }

    /// Takes out who waits at this place.
    pub(super) fn remove_waiter(&mut self, place: u64) -> Option<Waiting> {
        let waiting = self.line.remove(&place)?;
        self.leave_crowd(waiting.arrival);
        self.remove_user(waiting.mode);
        Some(waiting)
    }

    fn leave_crowd(&mut self, arrival: u64) {
        let crowd = arrival / CROWD;
        let left = self.crowds.get_mut(&crowd).expect("every waiter is counted");
        *left -= 1;
        if *left == 0 {
            self.crowds.remove(&crowd);
        }
        if self.line.is_empty() {
            // A tree that was emptied keeps its room, and a lock may be held for days after the last has waited.
            (self.line, self.crowds) = (BTreeMap::new(), BTreeMap::new());
        }
    }

    fn add_user(&mut self, mode: Mode) {
        if let Mode::Permit { of } = mode {
            let users = self.permits.map_or(0, |permits| permits.users);
            self.permits = Some(Permits { of, users: users + 1 });
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
        let crowd = self.line.get(&place).map_or(0, |waiting| waiting.arrival / CROWD);
        let in_crowd = self.line.range(..place).rev().take_while(|(_, before)| before.arrival / CROWD == crowd);
        let in_earlier_crowds: u64 = self.crowds.range(..crowd).map(|(_, count)| count).sum();
        (self.holders.len() + in_crowd.count()) as u64 + in_earlier_crowds
    }

    /// The longest delay, the later one if there are two.
    pub(super) fn longest_delay(&self) -> Option<(Fence, u64)> {
        self.delays.iter().map(|(&fence, &delay_ms)| (fence, delay_ms)).max_by_key(|&(fence, ms)| (ms, fence))
    }

    /// When each of those who wait came, in order.
    pub(super) fn arrivals_in_line(&self) -> impl Iterator<Item = u64> {
        self.line.values().map(|waiting| waiting.arrival)
    }

    /// With whom an arrival is counted together.
    pub(super) fn crowd_of(arrival: u64) -> u64 {
        arrival / CROWD
    }

    /// Whether so many use permits, these crowds wait, and nobody came later than the last.
    pub(super) fn has_counted(&self, users: u64, crowds: &BTreeMap<u64, u64>) -> bool {
        self.permits.map_or(0, |permits| permits.users) == users
            && self.permits.is_none_or(|permits| permits.users > 0)
            && self.crowds == *crowds
            && self.arrivals_in_line().all(|arrival| arrival < self.arrivals)
            && self.arrivals < 1 << 62
    }

    /// How many permits there are, if anybody holds or awaits one.
    pub(super) fn permits(&self) -> Option<u32> {
        self.permits.map(|permits| permits.of)
    }
}
