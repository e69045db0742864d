//! The explorer against a search that shares nothing with it but the stage: the same states, the same steps, the same
//! length of the shortest run that breaks something.
//!
//! Here a state is a [`Situation`](quorate_lab::stage::Situation) and the monitor of one property, both as plain values
//! in a hash map: no interning, no fingerprints, no threads.

use std::collections::{BTreeSet, HashSet};

use quorate_core::catalog::{self, Entry, Family, Property, Visitor};
use quorate_core::detector::Detector;
use quorate_core::election::{Election, Ring};
use quorate_core::id::Id;
use quorate_core::mutex::Mutex;
use quorate_core::process::Process;
use quorate_core::setting::{Group, Options, Recovering, Timing};
use quorate_core::stack::{Elected, Rejoining, Withdrawable};
use quorate_core::trace::{Record, Recorded};
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{DEFAULT_TIMEOUTS, Exploration, Findings};
use quorate_lab::network::Order;
use quorate_lab::property::Monitor;
use quorate_lab::recovery::Beside;
use quorate_lab::stage::host::Company;
use quorate_lab::stage::wish::{Caller, Client, Free, Listener, Times};
use quorate_lab::stage::{Bounds, Choice, Rules, Stage};
use quorate_lab::world::Create;

/// What a search comes to.
#[derive(Debug, PartialEq, Eq)]
struct Searched {
    states: u64,
    transitions: u64,
    depth: u64,
    /// How many steps the shortest run has that breaks the goal.
    broken: Option<usize>,
}

/// What is searched: an algorithm, and what an exploration says.
struct Plain<'a> {
    exploration: &'a Exploration,
    goal: Goal,
}

impl Visitor for Plain<'_> {
    type Output = Searched;
    fn mutex<M: Mutex>(self) -> Searched {
        if self.exploration.recovery.is_some() {
            return self.search::<_, Client>(&M::ENTRY, Withdrawable::<Rejoining<M>>::new);
        }
        self.search::<_, Client>(&M::ENTRY, Withdrawable::<M>::new)
    }
    fn led<M: Mutex>(self) -> Searched {
        if self.exploration.recovery.is_some() {
            return self.search::<_, Client>(&M::ENTRY, Withdrawable::<Rejoining<Elected<Ring, M>>>::new);
        }
        self.mutex::<M>()
    }
    fn election<E: Election>(self) -> Searched {
        self.search::<_, Caller>(&E::ENTRY, E::new)
    }
    fn detector<D: Detector>(self) -> Searched {
        self.search::<_, Listener>(&D::ENTRY, D::new)
    }
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
    fn search<P, A>(self, entry: &'static Entry, create: Create<P>) -> Searched
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
fn assert_same(algorithm: &str, goal: Goal, exploration: &Exploration) {
    let exploration = Exploration { goals: Some(vec![goal]), threads: Some(1), ..exploration.clone() };
    let plain = catalog::visit(algorithm, Plain { exploration: &exploration, goal }).expect("the algorithm exists");
    let findings = exploration.run(algorithm, &mut |_| {}).expect("it can be explored");
    let found = explored(&findings, goal);
    println!("{algorithm:22} {goal:18} {plain:?}");
    assert_eq!(found.broken, plain.broken, "{algorithm}, {goal}, {exploration:?}");
    if plain.broken.is_none() {
        assert!(findings.complete);
        assert_eq!(found, plain, "{algorithm}, {goal}, {exploration:?}");
    }
}

fn of(n: u32) -> Exploration {
    Exploration { n, ..Exploration::default() }
}

fn within(n: u32, bounds: Bounds) -> Exploration {
    Exploration { n, bounds, ..Exploration::default() }
}

const MUTEX_GOALS: [Goal; 4] = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::RequestOrder, Goal::Fencing];
const ELECTION_GOALS: [Goal; 2] = [Goal::SingleLeader, Goal::Decided];

#[test]
fn mutual_exclusion_between_two_with_every_kind_of_fault() {
    let none = Bounds::default();
    let faults = [
        none,
        Bounds { pokes: 1, ..none },
        Bounds { losses: 1, ..none },
        Bounds { duplicates: 1, ..none },
        Bounds { withdrawals: 1, ..none },
        Bounds { crashes: 1, ..none },
        Bounds { crashes: 1, restarts: 1, ..none },
        Bounds { crashes: 2, restarts: 1, duplicates: 1, ..none },
    ];
    let most = faults[faults.len() - 1];
    let names =
        ["central", "token-ring", "suzuki-kasami", "lamport", "ricart-agrawala", "roucairol-carvalho", "maekawa"];
    for algorithm in names {
        for bounds in faults {
            for order in [Order::Any, Order::Fifo] {
                for detector in [false, true] {
                    // Nobody is told of crashes where there are none; and some have too many states for all at once.
                    let large = ["lamport", "roucairol-carvalho", "suzuki-kasami"].contains(&algorithm);
                    if (detector && bounds.crashes == 0) || (large && bounds == most) {
                        continue;
                    }
                    let exploration = Exploration { order: Some(order), detector: Some(detector), ..within(2, bounds) };
                    for goal in MUTEX_GOALS {
                        assert_same(algorithm, goal, &exploration);
                    }
                }
            }
        }
    }
}

#[test]
fn options_that_change_the_world() {
    let crash = Bounds { crashes: 1, ..Bounds::default() };
    for (algorithm, key, value) in [
        ("token-ring", "acknowledged", "yes"),
        ("token-ring", "rest", "yes"),
        ("ricart-agrawala", "answer", "once"),
        ("ricart-agrawala", "answer", "always"),
    ] {
        let options = vec![(key.into(), value.into())];
        for goal in MUTEX_GOALS {
            assert_same(algorithm, goal, &Exploration { options: options.clone(), ..within(2, crash) });
        }
    }
}

#[test]
fn mutual_exclusion_in_sessions() {
    let none = Bounds::default();
    for bounds in [
        none,
        Bounds { crashes: 1, ..none },
        Bounds { crashes: 1, restarts: 1, ..none },
        Bounds { crashes: 2, restarts: 1, ..none },
        Bounds { suspicions: 1, ..none },
        Bounds { crashes: 1, suspicions: 1, ..none },
        Bounds { suspicions: 2, ..none },
    ] {
        for algorithm in [
            "central",
            "token-ring",
            "suzuki-kasami",
            "ricart-agrawala",
            "lamport",
            "roucairol-carvalho",
            "maekawa-deadlock-free",
        ] {
            for goal in MUTEX_GOALS {
                assert_same(algorithm, goal, &Exploration { recovery: Some(Beside::Ring), ..within(2, bounds) });
            }
        }
    }
    let crash = Bounds { crashes: 1, ..none };
    assert_same(
        "ricart-agrawala",
        Goal::MutualExclusion,
        &Exploration { recovery: Some(Beside::Ring), ..within(3, crash) },
    );
}

/// What the resource answers depends on everybody, but is a part of the state like any other.
#[test]
fn a_resource_that_checks_fences() {
    let writes = Bounds { writes: 2, ..Bounds::default() };
    for algorithm in ["central", "token-ring", "suzuki-kasami", "ricart-agrawala", "lamport", "maekawa-deadlock-free"] {
        for sealed in [false, true] {
            for goal in [Goal::MutualExclusion, Goal::ResourceSafety, Goal::NoLostUpdate] {
                let recovery = Some(Beside::Ring);
                for bounds in [
                    Bounds { suspicions: 1, ..writes },
                    Bounds { crashes: 1, ..writes },
                    Bounds { withdrawals: 1, ..writes },
                ] {
                    assert_same(algorithm, goal, &Exploration { recovery, sealed, ..within(2, bounds) });
                }
                assert_same(algorithm, goal, &Exploration { sealed, ..within(2, writes) });
            }
        }
    }
}

#[test]
fn mutual_exclusion_that_keeps_time_or_votes() {
    let timeouts = |timeouts| Bounds { timeouts: Some(timeouts), ..Bounds::default() };
    for goal in MUTEX_GOALS {
        assert_same("majority", goal, &within(2, timeouts(1)));
        assert_same("maekawa-deadlock-free", goal, &of(2));
        assert_same("maekawa-deadlock-free", goal, &Exploration { times: Times::AtMost(2), ..of(2) });
    }
}

#[test]
fn mutual_exclusion_among_three() {
    for algorithm in ["central", "token-ring", "suzuki-kasami", "maekawa", "ricart-agrawala", "lamport"] {
        assert_same(algorithm, Goal::MutualExclusion, &of(3));
    }
    for algorithm in ["central", "token-ring", "suzuki-kasami", "maekawa"] {
        assert_same(algorithm, Goal::RequestOrder, &of(3));
        assert_same(algorithm, Goal::DeadlockFreedom, &of(3));
    }
    let fifo = Exploration { order: Some(Order::Fifo), ..of(3) };
    assert_same("ricart-agrawala", Goal::MutualExclusion, &fifo);
    assert_same("maekawa-deadlock-free", Goal::MutualExclusion, &of(3));
    assert_same("central", Goal::RequestOrder, &within(3, Bounds { pokes: 2, ..Bounds::default() }));
    let crashes = Bounds { crashes: 1, restarts: 1, losses: 1, ..Bounds::default() };
    assert_same("central", Goal::MutualExclusion, &Exploration { detector: Some(true), ..within(3, crashes) });
}

#[test]
fn elections() {
    let crash = Bounds { crashes: 1, ..Bounds::default() };
    assert_same("bully", Goal::SingleLeader, &of(3));
    let back = Bounds { crashes: 1, restarts: 1, ..Bounds::default() };
    for goal in ELECTION_GOALS {
        for algorithm in ["chang-roberts", "ring", "bully"] {
            for (order, bounds) in [(Order::Any, Bounds::default()), (Order::Fifo, crash)] {
                assert_same(algorithm, goal, &Exploration { order: Some(order), ..within(2, bounds) });
                assert_same(algorithm, goal, &Exploration { detector: Some(true), ..within(2, bounds) });
            }
            assert_same(algorithm, goal, &Exploration { detector: Some(true), ..within(2, back) });
            assert_same(algorithm, goal, &Exploration { absent: vec![Id::new(3)], ..of(3) });
        }
        assert_same("chang-roberts", goal, &of(3));
        assert_same("ring", goal, &of(3));
        for timing in [Timing::Asynchronous, Timing::Synchronous] {
            assert_same("bully", goal, &Exploration { timing: Some(timing), ..within(2, crash) });
            let absent = vec![Id::new(2)];
            assert_same("bully", goal, &Exploration { timing: Some(timing), absent, ..within(2, back) });
        }
    }
}

#[test]
fn failure_detection() {
    let crash = Bounds { crashes: 1, timeouts: Some(3), ..Bounds::default() };
    let timing = Some(Timing::Asynchronous);
    for goal in [Goal::Accuracy, Goal::Completeness] {
        assert_same("heartbeat", goal, &Exploration { timing, ..within(2, crash) });
    }
    // News of a crash grow older, too, until those of the return take their place.
    let back = Bounds { crashes: 1, restarts: 1, ..Bounds::default() };
    for delay_bound in [1, 2] {
        let detector = Some(true);
        let bully = Exploration { detector, delay_bound, ..within(2, back) };
        assert_same("bully", Goal::SingleLeader, &bully);
        let options = vec![("interval".into(), "1".into())];
        let heartbeat = Exploration { detector, delay_bound, options, ..within(2, back) };
        assert_same("heartbeat", Goal::Accuracy, &heartbeat);
    }
}
