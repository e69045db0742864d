//! The desk: told of everything that this node applies, it tells those who wait, and the keeper of time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, watch};

use super::leases::{Inherited, Leases};
use super::waiters::Waiters;
use crate::engine::Listener;
use crate::machine::{Event, Machine, Moment};

/// What a node knows besides the machine: who waits here, what time it is, how far it has come.
#[derive(Debug)]
pub struct Desk {
    pub(super) waiters: Arc<Waiters>,
    /// There are leases only while this node leads.
    leases: Mutex<Option<Leases>>,
    /// What the leader before has left, if it stepped down in an orderly way.
    inherited: Mutex<Option<Inherited>>,
    /// The keeper of time has to look again.
    pub(super) look: Notify,
    applied: watch::Sender<u64>,
}

impl Desk {
    /// A desk at which nobody waits.
    pub fn open() -> Arc<Desk> {
        Arc::new(Desk {
            waiters: Arc::new(Waiters::new()),
            leases: Mutex::default(),
            inherited: Mutex::default(),
            look: Notify::new(),
            applied: watch::Sender::new(0),
        })
    }

    pub(super) fn leases(&self) -> MutexGuard<'_, Option<Leases>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn inherited(&self) -> MutexGuard<'_, Option<Inherited>> {
        self.inherited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the last command that was applied here.
    pub fn index(&self) -> u64 {
        *self.applied.borrow()
    }

    /// Waits until this node has applied the command of this number.
    pub(super) async fn reached(&self, index: u64) {
        // It ends with the node, and whoever waits with it.
        let _ = self.applied.subscribe().wait_for(|applied| *applied >= index).await;
    }
}

impl Listener for Desk {
    fn applied(&self, moment: Moment, events: &[Event]) {
        if let Some(leases) = &mut *self.leases() {
            let (now, next) = (Instant::now(), leases.next());
            for event in events {
                match event {
                    Event::Opened { session, ttl_ms } => leases.opened(now, *session, moment.index, *ttl_ms),
                    Event::Ended { session, .. } => leases.ended(*session),
                    Event::Delayed { name, fence, delay_ms } => leases.delayed(now, name.clone(), *fence, *delay_ms),
                    Event::Queued { .. }
                    | Event::Granted { .. }
                    | Event::Lost { .. }
                    | Event::Left { .. }
                    | Event::Vacant { .. }
                    | Event::Proclaimed { .. }
                    | Event::Forced { .. }
                    | Event::Wanted { .. } => {}
                }
            }
            if leases.next() < next || next.is_none() {
                self.look.notify_one();
            }
        }
        self.waiters.applied(moment, events);
        self.applied.send_replace(moment.index);
    }

    fn replaced(&self, machine: &Machine, index: u64) {
        self.waiters.replaced(machine, index);
        self.applied.send_replace(index);
    }
}
