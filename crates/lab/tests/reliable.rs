//! Reliable channels, alone: every run of two processes that number what they say to each other, on a network that
//! loses, repeats and reorders, while one of them crashes and comes back.
//!
//! What is asked is what everything above takes for granted: what arrives, arrives once and in order since the last
//! notice; and from wherever the run is, if nothing more goes wrong, everything that was said arrives.

mod speaker;

use std::collections::HashSet;
use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family};
use quorate_core::id::Id;
use quorate_core::process::{Effects, Event, Message, Notice, Process};
use quorate_core::setting::{Group, Options, Setting, Timing};
use quorate_core::stack::{Limits, Reliable};
use quorate_lab::network::Order;
use quorate_lab::stage::host::Company;
use quorate_lab::stage::wish::Times;
use quorate_lab::stage::{Bounds, Choice, Rules, Stage};
use serde::{Deserialize, Serialize};
use speaker::{Nothing, Say, Speaker, fingerprint};

/// A process that numbers what it says to the other, anew whenever it is told that the other has crashed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Numbers {
    other: Id,
    said: u64,
    heard: u64,
    /// Whether something came twice, not in order, or not at all.
    is_wrong: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Number(u64);

impl Message for Number {
    fn kind(&self) -> &'static str {
        "number"
    }
}

impl Numbers {
    fn new(setting: &Setting) -> Numbers {
        let other = if setting.me == Id::new(1) { Id::new(2) } else { Id::new(1) };
        Numbers { other, said: 0, heard: 0, is_wrong: false }
    }
}

impl Process for Numbers {
    type Message = Number;
    type Input = Say;
    type Output = Nothing;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Input(Say) => {
                self.said += 1;
                effects.send(self.other, Number(self.said));
            }
            Event::Receive { message: Number(number), .. } => {
                self.is_wrong |= number != self.heard + 1;
                self.heard = number;
            }
            Event::Notice(Notice::Suspect(_)) => (self.said, self.heard) = (0, 0),
            Event::Start { .. } | Event::Notice(_) | Event::Timeout(_) => {}
        }
    }
}

/// What a process of this test is, with or without channels around it.
trait Numbering: Process<Input = Say, Output = Nothing> {
    fn create(setting: &Setting) -> Self;
    fn numbers(&self) -> &Numbers;
}

impl Numbering for Numbers {
    fn create(setting: &Setting) -> Self {
        Numbers::new(setting)
    }

    fn numbers(&self) -> &Numbers {
        self
    }
}

impl Numbering for Reliable<Numbers> {
    fn create(setting: &Setting) -> Self {
        Reliable::around(setting, Numbers::new(setting))
    }

    fn numbers(&self) -> &Numbers {
        self.process()
    }
}

/// How often a timer runs out in a run. Further ones are left to the continuation that ends well.
const TIMEOUTS: u32 = 1;

fn stage<P: Numbering>(times: u32, speaks: Option<Id>, bounds: Bounds) -> Stage<P, Speaker> {
    stage_of(P::create, times, speaks, bounds)
}

fn stage_of<P: Numbering>(
    create: fn(&Setting) -> P,
    times: u32,
    speaks: Option<Id>,
    bounds: Bounds,
) -> Stage<P, Speaker> {
    let entry = Entry::new("numbers", Family::Mutex);
    let group = Group::new(&entry, 2, 1, Timing::Asynchronous, Options::defaults(&entry)).unwrap();
    let rules = Rules {
        order: Order::Any,
        delay_bound: None,
        detector: false,
        sessions: false,
        stamped_pokes: false,
        times: Times::AtMost(times),
        // Who coordinates does not speak.
        coordinator: speaks.map(|id| if id == Id::new(1) { Id::new(2) } else { Id::new(1) }),
        elects: false,
        absent: Default::default(),
        bounds: Bounds { timeouts: Some(1_000), ..bounds },
        causal: false,
        sealed: false,
    };
    Stage::new(Company { group, create, timed: false, drift: 0, with_resource: false }, rules).0
}

/// What became of a search.
#[derive(Debug, Default)]
struct Found {
    states: usize,
    wrong: usize,
    /// From where not everything arrives, although nothing more goes wrong.
    unfinished: usize,
}

fn search<P: Numbering>(first: Stage<P, Speaker>) -> Found {
    search_up_to(TIMEOUTS, first)
}

fn search_up_to<P: Numbering>(most: u32, first: Stage<P, Speaker>) -> Found {
    let mut found = Found::default();
    let mut seen = HashSet::from([fingerprint(&(first.situation(), 0))]);
    let mut frontier = vec![(first, 0)];
    while let Some((stage, timeouts)) = frontier.pop() {
        found.states += 1;
        let both = [Id::new(1), Id::new(2)].map(|id| stage.host(id).process().numbers().is_wrong);
        found.wrong += usize::from(both.contains(&true));
        found.unfinished += usize::from(!ends_well(stage.clone()));
        for choice in stage.choices() {
            let timeouts = timeouts + u32::from(matches!(choice, Choice::Timeout(..)));
            let mut next = stage.clone();
            next.happen(choice);
            if timeouts <= most && seen.insert(fingerprint(&(next.situation(), timeouts))) {
                frontier.push((next, timeouts));
            }
        }
    }
    found
}

/// Everybody who is dead comes back, everything arrives, and every timer runs out, until nothing is left to do: has
/// each heard all that the other said?
fn ends_well<P: Numbering>(mut stage: Stage<P, Speaker>) -> bool {
    for _ in 0..20 {
        if let Some(restart) = stage.choices().into_iter().find(|choice| matches!(choice, Choice::Restart(_))) {
            stage.happen(restart);
        }
        while !stage.letters().is_empty() {
            stage.happen(Choice::Deliver { place: 0, keep: false });
        }
        let timer = stage.choices().into_iter().find(|choice| matches!(choice, Choice::Timeout(..)));
        let Some(timer) = timer else { break };
        stage.happen(timer);
    }
    let [one, other] = [Id::new(1), Id::new(2)].map(|id| stage.host(id).process().numbers().clone());
    let alive = [Id::new(1), Id::new(2)].iter().all(|id| stage.host(*id).is_alive());
    let settled = stage.letters().is_empty() && one.said == other.heard && other.said == one.heard;
    // Who is dead for good hears nothing.
    !alive || settled
}

fn bad() -> Bounds {
    Bounds { losses: 2, duplicates: 1, crashes: 1, restarts: 1, ..Bounds::default() }
}

#[test]
fn three_messages_arrive_once_and_in_order_whatever_is_lost_or_repeated() {
    let bounds = Bounds { crashes: 0, restarts: 0, ..bad() };
    let found = search(stage::<Reliable<Numbers>>(3, Some(Id::new(1)), bounds));
    println!("{found:?}");
    assert!(found.states > 1_000 && found.wrong == 0 && found.unfinished == 0, "{found:?}");
}

#[test]
fn who_comes_back_begins_anew_and_both_know() {
    let found = search(stage::<Reliable<Numbers>>(1, None, bad()));
    println!("{found:?}");
    assert!(found.states > 1_000 && found.wrong == 0 && found.unfinished == 0, "{found:?}");
}

/// All of it at once, with fewer timeouts: more take minutes, `./soak explore`.
#[test]
fn three_messages_two_losses_a_second_arrival_and_a_return() {
    let given = std::env::var("QUORATE_TIMEOUTS").ok();
    let timeouts = given.map_or(0, |timeouts| timeouts.parse().expect("QUORATE_TIMEOUTS is a number of timeouts"));
    let found = search_up_to(timeouts, stage::<Reliable<Numbers>>(3, Some(Id::new(1)), bad()));
    println!("{found:?}");
    assert!(found.states > 1_000 && found.wrong == 0 && found.unfinished == 0, "{found:?}");
}

/// One message at a time, and the others wait: with room for three; and for two, where a third ends the session.
#[test]
fn limits_are_kept_and_who_exceeds_them_begins_anew() {
    fn roomy(setting: &Setting) -> Reliable<Numbers> {
        Reliable::within(
            Limits { in_flight: 1, unacknowledged: 3, ..Limits::default() },
            setting,
            Numbers::new(setting),
        )
    }
    fn narrow(setting: &Setting) -> Reliable<Numbers> {
        Reliable::within(
            Limits { in_flight: 1, unacknowledged: 2, ..Limits::default() },
            setting,
            Numbers::new(setting),
        )
    }
    for create in [roomy, narrow] {
        let bounds = Bounds { crashes: 0, restarts: 0, losses: 1, ..bad() };
        let found = search(stage_of(create, 3, Some(Id::new(1)), bounds));
        println!("{found:?}");
        assert!(found.states > 100 && found.wrong == 0 && found.unfinished == 0, "{found:?}");
    }
}

/// The search finds what it is to find: without the channels, every one of these breaks it.
#[test]
fn without_channels_each_fault_is_found() {
    let none = Bounds::default();
    let alone = |bounds| search(stage::<Numbers>(3, Some(Id::new(1)), bounds));
    let reordered = alone(none);
    assert!(reordered.wrong > 0, "{reordered:?}");
    let lost = alone(Bounds { losses: 1, ..none });
    assert!(lost.unfinished > 0, "{lost:?}");
    let repeated = alone(Bounds { duplicates: 1, ..none });
    assert!(repeated.wrong > reordered.wrong, "{repeated:?}");
    let back = search(stage::<Numbers>(1, None, Bounds { crashes: 1, restarts: 1, ..none }));
    assert!(back.unfinished > 0, "{back:?}");
}
