//! Lamport: everybody keeps the same queue of requests, ordered by timestamp, and the first of it enters.
//!
//! To enter, a process timestamps its request, puts it into its own queue and sends it to everybody. Who gets a request
//! puts it into its queue and replies. A process enters when its request is the first in its own queue and everybody
//! has been heard to be past its time. When it leaves, it sends everybody a release, and everybody drops the request.
//!
//! *Source*: L. Lamport, "Time, clocks, and the ordering of events in a distributed system", CACM 21(7), 1978.
//!
//! **Assumes** that every message arrives once, that between two processes messages arrive **in order**, and that
//! nobody crashes.
//!
//! **Costs** 3(n−1) messages a use: requests, replies, releases. An entry waits for a round trip; from an exit to the
//! next entry it takes one message.
//!
//! **Safe**: who has been heard to be past a request's time makes only larger requests from then on, and its smaller
//! ones, sent before on the same channel, are in the queue already: this is where the order of messages is needed. So
//! of two that want to enter, the one with the larger timestamp has the other's in its queue until the other has left.
//! **Live**: the smallest request is the first everywhere. **In order** (ME3): every message carries the highest number
//! its sender has seen, so a request that happened after another is larger.
//!
//! **Crashes**, if everybody is told of them: the request of the dead is dropped, and nobody waits for it. Who comes
//! back has an empty queue, so whoever waits or is inside tells it its request again.
//!
//! **Fence**: the request's own timestamp; entries follow timestamps, over any number of crashes: a request enters
//! after all the living have seen it, and who comes back goes on with numbers larger than any it has used.

use alloc::collections::BTreeSet;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Assumptions, Entry, Family, Measure, Property, Published, Recovery};
use crate::clock::{Fence, LamportClock, Number, Timestamp};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process};
use crate::setting::Setting;

/// A process of Lamport's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lamport {
    me: Id,
    n: u32,
    clock: LamportClock,
    /// The requests of the others.
    queue: BTreeSet<Timestamp>,
    phase: Phase,
    /// Who is told nothing, and waited for no more.
    suspected: IdSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    /// Waiting until we are first, and until everybody in `behind` has been heard to be past our time.
    Wanted {
        request: Timestamp,
        behind: IdSet,
    },
    Held {
        request: Timestamp,
    },
}

/// What processes say; each message carries the highest number its sender has seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// From who wants to enter, to everybody.
    Request {
        /// The request's number; with its sender, the timestamp.
        number: Number,
    },
    /// To who asked: I have your request in my queue.
    Reply {
        /// The sender's clock.
        number: Number,
    },
    /// From who has left, to everybody.
    Release {
        /// The sender's clock.
        number: Number,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request { .. } => "request",
            Message::Reply { .. } => "reply",
            Message::Release { .. } => "release",
        }
    }

    fn number(&self) -> Option<u64> {
        let (Message::Request { number } | Message::Reply { number } | Message::Release { number }) = self;
        Some(number.get())
    }
}

impl Mutex for Lamport {
    const ENTRY: Entry = Entry {
        summary: "every process keeps the same queue of requests, ordered by timestamp, and the first of the queue \
                  enters",
        paper: "L. Lamport, \"Time, clocks, and the ordering of events in a distributed system\", CACM 21(7), 1978",
        assumptions: Assumptions { fifo: true, ..Assumptions::RELIABLE },
        promises: &[Property::MutualExclusion, Property::Progress, Property::RequestOrder, Property::Fencing],
        recovery: Some(Recovery::new(
            "the requests of crashed processes are dropped, and no process waits for their messages",
        )),
        published: &[
            Published::exactly(Measure::Messages, "E", "3(N−1)", |size| 3.0 * (size.n - 1.0)),
            Published::exactly(Measure::ClientDelay, "E", "2", |_| 2.0),
            Published::exactly(Measure::SyncDelay, "E", "1", |_| 1.0),
        ],
        ..Entry::new("lamport", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        Lamport {
            me: setting.me,
            n: setting.n(),
            clock: LamportClock::default(),
            queue: BTreeSet::new(),
            phase: Phase::Released,
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

impl Process for Lamport {
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
            Event::Receive { from, message: Message::Reply { number } } => self.on_reply(from, number, effects),
            Event::Receive { from, message: Message::Release { number } } => self.on_release(from, number, effects),
            Event::Timeout(never) => match never {},
        }
        if let Some(number) = self.clock.begun_since(before) {
            effects.save_before(since, number);
        }
    }
}

impl Lamport {
    fn start(&mut self, saved: Option<Number>, effects: &mut Effects<Self>) {
        self.clock = LamportClock::reborn(saved);
        effects.save(self.clock.end_of_block());
    }

    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        let request = Timestamp::new(self.clock.tick(), self.me);
        let asked: IdSet = self.living().collect();
        effects.multicast(asked.iter(), &Message::Request { number: request.number });
        self.phase = Phase::Wanted { request, behind: asked };
        self.enter_if_first(effects);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { .. } = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        effects.output(Output::Exited);
        let number = self.clock.tick();
        effects.multicast(self.living(), &Message::Release { number });
    }

    fn on_request(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.hear(from, number);
        if !self.queue.insert(Timestamp::new(number, from)) {
            return effects.unexpected(from, "the same request again");
        }
        effects.send(from, Message::Reply { number: self.clock.now() });
        self.enter_if_first(effects);
    }

    fn on_reply(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.hear(from, number);
        self.enter_if_first(effects);
    }

    fn on_release(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.hear(from, number);
        // Where channels keep the order, who leaves is the first of the queue: this looks at one request.
        match self.queue.iter().copied().find(|request| request.id == from) {
            Some(request) => {
                self.queue.remove(&request);
            }
            None => effects.unexpected(from, "a release without a request"),
        }
        self.enter_if_first(effects);
    }

    /// It has crashed: its request is dropped, and it is waited for no more.
    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.insert(id);
        self.queue.retain(|request| request.id != id);
        if let Phase::Wanted { behind, .. } = &mut self.phase {
            behind.remove(id);
        }
        self.enter_if_first(effects);
    }

    /// It lives, and its queue is empty: what is in it by right is put there again.
    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.remove(id);
        match &mut self.phase {
            Phase::Released => {}
            Phase::Wanted { request, behind } => {
                behind.insert(id);
                effects.send(id, Message::Request { number: request.number });
            }
            Phase::Held { request } => effects.send(id, Message::Request { number: request.number }),
        }
    }

    /// All others who are not suspected.
    fn living(&self) -> impl Iterator<Item = Id> + '_ {
        self.me.others(self.n).filter(|&other| !self.suspected.contains(other))
    }

    /// Who shows our request's number or a higher one will make only larger requests.
    fn hear(&mut self, from: Id, number: Number) {
        self.clock.observe(number);
        if let Phase::Wanted { request, behind } = &mut self.phase
            && number >= request.number
        {
            behind.remove(from);
        }
    }

    fn enter_if_first(&mut self, effects: &mut Effects<Self>) {
        if let Phase::Wanted { request, ref behind } = self.phase
            && behind.is_empty()
            && self.queue.first().is_none_or(|&first| request < first)
        {
            self.phase = Phase::Held { request };
            effects.output(Output::Entered { fence: Fence::stamped(request) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    const ENTER: Event<Lamport> = Event::Input(Input::Enter);
    const EXIT: Event<Lamport> = Event::Input(Input::Exit);
    const EXITED: EffectOf<Lamport> = Effect::Output(Output::Exited);

    fn process(me: u32, n: u32) -> Lamport {
        Lamport::new(&test_setting(&Lamport::ENTRY, me, n, &[]))
    }

    fn number(number: u64) -> Number {
        number.try_into().unwrap()
    }

    fn request(at: u64) -> Message {
        Message::Request { number: number(at) }
    }

    fn reply(at: u64) -> Message {
        Message::Reply { number: number(at) }
    }

    fn release(at: u64) -> Message {
        Message::Release { number: number(at) }
    }

    fn from(id: u32, message: Message) -> Event<Lamport> {
        Event::Receive { from: Id::new(id), message }
    }

    fn send(to: u32, message: Message) -> EffectOf<Lamport> {
        Effect::Send { to: Id::new(to), message }
    }

    fn entered(at: u64, id: u32) -> EffectOf<Lamport> {
        Effect::Output(Output::Entered { fence: Fence::stamped(Timestamp::new(number(at), Id::new(id))) })
    }

    #[test]
    fn alone_it_asks_everybody_waits_for_all_replies_and_tells_everybody_that_it_left() {
        let mut first = process(1, 3);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(1)), send(3, request(1))]);
        assert_eq!(effects_of(2, &mut process(2, 3), from(1, request(1))), vec![send(1, reply(1))]);
        assert_eq!(effects_of(1, &mut first, from(3, reply(1))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(1))), vec![entered(1, 1)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, release(2)), send(3, release(2))]);
    }

    /// L7: requests (1, p1) and (1, p2) at once: p1 enters, then p2.
    #[test]
    fn of_two_requests_with_the_same_number_the_smaller_id_is_first() {
        let (mut first, mut second) = (process(1, 2), process(2, 2));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(1))]);
        assert_eq!(effects_of(2, &mut second, ENTER), vec![send(1, request(1))]);
        assert_eq!(effects_of(1, &mut first, from(2, request(1))), vec![send(2, reply(1)), entered(1, 1)]);
        assert_eq!(effects_of(2, &mut second, from(1, request(1))), vec![send(1, reply(1))]);
        assert_eq!(effects_of(2, &mut second, from(1, reply(1))), vec![]);
        // The reply to a request that is being served already is no surprise.
        assert_eq!(effects_of(1, &mut first, from(2, reply(1))), vec![]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, release(2))]);
        assert_eq!(effects_of(2, &mut second, from(1, release(2))), vec![entered(1, 2)]);
    }

    #[test]
    fn a_larger_request_is_as_good_as_a_reply_and_a_smaller_number_is_not() {
        let mut first = process(1, 2);
        effects_of(1, &mut first, Event::Input(Input::Observe(number(4))));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(5))]);
        let mut other = first.clone();
        assert_eq!(effects_of(1, &mut first, from(2, reply(4))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(5))), vec![entered(5, 1)]);
        assert_eq!(effects_of(1, &mut other, from(2, request(6))), vec![send(2, reply(6)), entered(5, 1)]);
    }

    #[test]
    fn it_waits_for_the_release_of_a_smaller_request_even_if_everybody_has_replied() {
        let mut third = process(3, 3);
        effects_of(3, &mut third, from(2, request(1)));
        assert_eq!(effects_of(3, &mut third, ENTER), vec![send(1, request(2)), send(2, request(2))]);
        assert_eq!(effects_of(3, &mut third, from(1, reply(2))), vec![]);
        assert_eq!(effects_of(3, &mut third, from(2, reply(2))), vec![]);
        assert_eq!(effects_of(3, &mut third, from(2, release(3))), vec![entered(2, 3)]);
    }

    #[test]
    fn every_message_carries_the_highest_number_its_sender_has_seen() {
        let mut first = process(1, 2);
        effects_of(1, &mut first, Event::Input(Input::Observe(number(40))));
        assert_eq!(effects_of(1, &mut first, from(2, request(3))), vec![send(2, reply(40))]);
        effects_of(1, &mut first, from(2, release(50)));
        assert_eq!(first.stamp(), number(50));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(51))]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(60))), vec![entered(51, 1)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, release(61))]);
    }

    /// L2: where a reply can overtake a request, both are inside.
    #[test]
    fn messages_out_of_order_let_two_in() {
        let (mut first, mut second) = (process(1, 2), process(2, 2));
        effects_of(1, &mut first, ENTER);
        effects_of(2, &mut second, ENTER);
        assert_eq!(effects_of(1, &mut first, from(2, request(1))), vec![send(2, reply(1)), entered(1, 1)]);
        assert_eq!(effects_of(2, &mut second, from(1, reply(1))), vec![entered(1, 2)]);
    }

    #[test]
    fn misuse_and_what_peers_should_not_send_change_nothing() {
        let mut first = process(1, 2);
        let check = |process: &mut Lamport, event| {
            let before = process.clone();
            let effects = effects_of(1, process, event);
            assert!(matches!(effects[..], [Effect::Unexpected { .. }]), "{effects:?}");
            assert_eq!(process, &before);
        };
        check(&mut first, EXIT);
        check(&mut first, from(2, release(0)));
        effects_of(1, &mut first, from(2, request(1)));
        check(&mut first, from(2, request(1)));
        effects_of(1, &mut first, ENTER);
        check(&mut first, ENTER);
        check(&mut first, EXIT);
        effects_of(1, &mut first, from(2, release(5)));
        assert!(matches!(first.phase, Phase::Held { .. }));
        check(&mut first, ENTER);
        check(&mut first, from(2, release(5)));
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
