//! etcd's services on one node that remembers nothing: to try clients on, and nothing else.
//!
//! `cargo run -p quorate-server --example etcd_in_memory -- 127.0.0.1:2379`

use std::error::Error;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use quorate_server::engine::{Applied, Engine, Leadership, Listener, NodeId, Unavailable};
use quorate_server::etcd::{self, Identity};
use quorate_server::machine::{Command, Machine, Moment};
use quorate_server::service::{Desk, Service};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A machine in memory, and the number of the last command.
struct InMemory {
    state: Mutex<(Machine, u64)>,
    desk: Arc<Desk>,
    leadership: watch::Sender<Leadership>,
}

impl InMemory {
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

    fn confirm(&self) -> impl Future<Output = Result<(), Unavailable>> + Send {
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

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_string());
    let desk = Desk::open();
    let leadership = watch::Sender::new(Leadership { term: 1, leader: Some(1), is_here: true });
    let engine = InMemory { state: Mutex::default(), desk: Arc::clone(&desk), leadership };
    let routes = etcd::routes(Service::start(engine, desk), Identity { cluster_id: 1, member_id: 1 });
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, routes).await?;
    Ok(())
}
