//! Sessions, which are renewed in the background, and end for the client before they can expire at the service.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::client::NewSession;
use crate::clock::Moment;
use crate::connection::Connection;
use crate::contract::ProblemKind;
use crate::contract::stream::{Reply, Request, Subject};
use crate::guard::{AGAIN, LockRequest, may_pass};
use crate::{Client, Error};

/// One part in this many of the TTL is not relied upon, because clocks drift.
pub const MARGIN: u32 = 50;

/// A session: the lease under which locks are held. Cloning it is cheap. It ends when it is [closed](Session::close),
/// or when its last clone and its last guard are dropped.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) connection: Connection,
    pub(crate) client: Client,
    id: u64,
    ttl: Duration,
    label: String,
    requests: AtomicU64,
    /// Whose turn it is within the session, by what is asked for.
    turns: Mutex<HashMap<Subject, Weak<tokio::sync::Mutex<()>>>>,
    state: watch::Sender<State>,
    keeper: AbortHandle,
    /// Where it was opened: whatever is dropped, and wherever that happens, is given back from there.
    pub(crate) runtime: Handle,
}

/// Whether a session can be relied upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Until then, unless it is renewed.
    Valid(Moment),
    /// It is over, and this is why.
    Over(String),
}

impl Session {
    pub(crate) async fn open(new: NewSession) -> Result<Session, Error> {
        let NewSession { client, ttl, label } = new;
        client.check()?;
        let connection = Connection::start(&client);
        let ttl_ms = ttl.as_millis() as u64;
        // One that was opened unheard is of no use to anybody, and expires.
        let open = Request::Open { ttl_ms, label: label.clone() };
        let (sent, id) = match ask_around(&connection, &open, client.patience).await {
            Some((sent, Ok(Reply::Opened { session }))) => (sent, session),
            Some((_, Ok(other))) => return Err(not_understood(&other)),
            Some((_, Err(error))) => return Err(error),
            None => {
                let tried = client.nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                return Err(Error::Unreachable { tried, why: connection.trouble() });
            }
        };
        let state = watch::Sender::new(State::Valid(sent.plus(reliable(ttl))));
        let keeper = tokio::spawn(keep(connection.clone(), id, ttl, state.clone())).abort_handle();
        let (requests, turns, runtime) = (AtomicU64::new(0), Mutex::default(), Handle::current());
        let inner = Inner { connection, client, id, ttl, label, requests, turns, state, keeper, runtime };
        Ok(Session { inner: Arc::new(inner) })
    }

    /// Returns the id of the session, in hexadecimal.
    pub fn id(&self) -> String {
        format!("{:x}", self.inner.id)
    }

    /// Returns the time to live: the session expires when it is not renewed for this long.
    pub fn ttl(&self) -> Duration {
        self.inner.ttl
    }

    /// Returns the label.
    pub fn label(&self) -> &str {
        &self.inner.label
    }

    /// Returns how long the session is surely valid if it is not renewed any more; zero if it has ended.
    pub fn valid_for(&self) -> Duration {
        self.inner.valid_for()
    }

    /// Waits until the session has ended, and returns the reason.
    pub async fn lost(&self) -> String {
        self.inner.lost().await
    }

    /// Prepares a request for a lock; call [`LockRequest::acquire`] to send it.
    pub fn lock(&self, name: impl Into<String>) -> LockRequest {
        LockRequest::new(self.clone(), name.into(), None)
    }

    /// Prepares a candidacy in an election, with the value that the leader publishes; call [`LockRequest::acquire`] to
    /// send it.
    pub fn campaign(&self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> LockRequest {
        LockRequest::new(self.clone(), name.into(), Some(value.into()))
    }

    /// Closes the session and releases everything that it holds.
    pub async fn close(self) -> Result<(), Error> {
        let Inner { connection, client, id, .. } = &*self.inner;
        self.inner.end("it was closed");
        match ask_around(connection, &Request::Close { session: *id }, client.patience).await {
            Some((_, Ok(_))) => Ok(()),
            Some((_, Err(error))) if error.kind() == Some(ProblemKind::NoSession) => Ok(()),
            Some((_, Err(error))) => Err(error),
            None => {
                Err(Error::SessionOver("closed here, but no node answered; the service ends it after its TTL".into()))
            }
        }
    }
}

impl Inner {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// A turn for what is asked for: within a session one after the other asks, and gives back before the next asks.
    /// Otherwise two would share a grant, and lose it when the first gives it back.
    pub(crate) fn turns_for(&self, subject: &Subject) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(subject).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(subject.clone(), Arc::downgrade(&turn));
        turn
    }

    /// The number of the next request.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn valid_for(&self) -> Duration {
        match &*self.state.borrow() {
            State::Valid(until) => until.left(),
            State::Over(_) => Duration::ZERO,
        }
    }

    pub(crate) async fn lost(&self) -> String {
        let mut state = self.state.subscribe();
        let over = state.wait_for(|state| matches!(state, State::Over(_))).await;
        match over.as_deref() {
            Ok(State::Over(why)) => why.clone(),
            Ok(State::Valid(_)) | Err(_) => "it was dropped".into(),
        }
    }

    pub(crate) fn end(&self, why: &str) {
        self.keeper.abort();
        end(&self.state, why);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.keeper.abort();
        let is_over = matches!(&*self.state.borrow(), State::Over(_));
        if !is_over {
            let (connection, session) = (self.connection.clone(), self.id);
            // Nobody waits for it; if it fails, the session expires by itself.
            self.runtime.spawn(async move { connection.ask(Request::Close { session }).await });
        }
    }
}

fn end(state: &watch::Sender<State>, why: &str) {
    state.send_if_modified(|state| {
        let was_valid = matches!(state, State::Valid(_));
        if was_valid {
            *state = State::Over(why.into());
        }
        was_valid
    });
}

/// Asks one node after the other until one answers, and says when that one was asked; nothing if none does in time.
async fn ask_around(
    connection: &Connection,
    request: &Request,
    patience: Duration,
) -> Option<(Moment, Result<Reply, Error>)> {
    let asking = async {
        loop {
            let sent = Moment::now();
            match timeout(patience / 4, connection.ask(request.clone())).await {
                Err(_) => connection.leave_node(),
                Ok(Err(Error::Problem(problem))) if may_pass(&problem) => sleep(AGAIN).await,
                Ok(answer) => return (sent, answer),
            }
        }
    };
    timeout(patience, asking).await.ok()
}

/// How much of the time to live is relied upon.
fn reliable(ttl: Duration) -> Duration {
    ttl - ttl / MARGIN
}

/// A node is given so long to answer a renewal, or a sixth of the time to live if that is more.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(500);

/// How late the end of a session is noticed, at most, when the machine was suspended.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// Renews at a third of the time to live, for as long as that succeeds in time.
async fn keep(connection: Connection, session: u64, ttl: Duration, state: watch::Sender<State>) {
    let (mut pause, patience) = (ttl / 3, SHORTEST_PATIENCE.max(ttl / 6));
    loop {
        let until = match &*state.borrow() {
            State::Valid(until) => *until,
            State::Over(_) => return,
        };
        rest(pause, until).await;
        let sent = Moment::now();
        // The clock that counts suspension decides, whatever the timer says.
        let left = until.left();
        let answer = timeout(left.min(patience), connection.ask(Request::Renew { session })).await;
        match answer {
            Ok(Ok(Reply::Renewed { ttl_ms })) => {
                let renewed = sent.plus(reliable(Duration::from_millis(ttl_ms)));
                if until.left().is_zero() {
                    return end(&state, "its renewal was confirmed too late");
                }
                // Unless it was closed meanwhile.
                state.send_if_modified(|state| {
                    let is_valid = matches!(state, State::Valid(_));
                    if is_valid {
                        *state = State::Valid(renewed);
                    }
                    is_valid
                });
                pause = ttl / 3;
            }
            Ok(Ok(_)) => return end(&state, "a node sent an unexpected response to its renewal"),
            Ok(Err(error)) if error.kind() == Some(ProblemKind::NoSession) => return end(&state, "it expired"),
            Ok(Err(_)) => pause = ttl / 20,
            Err(_) if until.left().is_zero() => return end(&state, "it could not be renewed in time"),
            Err(_) => {
                // There is time left to ask another node.
                connection.leave_node();
                pause = Duration::ZERO;
            }
        }
    }
}

/// Sleeps, but not longer than until then. Timers do not count the time in which the machine was suspended, so it looks
/// at a clock that does.
async fn rest(pause: Duration, until: Moment) {
    let end = Moment::now().plus(pause);
    loop {
        let left = end.left().min(until.left());
        if left.is_zero() {
            return;
        }
        sleep(left.min(LONGEST_NAP)).await;
    }
}

pub(crate) fn not_understood(reply: &Reply) -> Error {
    Error::NotUnderstood { node: "the service".into(), why: format!("it sent {reply:?}") }
}
