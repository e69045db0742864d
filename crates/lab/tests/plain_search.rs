//! The explorer against a search that shares nothing with it but the stage: the same states, the same steps, the same
//! length of the shortest run that breaks something.

mod plain;

use quorate_core::catalog::{self, Visitor};
use quorate_core::detector::Detector;
use quorate_core::election::{Election, Ring};
use quorate_core::id::Id;
use quorate_core::mutex::Mutex;
use quorate_core::setting::Timing;
use quorate_core::stack::{Elected, Rejoining, Withdrawable};
use quorate_lab::explore::Exploration;
use quorate_lab::explore::goal::Goal;
use quorate_lab::network::Order;
use quorate_lab::recovery::Beside;
use quorate_lab::stage::Bounds;
use quorate_lab::stage::wish::{Caller, Client, Listener, Times};

use plain::{Plain, Searched};

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

fn assert_same(algorithm: &str, goal: Goal, exploration: &Exploration) {
    let exploration = Exploration { goals: Some(vec![goal]), threads: Some(1), ..exploration.clone() };
    let plain = catalog::visit(algorithm, Plain { exploration: &exploration, goal }).expect("the algorithm exists");
    let findings = exploration.run(algorithm, &mut |_| {}).expect("it can be explored");
    plain::assert_same(algorithm, goal, &findings, &plain);
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
