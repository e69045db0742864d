//! The server: a machine, what its log keeps, and who waits for an answer.

use std::collections::{BTreeMap, VecDeque};

use quorate_core::id::Id;
use quorate_core::mutex::{Input, Output};
use quorate_core::process::{Effects, Event, Stable};
use serde::{Deserialize, Serialize};

use super::client::owner;
use super::{LockService, Message, Resource, Terms, Timer, fence_in_laboratory};
use crate::machine::Event as Told;
use crate::machine::{Acquire, Command, Fence, Machine, Mode, Moment, Name, Refusal, Response, SessionId};

fn lock() -> Name {
    Name::lock("the lock")
}

/// What the server's replicated log keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Log {
    machine: Machine,
    /// How many commands there were.
    index: u64,
    /// The last grant.
    last: Option<Fence>,
    /// Who waits, in the order in which that was told: kept here only to see that the machine goes by it.
    line: VecDeque<SessionId>,
    /// Whose write the resource has accepted last. (A resource has a disk of its own; this one lies beside the log.)
    written: Option<(SessionId, Fence)>,
}

impl Stable for Log {}

/// The server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Server {
    log: Log,
    /// By which request each session has asked for the lock: whom to tell of a grant. A crash forgets it.
    waiters: BTreeMap<SessionId, u64>,
    /// The last request of each session that was granted: kept only to see that none is granted twice.
    granted: BTreeMap<SessionId, u64>,
}

impl Server {
    pub(super) fn step(&mut self, terms: Terms, event: Event<LockService>, effects: &mut Effects<LockService>) {
        match event {
            Event::Start { saved, .. } => {
                self.log = saved.unwrap_or_default();
                for session in self.log.machine.sessions() {
                    effects.set_timer(Timer::Expire(session.session), terms.session()..=terms.session());
                }
            }
            Event::Input(Input::Enter | Input::Exit) => effects.misused("the server serves, and asks for nothing"),
            Event::Input(Input::Observe(_)) | Event::Notice(_) => {}
            Event::Receive { from, message } => self.on_message(terms, from, &message, effects),
            Event::Timeout(Timer::Expire(session)) => {
                self.apply(Command::Expire { session, opened: 0 }, effects);
            }
            Event::Timeout(Timer::Retry | Timer::Renew | Timer::Lease(_)) => {}
        }
    }

    fn on_message(&mut self, terms: Terms, from: Id, message: &Message, effects: &mut Effects<LockService>) {
        let answer = match *message {
            Message::Open(session) => {
                let (label, owner) = (String::new(), String::new());
                let open = Command::Open { session, ttl_ms: terms.lease, label, owner, transient: false };
                if self.apply(open, effects) == Response::Done {
                    effects.set_timer(Timer::Expire(session), terms.session()..=terms.session());
                }
                Some(Message::Opened(session))
            }
            Message::Acquire(session, request) => {
                // One of an earlier turn, arriving again, must not take the place of the one that waits.
                let waiter = self.waiters.entry(session).or_default();
                *waiter = request.max(*waiter);
                let acquire = Acquire {
                    session,
                    request,
                    call: 0,
                    name: lock(),
                    mode: Mode::Exclusive,
                    wait: true,
                    delay_ms: 0,
                    value: Vec::new(),
                };
                match self.apply(Command::Acquire(acquire), effects) {
                    // Sent again, it is told again; what is granted now is told already.
                    Response::Granted { fence } if self.waiters.remove(&session).is_some() => {
                        Some(Message::Granted(session, request, fence))
                    }
                    Response::Refused(_) => {
                        self.waiters.remove(&session);
                        Some(Message::Gone(session))
                    }
                    Response::Over => {
                        self.waiters.remove(&session);
                        None
                    }
                    Response::Granted { .. } | Response::Queued { .. } | Response::Busy | Response::Done => None,
                }
            }
            Message::Release(session, request) => {
                let answer = self.apply(Command::Release { session, request, name: lock(), fence: None }, effects);
                let is_gone = matches!(answer, Response::Refused(Refusal::NoSession(_)));
                Some(if is_gone { Message::Gone(session) } else { Message::Released(session, request) })
            }
            Message::Renew(session, renewal) => {
                if self.log.machine.session(session).is_some() {
                    effects.set_timer(Timer::Expire(session), terms.session()..=terms.session());
                    Some(Message::Renewed(session, renewal))
                } else {
                    Some(Message::Gone(session))
                }
            }
            Message::Write(session, fence) => Some(self.write(terms, session, fence, effects)),
            Message::Opened(_)
            | Message::Granted(..)
            | Message::Released(..)
            | Message::Renewed(..)
            | Message::Written(_)
            | Message::Gone(_) => {
                effects.unexpected(from, "an answer to a server");
                None
            }
        };
        if let Some(answer) = answer {
            effects.send(from, answer);
        }
    }

    /// The resource gets a write. The first of each holder is an entry.
    fn write(&mut self, terms: Terms, session: SessionId, fence: Fence, effects: &mut Effects<LockService>) -> Message {
        let is_old = self.log.written.is_some_and(|(_, accepted)| fence < accepted);
        if is_old && terms.resource == Resource::Checking {
            return Message::Gone(session);
        }
        if self.log.written.replace((session, fence)) != Some((session, fence)) {
            effects.save(self.log.clone());
            effects.output(Output::Entered { fence: fence_in_laboratory(fence) });
        }
        Message::Written(session)
    }

    /// Has the machine apply a command, keeps what came of it, and tells who was granted the lock.
    fn apply(&mut self, command: Command, effects: &mut Effects<LockService>) -> Response {
        self.log.index += 1;
        let moment = Moment { index: self.log.index, at_ms: 0 };
        let (response, events) = self.log.machine.apply(moment, command);
        self.log.observe(&events);
        effects.save(self.log.clone());
        for event in events {
            match event {
                Told::Granted { session, fence, .. } => {
                    if let Some(request) = self.waiters.remove(&session) {
                        let before = self.granted.insert(session, request);
                        assert!(before < Some(request), "no request is granted twice");
                        effects.send(owner(session), Message::Granted(session, request, fence));
                    }
                }
                Told::Left { session, .. } => drop(self.waiters.remove(&session)),
                Told::Ended { session, .. } => drop(self.granted.remove(&session)),
                Told::Opened { .. }
                | Told::Queued { .. }
                | Told::Lost { .. }
                | Told::Delayed { .. }
                | Told::Vacant { .. }
                | Told::Proclaimed { .. }
                | Told::Forced { .. }
                | Told::Wanted { .. } => {}
            }
        }
        response
    }
}

impl Log {
    /// Sees to it that the machine keeps its promises, whatever the run.
    fn observe(&mut self, events: &[Told]) {
        for event in events {
            match *event {
                Told::Queued { session, .. } => self.line.push_back(session),
                Told::Granted { session, fence, .. } => {
                    assert!(self.machine.session(session).is_some(), "nobody dead is granted anything");
                    assert!(self.last < Some(fence), "grants have growing fences");
                    self.last = Some(fence);
                    let first = self.line.pop_front();
                    assert!(first.is_none_or(|first| first == session), "first come, first served");
                }
                Told::Left { session, .. } => self.line.retain(|waiting| *waiting != session),
                Told::Opened { .. }
                | Told::Ended { .. }
                | Told::Lost { .. }
                | Told::Delayed { .. }
                | Told::Vacant { .. }
                | Told::Proclaimed { .. }
                | Told::Forced { .. }
                | Told::Wanted { .. } => {}
            }
        }
        if let Some(lock) = self.machine.lock(&lock(), 0) {
            assert_eq!(lock.holders.len(), 1, "one holds the lock while anybody waits");
        }
    }
}
