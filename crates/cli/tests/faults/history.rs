//! What clients did and were told, one line each, as they write it down while it happens.
//!
//! All moments are those of the system's monotonic clock, in nanoseconds, which all processes share. The moment of an
//! invocation is taken before, that of an answer after it; a moment at which a client was sure of its lock is taken
//! before it looked whether it still was. So nothing is claimed that was not so.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// One line of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Line {
    /// Somebody asks for something.
    Invoked { operation: u64, at: u64, who: String, lock: String, what: What },
    /// And is answered. What is not answered is unknown.
    Answered { operation: u64, at: u64, answer: Answer },
    /// Somebody is sure to hold what it was granted.
    Sure { operation: u64, at: u64 },
    /// Somebody showed its fence to the resource.
    Wrote { operation: u64, at: u64, is_accepted: bool },
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum What {
    Acquire { is_shared: bool },
    Release,
    Look,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Granted {
        fence: u64,
    },
    /// Somebody else holds it.
    Busy,
    /// It was surely not done.
    Nothing,
    Done,
    /// Who holds it, with which fences.
    Holders(Vec<(String, u64)>),
}

/// Now, on the clock that all processes share.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Where lines go.
pub(crate) struct Recorder {
    out: Mutex<Box<dyn Write + Send>>,
    next: AtomicU64,
}

impl Recorder {
    /// A recorder whose operations are numbered from here.
    pub(crate) fn new(first: u64, out: impl Write + Send + 'static) -> Recorder {
        Recorder { out: Mutex::new(Box::new(out)), next: first.into() }
    }

    /// Writes down that somebody asks for something, and numbers it.
    pub(crate) fn invoke(&self, who: &str, lock: &str, what: What) -> u64 {
        let operation = self.next.fetch_add(1, Ordering::Relaxed);
        self.tell(&Line::Invoked { operation, at: now(), who: who.into(), lock: lock.into(), what });
        operation
    }

    /// Writes down an answer.
    pub(crate) fn answer(&self, operation: u64, answer: Answer) {
        self.tell(&Line::Answered { operation, at: now(), answer });
    }

    /// Writes down a line. A reader that is gone needs none.
    pub(crate) fn tell(&self, line: &Line) {
        let mut text = serde_json::to_string(line).expect("a line can be written down");
        text.push('\n');
        let mut out = self.out.lock().expect("no writer panics");
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
