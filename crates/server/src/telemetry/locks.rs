//! How long locks are awaited and held, and what becomes of them: for some by name, for all others together.
//!
//! The first names that are granted have figures of their own. When there are as many as there may be, a new name gets
//! the place of one that was of no use to anybody for a while, whose figures are then added to those of all others: so
//! names that are used once do not keep out those that come after them, and no sum ever falls.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::histogram::Histogram;
use crate::machine::{Departure, Event, Machine, Name, SessionId};

/// So many locks and elections have figures of their own.
pub const MOST_LOCKS: usize = 100;
/// Who was not granted or lost for so long gives its place to another one.
const IDLE: Duration = Duration::from_secs(600);
/// How often to look for one, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The figures of one lock, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) waits: Histogram,
    pub(super) holds: Histogram,
    /// So many were taken away because a session had expired, and so many by force.
    pub(super) expired: u64,
    pub(super) forced: u64,
    /// So many as the turn of this node was taken away, with an engine that takes turns.
    pub(super) turns_lost: u64,
    /// So many left the line without having got anything.
    pub(super) left: u64,
}

impl Figures {
    fn add(&mut self, other: &Figures) {
        self.waits.add(&other.waits);
        self.holds.add(&other.holds);
        self.expired += other.expired;
        self.forced += other.forced;
        self.turns_lost += other.turns_lost;
        self.left += other.left;
    }
}

#[derive(Clone, Debug)]
struct Shown {
    figures: Figures,
    used: Instant,
}

/// Since when a session holds or awaits something, by this node's monotonic clock.
#[derive(Clone, Copy, Debug)]
struct Place {
    since: Instant,
    holds: bool,
}

/// Since when who holds and awaits what, and the figures.
#[derive(Debug, Default)]
pub(super) struct LockBook {
    /// Everybody: as many as the machine has.
    places: HashMap<(SessionId, Name), Place>,
    holding: u64,
    shown: HashMap<Name, Shown>,
    others: Figures,
    looked: Option<Instant>,
    pub(super) opened: u64,
    pub(super) closed: u64,
    pub(super) expired: u64,
}

impl LockBook {
    /// Notes what has happened; counts it if this node leads.
    pub(super) fn applied(&mut self, now: Instant, leads: bool, events: &[Event]) {
        for event in events {
            match event {
                Event::Opened { .. } => self.opened += u64::from(leads),
                Event::Ended { expired: true, .. } => self.expired += u64::from(leads),
                Event::Ended { expired: false, .. } => self.closed += u64::from(leads),
                Event::Queued { name, session } => {
                    self.places.insert((*session, name.clone()), Place { since: now, holds: false });
                }
                Event::Granted { name, session, .. } => {
                    let before = self.places.insert((*session, name.clone()), Place { since: now, holds: true });
                    self.holding += u64::from(before.is_none_or(|place| !place.holds));
                    if leads {
                        let waited = before.map_or(Duration::ZERO, |place| now.duration_since(place.since));
                        self.figures(now, name).waits.record(waited);
                    }
                }
                Event::Lost { name, session, departure, .. } => {
                    let before = self.places.remove(&(*session, name.clone()));
                    self.holding -= u64::from(before.is_some_and(|place| place.holds));
                    if leads {
                        self.lost(now, name, before, *departure);
                    }
                }
                Event::Left { name, session, .. } => {
                    self.places.remove(&(*session, name.clone()));
                    if leads {
                        self.figures(now, name).left += 1;
                    }
                }
                Event::Delayed { .. }
                | Event::Vacant { .. }
                | Event::Proclaimed { .. }
                | Event::Forced { .. }
                | Event::Wanted { .. } => {}
            }
        }
    }

    fn lost(&mut self, now: Instant, name: &Name, before: Option<Place>, departure: Departure) {
        let figures = self.figures(now, name);
        if let Some(place) = before {
            figures.holds.record(now.duration_since(place.since));
        }
        match departure {
            Departure::Expired => figures.expired += 1,
            Departure::Forced => figures.forced += 1,
            Departure::TurnLost => figures.turns_lost += 1,
            Departure::Released | Departure::Withdrawn | Departure::Closed | Departure::NoTurn => {}
        }
    }

    /// Another machine: since when everything is as it is, is not known any better than since now.
    pub(super) fn replaced(&mut self, now: Instant, machine: &Machine) {
        let holds = |session, name: &Name| machine.fence_of(session, name).is_some();
        self.places.clear();
        for session in machine.sessions().map(|view| view.session) {
            let places = machine.places(session).map(|name| (name, Place { since: now, holds: holds(session, name) }));
            self.places.extend(places.map(|(name, place)| ((session, name.clone()), place)));
        }
        self.holding = self.places.values().filter(|place| place.holds).count() as u64;
    }

    /// The figures of a name: its own, if it has some or there is room.
    fn figures(&mut self, now: Instant, name: &Name) -> &mut Figures {
        if !self.shown.contains_key(name) {
            self.make_room(now);
        }
        let has_room = self.shown.len() < MOST_LOCKS;
        if !has_room && !self.shown.contains_key(name) {
            return &mut self.others;
        }
        let new = || Shown { figures: Figures::default(), used: now };
        let shown = self.shown.entry(name.clone()).or_insert_with(new);
        shown.used = now;
        &mut shown.figures
    }

    fn make_room(&mut self, now: Instant) {
        let is_early = self.looked.is_some_and(|looked| now.duration_since(looked) < LOOK_EVERY);
        if self.shown.len() < MOST_LOCKS || is_early {
            return;
        }
        self.looked = Some(now);
        let others = &mut self.others;
        self.shown.retain(|_, shown| {
            let is_idle = now.duration_since(shown.used) >= IDLE;
            if is_idle {
                others.add(&shown.figures);
            }
            !is_idle
        });
    }

    /// Those with figures of their own, in the order of their names.
    pub(super) fn shown(&self) -> Vec<(Name, Figures)> {
        let mut shown: Vec<_> = self.shown.iter().map(|(name, shown)| (name.clone(), shown.figures)).collect();
        shown.sort_by(|(one, _), (other, _)| one.cmp(other));
        shown
    }

    /// Those of all others together.
    pub(super) fn others(&self) -> Figures {
        self.others
    }

    /// How many hold something, and how many wait, each counted once for every lock.
    pub(super) fn crowd(&self) -> (u64, u64) {
        (self.holding, self.places.len() as u64 - self.holding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fence;

    fn session(number: u64) -> SessionId {
        SessionId::new(number).unwrap()
    }

    fn queued(name: &Name, number: u64) -> Event {
        Event::Queued { name: name.clone(), session: session(number) }
    }

    fn granted(name: &Name, number: u64) -> Event {
        let fence = Fence::from_number(1);
        Event::Granted { name: name.clone(), session: session(number), fence, since_ms: 0, value: Vec::new() }
    }

    fn lost(name: &Name, number: u64, departure: Departure) -> Event {
        let fence = Fence::from_number(1);
        Event::Lost { name: name.clone(), session: session(number), fence, departure, since_ms: 0 }
    }

    #[test]
    fn waits_and_holds_are_measured_and_counted_only_by_who_leads() {
        let (mut book, start, name) = (LockBook::default(), Instant::now(), Name::lock("a"));
        let at = |seconds| start + Duration::from_secs(seconds);
        book.applied(at(0), false, &[granted(&name, 1), queued(&name, 2)]);
        assert!(book.shown().is_empty() && book.crowd() == (1, 1));
        book.applied(at(30), true, &[lost(&name, 1, Departure::Expired), granted(&name, 2)]);
        let [(shown, figures)] = &book.shown()[..] else { panic!("one lock") };
        assert_eq!((shown, figures.waits.count(), figures.waits.total_seconds()), (&name, 1, 30.0));
        assert_eq!((figures.holds.count(), figures.holds.total_seconds(), figures.expired), (1, 30.0, 1));
        assert_eq!(book.crowd(), (1, 0));
        book.applied(at(31), true, &[lost(&name, 2, Departure::Released)]);
        assert_eq!((book.crowd(), book.shown()[0].1.expired, book.places.len()), ((0, 0), 1, 0));
    }

    #[test]
    fn names_are_bounded_idle_ones_make_room_and_no_sum_falls() {
        let (mut book, start) = (LockBook::default(), Instant::now());
        let grants = |book: &LockBook| {
            let shown: u64 = book.shown().iter().map(|(_, figures)| figures.waits.count()).sum();
            shown + book.others().waits.count()
        };
        for number in 0..MOST_LOCKS as u64 + 50 {
            book.applied(start, true, &[granted(&Name::lock(format!("l{number}")), 1)]);
        }
        assert_eq!((book.shown().len(), book.others().waits.count()), (MOST_LOCKS, 50));
        let kept = Name::lock("l7");
        book.applied(start + IDLE / 2, true, &[lost(&kept, 1, Departure::Released)]);
        book.applied(start + IDLE, true, &[granted(&Name::lock("new"), 1)]);
        let names: Vec<_> = book.shown().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [kept, Name::lock("new")]);
        assert_eq!(grants(&book), MOST_LOCKS as u64 + 51);
    }
}
