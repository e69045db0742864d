//! The leader's view of time: when each session expires and when each delay ends.
//!
//! Nothing here waits or asks anybody; who does tells what time it is. A session that is due is handed out once, to be
//! expired by a command, and is not renewed any more from then on: an answered renewal and an expiry never cross.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::machine::{Command, Fence, Machine, Name, SessionId};

/// When what is due, for as long as this node leads.
#[derive(Debug, Default)]
pub(super) struct Leases {
    /// The term in which it leads.
    term: u64,
    leases: HashMap<SessionId, Lease>,
    deadlines: BTreeSet<(Instant, SessionId)>,
    /// There are several of one lock where holders who shared it were lost one after the other.
    delays: BTreeMap<(Name, Fence), Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    ttl: Duration,
    /// The number of the command that opened the session.
    opened: u64,
    /// None once its expiry has been handed out.
    deadline: Option<Instant>,
}

/// What a leader that steps down leaves to whoever leads next: how long each session has left. It answers no renewal
/// after it has written this down, so that nothing was promised that is not in here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inheritance {
    /// The term in which it led. Only the leader of the next one may use it: a later one had others before it, which
    /// may have answered renewals.
    pub(super) term: u64,
    /// How long each session has left, in milliseconds.
    pub(super) left_ms: Vec<(SessionId, u64)>,
}

/// An inheritance, and when it came.
#[derive(Debug)]
pub(super) struct Inherited {
    pub(super) at: Instant,
    pub(super) term: u64,
    pub(super) left_ms: HashMap<SessionId, u64>,
}

impl Leases {
    /// Begins to lead: whatever the leader before has promised, every session has its full time, and every delay too.
    /// After a clean hand-over each session has what it had left.
    pub(super) fn begin(now: Instant, term: u64, machine: &Machine, inherited: Option<&Inherited>) -> Leases {
        let mut leases = Leases { term, ..Leases::default() };
        for session in machine.sessions() {
            leases.opened(now, session.session, session.opened, session.ttl_ms);
            let left_ms = inherited.and_then(|inherited| inherited.left_ms.get(&session.session));
            if let (Some(inherited), Some(&left_ms)) = (inherited, left_ms) {
                leases.put_forward(session.session, inherited.at + Duration::from_millis(left_ms));
            }
        }
        for (name, fence, delay_ms) in machine.delays() {
            leases.delayed(now, name.clone(), fence, delay_ms);
        }
        leases
    }

    /// The term in which this node leads.
    pub(super) fn term(&self) -> u64 {
        self.term
    }

    pub(super) fn opened(&mut self, now: Instant, session: SessionId, opened: u64, ttl_ms: u64) {
        let ttl = Duration::from_millis(ttl_ms);
        self.leases.insert(session, Lease { ttl, opened, deadline: Some(now + ttl) });
        self.deadlines.insert((now + ttl, session));
    }

    /// A session is due then, if that is earlier.
    fn put_forward(&mut self, session: SessionId, due: Instant) {
        if let Some(Lease { deadline: Some(deadline), .. }) = self.leases.get_mut(&session)
            && due < *deadline
        {
            self.deadlines.remove(&(*deadline, session));
            *deadline = due;
            self.deadlines.insert((due, session));
        }
    }

    /// What is left of each session, for the next leader.
    pub(super) fn bequeath(&self, now: Instant) -> Inheritance {
        let term = self.term;
        let left = |lease: &Lease| lease.deadline.map_or(Duration::ZERO, |due| due.saturating_duration_since(now));
        let left_ms = self.leases.iter().map(|(id, lease)| (*id, left(lease).as_millis() as u64 + 1));
        Inheritance { term, left_ms: left_ms.collect() }
    }

    pub(super) fn ended(&mut self, session: SessionId) {
        if let Some(Lease { deadline: Some(deadline), .. }) = self.leases.remove(&session) {
            self.deadlines.remove(&(deadline, session));
        }
    }

    pub(super) fn delayed(&mut self, now: Instant, name: Name, fence: Fence, delay_ms: u64) {
        self.delays.insert((name, fence), now + Duration::from_millis(delay_ms));
    }

    /// Gives a session its full time again, and says how long that is; nothing if it is unknown or about to expire.
    pub(super) fn renew(&mut self, now: Instant, session: SessionId) -> Option<Duration> {
        let lease = self.leases.get_mut(&session)?;
        let deadline = lease.deadline.as_mut()?;
        self.deadlines.remove(&(*deadline, session));
        *deadline = now + lease.ttl;
        self.deadlines.insert((*deadline, session));
        Some(lease.ttl)
    }

    /// How long a session has left, and its full time.
    pub(super) fn left(&self, now: Instant, session: SessionId) -> Option<(Duration, Duration)> {
        let lease = self.leases.get(&session)?;
        let left = lease.deadline.map_or(Duration::ZERO, |deadline| deadline.saturating_duration_since(now));
        Some((left, lease.ttl))
    }

    /// The next moment at which something is due.
    pub(super) fn next(&self) -> Option<Instant> {
        let delay = self.delays.values().copied().min();
        let deadline = self.deadlines.first().map(|(deadline, _)| *deadline);
        [delay, deadline].into_iter().flatten().min()
    }

    /// Hands out the commands that are due, each once.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Command> {
        let mut commands = Vec::new();
        while let Some(&(deadline, session)) = self.deadlines.first()
            && deadline <= now
        {
            self.deadlines.pop_first();
            // It may have ended since it was to be expired again, and another one may have been opened by its number.
            if let Some(lease) = self.leases.get_mut(&session)
                && lease.deadline.is_none_or(|due| due == deadline)
            {
                lease.deadline = None;
                commands.push(Command::Expire { session, opened: lease.opened });
            }
        }
        self.delays.retain(|(name, fence), until| {
            let is_due = *until <= now;
            if is_due {
                commands.push(Command::EndDelay { name: name.clone(), fence: *fence });
            }
            !is_due
        });
        commands
    }

    /// Takes back what was handed out and could not be done: it is due again, a little later.
    pub(super) fn again(&mut self, at: Instant, command: Command) {
        match command {
            Command::Expire { session, opened } => {
                // It stays as good as expired: it is due again, but not renewed any more. Unless another one has been
                // opened by its number.
                let lease = self.leases.get(&session);
                if lease.is_some_and(|lease| lease.deadline.is_none() && lease.opened == opened) {
                    self.deadlines.insert((at, session));
                }
            }
            Command::EndDelay { name, fence } => {
                self.delays.entry((name, fence)).or_insert(at);
            }
            other => debug_assert!(false, "{other:?} was never due"),
        }
    }

    /// Puts off everything by the time in which nobody could renew, because this node stood still.
    pub(super) fn postpone(&mut self, stall: Duration) {
        let deadlines = std::mem::take(&mut self.deadlines);
        for (deadline, session) in deadlines {
            let later = deadline + stall;
            if let Some(lease) = self.leases.get_mut(&session)
                && lease.deadline.is_some()
            {
                lease.deadline = Some(later);
            }
            self.deadlines.insert((later, session));
        }
        for until in self.delays.values_mut() {
            *until += stall;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::Moment;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn session(number: u64) -> SessionId {
        SessionId::new(number).unwrap()
    }

    fn expiry(number: u64) -> Command {
        Command::Expire { session: session(number), opened: number }
    }

    #[test]
    fn who_is_not_renewed_is_due_once_and_then_not_renewed_any_more() {
        let (mut leases, now) = (Leases::default(), Instant::now());
        leases.opened(now, session(1), 1, 1000);
        leases.opened(now, session(2), 2, 1000);
        assert_eq!(leases.next(), Some(now + SECOND));
        assert_eq!(leases.renew(now + SECOND / 2, session(2)), Some(SECOND));
        assert_eq!(leases.due(now + SECOND), [expiry(1)]);
        assert_eq!(leases.renew(now + SECOND, session(1)), None);
        assert_eq!(leases.due(now + SECOND), []);
        assert_eq!(leases.left(now + SECOND, session(2)), Some((SECOND / 2, SECOND)));
        leases.again(now + SECOND * 9 / 8, expiry(1));
        assert_eq!(leases.renew(now + SECOND, session(1)), None);
        assert_eq!(leases.due(now + SECOND * 9 / 8), [expiry(1)]);
        leases.ended(session(1));
        leases.again(now, expiry(1));
        assert_eq!(leases.next(), Some(now + SECOND * 3 / 2));
    }

    #[test]
    fn a_leader_that_stood_still_expires_nobody_for_it() {
        let (mut leases, now) = (Leases::default(), Instant::now());
        leases.opened(now, session(1), 1, 1000);
        leases.delayed(now, Name::lock("a"), Fence::from_number(7), 500);
        leases.postpone(SECOND * 3);
        assert_eq!(leases.due(now + SECOND * 3), []);
        assert_eq!(leases.renew(now + SECOND * 3, session(1)), Some(SECOND));
        let fence = Fence::from_number(7);
        assert_eq!(leases.due(now + SECOND * 7 / 2), [Command::EndDelay { name: Name::lock("a"), fence }]);
        assert_eq!(leases.due(now + SECOND * 4), [expiry(1)]);
    }

    /// Holders who shared a lock were lost one after the other: each delay ends.
    #[test]
    fn every_delay_of_a_lock_ends() {
        let (mut leases, now) = (Leases::default(), Instant::now());
        let (name, first, second) = (Name::lock("a"), Fence::from_number(7), Fence::from_number(8));
        leases.delayed(now, name.clone(), first, 1000);
        leases.delayed(now, name.clone(), second, 500);
        let end = |fence| Command::EndDelay { name: name.clone(), fence };
        assert_eq!(leases.due(now + SECOND / 2), [end(second)]);
        leases.again(now + SECOND * 3 / 4, end(second));
        assert_eq!(leases.due(now + SECOND), [end(first), end(second)]);
        assert_eq!(leases.next(), None);
    }

    /// An expiry that could not be done, and is not needed any more, does not hit who has come since.
    #[test]
    fn an_expiry_that_is_tried_again_hits_nobody_else() {
        let (mut leases, now) = (Leases::default(), Instant::now());
        leases.opened(now, session(1), 1, 1000);
        assert_eq!(leases.due(now + SECOND), [expiry(1)]);
        leases.again(now + SECOND * 9 / 8, expiry(1));
        leases.ended(session(1));
        leases.opened(now + SECOND, session(1), 5, 1000);
        leases.again(now + SECOND * 9 / 8, expiry(1));
        assert_eq!(leases.due(now + SECOND * 3 / 2), []);
        assert_eq!(leases.renew(now + SECOND * 3 / 2, session(1)), Some(SECOND));
        // A later leader's leases know nothing of what an earlier one had to try again.
        let mut later = Leases::default();
        later.opened(now, session(1), 1, 1000);
        later.again(now + SECOND / 2, expiry(1));
        assert_eq!(later.due(now + SECOND * 3 / 4), []);
    }

    #[test]
    fn a_new_leader_gives_everybody_their_full_time() {
        let mut machine = Machine::default();
        let moment = crate::machine::Moment { index: 5, at_ms: 0 };
        let (label, owner, transient) = (String::new(), String::new(), false);
        let open = Command::Open { session: session(5), ttl_ms: 1000, label, owner, transient };
        machine.apply(moment, open);
        let now = Instant::now();
        let mut leases = Leases::begin(now, 1, &machine, None);
        assert_eq!(leases.due(now + SECOND / 2), []);
        assert_eq!(leases.due(now + SECOND), [expiry(5)]);
    }

    #[test]
    fn after_a_clean_hand_over_everybody_has_what_was_left() {
        let (mut machine, now) = (Machine::default(), Instant::now());
        let mut before = Leases::default();
        for number in 1..=3 {
            let (label, owner) = (String::new(), String::new());
            let open = Command::Open { session: session(number), ttl_ms: 1000, label, owner, transient: false };
            machine.apply(Moment { index: number, at_ms: 0 }, open);
            before.opened(now, session(number), number, 1000);
        }
        before.renew(now + SECOND / 2, session(2));
        let later = now + SECOND * 3 / 4;
        let Inheritance { term, left_ms } = before.bequeath(later);
        // A session that nobody has told of has its full time.
        let left_ms = left_ms.into_iter().filter(|(id, _)| *id != session(3)).collect();
        let leases = Leases::begin(later + SECOND / 8, 8, &machine, Some(&Inherited { at: later, term, left_ms }));
        let left = |number| leases.left(later, session(number)).unwrap().0.as_millis();
        assert_eq!((left(1), left(2), left(3)), (251, 751, 1125));
    }
}
