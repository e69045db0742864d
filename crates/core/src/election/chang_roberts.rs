//! Chang and Roberts: on a ring, the largest id is the only one that comes all the way round.
//!
//! Who calls an election sends its own id to the next process on the ring. A larger id than one's own is passed on. In
//! place of a smaller one, a process that does not take part yet sends its own; one that does take part sends nothing,
//! for a larger id than this is on its way already. Whose own id comes back has won, and says so once round the ring.
//!
//! *Source*: E. Chang, R. Roberts, "An improved algorithm for decentralized extrema-finding in circular configurations
//! of processes", CACM 22(5), 1979. The round that tells everybody is the textbooks'.
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs**, with one starter, between 2n messages (the largest starts) and 3n−1 (the one after it does: n−1 messages
//! until the largest is reached, n for its id, n to tell all). When everybody starts at once, `ring=descending` is the
//! worst order: id i travels i steps until the largest stops it, which makes n(n+1)/2, and n to tell all.
//!
//! **Safe**: an id comes back only if it was larger than all others. **Live**: the largest id is stopped by nobody, and
//! every election reaches the process that has it. Elections at the same time are extinguished, for everybody sends its
//! own id once.
//!
//! **Crashes** are survived if they are reported reliably. Who is suspected is skipped. A crash may have taken a
//! message with it, so who takes part, and who was before the crashed one on the ring, sends its own id anew. And since
//! a larger id on its way may have been lost, nothing is extinguished from then on: in place of a smaller id, or of a
//! dead one's, everybody sends its own. So the ids that are sent after the last report all end as the largest living
//! one, and that comes round. Who comes back has forgotten whom it followed, and calls; so does who finds it next on
//! the ring, or above its leader. Where the living are taken for dead, not everybody is told: so
//! [beside an algorithm](crate::stack::Elected) that survives crashes, nothing is extinguished from the beginning.

use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ELECTION, Election, Input, Output};
use crate::catalog::{Choice, Entry, Family, Measure, OptionSpec, Property, Published, Recovery, Values};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process};
use crate::setting::Setting;

/// A process of Chang and Roberts' algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangRoberts {
    me: Id,
    n: u32,
    direction: Direction,
    /// Whether it has sent an id, its own or a larger one, and not heard yet who was elected.
    participant: bool,
    /// Whom it follows; nobody suspected.
    leader: Option<Id>,
    /// Who is skipped.
    suspected: IdSet,
    /// Whether a message may have been lost: somebody has crashed that it knows of; or it is beside an algorithm that
    /// survives crashes, where others may take somebody for dead and it is not told.
    disturbed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Direction {
    /// The next process is the one with the next larger id.
    Ascending,
    /// The next process is the one with the next smaller id.
    Descending,
}

/// What a process says to the next on the ring: *this is the largest id so far*, and *this one has won*.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// The largest id that this election has met on its way.
    Election {
        /// Whose id it is.
        id: Id,
    },
    /// Who has won, once round the ring.
    Elected {
        /// The winner.
        id: Id,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Election { .. } => ELECTION,
            Message::Elected { .. } => "elected",
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Election { id } | Message::Elected { id } => Some(id.number().into()),
        }
    }
}

impl Election for ChangRoberts {
    const ENTRY: Entry = Entry {
        summary: "ids travel round a ring; only the largest returns to its owner, which becomes leader",
        paper: "E. Chang and R. Roberts, \"An improved algorithm for decentralized extrema-finding in circular \
                configurations of processes\", CACM 22(5), 1979",
        promises: &[Property::SingleLeader, Property::Decided],
        recovery: Some(Recovery::new(
            "crashed processes are skipped, and a process whose message a crash may have lost sends it again",
        )),
        published: &[
            Published::exactly(Measure::ElectionBest, "B", "2N", |size| 2.0 * size.n),
            Published::exactly(Measure::ElectionWorst, "A, B", "3N−1", |size| 3.0 * size.n - 1.0),
            Published::exactly(
                Measure::ElectionWorstAllStart,
                "Chang & Roberts, plus the announcement",
                "N(N+1)/2 + N",
                |size| size.n * (size.n + 1.0) / 2.0 + size.n,
            ),
        ],
        options: &[OptionSpec {
            key: "ring",
            values: Values::OneOf(&[Choice::plain("ascending"), Choice::plain("descending")]),
            default: "ascending",
            meaning: "whether the next process on the ring has the next larger id or the next smaller one",
        }],
        ..Entry::new("chang-roberts", Family::Election)
    };

    fn new(setting: &Setting) -> Self {
        ChangRoberts {
            me: setting.me,
            n: setting.n(),
            direction: match setting.group.options.choice("ring") {
                "descending" => Direction::Descending,
                _ => Direction::Ascending,
            },
            participant: false,
            leader: None,
            suspected: IdSet::new(),
            disturbed: setting.group.recovering.is_some(),
        }
    }
}

impl Process for ChangRoberts {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, .. } => self.start(incarnation, effects),
            Event::Input(Input::Call) => self.call(effects),
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => self.trust(id, effects),
            Event::Notice(Notice::Leader(_)) => {}
            Event::Receive { from, message: Message::Election { id } } => self.on_election(from, id, effects),
            Event::Receive { from, message: Message::Elected { id } } => self.on_elected(from, id, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

impl ChangRoberts {
    fn start(&mut self, incarnation: u64, effects: &mut Effects<Self>) {
        if incarnation > 1 {
            self.disturbed = true;
            self.stand(effects);
        }
    }

    fn call(&mut self, effects: &mut Effects<Self>) {
        if !self.participant {
            self.stand(effects);
        }
    }

    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        let was_next = self.next() == id;
        let was_leader = self.leader == Some(id);
        if !self.suspected.insert(id) {
            return;
        }
        self.disturbed = true;
        if was_leader {
            self.leader = None;
        }
        if was_leader || was_next || self.participant {
            self.stand(effects);
        }
    }

    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        let was_suspected = self.suspected.remove(id);
        self.disturbed = true;
        if self.next() == id || self.participant || (was_suspected && self.leader < Some(id)) {
            self.stand(effects);
        }
    }

    fn on_election(&mut self, from: Id, id: Id, effects: &mut Effects<Self>) {
        if id.number() > self.n {
            effects.unexpected(from, "an election message with an id outside the group");
        } else if id == self.me {
            self.participant = false;
            // It has won, unless a larger one has come back and won while its id was on its way.
            let winner = self.leader.map_or(self.me, |leader| leader.max(self.me));
            self.follow(winner, effects);
            effects.send(self.next(), Message::Elected { id: winner });
        } else if id > self.me && !self.suspected.contains(id) {
            self.participant = true;
            effects.send(self.next(), Message::Election { id });
        } else if !self.participant || self.disturbed {
            self.stand(effects);
        }
    }

    fn on_elected(&mut self, from: Id, id: Id, effects: &mut Effects<Self>) {
        if id.number() > self.n {
            effects.unexpected(from, "an elected message with an id outside the group");
        } else if id <= self.me || self.suspected.contains(id) {
            // It ends here: everybody has heard it; or it has won while this one was taken for dead, which stands since
            // it is back, or is stood for by who trusts it again; or the winner has crashed, and who was before that on
            // the ring calls.
        } else {
            self.participant = false;
            // A leader is given up for a larger one, or when it has crashed; a smaller one is news from before it came
            // back.
            if self.leader <= Some(id) {
                self.follow(id, effects);
            }
            effects.send(self.next(), Message::Elected { id });
        }
    }

    /// Sends its own id round the ring.
    fn stand(&mut self, effects: &mut Effects<Self>) {
        self.participant = true;
        effects.send(self.next(), Message::Election { id: self.me });
    }

    fn follow(&mut self, leader: Id, effects: &mut Effects<Self>) {
        self.leader = Some(leader);
        effects.output(Output::Leader(leader));
    }

    /// The next process on the ring that is not suspected; itself, if all others are.
    fn next(&self) -> Id {
        let after = |id: Id| match self.direction {
            Direction::Ascending => id.successor(self.n),
            Direction::Descending => id.predecessor(self.n),
        };
        let mut next = after(self.me);
        while next != self.me && self.suspected.contains(next) {
            next = after(next);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_setting;
    use alloc::collections::VecDeque;
    use alloc::vec;
    use alloc::vec::Vec;

    fn process(me: u32, n: u32) -> ChangRoberts {
        ChangRoberts::new(&test_setting(&ChangRoberts::ENTRY, me, n, &[]))
    }

    fn election(to: u32, id: u32) -> EffectOf<ChangRoberts> {
        Effect::Send { to: Id::new(to), message: Message::Election { id: Id::new(id) } }
    }

    fn elected(to: u32, id: u32) -> EffectOf<ChangRoberts> {
        Effect::Send { to: Id::new(to), message: Message::Elected { id: Id::new(id) } }
    }

    fn leader(id: u32) -> EffectOf<ChangRoberts> {
        Effect::Output(Output::Leader(Id::new(id)))
    }

    fn hear_election(id: u32) -> Event<ChangRoberts> {
        Event::Receive { from: Id::new(1), message: Message::Election { id: Id::new(id) } }
    }

    fn hear_elected(id: u32) -> Event<ChangRoberts> {
        Event::Receive { from: Id::new(1), message: Message::Elected { id: Id::new(id) } }
    }

    const CALL: Event<ChangRoberts> = Event::Input(Input::Call);

    fn suspect(id: u32) -> Event<ChangRoberts> {
        Event::Notice(Notice::Suspect(Id::new(id)))
    }

    /// How many messages an election takes that these call at once. All must follow the largest in the end.
    fn messages(n: u32, starters: impl IntoIterator<Item = u32>, options: &[(&str, &str)]) -> u32 {
        let setting = |me| test_setting(&ChangRoberts::ENTRY, me, n, options);
        let mut ring: Vec<_> = (1..=n).map(|me| ChangRoberts::new(&setting(me))).collect();
        let mut coming: VecDeque<_> = starters.into_iter().map(|id| (Id::new(id), CALL)).collect();
        let mut count = 0;
        while let Some((id, event)) = coming.pop_front() {
            for effect in effects_of(id.number(), &mut ring[id.index()], event) {
                match effect {
                    Effect::Send { to, message } => {
                        count += 1;
                        coming.push_back((to, Event::Receive { from: id, message }));
                    }
                    Effect::Output(Output::Leader(leader)) => assert_eq!(leader, Id::new(n)),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(ring.iter().all(|process| !process.participant && process.leader == Some(Id::new(n))));
        count
    }

    #[test]
    fn one_starter_costs_2n_at_best_and_3n_minus_1_at_worst() {
        for n in 2..=9 {
            let costs: Vec<_> = (1..=n).map(|starter| messages(n, [starter], &[])).collect();
            assert_eq!(costs.iter().min(), Some(&(2 * n)));
            assert_eq!(costs.iter().max(), Some(&(3 * n - 1)));
            assert_eq!((costs[0], costs[n as usize - 1]), (3 * n - 1, 2 * n));
        }
    }

    #[test]
    fn all_starting_at_once_on_a_descending_ring_is_the_worst_case() {
        for n in 1..=9 {
            let worst = if n == 1 { 0 } else { n * (n + 1) / 2 + n };
            assert_eq!(messages(n, 1..=n, &[("ring", "descending")]), worst);
            assert!(messages(n, 1..=n, &[]) <= worst);
        }
    }

    #[test]
    fn alone_it_decides_at_once() {
        assert_eq!(effects_of(1, &mut process(1, 1), CALL), vec![leader(1)]);
    }

    #[test]
    fn a_larger_id_is_passed_on_and_a_smaller_one_is_replaced_once() {
        let mut process = process(3, 5);
        assert_eq!(effects_of(3, &mut process, hear_election(2)), vec![election(4, 3)]);
        assert_eq!(effects_of(3, &mut process, hear_election(1)), vec![]);
        assert_eq!(effects_of(3, &mut process, CALL), vec![]);
        assert_eq!(effects_of(3, &mut process, hear_election(5)), vec![election(4, 5)]);
        assert_eq!(effects_of(3, &mut process, hear_elected(5)), vec![leader(5), elected(4, 5)]);
        assert_eq!(effects_of(3, &mut process, CALL), vec![election(4, 3)]);
    }

    #[test]
    fn whose_id_comes_back_has_won() {
        let mut process = process(5, 5);
        assert_eq!(effects_of(5, &mut process, CALL), vec![election(1, 5)]);
        assert_eq!(effects_of(5, &mut process, hear_election(5)), vec![leader(5), elected(1, 5)]);
        assert_eq!(effects_of(5, &mut process, hear_elected(5)), vec![]);
    }

    #[test]
    fn the_dead_are_skipped_and_those_who_come_back_are_not() {
        let mut process = process(3, 5);
        assert_eq!(effects_of(3, &mut process, suspect(5)), vec![]);
        assert_eq!(effects_of(3, &mut process, suspect(4)), vec![election(1, 3)]);
        assert_eq!(effects_of(3, &mut process, hear_election(5)), vec![election(1, 3)]);
        assert_eq!(effects_of(3, &mut process, hear_elected(5)), vec![]);
        assert_eq!(effects_of(3, &mut process, hear_election(3)), vec![leader(3), elected(1, 3)]);
        let trust = Event::Notice(Notice::Trust(Id::new(4)));
        assert_eq!(effects_of(3, &mut process, trust), vec![election(4, 3)]);
    }

    #[test]
    fn a_crash_of_the_leader_calls_for_an_election_and_nothing_is_extinguished() {
        let mut process = process(3, 5);
        effects_of(3, &mut process, hear_elected(5));
        assert_eq!(effects_of(3, &mut process, suspect(5)), vec![election(4, 3)]);
        assert_eq!(effects_of(3, &mut process, suspect(5)), vec![]);
        assert_eq!(effects_of(3, &mut process, hear_election(2)), vec![election(4, 3)]);
    }

    #[test]
    fn an_id_that_comes_back_too_late_does_not_unseat_a_larger_leader() {
        let mut process = process(3, 5);
        effects_of(3, &mut process, CALL);
        effects_of(3, &mut process, hear_elected(5));
        assert_eq!(effects_of(3, &mut process, hear_election(3)), vec![leader(5), elected(4, 5)]);
        assert_eq!(effects_of(3, &mut process, hear_elected(4)), vec![elected(4, 4)]);
        assert_eq!(process.leader, Some(Id::new(5)));
    }

    #[test]
    fn who_comes_back_calls() {
        let start = |incarnation| Event::Start { incarnation, saved: None };
        assert_eq!(effects_of(3, &mut process(3, 5), start(1)), vec![]);
        assert_eq!(effects_of(3, &mut process(3, 5), start(2)), vec![election(4, 3)]);
    }

    /// Process 3 is killed; 1 and 2 elect 2; that it has won is sent on to the next life of 3.
    #[test]
    fn a_winner_that_a_restart_has_overtaken_ends_there_and_is_nobodys_fault() {
        let mut back = process(3, 3);
        assert_eq!(effects_of(3, &mut back, Event::Start { incarnation: 2, saved: None }), vec![election(1, 3)]);
        let standing = back.clone();
        assert_eq!(effects_of(3, &mut back, hear_elected(2)), vec![]);
        assert_eq!(back, standing);
        assert_eq!(effects_of(3, &mut back, hear_election(3)), vec![leader(3), elected(1, 3)]);
    }

    #[test]
    fn nonsense_is_reported() {
        for event in [hear_election(6), hear_election(u32::MAX), hear_elected(6)] {
            let mut changed = process(3, 5);
            let effects = effects_of(3, &mut changed, event);
            assert!(matches!(effects[..], [Effect::Unexpected { from: Some(_), .. }]), "{effects:?}");
            assert_eq!(changed, process(3, 5));
        }
    }
}
