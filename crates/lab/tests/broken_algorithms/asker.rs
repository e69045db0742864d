//! Asking everybody: who is ahead of you answers when it has left.

use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::clock::{Fence, LamportClock, Number, Timestamp};
use quorate_core::id::{Id, IdSet};
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use quorate_lab::application::Workload;
use serde::{Deserialize, Serialize};

use crate::{CONSTANT, EVERYTHING, RANDOM, RIGHT, assert_found};

/// Of two equal numbers, each lets the other go first.
const BOTH_YIELD: u8 = 1;
/// Of two equal numbers, none lets the other go first.
const BOTH_INSIST: u8 = 2;
/// Who leaves forgets whom it owes an answer.
const FORGETS_ANSWERS: u8 = 3;
/// Answers do not say what numbers have been seen, and the application's words are not heard.
const DEAF_TO_STAMPS: u8 = 4;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Asker<const FLAW: u8> {
    me: Id,
    n: u32,
    clock: LamportClock,
    phase: Phase,
    owed: IdSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting { request: Timestamp, missing: IdSet },
    Inside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Question {
    MayI(Number),
    YouMay(Number),
}

impl process::Message for Question {
    fn kind(&self) -> &'static str {
        match self {
            Question::MayI(_) => "may-i",
            Question::YouMay(_) => "you-may",
        }
    }
}

impl<const FLAW: u8> Mutex for Asker<FLAW> {
    const ENTRY: Entry = Entry { promises: EVERYTHING, ..Entry::new("asker", Family::Mutex) };

    fn new(setting: &Setting) -> Self {
        let (clock, owed) = (LamportClock::default(), IdSet::new());
        Asker { me: setting.me, n: setting.n(), clock, phase: Phase::Outside, owed }
    }

    fn stamp(&self) -> Number {
        self.clock.now()
    }
}

impl<const FLAW: u8> Process for Asker<FLAW> {
    type Message = Question;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Input(Input::Enter) => {
                let request = Timestamp::new(self.clock.tick(), self.me);
                self.phase = Phase::Waiting { request, missing: IdSet::others(self.me, self.n) };
                effects.multicast(self.me.others(self.n), &Question::MayI(request.number));
            }
            Event::Input(Input::Exit) => {
                self.phase = Phase::Outside;
                effects.output(Output::Exited);
                let owed = self.owed.take();
                if FLAW != FORGETS_ANSWERS {
                    effects.multicast(owed.iter(), &Question::YouMay(self.clock.now()));
                }
            }
            Event::Input(Input::Observe(number)) => {
                if FLAW != DEAF_TO_STAMPS {
                    self.clock.observe(number);
                }
            }
            Event::Receive { from, message: Question::MayI(number) } => {
                self.clock.observe(number);
                if self.is_ahead_of(Timestamp::new(number, from)) {
                    self.owed.insert(from);
                } else {
                    effects.send(from, Question::YouMay(self.clock.now()));
                }
            }
            Event::Receive { from, message: Question::YouMay(number) } => {
                self.clock.observe(number);
                self.on_answer(from, effects);
            }
            Event::Start { .. } | Event::Notice(_) => {}
            Event::Timeout(never) => match never {},
        }
    }
}

impl<const FLAW: u8> Asker<FLAW> {
    fn is_ahead_of(&self, theirs: Timestamp) -> bool {
        match &self.phase {
            Phase::Outside => false,
            Phase::Waiting { request, .. } => match FLAW {
                BOTH_YIELD => request.number < theirs.number,
                BOTH_INSIST => request.number <= theirs.number,
                _ => *request < theirs,
            },
            Phase::Inside => true,
        }
    }

    fn on_answer(&mut self, from: Id, effects: &mut Effects<Self>) {
        if let Phase::Waiting { request, missing } = &mut self.phase {
            missing.remove(from);
            if missing.is_empty() {
                effects.output(Output::Entered { fence: Fence::stamped(*request) });
                self.phase = Phase::Inside;
            }
        }
    }
}

#[test]
fn a_right_asker_is_found_right_whatever_the_delays() {
    for workload in [Workload::Alone, Workload::Contended, Workload::Poisson(0.2), Workload::Causal] {
        for delay in [CONSTANT, RANDOM] {
            assert_found::<Asker<RIGHT>>(&workload, delay, &[]);
        }
    }
}

#[test]
fn yielding_to_equals_breaks_mutual_exclusion() {
    // Their fences follow their ids, and so does the order in which they enter.
    let expected = [(Property::MutualExclusion, "entered while")];
    assert_found::<Asker<BOTH_YIELD>>(&Workload::Contended, CONSTANT, &expected);
}

#[test]
fn insisting_against_equals_breaks_progress() {
    let why = "p1, p2, p3, p4 still waited at the end";
    assert_found::<Asker<BOTH_INSIST>>(&Workload::Contended, CONSTANT, &[(Property::Progress, why)]);
}

#[test]
fn forgetting_answers_breaks_progress() {
    let why = "still waited at the end";
    assert_found::<Asker<FORGETS_ANSWERS>>(&Workload::Contended, RANDOM, &[(Property::Progress, why)]);
}

/// Only the application knows that one request happened before the other, and it said so in vain.
#[test]
fn not_listening_to_the_application_breaks_the_order_of_requests() {
    let expected = [(Property::RequestOrder, "whose request had happened before")];
    assert_found::<Asker<DEAF_TO_STAMPS>>(&Workload::Causal, RANDOM, &expected);
    assert_found::<Asker<DEAF_TO_STAMPS>>(&Workload::Contended, RANDOM, &[]);
}
