//! A detector beside a process, alone: every run of a few processes that say something now and then, while one of them
//! crashes and comes back, and messages take as long as they may.
//!
//! What is asked is what everything above takes for granted: nobody is suspected in a life that has been heard of and
//! is not over; verdicts alternate; and from wherever the run is, if nothing more goes wrong, the dead are suspected
//! and the living are not.

mod speaker;

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family};
use quorate_core::id::{Id, IdSet};
use quorate_core::process::{Effects, Event, Message, Notice, Process, Ticks};
use quorate_core::setting::{Group, Options, Recovering, Setting, Timing};
use quorate_core::stack::Detected;
use quorate_lab::network::Order;
use quorate_lab::stage::host::Company;
use quorate_lab::stage::wish::Times;
use quorate_lab::stage::{Bounds, Choice, Rules, Stage};
use serde::{Deserialize, Serialize};
use speaker::{Nothing, Say, Speaker, fingerprint};

/// A process that says in which life it is, when it begins one and when it is asked to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ear {
    me: Id,
    n: u32,
    life: u64,
    /// The latest life that was heard of.
    heard: BTreeMap<Id, u64>,
    suspected: IdSet,
    /// Whether somebody was suspected or trusted twice in a row.
    is_wrong: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Life(u64);

impl Message for Life {
    fn kind(&self) -> &'static str {
        "life"
    }
}

impl Process for Ear {
    type Message = Life;
    type Input = Say;
    type Output = Nothing;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, .. } => {
                self.life = incarnation;
                if incarnation > 1 {
                    effects.multicast(self.me.others(self.n), &Life(incarnation));
                }
            }
            Event::Input(Say) => effects.multicast(self.me.others(self.n), &Life(self.life)),
            // As channels are: deaf to who is suspected.
            Event::Receive { from, .. } if self.suspected.contains(from) => {}
            Event::Receive { from, message: Life(life) } => {
                let heard = self.heard.entry(from).or_insert(1);
                *heard = life.max(*heard);
            }
            Event::Notice(Notice::Suspect(id)) => self.is_wrong |= !self.suspected.insert(id),
            Event::Notice(Notice::Trust(id)) => self.is_wrong |= !self.suspected.remove(id),
            Event::Notice(Notice::Leader(_)) => {}
            Event::Timeout(never) => match never {},
        }
    }
}

type Subject = Detected<Ear>;

fn subject(setting: &Setting) -> Subject {
    let (me, n) = (setting.me, setting.n());
    let (heard, suspected) = (BTreeMap::new(), IdSet::new());
    Detected::around(setting, Ear { me, n, life: 0, heard, suspected, is_wrong: false })
}

/// Messages take up to `delay`, and are thought to take up to one tick.
fn stage(n: u32, times: u32, delay: Ticks, bounds: Bounds) -> Stage<Subject, Speaker> {
    drifting(n, times, delay, 0, 0, bounds)
}

/// The same with clocks that drift, and with a deadline that allows for missed beats.
fn drifting(n: u32, times: u32, delay: Ticks, drift: Ticks, missed: u64, bounds: Bounds) -> Stage<Subject, Speaker> {
    let entry = Entry::new("ears", Family::Mutex);
    let mut group = Group::clone(&Group::new(&entry, n, 1, Timing::Synchronous, Options::defaults(&entry)).unwrap());
    group.recovering = Some(Recovering { interval: 2, missed, ..Recovering::default() });
    let rules = Rules {
        order: Order::Any,
        delay_bound: Some(delay),
        detector: false,
        sessions: false,
        stamped_pokes: false,
        times: Times::AtMost(times),
        coordinator: None,
        elects: false,
        absent: Default::default(),
        bounds,
        causal: false,
        sealed: false,
    };
    Stage::new(Company { group: group.into(), create: subject, timed: true, drift, with_resource: false }, rules).0
}

/// What became of a search: in how many states something is wrong.
#[derive(Debug, Default)]
struct Found {
    states: usize,
    /// Who is suspected lives, in a life that was heard of.
    hasty: usize,
    /// A verdict was repeated.
    repeated: usize,
    /// In the end, a dead one is not suspected, or a living one is.
    unfinished: usize,
}

fn search(first: Stage<Subject, Speaker>) -> Found {
    let mut found = Found::default();
    let mut seen = HashSet::from([fingerprint(&first.situation())]);
    let mut frontier = vec![first];
    while let Some(stage) = frontier.pop() {
        found.states += 1;
        found.repeated += usize::from(living(&stage).any(|id| ear(&stage, id).is_wrong));
        found.hasty += usize::from(is_hasty(&stage));
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

fn ear(stage: &Stage<Subject, Speaker>, id: Id) -> &Ear {
    stage.host(id).process().process()
}

fn living(stage: &Stage<Subject, Speaker>) -> impl Iterator<Item = Id> {
    Id::all(stage.n()).filter(|id| stage.host(*id).is_alive())
}

fn is_hasty(stage: &Stage<Subject, Speaker>) -> bool {
    living(stage).any(|me| {
        let Ear { suspected, heard, .. } = ear(stage, me);
        // The first life of everybody is known from the beginning.
        let is_heard = |id: &Id| ear(stage, *id).life == heard.get(id).copied().unwrap_or(1);
        living(stage).any(|id| suspected.contains(id) && is_heard(&id))
    })
}

/// Everything arrives, and time passes: are the dead suspected then, and the living not?
fn ends_well(mut stage: Stage<Subject, Speaker>) -> bool {
    for _ in 0..40 {
        while !stage.letters().is_empty() {
            stage.happen(Choice::Deliver { place: 0, keep: false });
        }
        let choices = stage.choices();
        let timer = choices.iter().find(|choice| matches!(choice, Choice::Timeout(..)));
        let Some(next) = timer.or(choices.iter().find(|choice| matches!(choice, Choice::Tick))) else { break };
        stage.happen(next.clone());
    }
    let living: IdSet = living(&stage).collect();
    let is_right = |me: Id| {
        let suspected = &ear(&stage, me).suspected;
        Id::all(stage.n()).all(|id| id == me || living.contains(id) != suspected.contains(id))
    };
    living.iter().all(is_right)
}

#[test]
fn who_lives_is_not_suspected_and_who_is_dead_is() {
    for (n, times) in [(2, 1), (3, 0)] {
        let found = search(stage(n, times, 1, Bounds { crashes: 1, ..Bounds::default() }));
        assert!(found.states > 500, "{n}: {found:?}");
        assert_eq!((found.hasty, found.repeated, found.unfinished), (0, 0, 0), "{n}: {found:?}");
    }
}

/// Before it was missed, after, and in between: what others have heard of its new life counts.
#[test]
fn who_comes_back_is_not_suspected_because_of_its_former_life() {
    let found = search(stage(2, 1, 1, Bounds { crashes: 1, restarts: 1, ..Bounds::default() }));
    assert!(found.states > 1_000, "{found:?}");
    assert_eq!((found.hasty, found.repeated, found.unfinished), (0, 0, 0), "{found:?}");
}

/// The search finds what it is to find: messages are slower than they are thought to be.
#[test]
fn where_messages_are_late_the_living_are_suspected() {
    let found = search(stage(2, 0, 3, Bounds::default()));
    assert!(found.hasty > 0 && found.repeated == 0, "{found:?}");
}

/// Timers that run out a tick early or late: a beat comes late, unless the deadline allows for it.
#[test]
fn where_clocks_drift_a_deadline_that_allows_for_it_is_right() {
    let crash = Bounds { crashes: 1, ..Bounds::default() };
    let found = search(drifting(2, 0, 1, 1, 0, crash));
    assert!(found.hasty > 0 && found.repeated == 0, "{found:?}");
    let found = search(drifting(2, 0, 1, 1, 1, crash));
    assert!(found.states > 500, "{found:?}");
    assert_eq!((found.hasty, found.repeated, found.unfinished), (0, 0, 0), "{found:?}");
}
