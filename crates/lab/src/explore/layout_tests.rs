//! Nothing that a search answers depends on how it is laid out: not on hashes, not on the order in which things are
//! numbered, not on how many states are expanded at a time, not on the number of threads.

use quorate_core::election::{Bully, ChangRoberts, Election};
use quorate_core::mutex::{Lamport, Maekawa, Majority, Mutex, RicartAgrawala, RoucairolCarvalho, TokenRing};
use quorate_core::process::Process;
use quorate_core::setting::Timing;
use quorate_core::stack::{Rejoining, Withdrawable};
use quorate_core::trace::Recorded;

use super::goal::Goal;
use super::search::slab;
use super::successor::Change;
use super::tables::{Need, Provider};
use super::{Exploration, Findings, Verdict};
use crate::network::Order;
use crate::random::mix;
use crate::recovery::Beside;
use crate::stage::Bounds;
use crate::stage::wish::{Caller, Client, Free, Times};
use crate::world::Create;
use quorate_core::catalog::Entry;

/// What must make no difference.
#[derive(Clone, Copy, Debug)]
struct Layout {
    threads: usize,
    slab: usize,
    /// Changes every hash.
    salt: u64,
    /// How many random runs are followed before the search, so that everything in them is numbered first.
    walks: u64,
}

const LAYOUTS: [Layout; 4] = [
    Layout { threads: 1, slab: 50, salt: 0, walks: 0 },
    Layout { threads: 1, slab: 1 << 18, salt: 1 << 20, walks: 0 },
    Layout { threads: 2, slab: 1 << 18, salt: 0, walks: 30 },
    Layout { threads: 3, slab: 3_000, salt: 1 << 30, walks: 300 },
];

/// Follows random runs from the first state.
fn walk(provider: &mut dyn Provider, first: &[u32], walks: u64) {
    let (mut actions, mut change) = (Vec::new(), Change::default());
    for walk in 0..walks {
        let mut state = first.to_vec();
        for step in 0..40 {
            provided(provider, |provider| provider.tables().actions(&state, &mut actions));
            if actions.is_empty() {
                break;
            }
            let act = actions[(mix(walk, step, 0) % actions.len() as u64) as usize];
            provided(provider, |provider| provider.tables().follow(&state, act, &mut change));
            state = provider.tables().built(&state, &mut change);
        }
    }
}

/// Tries something until nothing is missing in the tables.
fn provided(provider: &mut dyn Provider, mut attempt: impl FnMut(&dyn Provider) -> Result<(), Need>) {
    while let Err(need) = attempt(provider) {
        provider.provide(need);
    }
}

fn explore<P, A>(exploration: &Exploration, entry: &Entry, create: Create<P>, layout: Layout) -> Findings
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    let exploration = Exploration { threads: Some(layout.threads), ..exploration.clone() };
    let mut prepared = exploration.prepare::<P, A>(entry, create, layout.salt).expect("it can be explored");
    let first = prepared.first.clone();
    walk(&mut prepared.machine, &first, layout.walks);
    exploration.explore(prepared, layout.slab, &mut |_| {})
}

fn assert_same<P, A>(exploration: &Exploration, entry: &Entry, create: Create<P>)
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    let usual = Layout { threads: 1, slab: slab(exploration.max_states), salt: 0, walks: 0 };
    let expected = explore::<P, A>(exploration, entry, create, usual);
    assert!(expected.verdicts.iter().any(|(_, verdict)| matches!(verdict, Verdict::Violated(_))), "{}", entry.name);
    for layout in LAYOUTS {
        let found = explore::<P, A>(exploration, entry, create, layout);
        for ((goal, found), (_, expected)) in found.verdicts.iter().zip(&expected.verdicts) {
            assert_eq!(found, expected, "{}: {goal}: {layout:?}", entry.name);
        }
        if expected.complete {
            let counts = |found: &Findings| (found.states, found.transitions, found.depth, found.ends);
            assert_eq!(counts(&found), counts(&expected), "{}: {layout:?}", entry.name);
        }
    }
}

fn mutex<M: Mutex>(exploration: &Exploration) {
    assert_same::<_, Client>(exploration, &M::ENTRY, Withdrawable::<M>::new);
}

fn recovering<M: Mutex>(exploration: &Exploration) {
    let exploration = Exploration { recovery: Some(Beside::Ring), ..exploration.clone() };
    assert_same::<_, Client>(&exploration, &M::ENTRY, Withdrawable::<Rejoining<M>>::new);
}

fn election<E: Election>(exploration: &Exploration) {
    assert_same::<_, Caller>(exploration, &E::ENTRY, E::new);
}

fn option(key: &str, value: &str) -> Vec<(String, String)> {
    vec![(key.into(), value.into())]
}

#[test]
fn layout_does_not_change_which_counterexample_of_a_mutex_is_found() {
    mutex::<Maekawa>(&Exploration::default());
    mutex::<Lamport>(&Exploration { order: Some(Order::Any), ..Exploration::default() });
    let twice = Exploration { times: Times::AtMost(2), ..Exploration::default() };
    let bare = option("replies", "bare");
    mutex::<RicartAgrawala>(&Exploration { options: bare, goals: Some(vec![Goal::RequestOrder]), ..twice });
    let faults = Bounds { pokes: 1, losses: 1, duplicates: 1, crashes: 1, ..Bounds::default() };
    mutex::<RoucairolCarvalho>(&Exploration { n: 2, bounds: faults, ..Exploration::default() });
    let fifo = Some(Order::Fifo);
    mutex::<TokenRing>(&Exploration {
        order: fifo,
        bounds: Bounds { crashes: 1, pokes: 1, ..Bounds::default() },
        ..Exploration::default()
    });
}

#[test]
fn layout_does_not_change_which_counterexample_of_a_recovering_mutex_is_found() {
    let bounds = Bounds { suspicions: 1, writes: 1, ..Bounds::default() };
    recovering::<RicartAgrawala>(&Exploration { n: 2, bounds, ..Exploration::default() });
}

#[test]
fn layout_does_not_change_which_counterexample_of_an_election_is_found() {
    election::<Bully>(&Exploration { timing: Some(Timing::Asynchronous), ..Exploration::default() });
    let bounds = Bounds { losses: 1, crashes: 1, ..Bounds::default() };
    election::<ChangRoberts>(&Exploration { bounds, ..Exploration::default() });
}

#[test]
fn layout_does_not_change_which_endless_run_is_found() {
    let timing = Some(Timing::Synchronous);
    let (options, goals) = (option("doublings", "0"), Some(vec![Goal::StarvationFreedom]));
    for n in [2, 3] {
        let (options, goals) = (options.clone(), goals.clone());
        mutex::<Majority>(&Exploration { n, timing, options, goals, max_states: 1 << 20, ..Exploration::default() });
    }
    mutex::<Maekawa>(&Exploration { times: Times::Endless, ..Exploration::default() });
}
