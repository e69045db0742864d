//! Ricart and Agrawala's algorithm as published (`replies=bare`), every run of it, counted by the plainest search there
//! is.
//!
//! Independent checkers agree on these numbers of states, with the steps "request, deliver one message, exit", any
//! order of messages, and a process inside that remembers its request's number. So nothing is missing from the file, or
//! twice in it.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use quorate_core::id::Id;
use quorate_core::mutex::{Input, Mutex, Output, RicartAgrawala};
use quorate_core::process::{Effect, Effects, Event, Process, perform};
use quorate_core::setting::{Group, Options, Setting, Timing};

type Message = <RicartAgrawala as Process>::Message;

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    processes: Vec<RicartAgrawala>,
    entries_left: Vec<u8>,
    waiting: BTreeSet<Id>,
    inside: BTreeSet<Id>,
    /// Messages on their way, in no order; equal ones are counted.
    network: BTreeMap<(Id, Id, String), (Message, u32)>,
}

impl World {
    fn new(n: u32, entries: u8) -> World {
        let options = Options::new(&RicartAgrawala::ENTRY, [("replies", "bare")]).unwrap();
        let group: Arc<Group> = Group::new(&RicartAgrawala::ENTRY, n, 1, Timing::Asynchronous, options).unwrap();
        World {
            processes: Id::all(n).map(|id| RicartAgrawala::new(&Setting::new(id, &group))).collect(),
            entries_left: vec![entries; n as usize],
            waiting: BTreeSet::new(),
            inside: BTreeSet::new(),
            network: BTreeMap::new(),
        }
    }

    fn step(&self, id: Id, event: Event<RicartAgrawala>) -> World {
        let mut next = self.clone();
        let mut effects = Effects::<RicartAgrawala>::new(id);
        perform(&mut next.processes[id.index()], event, &mut effects);
        for effect in effects.drain() {
            match effect {
                Effect::Send { to, message } => {
                    let key = (id, to, format!("{message:?}"));
                    next.network.entry(key).or_insert((message, 0)).1 += 1;
                }
                Effect::Output(Output::Entered { .. }) => {
                    next.waiting.remove(&id);
                    next.inside.insert(id);
                }
                Effect::Output(Output::Exited) => {}
                other => panic!("{other:?}"),
            }
        }
        next
    }

    fn successors(&self) -> Vec<World> {
        let mut successors = Vec::new();
        for id in (0..self.processes.len()).map(Id::at) {
            if self.inside.contains(&id) {
                let mut next = self.step(id, Event::Input(Input::Exit));
                next.inside.remove(&id);
                successors.push(next);
            } else if !self.waiting.contains(&id) && self.entries_left[id.index()] > 0 {
                let mut before = self.clone();
                before.entries_left[id.index()] -= 1;
                before.waiting.insert(id);
                successors.push(before.step(id, Event::Input(Input::Enter)));
            }
        }
        for (key, (message, _)) in &self.network {
            let mut before = self.clone();
            let (_, left) = before.network.get_mut(key).unwrap();
            *left -= 1;
            if *left == 0 {
                before.network.remove(key);
            }
            let (from, to, _) = key;
            successors.push(before.step(*to, Event::Receive { from: *from, message: message.clone() }));
        }
        successors
    }
}

/// Visits every state; each must keep ME1, and each end must have served everybody.
fn states(n: u32, entries: u8) -> usize {
    let first = World::new(n, entries);
    let (mut seen, mut next) = (HashSet::from([first.clone()]), VecDeque::from([first]));
    while let Some(world) = next.pop_front() {
        assert!(world.inside.len() <= 1);
        let successors = world.successors();
        if successors.is_empty() {
            assert!(world.waiting.is_empty() && world.entries_left.iter().all(|&left| left == 0));
        }
        for successor in successors {
            if seen.insert(successor.clone()) {
                next.push_back(successor);
            }
        }
    }
    seen.len()
}

#[test]
fn the_number_of_states_is_that_of_independent_checkers() {
    assert_eq!(states(3, 1), 2_822);
    assert_eq!(states(3, 2), 37_229);
}
