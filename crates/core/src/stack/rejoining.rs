//! Coming back: who has crashed takes part again when everybody who lives has been told that it is back.
//!
//! Before that, some take it for dead, enter without its leave, or elect a leader without it, while it speaks with the
//! others already. So a later life of a process begins as a *newcomer*: it holds back whatever happens to it. Everybody
//! who is told of its return greets it, with the highest number it has seen, or has saved, if it is a newcomer itself.
//! When all have greeted it, or have crashed, its algorithm starts, observes the highest of these numbers, is told who
//! is dead and who has forgotten everything as it has, and hears what was held back, in order. From then on everybody
//! deals with its new life; and what it asks for comes after all that was asked for before. What somebody said before
//! it crashed is not held back any longer: its answer would reach another life. Who is back from the dead has to greet
//! it again; a newcomer that is greeted by another greets that one, too, as it may not have been told of it.
//!
//! **With a [quorum guard](super::Guarded)** a newcomer also waits until it trusts a majority, and until nobody whom it
//! takes for dead is trusted by anybody who has greeted it: a cut does not heal everywhere at once, and who hears again
//! of enough others must not pass over those that it will hear of next. So greetings say whom the sender takes for
//! dead, and are said again, to all, whenever that changes. (Who can never reach one that others trust is never let in,
//! and others wait for it: that is for the network to mend. When it has held back
//! [too much](super::Resigning::is_overfull), it begins yet another life.)
//!
//! **Assumes** that messages travel in sessions: who was told of a return was told of the crash before, and nothing of
//! the former life comes later.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::guarded::is_majority;
use super::{Limits, Member};
use crate::catalog::Entry;
use crate::clock::Number;
use crate::id::{Id, IdSet};
use crate::mutex::Mutex;
use crate::process::{self, Effects, Event, Notice, Process, Room, perform};
use crate::setting::Setting;

/// An algorithm whose processes may come back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rejoining<M: Member> {
    me: Id,
    n: u32,
    /// What is known of who trusts whom, if nobody takes part who does not trust a majority.
    views: Option<Views>,
    /// So many messages a newcomer holds back, and no more.
    most: usize,
    algorithm: M,
    newcomer: Option<Newcomer<M>>,
    room: Room<M>,
}

/// One who is back, and of whom not everybody is known to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Newcomer<M: Member> {
    incarnation: u64,
    saved: Option<M::Stable>,
    /// Who has not greeted it.
    awaited: IdSet,
    /// The highest number that it was greeted with.
    highest: Number,
    /// Who has crashed, and is not back.
    dead: IdSet,
    /// Who has greeted it as a newcomer: it has forgotten everything as well.
    new: IdSet,
    /// Whom it has greeted.
    greeted: IdSet,
    held_back: VecDeque<Event<M>>,
    /// How many of these are messages.
    messages: usize,
}

/// Who takes whom for dead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Views {
    mine: IdSet,
    /// What those say who have greeted us and are trusted.
    others: BTreeMap<Id, IdSet>,
}

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message<M> {
    /// What the algorithm says.
    Algorithm(M),
    /// To a newcomer, from who was told that it is back.
    Welcome {
        /// The highest number that the sender has seen, or saved in a former life.
        highest: Number,
        /// Whether it is a newcomer itself.
        is_new: bool,
        /// Whom it takes for dead, if there is a quorum guard.
        dead: Vec<Id>,
    },
}

impl<M: process::Message> process::Message for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Message::Algorithm(message) => message.kind(),
            Message::Welcome { .. } => "welcome",
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Algorithm(message) => message.number(),
            Message::Welcome { highest, .. } => Some(highest.get()),
        }
    }
}

impl<M: Mutex> Mutex for Rejoining<M> {
    const ENTRY: Entry = M::ENTRY;

    fn new(setting: &Setting) -> Self {
        Rejoining::around(setting, M::new(setting))
    }

    fn stamp(&self) -> Number {
        self.algorithm.stamp()
    }

    fn saved_stamp(saved: &M::Stable) -> Number {
        M::saved_stamp(saved)
    }
}

impl<M: Member> Process for Rejoining<M> {
    type Message = Message<M::Message>;
    type Input = M::Input;
    type Output = M::Output;
    type Timer = M::Timer;
    type Stable = M::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation: 1, saved } => self.happen(Event::Start { incarnation: 1, saved }, effects),
            Event::Start { incarnation, saved } => {
                self.newcomer = Some(Newcomer {
                    incarnation,
                    saved,
                    awaited: IdSet::others(self.me, self.n),
                    highest: Number::ZERO,
                    dead: IdSet::new(),
                    new: IdSet::new(),
                    greeted: IdSet::new(),
                    held_back: VecDeque::new(),
                    messages: 0,
                });
                self.join_if_welcome(effects);
            }
            Event::Input(input) => self.happen(Event::Input(input), effects),
            Event::Receive { from, message: Message::Algorithm(message) } => {
                self.happen(Event::Receive { from, message }, effects);
            }
            Event::Receive { from, message: Message::Welcome { highest, is_new, dead } } => {
                self.on_welcome(from, highest, is_new, dead, effects);
            }
            Event::Notice(notice) => self.on_notice(notice, effects),
            Event::Timeout(timer) => self.happen(Event::Timeout(timer), effects),
        }
    }
}

impl<M: Member> Rejoining<M> {
    /// A process before its first event.
    pub fn around(setting: &Setting, algorithm: M) -> Self {
        Rejoining::within(Limits::default(), setting, algorithm)
    }

    /// The same with other limits.
    pub fn within(limits: Limits, setting: &Setting, algorithm: M) -> Self {
        let is_guarded = setting.group.recovering.is_some_and(|recovering| recovering.guard);
        let views = is_guarded.then(Views::default);
        // Each of the others says no more at once to who is back.
        let most = limits.unacknowledged.saturating_mul(setting.n() as usize);
        Rejoining { me: setting.me, n: setting.n(), views, most, algorithm, newcomer: None, room: Room::new() }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &M {
        &self.algorithm
    }

    /// Whether it is a newcomer that has heard more than it can hold back.
    pub(super) fn is_overfull(&self) -> bool {
        self.newcomer.as_ref().is_some_and(|newcomer| newcomer.messages > self.most)
    }

    /// What the application has asked for since this life began, if it takes no part yet.
    pub(super) fn held_back_inputs(&self) -> impl Iterator<Item = M::Input> {
        let held_back = self.newcomer.iter().flat_map(|newcomer| &newcomer.held_back);
        held_back.filter_map(|event| if let Event::Input(input) = event { Some(input.clone()) } else { None })
    }

    /// Who has not greeted it, if it is a newcomer; nobody, if only those are missing whom others trust.
    pub fn awaited(&self) -> Option<&IdSet> {
        self.newcomer.as_ref().map(|newcomer| &newcomer.awaited)
    }

    fn on_welcome(&mut self, from: Id, highest: Number, is_new: bool, dead: Vec<Id>, effects: &mut Effects<Self>) {
        if let Some(views) = &mut self.views {
            let dead = dead.into_iter().filter(|id| id.number() <= self.n).collect();
            views.others.insert(from, dead);
        }
        let Some(newcomer) = &mut self.newcomer else {
            // The sender took us for dead, or tells whom it trusts. We have not forgotten anything.
            return self.happen(Event::Input(M::observing(highest)), effects);
        };
        newcomer.awaited.remove(from);
        newcomer.highest = newcomer.highest.max(highest);
        if is_new {
            newcomer.new.insert(from);
            if !newcomer.greeted.contains(from) {
                self.greet(from, effects);
            }
        }
        self.join_if_welcome(effects);
    }

    fn on_notice(&mut self, notice: Notice, effects: &mut Effects<Self>) {
        match &mut self.newcomer {
            Some(newcomer) => newcomer.notice(notice),
            None => self.happen(Event::Notice(notice), effects),
        }
        if let Notice::Trust(id) = notice {
            self.greet(id, effects);
        }
        if let Some(views) = &mut self.views
            && views.notice(notice)
        {
            let told = notice_of(notice);
            let others = self.me.others(self.n).filter(|&other| Some(other) != told && !views.mine.contains(other));
            for other in Vec::from_iter(others) {
                self.greet(other, effects);
            }
        }
        self.join_if_welcome(effects);
    }

    fn greet(&mut self, other: Id, effects: &mut Effects<Self>) {
        let saved = self.newcomer.as_ref().and_then(|newcomer| newcomer.saved.as_ref());
        let highest = saved.map_or(Number::ZERO, M::highest_saved).max(self.algorithm.highest_seen());
        let dead = self.views.iter().flat_map(|views| views.mine.iter()).collect();
        if let Some(newcomer) = &mut self.newcomer {
            newcomer.greeted.insert(other);
        }
        effects.send(other, Message::Welcome { highest, is_new: self.newcomer.is_some(), dead });
    }

    /// Something happens to the algorithm, or will when it has started.
    fn happen(&mut self, event: Event<M>, effects: &mut Effects<Self>) {
        if let Some(newcomer) = &mut self.newcomer {
            newcomer.messages += usize::from(matches!(event, Event::Receive { .. }));
            return newcomer.held_back.push_back(event);
        }
        let mut wanted = self.room.list(self.me);
        perform(&mut self.algorithm, event, &mut wanted);
        effects.adopt(
            &mut wanted,
            Message::Algorithm,
            |timer| timer,
            |effects, stable| effects.save(stable),
            |effects, output| effects.output(output),
        );
        self.room.keep(wanted);
    }

    fn join_if_welcome(&mut self, effects: &mut Effects<Self>) {
        let is_trusted = self.views.as_ref().is_none_or(|views| views.admit(self.n));
        let is_welcome = |newcomer: &mut Newcomer<M>| newcomer.awaited.is_empty() && is_trusted;
        let Some(newcomer) = self.newcomer.take_if(is_welcome) else { return };
        let Newcomer { incarnation, saved, highest, dead, new, held_back, .. } = newcomer;
        self.happen(Event::Start { incarnation, saved }, effects);
        if highest > Number::ZERO {
            self.happen(Event::Input(M::observing(highest)), effects);
        }
        for id in dead.iter() {
            self.happen(Event::Notice(Notice::Suspect(id)), effects);
        }
        // Not that they were dead: who is told of all others that they are would go on alone, were it for a moment.
        for id in new.iter() {
            self.happen(Event::Notice(Notice::Trust(id)), effects);
        }
        for event in held_back {
            self.happen(event, effects);
        }
    }
}

impl<M: Member> Newcomer<M> {
    /// It is told of somebody. What that one has said is of a life, or a session, that is over.
    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Suspect(id) => {
                self.dead.insert(id);
                for known in [&mut self.awaited, &mut self.new, &mut self.greeted] {
                    known.remove(id);
                }
                let before = self.held_back.len();
                self.held_back.retain(|event| !matches!(event, Event::Receive { from, .. } if *from == id));
                self.messages -= before - self.held_back.len();
            }
            Notice::Trust(id) => {
                self.dead.remove(id);
                self.awaited.insert(id);
            }
            Notice::Leader(_) => {}
        }
    }
}

impl Views {
    /// We are told of somebody. Does it change whom we take for dead?
    fn notice(&mut self, notice: Notice) -> bool {
        match notice {
            Notice::Suspect(id) => {
                self.others.remove(&id);
                self.mine.insert(id)
            }
            Notice::Trust(id) => self.mine.remove(id),
            Notice::Leader(_) => false,
        }
    }

    /// Whether a newcomer trusts a majority of `n`, and everybody whom others trust.
    fn admit(&self, n: u32) -> bool {
        let agree = |id| self.others.values().all(|dead| dead.contains(id));
        is_majority(n, &self.mine) && self.mine.iter().all(agree)
    }
}

/// Whom it is about.
fn notice_of(notice: Notice) -> Option<Id> {
    match notice {
        Notice::Suspect(id) | Notice::Trust(id) => Some(id),
        Notice::Leader(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::{Majority, RicartAgrawala};
    use crate::process::{Effect, effects_of};
    use crate::setting::test_recovering;
    use alloc::vec;

    type Back = Rejoining<RicartAgrawala>;

    fn number(number: u64) -> Number {
        number.try_into().unwrap()
    }

    /// In its second life, with what the first has saved.
    fn newcomer(me: u32, n: u32, guard: bool, saved: u64) -> Back {
        let mut back = Back::new(&test_recovering(&RicartAgrawala::ENTRY, me, n, guard));
        assert_eq!(effects_of(me, &mut back, Event::Start { incarnation: 2, saved: Some(number(saved)) }), vec![]);
        back
    }

    fn welcome(highest: u64, is_new: bool, dead: &[u32]) -> Message<<RicartAgrawala as Process>::Message> {
        let dead = dead.iter().map(|&id| Id::new(id)).collect();
        Message::Welcome { highest: number(highest), is_new, dead }
    }

    fn hear(back: &mut Back, from: u32, message: Message<<RicartAgrawala as Process>::Message>) -> Vec<(u32, bool)> {
        greetings(back, Event::Receive { from: Id::new(from), message })
    }

    /// Whom it greets, and whether as a newcomer.
    fn greetings(back: &mut Back, event: Event<Back>) -> Vec<(u32, bool)> {
        let effects = effects_of(back.me.number(), back, event);
        let greetings = effects.iter().filter_map(|effect| match effect {
            Effect::Send { to, message: Message::Welcome { is_new, .. } } => Some((to.number(), *is_new)),
            _ => None,
        });
        greetings.collect()
    }

    fn suspect(id: u32) -> Event<Back> {
        Event::Notice(Notice::Suspect(Id::new(id)))
    }

    fn trust(id: u32) -> Event<Back> {
        Event::Notice(Notice::Trust(Id::new(id)))
    }

    /// After a power failure of all, what everybody has saved is all that is known.
    #[test]
    fn a_newcomer_greets_with_what_it_has_saved() {
        let mut first = newcomer(1, 2, false, 5 * 1024);
        let said = effects_of(1, &mut first, trust(2));
        assert_eq!(said, vec![Effect::Send { to: Id::new(2), message: welcome(5 * 1024, true, &[]) }]);
        let mut second = newcomer(2, 2, false, 1024);
        effects_of(2, &mut second, trust(1));
        hear(&mut second, 1, welcome(5 * 1024, true, &[]));
        assert!(second.newcomer.is_none() && second.stamp() >= number(5 * 1024));
    }

    #[test]
    fn who_is_back_from_the_dead_has_to_greet_again_and_is_greeted_by_who_was_not_told() {
        let mut first = newcomer(1, 3, false, 0);
        assert_eq!(hear(&mut first, 2, welcome(0, false, &[])), []);
        assert_eq!(greetings(&mut first, suspect(2)), []);
        assert_eq!(greetings(&mut first, trust(2)), [(2, true)]);
        hear(&mut first, 3, welcome(0, false, &[]));
        assert_eq!(first.awaited().map(|awaited| awaited.iter().collect()), Some(vec![Id::new(2)]));
        // Process 2 has come back after process 1 has, and is not told that that one has.
        let mut second = newcomer(2, 3, false, 0);
        assert_eq!(hear(&mut second, 1, welcome(0, true, &[])), [(1, true)]);
        assert_eq!(hear(&mut second, 1, welcome(0, true, &[])), []);
        hear(&mut first, 2, welcome(0, true, &[]));
        assert_eq!(first.awaited(), None);
    }

    /// A cut heals: process 1 hears of 3 first, which has been with 4 and 5 all the time. One of these may be inside.
    #[test]
    fn with_the_guard_a_newcomer_awaits_whoever_is_trusted_by_those_who_have_greeted_it() {
        let mut first = newcomer(1, 5, true, 0);
        for other in [3, 4, 5] {
            effects_of(1, &mut first, suspect(other));
        }
        hear(&mut first, 2, welcome(0, true, &[3, 4, 5]));
        assert!(first.awaited().is_some(), "two of five are no majority");
        assert_eq!(greetings(&mut first, trust(3)), [(3, true), (2, true)], "all are told whom it trusts");
        hear(&mut first, 3, welcome(0, false, &[]));
        assert!(first.awaited().is_some_and(IdSet::is_empty), "4 and 5 are trusted by 3");
        greetings(&mut first, trust(4));
        hear(&mut first, 4, welcome(0, false, &[]));
        assert!(first.awaited().is_some());
        // 5 has crashed, as 3 and 4 find out.
        hear(&mut first, 3, welcome(0, false, &[5]));
        hear(&mut first, 2, welcome(0, true, &[5]));
        assert!(first.awaited().is_some());
        hear(&mut first, 4, welcome(0, false, &[5]));
        assert_eq!(first.awaited(), None);
    }

    /// A voter that the guard has ended hears again of a candidate that it took for dead, and that is inside with its
    /// vote: what that one claims counts. One that is new itself claims nothing, and is not awaited.
    #[test]
    fn who_was_taken_for_dead_and_has_forgotten_nothing_still_claims_a_vote() {
        type Voter = Rejoining<Majority>;
        type Said = <Majority as Process>::Message;
        for (is_new, answer) in [(false, "refuse"), (true, "vote")] {
            let mut third = Voter::new(&test_recovering(&Majority::ENTRY, 3, 3, false));
            effects_of(3, &mut third, Event::Start { incarnation: 2, saved: None });
            effects_of(3, &mut third, Event::Notice(Notice::Suspect(Id::new(1))));
            effects_of(3, &mut third, Event::Notice(Notice::Trust(Id::new(1))));
            let mut hear = |from, message| {
                let effects = effects_of(3, &mut third, Event::Receive { from: Id::new(from), message });
                effects.into_iter().find_map(|effect| match effect {
                    Effect::Send { message, .. } => Some(process::Message::kind(&message)),
                    _ => None,
                })
            };
            let claim = |ballot| Message::Algorithm(Said::Claim { ballot, entries: Number::ZERO });
            let welcome = |is_new| Message::Welcome { highest: Number::ZERO, is_new, dead: vec![] };
            if !is_new {
                hear(1, claim(Some(Default::default())));
            }
            hear(1, welcome(is_new));
            hear(2, claim(None));
            hear(2, welcome(false));
            let ask = Message::Algorithm(Said::Ask { ballot: Default::default() });
            assert_eq!(hear(2, ask), Some(answer));
        }
    }
}
