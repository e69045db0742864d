//! Timers: set, replaced, cancelled, drawn from a range, and late or early where clocks drift.

use std::collections::BTreeSet;

use quorate_core::catalog::{Entry, Family};
use quorate_core::election::{Election, Input, Output};
use quorate_core::id::Id;
use quorate_core::process::{self, Effects, Event, Process, Ticks};
use quorate_core::setting::Setting;
use quorate_core::trace::{Record, What};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::simulate::Fault;
use quorate_lab::time::DELTA;
use serde::{Deserialize, Serialize};

use crate::chatter::{chatter, counts, listen};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sleeper;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Timer {
    Plain,
    Replaced,
    Cancelled,
    SetAgain,
    Drawn(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Silence;

impl process::Message for Silence {
    fn kind(&self) -> &'static str {
        "silence"
    }
}

impl Election for Sleeper {
    const ENTRY: Entry = Entry::new("sleeper", Family::Election);

    fn new(_: &Setting) -> Self {
        Sleeper
    }
}

impl Process for Sleeper {
    type Message = Silence;
    type Input = Input;
    type Output = Output;
    type Timer = Timer;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation: 2, .. } => {}
            Event::Start { .. } => {
                effects.cancel_timer(Timer::Plain);
                effects.set_timer(Timer::Plain, 20..=20);
                effects.set_timer(Timer::Replaced, 10..=10);
                effects.set_timer(Timer::Replaced, 30..=30);
                effects.set_timer(Timer::Cancelled, 15..=15);
                effects.cancel_timer(Timer::Cancelled);
                // Replaced by an earlier one: it must not run out again at the later time.
                effects.set_timer(Timer::SetAgain, 50..=50);
                effects.set_timer(Timer::SetAgain, 40..=40);
                for number in 0..200 {
                    effects.set_timer(Timer::Drawn(number), 100..=109);
                }
            }
            Event::Timeout(Timer::Plain) => effects.set_timer(Timer::SetAgain, 0..=0),
            Event::Timeout(_) | Event::Input(Input::Call) | Event::Notice(_) | Event::Receive { .. } => {}
        }
    }
}

fn run_out(seed: u64) -> Vec<(Ticks, String)> {
    run_out_with(seed, vec![])
}

fn run_out_with(seed: u64, faults: Vec<Fault>) -> Vec<(Ticks, String)> {
    let mut timers = Vec::new();
    let mut keep = |record: &Record| {
        if let What::TimedOut { timer } = &record.what {
            timers.push((record.at, timer.to_string()));
        }
    };
    let spectators = Spectators { records: Some(&mut keep), ..Spectators::default() };
    let experiment = Experiment { n: 1, seed, faults, ..Experiment::default() };
    experiment.run_election::<Sleeper>(spectators).expect("the experiment is possible");
    timers
}

#[test]
fn setting_replaces_and_cancelling_cancels() {
    let timers = run_out(1).into_iter().filter(|(at, _)| *at < 100).collect::<Vec<_>>();
    let expected = [(20, "plain"), (20, "set-again"), (30, "replaced")];
    assert_eq!(timers, expected.map(|(at, timer)| (at, timer.to_string())));
}

#[test]
fn a_range_is_drawn_from_by_the_seed() {
    let drawn = |seed| run_out(seed).into_iter().filter(|(at, _)| *at >= 100).collect::<Vec<_>>();
    assert_eq!(drawn(1).len(), 200);
    assert_eq!(drawn(1).into_iter().map(|(at, _)| at).collect::<BTreeSet<_>>(), (100..=109).collect());
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn a_life_that_sets_no_timers_has_none() {
    let one = Id::new(1);
    assert_eq!(run_out_with(1, vec![Fault::Crash(one, 25), Fault::Restart(one, 26)]).len(), 2);
}

/// The time between two numbers, at each process of a run.
fn intervals(drift_ppm: u32, seed: u64) -> Vec<BTreeSet<Ticks>> {
    let (_, records) = listen(&Experiment { drift_ppm, seed, ..chatter(8, 5) });
    let intervals = |process| {
        let times = counts(&records, process);
        assert_eq!(times.len(), 5);
        std::iter::once(times[0]).chain(times.windows(2).map(|pair| pair[1] - pair[0])).collect()
    };
    (1..=8).map(intervals).collect()
}

#[test]
fn clocks_drift_each_at_its_own_pace_within_the_limit() {
    assert!(intervals(0, 1).iter().all(|interval| interval.iter().eq(&[DELTA])));
    for seed in 1..=10 {
        let intervals = intervals(1000, seed);
        assert!(intervals.iter().all(|interval| interval.len() == 1), "a clock keeps its pace: {intervals:?}");
        let paces: BTreeSet<Ticks> = intervals.into_iter().flatten().collect();
        assert!(paces.iter().all(|&pace| pace.abs_diff(DELTA) <= 1000), "{paces:?}");
        assert!(paces.first() < Some(&DELTA) && paces.last() > Some(&DELTA) && paces.len() > 5, "{paces:?}");
    }
}

#[test]
fn messages_do_not_drift() {
    let (_, records) = listen(&Experiment { drift_ppm: 500_000, ..chatter(2, 5) });
    assert!(crate::chatter::words(&records).iter().all(|word| word.arrived == [word.at + DELTA]));
}
