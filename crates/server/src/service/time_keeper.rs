//! Turns deadlines into commands, for as long as this node leads.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::Service;
use super::leases::Leases;
use crate::engine::{Engine, Unavailable};
use crate::machine::Command;

/// If it looks at the clock so much later than it wanted to, the node has stood still.
const STALL: Duration = Duration::from_millis(250);
/// How soon to try again what could not be done.
const AGAIN: Duration = Duration::from_millis(100);
/// How long it sleeps at most.
const NAP: Duration = Duration::from_secs(1);

/// Keeps time for a service until it is dropped.
pub(super) fn start<E: Engine>(service: &Arc<Service<E>>) {
    tokio::spawn(keep(Arc::downgrade(service)));
}

async fn keep<E: Engine>(service: Weak<Service<E>>) {
    let Some(mut leadership) = service.upgrade().map(|service| service.engine.leadership()) else { return };
    let mut term = None;
    let mut wanted = Instant::now();
    while let Some(service) = service.upgrade() {
        let now = *leadership.borrow_and_update();
        let leads = now.is_here.then_some(now.term);
        if leads != term {
            term = leads;
            // Begun under the machine's lock, so that no session is missed or seen twice.
            service.engine.look(|machine| {
                let inherited = service.desk.inherited().take();
                let inherited = inherited.filter(|inherited| Some(inherited.term + 1) == term);
                *service.desk.leases() =
                    term.map(|term| Leases::begin(Instant::now(), term, machine, inherited.as_ref()));
            });
        }
        let awake = Instant::now();
        let (due, next, term) = match &mut *service.desk.leases() {
            None => (Vec::new(), None, 0),
            Some(leases) => {
                let late = awake.saturating_duration_since(wanted);
                if late > STALL {
                    tracing::warn!(stall_ms = late.as_millis() as u64, "process stall detected");
                    leases.postpone(late);
                }
                (leases.due(awake), leases.next(), leases.term())
            }
        };
        for command in due {
            tokio::spawn(carry_out(Arc::clone(&service), term, command));
        }
        wanted = next.unwrap_or(awake + NAP).min(awake + NAP);
        // Whoever renews or leaves notifies; the service may be dropped meanwhile.
        let desk = Arc::clone(&service.desk);
        drop(service);
        tokio::select! {
            () = tokio::time::sleep_until(wanted.into()) => {}
            () = desk.look.notified() => wanted = Instant::now(),
            changed = leadership.changed() => {
                if changed.is_err() {
                    return;
                }
                wanted = Instant::now();
            }
        }
    }
}

/// Has done what was due, in the term in which it was. Whoever leads after that begins anew, and may have answered
/// renewals.
async fn carry_out<E: Engine>(service: Arc<Service<E>>, term: u64, command: Command) {
    match service.engine.submit_in(term, command.clone()).await {
        Ok(_) | Err(Unavailable::Stopping | Unavailable::NoMajority) => {}
        Err(Unavailable::Elsewhere { .. } | Unavailable::Unknown | Unavailable::Overloaded) => {
            if let Some(leases) = service.desk.leases().as_mut().filter(|leases| leases.term() == term) {
                leases.again(Instant::now() + AGAIN, command);
            }
            service.desk.look.notify_one();
        }
    }
}
