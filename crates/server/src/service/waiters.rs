//! Who waits here, on this node, for something to happen: for a grant, or for anything at all.
//!
//! A waiter registers *before* it asks, so that it misses nothing. It is told by what this node has applied, whichever
//! node the command came through.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, mpsc};

use crate::machine::{Departure, Event, Fence, Machine, Moment, Name, SessionId};

/// What a waiter is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It got it.
    Granted(Fence),
    /// It will not get it, or does not have it any more.
    Gone(Departure),
}

/// Something that happened, and when.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// When.
    pub moment: Moment,
    /// What.
    pub event: Event,
}

/// What whoever watches is told.
#[derive(Clone, Debug)]
pub enum Told {
    /// These things happened, in this order.
    Happened(Arc<[Occurrence]>),
    /// Some things were missed: look again.
    Missed,
}

/// Watchers that are so far behind are told that they have missed something.
const MOST_BEHIND: usize = 1024;

/// Those who wait for what a session is to get, each with the number of its ticket. They are told when, too: before a
/// waiter knows its place in line, it may be told of an earlier one of the same session.
type Waiting = HashMap<(SessionId, Name), Vec<(u64, mpsc::UnboundedSender<(u64, Fate)>)>>;

/// Who waits here.
#[derive(Debug)]
pub(super) struct Waiters {
    waiting: Mutex<Waiting>,
    watchers: broadcast::Sender<Told>,
    tickets: AtomicU64,
}

impl Waiters {
    pub(super) fn new() -> Waiters {
        Waiters { waiting: Mutex::default(), watchers: broadcast::Sender::new(MOST_BEHIND), tickets: 0.into() }
    }

    /// Begins to wait, for as long as the ticket is kept.
    pub(super) fn register(self: &Arc<Self>, session: SessionId, name: &Name) -> Ticket {
        let (sender, fates) = mpsc::unbounded_channel();
        let number = self.tickets.fetch_add(1, Ordering::Relaxed);
        let key = (session, name.clone());
        self.locked().entry(key.clone()).or_default().push((number, sender));
        Ticket { waiters: Arc::clone(self), key, number, fates }
    }

    /// Everything that happens from now on.
    pub(super) fn watch(&self) -> broadcast::Receiver<Told> {
        self.watchers.subscribe()
    }

    pub(super) fn applied(&self, moment: Moment, events: &[Event]) {
        for event in events {
            match event {
                Event::Granted { name, session, fence, .. } => {
                    self.tell(moment.index, *session, name, Fate::Granted(*fence));
                }
                Event::Left { name, session, departure } | Event::Lost { name, session, departure, .. } => {
                    self.tell(moment.index, *session, name, Fate::Gone(*departure));
                }
                Event::Opened { .. }
                | Event::Ended { .. }
                | Event::Queued { .. }
                | Event::Delayed { .. }
                | Event::Vacant { .. }
                | Event::Proclaimed { .. }
                | Event::Forced { .. }
                | Event::Wanted { .. } => {}
            }
        }
        if !events.is_empty() && self.watchers.receiver_count() > 0 {
            let occurrences = events.iter().map(|event| Occurrence { moment, event: event.clone() });
            // Nobody may be left by now, which is no error.
            let _ = self.watchers.send(Told::Happened(occurrences.collect()));
        }
    }

    /// The machine is another one: what a waiter waits for may have happened unseen.
    pub(super) fn replaced(&self, machine: &Machine, index: u64) {
        let keys: Vec<_> = self.locked().keys().cloned().collect();
        for (session, name) in keys {
            if let Some(fence) = machine.fence_of(session, &name) {
                self.tell(index, session, &name, Fate::Granted(fence));
            } else if machine.session(session).is_none() {
                self.tell(index, session, &name, Fate::Gone(Departure::Expired));
            } else if machine.ahead_of(session, &name).is_none() {
                self.tell(index, session, &name, Fate::Gone(Departure::Withdrawn));
            }
        }
        let _ = self.watchers.send(Told::Missed);
    }

    fn tell(&self, index: u64, session: SessionId, name: &Name, fate: Fate) {
        let waiting = self.locked();
        if waiting.is_empty() {
            return;
        }
        for (_, sender) in waiting.get(&(session, name.clone())).into_iter().flatten() {
            // Who has dropped its ticket a moment ago does not wait any more.
            let _ = sender.send((index, fate));
        }
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among those who wait on this node. Who drops it waits no more; its place in the lock's line is another
/// matter.
pub(super) struct Ticket {
    waiters: Arc<Waiters>,
    key: (SessionId, Name),
    number: u64,
    fates: mpsc::UnboundedReceiver<(u64, Fate)>,
}

impl Ticket {
    /// Waits until the fate is known of the place in line that the command of this number gave, or confirmed.
    pub(super) async fn fate(&mut self, place: u64) -> Fate {
        loop {
            match self.fates.recv().await {
                Some((index, fate)) if index > place => return fate,
                // That was an earlier place.
                Some(_) => {}
                // The sender is dropped only with the ticket.
                None => std::future::pending().await,
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut waiting = self.waiters.locked();
        if let Some(tickets) = waiting.get_mut(&self.key) {
            tickets.retain(|(number, _)| *number != self.number);
            if tickets.is_empty() {
                waiting.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn granted(name: &Name, session: SessionId, index: u64) -> (Moment, Event) {
        let fence = Fence::from_number(index);
        let event = Event::Granted { name: name.clone(), session, fence, since_ms: 0, value: Vec::new() };
        (Moment { index, at_ms: 0 }, event)
    }

    /// The grant of an earlier place may be applied here after the waiter of a later one has registered.
    #[test]
    fn a_waiter_is_told_of_its_own_place_and_of_no_earlier_one() {
        let (waiters, session, name) = (Arc::new(Waiters::new()), SessionId::new(1).unwrap(), Name::lock("a"));
        let mut ticket = waiters.register(session, &name);
        let (moment, event) = granted(&name, session, 5);
        waiters.applied(moment, &[event]);
        assert_eq!(ticket.fate(7).now_or_never(), None);
        let (moment, event) = granted(&name, session, 9);
        waiters.applied(moment, &[event]);
        assert_eq!(ticket.fate(7).now_or_never(), Some(Fate::Granted(Fence::from_number(9))));
    }

    #[test]
    fn a_waiter_whose_place_is_gone_in_another_machine_is_told() {
        let (waiters, session, name) = (Arc::new(Waiters::new()), SessionId::new(1).unwrap(), Name::lock("a"));
        let mut ticket = waiters.register(session, &name);
        waiters.replaced(&Machine::default(), 9);
        assert_eq!(ticket.fate(7).now_or_never(), Some(Fate::Gone(Departure::Expired)));
        drop(ticket);
        assert!(waiters.locked().is_empty());
    }
}
