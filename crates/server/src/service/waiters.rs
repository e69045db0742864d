//! Who waits here, on this node, for something to happen: for a grant, or for anything at all.
//!
//! A waiter registers *before* it asks, so that it misses nothing. It is told by what this node has applied, whichever
//! node the command came through.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, oneshot};

use crate::machine::{Departure, Event, Fence, Machine, Moment, Name, SessionId};

/// What a waiter is told, at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It got it.
    Granted(Fence),
    /// It will not get it.
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

/// Those who wait for what a session is to get, each with the number of its ticket.
type Waiting = HashMap<(SessionId, Name), Vec<(u64, oneshot::Sender<Fate>)>>;

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
        let (sender, fate) = oneshot::channel();
        let number = self.tickets.fetch_add(1, Ordering::Relaxed);
        let key = (session, name.clone());
        self.locked().entry(key.clone()).or_default().push((number, sender));
        Ticket { waiters: Arc::clone(self), key, number, fate }
    }

    /// Everything that happens from now on.
    pub(super) fn watch(&self) -> broadcast::Receiver<Told> {
        self.watchers.subscribe()
    }

    pub(super) fn applied(&self, moment: Moment, events: &[Event]) {
        for event in events {
            match event {
                Event::Granted { name, session, fence, .. } => self.tell(*session, name, Fate::Granted(*fence)),
                Event::Left { name, session, departure } => self.tell(*session, name, Fate::Gone(*departure)),
                Event::Opened { .. }
                | Event::Ended { .. }
                | Event::Queued { .. }
                | Event::Lost { .. }
                | Event::Delayed { .. }
                | Event::Vacant { .. }
                | Event::Proclaimed { .. }
                | Event::Forced { .. } => {}
            }
        }
        if !events.is_empty() && self.watchers.receiver_count() > 0 {
            let occurrences = events.iter().map(|event| Occurrence { moment, event: event.clone() });
            // Nobody may be left by now, which is no error.
            let _ = self.watchers.send(Told::Happened(occurrences.collect()));
        }
    }

    /// The machine is another one: what a waiter waits for may have happened unseen.
    pub(super) fn replaced(&self, machine: &Machine) {
        let keys: Vec<_> = self.locked().keys().cloned().collect();
        for (session, name) in keys {
            if let Some(fence) = machine.fence_of(session, &name) {
                self.tell(session, &name, Fate::Granted(fence));
            } else if machine.session(session).is_none() {
                self.tell(session, &name, Fate::Gone(Departure::Expired));
            }
        }
        let _ = self.watchers.send(Told::Missed);
    }

    fn tell(&self, session: SessionId, name: &Name, fate: Fate) {
        let mut waiting = self.locked();
        if waiting.is_empty() {
            return;
        }
        for (_, sender) in waiting.remove(&(session, name.clone())).into_iter().flatten() {
            let _ = sender.send(fate);
        }
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among those who wait on this node. Who drops it waits no more; its place in the lock's line is another matter.
pub(super) struct Ticket {
    waiters: Arc<Waiters>,
    key: (SessionId, Name),
    number: u64,
    fate: oneshot::Receiver<Fate>,
}

impl Ticket {
    /// Waits until its fate is known.
    pub(super) async fn fate(&mut self) -> Fate {
        match (&mut self.fate).await {
            Ok(fate) => fate,
            // The sender is dropped only with the node.
            Err(_) => std::future::pending().await,
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
