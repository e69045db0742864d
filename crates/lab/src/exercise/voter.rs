//! Collecting votes, after Maekawa: any two who ask share a voter, and it has one vote.

use std::collections::VecDeque;
use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::clock::{Epoch, Fence, Number};
use quorate_core::id::Id;
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use serde::{Deserialize, Serialize};

pub(super) const VOTES_TWICE: u8 = 1;
pub(super) const TIDIES_UP: u8 = 2;
pub(super) const OWN_COUNT: u8 = 3;
pub(super) const RENEWS: u8 = 4;

pub(super) const SOURCE: &str = include_str!("voter.rs");
pub(super) const STORY: &str = "Three processes vote for each other. A process that wants to enter needs two votes: \
    its own and that of the next process in the ring 1, 2, 3. So any two processes that want to enter share a voter. A \
    voter has one vote. It gives the vote to the first process that asks, queues the others, and gives the vote to the \
    next one when it is returned. To prevent deadlock, a process asks the voter with the smaller id first, and the \
    other voter only when it has the first vote. Votes and returned votes carry the number of entries so far; the \
    fence of a new entry is this number plus one.";

// shown:
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    flaw: u8,
    me: Id,
    n: u32,
    phase: Phase,
    /// The process that has our vote.
    candidate: Option<Id>,
    waiting: VecDeque<Id>,
    /// The number of entries that we know of.
    entries: Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    /// We have asked this voter, and all voters before it have voted for us.
    Asking {
        voter: Id,
        entries: Number,
    },
    Inside {
        entries: Number,
    },
}
// end.

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Message {
    Request,
    Vote(Number),
    GiveBack(Number),
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request => "request",
            Message::Vote(_) => "vote",
            Message::GiveBack(_) => "give-back",
        }
    }
}

impl Mutex for Voter {
    const ENTRY: Entry = Entry {
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        check: |group| if group.n == 3 { Ok(()) } else { Err("these voters are three".into()) },
        options: super::FLAW,
        ..Entry::new("voter", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let (waiting, entries) = (VecDeque::new(), Number::ZERO);
        let flaw = super::flaw_of(setting);
        Voter { flaw, me: setting.me, n: setting.n(), phase: Phase::Outside, candidate: None, waiting, entries }
    }
}

impl Process for Voter {
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
            Event::Receive { from, message: Message::Vote(entries) } => self.on_vote(from, entries, effects),
            Event::Receive { from, message: Message::GiveBack(entries) } => self.on_give_back(from, entries, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

// shown:
impl Voter {
    /// Our voters, the one with the smaller id first.
    fn voters(&self) -> [Id; 2] {
        let next = self.me.successor(self.n);
        [self.me.min(next), self.me.max(next)]
    }

    fn enter(&mut self, effects: &mut Effects<Self>) {
        let [first, _] = self.voters();
        self.phase = Phase::Asking { voter: first, entries: Number::ZERO };
        effects.send(first, Message::Request);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Inside { entries } = self.phase else { return };
        self.phase = Phase::Outside;
        effects.output(Output::Exited);
        effects.multicast(self.voters(), &Message::GiveBack(entries));
    }

    fn on_request(&mut self, from: Id, effects: &mut Effects<Self>) {
        let may_vote = match self.flaw {
            RENEWS => self.candidate.is_none_or(|candidate| candidate == from),
            _ => self.candidate.is_none(),
        };
        if may_vote {
            self.vote_for(from, effects);
        } else {
            self.waiting.push_back(from);
        }
    }

    fn on_vote(&mut self, from: Id, told: Number, effects: &mut Effects<Self>) {
        let Phase::Asking { voter, entries } = self.phase else { return };
        if from != voter {
            return;
        }
        let (entries, [_, second]) = (entries.max(told), self.voters());
        if voter != second {
            self.phase = Phase::Asking { voter: second, entries };
            effects.send(second, Message::Request);
        } else {
            let entries = match self.flaw {
                OWN_COUNT => self.entries.next(),
                _ => entries.next(),
            };
            self.phase = Phase::Inside { entries };
            effects.output(Output::Entered { fence: Fence::counted(Epoch::FIRST, entries) });
        }
    }

    fn on_give_back(&mut self, from: Id, entries: Number, effects: &mut Effects<Self>) {
        if self.candidate != Some(from) {
            return;
        }
        self.candidate = None;
        self.entries = self.entries.max(entries);
        match self.flaw {
            TIDIES_UP => self.waiting.retain(|&other| other != from),
            _ => {}
        }
        if let Some(next) = self.waiting.pop_front() {
            match self.flaw {
                VOTES_TWICE => effects.send(next, Message::Vote(self.entries)),
                _ => self.vote_for(next, effects),
            }
        }
    }

    fn vote_for(&mut self, candidate: Id, effects: &mut Effects<Self>) {
        self.candidate = Some(candidate);
        effects.send(candidate, Message::Vote(self.entries));
    }
}
// end.
