//! What must be true of the service after every command, and of everything it tells, whoever implements it.

use std::collections::{BTreeMap, BTreeSet};

use quorate_server::machine::view::LockView;
use quorate_server::machine::{Acquire, Command, Event, Fence, Machine, Mode, Moment, Name, Response, SessionId};

/// Whoever takes commands and can be looked at: the machine, or the model.
pub(crate) trait Service {
    fn apply(&mut self, moment: Moment, command: Command) -> (Response, Vec<Event>);
    fn seen(&self) -> Seen;
}

/// Everything that can be seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What each session holds or awaits.
    pub(crate) sessions: Vec<(SessionId, Vec<Name>)>,
    pub(crate) locks: Vec<(Name, LockView)>,
}

impl Service for Machine {
    fn apply(&mut self, moment: Moment, command: Command) -> (Response, Vec<Event>) {
        Machine::apply(self, moment, command)
    }

    fn seen(&self) -> Seen {
        let session = |id| (id, self.places(id).cloned().collect());
        let lock = |name: &Name| (name.clone(), self.lock(name, usize::MAX).expect("what has a name can be seen"));
        Seen {
            sessions: self.sessions().map(|view| session(view.session)).collect(),
            locks: self.names().map(lock).collect(),
        }
    }
}

/// A law that does not hold, in words.
pub(crate) type Broken = String;

fn demand(holds: bool, law: &str) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(law.into()) }
}

impl Seen {
    /// How somebody holds or awaits a lock.
    fn mode_of(&self, session: SessionId, name: &Name) -> Option<Mode> {
        let (_, lock) = self.locks.iter().find(|(seen, _)| seen == name)?;
        let holder = lock.holders.iter().find(|holder| holder.session == session).map(|holder| holder.mode);
        holder.or_else(|| Some(lock.waiters.iter().find(|waiter| waiter.session == session)?.mode))
    }

    /// What must be true of what can be seen at any time.
    pub(crate) fn judge(&self) -> Result<(), Broken> {
        let mut places: BTreeSet<(SessionId, &Name)> = BTreeSet::new();
        for (name, lock) in &self.locks {
            let modes: BTreeSet<Mode> = lock.holders.iter().map(|holder| holder.mode).collect();
            demand(modes.len() <= 1, "all who hold a lock hold it in one mode")?;
            let most = |mode: &Mode| match *mode {
                Mode::Exclusive => 1,
                Mode::Shared => usize::MAX,
                Mode::Permit { of } => of as usize,
            };
            let mode = modes.first();
            demand(mode.is_none_or(|mode| lock.holders.len() <= most(mode)), "no more hold a lock than may")?;
            let is_idle = lock.holders.is_empty() && lock.waiters.is_empty() && lock.delay.is_none();
            demand(!is_idle, "an idle lock is forgotten")?;
            demand(lock.waiting == lock.waiters.len() as u64, "all who wait are counted")?;
            if let (Some(next), None) = (lock.waiters.first(), lock.delay) {
                let fits = mode.is_none_or(|mode| *mode == next.mode) && lock.holders.len() < most(&next.mode);
                demand(!fits, "nobody waits who could be let in")?;
            }
            let holders = lock.holders.iter().map(|holder| holder.session);
            for session in holders.chain(lock.waiters.iter().map(|waiter| waiter.session)) {
                demand(places.insert((session, name)), "nobody is twice at a lock")?;
            }
        }
        let sessions = self.sessions.iter().flat_map(|(id, names)| names.iter().map(move |name| (*id, name)));
        demand(places == sessions.collect(), "sessions and locks agree on who holds and awaits what")
    }
}

/// What was told so far.
#[derive(Clone, Default)]
pub(crate) struct Told {
    sessions: BTreeSet<SessionId>,
    locks: BTreeMap<Name, ToldLock>,
    /// The requests that came so far, or were withdrawn.
    numbers: BTreeSet<(SessionId, u64)>,
    /// The requests that were withdrawn, and the calls that were given up, before anything was asked for by them.
    withdrawn: BTreeSet<(SessionId, u64)>,
    given_up: BTreeSet<(SessionId, u64)>,
}

#[derive(Clone, Default)]
struct ToldLock {
    /// The largest fence of all grants.
    largest: Option<Fence>,
    holders: BTreeMap<SessionId, Fence>,
    line: Vec<SessionId>,
    /// The request by which each came to the line.
    asked: BTreeMap<SessionId, u64>,
    /// The call that asked last, for each who has a place.
    calls: BTreeMap<SessionId, u64>,
    delays: BTreeSet<Fence>,
}

impl ToldLock {
    fn is_vacant(&self) -> bool {
        self.holders.is_empty() && self.line.is_empty()
    }
}

impl Told {
    /// Remembers the fences that were granted in a future that is lost.
    pub(crate) fn remember_fences(&mut self, lost: &Told) {
        for (name, lock) in &lost.locks {
            let largest = &mut self.lock(name).largest;
            *largest = (*largest).max(lock.largest);
        }
    }

    /// What must be true of what is told about a command, and of what can be seen after it.
    pub(crate) fn judge(&mut self, command: &Command, events: &[Event], seen: &Seen) -> Result<(), Broken> {
        if let Command::EndDelay { name, fence } = command {
            self.locks.entry(name.clone()).or_default().delays.remove(fence);
        }
        self.judge_late(command, events)?;
        self.judge_withdrawal(command, events)?;
        self.judge_giving_up(command, events, seen)?;
        let vacant = |told: &Told| -> BTreeSet<Name> {
            told.locks.iter().filter(|(_, lock)| lock.is_vacant()).map(|(name, _)| name.clone()).collect()
        };
        let before = vacant(self);
        let mut told_vacant = Vec::new();
        for event in events {
            self.event(event, seen, &mut told_vacant)?;
        }
        let mut become_vacant: Vec<_> = vacant(self).difference(&before).cloned().collect();
        // Who gets a lock at once and is the first to come has found it vacant.
        become_vacant.retain(|name| events.iter().any(|event| departs(event, name)));
        told_vacant.sort();
        demand(told_vacant == become_vacant, "a lock is told to be vacant once, when the last one leaves")?;
        self.agrees(seen)
    }

    fn judge_late(&mut self, command: &Command, events: &[Event]) -> Result<(), Broken> {
        match command {
            Command::Acquire(Acquire { session, request, call, .. }) => {
                let is_late =
                    self.withdrawn.contains(&(*session, *request)) || self.given_up.contains(&(*session, *call));
                demand(!is_late || events.is_empty(), "what was given up before it arrived comes too late")
            }
            Command::Release { fence: Some(meant), .. } => {
                let other = |event: &Event| matches!(event, Event::Lost { fence, .. } if fence != meant);
                demand(!events.iter().any(other), "a release of one grant gives back no other")
            }
            Command::Force { fence: Some(seen), .. } => {
                let later = |event: &Event| matches!(event, Event::Lost { fence, .. } if fence > seen);
                demand(!events.iter().any(later), "nobody who got it later loses it to who has seen an earlier grant")
            }
            Command::Withdraw { session, request: request @ 1.., .. } if self.numbers.insert((*session, *request)) => {
                self.withdrawn.insert((*session, *request));
                Ok(())
            }
            Command::GiveUp { session, call: call @ 1.., .. } if events.is_empty() => {
                self.given_up.insert((*session, *call));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn judge_withdrawal(&mut self, command: &Command, events: &[Event]) -> Result<(), Broken> {
        match command {
            Command::Acquire(acquire) if events.iter().any(|event| matches!(event, Event::Queued { .. })) => {
                self.lock(&acquire.name).asked.insert(acquire.session, acquire.request);
                Ok(())
            }
            Command::Withdraw { session, request: request @ 1.., name } if !events.is_empty() => {
                let asked = self.lock(name).asked.get(session).copied();
                demand(asked <= Some(*request), "a withdrawal gives up nothing that was asked for after it")
            }
            _ => Ok(()),
        }
    }

    fn judge_giving_up(&mut self, command: &Command, events: &[Event], seen: &Seen) -> Result<(), Broken> {
        match command {
            Command::Acquire(Acquire { session, request, call, name, mode, .. }) => {
                let is_given_up = self.given_up.contains(&(*session, *call));
                let is_known = is_given_up || *request > 0 && !self.numbers.insert((*session, *request));
                // Who asks for another mode than it has is refused, and has not asked.
                if !is_known && seen.mode_of(*session, name) == Some(*mode) {
                    self.lock(name).calls.insert(*session, *call);
                }
                Ok(())
            }
            Command::GiveUp { session, call, name } if !events.is_empty() => {
                let last = self.lock(name).calls.get(session).copied();
                demand(last == Some(*call), "a call gives up nothing that somebody has asked for since")
            }
            _ => Ok(()),
        }
    }

    fn event(&mut self, event: &Event, seen: &Seen, told_vacant: &mut Vec<Name>) -> Result<(), Broken> {
        match event {
            Event::Opened { session, .. } => demand(self.sessions.insert(*session), "a session is opened once"),
            Event::Ended { session, .. } => demand(self.sessions.remove(session), "who ends has been there"),
            Event::Queued { name, session } => {
                self.lock(name).line.push(*session);
                demand(self.sessions.contains(session), "who waits has a session")
            }
            Event::Granted { name, session, fence, .. } => self.granted(name, *session, *fence, seen),
            Event::Lost { name, session, fence, .. } => {
                let lost = self.lock(name).holders.remove(session);
                demand(lost == Some(*fence), "who loses a lock was granted it by that number")
            }
            Event::Left { name, session, .. } => {
                let lock = self.lock(name);
                let place = lock.line.iter().position(|waiting| waiting == session);
                let place = place.ok_or("who leaves the line was in it")?;
                lock.line.remove(place);
                Ok(())
            }
            Event::Delayed { name, fence, .. } => demand(self.lock(name).delays.insert(*fence), "delays are distinct"),
            Event::Vacant { name } => {
                told_vacant.push(name.clone());
                demand(self.lock(name).is_vacant(), "what is vacant has neither holders nor waiters")
            }
            Event::Proclaimed { name, session, fence, .. } => {
                demand(self.lock(name).holders.get(session) == Some(fence), "who proclaims something leads")
            }
            Event::Forced { name, .. } => {
                self.lock(name).delays.clear();
                Ok(())
            }
            Event::Wanted { .. } => Err("who grants by itself wants no turn".into()),
        }
    }

    fn granted(&mut self, name: &Name, session: SessionId, fence: Fence, seen: &Seen) -> Result<(), Broken> {
        demand(self.sessions.contains(&session), "nobody without a session is granted anything")?;
        let lock = self.lock(name);
        demand(lock.delays.is_empty(), "nothing is granted during a delay")?;
        let is_next = lock.line.first().is_none_or(|first| *first == session);
        demand(is_next, "grants go in the order of arrival")?;
        if !lock.line.is_empty() {
            lock.line.remove(0);
        }
        let holders = seen.locks.iter().find(|(seen, _)| seen == name).map(|(_, lock)| &lock.holders[..]);
        let holder = holders.unwrap_or_default().iter().find(|holder| holder.session == session);
        let is_alone = holder.is_some_and(|holder| holder.mode == Mode::Exclusive);
        let grows = lock.largest.is_none_or(|largest| largest < fence || (largest == fence && !is_alone));
        demand(grows, "fences grow, and no two exclusive grants have the same")?;
        lock.largest = Some(fence);
        demand(lock.holders.insert(session, fence).is_none(), "who holds a lock is not granted it again")
    }

    fn agrees(&self, seen: &Seen) -> Result<(), Broken> {
        let sessions = seen.sessions.iter().map(|(id, _)| *id).collect();
        demand(self.sessions == sessions, "every session that was opened and has not ended is there, and no other")?;
        for (name, told) in &self.locks {
            let lock = seen.locks.iter().find(|(seen, _)| seen == name).map(|(_, lock)| lock);
            let holders = lock.map(|lock| lock.holders.iter().map(|holder| (holder.session, holder.fence)).collect());
            demand(told.holders == holders.unwrap_or_default(), "who was granted a lock and has not lost it holds it")?;
            let line: Option<Vec<_>> = lock.map(|lock| lock.waiters.iter().map(|waiter| waiter.session).collect());
            demand(told.line == line.unwrap_or_default(), "who has queued and has neither left nor got it waits")?;
            let is_delayed = lock.is_some_and(|lock| lock.delay.is_some());
            demand(told.delays.is_empty() != is_delayed, "a delay lasts until it is ended")?;
        }
        Ok(())
    }

    fn lock(&mut self, name: &Name) -> &mut ToldLock {
        self.locks.entry(name.clone()).or_default()
    }
}

fn departs(event: &Event, from: &Name) -> bool {
    match event {
        Event::Lost { name, .. } | Event::Left { name, .. } => name == from,
        Event::Opened { .. }
        | Event::Ended { .. }
        | Event::Queued { .. }
        | Event::Granted { .. }
        | Event::Delayed { .. }
        | Event::Vacant { .. }
        | Event::Proclaimed { .. }
        | Event::Forced { .. }
        | Event::Wanted { .. } => false,
    }
}
