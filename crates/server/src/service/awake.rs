//! Whether this node has stood still: stopped, suspended, or without a core. What lies in its sockets then may be old.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::sleep;

/// How often it is noted that the node is awake.
const BEAT: Duration = Duration::from_millis(100);
/// A beat that comes so much later than it should is a sign of having stood still.
const STALL: Duration = Duration::from_millis(250);
/// What was in the sockets then has been read after this.
const AFTERMATH: Duration = Duration::from_secs(5);

/// Whether the node is awake, and has been for a while. The clock also counts while the machine is suspended.
#[derive(Debug)]
pub(super) struct Awake {
    /// When the last beat was, in milliseconds.
    beat_ms: AtomicU64,
    /// Until when what is read may be old.
    doubt_until_ms: AtomicU64,
}

impl Awake {
    /// Begins to look at the clock, for as long as anybody has this.
    pub(super) fn begin() -> Arc<Awake> {
        let awake = Arc::new(Awake { beat_ms: now_ms().into(), doubt_until_ms: 0.into() });
        tokio::spawn(keep_beating(Arc::downgrade(&awake)));
        awake
    }

    /// Whether what was just read may have lain there for long.
    pub(super) fn has_stood_still(&self) -> bool {
        self.has_stood_still_at(now_ms())
    }

    fn has_stood_still_at(&self, now_ms: u64) -> bool {
        let silence = Duration::from_millis(now_ms.saturating_sub(self.beat_ms.load(Ordering::Relaxed)));
        silence > BEAT + STALL || now_ms < self.doubt_until_ms.load(Ordering::Relaxed)
    }

    fn beat_at(&self, now_ms: u64) {
        let before = self.beat_ms.swap(now_ms, Ordering::Relaxed);
        if Duration::from_millis(now_ms.saturating_sub(before)) > BEAT + STALL {
            self.doubt_until_ms.store(now_ms + AFTERMATH.as_millis() as u64, Ordering::Relaxed);
        }
    }
}

async fn keep_beating(awake: Weak<Awake>) {
    while let Some(awake) = awake.upgrade() {
        awake.beat_at(now_ms());
        drop(awake);
        sleep(BEAT).await;
    }
}

fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_stood_still_knows_it_whether_it_beats_or_reads_first() {
        let awake = Awake { beat_ms: 1000.into(), doubt_until_ms: 0.into() };
        awake.beat_at(1100);
        awake.beat_at(1220);
        assert!(!awake.has_stood_still_at(1400));
        assert!(awake.has_stood_still_at(4000), "it reads before it beats");
        awake.beat_at(4000);
        assert!(awake.has_stood_still_at(4001), "it beats before it reads");
        (41..100).for_each(|beat| awake.beat_at(beat * 100));
        assert!(!awake.has_stood_still_at(9901), "what lay there has been read");
    }
}
