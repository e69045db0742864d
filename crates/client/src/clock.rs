//! A clock that never goes back and counts the time in which the machine was suspended: a lease does not wait for a
//! laptop to be opened again.

use std::time::Duration;

/// A moment on that clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    pub(crate) fn now() -> Moment {
        #[cfg(target_os = "linux")]
        let clock = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let clock = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(clock);
        Moment(Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32))
    }

    pub(crate) fn plus(self, span: Duration) -> Moment {
        Moment(self.0.saturating_add(span))
    }

    /// How long it is until then; nothing if that is over.
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_sub(Moment::now().0)
    }
}
