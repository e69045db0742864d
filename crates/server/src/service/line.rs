//! Waiting in line for a lock or for leadership, and making sure of what was granted.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout, timeout_at};

use super::forward::{self, Place, Question};
use super::waiters::{Fate, Ticket};
use super::{Gone, LOOK_AGAIN, PATIENCE, Service, ServiceError};
use crate::engine::{Applied, Engine, Unavailable};
use crate::machine::{Acquire, Command, Departure, Fence, Name, Response, SessionId};
#[cfg(feature = "fault-injection")]
use crate::switches::switches;

/// The leader is asked to tell of so many at once. It works on a few more questions of one node, and these must not
/// wait for locks to be released. All others hear of it when this node applies it, a little later.
pub(super) const MOST_AWAITED: usize = 128;
/// How long the leader waits with its answer to a request for a lock, in case it is granted.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// How often to ask a leader that does not answer.
const ASK_AGAIN: Duration = Duration::from_secs(1);

impl<E: Engine> Service<E> {
    /// Asks for a lock or for leadership, and waits for it until `wait_until`, if the request is to wait.
    ///
    /// Whoever drops the future keeps the place in line: asking again with the same session finds it.
    pub async fn acquire(
        &self,
        acquire: Acquire,
        wait_until: Option<Instant>,
        deadline: Instant,
    ) -> Result<Fence, ServiceError> {
        let (session, request, name) = (acquire.session, acquire.request, acquire.name.clone());
        let mut ticket = self.desk.waiters.register(session, &name);
        let (Applied { moment, response }, granted) = self.obtain(acquire, wait_until, deadline).await?;
        if let Some(fence) = granted {
            return self.granted_there(session, &name, fence).await;
        }
        match response {
            Response::Granted { fence } => return Ok(fence),
            Response::Queued { .. } => {}
            Response::Busy => return Err(ServiceError::Busy),
            Response::Over => return Err(ServiceError::Over),
            Response::Refused(refusal) => return Err(refusal.into()),
            Response::Done => return Err(Unavailable::Unknown.into()),
        }
        let granted = self.granted(&mut ticket, Place { session, name: name.clone(), index: moment.index });
        match wait_until {
            None => granted.await,
            Some(until) => match timeout_at(until.into(), granted).await {
                Ok(granted) => granted,
                Err(_) => self.give_up(session, request, name).await,
            },
        }
    }

    /// Has a request applied. If another node leads, that one knows first when it has come to the lock; so it is asked
    /// to wait a little for that, which is often enough.
    async fn obtain(
        &self,
        acquire: Acquire,
        wait_until: Option<Instant>,
        deadline: Instant,
    ) -> Result<(Applied, Option<Fence>), ServiceError> {
        let is_elsewhere = !self.engine.leadership().borrow().is_here;
        let place = self.awaited.try_acquire().ok().filter(|_| acquire.wait && is_elsewhere);
        let question = if place.is_some() {
            let now = Instant::now();
            let until = |then: Instant| then.saturating_duration_since(now);
            let patience = SHORT_WAIT.min(until(deadline) / 2).min(wait_until.map_or(SHORT_WAIT, until));
            Question::Obtain(acquire, patience.as_millis() as u64)
        } else {
            Question::Submit(Command::Acquire(acquire))
        };
        Ok(self.ask_leader(&question, deadline).await?.obtained()?)
    }

    /// The leader has made sure of a grant, but what it said may have lain here since.
    async fn granted_there(&self, session: SessionId, name: &Name, fence: Fence) -> Result<Fence, ServiceError> {
        if self.awake.has_stood_still() {
            self.look_again(session, name, fence).await?;
        }
        Ok(fence)
    }

    /// Waits in line. This node is told by what it applies; if another one leads, that one knows first, and is asked.
    async fn granted(&self, ticket: &mut Ticket, place: Place) -> Result<Fence, ServiceError> {
        tokio::select! {
            biased;
            fence = self.granted_elsewhere(&place) => self.granted_there(place.session, &place.name, fence).await,
            fate = ticket.fate(place.index) => match fate {
                Fate::Granted(fence) => self.look_again(place.session, &place.name, fence).await.map(|()| fence),
                Fate::Gone(departure) => Err(ServiceError::Gone(departure.into())),
            },
        }
    }

    /// Returns when the leader, if that is another node, says that the lock is granted. Of anything else this node
    /// hears when it applies it.
    async fn granted_elsewhere(&self, place: &Place) -> Fence {
        let question = Question::Await(place.clone());
        let mut leadership = self.engine.leadership();
        loop {
            let now = *leadership.borrow_and_update();
            let Some(leader) = now.leader.filter(|_| !now.is_here) else {
                if leadership.changed().await.is_err() {
                    // This node stops, and whoever waits here with it.
                    std::future::pending::<()>().await;
                }
                continue;
            };
            let answer = {
                // Those who came first are the first to get what they wait for, mostly.
                let _place = self.awaited.acquire().await;
                forward::ask(&self.engine, leader, &question).await
            };
            match answer.and_then(forward::Answer::awaited) {
                Ok(Some(fence)) => return fence,
                Ok(None) => sleep(LOOK_AGAIN).await,
                // A node that is being stopped, or too old for this question. There may be news, or there are none.
                Err(_) => drop(timeout(ASK_AGAIN, leadership.changed()).await),
            }
        }
    }

    /// Returns when a grant is over, as soon as this node has heard of it, and why, if that is known.
    pub async fn until_lost(&self, session: SessionId, name: &Name, fence: Fence) -> Option<Departure> {
        let mut ticket = self.desk.waiters.register(session, name);
        let granted_at = self.engine.index_of(fence);
        self.desk.reached(granted_at).await;
        while self.look(|machine| machine.fence_of(session, name)) == Some(fence) {
            if let Fate::Gone(departure) = ticket.fate(granted_at).await {
                return Some(departure);
            }
        }
        None
    }

    /// Makes sure that a grant of which this node has heard is not over by now: it may be behind, or have stood still.
    async fn look_again(&self, session: SessionId, name: &Name, fence: Fence) -> Result<(), ServiceError> {
        #[cfg(feature = "fault-injection")]
        if switches().looks_once {
            return Ok(());
        }
        if !self.is_sure_of(session) {
            self.catch_up(Instant::now() + PATIENCE).await?;
        }
        match self.look(|machine| machine.fence_of(session, name)) {
            Some(held) if held == fence => Ok(()),
            Some(_) | None => Err(ServiceError::Gone(Gone::Expired)),
        }
    }

    /// Whether this node knows all that can have happened to a session.
    ///
    /// Within the time to live of the session from a round in which a majority confirmed this node, nobody else can
    /// have expired it: whoever leads after that gives it its full time. What this node has expired, it knows.
    pub(super) fn is_sure_of(&self, session: SessionId) -> bool {
        let ttl_ms = self.look(|machine| machine.session(session).map_or(0, |view| view.ttl_ms));
        let confirmed = *self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = confirmed.is_some_and(|began| began.elapsed() < Duration::from_millis(ttl_ms));
        is_fresh && self.engine.leadership().borrow().is_here
    }

    /// The time is over; but it may have been granted at the last moment.
    async fn give_up(&self, session: SessionId, request: u64, name: Name) -> Result<Fence, ServiceError> {
        match self.withdraw(session, request, name, Instant::now() + PATIENCE).await? {
            Some(fence) => Ok(fence),
            None => Err(ServiceError::WaitedInVain),
        }
    }
}
