//! What a call has asked for belongs to the call until the client has been told: if the call ends before, it is given
//! up.
//!
//! A place in line belongs to a session, so several calls may ask for the same one; after a lost connection, a client
//! asks again before the end of its first call has been noticed. So the calls of this node are counted, and only the
//! last one gives up what nobody was told of. A call that comes while a place is being given up waits until that is
//! done. What a session held before, or what any call was told, is never given up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::engine::Engine;
use crate::machine::{Fence, Name, SessionId};
use crate::service::{Service, ServiceError};

/// For how long to try to give up what nobody waits for any more.
const PATIENCE: Duration = Duration::from_secs(60);
/// How soon to try again.
const AGAIN: Duration = Duration::from_millis(100);

type Place = (SessionId, Name);

/// Which places the calls of this node ask for.
#[derive(Debug, Default)]
pub(super) struct Claims {
    places: Mutex<HashMap<Place, State>>,
}

#[derive(Debug)]
enum State {
    /// So many calls ask for it, and this grant is known to a client.
    Asked { calls: usize, known: Option<Fence> },
    /// It is being given up; the channel closes when that is done.
    Left(watch::Receiver<()>),
}

impl Claims {
    /// Counts a call. `held` tells what the session holds already.
    async fn enter(&self, place: &Place, held: impl Fn() -> Option<Fence>) {
        loop {
            let known = held();
            let mut left = match self.locked().entry(place.clone()).or_insert(State::Asked { calls: 0, known }) {
                State::Asked { calls, .. } => {
                    *calls += 1;
                    return;
                }
                State::Left(left) => left.clone(),
            };
            // It never changes, but ends.
            let _ = left.changed().await;
        }
    }

    /// A call ends. If it was the last one, and its client knows nothing, what it asked for has to be given up, unless
    /// it is the grant that is returned.
    fn leave(self: &Arc<Self>, place: &Place, ending: Ending) -> Option<(Leaving, Option<Fence>)> {
        let mut places = self.locked();
        let Some(State::Asked { calls, known }) = places.get_mut(place) else { return None };
        *calls -= 1;
        if let Ending::Told(fence) = ending {
            *known = Some(fence);
        }
        if *calls > 0 {
            return None;
        }
        if ending != Ending::Unheard {
            places.remove(place);
            return None;
        }
        let (done, left) = watch::channel(());
        let known = *known;
        places.insert(place.clone(), State::Left(left));
        Some((Leaving { claims: Arc::clone(self), place: place.clone(), _done: done }, known))
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<Place, State>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is being given up, for as long as this is kept.
struct Leaving {
    claims: Arc<Claims>,
    place: Place,
    _done: watch::Sender<()>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.claims.locked().remove(&self.place);
    }
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Nobody listens any more.
    Unheard,
    /// The client was told of a grant.
    Told(Fence),
    /// There is nothing to give up.
    Nothing,
}

/// What a call has asked for. Who drops it gives it up.
pub(super) struct Claim<E: Engine> {
    service: Arc<Service<E>>,
    claims: Arc<Claims>,
    place: Place,
    /// Whether the session is there for this call alone.
    is_own: bool,
    ending: Ending,
}

impl<E: Engine> Claim<E> {
    /// Is about to ask for something.
    pub(super) async fn enter(
        service: &Arc<Service<E>>,
        claims: &Arc<Claims>,
        session: SessionId,
        name: Name,
        is_own: bool,
    ) -> Claim<E> {
        let place = (session, name);
        claims.enter(&place, || service.look(|machine| machine.fence_of(session, &place.1))).await;
        let (service, claims) = (Arc::clone(service), Arc::clone(claims));
        Claim { service, claims, place, is_own, ending: Ending::Unheard }
    }

    /// The session.
    pub(super) fn session(&self) -> SessionId {
        self.place.0
    }

    /// What is asked for.
    pub(super) fn name(&self) -> &Name {
        &self.place.1
    }

    /// The client has been told of the grant, which is its own from now on.
    pub(super) fn told(mut self, fence: Fence) {
        self.ending = Ending::Told(fence);
    }

    /// Nothing came of it.
    pub(super) fn nothing(mut self) {
        // A session of its own is of no use to anybody.
        if !self.is_own {
            self.ending = Ending::Nothing;
        }
    }
}

impl<E: Engine> Drop for Claim<E> {
    fn drop(&mut self) {
        let Some((leaving, known)) = self.claims.leave(&self.place, self.ending) else { return };
        // There is none if the node stops, and then there is nobody to give anything up.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(give_up(Arc::clone(&self.service), leaving, known, self.is_own));
        }
    }
}

/// Gives up a place, whatever has come of it.
async fn give_up<E: Engine>(service: Arc<Service<E>>, leaving: Leaving, known: Option<Fence>, is_own: bool) {
    let deadline = Instant::now() + PATIENCE;
    let (session, name) = &leaving.place;
    loop {
        let done = if is_own {
            service.close(*session, deadline).await.map(|_| ())
        } else {
            withdraw_or_release(&service, *session, name, known, deadline).await
        };
        match done {
            Ok(()) | Err(ServiceError::Refused(_)) => return,
            Err(error) if Instant::now() >= deadline => {
                tracing::warn!(%session, %name, %error, "a place that nobody waits for any more was not given up");
                return;
            }
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

async fn withdraw_or_release<E: Engine>(
    service: &Service<E>,
    session: SessionId,
    name: &Name,
    known: Option<Fence>,
    deadline: Instant,
) -> Result<(), ServiceError> {
    match service.withdraw(session, 0, name.clone(), deadline).await? {
        Some(fence) if Some(fence) != known => service.release(session, 0, name.clone(), deadline).await.map(|_| ()),
        Some(_) | None => Ok(()),
    }
}
