//! Ricart and Agrawala: ask everybody, enter when everybody has answered; who is ahead of you answers when it has left.
//!
//! To enter, a process takes the next number of its Lamport clock and sends a request to everybody else. Who neither
//! wants to enter nor is inside answers at once. Who is inside, or wants to enter with a smaller timestamp, puts the
//! answer off until it has left. With an answer from everybody, the process enters.
//!
//! *Source*: G. Ricart, A. K. Agrawala, "An optimal algorithm for mutual exclusion in computer networks", CACM 24(1),
//! 1981.
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs** 2(n−1) messages a use: n−1 requests and n−1 replies. An entry waits for a round trip; from an exit to the
//! next entry it takes one message.
//!
//! **Safe**: of two that want to enter, the one with the larger timestamp needs the other's reply. If the other had
//! not asked yet when it replied, its later request is larger, for it has seen this one; otherwise it replies only
//! after it has left. **Live**: timestamps are totally ordered, so the smallest request is put off by nobody. **In
//! order** (ME3): every message carries the highest number its sender has seen, and so does an application's stamp, so
//! a request that happened after another has a larger number. (The paper's replies are bare: `replies=bare`. Then a
//! request can overtake one that happened before it. The prose of "Distributed Algorithms Part II" lets the later of
//! two requests go first, against its own pseudocode: `first=later`. Then two can be inside.)
//!
//! **Crashes**, if everybody is told of them: the dead are taken to have granted everything, and asked no more. Who
//! comes back has forgotten what it was asked, so whoever waits asks it again. Not told of them, but where messages
//! take no longer than a known time, `answer=always` tells the dead from those who do not grant yet; how is in
//! `answers.rs`.
//!
//! **Fence**: the request's own timestamp. Everybody who granted it has seen it, so every later request is larger, and
//! entries follow timestamps, over any number of crashes: a request enters after all the living have seen it, and who
//! comes back goes on with numbers larger than any it has used.

mod answers;
mod line;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Assumptions, Choice, Entry, Family, Measure, OptionSpec, Property, Published, Recovery, Values};
use crate::clock::{Fence, LamportClock, Number, Timestamp};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process};
use crate::setting::Setting;
use answers::Answers;
use line::Line;

/// A process of Ricart and Agrawala's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    me: Id,
    n: u32,
    /// Whether replies carry no number, as in the paper.
    bare: bool,
    /// Whether a later request than one\'s own is let go first.
    later_first: bool,
    clock: LamportClock,
    phase: Phase,
    /// Who is owed a reply when we have left.
    deferred: Line,
    /// Who is taken to have granted everything.
    suspected: IdSet,
    /// What is known of requests and answers, where every request is answered at once.
    answers: Option<Answers>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    Wanted { request: Timestamp, missing: IdSet },
    Held { request: Timestamp },
}

/// Why a process wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// All who live have answered by now.
    Answers,
}

/// What processes say: *may I?* and *you may*; and *not yet*, where every request is answered at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// From who wants to enter, to everybody.
    Request {
        /// The request's number; with its sender, the timestamp.
        number: Number,
    },
    /// To who asked, from who lets it go first.
    Reply {
        /// The highest number the sender has seen; none in the paper.
        highest: Option<Number>,
    },
    /// A reply that names the request, which can be asked more than once.
    Granted {
        /// The highest number the sender has seen; none in the paper.
        highest: Option<Number>,
        /// The number of the request.
        answers: Number,
    },
    /// To who asked, from who goes first and lives.
    Denied {
        /// The highest number the sender has seen; none in the paper.
        highest: Option<Number>,
        /// The number of the request.
        answers: Number,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request { .. } => "request",
            Message::Reply { .. } | Message::Granted { .. } => "reply",
            Message::Denied { .. } => "denied",
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Request { number } => Some(number.get()),
            Message::Reply { highest } | Message::Granted { highest, .. } | Message::Denied { highest, .. } => {
                highest.map(Number::get)
            }
        }
    }
}

impl Mutex for RicartAgrawala {
    const ENTRY: Entry = Entry {
        summary: "a process needs a reply from all others; those that are inside or have an earlier request reply \
                  after their exit",
        paper: "G. Ricart and A. K. Agrawala, \"An optimal algorithm for mutual exclusion in computer networks\", \
                CACM 24(1), 1981",
        promises: &[Property::MutualExclusion, Property::Progress, Property::RequestOrder, Property::Fencing],
        recovery: Some(Recovery::new("crashed processes count as having granted every request")),
        published: &[
            Published::exactly(Measure::Messages, "A, D, E", "2(N−1)", |size| 2.0 * (size.n - 1.0)),
            Published::exactly(Measure::Messages, "B", "2N−1", |size| 2.0 * size.n - 1.0),
            Published::between(Measure::MessagesToExit, "C", "0 to N−1", |_| 0.0, |size| size.n - 1.0),
            Published::exactly(Measure::ClientDelay, "A, B, E", "2", |_| 2.0),
            Published::exactly(Measure::MessagesToExit, "B", "0", |_| 0.0),
            Published::exactly(Measure::ExitDelay, "A", "2", |_| 2.0),
            Published::exactly(Measure::ExitDelay, "B", "0.5", |_| 0.5),
            Published::exactly(Measure::SyncDelay, "A, B, E", "1", |_| 1.0),
        ],
        options: &[
            OptionSpec {
                key: "replies",
                values: Values::OneOf(&[
                    Choice::plain("numbered"),
                    Choice { forfeits: &[Property::RequestOrder], ..Choice::plain("bare") },
                ]),
                default: "numbered",
                meaning: "`numbered`: a reply carries the highest number that its sender has seen. `bare`: a reply \
                          carries no number, as in the paper",
            },
            OptionSpec {
                key: "first",
                values: Values::OneOf(&[
                    Choice::plain("earlier"),
                    Choice {
                        forfeits: &[
                            Property::MutualExclusion,
                            Property::Progress,
                            Property::RequestOrder,
                            Property::Fencing,
                        ],
                        ..Choice::plain("later")
                    },
                ]),
                default: "earlier",
                meaning: "which of two requests is granted first; `later`, as in the text of lecture C, violates \
                          mutual exclusion",
            },
            OptionSpec {
                key: "answer",
                values: Values::OneOf(&[
                    Choice::plain("grant"),
                    Choice {
                        assumes: Some(Assumptions { synchronous: true, ..Assumptions::RELIABLE }),
                        ..Choice::plain("once")
                    },
                    Choice {
                        assumes: Some(Assumptions { synchronous: true, crash_free: false, ..Assumptions::RELIABLE }),
                        ..Choice::plain("always")
                    },
                ]),
                default: "grant",
                meaning: "`grant`: a process replies only to grant a request. `once` and `always`: it also sends \
                          denials, and a process that does not answer is suspected; a request is repeated until any \
                          answer arrives (`once`) or until it is granted (`always`)",
            },
        ],
        ..Entry::new("ricart-agrawala", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        RicartAgrawala {
            me: setting.me,
            n: setting.n(),
            bare: setting.group.options.choice("replies") == "bare",
            later_first: setting.group.options.choice("first") == "later",
            clock: LamportClock::default(),
            phase: Phase::Released,
            deferred: Line::default(),
            suspected: IdSet::new(),
            answers: Answers::new(setting),
        }
    }

    fn stamp(&self) -> Number {
        self.clock.now()
    }

    fn saved_stamp(saved: &Number) -> Number {
        *saved
    }
}

impl Process for RicartAgrawala {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Timer;
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
            Event::Receive { from, message: Message::Reply { highest } } => {
                self.on_reply(from, highest, None, effects);
            }
            Event::Receive { from, message: Message::Granted { highest, answers } } => {
                self.on_reply(from, highest, Some(answers), effects);
            }
            Event::Receive { from, message: Message::Denied { highest, answers } } => {
                self.on_denied(from, highest, answers, effects);
            }
            Event::Timeout(Timer::Answers) => self.on_answers_late(effects),
        }
        if let Some(number) = self.clock.begun_since(before) {
            effects.save_before(since, number);
        }
    }
}

impl RicartAgrawala {
    fn start(&mut self, saved: Option<Number>, effects: &mut Effects<Self>) {
        self.clock = LamportClock::reborn(saved);
        effects.save(self.clock.end_of_block());
    }

    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        let request = Timestamp::new(self.clock.tick(), self.me);
        let asked: IdSet = self.me.others(self.n).filter(|&other| !self.suspected.contains(other)).collect();
        effects.multicast(asked.iter(), &Message::Request { number: request.number });
        self.await_answers(&asked, effects);
        self.phase = Phase::Wanted { request, missing: asked };
        self.enter_if_granted(effects);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { .. } = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        effects.output(Output::Exited);
        let line = self.deferred.take();
        for &Timestamp { id, .. } in &line {
            effects.send(id, self.reply(id));
        }
        self.deferred.reuse(line);
    }

    fn on_request(&mut self, from: Id, number: Number, effects: &mut Effects<Self>) {
        self.clock.observe(number);
        if self.is_outdated(from, number) {
            return;
        }
        let ahead = match self.phase {
            Phase::Released => false,
            Phase::Wanted { request, .. } => (request < Timestamp::new(number, from)) != self.later_first,
            Phase::Held { .. } => true,
        };
        if !ahead {
            effects.send(from, self.reply(from));
        } else if !self.deferred.insert(Timestamp::new(number, from)) && self.answers.is_none() {
            effects.unexpected(from, "a second request before the first was answered");
        } else {
            self.deny(from, number, effects);
        }
    }

    fn on_reply(&mut self, from: Id, highest: Option<Number>, answers: Option<Number>, effects: &mut Effects<Self>) {
        self.clock.observe(highest.unwrap_or_default());
        self.heard(from, answers);
        let awaited = match &mut self.phase {
            Phase::Wanted { request, missing } if self.answers.is_none() || answers == Some(request.number) => {
                missing.remove(from)
            }
            Phase::Released | Phase::Wanted { .. } | Phase::Held { .. } => false,
        };
        if awaited {
            self.enter_if_granted(effects);
        } else if self.answers.is_none() {
            effects.unexpected(from, "a reply without a request");
        }
    }

    fn enter_if_granted(&mut self, effects: &mut Effects<Self>) {
        if let Phase::Wanted { request, ref missing } = self.phase
            && missing.is_empty()
        {
            self.phase = Phase::Held { request };
            self.await_no_more(effects);
            effects.output(Output::Entered { fence: Fence::stamped(request) });
        }
    }

    /// It has crashed: it lets everybody go first, and wants nothing any more.
    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.insert(id);
        self.deferred.remove(id);
        if let Phase::Wanted { missing, .. } = &mut self.phase
            && missing.remove(id)
        {
            self.enter_if_granted(effects);
        }
    }

    /// It lives, and has forgotten what it was asked and what it has granted: it is asked again.
    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.remove(id);
        if let Phase::Wanted { request, missing } = &mut self.phase {
            missing.insert(id);
            effects.send(id, Message::Request { number: request.number });
        }
    }

    fn reply(&self, to: Id) -> Message {
        let highest = self.highest();
        match self.last_request_of(to) {
            None => Message::Reply { highest },
            Some(answers) => Message::Granted { highest, answers },
        }
    }

    /// What messages tell of the clock.
    fn highest(&self) -> Option<Number> {
        (!self.bare).then(|| self.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    const ENTER: Event<RicartAgrawala> = Event::Input(Input::Enter);
    const EXIT: Event<RicartAgrawala> = Event::Input(Input::Exit);
    const EXITED: EffectOf<RicartAgrawala> = Effect::Output(Output::Exited);

    fn process(me: u32, n: u32) -> RicartAgrawala {
        RicartAgrawala::new(&test_setting(&RicartAgrawala::ENTRY, me, n, &[]))
    }

    /// A process whose clock shows this.
    fn process_at(me: u32, n: u32, clock: u64) -> RicartAgrawala {
        let mut process = process(me, n);
        assert_eq!(effects_of(me, &mut process, Event::Input(Input::Observe(number(clock)))), vec![]);
        process
    }

    fn number(number: u64) -> Number {
        number.try_into().unwrap()
    }

    fn request(at: u64) -> Message {
        Message::Request { number: number(at) }
    }

    fn reply(highest: u64) -> Message {
        Message::Reply { highest: Some(number(highest)) }
    }

    fn from(id: u32, message: Message) -> Event<RicartAgrawala> {
        Event::Receive { from: Id::new(id), message }
    }

    fn send(to: u32, message: Message) -> EffectOf<RicartAgrawala> {
        Effect::Send { to: Id::new(to), message }
    }

    fn entered(at: u64, id: u32) -> EffectOf<RicartAgrawala> {
        Effect::Output(Output::Entered { fence: Fence::stamped(Timestamp::new(number(at), Id::new(id))) })
    }

    /// R10: p1 asks at 41, p2 at 34, p3 does not ask: p2 enters first, then p1.
    #[test]
    fn the_smaller_number_enters_first_and_answers_when_it_has_left() {
        let (mut first, mut second, mut third) = (process_at(1, 3, 40), process_at(2, 3, 33), process(3, 3));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(41)), send(3, request(41))]);
        assert_eq!(effects_of(2, &mut second, ENTER), vec![send(1, request(34)), send(3, request(34))]);
        assert_eq!(effects_of(3, &mut third, from(1, request(41))), vec![send(1, reply(41))]);
        assert_eq!(effects_of(3, &mut third, from(2, request(34))), vec![send(2, reply(41))]);
        assert_eq!(effects_of(1, &mut first, from(2, request(34))), vec![send(2, reply(41))]);
        assert_eq!(effects_of(2, &mut second, from(1, request(41))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(3, reply(41))), vec![]);
        assert_eq!(effects_of(2, &mut second, from(3, reply(41))), vec![]);
        assert_eq!(effects_of(2, &mut second, from(1, reply(41))), vec![entered(34, 2)]);
        assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED, send(1, reply(41))]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(41))), vec![entered(41, 1)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED]);
    }

    #[test]
    fn who_enters_next_is_answered_first() {
        let mut process = process(1, 4);
        effects_of(1, &mut process, ENTER);
        for id in 2..=4 {
            effects_of(1, &mut process, from(id, reply(1)));
        }
        for (id, at) in [(2, 7), (3, 9), (4, 5)] {
            assert_eq!(effects_of(1, &mut process, from(id, request(at))), vec![]);
        }
        let expected = vec![EXITED, send(4, reply(9)), send(2, reply(9)), send(3, reply(9))];
        assert_eq!(effects_of(1, &mut process, EXIT), expected);
    }

    #[test]
    fn of_two_requests_with_the_same_number_the_smaller_id_is_first() {
        let (mut first, mut second) = (process(1, 2), process(2, 2));
        effects_of(1, &mut first, ENTER);
        effects_of(2, &mut second, ENTER);
        assert_eq!(effects_of(1, &mut first, from(2, request(1))), vec![]);
        assert_eq!(effects_of(2, &mut second, from(1, request(1))), vec![send(1, reply(1))]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(1))), vec![entered(1, 1)]);
    }

    #[test]
    fn who_is_inside_puts_all_answers_off_whatever_their_numbers_and_forgets_them_then() {
        let mut first = process_at(1, 3, 8);
        effects_of(1, &mut first, ENTER);
        effects_of(1, &mut first, from(2, reply(9)));
        assert_eq!(effects_of(1, &mut first, from(3, reply(9))), vec![entered(9, 1)]);
        assert_eq!(effects_of(1, &mut first, from(3, request(20))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, request(1))), vec![]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, reply(20)), send(3, reply(20))]);
        // The next request is larger than all it has seen, and owes nobody anything.
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(21)), send(3, request(21))]);
        effects_of(1, &mut first, from(2, reply(21)));
        effects_of(1, &mut first, from(3, reply(21)));
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED]);
    }

    /// R2: messages may come in any order.
    #[test]
    fn a_request_that_overtakes_its_senders_reply_waits() {
        let (mut first, mut second) = (process(1, 2), process(2, 2));
        effects_of(2, &mut second, ENTER);
        assert_eq!(effects_of(1, &mut first, from(2, request(1))), vec![send(2, reply(1))]);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(2))]);
        assert_eq!(effects_of(2, &mut second, from(1, request(2))), vec![]);
        assert_eq!(effects_of(2, &mut second, from(1, reply(1))), vec![entered(1, 2)]);
        assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED, send(1, reply(2))]);
    }

    #[test]
    fn numbered_replies_move_the_clock_and_bare_ones_do_not() {
        let mut numbered = process_at(1, 2, 6);
        assert_eq!(effects_of(1, &mut numbered, from(2, request(3))), vec![send(2, reply(6))]);
        effects_of(1, &mut numbered, ENTER);
        assert_eq!(effects_of(1, &mut numbered, from(2, reply(30))), vec![entered(7, 1)]);
        assert_eq!(numbered.stamp(), number(30));

        let mut bare = RicartAgrawala::new(&test_setting(&RicartAgrawala::ENTRY, 1, 2, &[("replies", "bare")]));
        let says_nothing = Message::Reply { highest: None };
        assert_eq!(effects_of(1, &mut bare, from(2, request(3))), vec![send(2, says_nothing.clone())]);
        effects_of(1, &mut bare, ENTER);
        assert_eq!(effects_of(1, &mut bare, from(2, says_nothing)), vec![entered(4, 1)]);
        assert_eq!(bare.stamp(), number(4));
    }

    #[test]
    fn misuse_and_what_peers_should_not_send_change_nothing() {
        let check = |process: &mut RicartAgrawala, event| {
            let before = process.clone();
            let effects = effects_of(1, process, event);
            assert!(matches!(effects[..], [Effect::Unexpected { .. }]), "{effects:?}");
            assert_eq!(process, &before);
        };
        let mut first = process(1, 3);
        check(&mut first, EXIT);
        check(&mut first, from(2, reply(0)));
        effects_of(1, &mut first, ENTER);
        check(&mut first, ENTER);
        check(&mut first, EXIT);
        effects_of(1, &mut first, from(2, request(1)));
        check(&mut first, from(2, request(1)));
        effects_of(1, &mut first, from(2, reply(1)));
        // A second reply of one must not stand for the other's.
        check(&mut first, from(2, reply(1)));
        effects_of(1, &mut first, from(3, reply(1)));
        assert!(matches!(first.phase, Phase::Held { .. }));
        check(&mut first, ENTER);
        check(&mut first, from(3, reply(1)));
    }

    #[test]
    fn one_process_alone_enters_without_a_message_with_growing_fences() {
        let mut only = process(1, 1);
        for at in 1..4 {
            assert_eq!(effects_of(1, &mut only, ENTER), vec![entered(at, 1)]);
            assert_eq!(effects_of(1, &mut only, EXIT), vec![EXITED]);
        }
    }
}
