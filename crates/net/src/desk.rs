//! Who waits on this node for what: of each name one task is served at a time, in the order in which they came.
//!
//! Between two tasks the node leaves and enters again, so that every guard has a fence of its own and the other nodes
//! get their turn.

use std::collections::{BTreeMap, HashMap};

use quorate_core::clock::Fence;
use quorate_core::mutex::Output;
use quorate_core::stack::{Name, Request};
use thiserror::Error;
use tokio::sync::{oneshot, watch};

/// The longest name, in bytes.
pub const LONGEST_NAME: usize = Name::LONGEST;

/// The error of a request to a [`Node`](crate::Node).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The node has stopped.
    #[error("the node has stopped")]
    Stopped,
    /// The name of the lock is empty or too long.
    #[error("a lock name must have 1 to {LONGEST_NAME} bytes")]
    Name,
    /// The node knows as many names as it accepts.
    #[error("the node knows {MOST_NAMES} names, which is the maximum: names are never removed, so reuse them")]
    TooManyNames,
    /// The lock was lost before it was released.
    #[error("the lock was lost before it was released")]
    Lost,
}

/// So many names a node knows before it refuses to use another one. Those that others use are not refused before there
/// are twice as many: nodes that ask at the same time do not know of each other's.
pub(crate) const MOST_NAMES: usize = 1 << 17;

/// Which of the requests on this node.
pub(crate) type Ticket = u64;

/// Whom to tell that a turn has ended; or that it was lost before.
pub(crate) type Done = oneshot::Sender<Result<(), Refused>>;

/// What a task gets.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) fence: Fence,
    /// Becomes true when the turn was taken away.
    pub(crate) lost: watch::Receiver<bool>,
}

/// A task that waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) ticket: Ticket,
    pub(crate) granted: oneshot::Sender<Result<Granted, Refused>>,
    /// Whether it waits if somebody on this node holds it, or waits for it.
    pub(crate) is_patient: bool,
}

#[derive(Debug)]
enum Phase {
    Idle,
    /// The algorithm was asked.
    Asked,
    Inside {
        ticket: Ticket,
        lost: watch::Sender<bool>,
    },
    /// The algorithm was told that we leave.
    Leaving {
        done: Option<Done>,
    },
    /// The algorithm was asked, and then told that nobody waits any more.
    Withdrawing,
}

#[derive(Debug)]
struct Line {
    phase: Phase,
    /// In the order in which they came: tickets are given in that order.
    waiting: BTreeMap<Ticket, Waiter>,
}

/// All names that somebody waits for, or holds.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    lines: HashMap<Name, Line>,
}

impl Desk {
    /// A task wants its turn. Returns what to ask the algorithm, if anything.
    pub(crate) fn ask(&mut self, name: &Name, waiter: Waiter) -> Option<Request> {
        if !waiter.is_patient && self.lines.get(name).is_some_and(Line::is_wanted) {
            return None;
        }
        let line =
            self.lines.entry(name.clone()).or_insert_with(|| Line { phase: Phase::Idle, waiting: BTreeMap::new() });
        line.waiting.insert(waiter.ticket, waiter);
        line.go_on()
    }

    /// A task does not want its turn any more.
    pub(crate) fn cancel(&mut self, name: &Name, ticket: Ticket) -> Option<Request> {
        let line = self.lines.get_mut(name)?;
        line.waiting.remove(&ticket);
        match line.phase {
            Phase::Asked if line.waiting.is_empty() => {
                line.phase = Phase::Withdrawing;
                Some(Request::Withdraw)
            }
            // Its turn had come, and nobody had noticed.
            Phase::Inside { ticket: inside, .. } if inside == ticket => self.release(name, ticket, None),
            Phase::Idle | Phase::Asked | Phase::Inside { .. } | Phase::Leaving { .. } | Phase::Withdrawing => None,
        }
    }

    /// A task is done. If its turn was taken away before, it is told so.
    pub(crate) fn release(&mut self, name: &Name, ticket: Ticket, done: Option<Done>) -> Option<Request> {
        match self.lines.get_mut(name) {
            Some(line) if matches!(line.phase, Phase::Inside { ticket: inside, .. } if inside == ticket) => {
                line.phase = Phase::Leaving { done };
                Some(Request::Exit)
            }
            Some(_) | None => {
                tell(done, Err(Refused::Lost));
                None
            }
        }
    }

    /// The algorithm says something.
    pub(crate) fn hear(&mut self, name: &Name, output: Output) -> Option<Request> {
        let line = self.lines.get_mut(name)?;
        let request = match output {
            // It was withdrawn meanwhile, and has been left: that is said next.
            Output::Entered { .. } if matches!(line.phase, Phase::Withdrawing) => None,
            Output::Entered { fence } => line.enter(fence),
            Output::Lost => {
                match &mut line.phase {
                    Phase::Inside { lost, .. } => {
                        lost.send_replace(true);
                        line.phase = Phase::Leaving { done: None };
                    }
                    // It was lost before it was released, and nobody had heard of it.
                    Phase::Leaving { done } => tell(done.take(), Err(Refused::Lost)),
                    Phase::Idle | Phase::Asked | Phase::Withdrawing => {}
                }
                None
            }
            Output::Exited | Output::Withdrawn => {
                if let Phase::Leaving { done } = std::mem::replace(&mut line.phase, Phase::Idle) {
                    tell(done, Ok(()));
                }
                line.go_on()
            }
        };
        if matches!(line.phase, Phase::Idle) {
            self.lines.remove(name);
        }
        request
    }

    /// How many names somebody waits for, or holds; and how many wait.
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.lines.len(), self.lines.values().map(|line| line.waiting.len()).sum())
    }
}

impl Line {
    /// Whether somebody has the turn, or waits for it. Whoever leaves, or has withdrawn, does not.
    fn is_wanted(&self) -> bool {
        match self.phase {
            Phase::Inside { .. } => true,
            Phase::Idle | Phase::Asked | Phase::Leaving { .. } | Phase::Withdrawing => !self.waiting.is_empty(),
        }
    }

    /// Asks for the next one who waits, if nothing is under way.
    fn go_on(&mut self) -> Option<Request> {
        if matches!(self.phase, Phase::Idle) && !self.waiting.is_empty() {
            self.phase = Phase::Asked;
            return Some(Request::Enter);
        }
        None
    }

    fn enter(&mut self, fence: Fence) -> Option<Request> {
        while let Some((ticket, Waiter { granted, .. })) = self.waiting.pop_first() {
            let (lost, is_lost) = watch::channel(false);
            if granted.send(Ok(Granted { fence, lost: is_lost })).is_ok() {
                self.phase = Phase::Inside { ticket, lost };
                return None;
            }
        }
        // Nobody is there to take it.
        self.phase = Phase::Leaving { done: None };
        Some(Request::Exit)
    }
}

fn tell(done: Option<Done>, how: Result<(), Refused>) {
    if let Some(done) = done {
        // Who does not listen any more does not mind.
        _ = done.send(how);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::clock::{Epoch, Number};

    fn fence(count: u64) -> Fence {
        Fence::counted(Epoch::FIRST, Number::try_from(count).unwrap())
    }

    fn waiter(ticket: Ticket) -> (Waiter, oneshot::Receiver<Result<Granted, Refused>>) {
        let (granted, grant) = oneshot::channel();
        (Waiter { ticket, granted, is_patient: true }, grant)
    }

    fn printer() -> Name {
        Name::new("printer")
    }

    #[test]
    fn tasks_are_served_in_order_and_each_enters_anew() {
        let (mut desk, name) = (Desk::default(), printer());
        let (first, mut first_grant) = waiter(1);
        let (second, mut second_grant) = waiter(2);
        assert_eq!(desk.ask(&name, first), Some(Request::Enter));
        assert_eq!(desk.ask(&name, second), None);
        assert_eq!(desk.hear(&name, Output::Entered { fence: fence(1) }), None);
        assert_eq!(first_grant.try_recv().unwrap().unwrap().fence, fence(1));
        assert!(second_grant.try_recv().is_err());
        let (done, mut is_done) = oneshot::channel();
        assert_eq!(desk.release(&name, 1, Some(done)), Some(Request::Exit));
        assert!(is_done.try_recv().is_err());
        assert_eq!(desk.hear(&name, Output::Exited), Some(Request::Enter));
        assert!(is_done.try_recv().is_ok());
        assert_eq!(desk.hear(&name, Output::Entered { fence: fence(2) }), None);
        assert_eq!(second_grant.try_recv().unwrap().unwrap().fence, fence(2));
        assert_eq!(desk.release(&name, 2, None), Some(Request::Exit));
        assert_eq!(desk.hear(&name, Output::Exited), None);
        assert_eq!(desk.len(), (0, 0));
    }

    #[test]
    fn the_last_who_gives_up_withdraws_and_who_comes_then_waits_until_that_is_through() {
        let (mut desk, name) = (Desk::default(), printer());
        let (first, _first_grant) = waiter(1);
        let (second, _second_grant) = waiter(2);
        desk.ask(&name, first);
        desk.ask(&name, second);
        assert_eq!(desk.cancel(&name, 1), None);
        assert_eq!(desk.cancel(&name, 2), Some(Request::Withdraw));
        let (third, mut third_grant) = waiter(3);
        assert_eq!(desk.ask(&name, third), None);
        assert_eq!(desk.hear(&name, Output::Withdrawn), Some(Request::Enter));
        assert_eq!(desk.hear(&name, Output::Entered { fence: fence(1) }), None);
        assert!(third_grant.try_recv().is_ok());
    }

    /// The algorithm lets the first one in at once, and nobody has heard of it when it gives up and the next one comes.
    #[test]
    fn a_turn_that_was_withdrawn_is_nobody_elses() {
        let (mut desk, name) = (Desk::default(), printer());
        let (first, first_grant) = waiter(1);
        assert_eq!(desk.ask(&name, first), Some(Request::Enter));
        drop(first_grant);
        assert_eq!(desk.cancel(&name, 1), Some(Request::Withdraw));
        let (second, mut second_grant) = waiter(2);
        assert_eq!(desk.ask(&name, second), None);
        assert_eq!(desk.hear(&name, Output::Entered { fence: fence(1) }), None);
        assert!(second_grant.try_recv().is_err());
        assert_eq!(desk.hear(&name, Output::Exited), Some(Request::Enter));
        assert_eq!(desk.hear(&name, Output::Entered { fence: fence(2) }), None);
        assert_eq!(second_grant.try_recv().unwrap().unwrap().fence, fence(2));
    }

    #[test]
    fn who_has_no_patience_does_not_wait() {
        let (mut desk, name) = (Desk::default(), printer());
        let (first, _first_grant) = waiter(1);
        desk.ask(&name, first);
        let (second, mut second_grant) = waiter(2);
        assert_eq!(desk.ask(&name, Waiter { is_patient: false, ..second }), None);
        assert!(matches!(second_grant.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    }

    /// Its holder leaves, or who waited withdraws; and before the algorithm has said that it is so, somebody asks who
    /// has no patience: nobody has the turn, and nobody wants it.
    #[test]
    fn who_has_no_patience_is_not_turned_away_by_one_who_leaves() {
        let (mut desk, name) = (Desk::default(), printer());
        let impatient = |ticket| {
            let (waiter, grant) = waiter(ticket);
            (Waiter { is_patient: false, ..waiter }, grant)
        };
        let (first, _first_grant) = waiter(1);
        desk.ask(&name, first);
        desk.hear(&name, Output::Entered { fence: fence(1) });
        assert_eq!(desk.release(&name, 1, None), Some(Request::Exit));
        let ((second, mut second_grant), (third, mut third_grant)) = (impatient(2), impatient(3));
        assert_eq!(desk.ask(&name, second), None);
        assert_eq!(desk.ask(&name, third), None);
        assert!(matches!(third_grant.try_recv(), Err(oneshot::error::TryRecvError::Closed)), "now somebody waits");
        assert_eq!(desk.hear(&name, Output::Exited), Some(Request::Enter));
        assert_eq!(desk.hear(&name, Output::Entered { fence: fence(2) }), None);
        assert_eq!(second_grant.try_recv().unwrap().unwrap().fence, fence(2));
        desk.release(&name, 2, None);
        desk.hear(&name, Output::Exited);

        let ((fourth, _fourth_grant), (fifth, mut fifth_grant)) = (waiter(4), impatient(5));
        assert_eq!(desk.ask(&name, fourth), Some(Request::Enter));
        assert_eq!(desk.cancel(&name, 4), Some(Request::Withdraw));
        assert_eq!(desk.ask(&name, fifth), None);
        assert_eq!(desk.hear(&name, Output::Withdrawn), Some(Request::Enter));
        assert_eq!(desk.hear(&name, Output::Entered { fence: fence(3) }), None);
        assert!(fifth_grant.try_recv().is_ok());
    }

    #[test]
    fn who_is_gone_when_its_turn_comes_leaves_at_once() {
        let (mut desk, name) = (Desk::default(), printer());
        let (first, grant) = waiter(1);
        desk.ask(&name, first);
        drop(grant);
        assert_eq!(desk.hear(&name, Output::Entered { fence: fence(1) }), Some(Request::Exit));
        assert_eq!(desk.cancel(&name, 1), None);
        assert_eq!(desk.hear(&name, Output::Exited), None);
        assert_eq!(desk.len(), (0, 0));
    }

    #[test]
    fn a_turn_that_was_taken_away_is_told_and_its_release_changes_nothing() {
        let (mut desk, name) = (Desk::default(), printer());
        let (first, mut grant) = waiter(1);
        desk.ask(&name, first);
        desk.hear(&name, Output::Entered { fence: fence(1) });
        let granted = grant.try_recv().unwrap().unwrap();
        assert!(!*granted.lost.borrow());
        assert_eq!(desk.hear(&name, Output::Lost), None);
        assert!(*granted.lost.borrow());
        let (second, _second_grant) = waiter(2);
        assert_eq!(desk.ask(&name, second), None);
        assert_eq!(desk.hear(&name, Output::Exited), Some(Request::Enter));
        let (done, mut is_done) = oneshot::channel();
        assert_eq!(desk.release(&name, 1, Some(done)), None);
        assert_eq!(is_done.try_recv(), Ok(Err(Refused::Lost)));
    }

    /// It is taken away, and its holder releases it before that is known here.
    #[test]
    fn a_turn_that_was_lost_before_it_was_released_is_not_taken_for_released() {
        let (mut desk, name) = (Desk::default(), printer());
        let (first, _grant) = waiter(1);
        desk.ask(&name, first);
        desk.hear(&name, Output::Entered { fence: fence(1) });
        let (done, mut is_done) = oneshot::channel();
        assert_eq!(desk.release(&name, 1, Some(done)), Some(Request::Exit));
        assert_eq!(desk.hear(&name, Output::Lost), None);
        assert_eq!(desk.hear(&name, Output::Exited), None);
        assert_eq!((is_done.try_recv(), desk.len()), (Ok(Err(Refused::Lost)), (0, 0)));
    }
}
