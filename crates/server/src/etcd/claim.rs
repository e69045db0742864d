//! What a call has asked for belongs to the call until the client has been told: if the call ends before, it is given
//! up.
//!
//! A place in line belongs to a session, so several calls may ask for the same one: after a lost connection, a client
//! asks again, on this node or on another one, before the end of its first call has been noticed. So calls have
//! numbers, and the machine gives up only what nobody else has asked for since. What a session held before a call, it
//! keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::engine::Engine;
use crate::machine::{Name, SessionId};
use crate::service::{Service, ServiceError};

/// For how long to try to give up what nobody waits for any more.
const PATIENCE: Duration = Duration::from_secs(60);
/// How soon to try again.
const AGAIN: Duration = Duration::from_millis(100);

/// Numbers for calls. Those of two nodes, or of one that was started again, begin at random, far from each other.
#[derive(Debug)]
pub(super) struct Numbers(AtomicU64);

impl Numbers {
    pub(super) fn begin() -> Numbers {
        Numbers(AtomicU64::new(getrandom::u64().expect("the system gives random numbers")))
    }

    fn next(&self) -> u64 {
        // 0 is no call.
        self.0.fetch_add(1, Ordering::Relaxed).max(1)
    }
}

/// What a call asks for. Who drops it gives it up.
pub(super) struct Claim<E: Engine> {
    service: Arc<Service<E>>,
    session: SessionId,
    name: Name,
    call: u64,
    /// Whether the session is there for this call alone.
    is_own: bool,
    /// Whether there is nothing to give up.
    is_settled: bool,
}

impl<E: Engine> Claim<E> {
    /// Is about to ask for something.
    pub(super) fn enter(
        service: &Arc<Service<E>>,
        numbers: &Numbers,
        session: SessionId,
        name: Name,
        is_own: bool,
    ) -> Claim<E> {
        Claim { service: Arc::clone(service), session, name, call: numbers.next(), is_own, is_settled: false }
    }

    /// The session.
    pub(super) fn session(&self) -> SessionId {
        self.session
    }

    /// What is asked for.
    pub(super) fn name(&self) -> &Name {
        &self.name
    }

    /// The number of the call.
    pub(super) fn call(&self) -> u64 {
        self.call
    }

    /// The client has been told of the grant, which is its own from now on.
    pub(super) fn told(mut self) {
        self.is_settled = true;
    }

    /// Nothing came of it.
    pub(super) fn nothing(mut self) {
        // A session of its own is of no use to anybody.
        self.is_settled = !self.is_own;
    }
}

impl<E: Engine> Drop for Claim<E> {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        // There is none if the node stops, and then there is nobody to give anything up.
        if let Ok(runtime) = Handle::try_current() {
            let (service, session, name, call) =
                (Arc::clone(&self.service), self.session, self.name.clone(), self.call);
            runtime.spawn(give_up(service, session, name, call, self.is_own));
        }
    }
}

/// Gives up a place, whatever has come of it.
async fn give_up<E: Engine>(service: Arc<Service<E>>, session: SessionId, name: Name, call: u64, is_own: bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let done = if is_own {
            service.close(session, deadline).await.map(|_| ())
        } else {
            service.abandon(session, call, name.clone(), deadline).await
        };
        match done {
            Ok(()) | Err(ServiceError::Refused(_)) => return,
            Err(error) if Instant::now() >= deadline => {
                tracing::warn!(%session, %name, %error, "leaving queue failed");
                return;
            }
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}
