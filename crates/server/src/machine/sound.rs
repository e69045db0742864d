//! Whether a machine could have come about by commands. One that was read from somewhere is looked at before it is
//! used: what the machine relies on must not be for others to break.

use std::collections::BTreeMap;

use super::command::{Fence, Mode, Name, SessionId};
use super::lock::Lock;
use super::{Machine, Session};

/// There are no more commands than this, with room for all that a cluster can do in a year.
const MOST_COMMANDS: u64 = 1 << 44;

impl Machine {
    /// Whether sessions and locks say the same of each other, after so many commands.
    pub fn is_sound(&self, commands: u64) -> bool {
        let sessions = || self.sessions.iter().all(|(&id, session)| self.knows(id, session, commands));
        let locks =
            || self.locks.iter().all(|(name, lock)| !lock.is_idle() && lock.is_sound() && self.admits(name, lock));
        commands < MOST_COMMANDS
            && self.generation <= Fence::LAST_GENERATION
            && sessions()
            && locks()
            && self.bytes == self.count_bytes()
    }

    /// Whether a session has all the places that it believes to have.
    fn knows(&self, id: SessionId, session: &Session, commands: u64) -> bool {
        let has_place = |(name, place): (&Name, &u64)| {
            *place <= commands
                && self.locks.get(name).is_some_and(|lock| match lock.line.get(place) {
                    Some(waiting) => waiting.session == id && !lock.holders.contains_key(&id),
                    None => lock.holders.contains_key(&id),
                })
        };
        SessionId::new(id.number()) == Some(id) && session.places.iter().all(has_place)
    }

    /// Whether all who hold or await a lock know of it.
    fn admits(&self, name: &Name, lock: &Lock) -> bool {
        let place = |id: &SessionId| self.sessions.get(id).and_then(|session| session.places.get(name));
        lock.holders.keys().all(|id| place(id).is_some())
            && lock.line.iter().all(|(at, waiting)| place(&waiting.session) == Some(at))
    }
}

impl Lock {
    /// Whether it has counted right.
    fn is_sound(&self) -> bool {
        let holding = self.holders.values().map(|holding| holding.mode);
        let first = holding.clone().next();
        let waiting = self.line.values().map(|waiting| waiting.mode);
        let with_permits = holding.clone().chain(waiting).filter_map(|mode| match mode {
            Mode::Permit { of } => Some(of),
            Mode::Exclusive | Mode::Shared => None,
        });
        let mut crowds: BTreeMap<u64, u64> = BTreeMap::new();
        for arrival in self.arrivals_in_line() {
            *crowds.entry(Lock::crowd_of(arrival)).or_default() += 1;
        }
        let permits: Vec<_> = with_permits.collect();
        let are_alike = permits.iter().all(|of| Some(*of) == self.permits());
        let arrivals: Vec<_> = self.arrivals_in_line().collect();
        holding.clone().all(|mode| Some(mode) == first)
            && are_alike
            && self.has_counted(permits.len() as u64, &crowds)
            && arrivals.is_sorted_by(|one, next| one < next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Acquire, Command, Moment};

    fn crowded() -> (Machine, u64) {
        let (mut machine, mut index) = (Machine::default(), 0);
        for number in 1..=6 {
            let session = SessionId::new(number).unwrap();
            let (label, owner) = (String::new(), String::new());
            let mode = if number > 3 { Mode::Permit { of: 2 } } else { Mode::Exclusive };
            let wait = Acquire {
                session,
                request: 1,
                call: 0,
                name: Name::lock(if number > 3 { "permits" } else { "a" }),
                mode,
                wait: true,
                delay_ms: 5,
                value: Vec::new(),
            };
            let open = Command::Open { session, ttl_ms: 1000, label, owner, transient: false };
            for command in [open, Command::Acquire(wait)] {
                index += 1;
                machine.apply(Moment { index, at_ms: 0 }, command);
            }
        }
        (machine, index)
    }

    #[test]
    fn what_commands_have_brought_about_is_sound_and_what_was_changed_is_not() {
        let (machine, commands) = crowded();
        assert!(machine.is_sound(commands) && Machine::default().is_sound(0));
        assert!(!machine.is_sound(commands - 2) && !machine.is_sound(u64::MAX));
        let session = |number| SessionId::new(number).unwrap();
        let changes: [fn(&mut Machine); 7] = [
            |machine| machine.bytes -= 1,
            |machine| machine.generation = u16::MAX,
            |machine| drop(machine.sessions.pop_first()),
            |machine| drop(machine.locks.pop_first()),
            |machine| drop(machine.locks.values_mut().next().unwrap().line.pop_first()),
            |machine| machine.locks.values_mut().next().unwrap().holders.clear(),
            |machine| drop(machine.locks.insert(Name::lock("idle"), Lock::default())),
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let mut changed = machine.clone();
            change(&mut changed);
            assert!(!changed.is_sound(commands), "change {at}");
        }
        let mut moved = machine;
        moved.sessions.get_mut(&session(2)).unwrap().places.insert(Name::lock("a"), 6);
        assert!(!moved.is_sound(commands));
    }
}
