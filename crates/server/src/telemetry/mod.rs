//! What operators see of a node besides its answers: figures for Prometheus, and lines in the log.
//!
//! [`Telemetry`] is told of everything that this node applies, as the desk is. It keeps by its own monotonic clock
//! since when each place in line is what it is, so that a node that comes to lead knows how long others have waited;
//! and it counts only while it leads, so that the sum over all nodes counts everything once.
//!
//! - *Nothing here slows a request noticeably.* Requests are counted by one atomic addition; what is applied costs two
//!   look-ups in tables that nobody else uses, except for a moment when somebody asks for the figures. Nothing is
//!   written while the machine waits: lines for the log go through a bounded queue.
//! - *Nothing here grows without bound.* At most [`MOST_LOCKS`] locks have figures of their own. All others share
//!   those of `other`. What is remembered of the past is bounded, too.
//!
//! It is written by hand. A recorder of the crate `metrics` belongs to a process, and there may be several nodes in
//! one; and its labels are looked up by their text, for every single count.

mod histogram;
mod history;
mod journal;
mod locks;
mod page;
mod requests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

pub use journal::Journal;
pub use locks::MOST_LOCKS;
pub(crate) use page::page;
pub(crate) use requests::{Results, Row};

use crate::engine::{Leadership, Listener};
use crate::machine::{Departure, Event, Fence, Machine, Moment, Name, SessionId};
use crate::service::Occurrence;
use history::History;
use journal::Notes;
use locks::LockBook;
use requests::Requests;

/// The figures of a node.
#[derive(Debug)]
pub struct Telemetry {
    locks: Mutex<LockBook>,
    history: Mutex<History>,
    requests: Requests,
    /// Connections that are open now, streams among them, and all there ever were.
    connections: AtomicU64,
    connections_total: AtomicU64,
    streams: AtomicU64,
    /// How often this node saw another leader than before.
    leaders: AtomicU64,
    leadership: OnceLock<watch::Receiver<Leadership>>,
    notes: Notes,
}

impl Telemetry {
    /// Nothing has happened yet. The journal is to be [written](Journal::write).
    pub fn begin() -> (Arc<Telemetry>, Journal) {
        let (notes, waiting) = journal::queue();
        let telemetry = Arc::new(Telemetry {
            locks: Mutex::default(),
            history: Mutex::default(),
            requests: Requests::default(),
            connections: 0.into(),
            connections_total: 0.into(),
            streams: 0.into(),
            leaders: 0.into(),
            leadership: OnceLock::new(),
            notes,
        });
        let journal = Journal::new(Arc::clone(&telemetry), waiting);
        (telemetry, journal)
    }

    /// From now on it is known who leads, and what happens is counted while that is this node.
    pub fn follow(&self, leadership: watch::Receiver<Leadership>) {
        // It is called once.
        let _ = self.leadership.set(leadership);
    }

    /// A connection, for as long as this is kept.
    pub(crate) fn connection(self: &Arc<Self>) -> Counted {
        self.connections_total.fetch_add(1, Ordering::Relaxed);
        Counted::new(self, |telemetry| &telemetry.connections)
    }

    /// A stream of a client, for as long as this is kept.
    pub(crate) fn stream(self: &Arc<Self>) -> Counted {
        Counted::new(self, |telemetry| &telemetry.streams)
    }

    /// Counts requests of one kind.
    pub(crate) fn row(&self, protocol: &'static str, kind: &'static str, results: Results) -> Arc<Row> {
        self.requests.row(protocol, kind, results)
    }

    /// What happened to this, or to everything, as far as it is remembered: the latest first.
    pub(crate) fn history(&self, name: Option<&Name>) -> Vec<Arc<Occurrence>> {
        self.past().of(name)
    }

    /// Why a grant is over, if that is still known: for who asks when it was over already.
    pub(crate) fn departure(&self, session: SessionId, name: &Name, fence: Fence) -> Option<Departure> {
        self.past().departure(session, name, fence)
    }

    /// What a session was called that is gone, if that is still known.
    pub(crate) fn label(&self, session: SessionId) -> Option<Arc<str>> {
        self.past().label(session)
    }

    /// How many requests were answered.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.total()
    }

    fn past(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leads(&self) -> bool {
        self.leadership.get().is_some_and(|leadership| leadership.borrow().is_here)
    }

    fn locks(&self) -> MutexGuard<'_, LockBook> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Telemetry {
    fn applied(&self, moment: Moment, events: &[Event]) {
        if events.is_empty() {
            return;
        }
        let leads = self.leads();
        self.locks().applied(Instant::now(), leads, events);
        self.past().applied(moment, events);
        if leads {
            self.notes.applied(events);
        }
    }

    fn replaced(&self, machine: &Machine, _: u64) {
        self.locks().replaced(Instant::now(), machine);
    }
}

/// Something that is counted for as long as this is kept.
#[derive(Debug)]
pub(crate) struct Counted {
    telemetry: Arc<Telemetry>,
    gauge: fn(&Telemetry) -> &AtomicU64,
}

impl Counted {
    fn new(telemetry: &Arc<Telemetry>, gauge: fn(&Telemetry) -> &AtomicU64) -> Counted {
        gauge(telemetry).fetch_add(1, Ordering::Relaxed);
        Counted { telemetry: Arc::clone(telemetry), gauge }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.gauge)(&self.telemetry).fetch_sub(1, Ordering::Relaxed);
    }
}
