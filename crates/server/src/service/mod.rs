//! What the service does for its clients, whatever they speak: sessions, locks, elections.
//!
//! Any node does it. What changes something goes to the leader, from wherever it came; what somebody waits for is told
//! by the node that it asked, as soon as that node has applied it. [`Desk`] is told of everything that this node
//! applies; [`Service`] asks.
//!
//! - *Nothing is missed*: a waiter registers at the desk before its request is sent.
//! - *Nothing is lost*: a place in line belongs to a session, not to a connection. Asking again finds it.
//! - *Nothing is prolonged wrongly*: a renewal is answered only after a majority has confirmed the leader in a round
//!   that began after the renewal had arrived, and never once the session's expiry has been proposed.

mod awake;
mod desk;
mod forward;
mod leases;
mod line;
mod time_keeper;
mod waiters;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio::sync::{Semaphore, broadcast};
use tokio::time::{sleep, timeout, timeout_at};

pub use desk::Desk;
pub use forward::answer;
pub use waiters::{Fate, Occurrence, Told};

use crate::access::Denial;
use crate::engine::{Applied, Cluster, Engine, Unavailable};
use crate::machine::{Acquire, Beyond, Command, Departure, Fence, Machine, Mode, Name, Refusal, Response, SessionId};
use awake::Awake;
use forward::Question;
use line::MOST_AWAITED;

/// Why a request has not been done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ServiceError {
    /// The machine refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It cannot be had at once.
    #[error(
        "another session holds the lock or leads the election, or its lock delay has not ended; the request did not \
         wait"
    )]
    Busy,
    /// It could not be had in time. The place in line was given up.
    #[error("the lock or leadership was not granted in time; the request has left the queue")]
    WaitedInVain,
    /// The wait was ended from elsewhere.
    #[error("the wait ended: {0}")]
    Gone(Gone),
    /// The request was done before, and nothing is left of it.
    #[error(
        "this request number was used before, and its grant was released or lost since: send a new request with \
         another number"
    )]
    Over,
    /// There is no answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Nobody leads, and nobody has done so in time. Nothing was done.
    #[error("the cluster has no leader; nothing was done: check that a majority of the members runs")]
    NoLeader,
    /// Who asks may not do this.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// Another node may know who leads.
    #[error(
        "elections cannot be followed with the peer engine, because a node knows only the leaders among its own \
         clients: look at each node (`quorate elections`), or use --engine replicated"
    )]
    LedElsewhere,
}

/// Why a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Gone {
    /// Its session has expired.
    #[error("its session expired")]
    Expired,
    /// Its session was closed.
    #[error("its session was closed")]
    Closed,
    /// The request was withdrawn.
    #[error("the request was withdrawn")]
    Withdrawn,
    /// Somebody took it away.
    #[error("an operator released it by force")]
    Forced,
    /// The turn of its node was taken away.
    #[error(
        "this node lost the lock to another node, because it could not reach a majority of the group or was paused: \
         send the request again"
    )]
    TurnLost,
    /// There will be no turn of this name.
    #[error(transparent)]
    NoTurn(Beyond),
}

impl From<Departure> for Gone {
    fn from(departure: Departure) -> Gone {
        match departure {
            Departure::Expired => Gone::Expired,
            Departure::Closed => Gone::Closed,
            Departure::Released | Departure::Withdrawn => Gone::Withdrawn,
            Departure::Forced => Gone::Forced,
            Departure::TurnLost => Gone::TurnLost,
            Departure::NoTurn => Gone::NoTurn(Beyond::TooManyNames),
        }
    }
}

/// A session to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Its number, if it is to have a certain one.
    pub number: Option<SessionId>,
    /// How long it lasts without renewal.
    pub ttl: Duration,
    /// What people call it.
    pub label: String,
    /// Who may use it.
    pub owner: String,
    /// Whether it ends with what it asks for first.
    pub transient: bool,
}

/// A session that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its number.
    pub session: SessionId,
    /// When.
    pub index: u64,
}

/// What a node does for clients.
#[derive(Debug)]
pub struct Service<E> {
    engine: E,
    desk: Arc<Desk>,
    /// When the last round began in which a majority confirmed that this node leads.
    confirmed: Mutex<Option<Instant>>,
    awake: Arc<Awake>,
    /// Places for those of whom the leader is asked to say when they have come to the lock.
    awaited: Semaphore,
}

impl<E: Engine> Service<E> {
    /// A service whose desk is told of everything that the engine applies. Time is kept from now on.
    pub fn start(engine: E, desk: Arc<Desk>) -> Arc<Service<E>> {
        let awaited = Semaphore::new(MOST_AWAITED);
        let service = Arc::new(Service { engine, desk, confirmed: Mutex::default(), awake: Awake::begin(), awaited });
        time_keeper::start(&service);
        service
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The number of the last command that this node has applied.
    pub fn index(&self) -> u64 {
        self.desk.index()
    }

    /// Looks at what this node has applied, which may be a little behind.
    pub fn look<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        self.engine.look(look)
    }

    /// Whether nobody has what nobody has here. Otherwise a client of another node may have it.
    pub fn knows_all(&self) -> bool {
        self.look(|machine| !machine.is_by_turns())
    }

    /// Everything that happens from now on, as this node applies it.
    pub fn watch(&self) -> broadcast::Receiver<Told> {
        self.desk.waiters.watch()
    }

    /// Opens a session, under its number or under one that is drawn.
    pub async fn open(&self, new: &NewSession, deadline: Instant) -> Result<Opened, ServiceError> {
        let NewSession { number, ttl, label, owner, transient } = new;
        let (number, ttl_ms, transient) = (*number, ttl.as_millis() as u64, *transient);
        loop {
            let session = number.unwrap_or_else(draw_session);
            let (label, owner) = (label.clone(), owner.clone());
            let applied = self.submit(Command::Open { session, ttl_ms, label, owner, transient }, deadline).await?;
            match applied.response {
                Response::Refused(Refusal::SessionExists(_)) if number.is_none() => {}
                response => {
                    return done(response).map(|()| Opened { session, index: applied.moment.index });
                }
            }
        }
    }

    /// Gives a session its full time again, and says how long that is.
    pub async fn renew(&self, session: SessionId, deadline: Instant) -> Result<Duration, ServiceError> {
        let renewed = self.ask_leader(&Question::Renew(session), deadline).await?.renewed()?;
        renewed.ok_or(ServiceError::Refused(Refusal::NoSession(session)))
    }

    /// How long a session has left, and its full time, if it exists.
    pub async fn time_left(
        &self,
        session: SessionId,
        deadline: Instant,
    ) -> Result<Option<(Duration, Duration)>, ServiceError> {
        Ok(self.ask_leader(&Question::TimeLeft(session), deadline).await?.time_left()?)
    }

    /// How long each of these sessions has left, if it exists.
    pub async fn times_left(
        &self,
        sessions: Vec<SessionId>,
        deadline: Instant,
    ) -> Result<Vec<Option<Duration>>, ServiceError> {
        Ok(self.ask_leader(&Question::TimesLeft(sessions), deadline).await?.times_left()?)
    }

    /// Closes a session: what it holds is released, and it waits no more.
    pub async fn close(&self, session: SessionId, deadline: Instant) -> Result<Applied, ServiceError> {
        let applied = self.submit(Command::Close { session }, deadline).await?;
        done(applied.response.clone()).map(|()| applied)
    }

    /// Before this node steps down in an orderly way: tells the others how long each session has left, and renews none
    /// from now on.
    pub async fn bequeath(&self)
    where
        E: Cluster,
    {
        let Some(leases) = self.desk.leases().take() else { return };
        let question = Question::Inherit(leases.bequeath(Instant::now()));
        let this = self.engine.node();
        let others = self.engine.members().into_iter().map(|member| member.node).filter(|node| *node != this);
        let told = others.map(|node| timeout(BEQUEST, forward::ask(&self.engine, node, &question)));
        // Who does not hear of it gives every session its full time.
        futures_util::future::join_all(told).await;
    }

    /// Returns when a majority has confirmed that this node leads, in a round that began after the call.
    async fn confirm(&self) -> Result<(), Unavailable> {
        let began = Instant::now();
        self.engine.confirm().await?;
        let mut confirmed = self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        *confirmed = (*confirmed).max(Some(began));
        Ok(())
    }

    /// Gives up a place in line that this request or an earlier one asked for, or any if it is 0. What was granted
    /// meanwhile stays granted, and is returned.
    pub async fn withdraw(
        &self,
        session: SessionId,
        request: u64,
        name: Name,
        deadline: Instant,
    ) -> Result<Option<Fence>, ServiceError> {
        match self.submit(Command::Withdraw { session, request, name }, deadline).await?.response {
            Response::Granted { fence } => Ok(Some(fence)),
            response => done(response).map(|()| None),
        }
    }

    /// Gives up what a call has asked for, whatever has come of it, unless somebody has asked for the same since.
    pub async fn abandon(
        &self,
        session: SessionId,
        call: u64,
        name: Name,
        deadline: Instant,
    ) -> Result<(), ServiceError> {
        done(self.submit(Command::GiveUp { session, call, name }, deadline).await?.response)
    }

    /// Gives back a lock, or steps down: this grant, or whichever there is.
    pub async fn release(
        &self,
        session: SessionId,
        request: u64,
        name: Name,
        fence: Option<Fence>,
        deadline: Instant,
    ) -> Result<Applied, ServiceError> {
        let applied = self.submit(Command::Release { session, request, name, fence }, deadline).await?;
        done(applied.response.clone()).map(|()| applied)
    }

    /// Takes a lock away from all who hold it; or, if a fence is given, only while that is the newest grant.
    pub async fn force(
        &self,
        name: Name,
        by: String,
        fence: Option<Fence>,
        deadline: Instant,
    ) -> Result<(), ServiceError> {
        done(self.submit(Command::Force { name, by, fence }, deadline).await?.response)
    }

    /// Changes what a leader has to say.
    pub async fn proclaim(
        &self,
        session: SessionId,
        name: Name,
        fence: Fence,
        value: Vec<u8>,
        deadline: Instant,
    ) -> Result<Applied, ServiceError> {
        let applied = self.submit(Command::Proclaim { session, name, fence, value }, deadline).await?;
        done(applied.response.clone()).map(|()| applied)
    }

    /// Returns when this node has applied everything that was decided before the call.
    pub async fn catch_up(&self, deadline: Instant) -> Result<u64, ServiceError> {
        let index = self.ask_leader(&Question::Barrier, deadline).await?.barrier()?;
        match timeout_at(deadline.into(), self.desk.reached(index)).await {
            Ok(()) => Ok(index),
            Err(_) => Err(ServiceError::NoLeader),
        }
    }

    /// Has a command applied, by whichever node leads.
    async fn submit(&self, command: Command, deadline: Instant) -> Result<Applied, ServiceError> {
        Ok(self.ask_leader(&Question::Submit(command), deadline).await?.applied()?)
    }

    /// Asks the leader, which may be this node; waits until there is one, but not longer than until the deadline.
    async fn ask_leader(&self, question: &Question, deadline: Instant) -> Result<forward::Answer, ServiceError> {
        let mut leadership = self.engine.leadership();
        loop {
            let now = *leadership.borrow_and_update();
            let asked = async {
                match now.leader {
                    _ if now.is_here => self.answer(question.clone()).await,
                    Some(leader) => forward::ask(&self.engine, leader, question).await,
                    None => Err(Unavailable::Elsewhere { leader: None }),
                }
            };
            let mut news = leadership.clone();
            let answer = tokio::select! {
                biased;
                answer = timeout_at(deadline.into(), asked) => answer,
                // Whoever was asked may be cut off, and would not say so.
                _ = news.wait_for(|news| news.leader.is_some() && news.leader != now.leader) => {
                    Ok(Err(Unavailable::Unknown))
                }
            };
            match answer {
                Ok(Ok(answer)) => return Ok(answer),
                // Whoever was thought to lead does not: wait for news, and not too long, as some news come late.
                Ok(Err(Unavailable::Elsewhere { .. })) => {
                    let changed = leadership.changed();
                    let soon = deadline.min(Instant::now() + LOOK_AGAIN);
                    if matches!(timeout_at(soon.into(), changed).await, Ok(Err(_))) {
                        return Err(Unavailable::Stopping.into());
                    }
                    if Instant::now() >= deadline {
                        return Err(ServiceError::NoLeader);
                    }
                }
                Ok(Err(unavailable)) => {
                    if unavailable == Unavailable::Unknown && question.may_be_asked_again() && Instant::now() < deadline
                    {
                        sleep(LOOK_AGAIN).await;
                        continue;
                    }
                    return Err(unavailable.into());
                }
                // It was sent, and whether it was done is not known.
                Err(_) => return Err(Unavailable::Unknown.into()),
            }
        }
    }
}

/// How often to look for a leader, if nobody tells.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How long another node may take to hear what a leader leaves behind.
const BEQUEST: Duration = Duration::from_millis(300);
/// How long to try to give up a place in line, for who is gone already.
const PATIENCE: Duration = Duration::from_secs(5);

fn done(response: Response) -> Result<(), ServiceError> {
    match response {
        Response::Done => Ok(()),
        Response::Busy => Err(ServiceError::Busy),
        Response::Over => Err(ServiceError::Over),
        Response::Refused(refusal) => Err(refusal.into()),
        // No command that asks for nothing is granted anything.
        Response::Granted { .. } | Response::Queued { .. } => Err(Unavailable::Unknown.into()),
    }
}

fn draw_session() -> SessionId {
    loop {
        let number = getrandom::u64().expect("the system gives random numbers") >> 1;
        if let Some(session) = SessionId::new(number) {
            return session;
        }
    }
}

/// A request that waits in line, exclusively, without any extras.
pub fn plain_request(session: SessionId, name: Name) -> Acquire {
    let mode = Mode::Exclusive;
    Acquire { session, request: 0, call: 0, name, mode, wait: true, delay_ms: 0, value: Vec::new() }
}
