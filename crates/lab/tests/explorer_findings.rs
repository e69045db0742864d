//! What the explorer got wrong: each test is the smallest algorithm that showed it.

use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family};
use quorate_core::clock::{Epoch, Fence, Number};
use quorate_core::election::{self, Election};
use quorate_core::id::Id;
use quorate_core::mutex::{Central, Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Notice, Process};
use quorate_core::setting::{Group, Options, Setting, Timing};
use quorate_core::stack::Withdrawable;
use quorate_lab::explore::Exploration;
use quorate_lab::explore::goal::Goal;
use quorate_lab::network::Order;
use quorate_lab::stage::host::Company;
use quorate_lab::stage::wish::{Client, Times};
use quorate_lab::stage::{Bounds, Choice, Content, Rules, Stage};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Hello;

impl process::Message for Hello {
    fn kind(&self) -> &'static str {
        "hello"
    }
}

/// Everybody names itself its leader before anything has happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Vain(Id);

impl Election for Vain {
    const ENTRY: Entry = Entry::new("vain", Family::Election);
    fn new(setting: &Setting) -> Self {
        Vain(setting.me)
    }
}

impl Process for Vain {
    type Message = Hello;
    type Input = election::Input;
    type Output = election::Output;
    type Timer = Infallible;
    type Stable = ();
    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        if let Event::Start { .. } = event {
            effects.output(election::Output::Leader(self.0));
        }
    }
}

#[test]
fn what_is_broken_before_the_first_step_is_found() {
    let exploration = Exploration { n: 2, goals: Some(vec![Goal::SingleLeader]), ..Exploration::default() };
    let findings = exploration.run_election::<Vain>(&mut |_| {}).unwrap();
    let counterexample = findings.counterexample(Goal::SingleLeader).expect("two lead from the beginning");
    assert_eq!(counterexample.steps, Vec::<String>::new());
}

/// Who has been greeted in a former life enters whenever it likes; nobody else ever does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Reborn {
    other: Id,
    greeted: bool,
}

impl Mutex for Reborn {
    const ENTRY: Entry = Entry::new("reborn", Family::Mutex);
    fn new(setting: &Setting) -> Self {
        Reborn { other: setting.me.successor(setting.n()), greeted: false }
    }
}

impl Process for Reborn {
    type Message = Hello;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();
    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { saved, .. } => self.greeted = saved.is_some(),
            Event::Input(Input::Enter) if self.greeted => {
                effects.output(Output::Entered { fence: Fence::counted(Epoch::FIRST, Number::ZERO) });
            }
            Event::Input(Input::Enter) => effects.send(self.other, Hello),
            Event::Receive { .. } => effects.save(()),
            Event::Input(Input::Exit | Input::Observe(_)) | Event::Notice(_) => {}
            Event::Timeout(never) => match never {},
        }
    }
}

/// What arrives a second time tells the next life of a process what it told the former one.
#[test]
fn a_second_arrival_after_a_crash_orders_requests() {
    let bounds = Bounds { crashes: 1, restarts: 1, duplicates: 1, ..Bounds::default() };
    let goals = Some(vec![Goal::RequestOrder]);
    let exploration = Exploration { n: 2, bounds, goals, ..Exploration::default() };
    let findings = exploration.run_mutex::<Reborn>(&mut |_| {}).unwrap();
    let counterexample = findings.counterexample(Goal::RequestOrder).expect("it overtakes who greeted it");
    assert_eq!(counterexample.steps.len(), 6, "{:?}", counterexample.steps);
}

/// Who has not heard yet that somebody came back must not hear it after that one has crashed again.
#[test]
fn news_of_a_return_does_not_come_after_news_of_the_next_crash() {
    let group = Group::new(&Central::ENTRY, 2, 1, Timing::Asynchronous, Options::defaults(&Central::ENTRY)).unwrap();
    let company = Company { group, create: Withdrawable::<Central>::new, timed: false, drift: 0, with_resource: false };
    let bounds = Bounds { crashes: 2, restarts: 1, ..Bounds::default() };
    let rules = Rules {
        order: Order::Any,
        delay_bound: None,
        detector: true,
        sessions: false,
        stamped_pokes: true,
        times: Times::AtMost(1),
        coordinator: None,
        elects: false,
        absent: [].into(),
        bounds,
        causal: false,
        sealed: false,
    };
    let (mut stage, _) = Stage::<_, Client>::new(company, rules);
    for choice in [Choice::Crash(Id::new(2)), Choice::Restart(Id::new(2)), Choice::Crash(Id::new(2))] {
        stage.happen(choice);
    }
    let news: Vec<_> = stage.letters().iter().map(|(_, letter)| letter.content.clone()).collect();
    assert!(!news.contains(&Content::Notice(Notice::Trust(Id::new(2)))), "{news:?}");
}

/// Each later life of the first process enters at once, with a fence larger than the one that was saved; `SAVES_FIRST`
/// says whether it saves its own before it enters, or after that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Hasty<const SAVES_FIRST: bool>(Id);

impl<const SAVES_FIRST: bool> Mutex for Hasty<SAVES_FIRST> {
    const ENTRY: Entry = Entry::new("hasty", Family::Mutex);
    fn new(setting: &Setting) -> Self {
        Hasty(setting.me)
    }
}

impl<const SAVES_FIRST: bool> Process for Hasty<SAVES_FIRST> {
    type Message = Hello;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = Number;
    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        if let Event::Start { incarnation, saved } = event
            && incarnation > 1
            && self.0 == Id::new(1)
        {
            let number = saved.unwrap_or_default().next();
            if SAVES_FIRST {
                effects.save(number);
            }
            effects.output(Output::Entered { fence: Fence::counted(Epoch::FIRST, number) });
            if !SAVES_FIRST {
                effects.save(number);
            }
        }
    }
}

/// A crash may fall between two effects of the first step of a new life, as of any other.
#[test]
fn the_first_step_of_a_new_life_may_be_cut_short() {
    let bounds = Bounds { crashes: 2, restarts: 2, ..Bounds::default() };
    let exploration = Exploration { n: 2, bounds, goals: Some(vec![Goal::Fencing]), ..Exploration::default() };
    let right = exploration.run_mutex::<Hasty<true>>(&mut |_| {}).unwrap();
    assert!(right.complete && right.holds(Goal::Fencing));
    let wrong = exploration.run_mutex::<Hasty<false>>(&mut |_| {}).unwrap();
    let counterexample =
        wrong.counterexample(Goal::Fencing).expect("the fence of a life that saved nothing comes again");
    let steps = ["p1 crashes", "p1 restarts, and crashes after 1", "p1 restarts"];
    assert_eq!(counterexample.steps, steps);
}
