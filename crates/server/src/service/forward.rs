//! What one node asks another for a client, and what it answers.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Service;
use super::leases::{Inheritance, Inherited};
use crate::engine::{Applied, Engine, NodeId, Unavailable};
use crate::machine::{Acquire, Command, Fence, Name, Response, SessionId};
#[cfg(feature = "fault-injection")]
use crate::switches::switches;

/// What only the leader can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Question {
    /// Have a command applied.
    Submit(Command),
    /// Give a session its full time.
    Renew(SessionId),
    /// How long a session has left.
    TimeLeft(SessionId),
    /// What was decided last.
    Barrier,
    /// Have a request applied that is to wait; if it does, answer when it has come to the lock, or after so many
    /// milliseconds. Who asks still waits, so asking again finds what it wants, whatever came of it before.
    Obtain(Acquire, u64),
    /// Say when a place in line has come to the lock.
    Await(Place),
    /// Know how long sessions have left, if you lead next. This is asked of everybody.
    Inherit(Inheritance),
    /// How long each of these sessions has left.
    TimesLeft(Vec<SessionId>),
}

/// A place in line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) session: SessionId,
    pub(super) name: Name,
    /// The number of the command that gave it, or confirmed it.
    pub(super) index: u64,
}

/// Who awaits something is answered after this in any case, and may ask again. Shorter than anybody waits for answers.
const LONGEST: Duration = Duration::from_secs(20);

impl Question {
    /// Whether it does no harm to ask twice.
    pub(super) fn may_be_asked_again(&self) -> bool {
        match self {
            Question::Renew(_)
            | Question::TimeLeft(_)
            | Question::Barrier
            | Question::Obtain(..)
            | Question::Await(_)
            | Question::Inherit(_) => true,
            // A list is shown without these times rather than late.
            Question::TimesLeft(_) => false,
            Question::Submit(command) => match command {
                Command::Acquire(acquire) => acquire.request > 0,
                Command::Release { request, .. } => *request > 0,
                Command::Withdraw { .. } | Command::GiveUp { .. } => true,
                Command::EndDelay { .. } | Command::Proclaim { .. } => true,
                Command::Open { .. }
                | Command::Close { .. }
                | Command::Expire { .. }
                | Command::Force { .. }
                | Command::Generation { .. }
                | Command::Turn { .. }
                | Command::TurnLost { .. }
                | Command::NoTurn { .. } => false,
            },
        }
    }
}

/// What the leader answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    Applied(Applied),
    /// What came of a request for a lock at first, and the number of the grant if it was granted after that.
    Obtained(Applied, Option<Fence>),
    /// The full time, in milliseconds, unless there is no such session.
    Renewed(Option<u64>),
    /// What is left and the full time, in milliseconds.
    TimeLeft(Option<(u64, u64)>),
    /// The number of the last command.
    Barrier(u64),
    /// The number of the grant, if there is one.
    Awaited(Option<Fence>),
    /// It is known.
    Inherited,
    /// What is left of each, in milliseconds, if it exists.
    TimesLeft(Vec<Option<u64>>),
}

impl Answer {
    pub(super) fn applied(self) -> Result<Applied, Unavailable> {
        if let Answer::Applied(applied) = self { Ok(applied) } else { Err(Unavailable::Unknown) }
    }

    pub(super) fn renewed(self) -> Result<Option<Duration>, Unavailable> {
        match self {
            Answer::Renewed(ttl_ms) => Ok(ttl_ms.map(Duration::from_millis)),
            _ => Err(Unavailable::Unknown),
        }
    }

    pub(super) fn time_left(self) -> Result<Option<(Duration, Duration)>, Unavailable> {
        let spans = |(left, full)| (Duration::from_millis(left), Duration::from_millis(full));
        if let Answer::TimeLeft(left) = self { Ok(left.map(spans)) } else { Err(Unavailable::Unknown) }
    }

    pub(super) fn times_left(self) -> Result<Vec<Option<Duration>>, Unavailable> {
        match self {
            Answer::TimesLeft(left) => Ok(left.into_iter().map(|left| left.map(Duration::from_millis)).collect()),
            _ => Err(Unavailable::Unknown),
        }
    }

    pub(super) fn barrier(self) -> Result<u64, Unavailable> {
        if let Answer::Barrier(index) = self { Ok(index) } else { Err(Unavailable::Unknown) }
    }

    pub(super) fn obtained(self) -> Result<(Applied, Option<Fence>), Unavailable> {
        match self {
            Answer::Applied(applied) => Ok((applied, None)),
            Answer::Obtained(applied, granted) => Ok((applied, granted)),
            _ => Err(Unavailable::Unknown),
        }
    }

    pub(super) fn awaited(self) -> Result<Option<Fence>, Unavailable> {
        if let Answer::Awaited(fence) = self { Ok(fence) } else { Err(Unavailable::Unknown) }
    }
}

impl<E: Engine> Service<E> {
    /// Answers as the leader, or says that it is not.
    pub(super) async fn answer(&self, question: Question) -> Result<Answer, Unavailable> {
        match question {
            Question::Submit(command) => self.engine.submit(command).await.map(Answer::Applied),
            Question::Renew(session) => {
                // The round begins now, after the renewal has arrived: a leader that was deposed cannot prolong
                // anything.
                self.confirm().await?;
                let renewed = match &mut *self.desk.leases() {
                    Some(leases) => leases.renew(Instant::now(), session),
                    None => return Err(Unavailable::Elsewhere { leader: None }),
                };
                #[cfg(feature = "fault-injection")]
                let renewed = renewed.or(switches().renews_expired.then_some(Duration::from_secs(1)));
                Ok(Answer::Renewed(renewed.map(|ttl| ttl.as_millis() as u64)))
            }
            Question::TimeLeft(session) => {
                self.confirm().await?;
                let left = match &*self.desk.leases() {
                    Some(leases) => leases.left(Instant::now(), session),
                    None => return Err(Unavailable::Elsewhere { leader: None }),
                };
                let in_ms = |(left, full): (Duration, Duration)| (left.as_millis() as u64, full.as_millis() as u64);
                Ok(Answer::TimeLeft(left.map(in_ms)))
            }
            Question::TimesLeft(sessions) => {
                self.confirm().await?;
                let left = match &*self.desk.leases() {
                    Some(leases) => {
                        let now = Instant::now();
                        let left = sessions.iter().map(|session| leases.left(now, *session));
                        left.map(|left| left.map(|(left, _)| left.as_millis() as u64)).collect()
                    }
                    None => return Err(Unavailable::Elsewhere { leader: None }),
                };
                Ok(Answer::TimesLeft(left))
            }
            Question::Barrier => {
                self.confirm().await?;
                Ok(Answer::Barrier(self.desk.index()))
            }
            Question::Obtain(acquire, patience_ms) => {
                let (session, name) = (acquire.session, acquire.name.clone());
                let applied = self.engine.submit(Command::Acquire(acquire)).await?;
                let granted = if let Response::Queued { .. } = applied.response {
                    let place = Place { session, name, index: applied.moment.index };
                    // If it is not sure whether it still leads, the place in line is what it can speak of.
                    self.await_grant(&place, Duration::from_millis(patience_ms).min(LONGEST)).await.unwrap_or(None)
                } else {
                    None
                };
                Ok(Answer::Obtained(applied, granted))
            }
            Question::Await(place) => self.await_grant(&place, LONGEST).await.map(Answer::Awaited),
            Question::Inherit(Inheritance { term, left_ms }) => {
                let left_ms = left_ms.into_iter().collect();
                *self.desk.inherited() = Some(Inherited { at: Instant::now(), term, left_ms });
                Ok(Answer::Inherited)
            }
        }
    }

    /// Waits until a place in line has come to the lock, and makes sure that it has not lost it since.
    async fn await_grant(&self, place: &Place, patience: Duration) -> Result<Option<Fence>, Unavailable> {
        let Place { session, name, index } = place;
        let holds = || self.look(|machine| machine.fence_of(*session, name));
        let mut ticket = self.desk.waiters.register(*session, name);
        if holds().is_none() {
            // Whatever comes of it, what counts is what is true afterwards.
            let _ = timeout(patience, ticket.fate(*index)).await;
        }
        if !self.is_sure_of(*session) {
            self.confirm().await?;
        }
        Ok(holds())
    }
}

/// Asks another node.
pub(super) async fn ask(engine: &impl Engine, node: NodeId, question: &Question) -> Result<Answer, Unavailable> {
    let question = postcard::to_allocvec(question).map_err(|_| Unavailable::Unknown)?;
    let answer = engine.ask(node, question).await?;
    postcard::from_bytes::<Result<Answer, Unavailable>>(&answer).unwrap_or(Err(Unavailable::Unknown))
}

/// Answers what another node asks. What cannot be understood is answered like what cannot be done.
pub async fn answer<E: Engine>(service: &Service<E>, question: &[u8]) -> Vec<u8> {
    let answer = match postcard::from_bytes::<Question>(question) {
        Ok(question) => service.answer(question).await,
        Err(_) => Err(Unavailable::Unknown),
    };
    postcard::to_allocvec(&answer).expect("an answer can be written down")
}
