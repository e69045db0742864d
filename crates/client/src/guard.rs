//! Requests for locks, and guards of locks that are held.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedMutexGuard, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{sleep, timeout_at};

use crate::Error;
use crate::contract::stream::{Reply, Request, Subject};
use crate::contract::{Mode, Problem, ProblemKind};
use crate::session::{Inner, Session, not_understood};

/// How soon to ask again after a failure that may pass.
pub(crate) const AGAIN: Duration = Duration::from_millis(50);

/// A lock to acquire, or an election to win. Call [`acquire`](LockRequest::acquire) to send the request.
#[derive(Clone, Debug)]
#[must_use = "a lock is requested by calling `acquire`"]
pub struct LockRequest {
    session: Session,
    subject: Subject,
    mode: Mode,
    wait: Option<Duration>,
    delay: Duration,
    value: Vec<u8>,
}

impl LockRequest {
    pub(crate) fn new(session: Session, name: String, value: Option<Vec<u8>>) -> LockRequest {
        let subject = Subject { election: value.is_some(), name };
        let (mode, value) = (Mode::Exclusive, value.unwrap_or_default());
        LockRequest { session, subject, mode, wait: None, delay: Duration::ZERO, value }
    }

    /// Acquires the lock in shared mode: all sessions that do so can hold it at the same time.
    pub fn shared(mut self) -> LockRequest {
        self.mode = Mode::Shared;
        self
    }

    /// Acquires one of `of` permits: at most this many sessions hold the lock at the same time.
    pub fn permits(mut self, of: u32) -> LockRequest {
        self.mode = Mode::Permits(of);
        self
    }

    /// Sets how long to wait in the queue at most; zero does not wait. By default, `acquire` waits until the lock is
    /// granted.
    pub fn wait(mut self, wait: Duration) -> LockRequest {
        self.wait = Some(wait);
        self
    }

    /// Sets for how long nobody else acquires the lock if this session expires while it holds the lock.
    pub fn delay(mut self, delay: Duration) -> LockRequest {
        self.delay = delay;
        self
    }

    /// Waits for the lock. If you drop the future, the request leaves the queue in the background.
    ///
    /// # Errors
    /// If the lock is not granted in time ([`Error::is_busy`]), if the service refuses the request, or if the session
    /// ends.
    pub async fn acquire(&self) -> Result<Guard, Error> {
        let session = &self.session.inner;
        let until = self.wait.and_then(|wait| Instant::now().checked_add(wait));
        let turn = Some(self.turn(until).await?);
        let mut asking = Asking { session, subject: &self.subject, request: session.next_request(), turn };
        let ask = |request| Request::Acquire {
            session: session.id(),
            request,
            subject: self.subject.clone(),
            mode: self.mode,
            wait_ms: until.map(|until| until.saturating_duration_since(Instant::now()).as_millis() as u64),
            delay_ms: self.delay.as_millis() as u64,
            value: self.value.clone(),
        };
        let answer = loop {
            let answer = insist(session, || ask(asking.request)).await;
            // Nothing is left of it, or it was so late that this is not known; and nobody here was given anything.
            if !answer.as_ref().is_err_and(|error| error.kind() == Some(ProblemKind::Over)) {
                break answer;
            }
            asking.request = session.next_request();
        };
        let turn = asking.turn.take();
        match answer? {
            Reply::Granted { fence } => {
                let (session, subject) = (Arc::clone(session), self.subject.clone());
                Ok(Guard { session, subject, fence, turn, loss: OnceLock::new() })
            }
            other => Err(not_understood(&other)),
        }
    }

    /// Waits until nobody else of this session holds it or asks for it.
    async fn turn(&self, until: Option<Instant>) -> Result<Turn, Error> {
        let turns = self.session.inner.turns_for(&self.subject);
        let busy = |kind| {
            let detail = format!("this session already holds {} or waits for it", self.subject.name);
            Error::from(Problem::new(kind, detail))
        };
        match until {
            None => Ok(turns.lock_owned().await),
            Some(_) if self.wait == Some(Duration::ZERO) => turns.try_lock_owned().map_err(|_| busy(ProblemKind::Held)),
            Some(until) => {
                timeout_at(until.into(), turns.lock_owned()).await.map_err(|_| busy(ProblemKind::WaitedInVain))
            }
        }
    }
}

/// A request that is on its way, or waits in line. Dropped, it leaves.
struct Asking<'a> {
    session: &'a Arc<Inner>,
    subject: &'a Subject,
    request: u64,
    /// None once there is an answer.
    turn: Option<Turn>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            let (session, subject, request) = (Arc::clone(self.session), self.subject.clone(), self.request);
            self.session.runtime.spawn(async move {
                // If nobody answers, it is lost with the session.
                let _ = withdraw(&session, subject, request).await;
                drop(turn);
            });
        }
    }
}

/// Gives up the place in line that a request has, or will have; what was granted meanwhile is given back.
async fn withdraw(session: &Inner, subject: Subject, request: u64) -> Result<(), Error> {
    let ask = || Request::Withdraw { session: session.id(), request, subject: subject.clone() };
    match insist(session, ask).await? {
        Reply::Granted { fence } => give_back(session, subject, fence).await,
        _ => Ok(()),
    }
}

/// Asks until there is an answer, or the session is over. What is asked has a number, and is done once.
async fn insist(session: &Inner, ask: impl Fn() -> Request) -> Result<Reply, Error> {
    let over = |why: String| Err(Error::SessionOver(why));
    loop {
        let answer = tokio::select! {
            biased;
            answer = session.connection.ask(ask()) => answer,
            why = session.lost() => return over(why),
        };
        match answer {
            Err(Error::Problem(problem)) if may_pass(&problem) => sleep(AGAIN).await,
            Err(Error::Problem(problem)) if problem.kind == ProblemKind::NoSession => {
                // Its keeper may not have heard of it yet.
                session.end("it expired");
                return over(problem.detail);
            }
            answer => return answer,
        }
    }
}

pub(crate) fn may_pass(problem: &Problem) -> bool {
    use ProblemKind::{NoLeader, Overloaded, Stopping, Unknown};
    matches!(problem.kind, NoLeader | Overloaded | Stopping | Unknown)
}

/// A lock that is held, or an election that was won. Dropping it releases the lock in the background.
#[derive(Debug)]
#[must_use = "the lock is released when the guard is dropped"]
pub struct Guard {
    session: Arc<Inner>,
    subject: Subject,
    fence: u64,
    /// Nobody else of this session asks for it before this is dropped.
    turn: Option<Turn>,
    loss: OnceLock<Loss>,
}

/// What the service says of the end of a grant. It is asked when somebody wants to know, and once.
#[derive(Debug)]
struct Loss {
    told: watch::Receiver<Option<String>>,
    asking: AbortHandle,
}

impl Drop for Loss {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

/// The turn of one of those of a session who want the same.
type Turn = OwnedMutexGuard<()>;

impl Guard {
    /// Returns the fence (fencing token) of the grant, which is larger than that of every earlier grant of the same
    /// name. Send it with every write to the resource that the lock protects.
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// Returns the name of the lock or election.
    pub fn name(&self) -> &str {
        &self.subject.name
    }

    /// Returns how long the lock is surely held if the session is not renewed any more; zero if the lock is lost. That
    /// an operator has released the lock by force is noticed only while [`lost`](Guard::lost) is being awaited.
    pub fn valid_for(&self) -> Duration {
        let is_lost = self.loss.get().is_some_and(|loss| loss.told.borrow().is_some());
        if is_lost { Duration::ZERO } else { self.session.valid_for() }
    }

    /// Waits until the lock is lost, and returns the reason. If the service cannot be reached, this completes before
    /// the service could grant the lock to another session. If an operator releases the lock by force, it completes as
    /// soon as the service reports that.
    pub async fn lost(&self) -> String {
        let mut told = self.loss.get_or_init(|| self.ask_for_loss()).told.clone();
        tokio::select! {
            why = self.session.lost() => why,
            Ok(why) = told.wait_for(Option::is_some) => why.clone().unwrap_or_default(),
        }
    }

    fn ask_for_loss(&self) -> Loss {
        let (tell, told) = watch::channel(None);
        let (session, subject, fence) = (Arc::clone(&self.session), self.subject.clone(), self.fence);
        let asking = tokio::spawn(async move {
            let ask = || Request::UntilLost { session: session.id(), subject: subject.clone(), fence };
            // If there is no answer, the end of the session tells.
            if let Ok(Reply::Lost { why }) = insist(&session, ask).await {
                tell.send_replace(Some(why));
            }
            std::future::pending::<()>().await;
        });
        Loss { told, asking: asking.abort_handle() }
    }

    /// As leader of an election, changes the value that it publishes.
    pub async fn proclaim(&self, value: impl Into<Vec<u8>>) -> Result<(), Error> {
        let (value, name) = (value.into(), self.subject.name.clone());
        let (session, fence) = (self.session.id(), self.fence);
        let ask = || Request::Proclaim { session, name: name.clone(), fence, value: value.clone() };
        insist(&self.session, ask).await.map(|_| ())
    }

    /// Releases the lock and waits for the confirmation. The lock is released even if you drop the future.
    pub async fn release(mut self) -> Result<(), Error> {
        let Some(released) = self.begin_release() else { return Ok(()) };
        released.await.unwrap_or_else(|_| Err(Error::SessionOver("its tokio runtime was shut down".into())))
    }

    /// Has it given back, in the background; once.
    fn begin_release(&mut self) -> Option<JoinHandle<Result<(), Error>>> {
        let turn = self.turn.take()?;
        let (session, subject, fence) = (Arc::clone(&self.session), self.subject.clone(), self.fence);
        Some(self.session.runtime.spawn(async move {
            let released = give_back(&session, subject, fence).await;
            drop(turn);
            released
        }))
    }
}

async fn give_back(session: &Inner, subject: Subject, fence: u64) -> Result<(), Error> {
    let (id, request) = (session.id(), session.next_request());
    let ask = || Request::Release { session: id, request, subject: subject.clone(), fence };
    insist(session, ask).await.map(|_| ())
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Nobody waits for it; if it fails, it is lost with the session.
        let _ = self.begin_release();
    }
}
