//! What is run of an algorithm: itself, as its paper says, or what stands around it to recover from crashes.

use quorate_core::catalog::{Entry, Family, Visitor};
use quorate_core::detector::Detector;
use quorate_core::election::{Chosen, Election};
use quorate_core::mutex::Mutex;
use quorate_core::stack::Elected;

use crate::subject::Subject;

pub use quorate_core::election::Kind as Beside;

/// Whether there is an election beside an algorithm that needs to know how long messages take.
pub fn elects_in_time(entry: &Entry, beside: Option<Beside>) -> bool {
    let elects = entry.family == Family::Mutex && entry.recovery.is_some_and(|recovery| recovery.elects);
    elects && beside.is_some_and(|beside| beside.entry().assumptions.synchronous)
}

/// Whether time means nothing to an algorithm that recovers: where everybody is told the truth of crashes, only what
/// needs time itself has any use for it.
pub fn is_timeless(entry: &Entry, beside: Option<Beside>) -> bool {
    beside.is_some() && !entry.assumptions.synchronous && !elects_in_time(entry, beside)
}

/// Runs processes, whatever they are made of.
pub trait Runner {
    /// What comes of it.
    type Output;
    /// Runs processes that take turns.
    fn mutex<M: Mutex>(self) -> Self::Output;
    /// Runs processes that take turns, with what lets them recover from crashes around them.
    fn recovering<M: Mutex>(self) -> Self::Output;
    /// Runs the same where somebody has to lead: with an election beside it, unless there is one already.
    fn led<M: Mutex>(self) -> Self::Output
    where
        Self: Sized,
    {
        self.recovering::<Elected<Chosen, M>>()
    }
    /// Runs processes that elect.
    fn election<E: Election>(self) -> Self::Output;
    /// Runs processes that find out who has crashed.
    fn detector<D: Detector>(self) -> Self::Output;
}

/// Runs an algorithm, or, if it is to recover, the algorithm with an election beside it where it needs one.
pub fn run<R: Runner>(subject: &impl Subject, recovers: bool, runner: R) -> R::Output {
    struct Choose<R>(bool, R);
    impl<R: Runner> Visitor for Choose<R> {
        type Output = R::Output;
        fn mutex<M: Mutex>(self) -> R::Output {
            if self.0 { self.1.recovering::<M>() } else { self.1.mutex::<M>() }
        }
        fn led<M: Mutex>(self) -> R::Output {
            if self.0 { self.1.led::<M>() } else { self.1.mutex::<M>() }
        }
        fn election<E: Election>(self) -> R::Output {
            self.1.election::<E>()
        }
        fn detector<D: Detector>(self) -> R::Output {
            self.1.detector::<D>()
        }
    }
    subject.visit(Choose(recovers, runner))
}
