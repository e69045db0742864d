//! Beginning together, alone: every run of two processes that are switched on at any time, with heartbeats,
//! while one of them may crash.
//!
//! What is asked is what a first life takes for granted: who begins with what only one may begin with has not been
//! given up by anybody who has begun; and from wherever the run is, if nothing more goes wrong, whoever is on begins.

mod speaker;

use std::collections::HashSet;
use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family};
use quorate_core::id::{Id, IdSet};
use quorate_core::process::{Effects, Event, Message, Notice, Process, perform};
use quorate_core::setting::{Group, Options, Recovering, Setting, Timing};
use quorate_core::stack::{Detected, Gathered};
use quorate_lab::network::Order;
use quorate_lab::stage::host::Company;
use quorate_lab::stage::wish::Times;
use quorate_lab::stage::{Bounds, Choice, Rules, Stage};
use serde::{Deserialize, Serialize};
use speaker::{Nothing, Say, Speaker, fingerprint};

/// A process that only knows in which life it is, and whom it was told has crashed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Born {
    life: Option<u64>,
    suspected: IdSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Silence;

impl Message for Silence {
    fn kind(&self) -> &'static str {
        "silence"
    }
}

impl Process for Born {
    type Message = Silence;
    type Input = Say;
    type Output = Nothing;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, _: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, .. } => self.life = Some(incarnation),
            Event::Notice(Notice::Suspect(id)) => _ = self.suspected.insert(id),
            Event::Notice(Notice::Trust(id)) => _ = self.suspected.remove(id),
            Event::Notice(Notice::Leader(_)) | Event::Input(Say) | Event::Receive { .. } => {}
            Event::Timeout(never) => match never {},
        }
    }
}

type Gatherer = Detected<Gathered<Born>>;

/// A process that begins its first life when it is switched on, which is what its application asks for. Before that it
/// hears nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Switched {
    is_on: bool,
    process: Gatherer,
}

impl Process for Switched {
    type Message = <Gatherer as Process>::Message;
    type Input = Say;
    type Output = Nothing;
    type Timer = <Gatherer as Process>::Timer;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        let event = match event {
            Event::Start { incarnation: 1, .. } => return,
            Event::Input(Say) if self.is_on => return,
            Event::Input(Say) => Event::Start { incarnation: 1, saved: None },
            Event::Start { incarnation, saved } => Event::Start { incarnation, saved },
            _ if !self.is_on => return,
            Event::Receive { from, message } => Event::Receive { from, message },
            Event::Notice(notice) => Event::Notice(notice),
            Event::Timeout(timer) => Event::Timeout(timer),
        };
        self.is_on = true;
        let mut wanted = Effects::<Gatherer>::new(effects.me());
        perform(&mut self.process, event, &mut wanted);
        effects.adopt(&mut wanted, |message| message, |timer| timer, |_, ()| {}, |_, nothing| match nothing {});
    }
}

fn subject(setting: &Setting) -> Switched {
    let process = Detected::around(setting, Gathered::around(setting, Born::default()));
    Switched { is_on: false, process }
}

fn stage(n: u32, gather: bool, bounds: Bounds) -> Stage<Switched, Speaker> {
    let entry = Entry::new("gatherers", Family::Mutex);
    let mut group = Group::clone(&Group::new(&entry, n, 1, Timing::Synchronous, Options::defaults(&entry)).unwrap());
    group.recovering = Some(Recovering { interval: 2, gather, ..Recovering::default() });
    let rules = Rules {
        order: Order::Any,
        delay_bound: Some(1),
        detector: false,
        sessions: false,
        stamped_pokes: false,
        times: Times::AtMost(1),
        coordinator: None,
        elects: false,
        absent: Default::default(),
        bounds,
        causal: false,
        sealed: false,
    };
    Stage::new(Company { group: group.into(), create: subject, timed: true, drift: 0, with_resource: false }, rules).0
}

/// What became of a search.
#[derive(Debug, Default)]
struct Found {
    states: usize,
    /// In so many of them all have begun together.
    together: usize,
    /// Somebody is in its first life whom one that has begun takes for dead.
    given_up: usize,
    /// In the end, one that is on has not begun.
    unfinished: usize,
}

fn search(first: Stage<Switched, Speaker>) -> Found {
    let mut found = Found::default();
    let mut seen = HashSet::from([fingerprint(&first.situation())]);
    let mut frontier = vec![first];
    while let Some(stage) = frontier.pop() {
        found.states += 1;
        found.together += usize::from(Id::all(stage.n()).all(|id| born(&stage, id).life == Some(1)));
        found.given_up += usize::from(is_given_up(&stage));
        found.unfinished += usize::from(!ends_well(stage.clone()));
        for choice in stage.choices() {
            let mut next = stage.clone();
            next.happen(choice);
            if seen.insert(fingerprint(&next.situation())) {
                frontier.push(next);
            }
        }
    }
    println!("{found:?}");
    found
}

fn born(stage: &Stage<Switched, Speaker>, id: Id) -> &Born {
    stage.host(id).process().process.process().process()
}

fn living(stage: &Stage<Switched, Speaker>) -> impl Iterator<Item = Id> {
    Id::all(stage.n()).filter(|id| stage.host(*id).is_alive())
}

fn is_given_up(stage: &Stage<Switched, Speaker>) -> bool {
    living(stage).filter(|&id| born(stage, id).life == Some(1)).any(|first| {
        living(stage).any(|other| {
            let Born { life, suspected } = born(stage, other);
            life.is_some() && suspected.contains(first)
        })
    })
}

/// Everything arrives, and time passes: has everybody begun then who is on?
fn ends_well(mut stage: Stage<Switched, Speaker>) -> bool {
    for _ in 0..40 {
        while !stage.letters().is_empty() {
            stage.happen(Choice::Deliver { place: 0, keep: false });
        }
        let choices = stage.choices();
        let timer = choices.iter().find(|choice| matches!(choice, Choice::Timeout(..)));
        let Some(next) = timer.or(choices.iter().find(|choice| matches!(choice, Choice::Tick))) else { break };
        stage.happen(next.clone());
    }
    let is_right = |id: Id| !stage.host(id).process().is_on || born(&stage, id).life.is_some();
    living(&stage).all(is_right)
}

#[test]
fn whenever_they_are_switched_on_nobody_who_was_given_up_begins_a_first_life() {
    let none = Bounds::default();
    for bounds in [none, Bounds { crashes: 1, ..none }] {
        let found = search(stage(2, true, bounds));
        assert!(found.states > 1_000 && found.together > 0, "{bounds:?}: {found:?}");
        assert_eq!((found.given_up, found.unfinished), (0, 0), "{bounds:?}: {found:?}");
    }
}

/// The search finds what it is to find.
#[test]
fn who_does_not_wait_for_the_others_begins_when_they_have_given_it_up() {
    let found = search(stage(2, false, Bounds::default()));
    assert!(found.given_up > 0 && found.unfinished == 0, "{found:?}");
}
