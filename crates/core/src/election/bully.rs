//! The bully: ask all who are larger whether they live; if nobody answers in time, you are the largest.
//!
//! Who calls an election asks every process with a larger id. Who is asked by a smaller one answers, and calls an
//! election of its own unless it has one running. Who hears no answer within a round trip has won, and announces itself
//! to all smaller ones, which follow it. Who does hear an answer leaves it to the larger ones, and calls again if none
//! of them announces itself in time.
//!
//! *Source*: H. Garcia-Molina, "Elections in a distributed computing system", IEEE Transactions on Computers C-31(1),
//! 1982.
//!
//! **Assumes** that a message takes no longer than a known bound D, and arrives once, in any order. Anybody may crash,
//! but nobody comes back while an election runs: the largest would win beside the one that has just found it dead.
//!
//! **Costs** n−2 messages at best: the second largest is told of the largest one's crash, and only announces itself. If
//! the largest has crashed and the smallest calls, everybody asks all larger ones: n²−n−1. If the largest lives, it
//! announces itself to everybody each time it is asked, (2n−1)(n−1) where all messages take equally long. Where they do
//! not, there is no such bound: who has heard the announcement and is then reached by a slower question calls once
//! more, and asks all larger ones again.
//!
//! **Deadlines**: an answer takes 2D at most, one way to ask and one back. All larger ones have been asked after D, so
//! the largest of them has called by then; it waits 2D + 1, and its announcement takes D: 4D + 1 after the call, and
//! the deadline of 4D + 2 begins later, with an answer.
//!
//! **Safe**: whoever lives answers, so who wins is larger than all that live; of two winners, the smaller has found the
//! larger dead. It does not matter in which order messages arrive, for an answer or an announcement can only come from
//! above, and what is too late is harmless. **Live**: who was answered and hears no announcement calls again; once
//! nobody crashes any more, the largest that lives hears no answer.
//!
//! With `answers=idle`, as in the pseudocode of "Coordination, part 2", a process does not answer while it has an
//! election running: two that notice a crash at once both win, and who hears of the smaller one last follows it for
//! good.
//!
//! The crash of a leader is noticed by who needs it: the application, which calls; or a notice. Who is suspected is not
//! asked, nor followed if it announced itself just before it crashed. Who comes back calls at once; so does
//! who is told that somebody above its leader lives, for it may not have listened when that one announced itself.

use serde::{Deserialize, Serialize};

use super::{ELECTION, Election, Input, Output};
use crate::catalog::{Assumptions, Choice, Entry, Family, Measure, OptionSpec, Property, Published, Recovery, Values};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process, Ticks};
use crate::setting::Setting;

/// A process of the bully algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    me: Id,
    n: u32,
    /// How long a message takes at most.
    delay_bound: Ticks,
    /// Whether it answers even while it has an election of its own running.
    always_answers: bool,
    phase: Phase,
    /// Whom it follows; nobody suspected.
    leader: Option<Id>,
    /// Who is neither asked nor followed.
    suspected: IdSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// It has no election running.
    Idle,
    /// It has asked the larger ones, and none has answered; `Answers` is armed.
    Asking,
    /// A larger one has answered, and none has announced itself; `Coordinator` is armed.
    Answered,
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// An answer from a larger one: without any by then, there is none.
    Answers,
    /// The announcement of a larger one that has answered: without any by then, it has crashed.
    Coordinator,
}

/// What processes say: *are you there?*, *I am*, and *I lead*.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// From who misses a leader, to all larger ones.
    Election,
    /// To a smaller one that has asked: leave it to me.
    Answer,
    /// From the winner, to all smaller ones.
    Coordinator,
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Election => ELECTION,
            Message::Answer => "answer",
            Message::Coordinator => "coordinator",
        }
    }
}

impl Election for Bully {
    const ENTRY: Entry = Entry {
        summary: "a process asks all processes with larger ids; if none answers in time, it becomes leader",
        paper: "H. Garcia-Molina, \"Elections in a distributed computing system\", IEEE Transactions on Computers \
                C-31(1), 1982",
        assumptions: Assumptions { crash_free: false, synchronous: true, ..Assumptions::RELIABLE },
        promises: &[Property::SingleLeader, Property::Decided],
        recovery: Some(Recovery::new("crashed processes are neither asked nor followed")),
        published: &[
            Published::exactly(Measure::ElectionBest, "A", "N−2", |size| size.n - 2.0),
            Published::vaguely(Measure::ElectionWorst, "A", "O(N²)"),
        ],
        options: &[OptionSpec {
            key: "answers",
            values: Values::OneOf(&[
                Choice::plain("always"),
                Choice { forfeits: &[Property::SingleLeader, Property::Decided], ..Choice::plain("idle") },
            ]),
            default: "always",
            meaning: "whether a process always answers, or only while it has no election of its own running (`idle`, \
                      which is unsafe)",
        }],
        ..Entry::new("bully", Family::Election)
    };

    fn new(setting: &Setting) -> Self {
        Bully {
            me: setting.me,
            n: setting.n(),
            delay_bound: setting.group.delay_bound,
            always_answers: setting.group.options.choice("answers") == "always",
            phase: Phase::Idle,
            leader: None,
            suspected: IdSet::new(),
        }
    }
}

impl Process for Bully {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Timer;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, .. } => self.start(incarnation, effects),
            Event::Input(Input::Call) => self.call(effects),
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => self.trust(id, effects),
            Event::Notice(Notice::Leader(_)) => {}
            Event::Receive { from, message: Message::Election } => self.on_election(from, effects),
            Event::Receive { from, message: Message::Answer } => self.on_answer(from, effects),
            Event::Receive { from, message: Message::Coordinator } => self.on_coordinator(from, effects),
            Event::Timeout(Timer::Answers) => self.nobody_answered(effects),
            Event::Timeout(Timer::Coordinator) => self.nobody_leads(effects),
        }
    }
}

impl Bully {
    fn start(&mut self, incarnation: u64, effects: &mut Effects<Self>) {
        if incarnation > 1 {
            self.call(effects);
        }
    }

    fn call(&mut self, effects: &mut Effects<Self>) {
        let Phase::Idle = self.phase else { return };
        if self.is_largest() {
            return self.win(effects);
        }
        effects.multicast(self.larger(), &Message::Election);
        self.phase = Phase::Asking;
        let deadline = self.delay_bound.saturating_mul(2).saturating_add(1);
        effects.set_timer(Timer::Answers, deadline..=deadline);
    }

    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.insert(id);
        let was_leader = self.leader == Some(id);
        if was_leader {
            self.leader = None;
        }
        match self.phase {
            Phase::Idle if was_leader => self.call(effects),
            // Whoever could have answered or announced itself has crashed: no need to wait for the deadline.
            Phase::Asking | Phase::Answered if self.is_largest() => self.win(effects),
            Phase::Idle | Phase::Asking | Phase::Answered => {}
        }
    }

    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        if self.suspected.remove(id) && id > self.me && self.leader < Some(id) {
            self.call(effects);
        }
    }

    fn on_election(&mut self, from: Id, effects: &mut Effects<Self>) {
        if from >= self.me {
            return effects.unexpected(from, "an election message from a process without a smaller id");
        }
        if self.always_answers || self.phase == Phase::Idle {
            effects.send(from, Message::Answer);
        }
        self.call(effects);
    }

    /// Only the first answer to a call matters. A later one may arrive after the announcement, or even be counted for
    /// the next call: then, at worst, that call waits for an announcement in vain and is repeated.
    fn on_answer(&mut self, from: Id, effects: &mut Effects<Self>) {
        if !self.is_above(from) {
            return effects.unexpected(from, "an answer from a process that was not asked");
        }
        match self.phase {
            Phase::Asking => {
                self.stop_waiting(effects);
                self.phase = Phase::Answered;
                let deadline = self.delay_bound.saturating_mul(4).saturating_add(2);
                effects.set_timer(Timer::Coordinator, deadline..=deadline);
            }
            Phase::Idle | Phase::Answered => {}
        }
    }

    fn on_coordinator(&mut self, from: Id, effects: &mut Effects<Self>) {
        if !self.is_above(from) {
            return effects.unexpected(from, "an announcement from a process without a larger id");
        }
        // Who announced itself and crashed can be known to have crashed before the announcement arrives.
        if !self.suspected.contains(from) {
            self.stop_waiting(effects);
            self.follow(from, effects);
        }
    }

    fn nobody_answered(&mut self, effects: &mut Effects<Self>) {
        if self.phase == Phase::Asking {
            self.phase = Phase::Idle;
            self.win(effects);
        }
    }

    fn nobody_leads(&mut self, effects: &mut Effects<Self>) {
        if self.phase == Phase::Answered {
            self.phase = Phase::Idle;
            self.call(effects);
        }
    }

    fn win(&mut self, effects: &mut Effects<Self>) {
        self.stop_waiting(effects);
        effects.multicast(Id::all(self.me.number() - 1), &Message::Coordinator);
        self.follow(self.me, effects);
    }

    fn follow(&mut self, leader: Id, effects: &mut Effects<Self>) {
        self.leader = Some(leader);
        effects.output(Output::Leader(leader));
    }

    fn stop_waiting(&mut self, effects: &mut Effects<Self>) {
        match self.phase {
            Phase::Idle => {}
            Phase::Asking => effects.cancel_timer(Timer::Answers),
            Phase::Answered => effects.cancel_timer(Timer::Coordinator),
        }
        self.phase = Phase::Idle;
    }

    fn is_above(&self, id: Id) -> bool {
        id > self.me && id.number() <= self.n
    }

    /// All with a larger id that are not suspected.
    fn larger(&self) -> impl Iterator<Item = Id> {
        Id::all(self.n).filter(|&id| id > self.me && !self.suspected.contains(id))
    }

    fn is_largest(&self) -> bool {
        self.larger().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_setting;
    use alloc::collections::BTreeMap;
    use alloc::vec;
    use alloc::vec::Vec;

    fn process(me: u32, n: u32) -> Bully {
        Bully::new(&test_setting(&Bully::ENTRY, me, n, &[]))
    }

    fn send(to: u32, message: Message) -> EffectOf<Bully> {
        Effect::Send { to: Id::new(to), message }
    }

    fn leader(id: u32) -> EffectOf<Bully> {
        Effect::Output(Output::Leader(Id::new(id)))
    }

    fn hear(from: u32, message: Message) -> Event<Bully> {
        Event::Receive { from: Id::new(from), message }
    }

    fn suspect(id: u32) -> Event<Bully> {
        Event::Notice(Notice::Suspect(Id::new(id)))
    }

    fn wait(timer: Timer, ticks: Ticks) -> EffectOf<Bully> {
        Effect::SetTimer { timer, after: ticks..=ticks }
    }

    const CALL: Event<Bully> = Event::Input(Input::Call);

    /// What is sent, named, and by whom, in the order in which it happens, until nothing does.
    ///
    /// Every message takes the bound of 10 ticks, and what is sent to a crashed process is lost. Of what happens at the
    /// same time, what was due first happens first.
    struct Conversation {
        messages: Vec<(u32, u32, Message)>,
        named: Vec<(u32, u32)>,
    }

    fn converse(
        group: &mut [Bully],
        crashed: &[u32],
        events: impl IntoIterator<Item = (u32, Event<Bully>)>,
    ) -> Conversation {
        let mut conversation = Conversation { messages: vec![], named: vec![] };
        let mut timers = BTreeMap::new();
        let mut due = BTreeMap::new();
        let mut count = 0;
        for (id, event) in events {
            due.insert((0, count), (id, event));
            count += 1;
        }
        while let Some(((now, _), (id, event))) = due.pop_first() {
            if crashed.contains(&id) {
                continue;
            }
            for effect in effects_of(id, &mut group[id as usize - 1], event) {
                count += 1;
                match effect {
                    Effect::Send { to, message } => {
                        conversation.messages.push((id, to.number(), message.clone()));
                        due.insert((now + 10, count), (to.number(), hear(id, message)));
                    }
                    Effect::SetTimer { timer, after } => {
                        timers.insert((id, timer), (now + after.start(), count));
                        due.insert((now + after.start(), count), (id, Event::Timeout(timer)));
                    }
                    Effect::CancelTimer(timer) => drop(due.remove(&timers[&(id, timer)])),
                    Effect::Output(Output::Leader(leader)) => conversation.named.push((id, leader.number())),
                    other => panic!("{other:?}"),
                }
            }
        }
        conversation
    }

    /// B5: of 1 to 8, process 8 has crashed and 5 notices.
    #[test]
    fn larger_ones_answer_and_the_largest_that_lives_wins() {
        let mut group: Vec<_> = (1..=8).map(|me| process(me, 8)).collect();
        let conversation = converse(&mut group, &[8], [(5, CALL)]);
        let to_5 = conversation.messages.iter().filter(|(_, to, _)| *to == 5).cloned();
        let expected = [(6, 5, Message::Answer), (7, 5, Message::Answer), (7, 5, Message::Coordinator)];
        assert_eq!(to_5.collect::<Vec<_>>(), expected);
        assert_eq!(conversation.named, [(7, 7), (1, 7), (2, 7), (3, 7), (4, 7), (5, 7), (6, 7)]);
        // 5 asks 6, 7 and 8; 6 asks 7 and 8; 7 asks 8; three answers; 7 tells six.
        assert_eq!(conversation.messages.len(), 3 + 2 + 1 + 3 + 6);
    }

    #[test]
    fn the_second_largest_wins_with_n_minus_2_messages_when_told() {
        for n in 2..=9 {
            let mut group: Vec<_> = (1..=n).map(|me| process(me, n)).collect();
            let conversation = converse(&mut group, &[n], [(n - 1, suspect(n)), (n - 1, CALL)]);
            assert_eq!(conversation.messages.len(), n as usize - 2);
            assert!((1..n).all(|me| conversation.named.contains(&(me, n - 1))));
        }
    }

    #[test]
    fn all_at_once_end_with_the_largest() {
        for n in 1..=9 {
            let mut group: Vec<_> = (1..=n).map(|me| process(me, n)).collect();
            converse(&mut group, &[], (1..=n).map(|me| (me, CALL)));
            assert!(group.iter().all(|process| process.leader == Some(Id::new(n)) && process.phase == Phase::Idle));
        }
    }

    #[test]
    fn the_smallest_calling_costs_on_the_order_of_n_squared_where_delays_are_equal() {
        for n in 2..=9 {
            let cost = |crashed: &[u32]| {
                let mut group: Vec<_> = (1..=n).map(|me| process(me, n)).collect();
                converse(&mut group, crashed, [(1, CALL)]).messages.len() as u32
            };
            assert_eq!(cost(&[n]), n * n - n - 1);
            assert_eq!(cost(&[]), (2 * n - 1) * (n - 1));
        }
    }

    /// B4c: 3 has crashed, 1 and 2 notice at once, and neither answers the other.
    #[test]
    fn answering_only_when_idle_lets_two_win() {
        let setting = |me| test_setting(&Bully::ENTRY, me, 3, &[("answers", "idle")]);
        let mut group: Vec<_> = (1..=3).map(|me| Bully::new(&setting(me))).collect();
        for me in 1..=2 {
            let sends = (me + 1..=3).map(|to| send(to, Message::Election)).chain([wait(Timer::Answers, 21)]);
            assert_eq!(effects_of(me, &mut group[me as usize - 1], CALL), sends.collect::<Vec<_>>());
        }
        assert_eq!(effects_of(2, &mut group[1], hear(1, Message::Election)), vec![]);
        assert_eq!(effects_of(1, &mut group[0], Event::Timeout(Timer::Answers)), vec![leader(1)]);
        let wins = vec![send(1, Message::Coordinator), leader(2)];
        assert_eq!(effects_of(2, &mut group[1], Event::Timeout(Timer::Answers)), wins);
    }

    #[test]
    fn who_is_answered_waits_for_the_announcement_and_calls_again_without_it() {
        let mut process = process(2, 3);
        let asks = vec![send(3, Message::Election), wait(Timer::Answers, 21)];
        assert_eq!(effects_of(2, &mut process, CALL), asks);
        assert_eq!(effects_of(2, &mut process, CALL), vec![]);
        assert_eq!(effects_of(2, &mut process, hear(1, Message::Election)), vec![send(1, Message::Answer)]);
        let waits = vec![Effect::CancelTimer(Timer::Answers), wait(Timer::Coordinator, 42)];
        assert_eq!(effects_of(2, &mut process, hear(3, Message::Answer)), waits);
        assert_eq!(effects_of(2, &mut process, hear(3, Message::Answer)), vec![]);
        assert_eq!(effects_of(2, &mut process, Event::Timeout(Timer::Answers)), vec![]);
        assert_eq!(effects_of(2, &mut process, Event::Timeout(Timer::Coordinator)), asks);
        let follows = vec![Effect::CancelTimer(Timer::Answers), leader(3)];
        assert_eq!(effects_of(2, &mut process, hear(3, Message::Coordinator)), follows);
        assert_eq!(effects_of(2, &mut process, hear(3, Message::Answer)), vec![]);
    }

    #[test]
    fn who_is_asked_while_idle_answers_and_calls() {
        let mut largest = process(3, 3);
        let wins =
            vec![send(1, Message::Answer), send(1, Message::Coordinator), send(2, Message::Coordinator), leader(3)];
        assert_eq!(effects_of(3, &mut largest, hear(1, Message::Election)), wins);
    }

    #[test]
    fn a_crash_of_the_leader_calls_and_one_of_all_larger_ones_wins() {
        let mut process = process(2, 4);
        effects_of(2, &mut process, hear(4, Message::Coordinator));
        let asks = vec![send(3, Message::Election), wait(Timer::Answers, 21)];
        assert_eq!(effects_of(2, &mut process, suspect(4)), asks);
        assert_eq!(effects_of(2, &mut process, hear(4, Message::Coordinator)), vec![]);
        let wins = vec![Effect::CancelTimer(Timer::Answers), send(1, Message::Coordinator), leader(2)];
        assert_eq!(effects_of(2, &mut process, suspect(3)), wins);
        let trust = Event::Notice(Notice::Trust(Id::new(3)));
        assert_eq!(effects_of(2, &mut process, trust), asks);
    }

    #[test]
    fn who_comes_back_calls() {
        let start = |incarnation| Event::Start { incarnation, saved: None };
        assert_eq!(effects_of(1, &mut process(1, 1), start(1)), vec![]);
        assert_eq!(effects_of(1, &mut process(1, 1), start(2)), vec![leader(1)]);
    }

    #[test]
    fn nonsense_is_reported() {
        let outside = [2, 3, 4, 9].map(|from| hear(from, Message::Election));
        let answers = [1, 2, 4].map(|from| hear(from, Message::Answer));
        let announcements = [1, 2, 4].map(|from| hear(from, Message::Coordinator));
        for event in outside.into_iter().chain(answers).chain(announcements) {
            let mut changed = process(2, 3);
            let effects = effects_of(2, &mut changed, event);
            assert!(matches!(effects[..], [Effect::Unexpected { from: Some(_), .. }]), "{effects:?}");
            assert_eq!(changed, process(2, 3));
        }
    }
}
