//! Maekawa: ask a few, so chosen that any two who ask share somebody; each gives its vote to one at a time. As published.
//!
//! Each process has a [voting set](super::voting_set). To enter, it asks everybody in it, itself included, and waits for all
//! their votes. A voter gives its only vote to the first who asks, queues the others, and gives the vote to the next when it
//! is released.
//!
//! *Source*: M. Maekawa, "A √N algorithm for mutual exclusion in decentralized systems", ACM TOCS 3(2), 1985; in the form in which
//! textbooks print it, without the paper's own attempt against deadlock.
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs** 3K messages a use for sets of size K ≈ √n (3(K−1) on the network, for a process asks itself too): requests, votes,
//! releases. An entry waits for a round trip; from an exit to the next entry it takes two messages.
//!
//! **Safe**: any two sets share a voter, and it has one vote. **Not live**: three processes, each with the vote that the next one
//! needs, wait for each other for ever. [`MaekawaDeadlockFree`](super::MaekawaDeadlockFree) is the cure. **Not in order**.
//!
//! **Fence**: one more than the largest that a voter knows of; a release tells the voters. The voter that two sets share
//! has heard of the earlier entry before it votes again.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output, SETS};
use crate::catalog::{Entry, Family, Measure, Property, Published};
use crate::clock::{Fence, Number};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Process};
use crate::setting::Setting;

/// A process of Maekawa's algorithm: a candidate and a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Maekawa {
    voters: Vec<Id>,
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
        summary: "ask a voting set, any two of which meet; each voter has one vote (deadlocks, as published)",
        paper: "M. Maekawa, ACM TOCS 3(2), 1985",
        promises: &[Property::MutualExclusion, Property::Fencing],
        published: &[
            Published::exactly(Measure::Messages, "A, B, E, less what one says to oneself", "3(K−1)", |size| {
                3.0 * (size.k - 1.0)
            }),
            Published::exactly(Measure::ClientDelay, "A, B, E", "2", |_| 2.0),
            Published::exactly(Measure::ExitDelay, "B", "0.5", |_| 0.5),
            Published::exactly(Measure::SyncDelay, "A, B, E", "2", |_| 2.0),
        ],
        options: &[SETS],
        ..Entry::new("maekawa", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        Maekawa { voters: setting.group.voting_sets.of(setting.me), phase: Phase::Released, voter: Voter::default() }
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
            return effects.unexpected(from, "a second request before the first was voted for");
        }
        self.voter.waiting.push_back(from);
        if self.voter.candidate.is_none() {
            self.vote_for_next(effects);
        }
    }

    fn on_vote(&mut self, from: Id, told: Number, effects: &mut Effects<Self>) {
        let Phase::Wanted { missing, entries } = &mut self.phase else {
            return effects.unexpected(from, "a vote that nobody waits for");
        };
        if !missing.remove(from) {
            return effects.unexpected(from, "a second vote, or one of somebody who was not asked");
        }
        *entries = told.max(*entries);
        if missing.is_empty() {
            let entries = entries.next();
            self.phase = Phase::Held { entries };
            effects.output(Output::Entered { fence: Fence::counted(0, entries) });
        }
    }

    fn on_release(&mut self, from: Id, entries: Number, effects: &mut Effects<Self>) {
        if self.voter.candidate != Some(from) {
            return effects.unexpected(from, "a release by somebody who has not got the vote");
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
