//! The same service written a second time, as naively as possible: three lists, searched from end to end. It can be
//! given a [`Flaw`], so that it can be shown that the tests see it.

use quorate_server::machine::view::{Holder, LockView, Waiter};
use quorate_server::machine::{
    Acquire, Command, Departure, Event, Fence, Mode, Moment, Name, Refusal, Response, SessionId,
};

use crate::flaw::Flaw;
use crate::laws::{Seen, Service};

/// The naive service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    flaw: Option<Flaw>,
    generation: u64,
    sessions: Vec<Session>,
    /// Everybody who holds or awaits anything, in the order of arrival.
    places: Vec<Place>,
    delays: Vec<(Name, Fence, u64)>,
}

#[derive(Clone, Debug)]
struct Session {
    id: SessionId,
    label: String,
    done: Vec<u64>,
    opened: u64,
    given_up: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Place {
    name: Name,
    session: SessionId,
    mode: Mode,
    delay_ms: u64,
    value: Vec<u8>,
    since_ms: u64,
    fence: Option<Fence>,
    asked: u64,
    /// The call that may give it up.
    call: u64,
}

impl Model {
    pub(crate) fn new(flaw: Option<Flaw>) -> Model {
        Model { flaw, ..Model::default() }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn session(&mut self, id: SessionId) -> Result<&mut Session, Refusal> {
        self.sessions.iter_mut().find(|session| session.id == id).ok_or(Refusal::NoSession(id))
    }

    fn at(&self, name: &Name, is_holder: bool) -> Vec<&Place> {
        self.places.iter().filter(|place| place.name == *name && place.fence.is_some() == is_holder).collect()
    }

    fn position(&self, id: SessionId, name: &Name) -> Option<usize> {
        self.places.iter().position(|place| place.session == id && place.name == *name)
    }

    fn fence(&self, name: &Name, moment: Moment) -> Fence {
        if self.has(Flaw::FencesRestart) {
            let last = self.at(name, true).iter().filter_map(|place| place.fence).max();
            return Fence::from_number(last.map_or(1, |fence| fence.number() + 1));
        }
        let generation = if self.has(Flaw::GenerationsAreAlike) { 0 } else { self.generation };
        Fence::from_number(generation * (1 << 45) + moment.index)
    }

    fn fits(&self, name: &Name, mode: Mode) -> bool {
        let holders = self.at(name, true);
        let is_delayed = self.delays.iter().any(|(delayed, ..)| delayed == name);
        if is_delayed && !(self.has(Flaw::ReadersIgnoreDelay) && mode == Mode::Shared) {
            return false;
        }
        let most = match mode {
            Mode::Exclusive => 1,
            Mode::Shared => usize::MAX,
            Mode::Permit { of } => of as usize + usize::from(self.has(Flaw::OnePermitMore)),
        };
        holders.len() < most && holders.iter().all(|place| place.mode == mode)
    }

    fn admit(&mut self, name: &Name, moment: Moment, events: &mut Vec<Event>) {
        while let Some(next) = self.places.iter().position(|place| place.name == *name && place.fence.is_none()) {
            if !self.fits(name, self.places[next].mode) {
                return;
            }
            let fence = self.fence(name, moment);
            let place = &mut self.places[next];
            let (session, since_ms, value) = (place.session, place.since_ms, place.value.clone());
            (place.fence, place.since_ms) = (Some(fence), moment.at_ms);
            events.push(Event::Granted { name: name.clone(), session, fence, since_ms, value });
        }
    }

    fn vacate(&mut self, name: &Name, moment: Moment, events: &mut Vec<Event>) {
        self.admit(name, moment, events);
        if !self.places.iter().any(|place| place.name == *name) {
            events.push(Event::Vacant { name: name.clone() });
        }
    }

    fn leave(&mut self, position: usize, departure: Departure, moment: Moment, events: &mut Vec<Event>) {
        let Place { name, session, delay_ms, since_ms, fence, .. } = self.places.remove(position);
        let Some(fence) = fence else {
            return events.push(Event::Left { name, session, departure });
        };
        events.push(Event::Lost { name: name.clone(), session, fence, departure, since_ms });
        if departure == Departure::Expired && delay_ms > 0 {
            if self.has(Flaw::LastDelayCounts) {
                self.delays.retain(|(delayed, ..)| *delayed != name);
            }
            let delay = Fence::from_number(self.generation * (1 << 45) + moment.index);
            self.delays.push((name.clone(), delay, delay_ms));
            events.push(Event::Delayed { name, fence: delay, delay_ms });
        }
    }

    fn end(&mut self, id: SessionId, departure: Departure, moment: Moment, events: &mut Vec<Event>) -> Answer {
        let label = self.session(id)?.label.clone();
        self.sessions.retain(|session| session.id != id);
        events.push(Event::Ended { session: id, expired: departure == Departure::Expired, label });
        let forgets = departure == Departure::Expired && self.has(Flaw::ExpiryForgetsWaiters);
        let mine = self.places.iter().filter(|place| place.session == id && !(forgets && place.fence.is_none()));
        let mut names: Vec<Name> = mine.map(|place| place.name.clone()).collect();
        names.sort();
        for name in names {
            let position = self.position(id, &name).expect("it was found a moment ago");
            self.leave(position, departure, moment, events);
            self.vacate(&name, moment, events);
        }
        Ok(Response::Done)
    }

    fn acquire(&mut self, acquire: Acquire, moment: Moment, events: &mut Vec<Event>) -> Answer {
        let Acquire { session: id, request, call, name, mode, wait, delay_ms, value } = acquire;
        let (ignores, lenient) = (self.has(Flaw::AcquireIgnoresNumber), self.has(Flaw::RefusalUsesUpNoNumber));
        let hears_late = self.has(Flaw::LateCallIsHeard);
        let session = self.session(id)?;
        if session.given_up.contains(&call) && !hears_late {
            return Ok(Response::Over);
        }
        let is_known = session.knows(request);
        if !is_known && !lenient {
            session.done.push(request);
        }
        if let Some(position) = self.position(id, &name) {
            if self.places[position].mode == mode && !is_known {
                let place = &mut self.places[position];
                place.asked = request.max(place.asked);
                place.call = if place.fence.is_none() || place.call == call { call } else { 0 };
            }
            return self.again(position, mode, value, is_known, events);
        }
        if is_known && !ignores {
            return Ok(Response::Over);
        }
        let permits = self.places.iter().filter(|place| place.name == name).find_map(|place| permits_of(place.mode));
        if let (Some(wanted), Some(of)) = (permits_of(mode), permits)
            && wanted != of
        {
            return Err(Refusal::OtherPermits { name: name.text.to_string(), of });
        }
        self.session(id)?.done.push(request);
        let overtakes = self.has(Flaw::ReadersOvertake) && mode == Mode::Shared;
        let is_free = (overtakes || self.at(&name, false).is_empty()) && self.fits(&name, mode);
        if !is_free && !wait {
            return Ok(Response::Busy);
        }
        let ahead = self.places.iter().filter(|place| place.name == name).count() as u64;
        let (since_ms, fence, asked) = (moment.at_ms, None, request);
        let place = Place { name: name.clone(), session: id, mode, delay_ms, value, since_ms, fence, asked, call };
        self.places.push(place);
        if !is_free {
            events.push(Event::Queued { name, session: id });
            return Ok(Response::Queued { ahead });
        }
        let fence = self.fence(&name, moment);
        let place = self.places.last_mut().expect("somebody has just come");
        place.fence = Some(fence);
        let (since_ms, value) = (place.since_ms, place.value.clone());
        events.push(Event::Granted { name, session: id, fence, since_ms, value });
        Ok(Response::Granted { fence })
    }

    fn again(&mut self, position: usize, mode: Mode, value: Vec<u8>, known: bool, events: &mut Vec<Event>) -> Answer {
        let keeps_value = known && !self.has(Flaw::OldValueReturns);
        let place = &mut self.places[position];
        if place.mode != mode {
            let refusal = Refusal::OtherMode { name: place.name.text.to_string(), mode: place.mode };
            return if known { Ok(Response::Over) } else { Err(refusal) };
        }
        let (name, session, fence) = (place.name.clone(), place.session, place.fence);
        if place.value != value && !keeps_value {
            place.value.clone_from(&value);
            if let Some(fence) = fence {
                events.push(Event::Proclaimed { name: name.clone(), session, fence, value });
            }
        }
        let ahead = self.at(&name, true).len()
            + self.places[..position].iter().filter(|p| p.name == name && p.fence.is_none()).count();
        Ok(fence.map_or(Response::Queued { ahead: ahead as u64 }, |fence| Response::Granted { fence }))
    }

    fn withdraw(
        &mut self,
        id: SessionId,
        request: u64,
        name: &Name,
        moment: Moment,
        events: &mut Vec<Event>,
    ) -> Answer {
        let hears_late = self.has(Flaw::LateRequestIsHeard);
        let session = self.session(id)?;
        if !hears_late {
            session.done.push(request);
        }
        let Some(position) = self.position(id, name) else { return Ok(Response::Done) };
        if let Some(fence) = self.places[position].fence {
            return Ok(Response::Granted { fence });
        }
        let is_late = request > 0 && self.places[position].asked > request;
        if is_late && !self.has(Flaw::WithdrawalIgnoresNumber) {
            return Ok(Response::Done);
        }
        self.leave(position, Departure::Withdrawn, moment, events);
        if !self.has(Flaw::WithdrawalAdmitsNobody) {
            self.vacate(name, moment, events);
        }
        Ok(Response::Done)
    }

    fn give_up(&mut self, id: SessionId, call: u64, name: &Name, moment: Moment, events: &mut Vec<Event>) -> Answer {
        self.session(id)?;
        let any = self.has(Flaw::AnyCallGivesUp);
        let position = self.position(id, name);
        if let Some(position) = position.filter(|&position| call > 0 && (self.places[position].call == call || any)) {
            let is_held = self.places[position].fence.is_some();
            let departure = if is_held { Departure::Released } else { Departure::Withdrawn };
            self.leave(position, departure, moment, events);
            self.vacate(name, moment, events);
        } else if call > 0 {
            self.session(id)?.given_up.push(call);
        }
        Ok(Response::Done)
    }

    fn release(
        &mut self,
        (id, request): (SessionId, u64),
        name: &Name,
        fence: Option<Fence>,
        moment: Moment,
        events: &mut Vec<Event>,
    ) -> Answer {
        let (ignores, lenient) = (self.has(Flaw::ReleaseIgnoresNumber), self.has(Flaw::RefusalUsesUpNoNumber));
        let fence = fence.filter(|_| !self.has(Flaw::AnyGrantIsReleased));
        let is_held = |place: &Place| place.fence.is_some() && (fence.is_none() || place.fence == fence);
        let position = self.position(id, name).filter(|&position| is_held(&self.places[position]));
        let session = self.session(id)?;
        if session.knows(request) && !ignores {
            return Ok(Response::Done);
        }
        if position.is_some() || !lenient {
            session.done.push(request);
        }
        let position = position.ok_or_else(|| Refusal::NotHeld { name: name.text.to_string() })?;
        self.leave(position, Departure::Released, moment, events);
        self.vacate(name, moment, events);
        Ok(Response::Done)
    }

    fn force(
        &mut self,
        name: &Name,
        by: String,
        seen: Option<Fence>,
        moment: Moment,
        events: &mut Vec<Event>,
    ) -> Answer {
        let text = name.text.to_string();
        let mut holders: Vec<_> = self.at(name, true).iter().map(|place| place.session).collect();
        let is_delayed = self.delays.iter().any(|(delayed, ..)| delayed == name);
        if holders.is_empty() && (seen.is_some() || !is_delayed) {
            return Err(Refusal::NotHeld { name: text });
        }
        let now = self.at(name, true).iter().filter_map(|place| place.fence).max();
        let other = seen.zip(now).filter(|(seen, now)| seen != now && !self.has(Flaw::AnyGrantIsForced));
        if let Some((seen, now)) = other {
            return Err(Refusal::OtherGrant { name: text, seen, now });
        }
        events.push(Event::Forced { name: name.clone(), by });
        self.delays.retain(|(delayed, ..)| delayed != name);
        holders.sort();
        for &holder in &holders {
            let position = self.position(holder, name).expect("it was found a moment ago");
            let place = self.places[position].clone();
            self.leave(position, Departure::Forced, moment, events);
            if self.has(Flaw::ForceLeavesPlace) {
                self.places.push(place);
            }
        }
        if holders.is_empty() {
            self.admit(name, moment, events);
        } else {
            self.vacate(name, moment, events);
        }
        Ok(Response::Done)
    }

    fn end_delay(&mut self, name: &Name, fence: Fence, moment: Moment, events: &mut Vec<Event>) -> Answer {
        let before = self.delays.len();
        let any = self.has(Flaw::AnyDelayEnds);
        self.delays.retain(|(delayed, delay, _)| delayed != name || (*delay != fence && !any));
        if self.delays.len() < before {
            if self.has(Flaw::VacantTwice) {
                self.vacate(name, moment, events);
            }
            self.admit(name, moment, events);
        }
        Ok(Response::Done)
    }

    fn proclaim(&mut self, id: SessionId, name: Name, fence: Fence, value: Vec<u8>, events: &mut Vec<Event>) -> Answer {
        self.session(id)?;
        let position = self.position(id, &name).filter(|&position| self.places[position].fence == Some(fence));
        let position = position.ok_or_else(|| Refusal::NotHeld { name: name.text.to_string() })?;
        self.places[position].value.clone_from(&value);
        events.push(Event::Proclaimed { name, session: id, fence, value });
        Ok(Response::Done)
    }
}

type Answer = Result<Response, Refusal>;

fn permits_of(mode: Mode) -> Option<u32> {
    match mode {
        Mode::Permit { of } => Some(of),
        Mode::Exclusive | Mode::Shared => None,
    }
}

impl Session {
    fn knows(&self, request: u64) -> bool {
        let last = self.done.iter().copied().max().unwrap_or(0);
        request > 0 && (self.done.contains(&request) || request + 64 <= last)
    }
}

impl Service for Model {
    fn apply(&mut self, moment: Moment, command: Command) -> (Response, Vec<Event>) {
        let mut events = Vec::new();
        let answer = match command {
            Command::Open { session: id, ttl_ms, label, .. } => match self.session(id) {
                Ok(_) => Err(Refusal::SessionExists(id)),
                Err(_) => {
                    let (done, given_up) = (Vec::new(), Vec::new());
                    self.sessions.push(Session { id, label, done, opened: moment.index, given_up });
                    events.push(Event::Opened { session: id, ttl_ms });
                    Ok(Response::Done)
                }
            },
            Command::Close { session } => self.end(session, Departure::Closed, moment, &mut events),
            Command::Expire { session: id, opened } => match self.session(id) {
                Ok(session) if opened != 0 && session.opened != opened => Err(Refusal::NoSession(id)),
                _ => self.end(id, Departure::Expired, moment, &mut events),
            },
            Command::Acquire(acquire) => self.acquire(acquire, moment, &mut events),
            Command::Withdraw { session, request, name } => self.withdraw(session, request, &name, moment, &mut events),
            Command::GiveUp { session, call, name } => self.give_up(session, call, &name, moment, &mut events),
            Command::Release { session, request, name, fence } => {
                self.release((session, request), &name, fence, moment, &mut events)
            }
            Command::Force { name, by, fence } => self.force(&name, by, fence, moment, &mut events),
            Command::EndDelay { name, fence } => self.end_delay(&name, fence, moment, &mut events),
            Command::Proclaim { session, name, fence, value } => {
                self.proclaim(session, name, fence, value, &mut events)
            }
            Command::Generation { at_least } => {
                self.generation = u64::from(at_least).max(self.generation + 1);
                Ok(Response::Done)
            }
            Command::Turn { .. } | Command::TurnLost { .. } | Command::NoTurn { .. } => Err(Refusal::GrantsByItself),
        };
        (answer.unwrap_or_else(Response::Refused), events)
    }

    fn seen(&self) -> Seen {
        let label = |id: SessionId| {
            let session = self.sessions.iter().find(|session| session.id == id);
            session.map_or_else(String::new, |session| session.label.clone())
        };
        let mut sessions: Vec<_> = self.sessions.iter().map(|session| (session.id, Vec::new())).collect();
        sessions.sort();
        for (id, places) in &mut sessions {
            places.extend(self.places.iter().filter(|place| place.session == *id).map(|place| place.name.clone()));
            places.sort();
        }
        let mut names: Vec<_> = self.places.iter().map(|place| &place.name).collect();
        names.extend(self.delays.iter().map(|(name, ..)| name));
        names.sort();
        names.dedup();
        let lock = |name: &Name| {
            let holder = |place: &&Place| Holder {
                session: place.session,
                label: label(place.session),
                fence: place.fence.expect("who holds has a fence"),
                mode: place.mode,
                since_ms: place.since_ms,
                value: place.value.clone(),
            };
            let waiter = |place: &&Place| Waiter {
                session: place.session,
                label: label(place.session),
                mode: place.mode,
                since_ms: place.since_ms,
            };
            let mut holders: Vec<_> = self.at(name, true).iter().map(holder).collect();
            holders.sort_by_key(|holder| holder.session);
            let waiters: Vec<_> = self.at(name, false).iter().map(waiter).collect();
            let delays = self.delays.iter().filter(|(delayed, ..)| delayed == name);
            let delay = delays.map(|&(_, fence, delay_ms)| (fence, delay_ms)).max_by_key(|&(fence, ms)| (ms, fence));
            let (holding, waiting) = (holders.len() as u64, waiters.len() as u64);
            LockView { holders, holding, waiting, waiters, delay }
        };
        Seen { sessions, locks: names.into_iter().map(|name| (name.clone(), lock(name))).collect() }
    }
}
