//! The processes of a run: who lives, in which life, with what on its disk.
//!
//! The one place where the laboratory steps a process. What is to happen next is somebody else's choice: one seeded
//! choice in [`simulate`](crate::simulate), every choice in [`explore`](crate::explore), a written one in
//! [`scenario`](crate::scenario).

use std::sync::Arc;

use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::process::{Effects, Event, Process, keep, perform};
use quorate_core::setting::{Group, Setting};

/// How a process is made, at first and after each crash.
pub type Create<P> = fn(&Setting) -> P;

/// All processes of a run.
#[derive(Clone, Debug)]
pub struct World<P: Process> {
    group: Arc<Group>,
    create: Create<P>,
    nodes: Vec<Node<P>>,
}

/// One process of a run, through all its lives, with what is on its disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node<P: Process> {
    process: P,
    alive: bool,
    incarnation: u64,
    saved: Option<P::Stable>,
}

impl<P: Process> Node<P> {
    /// A process that has not started.
    pub fn new(id: Id, group: &Arc<Group>, create: Create<P>) -> Node<P> {
        Node { process: create(&Setting::new(id, group)), alive: true, incarnation: 0, saved: None }
    }

    /// Whether it lives.
    pub fn is_alive(&self) -> bool {
        self.alive
    }

    /// How many lives it has had, the current one included.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// The process, to look at.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// The numbers in its process that tell [tries](Process::tries) apart.
    pub fn tries(&mut self) -> Option<Vec<(Id, &mut Number)>> {
        self.process.tries()
    }

    /// Lets it begin a life. Its effects are added to `effects`.
    pub fn start(&mut self, effects: &mut Effects<P>) {
        self.alive = true;
        self.incarnation += 1;
        let start = Event::Start { incarnation: self.incarnation, saved: self.saved.clone() };
        perform(&mut self.process, start, effects);
    }

    /// Ends a life. What is left is a process that has not started, and what it had saved.
    pub fn crash(&mut self, id: Id, group: &Arc<Group>, create: Create<P>) {
        self.alive = false;
        // Who is dead before it has started had a life before the run.
        self.incarnation = self.incarnation.max(1);
        self.process = create(&Setting::new(id, group));
    }

    /// Lets an event happen to it, while it lives. Its effects are added to `effects`.
    pub fn happen(&mut self, event: Event<P>, effects: &mut Effects<P>) {
        debug_assert!(self.alive, "nothing happens to the dead");
        perform(&mut self.process, event, effects);
    }

    /// Puts something on its disk.
    pub fn save(&mut self, stable: P::Stable) {
        keep(&mut self.saved, stable);
    }
}

impl<P: Process> World<P> {
    /// A group of processes, none of which has started.
    pub fn new(group: &Arc<Group>, create: Create<P>) -> World<P> {
        let nodes = Id::all(group.n).map(|id| Node::new(id, group, create)).collect();
        World { group: Arc::clone(group), create, nodes }
    }

    /// How many processes there are.
    pub fn n(&self) -> u32 {
        self.group.n
    }

    /// Whether a process lives.
    pub fn is_alive(&self, id: Id) -> bool {
        self.nodes[id.index()].is_alive()
    }

    /// How many lives a process has had, the current one included.
    pub fn incarnation(&self, id: Id) -> u64 {
        self.nodes[id.index()].incarnation()
    }

    /// A process, to look at.
    pub fn process(&self, id: Id) -> &P {
        self.nodes[id.index()].process()
    }

    /// Lets a process begin a life. Its effects are added to `effects`.
    pub fn start(&mut self, id: Id, effects: &mut Effects<P>) {
        self.nodes[id.index()].start(effects);
    }

    /// Ends a life. What is left is a process that has not started, and what it had saved.
    pub fn crash(&mut self, id: Id) {
        self.nodes[id.index()].crash(id, &self.group, self.create);
    }

    /// Lets an event happen to a process that lives. Its effects are added to `effects`.
    pub fn happen(&mut self, id: Id, event: Event<P>, effects: &mut Effects<P>) {
        self.nodes[id.index()].happen(event, effects);
    }

    /// Puts something on a process's disk.
    pub fn save(&mut self, id: Id, stable: P::Stable) {
        self.nodes[id.index()].save(stable);
    }
}
