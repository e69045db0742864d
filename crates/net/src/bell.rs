//! Which of the things that a task waits for has something for it.
//!
//! A task that waits for many things is woken by any of them, and would look at all. Here each has a bell of its own:
//! only where it has rung is it looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use futures_util::task::AtomicWaker;

/// The bells of a task.
#[derive(Debug, Default)]
pub(crate) struct Bells {
    listener: Arc<AtomicWaker>,
}

/// Rings when there is something to look at.
#[derive(Debug)]
pub(crate) struct Bell {
    ringing: Arc<Ringing>,
    waker: Waker,
}

#[derive(Debug)]
struct Ringing {
    has_rung: AtomicBool,
    listener: Arc<AtomicWaker>,
}

impl Bells {
    /// One that has rung: everything is looked at once before it can ring.
    pub(crate) fn add(&self) -> Bell {
        let ringing = Arc::new(Ringing { has_rung: AtomicBool::new(true), listener: Arc::clone(&self.listener) });
        let waker = Waker::from(Arc::clone(&ringing));
        Bell { ringing, waker }
    }

    /// Who is woken by all of them from now on. To be said before any is asked whether it has rung.
    pub(crate) fn wake(&self, context: &Context<'_>) {
        self.listener.register(context.waker());
    }
}

impl Bell {
    /// Whether it has rung since it was last asked.
    pub(crate) fn has_rung(&self) -> bool {
        // Most have not, and to look costs less than to change.
        self.ringing.has_rung.load(Ordering::Acquire) && self.ringing.has_rung.swap(false, Ordering::AcqRel)
    }

    /// It is to be looked at again, whether it rings or not.
    pub(crate) fn look_again(&self) {
        self.ringing.has_rung.store(true, Ordering::Release);
    }

    /// For who is to ring it.
    pub(crate) fn context(&self) -> Context<'_> {
        Context::from_waker(&self.waker)
    }
}

impl Wake for Ringing {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.has_rung.store(true, Ordering::Release);
        self.listener.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn only_what_has_rung_is_looked_at_and_whoever_listens_is_woken() {
        let (bells, woken) = (Bells::default(), Arc::new(Woken::default()));
        let (first, second) = (bells.add(), bells.add());
        assert!(first.has_rung() && second.has_rung(), "at first everything is looked at");
        let listener = Waker::from(Arc::clone(&woken));
        bells.wake(&Context::from_waker(&listener));
        second.context().waker().wake_by_ref();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(!first.has_rung() && second.has_rung() && !second.has_rung());
        first.look_again();
        assert!(first.has_rung() && !first.has_rung());
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "nobody else is woken");
    }
}
