//! Maekawa without deadlock: requests carry timestamps, and a vote given to a later one can be asked back.
//!
//! As in [Maekawa's algorithm](super::Maekawa), each process needs the votes of its voting set. When a voter whose vote is
//! given gets a request, it queues it by timestamp. If the newcomer precedes everybody the voter knows of, the voter *inquires* of
//! the one who has the vote, which *yields* the vote if it knows that it cannot enter yet; otherwise it keeps it until it has
//! left. Everybody who is not next at a voter is told so: *fail*. Who fails somewhere answers the inquiries it has kept.
//!
//! *Source*: M. Maekawa, ACM TOCS 3(2), 1985, as corrected by B. A. Sanders, "The information structure of distributed mutual exclusion
//! algorithms", ACM TOCS 5(3), 1987: also the one who was next, and is not any more because an earlier request came, is told.
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs** 3(K−1) messages a use when alone; when others want to enter too, failures, inquiries and yields come on top, up to about
//! 6(K−1). An entry waits for a round trip; from an exit to the next entry it takes two messages.
//!
//! **Safe**: a voter has one vote, and gives it to another only when it has come back. **Live**: consider the smallest request of
//! all. Where a voter has given its vote to a larger one, it has inquired. The holder of that vote enters and
//! leaves, or lacks another vote. The voter of that one has given it to somebody else; following the votes from there, the
//! chain ends at one who enters, or at one who is not the next at some voter, was told so, and yields. **Not in order** (ME3):
//! who has all the votes enters, even if a smaller request is still on its way to the voters.
//!
//! **Fence**: one more than the largest number among the votes. Every message carries its sender's clock, and a
//! release that of the entry, so the voter that two sets share has seen the earlier entry's number before it votes again.
//!
//! Messages name the request they speak of, as one may arrive when its request is over: such a one is ignored, which is no breach of any
//! assumption.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output, SETS};
use crate::catalog::{Entry, Family, Measure, Property, Published};
use crate::clock::{Fence, LamportClock, Number, Timestamp};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Process};
use crate::setting::Setting;

/// A process of the deadlock-free algorithm: a candidate and a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MaekawaDeadlockFree {
    me: Id,
    voters: Vec<Id>,
    clock: LamportClock,
    phase: Phase,
    /// Whom our vote was given to.
    vote: Option<Vote>,
    /// Whom it was not given to yet.
    waiting: BTreeSet<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    Wanted {
        request: Number,
        missing: IdSet,
        /// Whether somebody else is known to be ahead of us at some voter.
        failed: bool,
        /// Voters that want their vote back and have not been answered.
        inquiries: IdSet,
    },
    Held {
        request: Number,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Vote {
    request: Timestamp,
    inquired: bool,
}

/// What candidates and voters say to each other, and the clock of who says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    clock: Number,
    /// The number of the candidate's request.
    request: Number,
    subject: Subject,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Subject {
    /// Candidate to voter: I want to enter.
    Request,
    /// Voter to candidate: you have my vote.
    Vote,
    /// Voter to candidate: somebody else is ahead of you.
    Fail,
    /// Voter to candidate: somebody is ahead of you, may I have my vote back?
    Inquire,
    /// Candidate to voter: here is your vote, I wait for it again.
    Yield,
    /// Candidate to voter: I have left.
    Release,
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self.subject {
            Subject::Request => "request",
            Subject::Vote => "vote",
            Subject::Fail => "fail",
            Subject::Inquire => "inquire",
            Subject::Yield => "yield",
            Subject::Release => "release",
        }
    }

    fn number(&self) -> Option<u64> {
        Some(self.request.get())
    }
}

impl Mutex for MaekawaDeadlockFree {
    const ENTRY: Entry = Entry {
        summary: "as maekawa, but a vote given to a later request can be asked back",
        paper: "B. A. Sanders, ACM TOCS 5(3), 1987",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        published: &[
            Published::exactly(Measure::Messages, "A, B, E, less what one says to oneself", "3(K−1)", |size| {
                3.0 * (size.k - 1.0)
            }),
            Published::between(
                Measure::MessagesContended,
                "Sanders, less what one says to oneself",
                "3(K−1) to 6(K−1)",
                |size| 3.0 * (size.k - 1.0),
                |size| 6.0 * (size.k - 1.0),
            ),
            Published::exactly(Measure::ClientDelay, "A, B, E", "2", |_| 2.0),
            Published::exactly(Measure::SyncDelay, "A, B, E", "2", |_| 2.0),
        ],
        options: &[SETS],
        ..Entry::new("maekawa-deadlock-free", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        MaekawaDeadlockFree {
            me: setting.me,
            voters: setting.group.voting_sets.of(setting.me),
            clock: LamportClock::default(),
            phase: Phase::Released,
            vote: None,
            waiting: BTreeSet::new(),
        }
    }

    fn stamp(&self) -> Number {
        self.clock.now()
    }
}

impl Process for MaekawaDeadlockFree {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { .. } | Event::Notice(_) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Input(Input::Observe(number)) => self.clock.observe(number),
            Event::Receive { from, message: Message { clock, request, subject } } => {
                self.clock.observe(clock);
                let theirs = Timestamp::new(request, from);
                match subject {
                    Subject::Request => self.on_request(theirs, effects),
                    Subject::Vote => self.on_vote(from, request, effects),
                    Subject::Fail => self.on_fail(request, effects),
                    Subject::Inquire => self.on_inquire(from, request, effects),
                    Subject::Yield => self.on_yield(theirs, effects),
                    Subject::Release => self.on_release(theirs, effects),
                }
            }
            Event::Timeout(never) => match never {},
        }
    }
}

impl MaekawaDeadlockFree {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        let request = self.clock.tick();
        self.phase = Phase::Wanted {
            request,
            missing: self.voters.iter().copied().collect(),
            failed: false,
            inquiries: IdSet::new(),
        };
        let message = self.say(request, Subject::Request);
        effects.multicast(self.voters.iter().copied(), &message);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { request } = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        effects.output(Output::Exited);
        let message = self.say(request, Subject::Release);
        effects.multicast(self.voters.iter().copied(), &message);
    }

    fn on_request(&mut self, theirs: Timestamp, effects: &mut Effects<Self>) {
        let first = self.waiting.first().copied();
        if self.vote.is_some_and(|vote| vote.request == theirs) || !self.waiting.insert(theirs) {
            return effects.unexpected(theirs.id, "the same request again");
        }
        let Some(vote) = &mut self.vote else { return self.vote_for_first(effects) };
        if theirs > vote.request || first.is_some_and(|first| theirs > first) {
            return self.tell(theirs, Subject::Fail, effects);
        }
        let (voted, inquired) = (vote.request, core::mem::replace(&mut vote.inquired, true));
        if !inquired {
            self.tell(voted, Subject::Inquire, effects);
        }
        // Sanders' correction: who was to be next is not any more. If it came after the vote it has been told already.
        if let Some(first) = first.filter(|&first| first < voted) {
            self.tell(first, Subject::Fail, effects);
        }
    }

    fn on_vote(&mut self, from: Id, of: Number, effects: &mut Effects<Self>) {
        let Phase::Wanted { request, missing, failed, inquiries } = &mut self.phase else {
            return effects.unexpected(from, "a vote that nobody waits for");
        };
        if *request != of || !missing.remove(from) {
            return effects.unexpected(from, "a vote for another request, or a second one");
        }
        if missing.is_empty() {
            self.phase = Phase::Held { request: of };
            let number = self.clock.tick();
            effects.output(Output::Entered { fence: Fence::counted(0, number) });
        } else if *failed && inquiries.contains(from) {
            self.give_back(from, effects);
        }
    }

    fn on_fail(&mut self, of: Number, effects: &mut Effects<Self>) {
        if let Phase::Wanted { request, failed, missing, inquiries } = &mut self.phase
            && *request == of
        {
            *failed = true;
            let answerable: Vec<Id> = inquiries.iter().filter(|&voter| !missing.contains(voter)).collect();
            for voter in answerable {
                self.give_back(voter, effects);
            }
        }
    }

    fn on_inquire(&mut self, from: Id, of: Number, effects: &mut Effects<Self>) {
        if !self.voters.contains(&from) {
            return effects.unexpected(from, "an inquiry by somebody who was not asked");
        }
        if let Phase::Wanted { request, failed, missing, inquiries } = &mut self.phase
            && *request == of
        {
            // The inquiry may overtake the vote it is about.
            inquiries.insert(from);
            if *failed && !missing.contains(from) {
                self.give_back(from, effects);
            }
        }
    }

    fn on_yield(&mut self, theirs: Timestamp, effects: &mut Effects<Self>) {
        if self.take_back(theirs, effects) {
            self.waiting.insert(theirs);
            self.vote_for_first(effects);
        }
    }

    fn on_release(&mut self, theirs: Timestamp, effects: &mut Effects<Self>) {
        if self.take_back(theirs, effects) {
            self.vote_for_first(effects);
        }
    }

    /// The candidate returns a vote, and is behind somebody from then on.
    fn give_back(&mut self, voter: Id, effects: &mut Effects<Self>) {
        if let Phase::Wanted { request, missing, inquiries, failed } = &mut self.phase {
            missing.insert(voter);
            inquiries.remove(voter);
            *failed = true;
            let request = *request;
            effects.send(voter, self.say(request, Subject::Yield));
        }
    }

    /// The voter has its vote again; false if it had not given it to this request.
    fn take_back(&mut self, theirs: Timestamp, effects: &mut Effects<Self>) -> bool {
        let returned = self.vote.take_if(|vote| vote.request == theirs).is_some();
        if !returned {
            effects.unexpected(theirs.id, "a vote given back by somebody who has not got it");
        }
        returned
    }

    fn vote_for_first(&mut self, effects: &mut Effects<Self>) {
        if let Some(request) = self.waiting.pop_first() {
            self.vote = Some(Vote { request, inquired: false });
            self.tell(request, Subject::Vote, effects);
        }
    }

    /// The voter speaks to a candidate about its request.
    fn tell(&self, theirs: Timestamp, subject: Subject, effects: &mut Effects<Self>) {
        effects.send(theirs.id, self.say(theirs.number, subject));
    }

    fn say(&self, request: Number, subject: Subject) -> Message {
        Message { clock: self.clock.now(), request, subject }
    }
}
