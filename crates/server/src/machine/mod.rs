//! The state machine of the service: a pure function of the commands it has seen, in order.
//!
//! - A [`Command`] comes at a [`Moment`]: its number among all commands, and what the leader's calendar showed, which
//!   is kept for people to read and decides nothing.
//! - [`Machine::apply`] answers it with a [`Response`] and tells what happened as [`Event`]s. It reads no clock and
//!   draws no lot: the same commands give the same machine on every node, which [`Machine::digest`] shows.
//! - A lock that nobody holds or awaits takes no memory. Fences grow all the same, as they are numbers of commands.
//! - [`view`] tells what there is, and changes nothing.
//!
//! - A machine that goes [by turns](Machine::by_turns) lets nobody in by itself: see `turns.rs`.
//!
//! Who holds a lock loses it by releasing it, by the end of its session, or by force. Who waits keeps its place until
//! it withdraws or its session ends; a lost connection is neither. The number of a request makes it idempotent: sent
//! again, it finds what it was given, or hears that this is over, and changes nothing.

mod answer;
mod bytes;
mod command;
mod force;
#[cfg(feature = "laboratory")]
pub mod laboratory;
mod lock;
mod requests;
mod sound;
#[cfg(test)]
mod tests;
mod turns;
pub mod view;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use answer::{Beyond, Departure, Event, Refusal, Response};
pub use bytes::MOST_BYTES;
use bytes::{bytes_of_place, replace};
pub use command::{Acquire, Command, Fence, Kind, Mode, Name, SessionId};
use lock::Lock;
use requests::Requests;
use turns::Turns;

/// So many sessions there may be.
pub const MOST_SESSIONS: usize = 1_000_000;
/// So many may wait for one lock.
pub const MOST_WAITERS: usize = 100_000;
/// So many locks one session may hold or await.
pub const MOST_PLACES: usize = 100_000;

/// When a command comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Moment {
    /// The number of the command among all: 1 more than that of the one before.
    pub index: u64,
    /// What the leader's calendar showed, in milliseconds since 1970. For people; nothing depends on it.
    pub at_ms: u64,
}

/// Sessions, locks and elections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Machine {
    /// How often a backup was restored.
    generation: u16,
    sessions: BTreeMap<SessionId, Session>,
    locks: BTreeMap<Name, Lock>,
    /// What all of it comes to: see [`MOST_BYTES`].
    bytes: u64,
    /// How it takes turns, if it lets nobody in by itself. Such a machine is never written down.
    #[serde(skip)]
    turns: Option<Turns>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Session {
    ttl_ms: u64,
    label: String,
    owner: String,
    /// Whether it ends with its last place.
    transient: bool,
    since_ms: u64,
    /// The number of the command that opened it.
    opened: u64,
    requests: Requests,
    /// What it holds or awaits, and the number of the command that asked for it: its place in line.
    places: BTreeMap<Name, u64>,
    /// The last calls that were given up before they had asked for anything: if their requests arrive, it is too late.
    given_up: Vec<u64>,
}

impl Machine {
    /// Does what a command asks for, or refuses it; tells what happened.
    pub fn apply(&mut self, moment: Moment, command: Command) -> (Response, Vec<Event>) {
        let mut events = Vec::new();
        let response = self.respond(moment, command, &mut events);
        (response.unwrap_or_else(Response::Refused), events)
    }

    fn respond(&mut self, moment: Moment, command: Command, events: &mut Vec<Event>) -> Result<Response, Refusal> {
        match command {
            Command::Open { session, ttl_ms, label, owner, transient } => {
                let (since_ms, opened) = (moment.at_ms, moment.index);
                let (requests, places, given_up) = (Requests::default(), BTreeMap::new(), Vec::new());
                let new = Session { ttl_ms, label, owner, transient, since_ms, opened, requests, places, given_up };
                self.open(session, new, events)
            }
            Command::Close { session } => self.end(moment, session, Departure::Closed, events),
            Command::Expire { session, opened } => {
                if opened != 0 && self.sessions.get(&session).is_some_and(|session| session.opened != opened) {
                    return Err(Refusal::NoSession(session));
                }
                self.end(moment, session, Departure::Expired, events)
            }
            Command::Acquire(acquire) => {
                let id = acquire.session;
                let response = self.acquire(moment, acquire, events);
                if !matches!(response, Ok(Response::Granted { .. } | Response::Queued { .. })) {
                    self.end_if_over(moment, id, events);
                }
                response
            }
            Command::Withdraw { session, request, name } => self.withdraw(moment, session, request, &name, events),
            Command::GiveUp { session, call, name } => self.give_up(moment, session, call, &name, events),
            Command::Release { session, request, name, fence } => {
                self.release(moment, (session, request), &name, fence, events)
            }
            Command::Force { name, by, fence } => {
                if let Some(fence) = fence {
                    self.check_grant(&name, fence)?;
                }
                self.force(moment, &name, by, events)
            }
            Command::EndDelay { name, fence } => self.end_delay(moment, &name, fence, events),
            Command::Proclaim { session, name, fence, value } => self.proclaim(session, name, fence, value, events),
            Command::Generation { at_least } => self.next_generation(at_least),
            Command::Turn { name, fence } => self.turn(moment, &name, fence, events),
            Command::TurnLost { name, fence } => self.turn_lost(moment, &name, fence, events),
            Command::NoTurn { name } => self.no_turn(moment, &name, events),
        }
    }

    fn open(&mut self, id: SessionId, session: Session, events: &mut Vec<Event>) -> Result<Response, Refusal> {
        if self.sessions.contains_key(&id) {
            return Err(Refusal::SessionExists(id));
        }
        at_most(MOST_SESSIONS, self.sessions.len(), "sessions")?;
        self.grow(session.bytes())?;
        events.push(Event::Opened { session: id, ttl_ms: session.ttl_ms });
        self.sessions.insert(id, session);
        Ok(Response::Done)
    }

    fn end(
        &mut self,
        moment: Moment,
        id: SessionId,
        departure: Departure,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        let Some(session) = self.sessions.remove(&id) else {
            return Err(Refusal::NoSession(id));
        };
        self.bytes -= session.bytes() as u64;
        let (expired, label) = (departure == Departure::Expired, session.label);
        events.push(Event::Ended { session: id, expired, label });
        for (name, place) in session.places {
            self.leave(moment, id, &name, place, departure, events);
            self.go_on(moment, &name, events);
        }
        Ok(Response::Done)
    }

    fn acquire(&mut self, moment: Moment, acquire: Acquire, events: &mut Vec<Event>) -> Result<Response, Refusal> {
        let Acquire { session: id, request, name, mode, .. } = &acquire;
        let (id, request, mode) = (*id, *request, *mode);
        let session = self.sessions.get_mut(&id).ok_or(Refusal::NoSession(id))?;
        if acquire.call != 0 && session.given_up.contains(&acquire.call) {
            return Ok(Response::Over);
        }
        let is_known = session.requests.contains(request);
        // Whatever the answer is: a request that was refused must not be granted when it arrives a second time, long
        // after whoever sent it has gone on.
        session.requests.insert(request);
        if let Some(&place) = session.places.get(name) {
            return self.again(place, acquire, is_known, events);
        }
        if is_known {
            return Ok(Response::Over);
        }
        at_most(MOST_PLACES, session.places.len(), "locks per session")?;
        let lock = self.locks.get(name);
        if let (Mode::Permit { of }, Some(permits)) = (mode, lock.and_then(Lock::permits))
            && of != permits
        {
            return Err(Refusal::OtherPermits { name: name.text.to_string(), of: permits });
        }
        at_most(MOST_WAITERS, lock.map_or(0, |lock| lock.line.len()), "waiters per lock")?;
        self.check_by_turns(&acquire)?;
        let is_free = self.turns.is_none() && lock.is_none_or(|lock| lock.is_free_for(mode));
        // By turns, who does not want to wait waits for the turn at least, if nobody here is before it.
        let is_busy = if self.turns.is_some() { lock.is_some() } else { !is_free };
        if is_busy && !acquire.wait {
            return Ok(Response::Busy);
        }
        let name = name.clone();
        self.grow(bytes_of_place(&name, &acquire.value))?;
        let session = self.sessions.get_mut(&id).ok_or(Refusal::NoSession(id))?;
        session.places.insert(name.clone(), moment.index);
        let lock = self.locks.entry(name.clone()).or_default();
        if is_free {
            let (fence, value) = (Fence::new(self.generation, moment.index), acquire.value.clone());
            lock.grant(acquire, fence, moment);
            events.push(Event::Granted { name, session: id, fence, since_ms: moment.at_ms, value });
            return Ok(Response::Granted { fence });
        }
        let ahead = (lock.holders.len() + lock.line.len()) as u64;
        lock.queue(acquire, moment);
        events.push(Event::Queued { name: name.clone(), session: id });
        if ahead == 0 {
            self.want_turn(&name, events);
        }
        Ok(Response::Queued { ahead })
    }

    /// A session asks for what it holds or awaits. It may have something else to say, unless it says it again.
    fn again(
        &mut self,
        place: u64,
        acquire: Acquire,
        is_known: bool,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        let Acquire { session, request, call, name, mode, value, .. } = acquire;
        let lock = self.locks.get_mut(&name).expect("a place belongs to a lock");
        let (known_mode, known_value, fence) = match lock.line.get_mut(&place) {
            Some(waiting) => {
                if waiting.mode == mode && !is_known {
                    waiting.request = waiting.request.max(request);
                    waiting.call = call;
                }
                (waiting.mode, &mut waiting.value, None)
            }
            None => {
                let holding = lock.holders.get_mut(&session).expect("a session with a place holds or awaits the lock");
                if holding.mode == mode && !is_known && holding.call != call {
                    // It may have been told to who asked before, and to who asks now: no call gives it up any more.
                    holding.call = 0;
                }
                (holding.mode, &mut holding.value, Some(holding.fence))
            }
        };
        if known_mode != mode {
            // It asked for this mode before, and asks for another one since.
            if is_known {
                return Ok(Response::Over);
            }
            return Err(Refusal::OtherMode { name: name.text.to_string(), mode: known_mode });
        }
        if *known_value != value && !is_known {
            replace(&mut self.bytes, known_value, &value)?;
            if let Some(fence) = fence {
                events.push(Event::Proclaimed { name: name.clone(), session, fence, value });
            }
        }
        Ok(self.told(session, &name, place))
    }

    /// What a session that holds or awaits a lock is told.
    fn told(&self, session: SessionId, name: &Name, place: u64) -> Response {
        let lock = &self.locks[name];
        match lock.holders.get(&session) {
            Some(holding) => Response::Granted { fence: holding.fence },
            None => Response::Queued { ahead: lock.ahead_of(place) },
        }
    }

    fn withdraw(
        &mut self,
        moment: Moment,
        id: SessionId,
        request: u64,
        name: &Name,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        let session = self.sessions.get_mut(&id).ok_or(Refusal::NoSession(id))?;
        // If the request is still under way, it comes too late.
        session.requests.insert(request);
        let lock = self.locks.get(name);
        if let Some(holding) = lock.and_then(|lock| lock.holders.get(&id)) {
            return Ok(Response::Granted { fence: holding.fence });
        }
        let place = session.places.get(name).copied();
        let asked = place.and_then(|place| Some(lock?.line.get(&place)?.request));
        if let Some(place) = place.filter(|_| request == 0 || asked.is_none_or(|asked| asked <= request)) {
            session.places.remove(name);
            self.leave(moment, id, name, place, Departure::Withdrawn, events);
            self.go_on(moment, name, events);
            self.end_if_over(moment, id, events);
        }
        Ok(Response::Done)
    }

    fn give_up(
        &mut self,
        moment: Moment,
        id: SessionId,
        call: u64,
        name: &Name,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        let session = self.sessions.get_mut(&id).ok_or(Refusal::NoSession(id))?;
        let (Some(lock), Some(&place)) = (self.locks.get(name), session.places.get(name)) else {
            session.give_up(call);
            return Ok(Response::Done);
        };
        let (last, departure) = match lock.line.get(&place) {
            Some(waiting) => (waiting.call, Departure::Withdrawn),
            None => (lock.holders.get(&id).map_or(0, |holding| holding.call), Departure::Released),
        };
        if last == call && call != 0 {
            session.places.remove(name);
            self.leave(moment, id, name, place, departure, events);
            self.go_on(moment, name, events);
            self.end_if_over(moment, id, events);
        } else {
            session.give_up(call);
        }
        Ok(Response::Done)
    }

    fn release(
        &mut self,
        moment: Moment,
        (id, request): (SessionId, u64),
        name: &Name,
        fence: Option<Fence>,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        let session = self.sessions.get_mut(&id).ok_or(Refusal::NoSession(id))?;
        let held = self.locks.get(name).and_then(|lock| lock.holders.get(&id)).map(|holding| holding.fence);
        if session.requests.contains(request) {
            // Of a request long past nobody knows whether it was done, and to say so might leave the lock held for
            // ever. But if it says what to give back, and that is still held, it was not.
            let is_known = !session.requests.has_forgotten(request) || held.is_none();
            match fence {
                Some(_) if !is_known && fence == held => {}
                None if !is_known => return Ok(Response::Over),
                Some(_) | None => return Ok(Response::Done),
            }
        }
        session.requests.insert(request);
        if held.is_none() || fence.is_some() && fence != held {
            return Err(Refusal::NotHeld { name: name.text.to_string() });
        }
        let place = session.places.remove(name).expect("a holder has a place at its lock");
        self.leave(moment, id, name, place, Departure::Released, events);
        self.go_on(moment, name, events);
        self.end_if_over(moment, id, events);
        Ok(Response::Done)
    }

    fn end_delay(
        &mut self,
        moment: Moment,
        name: &Name,
        fence: Fence,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        if let Some(lock) = self.locks.get_mut(name)
            && lock.delays.remove(&fence).is_some()
        {
            self.admit(moment, name, events);
        }
        Ok(Response::Done)
    }

    fn proclaim(
        &mut self,
        session: SessionId,
        name: Name,
        fence: Fence,
        value: Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        if !self.sessions.contains_key(&session) {
            return Err(Refusal::NoSession(session));
        }
        let holding = self.locks.get_mut(&name).and_then(|lock| lock.holders.get_mut(&session));
        let Some(holding) = holding.filter(|holding| holding.fence == fence) else {
            return Err(Refusal::NotHeld { name: name.text.to_string() });
        };
        replace(&mut self.bytes, &mut holding.value, &value)?;
        events.push(Event::Proclaimed { name, session, fence, value });
        Ok(Response::Done)
    }

    fn next_generation(&mut self, at_least: u16) -> Result<Response, Refusal> {
        let next = at_least.max(self.generation + 1);
        if next > Fence::LAST_GENERATION {
            return Err(Refusal::LastGeneration { most: Fence::LAST_GENERATION });
        }
        self.generation = next;
        Ok(Response::Done)
    }

    /// Ends a transient session that has no place any more.
    fn end_if_over(&mut self, moment: Moment, id: SessionId, events: &mut Vec<Event>) {
        if self.sessions.get(&id).is_some_and(|session| session.transient && session.places.is_empty()) {
            // It exists, so this is not refused.
            let _ = self.end(moment, id, Departure::Closed, events);
        }
    }

    /// Takes somebody out of a lock that it holds or awaits. Afterwards the lock [goes on](Self::go_on).
    fn leave(
        &mut self,
        moment: Moment,
        id: SessionId,
        name: &Name,
        place: u64,
        departure: Departure,
        events: &mut Vec<Event>,
    ) {
        let lock = self.locks.get_mut(name).expect("a place belongs to a lock");
        let Some(holding) = lock.remove_holder(id) else {
            let value = lock.remove_waiter(place).map(|waiting| waiting.value).unwrap_or_default();
            self.bytes -= bytes_of_place(name, &value) as u64;
            events.push(Event::Left { name: name.clone(), session: id, departure });
            return;
        };
        self.bytes -= bytes_of_place(name, &holding.value) as u64;
        let fence = holding.fence;
        events.push(Event::Lost { name: name.clone(), session: id, fence, departure, since_ms: holding.since_ms });
        if departure == Departure::Expired && holding.delay_ms > 0 {
            let fence = Fence::new(self.generation, moment.index);
            lock.delays.insert(fence, holding.delay_ms);
            events.push(Event::Delayed { name: name.clone(), fence, delay_ms: holding.delay_ms });
        }
    }

    /// Somebody has left: who is next is let in, or the lock is vacant.
    fn go_on(&mut self, moment: Moment, name: &Name, events: &mut Vec<Event>) {
        self.admit(moment, name, events);
        if self.locks.get(name).is_none_or(|lock| lock.holders.is_empty() && lock.line.is_empty()) {
            events.push(Event::Vacant { name: name.clone() });
        }
    }

    /// Lets in whoever can be let in, in order, and forgets a lock that is idle.
    fn admit(&mut self, moment: Moment, name: &Name, events: &mut Vec<Event>) {
        if self.turns.is_some() {
            return self.want_turn(name, events);
        }
        let fence = Fence::new(self.generation, moment.index);
        let lock = self.locks.get_mut(name).expect("the lock was there a moment ago");
        while let Some(admitted) = lock.admit(fence, moment) {
            let (session, since_ms, value) = (admitted.session, admitted.since_ms, admitted.value);
            events.push(Event::Granted { name: name.clone(), session, fence, since_ms, value });
        }
        if lock.is_idle() {
            self.locks.remove(name);
        }
    }

    /// A number that is the same for machines that have seen the same commands, and by all likelihood for no others.
    pub fn digest(&self) -> u64 {
        let bytes = postcard::to_allocvec(self).expect("a machine can be written down");
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }
}

fn at_most(most: usize, there_are: usize, what: &str) -> Result<(), Refusal> {
    if there_are < most { Ok(()) } else { Err(Refusal::TooMany { what: what.into(), most: most as u64 }) }
}
