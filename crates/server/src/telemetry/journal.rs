//! Lines for the log about what operators want to know of: who leads, whose session expired, who used force.
//!
//! They are written by a task of their own. Whoever applies commands only leaves a note, and not even that if there
//! are too many already: then the journal says how many are missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, watch};

use super::Telemetry;
use crate::engine::Leadership;
use crate::machine::{Departure, Event, Name, SessionId};

/// So many notes may wait to be written.
const MOST_NOTES: usize = 1024;
/// So much room is kept for those that tell who used force, however many sessions expire at once.
const ROOM_FOR_FORCE: usize = 256;
/// So many locks are named in one line.
const MOST_NAMES: usize = 10;

/// Something to write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A session was not renewed in time.
    Expired { session: SessionId, label: String, lost: Names, left: Names },
    /// A lock was taken away.
    Forced { name: Name, by: String, from: Vec<SessionId> },
}

/// The first of some names, and how many there are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    first: Vec<Name>,
    count: usize,
}

impl Names {
    fn push(&mut self, name: &Name) {
        self.count += 1;
        if self.first.len() < MOST_NAMES {
            self.first.push(name.clone());
        }
    }

    fn text(&self) -> String {
        let names: Vec<_> = self.first.iter().map(|name| name.text.as_ref()).collect();
        match self.count - self.first.len() {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        }
    }
}

/// Where notes are left.
#[derive(Debug)]
pub(super) struct Notes {
    queue: mpsc::Sender<Note>,
    missing: AtomicU64,
}

pub(super) fn queue() -> (Notes, mpsc::Receiver<Note>) {
    let (queue, waiting) = mpsc::channel(MOST_NOTES);
    (Notes { queue, missing: 0.into() }, waiting)
}

impl Notes {
    /// Leaves a note of what is worth one.
    pub(super) fn applied(&self, events: &[Event]) {
        for (at, event) in events.iter().enumerate() {
            let note = match event {
                Event::Ended { session, expired: true, label } => expired(*session, label, &events[at..]),
                Event::Forced { name, by } => forced(name, by, &events[at..]),
                Event::Opened { .. }
                | Event::Ended { expired: false, .. }
                | Event::Queued { .. }
                | Event::Granted { .. }
                | Event::Lost { .. }
                | Event::Left { .. }
                | Event::Delayed { .. }
                | Event::Vacant { .. }
                | Event::Proclaimed { .. }
                | Event::Wanted { .. } => continue,
            };
            let is_full = matches!(note, Note::Expired { .. }) && self.queue.capacity() <= ROOM_FOR_FORCE;
            if is_full || self.queue.try_send(note).is_err() {
                self.missing.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn expired(session: SessionId, label: &str, events: &[Event]) -> Note {
    let (mut lost, mut left) = (Names::default(), Names::default());
    for event in events {
        match event {
            Event::Lost { name, session: whose, .. } if *whose == session => lost.push(name),
            Event::Left { name, session: whose, .. } if *whose == session => left.push(name),
            _ => {}
        }
    }
    Note::Expired { session, label: label.into(), lost, left }
}

fn forced(name: &Name, by: &str, events: &[Event]) -> Note {
    let holders = events.iter().filter_map(|event| match event {
        Event::Lost { session, departure: Departure::Forced, .. } => Some(*session),
        _ => None,
    });
    Note::Forced { name: name.clone(), by: by.into(), from: holders.take(MOST_NAMES).collect() }
}

/// Who writes what operators want to know of into the log.
#[derive(Debug)]
pub struct Journal {
    telemetry: Arc<Telemetry>,
    waiting: mpsc::Receiver<Note>,
}

impl Journal {
    pub(super) fn new(telemetry: Arc<Telemetry>, waiting: mpsc::Receiver<Note>) -> Journal {
        Journal { telemetry, waiting }
    }

    /// Writes until the engine ends.
    pub async fn write(mut self, mut leadership: watch::Receiver<Leadership>) {
        let mut before = Leadership::default();
        loop {
            let now = *leadership.borrow_and_update();
            if now.leader.is_some() && now.leader != before.leader {
                self.telemetry.leaders.fetch_add(1, Ordering::Relaxed);
            }
            write_change(before, now);
            before = now;
            tokio::select! {
                Some(note) = self.waiting.recv() => {
                    write(&note);
                    let missing = self.telemetry.notes.missing.swap(0, Ordering::Relaxed);
                    if missing > 0 {
                        tracing::warn!(missing, "log messages dropped");
                    }
                }
                changed = leadership.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

fn write_change(before: Leadership, now: Leadership) {
    let term = now.term;
    match (before.is_here, now.is_here) {
        (false, true) => tracing::info!(term, "became leader"),
        (true, false) => tracing::warn!(term, leader = now.leader, "lost leadership"),
        _ if now.is_here || before.leader == now.leader => {}
        // Nobody, or another one. Its own election is told above, when it has caught up with what was decided before.
        _ => match now.leader {
            Some(leader) => tracing::info!(term, leader, "leader changed"),
            None => tracing::warn!(term, "leader lost"),
        },
    }
}

fn write(note: &Note) {
    match note {
        Note::Expired { session, label, lost, left } => tracing::info!(
            %session,
            label,
            lost = lost.text(),
            left = left.text(),
            "session expired"
        ),
        Note::Forced { name, by, from } => {
            let from: Vec<_> = from.iter().map(SessionId::to_string).collect();
            tracing::warn!(%name, by, holders = from.join(", "), "lock released by force");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Acquire, Command, Machine, Mode, Moment};

    fn session(number: u64) -> SessionId {
        SessionId::new(number).unwrap()
    }

    #[test]
    fn an_expiry_is_noted_with_all_that_was_lost_and_force_with_who_used_it() {
        let (mut machine, mut index) = (Machine::default(), 0);
        let mut apply = |command| {
            index += 1;
            machine.apply(Moment { index, at_ms: 0 }, command).1
        };
        for number in [1, 2] {
            let (label, owner) = (format!("worker {number}"), String::new());
            apply(Command::Open { session: session(number), ttl_ms: 1000, label, owner, transient: false });
        }
        for name in (0..12).map(|number| Name::lock(format!("l{number:02}"))) {
            for number in [1, 2] {
                let (session, mode, value) = (session(number), Mode::Exclusive, Vec::new());
                let name = name.clone();
                apply(Command::Acquire(Acquire {
                    session,
                    request: 0,
                    call: 0,
                    name,
                    mode,
                    wait: true,
                    delay_ms: 0,
                    value,
                }));
            }
        }
        let (notes, mut waiting) = queue();
        notes.applied(&apply(Command::Expire { session: session(1), opened: 0 }));
        let Ok(Note::Expired { session: whose, label, lost, left }) = waiting.try_recv() else { panic!("a note") };
        assert_eq!((whose, label.as_str(), left.count), (session(1), "worker 1", 0));
        assert_eq!(lost.text(), "l00, l01, l02, l03, l04, l05, l06, l07, l08, l09 and 2 more");
        notes.applied(&apply(Command::Force { name: Name::lock("l00"), by: "alice".into(), fence: None }));
        let forced = Note::Forced { name: Name::lock("l00"), by: "alice".into(), from: vec![session(2)] };
        assert_eq!(waiting.try_recv(), Ok(forced));
        assert!(waiting.try_recv().is_err());
    }
}
