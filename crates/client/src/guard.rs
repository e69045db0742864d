//! A lock that is asked for, and one that is held.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::Error;
use crate::contract::stream::{Reply, Request, Subject};
use crate::contract::{Mode, Problem, ProblemKind};
use crate::session::{Inner, Session, not_understood};

/// How soon to ask again after a failure that may pass.
const AGAIN: Duration = Duration::from_millis(50);

/// A lock, or leadership, to be asked for.
#[derive(Clone, Debug)]
#[must_use = "acquire it"]
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

    /// Shares the lock with all others who share it.
    pub fn shared(mut self) -> LockRequest {
        self.mode = Mode::Shared;
        self
    }

    /// Shares the lock with so many in all.
    pub fn permits(mut self, of: u32) -> LockRequest {
        self.mode = Mode::Permits(of);
        self
    }

    /// Waits for so long at most; zero means not at all.
    pub fn wait(mut self, wait: Duration) -> LockRequest {
        self.wait = Some(wait);
        self
    }

    /// Nobody gets the lock for so long after its holder's session has expired.
    pub fn delay(mut self, delay: Duration) -> LockRequest {
        self.delay = delay;
        self
    }

    /// Waits for it. Whoever drops the future may still be in line: [`LockRequest::withdraw`] leaves it.
    pub async fn acquire(&self) -> Result<Guard, Error> {
        let session = &self.session.inner;
        let request = session.next_request();
        let until = self.wait.and_then(|wait| Instant::now().checked_add(wait));
        let ask = || Request::Acquire {
            session: session.id(),
            request,
            subject: self.subject.clone(),
            mode: self.mode,
            wait_ms: until.map(|until| until.saturating_duration_since(Instant::now()).as_millis() as u64),
            delay_ms: self.delay.as_millis() as u64,
            value: self.value.clone(),
        };
        match insist(session, ask).await? {
            Reply::Granted { fence } => {
                Ok(Guard { session: Arc::clone(session), subject: self.subject.clone(), fence, is_released: false })
            }
            other => Err(not_understood(&other)),
        }
    }

    /// Gives up the place in line, if there is one; what was granted meanwhile is given back.
    pub async fn withdraw(&self) -> Result<(), Error> {
        let session = &self.session.inner;
        let ask = || Request::Withdraw { session: session.id(), subject: self.subject.clone() };
        match insist(session, ask).await? {
            Reply::Granted { fence } => {
                let subject = self.subject.clone();
                Guard { session: Arc::clone(session), subject, fence, is_released: false }.release().await
            }
            _ => Ok(()),
        }
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
            answer => return answer,
        }
    }
}

fn may_pass(problem: &Problem) -> bool {
    use ProblemKind::{NoLeader, Overloaded, Stopping, Unknown};
    matches!(problem.kind, NoLeader | Overloaded | Stopping | Unknown)
}

/// A lock that is held, or leadership. Dropped, it is given back in the background.
#[derive(Debug)]
#[must_use = "a guard that is dropped gives the lock back"]
pub struct Guard {
    session: Arc<Inner>,
    subject: Subject,
    fence: u64,
    is_released: bool,
}

impl Guard {
    /// The number of the grant: larger than that of every earlier one. Show it to whatever the lock protects.
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// The name of the lock or the election.
    pub fn name(&self) -> &str {
        &self.subject.name
    }

    /// How long it is surely held, if nothing more is heard from the service; nothing once it is lost.
    pub fn valid_for(&self) -> Duration {
        self.session.valid_for()
    }

    /// Returns when it is lost, and why: before the service could give it to anybody else.
    pub async fn lost(&self) -> String {
        self.session.lost().await
    }

    /// As a leader, says something else.
    pub async fn proclaim(&self, value: impl Into<Vec<u8>>) -> Result<(), Error> {
        let (value, name) = (value.into(), self.subject.name.clone());
        let (session, fence) = (self.session.id(), self.fence);
        let ask = || Request::Proclaim { session, name: name.clone(), fence, value: value.clone() };
        insist(&self.session, ask).await.map(|_| ())
    }

    /// Gives it back, and waits until that is done.
    pub async fn release(mut self) -> Result<(), Error> {
        self.is_released = true;
        let (session, request, subject) = (self.session.id(), self.session.next_request(), self.subject.clone());
        let ask = || Request::Release { session, request, subject: subject.clone() };
        insist(&self.session, ask).await.map(|_| ())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.is_released, tokio::runtime::Handle::try_current()) {
            let (session, subject) = (Arc::clone(&self.session), self.subject.clone());
            let request = session.next_request();
            runtime.spawn(async move {
                let ask = || Request::Release { session: session.id(), request, subject: subject.clone() };
                insist(&session, ask).await
            });
        }
    }
}
