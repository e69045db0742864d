//! An engine of one node that remembers nothing: to test what is built on engines.

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use quorate_server::engine::{Applied, Engine, Leadership, Listener, NodeId, Unavailable};
use quorate_server::machine::{Command, Machine, Moment};
use quorate_server::service::{Desk, Service};
use tokio::sync::watch;

/// A machine in memory, and the number of the last command.
pub(crate) struct InMemory {
    state: Mutex<(Machine, u64)>,
    desk: Arc<Desk>,
    /// Who leads. It is this node, unless somebody says something else.
    pub(crate) leadership: watch::Sender<Leadership>,
    /// What is applied when the leader is to be confirmed next: what happens elsewhere in the meantime.
    pub(crate) meanwhile: Mutex<Vec<Command>>,
}

impl InMemory {
    /// A service on an engine of its own.
    pub(crate) fn serve() -> Arc<Service<InMemory>> {
        let desk = Desk::open();
        let leadership = watch::Sender::new(Leadership { term: 1, leader: Some(1), is_here: true });
        let (state, meanwhile) = (Mutex::default(), Mutex::default());
        Service::start(InMemory { state, desk: Arc::clone(&desk), leadership, meanwhile }, desk)
    }

    fn state(&self) -> MutexGuard<'_, (Machine, u64)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, command: Command) -> Applied {
        let (machine, index) = &mut *self.state();
        *index += 1;
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let moment = Moment { index: *index, at_ms };
        let (response, events) = machine.apply(moment, command);
        self.desk.applied(moment, &events);
        Applied { moment, response }
    }
}

impl Engine for InMemory {
    fn submit(&self, command: Command) -> impl Future<Output = Result<Applied, Unavailable>> + Send {
        ready(Ok(self.apply(command)))
    }

    fn submit_in(&self, _: u64, command: Command) -> impl Future<Output = Result<Applied, Unavailable>> + Send {
        self.submit(command)
    }

    fn confirm(&self) -> impl Future<Output = Result<(), Unavailable>> + Send {
        let meanwhile = std::mem::take(&mut *self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner));
        for command in meanwhile {
            self.apply(command);
        }
        ready(Ok(()))
    }

    fn look<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        look(&self.state().0)
    }

    fn ask(&self, _: NodeId, _: Vec<u8>) -> impl Future<Output = Result<Vec<u8>, Unavailable>> + Send {
        ready(Err(Unavailable::Elsewhere { leader: None }))
    }

    fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }
}
