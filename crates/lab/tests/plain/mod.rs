//! A search that shares nothing with the explorer but the stage.
//!
//! A state is a [`Situation`](quorate_lab::stage::Situation) and the monitor of one property, both as plain values in a
//! hash map: no interning, no fingerprints, no threads.

use std::collections::{BTreeSet, HashSet};

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::id::Id;
use quorate_core::process::Process;
use quorate_core::setting::{Group, Options, Recovering, Timing};
use quorate_core::trace::{Record, Recorded};
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{DEFAULT_TIMEOUTS, Exploration, Findings};
use quorate_lab::network::Order;
use quorate_lab::property::Monitor;
use quorate_lab::stage::host::Company;
use quorate_lab::stage::wish::Free;
use quorate_lab::stage::{Bounds, Choice, Rules, Stage};
use quorate_lab::world::Create;

/// What a search comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Searched {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) depth: u64,
    /// How many steps the shortest run has that breaks the goal.
    pub(crate) broken: Option<usize>,
}

/// What is searched: an algorithm, and what an exploration says.
pub(crate) struct Plain<'a> {
    pub(crate) exploration: &'a Exploration,
    pub(crate) goal: Goal,
}

impl Plain<'_> {
    fn rules(&self, entry: &Entry) -> Rules {
        let Exploration { bounds, times, order, absent, detector, delay_bound, recovery, .. } =
            self.exploration.clone();
        let (timed, recovery) = (self.timing(entry) == Timing::Synchronous, recovery.is_some());
        Rules {
            order: order.unwrap_or(if entry.assumptions.fifo || recovery { Order::Fifo } else { Order::Any }),
            delay_bound: (timed && !recovery).then_some(delay_bound),
            detector: detector.unwrap_or(entry.assumptions.detector || recovery),
            sessions: recovery,
            stamped_pokes: !self.exploration.unstamped_pokes,
            times,
            coordinator: entry.coordinator,
            elects: entry.family == Family::Election,
            absent: absent.into_iter().collect::<BTreeSet<_>>(),
            bounds: Bounds { timeouts: bounds.timeouts.or((!timed).then_some(DEFAULT_TIMEOUTS)), ..bounds },
            causal: self.goal == Goal::RequestOrder || bounds.pokes > 0,
            sealed: self.exploration.sealed,
        }
    }

    fn timing(&self, entry: &Entry) -> Timing {
        let assumed = if entry.assumptions.synchronous { Timing::Synchronous } else { Timing::Asynchronous };
        self.exploration.timing.unwrap_or(assumed)
    }

    /// Breadth first. Request order is watched by a monitor that knows letters by name: the situation has the same
    /// knowledge without the names, so that monitor is carried along but is no part of what makes two states differ.
    pub(crate) fn search<P, A>(self, entry: &'static Entry, create: Create<P>) -> Searched
    where
        P: Process<Input: Recorded, Output: Recorded>,
        A: Free<P>,
    {
        let options = self.exploration.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let options = Options::new(entry, options).expect("the options are right");
        let entry = &if self.exploration.recovery.is_some() { *entry } else { entry.with(&options) };
        let group = Group::new(entry, self.exploration.n, self.exploration.delay_bound, self.timing(entry), options);
        let recovering = self.exploration.recovery.map(Recovering::with);
        let group = group.and_then(|group| group.recovering(entry, recovering));
        let rules = self.rules(entry);
        let company = Company {
            group: group.expect("the group is right"),
            create,
            timed: rules.delay_bound.is_some(),
            drift: 0,
            with_resource: rules.bounds.writes > 0,
        };
        let (stage, records) = Stage::<P, A>::new(company, rules);
        let mut monitor = self.goal.property().map(|property| Monitor::new(property, stage.n()));
        observe(&mut monitor, &records);
        let key = |stage: &Stage<P, A>, monitor: &Option<Monitor>| {
            (stage.situation(), monitor.clone().filter(|monitor| monitor.property() != Property::RequestOrder))
        };
        let mut visited = HashSet::from([key(&stage, &monitor)]);
        let mut level = vec![(stage, monitor)];
        let mut searched = Searched { states: 1, transitions: 0, depth: 0, broken: None };
        for depth in 0.. {
            let mut next = Vec::new();
            for (stage, monitor) in &level {
                if stage.is_quiet() && self.is_broken_at_the_end(stage, monitor) {
                    searched.broken.get_or_insert(depth);
                }
                for choice in distinct_choices(stage) {
                    let (mut stage, mut monitor) = (stage.clone(), monitor.clone());
                    let records = stage.happen(choice);
                    searched.transitions += 1;
                    if observe(&mut monitor, &records) {
                        searched.broken.get_or_insert(depth + 1);
                    }
                    if visited.insert(key(&stage, &monitor)) {
                        next.push((stage, monitor));
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            searched.depth += 1;
            level = next;
        }
        searched.states = visited.len() as u64;
        searched
    }

    fn is_broken_at_the_end<P, A>(&self, stage: &Stage<P, A>, monitor: &Option<Monitor>) -> bool
    where
        P: Process<Input: Recorded, Output: Recorded>,
        A: Free<P>,
    {
        match monitor {
            // Who follows the dead, and is not told, calls again when it needs a leader: it is not over.
            Some(Monitor::Decided(watch)) if !stage.rules().detector && watch.names_the_dead() => false,
            Some(monitor) => monitor.end(0).is_some(),
            None => Id::all(stage.n()).any(|id| stage.host(id).is_waiting()),
        }
    }
}

fn observe(monitor: &mut Option<Monitor>, records: &[Record]) -> bool {
    let seen = |monitor: &mut Monitor| records.iter().filter(|record| monitor.observe(record).is_some()).count() > 0;
    monitor.as_mut().is_some_and(seen)
}

/// What may happen next, where that an equal letter arrives is the same.
fn distinct_choices<P, A>(stage: &Stage<P, A>) -> Vec<Choice<P>>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    let letters = stage.letters();
    let is_first = |place: usize| !letters[..place].iter().any(|(_, other)| *other == letters[place].1);
    let is_distinct = |choice: &Choice<P>| match *choice {
        Choice::Deliver { place, .. } | Choice::Lose(place) => is_first(place),
        _ => true,
    };
    let choices = stage.choices().into_iter().filter(|choice| match choice {
        Choice::CutShort(choice, _) => is_distinct(choice),
        choice => is_distinct(choice),
    });
    choices.collect()
}

fn explored(findings: &Findings, goal: Goal) -> Searched {
    Searched {
        states: findings.states,
        transitions: findings.transitions,
        depth: findings.depth,
        broken: findings.counterexample(goal).map(|counterexample| counterexample.steps.len()),
    }
}

/// Both searches come to the same. The explorer ends when all that is asked is broken, so the numbers of states are
/// compared where the goal holds, and the length of the shortest run where it does not.
pub(crate) fn assert_same(name: &str, goal: Goal, findings: &Findings, plain: &Searched) {
    let found = explored(findings, goal);
    println!("{name:22} {goal:18} {plain:?}");
    assert_eq!(found.broken, plain.broken, "{name}, {goal}, {:?}", findings.bounds);
    if plain.broken.is_none() {
        assert!(findings.complete);
        assert_eq!(found, *plain, "{name}, {goal}, {:?}", findings.bounds);
    }
}
