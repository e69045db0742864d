//! Maekawa: ask a few, so chosen that any two who ask share somebody; each gives its vote to one at a time. As
//! published.
//!
//! Each process has a [voting set](super::voting_set). To enter, it asks everybody in it, itself included, and waits
//! for all their votes. A voter gives its only vote to the first who asks, queues the others, and gives the vote to the
//! next when it is released.
//!
//! *Source*: M. Maekawa, "A √N algorithm for mutual exclusion in decentralized systems", ACM TOCS 3(2), 1985; in the
//! form in which textbooks print it, without the paper's own attempt against deadlock.
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs** 3K messages a use for sets of size K ≈ √n (3(K−1) on the network, for a process asks itself too):
//! requests, votes, releases. An entry waits for a round trip; from an exit to the next entry it takes two messages.
//!
//! **Safe**: any two sets share a voter, and it has one vote. **Not live**: three processes, each with the vote that
//! the next one needs, wait for each other for ever. [`MaekawaDeadlockFree`](super::MaekawaDeadlockFree) is the cure.
//! **Not in order**.
//!
//! **Fence**: one more than the largest that a voter knows of; a release tells the voters. The voter that two sets
//! share has heard of the earlier entry before it votes again. No crash is survived: a voter that comes back has
//! forgotten.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output, SETS};
use crate::catalog::{Entry, Family, Measure, Property, Published};
use crate::clock::{Counting, Epoch, Fence, Number};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Process};
use crate::setting::Setting;

/// A process of Maekawa's algorithm: a candidate and a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Maekawa {
    voters: Vec<Id>,
    counting: Counting,
    phase: Phase,
    voter: Voter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    /// Waiting for votes; `entries` is the largest count that a vote has told of.
    Wanted {
        missing: IdSet,
        entries: Number,
    },
    Held {
        entries: Number,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Voter {
    /// Who has our vote.
    candidate: Option<Id>,
    waiting: VecDeque<Id>,
    /// The number of the last entry that we know of.
    entries: Number,
}

/// What candidates and voters say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A candidate asks for the vote.
    Request,
    /// The vote.
    Vote {
        /// The number of the last entry that the voter knows of.
        entries: Number,
    },
    /// The candidate has left and gives the vote back.
    Release {
        /// The number of its entry.
        entries: Number,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request => "request",
            Message::Vote { .. } => "vote",
            Message::Release { .. } => "release",
        }
    }
}

impl Mutex for Maekawa {
    const ENTRY: Entry = Entry {
        summary: "a process needs all votes of its voting set; every two sets intersect, and a voter has one vote \
                  (can deadlock)",
        paper: "M. Maekawa, \"A √N algorithm for mutual exclusion in decentralized systems\", ACM TOCS 3(2), 1985",
        promises: &[Property::MutualExclusion, Property::Fencing],
        published: &[
            Published::exactly(Measure::Messages, "B, without messages to oneself", "3(K−1)", |size| {
                3.0 * (size.k - 1.0)
            }),
            Published::exactly(Measure::Messages, "A, E", "3√N", |size| 3.0 * size.root_n),
            Published::exactly(Measure::MessagesToEnter, "B, without messages to oneself", "2(K−1)", |size| {
                2.0 * (size.k - 1.0)
            }),
            Published::exactly(Measure::MessagesToEnter, "E", "2√N", |size| 2.0 * size.root_n),
            Published::exactly(Measure::ClientDelay, "A, B, E", "2", |_| 2.0),
            Published::exactly(Measure::ExitDelay, "A", "1", |_| 1.0),
            Published::exactly(Measure::ExitDelay, "B", "0.5", |_| 0.5),
            Published::exactly(Measure::SyncDelay, "A, B, E", "2", |_| 2.0),
        ],
        options: &[SETS],
        finite: true,
        ..Entry::new("maekawa", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let voters = setting.group.voting_sets.of(setting.me);
        Maekawa { voters, counting: setting.group.counting, phase: Phase::Released, voter: Voter::default() }
    }
}

impl Process for Maekawa {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { .. } | Event::Notice(_) | Event::Input(Input::Observe(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Request } => self.on_request(from, effects),
            Event::Receive { from, message: Message::Vote { entries } } => self.on_vote(from, entries, effects),
            Event::Receive { from, message: Message::Release { entries } } => self.on_release(from, entries, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

impl Maekawa {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        self.phase = Phase::Wanted { missing: self.voters.iter().copied().collect(), entries: Number::ZERO };
        effects.multicast(self.voters.iter().copied(), &Message::Request);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { entries } = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        effects.output(Output::Exited);
        effects.multicast(self.voters.iter().copied(), &Message::Release { entries });
    }

    fn on_request(&mut self, from: Id, effects: &mut Effects<Self>) {
        // A candidate's next request may overtake its release, so it may wait while it still has the vote.
        if self.voter.waiting.contains(&from) {
            return effects.unexpected(from, "a second request before a vote for the first");
        }
        self.voter.waiting.push_back(from);
        if self.voter.candidate.is_none() {
            self.vote_for_next(effects);
        }
    }

    fn on_vote(&mut self, from: Id, told: Number, effects: &mut Effects<Self>) {
        let Phase::Wanted { missing, entries } = &mut self.phase else {
            return effects.unexpected(from, "a vote without a request");
        };
        if !missing.remove(from) {
            return effects.unexpected(from, "a second vote, or a vote from a process that was not asked");
        }
        *entries = told.max(*entries);
        if missing.is_empty() {
            let entries = self.counting.after(*entries);
            self.phase = Phase::Held { entries };
            effects.output(Output::Entered { fence: Fence::counted(Epoch::FIRST, entries) });
        }
    }

    fn on_release(&mut self, from: Id, entries: Number, effects: &mut Effects<Self>) {
        if self.voter.candidate != Some(from) {
            return effects.unexpected(from, "a release from a process that does not have the vote");
        }
        self.voter.candidate = None;
        self.voter.entries = self.voter.entries.max(entries);
        self.vote_for_next(effects);
    }

    fn vote_for_next(&mut self, effects: &mut Effects<Self>) {
        if let Some(next) = self.voter.waiting.pop_front() {
            self.voter.candidate = Some(next);
            effects.send(next, Message::Vote { entries: self.voter.entries });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    const ENTER: Event<Maekawa> = Event::Input(Input::Enter);
    const EXIT: Event<Maekawa> = Event::Input(Input::Exit);
    const EXITED: EffectOf<Maekawa> = Effect::Output(Output::Exited);

    /// Of three, p1 asks itself and p2, p2 itself and p3, p3 itself and p1.
    fn process(me: u32, n: u32) -> Maekawa {
        Maekawa::new(&test_setting(&Maekawa::ENTRY, me, n, &[]))
    }

    fn number(number: u64) -> Number {
        number.try_into().unwrap()
    }

    fn vote(entries: u64) -> Message {
        Message::Vote { entries: number(entries) }
    }

    fn release(entries: u64) -> Message {
        Message::Release { entries: number(entries) }
    }

    fn from(id: u32, message: Message) -> Event<Maekawa> {
        Event::Receive { from: Id::new(id), message }
    }

    fn send(to: u32, message: Message) -> EffectOf<Maekawa> {
        Effect::Send { to: Id::new(to), message }
    }

    fn entered(entries: u64) -> EffectOf<Maekawa> {
        Effect::Output(Output::Entered { fence: Fence::counted(Epoch::FIRST, number(entries)) })
    }

    #[test]
    fn it_asks_its_voting_set_and_what_it_says_to_itself_is_no_traffic() {
        // 1 2
        // 3 4
        let mut first = process(1, 4);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, Message::Request), send(3, Message::Request)]);
        assert_eq!(effects_of(2, &mut process(2, 4), from(1, Message::Request)), vec![send(1, vote(0))]);
        assert_eq!(effects_of(1, &mut first, from(3, vote(0))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, vote(0))), vec![entered(1)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, release(1)), send(3, release(1))]);
    }

    #[test]
    fn a_voter_votes_for_one_at_a_time_in_the_order_in_which_they_asked() {
        let mut voter = process(5, 9);
        assert_eq!(effects_of(5, &mut voter, from(8, Message::Request)), vec![send(8, vote(0))]);
        assert_eq!(effects_of(5, &mut voter, from(6, Message::Request)), vec![]);
        assert_eq!(effects_of(5, &mut voter, from(2, Message::Request)), vec![]);
        assert_eq!(effects_of(5, &mut voter, from(8, release(1))), vec![send(6, vote(1))]);
        assert_eq!(effects_of(5, &mut voter, from(6, release(4))), vec![send(2, vote(4))]);
        assert_eq!(effects_of(5, &mut voter, from(2, release(5))), vec![]);
    }

    /// M2: with the triangle, three requests at once wait for each other for ever.
    #[test]
    fn three_who_ask_at_once_deadlock() {
        let (mut first, mut second, mut third) = (process(1, 3), process(2, 3), process(3, 3));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, Message::Request)]);
        assert_eq!(effects_of(2, &mut second, ENTER), vec![send(3, Message::Request)]);
        assert_eq!(effects_of(3, &mut third, ENTER), vec![send(1, Message::Request)]);
        // Everybody has voted for itself: now no message is on its way, and nobody is inside.
        assert_eq!(effects_of(2, &mut second, from(1, Message::Request)), vec![]);
        assert_eq!(effects_of(3, &mut third, from(2, Message::Request)), vec![]);
        assert_eq!(effects_of(1, &mut first, from(3, Message::Request)), vec![]);
        for process in [first, second, third] {
            assert!(matches!(process.phase, Phase::Wanted { .. }), "{process:?}");
        }
    }

    #[test]
    fn the_voter_that_two_sets_share_makes_the_later_fence_larger() {
        let (mut first, mut second) = (process(1, 3), process(2, 3));
        effects_of(1, &mut first, ENTER);
        assert_eq!(effects_of(2, &mut second, from(1, Message::Request)), vec![send(1, vote(0))]);
        assert_eq!(effects_of(2, &mut second, ENTER), vec![send(3, Message::Request)]);
        // The other voter of p2 knows of no entry, and votes first; p2's own vote is still with p1.
        assert_eq!(effects_of(2, &mut second, from(3, vote(0))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, vote(0))), vec![entered(1)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, release(1))]);
        assert_eq!(effects_of(2, &mut second, from(1, release(1))), vec![entered(2)]);
    }

    #[test]
    fn a_request_that_overtakes_its_senders_release_waits_for_it() {
        let mut voter = process(2, 3);
        effects_of(2, &mut voter, from(1, Message::Request));
        assert_eq!(effects_of(2, &mut voter, from(1, Message::Request)), vec![]);
        assert_eq!(effects_of(2, &mut voter, from(1, release(1))), vec![send(1, vote(1))]);
    }

    #[test]
    fn misuse_and_what_peers_should_not_send_change_nothing() {
        let check = |process: &mut Maekawa, event| {
            let before = process.clone();
            let effects = effects_of(1, process, event);
            assert!(matches!(effects[..], [Effect::Unexpected { .. }]), "{effects:?}");
            assert_eq!(process, &before);
        };
        let mut first = process(1, 3);
        check(&mut first, EXIT);
        check(&mut first, from(2, vote(0)));
        check(&mut first, from(3, release(7)));
        effects_of(1, &mut first, ENTER);
        check(&mut first, ENTER);
        check(&mut first, EXIT);
        // Somebody whom it did not ask must not let it in.
        check(&mut first, from(3, vote(0)));
        check(&mut first, from(3, release(7)));
        effects_of(1, &mut first, from(3, Message::Request));
        check(&mut first, from(3, Message::Request));
        effects_of(1, &mut first, from(2, vote(0)));
        check(&mut first, ENTER);
        check(&mut first, from(2, vote(0)));
    }

    #[test]
    fn one_process_alone_enters_without_a_message_with_growing_fences() {
        let mut only = process(1, 1);
        for entries in 1..4 {
            assert_eq!(effects_of(1, &mut only, ENTER), vec![entered(entries)]);
            assert_eq!(effects_of(1, &mut only, EXIT), vec![EXITED]);
        }
    }
}
