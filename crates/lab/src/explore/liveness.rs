//! Runs that never end and never come to what is hoped for: somebody waits for ever, or nothing is ever decided.
//!
//! Such a run, if there are finitely many states, goes round on a cycle at last. It counts only if it is *fair*: what
//! has to happen some time (an arrival, an exit, a timeout of an armed timer, the passing of time) either happens on
//! the cycle or is impossible somewhere on it. All states that can reach each other within the states in which the hope
//! is not fulfilled form a component, and a run that goes through all of a component again and again is as fair as any
//! run in it can be. So it is enough to look at whole components.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::action::{Act, Action};
use super::budget::Cost;
use super::search::Searched;
use super::successor::Change;
use super::tables::{FREE, Tables};

/// All states and the steps between them.
pub(super) struct Graph {
    /// Where the steps of each state begin in `steps`.
    begins: Vec<usize>,
    steps: Vec<(u32, Action)>,
}

/// Something that has to happen some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Duty {
    /// From the first to the second arrives this; where channels are ordered, whatever is next.
    Arrival(u32, u32, Option<u32>),
    /// A host does this.
    Move(usize, u32),
    /// Somebody calls an election.
    Call,
    /// Time passes.
    Time,
}

/// A run that leads to a cycle and goes round it for ever.
#[derive(Clone, Debug)]
pub(super) struct Lasso {
    pub(super) to_the_cycle: Vec<Action>,
    pub(super) cycle: Vec<Action>,
}

impl Graph {
    /// The graph of a search that kept its states. Of one that is not complete it has the steps from all levels but the
    /// last: its cycles are cycles, and there may be others.
    pub(super) fn new(machine: &Tables, searched: &Searched) -> Graph {
        let (mut begins, mut steps) = (vec![0], Vec::new());
        let (mut actions, mut change) = (Vec::new(), Change::default());
        for place in 0..searched.kept.len() {
            if place < searched.expanded {
                let state = searched.kept.state(place);
                let fingerprint = machine.fingerprint(state);
                machine.actions(state, &mut actions).expect("a state that was expanded has known actions");
                for &act in &actions {
                    machine.follow(state, act, &mut change).expect("a state that was expanded has known successors");
                    let target = searched.visited.get(machine.changed(state, fingerprint, &change).max(1));
                    steps.push((target.expect("the successors of expanded states were visited"), act.pack()));
                }
            }
            begins.push(steps.len());
        }
        Graph { begins, steps }
    }

    fn steps_of(&self, state: u32) -> &[(u32, Action)] {
        &self.steps[self.begins[state as usize]..self.begins[state as usize + 1]]
    }

    fn len(&self) -> usize {
        self.begins.len() - 1
    }
}

/// The shortest way to a fair cycle of states that are all pending, and a way round it; nothing if there is none.
pub(super) fn lasso(
    machine: &Tables,
    searched: &Searched,
    graph: &Graph,
    pending: impl Fn(&[u32]) -> bool,
) -> Option<Lasso> {
    let pending: Vec<bool> = (0..graph.len()).map(|state| pending(searched.kept.state(state))).collect();
    // The components with the earliest state first: numbers grow with the distance from the first state.
    let mut components = components(graph, &pending);
    components.sort_by_key(|component| component.iter().min().copied());
    components.into_iter().find_map(|component| {
        let members: BTreeSet<u32> = component.into_iter().collect();
        let stations = stations(machine, searched, graph, &members)?;
        let entrance = *members.first()?;
        let cycle = round(graph, &members, entrance, &stations);
        (!cycle.is_empty()).then(|| Lasso { to_the_cycle: searched.visited.way_to(entrance), cycle })
    })
}

/// What has to be visited on a cycle through a component to be fair: for each duty, a step that does it, or a state in
/// which it is impossible. Nothing if the component has no cycle, or none of its cycles is fair.
fn stations(machine: &Tables, searched: &Searched, graph: &Graph, members: &BTreeSet<u32>) -> Option<Vec<Station>> {
    let inner = |state: u32| graph.steps_of(state).iter().filter(|(target, _)| members.contains(target));
    if members.len() == 1 && members.iter().all(|&state| inner(state).next().is_none()) {
        return None;
    }
    // Only duties of all states can be neglected for ever.
    let mut everywhere: Option<BTreeSet<Duty>> = None;
    let mut done: BTreeMap<Duty, Station> = BTreeMap::new();
    let mut all: BTreeMap<Duty, ()> = BTreeMap::new();
    for &state in members {
        let words = searched.kept.state(state as usize);
        let duties: BTreeSet<Duty> = duties(machine, words).collect();
        all.extend(duties.iter().map(|&duty| (duty, ())));
        for &(target, action) in inner(state) {
            if let Some(duty) = duty_of(machine, words, action.unpack()) {
                done.entry(duty).or_insert(Station::Step(state, target, action));
            }
        }
        everywhere = Some(match everywhere {
            None => duties,
            Some(before) => before.intersection(&duties).copied().collect(),
        });
    }
    let everywhere = everywhere?;
    if everywhere.iter().any(|duty| !done.contains_key(duty)) {
        return None;
    }
    let mut stations: Vec<Station> = everywhere.iter().map(|duty| done[duty]).collect();
    for duty in all.keys().filter(|duty| !everywhere.contains(duty)) {
        let without =
            |state: &&u32| !duties(machine, searched.kept.state(**state as usize)).any(|other| other == *duty);
        stations.extend(members.iter().find(without).map(|&state| Station::State(state)));
    }
    stations.sort_unstable();
    stations.dedup();
    Some(stations)
}

/// What a fair cycle has to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Station {
    State(u32),
    Step(u32, u32, Action),
}

/// What has to happen some time, as seen in a state. A timer that may not run out only because of the bound on timeouts
/// has to, so that nothing is said of runs beyond the bound.
fn duties<'s>(machine: &'s Tables, state: &'s [u32]) -> impl Iterator<Item = Duty> + 's {
    let mut actions = Vec::new();
    machine.actions(state, &mut actions).expect("what may happen is known where steps were followed");
    let moves = (0..machine.n).flat_map(|host| {
        let moves = machine.host_facts[state[host] as usize].moves.iter();
        moves.filter(|step| step.due).map(move |step| Duty::Move(host, step.event))
    });
    let call = machine.budget(state).is_uncalled().then_some(Duty::Call);
    actions.into_iter().filter_map(|act| duty_of(machine, state, act)).chain(moves).chain(call)
}

fn duty_of(machine: &Tables, state: &[u32], act: Act) -> Option<Duty> {
    match act {
        Act::Deliver(place) => {
            let facts = &machine.letter_facts[state[machine.letters_at() + place] as usize];
            let content = (facts.key & FREE != 0).then_some(facts.event);
            Some(Duty::Arrival(facts.from, facts.to, content))
        }
        Act::Move(host, place) => {
            let step = machine.host_facts[state[host] as usize].moves[place];
            if step.cost == Cost::Call {
                return Some(Duty::Call);
            }
            step.due.then_some(Duty::Move(host, step.event))
        }
        Act::Tick => Some(Duty::Time),
        Act::DeliverAndKeep(_)
        | Act::Lose(_)
        | Act::Poke(..)
        | Act::Suspect(..)
        | Act::MoveCutShort(..)
        | Act::DeliverCutShort(..)
        | Act::DeliverAndKeepCutShort(..)
        | Act::SuspectCutShort(..) => None,
    }
}

/// A way from the entrance past all stations and back.
fn round(graph: &Graph, members: &BTreeSet<u32>, entrance: u32, stations: &[Station]) -> Vec<Action> {
    let (mut here, mut way) = (entrance, Vec::new());
    for &station in stations {
        match station {
            Station::State(state) => {
                way.extend(shortest(graph, members, here, state));
                here = state;
            }
            Station::Step(from, to, action) => {
                way.extend(shortest(graph, members, here, from));
                way.push(action);
                here = to;
            }
        }
    }
    if way.is_empty() {
        // Nothing has to happen: any cycle will do.
        let step = graph.steps_of(entrance).iter().find(|(target, _)| members.contains(target));
        if let Some(&(target, action)) = step {
            way.push(action);
            here = target;
        }
    }
    way.extend(shortest(graph, members, here, entrance));
    way
}

/// The shortest way between two states of a component.
fn shortest(graph: &Graph, members: &BTreeSet<u32>, from: u32, to: u32) -> Vec<Action> {
    let mut came: BTreeMap<u32, (u32, Action)> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(state) = queue.pop_front() {
        if state == to {
            break;
        }
        for &(target, action) in graph.steps_of(state) {
            if members.contains(&target) && target != from && !came.contains_key(&target) {
                came.insert(target, (state, action));
                queue.push_back(target);
            }
        }
    }
    let (mut way, mut here) = (Vec::new(), to);
    while here != from {
        let (before, action) = came[&here];
        way.push(action);
        here = before;
    }
    way.reverse();
    way
}

/// The strongly connected components of the pending states (Tarjan's algorithm, without recursion).
fn components(graph: &Graph, pending: &[bool]) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    let n = graph.len();
    let (mut index, mut low, mut on_stack) = (vec![UNSEEN; n], vec![0; n], vec![false; n]);
    let (mut stack, mut calls, mut found, mut next) = (Vec::new(), Vec::<(u32, usize)>::new(), Vec::new(), 0);
    for root in (0..n as u32).filter(|&root| pending[root as usize]) {
        if index[root as usize] != UNSEEN {
            continue;
        }
        calls.push((root, 0));
        while let Some((state, step)) = calls.pop() {
            let place = state as usize;
            if index[place] == UNSEEN {
                (index[place], low[place]) = (next, next);
                next += 1;
                stack.push(state);
                on_stack[place] = true;
            }
            let targets = graph.steps_of(state).iter().map(|(target, _)| *target).enumerate().skip(step);
            let mut descended = false;
            for (at, target) in targets.filter(|(_, target)| pending[*target as usize]) {
                let there = target as usize;
                if index[there] == UNSEEN {
                    // Come back to the same step, to take over what was found below it.
                    calls.push((state, at));
                    calls.push((target, 0));
                    descended = true;
                    break;
                } else if on_stack[there] {
                    low[place] = low[place].min(if index[there] < index[place] { index[there] } else { low[there] });
                }
            }
            if descended {
                continue;
            }
            if low[place] == index[place] {
                let from = stack.iter().rposition(|&member| member == state).expect("it is on the stack");
                let component: Vec<u32> = stack.drain(from..).collect();
                for &member in &component {
                    on_stack[member as usize] = false;
                }
                found.push(component);
            }
        }
    }
    found
}
