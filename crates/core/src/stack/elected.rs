//! An election beside a mutual exclusion algorithm: for those that need one of them to lead when somebody has crashed.
//!
//! Both hear of crashes and returns. When the algorithm [misses a leader](Member::lacks_leader), an election is called;
//! whom it elects, the algorithm is told as [`Notice::Leader`]. Neither knows the other, so that any election goes with
//! any algorithm. Without crashes, and as long as nobody wants to know who leads, the election says nothing.

use serde::{Deserialize, Serialize};

use super::{Member, Resources};
use crate::catalog::Entry;
use crate::clock::Number;
use crate::election::{self, Election};
use crate::mutex::Mutex;
use crate::process::{self, Effects, Event, Notice, Process, Room, perform};
use crate::setting::{Options, Setting};

/// An algorithm `M` that leaves it to an election `E` who leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Elected<E, M: Process> {
    election: E,
    algorithm: M,
    room: Room<M>,
}

/// What is said by one of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message<E, M> {
    /// The election.
    Election(E),
    /// The algorithm.
    Algorithm(M),
}

/// What one of them waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer<E, M> {
    /// The election.
    Election(E),
    /// The algorithm.
    Algorithm(M),
}

impl<E: process::Message, M: process::Message> process::Message for Message<E, M> {
    fn kind(&self) -> &'static str {
        match self {
            Message::Election(message) => message.kind(),
            Message::Algorithm(message) => message.kind(),
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Election(message) => message.number(),
            Message::Algorithm(message) => message.number(),
        }
    }
}

impl<E: Election<Stable = ()>, M: Mutex> Mutex for Elected<E, M> {
    const ENTRY: Entry = M::ENTRY;

    fn new(setting: &Setting) -> Self {
        Elected::beside(setting, M::new(setting))
    }

    fn stamp(&self) -> Number {
        self.algorithm.stamp()
    }

    fn saved_stamp(saved: &M::Stable) -> Number {
        M::saved_stamp(saved)
    }
}

impl<E: Election<Stable = ()>, M: Mutex> Member for Elected<E, Resources<M>> {
    fn highest_seen(&self) -> Number {
        self.algorithm.highest_seen()
    }

    fn highest_saved(saved: &Self::Stable) -> Number {
        Resources::<M>::highest_saved(saved)
    }

    fn observing(stamp: Number) -> Self::Input {
        Resources::<M>::observing(stamp)
    }

    /// It has an election.
    fn lacks_leader(&self) -> bool {
        false
    }
}

impl<E: Election<Stable = ()>, M: Member> Process for Elected<E, M> {
    type Message = Message<E::Message, M::Message>;
    type Input = M::Input;
    type Output = M::Output;
    type Timer = Timer<E::Timer, M::Timer>;
    type Stable = M::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        let missed = self.algorithm.lacks_leader();
        match event {
            Event::Start { incarnation, saved } => {
                self.of_algorithm(Event::Start { incarnation, saved }, effects);
                self.of_election(Event::Start { incarnation, saved: None }, effects);
            }
            Event::Input(input) => self.of_algorithm(Event::Input(input), effects),
            Event::Notice(notice) => {
                self.of_algorithm(Event::Notice(notice), effects);
                self.of_election(Event::Notice(notice), effects);
            }
            Event::Receive { from, message: Message::Election(message) } => {
                self.of_election(Event::Receive { from, message }, effects);
            }
            Event::Receive { from, message: Message::Algorithm(message) } => {
                self.of_algorithm(Event::Receive { from, message }, effects);
            }
            Event::Timeout(Timer::Election(timer)) => self.of_election(Event::Timeout(timer), effects),
            Event::Timeout(Timer::Algorithm(timer)) => self.of_algorithm(Event::Timeout(timer), effects),
        }
        if !missed && self.algorithm.lacks_leader() {
            self.of_election(Event::Input(election::Input::Call), effects);
        }
    }
}

impl<E: Election<Stable = ()>, M: Member> Elected<E, M> {
    /// A process before its first event.
    pub fn beside(setting: &Setting, algorithm: M) -> Self {
        let of_election = setting.with_options(Options::defaults(&E::ENTRY));
        Elected { election: E::new(&of_election), algorithm, room: Room::new() }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &M {
        &self.algorithm
    }

    fn of_algorithm(&mut self, event: Event<M>, effects: &mut Effects<Self>) {
        let mut wanted = self.room.list(effects.me());
        perform(&mut self.algorithm, event, &mut wanted);
        effects.adopt(
            &mut wanted,
            Message::Algorithm,
            Timer::Algorithm,
            |effects, stable| effects.save(stable),
            |effects, output| effects.output(output),
        );
        self.room.keep(wanted);
    }

    fn of_election(&mut self, event: Event<E>, effects: &mut Effects<Self>) {
        let mut wanted = Effects::<E>::new(effects.me());
        perform(&mut self.election, event, &mut wanted);
        effects.adopt(
            &mut wanted,
            Message::Election,
            Timer::Election,
            |_, ()| {},
            |effects, election::Output::Leader(leader)| {
                self.of_algorithm(Event::Notice(Notice::Leader(leader)), effects);
            },
        );
    }
}
