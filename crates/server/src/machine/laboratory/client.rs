//! A client: it asks until it is answered, and goes by its own clock.

use quorate_core::id::Id;
use quorate_core::mutex::{Input, Output};
use quorate_core::process::{Effects, Event};

use super::{LockService, Message, Resource, SERVER, Terms, Timer, fence_in_laboratory};
use crate::machine::SessionId;

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Client {
    me: Id,
    life: u64,
    /// How many sessions it has opened in this life, and how many of them for this entry.
    sessions: u64,
    attempts: u64,
    /// How many requests there were in this session.
    requests: u64,
    /// How often it has asked to renew this session, and of which renewal it has heard.
    renewals: u64,
    renewed: u64,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// It has no session, and needs none.
    Outside,
    /// It wants to enter, and has asked for a session.
    Opening,
    /// It wants to enter, and has asked for the lock.
    Waiting,
    Inside,
    /// It has left, and has not heard yet that this was heard. It may want to enter again.
    Releasing {
        again: bool,
    },
    /// It has left, and has a session.
    Idle,
    /// It wants to enter, and has given up.
    Resigned,
}

const SESSIONS_OF_A_LIFE: u64 = 1 << 20;
const CLIENTS: u64 = 1 << 14;

/// Whose session this is.
pub(super) fn owner(session: SessionId) -> Id {
    Id::new((session.number() % CLIENTS) as u32)
}

impl Client {
    pub(super) fn new(me: Id) -> Client {
        let phase = Phase::Outside;
        Client { me, life: 0, sessions: 0, attempts: 0, requests: 0, renewals: 0, renewed: 0, phase }
    }

    fn session(&self) -> SessionId {
        let number = self.life * SESSIONS_OF_A_LIFE + self.sessions;
        SessionId::new(number * CLIENTS + u64::from(self.me.number())).expect("no life is that long")
    }

    pub(super) fn step(&mut self, terms: Terms, event: Event<LockService>, effects: &mut Effects<LockService>) {
        match event {
            Event::Start { incarnation, .. } => self.life = incarnation,
            Event::Input(Input::Enter) => self.enter(terms, effects),
            Event::Input(Input::Exit) => self.exit(terms, effects),
            Event::Input(Input::Observe(_)) | Event::Notice(_) => {}
            Event::Receive { from, message } => self.on_message(terms, from, &message, effects),
            Event::Timeout(Timer::Retry) => self.ask(terms, effects),
            Event::Timeout(Timer::Renew) => self.renew(terms, effects),
            // A renewal that was heard of has disarmed those before it.
            Event::Timeout(Timer::Lease(_)) => self.lose(terms, effects),
            Event::Timeout(Timer::Expire(_)) => {}
        }
    }

    fn enter(&mut self, terms: Terms, effects: &mut Effects<LockService>) {
        self.attempts = 0;
        match self.phase {
            Phase::Outside => self.open(terms, effects),
            Phase::Idle => self.acquire(terms, effects),
            Phase::Releasing { again: false } => self.phase = Phase::Releasing { again: true },
            Phase::Opening | Phase::Waiting | Phase::Inside | Phase::Releasing { again: true } | Phase::Resigned => {
                effects.misused("asked to enter before leaving");
            }
        }
    }

    fn exit(&mut self, terms: Terms, effects: &mut Effects<LockService>) {
        let Phase::Inside = self.phase else { return effects.misused("asked to exit without being inside") };
        if terms.resource == Resource::Absent {
            effects.output(Output::Exited);
        }
        self.requests += 1;
        self.phase = Phase::Releasing { again: false };
        self.ask(terms, effects);
    }

    /// Begins with a session that never was before.
    fn open(&mut self, terms: Terms, effects: &mut Effects<LockService>) {
        if self.attempts == terms.attempts {
            self.phase = Phase::Resigned;
            return;
        }
        self.attempts += 1;
        self.sessions += 1;
        (self.requests, self.renewals, self.renewed) = (0, 0, 0);
        self.phase = Phase::Opening;
        if terms.counts_from_asking {
            effects.set_timer(Timer::Lease(0), terms.lease..=terms.lease);
        }
        self.ask(terms, effects);
    }

    fn acquire(&mut self, terms: Terms, effects: &mut Effects<LockService>) {
        self.requests += 1;
        self.phase = Phase::Waiting;
        self.ask(terms, effects);
    }

    /// Says what it has to say, for the first time or once more.
    fn ask(&mut self, terms: Terms, effects: &mut Effects<LockService>) {
        let session = self.session();
        let message = match self.phase {
            Phase::Opening => Message::Open(session),
            Phase::Waiting => Message::Acquire(session, self.requests),
            Phase::Releasing { .. } => Message::Release(session, self.requests),
            Phase::Outside | Phase::Inside | Phase::Idle | Phase::Resigned => return,
        };
        effects.send(SERVER, message);
        effects.set_timer(Timer::Retry, terms.round_trip()..=terms.round_trip());
    }

    fn renew(&mut self, terms: Terms, effects: &mut Effects<LockService>) {
        // A session that is of no use may end.
        if self.phase == Phase::Idle || self.renewals == terms.renewals {
            return;
        }
        self.renewals += 1;
        effects.send(SERVER, Message::Renew(self.session(), self.renewals));
        if terms.counts_from_asking {
            effects.set_timer(Timer::Lease(self.renewals), terms.lease..=terms.lease);
        }
        effects.set_timer(Timer::Renew, terms.lease / 2..=terms.lease / 2);
    }

    /// The session has ended, or will before anything more can be heard of it.
    fn lose(&mut self, terms: Terms, effects: &mut Effects<LockService>) {
        (self.renewed..=self.renewals).for_each(|renewal| effects.cancel_timer(Timer::Lease(renewal)));
        effects.cancel_timer(Timer::Retry);
        effects.cancel_timer(Timer::Renew);
        match std::mem::replace(&mut self.phase, Phase::Outside) {
            Phase::Opening | Phase::Waiting | Phase::Releasing { again: true } => self.open(terms, effects),
            Phase::Inside if terms.resource != Resource::Absent => {}
            Phase::Inside => {
                effects.output(Output::Lost);
                effects.output(Output::Exited);
            }
            Phase::Outside | Phase::Releasing { again: false } | Phase::Idle | Phase::Resigned => {}
        }
    }

    /// Answers that come too late, or a second time, are nothing unusual.
    fn on_message(&mut self, terms: Terms, from: Id, message: &Message, effects: &mut Effects<LockService>) {
        let mine = |session| session == self.session() && !matches!(self.phase, Phase::Outside | Phase::Resigned);
        match *message {
            Message::Opened(session) if mine(session) && self.phase == Phase::Opening => {
                if !terms.counts_from_asking {
                    effects.set_timer(Timer::Lease(0), terms.lease..=terms.lease);
                }
                if terms.renewals > 0 {
                    effects.set_timer(Timer::Renew, terms.lease / 2..=terms.lease / 2);
                }
                self.acquire(terms, effects);
            }
            Message::Granted(session, request, fence)
                if mine(session) && self.phase == Phase::Waiting && request == self.requests =>
            {
                self.phase = Phase::Inside;
                effects.cancel_timer(Timer::Retry);
                if terms.resource == Resource::Absent {
                    effects.output(Output::Entered { fence: fence_in_laboratory(fence) });
                } else {
                    effects.send(SERVER, Message::Write(session, fence));
                }
            }
            Message::Released(session, request) if mine(session) && request == self.requests => {
                if let Phase::Releasing { again } = self.phase {
                    effects.cancel_timer(Timer::Retry);
                    self.phase = Phase::Idle;
                    if again {
                        self.acquire(terms, effects);
                    }
                }
            }
            Message::Renewed(session, renewal) if mine(session) && renewal > self.renewed => {
                (self.renewed..renewal).for_each(|before| effects.cancel_timer(Timer::Lease(before)));
                self.renewed = renewal;
                if !terms.counts_from_asking {
                    effects.set_timer(Timer::Lease(renewal), terms.lease..=terms.lease);
                }
            }
            Message::Written(session) if mine(session) && self.phase == Phase::Inside => self.exit(terms, effects),
            Message::Gone(session) if mine(session) => self.lose(terms, effects),
            Message::Opened(_)
            | Message::Granted(..)
            | Message::Released(..)
            | Message::Renewed(..)
            | Message::Written(_)
            | Message::Gone(_) => {}
            Message::Open(_)
            | Message::Acquire(..)
            | Message::Release(..)
            | Message::Renew(..)
            | Message::Write(..) => {
                effects.unexpected(from, "a request to a process that is not the server");
            }
        }
    }
}
