//! ME3: of two requests of which one happened before the other, that one is served first.
//!
//! What happened before is followed exactly, through every message, those of the application included. Only requests
//! that still wait matter: so what a process knows is the set of processes whose current request is in its past, and a
//! message carries the set its sender knew. A request that is served, or taken back, leaves all sets.

use std::collections::BTreeMap;

use quorate_core::id::{Id, IdSet};
use quorate_core::trace::{Record, Sequence, What};

/// The waiting requests, and who has which of them in its past. A plain value: equal if the same is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Causality {
    /// Whose waiting requests are in the past of each process that has any.
    past: BTreeMap<Id, IdSet>,
    /// For each waiting request that has any, whose requests happened before it and still wait.
    behind: BTreeMap<Id, IdSet>,
}

/// A request waits no more: it leaves the past of everybody, and of every message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Whose request it overtook, if it was served out of order.
    pub overtook: Option<Id>,
}

impl Causality {
    /// Something that is no message happens to a process; says if its request waits no more.
    pub fn observe(&mut self, me: Id, what: &What) -> Option<Gone> {
        match what {
            What::Wanted => {
                let past = self.past.entry(me).or_default();
                if !past.is_empty() {
                    self.behind.insert(me, past.clone());
                }
                past.insert(me);
                None
            }
            What::Entered { .. } => {
                let overtook = self.behind.get(&me).and_then(|behind| behind.iter().next());
                self.forget(me);
                Some(Gone { overtook })
            }
            What::Withdrew => {
                self.forget(me);
                Some(Gone { overtook: None })
            }
            What::Crashed | What::Stopped => {
                self.forget(me);
                self.past.remove(&me);
                Some(Gone { overtook: None })
            }
            _ => None,
        }
    }

    /// Whose waiting requests are in the past of this process: what a message of it carries.
    pub fn known_to(&self, me: Id) -> IdSet {
        self.past.get(&me).cloned().unwrap_or_default()
    }

    /// Whether any waiting request is in the past of this process.
    pub fn knows_any(&self, me: Id) -> bool {
        self.past.contains_key(&me)
    }

    /// A message that carries this arrives.
    pub fn learn(&mut self, me: Id, carried: &IdSet) {
        if !carried.is_empty() {
            let past = self.past.entry(me).or_default();
            for id in carried.iter() {
                past.insert(id);
            }
        }
    }

    /// The request of this process waits no more.
    fn forget(&mut self, id: Id) {
        self.behind.remove(&id);
        for known in [&mut self.past, &mut self.behind] {
            known.retain(|_, known| {
                known.remove(id);
                !known.is_empty()
            });
        }
    }
}

/// How it is said that one request overtook another.
pub fn overtaking(me: Id, other: Id) -> String {
    format!("{me} entered before {other}, whose request had happened before that of {me}")
}

/// The waiting requests, and which of them each message on its way carries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestOrder {
    known: Causality,
    /// What each message on its way carries, by sender and name, as long as it carries anything.
    carried: BTreeMap<(Id, Sequence), IdSet>,
}

impl RequestOrder {
    pub(super) fn observe(&mut self, record: &Record) -> Option<String> {
        let me = record.process;
        match record.what {
            What::Sent { sequence, .. } | What::Poked { sequence, .. } => {
                if self.known.knows_any(me) {
                    self.carried.insert((me, sequence), self.known.known_to(me));
                }
                None
            }
            What::Received { from, sequence, .. } | What::Heard { from, sequence } => {
                // A duplicate tells nothing that its original did not, or will not when it comes; but for who has
                // crashed in between, and for whom we would have to keep every message for ever.
                if let Some(carried) = self.carried.remove(&(from, sequence)) {
                    self.known.learn(me, &carried);
                }
                None
            }
            What::Lost { sequence, .. } => {
                self.carried.remove(&(me, sequence));
                None
            }
            _ => {
                let gone = self.known.observe(me, &record.what)?;
                self.carried.retain(|_, carried| {
                    carried.remove(me);
                    !carried.is_empty()
                });
                gone.overtook.map(|other| overtaking(me, other))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{AGAIN, broken, entered, heard, lost, poked, received, sent};
    use quorate_core::catalog::Property::RequestOrder;
    use quorate_core::id::Id;
    use quorate_core::process::Ticks;
    use quorate_core::trace::Record;
    use quorate_core::trace::What::{self, Crashed, Leaving, Wanted, Withdrew};

    /// p1 asks, something happens, p2 asks and enters first: whether that breaks the order.
    fn overtakes(between: &[(u32, What)]) -> bool {
        let history = [&[(1, Wanted)], between, &[(2, Wanted), (2, entered(1))]].concat();
        let last = history.len() as Ticks - 1;
        match broken(RequestOrder, &history) {
            Some((at, why)) => {
                assert_eq!(
                    (at, why.as_str()),
                    (last, "p2 entered before p1, whose request had happened before that of p2")
                );
                true
            }
            None => false,
        }
    }

    #[test]
    fn serving_in_order_holds() {
        let history = [
            (1, Wanted),
            (1, sent(2, 1)),
            (2, received(1, 1)),
            (2, Wanted),
            (1, entered(1)),
            (1, Leaving),
            (2, entered(2)),
            (2, sent(1, 2)),
            (1, received(2, 2)),
            (1, Wanted),
            (2, Leaving),
            (1, entered(3)),
        ];
        assert_eq!(broken(RequestOrder, &history), None);
    }

    #[test]
    fn concurrent_requests_are_free() {
        assert!(!overtakes(&[]));
        // A message that tells p2 of it comes too late, and one that comes in time left too early.
        assert!(!overtakes(&[(1, sent(2, 1))]));
        let late = [(1, Wanted), (1, sent(2, 1)), (2, Wanted), (2, received(1, 1)), (2, entered(1))];
        assert_eq!(broken(RequestOrder, &late), None);
        let early = [(1, sent(2, 1)), (1, Wanted), (2, received(1, 1)), (2, Wanted), (2, entered(1))];
        assert_eq!(broken(RequestOrder, &early), None);
        // What p2 says to p1 says nothing of p1's request.
        assert!(!overtakes(&[(2, sent(1, 1)), (1, received(2, 1))]));
    }

    #[test]
    fn a_message_or_an_applications_word_orders_requests() {
        assert!(overtakes(&[(1, sent(2, 1)), (2, received(1, 1))]));
        assert!(overtakes(&[(1, poked(2, 1)), (2, heard(1, 1))]));
    }

    #[test]
    fn third_parties_order_requests() {
        assert!(overtakes(&[(1, sent(3, 1)), (3, received(1, 1)), (3, poked(2, 2)), (2, heard(3, 2))]));
        let chain = [
            (1, poked(3, 1)),
            (3, heard(1, 1)),
            (3, sent(4, 1)),
            (4, received(3, 1)),
            (4, sent(2, 1)),
            (2, received(4, 1)),
        ];
        assert!(overtakes(&chain));
        // Here the third one passes its word on before it has heard of anything.
        assert!(!overtakes(&[(1, sent(3, 1)), (3, sent(2, 1)), (3, received(1, 1)), (2, received(3, 1))]));
    }

    #[test]
    fn order_passes_through_a_request_that_is_taken_back_in_between() {
        let history = [
            (1, Wanted),
            (1, sent(3, 1)),
            (3, received(1, 1)),
            (3, Wanted),
            (3, sent(2, 1)),
            (2, received(3, 1)),
            (3, Withdrew),
            (2, Wanted),
            (2, entered(1)),
        ];
        let why = "p2 entered before p1, whose request had happened before that of p2";
        assert_eq!(broken(RequestOrder, &history), Some((8, why.into())));
    }

    #[test]
    fn lost_messages_order_nothing() {
        assert!(!overtakes(&[(1, sent(2, 1)), (1, lost(2, 1))]));
        // The loss of one message does not undo another, even one of the same number from somebody else.
        assert!(overtakes(&[(1, sent(2, 1)), (1, sent(2, 2)), (1, lost(2, 1)), (2, received(1, 2))]));
        assert!(overtakes(&[(3, sent(2, 1)), (1, sent(2, 1)), (3, lost(2, 1)), (2, received(1, 1))]));
    }

    #[test]
    fn duplicates_order_as_their_originals_do() {
        assert!(overtakes(&[(1, sent(2, 1)), (2, received(1, 1)), (2, received(1, 1))]));
        // The second copy still speaks of the request that was served before, which orders nothing any more.
        let served = [
            (1, Wanted),
            (1, sent(2, 1)),
            (2, received(1, 1)),
            (1, entered(1)),
            (1, Leaving),
            (1, Wanted),
            (2, received(1, 1)),
            (2, Wanted),
            (2, entered(2)),
        ];
        assert_eq!(broken(RequestOrder, &served), None);
    }

    #[test]
    fn a_message_from_before_says_nothing_of_the_next_request() {
        let history = [
            (1, Wanted),
            (1, sent(2, 1)),
            (1, entered(1)),
            (1, Leaving),
            (1, Wanted),
            (2, received(1, 1)),
            (2, Wanted),
            (2, entered(2)),
        ];
        assert_eq!(broken(RequestOrder, &history), None);
    }

    #[test]
    fn who_was_told_once_must_be_told_again_of_the_next_request() {
        let history = [
            (1, Wanted),
            (1, sent(2, 1)),
            (2, received(1, 1)),
            (1, entered(1)),
            (1, Leaving),
            (1, Wanted),
            (2, Wanted),
            (2, entered(2)),
        ];
        assert_eq!(broken(RequestOrder, &history), None);
    }

    #[test]
    fn requests_taken_back_hold_nobody_up() {
        assert!(!overtakes(&[(1, sent(2, 1)), (2, received(1, 1)), (1, Withdrew)]));
        // The same if it is taken back after the other has asked; and a new request begins at the end of the line.
        let ask_again = [
            (1, Wanted),
            (1, sent(2, 1)),
            (2, received(1, 1)),
            (2, Wanted),
            (1, Withdrew),
            (1, Wanted),
            (2, entered(1)),
        ];
        assert_eq!(broken(RequestOrder, &ask_again), None);
    }

    #[test]
    fn the_crashed_hold_nobody_up_and_forget_what_they_knew() {
        assert!(!overtakes(&[(1, sent(2, 1)), (2, received(1, 1)), (1, Crashed)]));
        assert!(!overtakes(&[(1, sent(2, 1)), (2, received(1, 1)), (2, Crashed), (2, AGAIN)]));
        assert!(overtakes(&[(1, sent(2, 1)), (2, Crashed), (2, AGAIN), (2, received(1, 1))]));
        // What it has said lives on.
        assert!(overtakes(&[(1, sent(3, 1)), (3, received(1, 1)), (3, sent(2, 1)), (3, Crashed), (2, received(3, 1))]));
    }

    #[test]
    fn nothing_is_kept_of_what_is_over() {
        for end in [lost(2, 1), entered(1), Withdrew, Crashed] {
            let mut watch = super::RequestOrder::default();
            for (at, what) in (0..).zip([Wanted, sent(2, 1), end.clone()]) {
                watch.observe(&Record { at, process: Id::new(1), what });
            }
            assert!(watch.carried.is_empty(), "after {end:?}");
        }
    }

    #[test]
    fn nobody_is_behind_itself() {
        let history = [(1, Wanted), (1, sent(2, 1)), (2, received(1, 1)), (2, sent(1, 1)), (1, received(2, 1))];
        let history = [&history[..], &[(1, entered(1)), (1, Leaving), (1, Wanted), (1, entered(2))]].concat();
        assert_eq!(broken(RequestOrder, &history), None);
    }
}
