//! What is to be sent to another member, over which connection, and what is known of the way there.
//!
//! Each of two members opens a connection to the other, so that either may be there first and either can say what is
//! wrong. While there are both, what the two say to each other goes over one of them, that of the member with the
//! smaller number: an answer then carries TCP's acknowledgement of what it answers, which would otherwise be sent by
//! itself (an entry of `ricart-agrawala` takes 8 segments instead of 12). Over the other goes only the question whether
//! it is still there; it is spoken on as soon as the first is gone. Whatever is overtaken or lost when that changes,
//! [`Reliable`](quorate_core::stack::Reliable) puts in order and sends again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quorate_core::id::Id;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::way::{self, Way};

/// From one measurement of the way to the next, on the connection that was opened here.
pub(crate) const MEASURING: Duration = Duration::from_secs(1);

/// Who has opened a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    Here,
    There,
}

impl Opened {
    /// For the log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Opened::Here => "outbound",
            Opened::There => "inbound",
        }
    }
}

/// What is to be sent to another member.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Whose connection both speak on, if there are both.
    preferred: Opened,
    ways: Mutex<Ways>,
    /// The other is there: it has connected itself.
    seen: Notify,
    connections: AtomicU64,
    dropped: AtomicU64,
    /// In microseconds; 0 if it was not measured.
    round_trip: AtomicU64,
    /// How many questions were asked; and the last, if it is not answered yet.
    questions: AtomicU64,
    asked: Mutex<Option<(u64, Instant)>>,
    /// Why there is no connection that was opened here, since the last attempt failed.
    failure: Mutex<Option<Arc<str>>>,
    /// Why the other has hung up on a connection that it had opened itself, if it does not talk.
    refusal: Mutex<Option<Arc<str>>>,
}

/// The connections that there are.
#[derive(Debug, Default)]
struct Ways {
    opened_here: Option<Arc<Way>>,
    opened_there: Option<Arc<Way>>,
    /// What waits for the first of them.
    waiting: Vec<u8>,
}

impl Ways {
    fn opened(&mut self, opened: Opened) -> &mut Option<Arc<Way>> {
        match opened {
            Opened::Here => &mut self.opened_here,
            Opened::There => &mut self.opened_there,
        }
    }

    fn best(&self, preferred: Opened) -> Option<&Arc<Way>> {
        match preferred {
            Opened::Here => self.opened_here.as_ref().or(self.opened_there.as_ref()),
            Opened::There => self.opened_there.as_ref().or(self.opened_here.as_ref()),
        }
    }

    fn any(&self) -> impl Iterator<Item = &Arc<Way>> {
        self.opened_here.iter().chain(&self.opened_there)
    }
}

impl Outbox {
    /// Of this member to that.
    pub(crate) fn new(me: Id, to: Id) -> Outbox {
        Outbox {
            preferred: if me < to { Opened::Here } else { Opened::There },
            ways: Mutex::default(),
            seen: Notify::new(),
            connections: AtomicU64::default(),
            dropped: AtomicU64::default(),
            round_trip: AtomicU64::default(),
            questions: AtomicU64::default(),
            asked: Mutex::default(),
            failure: Mutex::default(),
            refusal: Mutex::default(),
        }
    }

    fn ways(&self) -> MutexGuard<'_, Ways> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message. It is not sent before [`Outbox::flush`].
    pub(crate) fn push<M: Serialize>(&self, message: &M) {
        let mut ways = self.ways();
        let has_room = match ways.best(self.preferred) {
            Some(way) => way.push(message),
            None => way::append(message, &mut ways.waiting),
        };
        if !has_room {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lets what was added be sent.
    pub(crate) fn flush(&self) {
        if let Some(way) = self.ways().best(self.preferred) {
            way.flush();
        }
    }

    /// Whether all that was added has been sent, or has nobody to go to.
    pub(crate) fn is_empty(&self) -> bool {
        self.ways().any().all(|way| way.is_empty())
    }

    /// Speaks over this connection, too, if it has not ended.
    pub(crate) fn attach(&self, opened: Opened, way: &Arc<Way>) {
        let mut ways = self.ways();
        // Who ends it lets it be detached after that.
        if way.has_ended() {
            return;
        }
        way.push_bytes(&std::mem::take(&mut ways.waiting));
        *ways.opened(opened) = Some(Arc::clone(way));
        // What was added to the other one goes over it: whoever flushes from now on may not look there.
        ways.any().for_each(|way| way.flush());
        note(&self.refusal, None);
    }

    /// Does not speak over this connection any more.
    pub(crate) fn detach(&self, way: &Arc<Way>) {
        let mut ways = self.ways();
        for opened in [Opened::Here, Opened::There] {
            ways.opened(opened).take_if(|known| Arc::ptr_eq(known, way));
        }
    }

    /// Nobody is there: what waits for it would be stale.
    pub(crate) fn forget(&self) {
        self.ways().waiting = Vec::new();
    }

    /// The other has connected, in a new life: it is worth trying at once.
    pub(crate) fn see(&self) {
        self.seen.notify_one();
    }

    /// Waits until it has.
    pub(crate) async fn is_seen(&self) {
        self.seen.notified().await;
    }

    /// A connection was opened here.
    pub(crate) fn count(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.fail(None);
    }

    /// Notes why none could be. Says whether that is news.
    pub(crate) fn fail(&self, failure: Option<&str>) -> bool {
        note(&self.failure, failure)
    }

    /// Notes why the other does not talk on the one that it has opened. Says whether that is news.
    pub(crate) fn be_refused(&self, why: &str) -> bool {
        note(&self.refusal, Some(why))
    }

    /// Whether there is a connection that was opened here.
    pub(crate) fn is_connected(&self) -> bool {
        self.ways().opened_here.is_some()
    }

    /// Why there is no connection that was opened here, if an attempt to open one has failed: what the other says of
    /// that, if it does.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        let known = |reason: &Mutex<Option<Arc<str>>>| reason.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known(&self.refusal).or_else(|| known(&self.failure))
    }

    /// How often a connection was opened here.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// How many messages had nobody to go to.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// How long there and back, when it was measured last.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        Some(self.round_trip.load(Ordering::Relaxed)).filter(|&micros| micros > 0).map(Duration::from_micros)
    }

    /// Asks again and again on a connection that was opened here, until an answer takes longer than this.
    pub(crate) async fn measure(&self, way: &Way, tolerance: Duration) {
        loop {
            let unanswered = self.asked().map(|(_, at)| at.elapsed());
            match unanswered {
                Some(since) if since > tolerance => break,
                Some(_) => {}
                None => {
                    let number = self.questions.fetch_add(1, Ordering::Relaxed);
                    *self.asked() = Some((number, Instant::now()));
                    way.ask(number);
                }
            }
            sleep(MEASURING).await;
        }
    }

    /// Nothing is known any more of how long the way is.
    pub(crate) fn forget_round_trip(&self) {
        *self.asked() = None;
        self.round_trip.store(0, Ordering::Relaxed);
    }

    /// The answer to this question has come.
    pub(crate) fn hear_answer(&self, number: u64) {
        if let Some((_, at)) = self.asked().take_if(|(last, _)| *last == number) {
            let micros = u64::try_from(at.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.round_trip.store(micros.max(1), Ordering::Relaxed);
        }
    }

    fn asked(&self) -> MutexGuard<'_, Option<(u64, Instant)>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes a reason. Says whether it is another one.
fn note(known: &Mutex<Option<Arc<str>>>, reason: Option<&str>) -> bool {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let is_news = known.as_deref() != reason;
    if is_news {
        *known = reason.map(Into::into);
    }
    is_news
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    use crate::way::Stream;

    use super::*;

    /// A connection, as its way out and its other end. The way's task does not run.
    async fn connection() -> (Arc<Way>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (_, writing) = stream.halves();
        (Arc::new(Way::over(&writing)), listener.accept().await.unwrap().0)
    }

    fn say(outbox: &Outbox, message: u8) {
        outbox.push(&message);
        outbox.flush();
    }

    /// The messages that come next, each in a frame of two bytes.
    async fn heard<const COUNT: usize>(end: &mut TcpStream) -> [u8; COUNT] {
        let mut messages = [0; COUNT];
        for message in &mut messages {
            let mut frame = [0; 6];
            end.read_exact(&mut frame).await.unwrap();
            assert_eq!(frame[..5], [0, 0, 0, 2, 0], "a message of one byte");
            *message = frame[5];
        }
        messages
    }

    #[tokio::test]
    async fn two_members_speak_on_the_connection_of_the_smaller_and_on_any_if_there_is_one() {
        for (me, to, first, second) in [(1, 2, Opened::There, Opened::Here), (2, 1, Opened::Here, Opened::There)] {
            let outbox = Outbox::new(Id::new(me), Id::new(to));
            let ((spare, mut heard_spare), (best, mut heard_best)) = (connection().await, connection().await);
            say(&outbox, 1);
            outbox.attach(first, &spare);
            assert_eq!(outbox.is_connected(), first == Opened::Here);
            say(&outbox, 2);
            assert_eq!(heard(&mut heard_spare).await, [1, 2], "what has waited comes first");
            outbox.attach(second, &best);
            say(&outbox, 3);
            assert_eq!(heard(&mut heard_best).await, [3]);
            outbox.detach(&best);
            say(&outbox, 4);
            assert_eq!(heard(&mut heard_spare).await, [4], "nothing but this");
            // What was added while it was the only one goes over it, also if it is not any more when that is flushed.
            outbox.push(&7_u8);
            outbox.attach(second, &best);
            outbox.flush();
            assert_eq!(heard(&mut heard_spare).await, [7]);
            outbox.detach(&best);
            outbox.detach(&spare);
            assert!(!outbox.is_connected() && outbox.is_empty());
            say(&outbox, 5);
            outbox.forget();
            best.end("it is over");
            outbox.attach(second, &best);
            assert!(!outbox.is_connected(), "nobody speaks on a connection that is over");
            outbox.attach(first, &spare);
            say(&outbox, 6);
            assert_eq!(heard(&mut heard_spare).await, [6], "what was forgotten does not come");
        }
    }
}
