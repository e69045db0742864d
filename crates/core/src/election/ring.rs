//! The ring election: a list goes round, every living process adds itself, and the largest on it wins.
//!
//! Who calls an election sends a list with its own id to the next process on the ring; dead ones are skipped. Everybody
//! adds itself and sends the list on. When it is back at the one who called, it names the living: the largest of them
//! is the leader, and its name goes round once more. Nothing is extinguished: elections called at the same time all go
//! round, and end with the same leader.
//!
//! *Source*: A. S. Tanenbaum, M. van Steen, "Distributed Systems: Principles and Paradigms", 2nd edition, section 6.5.
//!
//! **Assumes** that every message arrives once, in any order, and that every process is told of every crash, sooner or
//! later, and of nothing else. Anybody may crash.
//!
//! **Costs** twice as many messages as there are living processes, for each one who calls.
//!
//! **Safe**: whoever lives is skipped by nobody, and so is on every list; the largest on a list is the largest that
//! lives, or has crashed since. So two leaders that live are one. **Live**: a crash takes a message with it only from
//! the process that sent it on, which is told, and calls; after the last crash is reported, its election goes all
//! the way. It does so even if the one who called is gone: who finds itself on a list for the second time concludes in
//! its place, and an announcement lists who has heard it. An announcement of a leader that is known to have crashed is
//! dropped: who made it is told as well, and calls.
//!
//! Who comes back has forgotten whom it followed, and calls; so does who finds it next on the ring, or above its
//! leader.

use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ELECTION, Election, Input, Output};
use crate::catalog::{Assumptions, Entry, Family, Property, Recovery};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process};
use crate::setting::Setting;

/// A process of the ring election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    me: Id,
    n: u32,
    /// Whether it has called an election and heard of no leader since.
    calling: bool,
    /// Whom it follows; nobody suspected.
    leader: Option<Id>,
    /// Who is skipped.
    suspected: IdSet,
    /// Whom it has last sent something on to, which that one's crash may have taken with it.
    entrusted: Option<Id>,
}

/// What a process says to the next on the ring: *these live*, and *this one leads*.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Goes round once and collects the living.
    Election {
        /// Who lives, in the order of the ring; the first one called the election.
        living: Vec<Id>,
    },
    /// Goes round once and tells everybody.
    Coordinator {
        /// Who leads.
        leader: Id,
        /// Who has heard it, in the order of the ring.
        informed: Vec<Id>,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Election { .. } => ELECTION,
            Message::Coordinator { .. } => "coordinator",
        }
    }

    /// Whose election it is, or who leads.
    fn number(&self) -> Option<u64> {
        match self {
            Message::Election { living } => living.first().map(|caller| caller.number().into()),
            Message::Coordinator { leader, .. } => Some(leader.number().into()),
        }
    }
}

impl Election for Ring {
    const ENTRY: Entry = Entry {
        summary: "a list of the live processes travels round a ring; the largest id on it becomes leader",
        paper: "A. S. Tanenbaum and M. van Steen, \"Distributed Systems: Principles and Paradigms\", 2nd edition, \
                section 6.5",
        assumptions: Assumptions { crash_free: false, detector: true, ..Assumptions::RELIABLE },
        promises: &[Property::SingleLeader, Property::Decided],
        recovery: Some(Recovery::new(
            "crashed processes are skipped, and a process whose message a crash may have lost starts a new election",
        )),
        ..Entry::new("ring", Family::Election)
    };

    fn new(setting: &Setting) -> Self {
        Ring { me: setting.me, n: setting.n(), calling: false, leader: None, suspected: IdSet::new(), entrusted: None }
    }
}

impl Process for Ring {
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
            Event::Receive { from, message: Message::Election { living } } => self.on_election(from, living, effects),
            Event::Receive { from, message: Message::Coordinator { leader, informed } } => {
                self.on_coordinator(from, leader, informed, effects);
            }
            Event::Timeout(never) => match never {},
        }
    }
}

impl Ring {
    fn start(&mut self, incarnation: u64, effects: &mut Effects<Self>) {
        if incarnation > 1 {
            self.send_list(effects);
        }
    }

    fn call(&mut self, effects: &mut Effects<Self>) {
        if !self.calling {
            self.send_list(effects);
        }
    }

    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        let was_leader = self.leader == Some(id);
        if !self.suspected.insert(id) {
            return;
        }
        if was_leader {
            self.leader = None;
        }
        if was_leader || self.entrusted == Some(id) {
            self.send_list(effects);
        }
    }

    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        let was_suspected = self.suspected.remove(id);
        if self.next() == id || (was_suspected && self.leader < Some(id)) {
            self.send_list(effects);
        }
    }

    fn on_election(&mut self, from: Id, mut living: Vec<Id>, effects: &mut Effects<Self>) {
        if !self.is_round(&living) {
            effects.unexpected(from, "a list of live processes that the ring cannot have produced");
        } else if living.contains(&self.me) {
            self.conclude(&living, effects);
        } else {
            living.push(self.me);
            self.send_on(Message::Election { living }, effects);
        }
    }

    fn on_coordinator(&mut self, from: Id, leader: Id, mut informed: Vec<Id>, effects: &mut Effects<Self>) {
        if leader.number() > self.n || !self.is_round(&informed) {
            effects.unexpected(from, "an announcement that the ring cannot have produced");
        } else if leader < self.me || self.suspected.contains(leader) || informed.contains(&self.me) {
            // It ends here: it was elected while this one was taken for dead, which has called since it is back, or is
            // called for by who trusts it again; the leader has crashed meanwhile; or everybody has heard of it.
        } else {
            self.follow(leader, effects);
            informed.push(self.me);
            self.send_on(Message::Coordinator { leader, informed }, effects);
        }
    }

    /// Calls an election, whether or not an earlier one is on its way.
    fn send_list(&mut self, effects: &mut Effects<Self>) {
        self.calling = true;
        self.send_on(Message::Election { living: vec![self.me] }, effects);
    }

    /// Ends an election whose list has been round.
    fn conclude(&mut self, living: &[Id], effects: &mut Effects<Self>) {
        let alive = living.iter().copied().filter(|&id| !self.suspected.contains(id));
        let leader = alive.max().unwrap_or(self.me);
        self.follow(leader, effects);
        self.send_on(Message::Coordinator { leader, informed: vec![self.me] }, effects);
    }

    fn follow(&mut self, leader: Id, effects: &mut Effects<Self>) {
        self.calling = false;
        // A leader is given up for a larger one, or when it has crashed; a smaller one is news from before it came
        // back.
        if self.leader <= Some(leader) {
            self.leader = Some(leader);
            effects.output(Output::Leader(leader));
        }
    }

    /// Whether a list can have been made on the way round: of members of the group, each once, and not of nobody.
    fn is_round(&self, list: &[Id]) -> bool {
        let members = list.iter().all(|id| id.number() <= self.n);
        members && !list.is_empty() && list.iter().copied().collect::<IdSet>().len() == list.len()
    }

    fn send_on(&mut self, message: Message, effects: &mut Effects<Self>) {
        let next = self.next();
        self.entrusted = Some(next);
        effects.send(next, message);
    }

    /// The next process on the ring that is not suspected; itself, if all others are.
    fn next(&self) -> Id {
        let mut next = self.me.successor(self.n);
        while next != self.me && self.suspected.contains(next) {
            next = next.successor(self.n);
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

    fn process(me: u32, n: u32) -> Ring {
        Ring::new(&test_setting(&Ring::ENTRY, me, n, &[]))
    }

    fn ids(numbers: &[u32]) -> Vec<Id> {
        numbers.iter().copied().map(Id::new).collect()
    }

    fn election(living: &[u32]) -> Message {
        Message::Election { living: ids(living) }
    }

    fn coordinator(leader: u32, informed: &[u32]) -> Message {
        Message::Coordinator { leader: Id::new(leader), informed: ids(informed) }
    }

    fn send(to: u32, message: Message) -> EffectOf<Ring> {
        Effect::Send { to: Id::new(to), message }
    }

    fn leader(id: u32) -> EffectOf<Ring> {
        Effect::Output(Output::Leader(Id::new(id)))
    }

    fn hear(message: Message) -> Event<Ring> {
        Event::Receive { from: Id::new(1), message }
    }

    fn suspect(id: u32) -> Event<Ring> {
        Event::Notice(Notice::Suspect(Id::new(id)))
    }

    const CALL: Event<Ring> = Event::Input(Input::Call);

    /// Lets these events happen and delivers all messages that follow: how many there are, and who leads in the end.
    fn run(ring: &mut [Ring], events: impl IntoIterator<Item = (u32, Event<Ring>)>) -> (usize, Vec<Option<Id>>) {
        let mut coming: VecDeque<_> = events.into_iter().map(|(id, event)| (Id::new(id), event)).collect();
        let mut messages = 0;
        while let Some((id, event)) = coming.pop_front() {
            for effect in effects_of(id.number(), &mut ring[id.index()], event) {
                match effect {
                    Effect::Send { to, message } => {
                        messages += 1;
                        coming.push_back((to, Event::Receive { from: id, message }));
                    }
                    Effect::Output(Output::Leader(_)) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        (messages, ring.iter().map(|process| process.leader).collect())
    }

    #[test]
    fn one_election_takes_two_messages_for_everybody_who_lives() {
        for n in 2..=8 {
            for caller in 1..=n {
                let mut ring: Vec<_> = (1..=n).map(|me| process(me, n)).collect();
                let (messages, leaders) = run(&mut ring, [(caller, CALL)]);
                assert_eq!(messages, 2 * n as usize);
                assert_eq!(leaders, vec![Some(Id::new(n)); n as usize]);
            }
        }
    }

    /// G2: 4 and 7 notice at once that 8 has crashed.
    #[test]
    fn two_elections_at_once_end_with_the_same_leader() {
        let mut ring: Vec<_> = (1..=7).map(|me| process(me, 8)).collect();
        for process in &mut ring {
            process.suspected.insert(Id::new(8));
        }
        let (messages, leaders) = run(&mut ring, [(4, CALL), (7, CALL)]);
        assert_eq!(messages, 2 * 2 * 7);
        assert_eq!(leaders, vec![Some(Id::new(7)); 7]);
    }

    #[test]
    fn the_list_collects_the_living_and_its_first_concludes() {
        let mut process = process(3, 5);
        assert_eq!(effects_of(3, &mut process, CALL), vec![send(4, election(&[3]))]);
        assert_eq!(effects_of(3, &mut process, CALL), vec![]);
        assert_eq!(effects_of(3, &mut process, hear(election(&[1, 2]))), vec![send(4, election(&[1, 2, 3]))]);
        let concluded = vec![leader(4), send(4, coordinator(4, &[3]))];
        assert_eq!(effects_of(3, &mut process, hear(election(&[3, 4, 1, 2]))), concluded);
        assert_eq!(effects_of(3, &mut process, hear(coordinator(4, &[3, 4, 1, 2]))), vec![]);
        let passed_on = vec![leader(5), send(4, coordinator(5, &[1, 2, 3]))];
        assert_eq!(effects_of(3, &mut process, hear(coordinator(5, &[1, 2]))), passed_on);
    }

    #[test]
    fn who_meets_a_list_again_concludes_for_a_caller_that_is_gone() {
        let mut process = process(3, 5);
        effects_of(3, &mut process, hear(election(&[2])));
        let concluded = vec![leader(5), send(4, coordinator(5, &[3]))];
        assert_eq!(effects_of(3, &mut process, hear(election(&[2, 3, 4, 5, 1]))), concluded);
    }

    #[test]
    fn the_dead_are_skipped_and_those_who_come_back_are_not() {
        let mut process = process(3, 5);
        assert_eq!(effects_of(3, &mut process, CALL), vec![send(4, election(&[3]))]);
        assert_eq!(effects_of(3, &mut process, suspect(5)), vec![]);
        assert_eq!(effects_of(3, &mut process, suspect(4)), vec![send(1, election(&[3]))]);
        assert_eq!(effects_of(3, &mut process, hear(coordinator(5, &[1, 2]))), vec![]);
        let concluded = vec![leader(3), send(1, coordinator(3, &[3]))];
        assert_eq!(effects_of(3, &mut process, hear(election(&[3, 5, 1, 2]))), concluded);
        let trust = Event::Notice(Notice::Trust(Id::new(4)));
        assert_eq!(effects_of(3, &mut process, trust), vec![send(4, election(&[3]))]);
    }

    #[test]
    fn a_crash_of_the_leader_calls_for_an_election() {
        let mut process = process(3, 5);
        effects_of(3, &mut process, hear(coordinator(5, &[1, 2])));
        assert_eq!(effects_of(3, &mut process, suspect(1)), vec![]);
        assert_eq!(effects_of(3, &mut process, suspect(5)), vec![send(4, election(&[3]))]);
        assert_eq!(effects_of(3, &mut process, suspect(5)), vec![]);
    }

    #[test]
    fn who_comes_back_calls_and_alone_it_decides_at_once() {
        let start = |incarnation| Event::Start { incarnation, saved: None };
        assert_eq!(effects_of(3, &mut process(3, 5), start(1)), vec![]);
        assert_eq!(effects_of(3, &mut process(3, 5), start(2)), vec![send(4, election(&[3]))]);
        assert_eq!(effects_of(1, &mut process(1, 1), start(2)), vec![leader(1)]);
    }

    /// Process 3 is killed; 1 and 2 elect 2; the announcement of that reaches the next life of 3, as 2 has heard of
    /// that life before it sends it on.
    #[test]
    fn an_announcement_that_a_restart_has_overtaken_ends_there_and_is_nobodys_fault() {
        let mut back = process(3, 3);
        let start = Event::Start { incarnation: 2, saved: None };
        assert_eq!(effects_of(3, &mut back, start), vec![send(1, election(&[3]))]);
        let called = back.clone();
        let overtaken = Event::Receive { from: Id::new(2), message: coordinator(2, &[1, 2]) };
        assert_eq!(effects_of(3, &mut back, overtaken), vec![]);
        assert_eq!(back, called, "its own election goes on");
        let concluded = vec![leader(3), send(1, coordinator(3, &[3]))];
        assert_eq!(effects_of(3, &mut back, hear(election(&[3, 1, 2]))), concluded);
    }

    #[test]
    fn nonsense_is_reported() {
        let lists = [&[][..], &[6], &[u32::MAX], &[1, 1]];
        let elections = lists.map(election);
        let announcements = lists.map(|informed| coordinator(5, informed));
        for message in elections.into_iter().chain(announcements).chain([coordinator(6, &[1])]) {
            let mut changed = process(3, 5);
            let effects = effects_of(3, &mut changed, hear(message));
            assert!(matches!(effects[..], [Effect::Unexpected { from: Some(_), .. }]), "{effects:?}");
            assert_eq!(changed, process(3, 5));
        }
    }
}
