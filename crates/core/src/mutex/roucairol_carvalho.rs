//! Roucairol and Carvalho: a permission once given lasts until its giver asks for it back.
//!
//! As in Ricart and Agrawala's algorithm a process needs everybody's permission. But it keeps a permission after it has
//! left, until the giver asks in its turn; so it asks only those whose permission it lacks. Between any two processes,
//! at most one has the other's permission. Who gives its permission to a request that precedes its own asks for it back
//! with the same timestamp.
//!
//! *Source*: O. S. F. Carvalho, G. Roucairol, "On mutual exclusion in computer networks", CACM 26(2), 1983. Here nobody
//! starts with anybody's permission.
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs** 0 to 2(n−1) messages a use: none for who enters again before anybody else has asked.
//!
//! **Safe**: of two processes, only the one that has the other's permission can be inside. **Live**: the smallest
//! request is put off by nobody. **Not in order** (ME3): who still has everybody's permission enters at once, whatever
//! requests it may have heard of.
//!
//! **Fence**: the clock at entry. It moves at every request and at every exit, and a reply carries it: who gets
//! a permission has seen a number larger than every entry of its giver.
//!
//! **Crashes**, if everybody is told of them: the permission of the dead is taken for granted. Of two of which one has
//! come back, neither has the other's. The dead may have entered alone, again and again, with numbers that nobody has
//! heard of: so whoever is told of a crash goes on in another era; and who comes to another one by entering again and
//! again asks everybody anew, once in some 30,000 entries. Fences grow over one crash, if clocks are less than an era
//! apart then: an application that makes its processes observe stamps can make them differ by more. Over a second one
//! they may not: who has heard of an era before it is told of the crash goes on in the one after that, and who dies
//! then may take that with it (`quorate replay roucairol-carvalho-two-crashes`).

use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Entry, Family, Measure, Property, Published, Recovery};
use crate::clock::{Fence, LamportClock, Number, Timestamp};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process};
use crate::setting::Setting;

/// A process of Roucairol and Carvalho's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoucairolCarvalho {
    me: Id,
    n: u32,
    clock: LamportClock,
    phase: Phase,
    /// Whose permission we lack. While we want to enter, all of them have been asked.
    missing: IdSet,
    /// Who is owed a reply when we have left.
    deferred: IdSet,
    /// Who is thought to have crashed.
    suspected: IdSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    Wanted { request: Timestamp },
    Held,
}

/// What processes say: *may I?* and *you may, until I ask back*.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// From who wants to enter, to those whose permission it lacks.
    Request {
        /// The request's number; with its sender, the timestamp.
        number: Number,
    },
    /// The sender's permission, to who asked for it.
    Reply {
        /// The highest number the sender has seen.
        highest: Number,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request { .. } => "request",
            Message::Reply { .. } => "reply",
        }
    }

    fn number(&self) -> Option<u64> {
        let (Message::Request { number } | Message::Reply { highest: number }) = self;
        Some(number.get())
    }
}

impl Mutex for RoucairolCarvalho {
    const ENTRY: Entry = Entry {
        summary: "like ricart-agrawala, but a permission stays valid until the process that gave it requests it back",
        paper: "O. S. F. Carvalho and G. Roucairol, \"On mutual exclusion in computer networks\", CACM 26(2), 1983",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        recovery: Some(Recovery {
            fenced_crashes: Some(1),
            ..Recovery::new("crashed processes count as having given their permission")
        }),
        published: &[
            Published::exactly(Measure::Messages, "Carvalho & Roucairol", "2(N−1)", |size| 2.0 * (size.n - 1.0)),
            Published::exactly(Measure::MessagesAgain, "Carvalho & Roucairol", "0", |_| 0.0),
        ],
        ..Entry::new("roucairol-carvalho", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        RoucairolCarvalho {
            me: setting.me,
            n: setting.n(),
            clock: LamportClock::default(),
            phase: Phase::Released,
            missing: IdSet::others(setting.me, setting.n()),
            deferred: IdSet::new(),
            suspected: IdSet::new(),
        }
    }

    fn stamp(&self) -> Number {
        self.clock.now()
    }

    fn saved_stamp(saved: &Number) -> Number {
        *saved
    }
}

impl Process for RoucairolCarvalho {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = Number;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        let (before, since) = (self.clock.now(), effects.len());
        match event {
            Event::Start { saved, .. } => return self.start(saved, effects),
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => self.trust(id, effects),
            Event::Notice(Notice::Leader(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Input(Input::Observe(number)) => self.clock.observe(number),
            Event::Receive { from, message: Message::Request { number } } => self.on_request(from, number, effects),
            Event::Receive { from, message: Message::Reply { highest } } => self.on_reply(from, highest, effects),
            Event::Timeout(never) => match never {},
        }
        if let Some(number) = self.clock.begun_since(before) {
            effects.save_before(since, number);
        }
    }
}

impl RoucairolCarvalho {
    fn start(&mut self, saved: Option<Number>, effects: &mut Effects<Self>) {
        self.clock = LamportClock::reborn(saved);
        effects.save(self.clock.end_of_block());
    }

    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        let request = Timestamp::new(self.clock.tick(), self.me);
        self.phase = Phase::Wanted { request };
        if self.clock.comes_unheard() {
            // Whoever survives us goes on after the last era that it has heard of. Of this one, all hear.
            self.missing = self.me.others(self.n).filter(|&other| !self.suspected.contains(other)).collect();
        }
        effects.multicast(self.missing.iter(), &Message::Request { number: request.number });
        self.enter_if_permitted(effects);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        self.clock.tick();
        effects.output(Output::Exited);
        for waiting in self.deferred.take().iter() {
            self.permit(waiting, effects);
        }
    }

    fn on_request(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.clock.observe(number);
        match self.phase {
            Phase::Released => self.permit(from, effects),
            Phase::Wanted { request } if Timestamp::new(number, from) < request => {
                let had_its_permission = !self.missing.contains(from);
                self.permit(from, effects);
                if had_its_permission {
                    effects.send(from, Message::Request { number: request.number });
                }
            }
            Phase::Wanted { .. } | Phase::Held => {
                if !self.deferred.insert(from) {
                    effects.unexpected(from, "a second request before the first was answered");
                }
            }
        }
    }

    fn on_reply(&mut self, from: Id, highest: Number, effects: &mut Effects<Self>) {
        self.clock.observe(highest);
        match self.phase {
            Phase::Wanted { .. } if self.missing.remove(from) => self.enter_if_permitted(effects),
            Phase::Released | Phase::Wanted { .. } | Phase::Held => {
                effects.unexpected(from, "a permission without a request");
            }
        }
    }

    /// It has crashed: its permission is taken for granted. It may have entered alone, again and again, with numbers
    /// that nobody has heard of.
    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.deferred.remove(id);
        self.suspected.insert(id);
        self.clock.begin_era();
        let lacked = self.missing.remove(id);
        if let (true, Phase::Wanted { .. }) = (lacked, &self.phase) {
            self.enter_if_permitted(effects);
        }
    }

    /// It lives, and has forgotten what it has permitted: neither has the other's permission.
    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.remove(id);
        self.missing.insert(id);
        if let Phase::Wanted { request } = self.phase {
            effects.send(id, Message::Request { number: request.number });
        }
    }

    /// Gives our permission away, and with it the other's, which it has to ask back from us no more.
    fn permit(&mut self, to: Id, effects: &mut Effects<Self>) {
        self.missing.insert(to);
        effects.send(to, Message::Reply { highest: self.clock.now() });
    }

    fn enter_if_permitted(&mut self, effects: &mut Effects<Self>) {
        if self.missing.is_empty() {
            self.phase = Phase::Held;
            let entry = Timestamp::new(self.clock.now(), self.me);
            effects.output(Output::Entered { fence: Fence::stamped(entry) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    const ENTER: Event<RoucairolCarvalho> = Event::Input(Input::Enter);
    const EXIT: Event<RoucairolCarvalho> = Event::Input(Input::Exit);
    const EXITED: EffectOf<RoucairolCarvalho> = Effect::Output(Output::Exited);

    fn process(me: u32, n: u32) -> RoucairolCarvalho {
        RoucairolCarvalho::new(&test_setting(&RoucairolCarvalho::ENTRY, me, n, &[]))
    }

    /// Process 1 of 3 after a first use: its clock shows 2, and it has everybody's permission.
    fn permitted() -> RoucairolCarvalho {
        let mut first = process(1, 3);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(1)), send(3, request(1))]);
        assert_eq!(effects_of(1, &mut first, from(3, reply(1))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(1))), vec![entered(1, 1)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED]);
        first
    }

    fn number(number: u64) -> Number {
        number.try_into().unwrap()
    }

    fn request(at: u64) -> Message {
        Message::Request { number: number(at) }
    }

    fn reply(highest: u64) -> Message {
        Message::Reply { highest: number(highest) }
    }

    fn from(id: u32, message: Message) -> Event<RoucairolCarvalho> {
        Event::Receive { from: Id::new(id), message }
    }

    fn send(to: u32, message: Message) -> EffectOf<RoucairolCarvalho> {
        Effect::Send { to: Id::new(to), message }
    }

    fn entered(at: u64, id: u32) -> EffectOf<RoucairolCarvalho> {
        Effect::Output(Output::Entered { fence: Fence::stamped(Timestamp::new(number(at), Id::new(id))) })
    }

    #[test]
    fn the_second_entry_alone_costs_nothing_and_its_fence_is_larger() {
        let mut first = permitted();
        assert_eq!(effects_of(1, &mut first, ENTER), vec![entered(3, 1)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED]);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![entered(5, 1)]);
    }

    /// Process 3 has crashed. Whoever survives process 1 as well knows the last era in which it has entered.
    #[test]
    fn who_comes_to_another_era_by_entering_alone_asks_everybody_who_lives() {
        let mut first = permitted();
        effects_of(1, &mut first, Event::Notice(Notice::Suspect(Id::new(3))));
        let era = LamportClock::ERA;
        assert_eq!(effects_of(1, &mut first, ENTER).pop(), Some(entered(era + 2, 1)), "nobody is asked");
        effects_of(1, &mut first, EXIT);
        effects_of(1, &mut first, Event::Input(Input::Observe(number(2 * era - 2))));
        assert_eq!(effects_of(1, &mut first, ENTER).pop(), Some(entered(2 * era - 1, 1)));
        effects_of(1, &mut first, EXIT);
        assert_eq!(effects_of(1, &mut first, ENTER).pop(), Some(send(2, request(2 * era + 1))));
        assert_eq!(effects_of(1, &mut first, from(2, reply(2 * era + 1))).pop(), Some(entered(2 * era + 1, 1)));
        effects_of(1, &mut first, EXIT);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![entered(2 * era + 3, 1)]);
    }

    #[test]
    fn it_asks_only_those_whose_permission_it_lacks() {
        let mut first = permitted();
        assert_eq!(effects_of(1, &mut first, from(3, request(2))), vec![send(3, reply(2))]);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(3, request(3))]);
        assert_eq!(effects_of(1, &mut first, from(3, reply(9))), vec![entered(9, 1)]);
    }

    #[test]
    fn giving_a_permission_up_while_waiting_asks_for_it_back_with_the_same_timestamp() {
        let mut first = permitted();
        effects_of(1, &mut first, from(3, request(2)));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(3, request(3))]);
        // The second process asked before it knew anything of this request.
        assert_eq!(effects_of(1, &mut first, from(2, request(1))), vec![send(2, reply(3)), send(2, request(3))]);
        assert_eq!(effects_of(1, &mut first, from(3, reply(3))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(5))), vec![entered(5, 1)]);
    }

    #[test]
    fn a_permission_that_was_asked_for_already_is_not_asked_for_twice() {
        let (mut first, mut second) = (process(1, 2), process(2, 2));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(1))]);
        assert_eq!(effects_of(2, &mut second, ENTER), vec![send(1, request(1))]);
        // Both ask with the same number: the smaller id goes first.
        assert_eq!(effects_of(2, &mut second, from(1, request(1))), vec![send(1, reply(1))]);
        assert_eq!(effects_of(1, &mut first, from(2, request(1))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(1))), vec![entered(1, 1)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, reply(2))]);
        assert_eq!(effects_of(2, &mut second, from(1, reply(2))), vec![entered(2, 2)]);
    }

    #[test]
    fn a_later_request_waits_even_if_it_overtakes_the_permission_of_its_sender() {
        let mut first = process(1, 2);
        effects_of(1, &mut first, ENTER);
        assert_eq!(effects_of(1, &mut first, from(2, request(2))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(1))), vec![entered(2, 1)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, reply(3))]);
        // With the reply the permission of the other is gone as well.
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(4))]);
    }

    #[test]
    fn who_gets_a_permission_has_seen_a_number_larger_than_every_entry_of_its_giver() {
        let (mut first, mut second) = (permitted(), process(2, 2));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![entered(3, 1)]);
        assert_eq!(effects_of(2, &mut second, ENTER), vec![send(1, request(1))]);
        // Who is inside does not answer, not even to a smaller request.
        assert_eq!(effects_of(1, &mut first, from(2, request(1))), vec![]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, reply(4))]);
        assert_eq!(effects_of(2, &mut second, from(1, reply(4))), vec![entered(4, 2)]);
    }

    #[test]
    fn misuse_and_what_peers_should_not_send_change_nothing() {
        let check = |process: &mut RoucairolCarvalho, event| {
            let before = process.clone();
            let effects = effects_of(1, process, event);
            assert!(matches!(effects[..], [Effect::Unexpected { .. }]), "{effects:?}");
            assert_eq!(process, &before);
        };
        let mut first = process(1, 3);
        check(&mut first, EXIT);
        // A permission that was not asked for must not be kept: its giver may have none to give.
        check(&mut first, from(2, reply(0)));
        effects_of(1, &mut first, ENTER);
        check(&mut first, ENTER);
        check(&mut first, EXIT);
        effects_of(1, &mut first, from(2, reply(1)));
        check(&mut first, from(2, reply(1)));
        effects_of(1, &mut first, from(3, reply(1)));
        assert_eq!(first.phase, Phase::Held);
        check(&mut first, ENTER);
        check(&mut first, from(3, reply(1)));
        effects_of(1, &mut first, from(2, request(1)));
        check(&mut first, from(2, request(1)));
    }

    #[test]
    fn one_process_alone_enters_without_a_message_with_growing_fences() {
        let mut only = process(1, 1);
        for at in [1, 3, 5] {
            assert_eq!(effects_of(1, &mut only, ENTER), vec![entered(at, 1)]);
            assert_eq!(effects_of(1, &mut only, EXIT), vec![EXITED]);
        }
    }
}
