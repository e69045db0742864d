//! What is run of an algorithm: itself, as its paper says, or the stack around it that recovers from crashes.

use quorate_core::catalog::{Entry, Visitor};
use quorate_core::detector::Detector;
use quorate_core::election::{Bully, ChangRoberts, Election, Ring};
use quorate_core::mutex::{Led, Mutex};
use quorate_core::stack::{Elected, Rejoining};

use crate::subject::Subject;

/// The election beside an algorithm that needs one to recover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// A list that goes round.
    #[default]
    Ring,
    /// Chang and Roberts'.
    ChangRoberts,
    /// The bully, which needs time.
    Bully,
}

impl Beside {
    /// All of them.
    pub const ALL: [Beside; 3] = [Beside::Ring, Beside::ChangRoberts, Beside::Bully];

    /// What is known of it.
    pub const fn entry(self) -> Entry {
        match self {
            Beside::Ring => Ring::ENTRY,
            Beside::ChangRoberts => ChangRoberts::ENTRY,
            Beside::Bully => Bully::ENTRY,
        }
    }

    /// Its name, as in the catalogue.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }
}

/// Runs processes, whatever they are made of.
pub trait Runner {
    /// What comes of it.
    type Output;
    /// Runs processes that take turns.
    fn mutex<M: Mutex>(self) -> Self::Output;
    /// Runs processes that elect.
    fn election<E: Election>(self) -> Self::Output;
    /// Runs processes that find out who has crashed.
    fn detector<D: Detector>(self) -> Self::Output;
}

/// Runs an algorithm, or, with an election to go beside it, what recovers.
pub fn run<R: Runner>(subject: &impl Subject, recovery: Option<Beside>, runner: R) -> R::Output {
    struct Choose<R>(Option<Beside>, R);
    impl<R: Runner> Visitor for Choose<R> {
        type Output = R::Output;
        fn mutex<M: Mutex>(self) -> R::Output {
            match self.0 {
                None => self.1.mutex::<M>(),
                Some(_) => self.1.mutex::<Rejoining<M>>(),
            }
        }
        fn led<M: Led>(self) -> R::Output {
            match self.0 {
                None => self.1.mutex::<M>(),
                Some(Beside::Ring) => self.1.mutex::<Rejoining<Elected<Ring, M>>>(),
                Some(Beside::ChangRoberts) => self.1.mutex::<Rejoining<Elected<ChangRoberts, M>>>(),
                Some(Beside::Bully) => self.1.mutex::<Rejoining<Elected<Bully, M>>>(),
            }
        }
        fn election<E: Election>(self) -> R::Output {
            self.1.election::<E>()
        }
        fn detector<D: Detector>(self) -> R::Output {
            self.1.detector::<D>()
        }
    }
    subject.visit(Choose(recovery, runner))
}
