//! Majority voting: every process is a coordinator with one vote, and more than half of the votes let you in.
//!
//! To enter, a process asks all n coordinators. A coordinator that has not voted gives its vote; one that has refuses. With m > n/2
//! votes the process enters. When so many have refused that m cannot be reached any more, or when the answers take too long, it
//! gives its votes back, waits for a random time, and tries again.
//!
//! *Source*: document D, "Decentralized algorithm"; after S.-D. Lin, Q. Lian, M. Chen, Z. Zhang, IPTPS 2004.
//!
//! **Assumes** that every message arrives once, in any order. A coordinator may crash and come back at once, but then it has
//! **forgotten its vote**: if as many forget while somebody is inside as m exceeds n/2, a second one may get in. So the promise
//! is that of runs in which nobody crashes, and `quorate violation` says what the chance of a violation is otherwise.
//!
//! **Costs** 3(n−1) messages a use when alone: questions, votes, releases; more for each try that fails. An entry waits for a round trip at best.
//!
//! **Safe**: two majorities share a coordinator, and it has one vote. **Live** only with luck: two who keep asking at
//! the same time can split the votes each time; random waiting, longer after each failure, makes that improbable. **Not in order**.
//!
//! **Fence**: one more than the largest that the candidate and its voters know of. Every release tells what the candidate knows,
//! its own last entry included: its next try may overtake the release of that entry, and take over the vote. So the
//! coordinator that two majorities share has heard of the earlier entry before it votes for another candidate.

use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Entry, Family, Measure, OptionSpec, Property, Published, Values};
use crate::clock::{Fence, Number};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Process, Ticks};
use crate::setting::Setting;

/// A process of majority voting: a candidate and a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Majority {
    me: Id,
    n: u32,
    /// How many votes let one in.
    needed: usize,
    delay_bound: Ticks,
    /// Our latest ballot. One of a former life is smaller.
    ballot: Ballot,
    phase: Phase,
    /// Whom our vote was given to, and in which of its tries.
    vote: Option<(Id, Ballot)>,
    /// The number of the last entry that we know of, ours or another's.
    entries: Number,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    Asking {
        /// How often we have asked for this entry.
        tries: u32,
        votes: IdSet,
        refusals: IdSet,
    },
    BackingOff {
        tries: u32,
    },
    Held {
        votes: IdSet,
    },
}

/// One try of one process, in one of its lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ballot {
    incarnation: u64,
    number: Number,
}

/// Why a candidate wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Answers have taken too long: some coordinators may have crashed.
    Answers,
    /// It has waited long enough to try again.
    BackOff,
}

/// What candidates and coordinators say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A candidate asks for a vote.
    Ask {
        /// Its try.
        ballot: Ballot,
    },
    /// The coordinator's vote.
    Vote {
        /// The candidate's try.
        ballot: Ballot,
        /// The number of the last entry that the coordinator knows of.
        entries: Number,
    },
    /// The coordinator has voted for somebody else.
    Refuse {
        /// The candidate's try.
        ballot: Ballot,
    },
    /// The candidate gives a vote back.
    Release {
        /// Its try.
        ballot: Ballot,
        /// The number of the last entry that it knows of.
        entries: Number,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Ask { .. } => "ask",
            Message::Vote { .. } => "vote",
            Message::Refuse { .. } => "refuse",
            Message::Release { .. } => "release",
        }
    }

    fn number(&self) -> Option<u64> {
        let (Message::Ask { ballot }
        | Message::Vote { ballot, .. }
        | Message::Refuse { ballot }
        | Message::Release { ballot, .. }) = self;
        Some(ballot.number.get())
    }
}

/// After this many failures in a row, waiting does not get longer.
const LONGEST_BACK_OFF: u32 = 8;

impl Mutex for Majority {
    const ENTRY: Entry = Entry {
        summary: "every process has one vote, and more than half of the votes let you in",
        paper: "S.-D. Lin, Q. Lian, M. Chen, Z. Zhang, IPTPS 2004",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        published: &[
            Published::exactly(Measure::Messages, "D, less what one says to oneself", "3(N−1)", |size| {
                3.0 * (size.n - 1.0)
            }),
            Published::exactly(Measure::ClientDelay, "D", "2", |_| 2.0),
        ],
        options: &[OptionSpec {
            key: "votes",
            values: Values::Integer { from: 0, to: Fence::MOST_PROCESSES as u64 },
            default: "0",
            meaning: "m, how many votes let one in; more than half of n, at most n; 0 is the smallest majority",
        }],
        check: |group| {
            let (votes, n) = (group.options.integer("votes"), u64::from(group.n));
            if votes == 0 || (2 * votes > n && votes <= n) {
                Ok(())
            } else {
                Err(alloc::format!("option votes = {votes}: of {n} coordinators it takes {} to {n} votes", n / 2 + 1))
            }
        },
        ..Entry::new("majority", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let votes = setting.group.options.integer("votes") as usize;
        Majority {
            me: setting.me,
            n: setting.n(),
            needed: if votes == 0 { setting.n() as usize / 2 + 1 } else { votes },
            delay_bound: setting.group.delay_bound,
            ballot: Ballot::default(),
            phase: Phase::Released,
            vote: None,
            entries: Number::ZERO,
        }
    }
}

impl Process for Majority {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Timer;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, .. } => self.ballot.incarnation = incarnation,
            Event::Notice(_) | Event::Input(Input::Observe(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Ask { ballot } } => self.on_ask(from, ballot, effects),
            Event::Receive { from, message: Message::Vote { ballot, entries } } => {
                self.on_vote(from, ballot, entries, effects);
            }
            Event::Receive { from, message: Message::Refuse { ballot } } => self.on_refuse(from, ballot, effects),
            Event::Receive { from, message: Message::Release { ballot, entries } } => {
                self.on_release(from, ballot, entries);
            }
            Event::Timeout(Timer::Answers) => self.on_answers_late(effects),
            Event::Timeout(Timer::BackOff) => self.on_back_off_over(effects),
        }
    }
}

impl Majority {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        self.ask(1, effects);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { votes } = &self.phase else { return effects.misused(NOT_INSIDE) };
        effects.output(Output::Exited);
        effects.multicast(votes.iter(), &self.release(self.ballot));
        self.phase = Phase::Released;
    }

    fn ask(&mut self, tries: u32, effects: &mut Effects<Self>) {
        self.ballot.number = self.ballot.number.next();
        let (votes, refusals) = (IdSet::new(), IdSet::new());
        self.phase = Phase::Asking { tries, votes, refusals };
        let deadline = 2 * self.delay_bound + 1;
        effects.set_timer(Timer::Answers, deadline..=deadline);
        effects.multicast(Id::all(self.n), &Message::Ask { ballot: self.ballot });
    }

    fn on_ask(&mut self, from: Id, ballot: Ballot, effects: &mut Effects<Self>) {
        let free = match self.vote {
            None => true,
            // The candidate has begun another try, so it does not count on this vote any more.
            Some((candidate, earlier)) => candidate == from && earlier < ballot,
        };
        if free {
            self.vote = Some((from, ballot));
            effects.send(from, Message::Vote { ballot, entries: self.entries });
        } else {
            effects.send(from, Message::Refuse { ballot });
        }
    }

    fn on_vote(&mut self, from: Id, ballot: Ballot, told: Number, effects: &mut Effects<Self>) {
        self.entries = self.entries.max(told);
        let current = ballot == self.ballot;
        match &mut self.phase {
            Phase::Asking { votes, .. } if current => {
                votes.insert(from);
                if votes.len() >= self.needed {
                    self.phase = Phase::Held { votes: votes.take() };
                    self.entries = self.entries.next();
                    effects.cancel_timer(Timer::Answers);
                    effects.output(Output::Entered { fence: Fence::counted(0, self.entries) });
                }
            }
            // One more than needed: it goes back with the others.
            Phase::Held { votes, .. } if current => {
                votes.insert(from);
            }
            // Too late for its try: nobody needs it.
            Phase::Released | Phase::Asking { .. } | Phase::BackingOff { .. } | Phase::Held { .. } => {
                effects.send(from, self.release(ballot));
            }
        }
    }

    fn on_refuse(&mut self, from: Id, ballot: Ballot, effects: &mut Effects<Self>) {
        if let Phase::Asking { tries, refusals, .. } = &mut self.phase
            && ballot == self.ballot
        {
            refusals.insert(from);
            if refusals.len() > self.n as usize - self.needed {
                let tries = *tries;
                effects.cancel_timer(Timer::Answers);
                self.back_off(tries, effects);
            }
        }
    }

    /// Takes back the vote, if it is this candidate's and of this try. Another try may have got it meanwhile, and a
    /// coordinator that crashed has forgotten it.
    fn on_release(&mut self, from: Id, ballot: Ballot, entries: Number) {
        self.entries = self.entries.max(entries);
        self.vote.take_if(|vote| *vote == (from, ballot));
    }

    fn on_answers_late(&mut self, effects: &mut Effects<Self>) {
        if let Phase::Asking { tries, .. } = self.phase {
            self.back_off(tries, effects);
        }
    }

    fn on_back_off_over(&mut self, effects: &mut Effects<Self>) {
        if let Phase::BackingOff { tries } = self.phase {
            self.ask(tries.saturating_add(1), effects);
        }
    }

    fn back_off(&mut self, tries: u32, effects: &mut Effects<Self>) {
        if let Phase::Asking { votes, .. } = &self.phase {
            effects.multicast(votes.iter(), &self.release(self.ballot));
        }
        self.phase = Phase::BackingOff { tries };
        effects.set_timer(Timer::BackOff, self.waiting_time(tries));
    }

    fn release(&self, ballot: Ballot) -> Message {
        Message::Release { ballot, entries: self.entries }
    }

    /// Twice as long after each failure, so that however many compete, at last one is alone for long enough.
    fn waiting_time(&self, tries: u32) -> RangeInclusive<Ticks> {
        0..=self.delay_bound.saturating_mul(1 << tries.min(LONGEST_BACK_OFF))
    }
}
