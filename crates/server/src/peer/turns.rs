//! The machine of one node, and the turns of the node that its clients hold or wait for.
//!
//! A turn is a task. It asks the others, which may take long; when it has come, the machine gives the lock to who is
//! first in line; then it waits whether the turn is taken away. When nobody wants it any more, or its holder has left,
//! the task is ended, and what it has asked for or has is given back. There is one for a name at a time: it is known by
//! its number, so that one whose end has been decided does nothing more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use quorate_net::{LONGEST_NAME, Node, Refused};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::engine::{Applied, Listener, Unavailable};
use crate::machine::{Command, Departure, Event, Fence, Kind, Machine, Moment, Name, Response, SessionId};

const LOCK: &str = "lock/";
const ELECTION: &str = "election/";

/// What the others know a lock or an election by.
fn resource(name: &Name) -> String {
    let kind = match name.kind {
        Kind::Lock => LOCK,
        Kind::Election => ELECTION,
    };
    format!("{kind}{}", name.text)
}

/// The machine, and who is told of what it does.
pub(super) struct Table {
    node: Node,
    listener: Arc<dyn Listener>,
    state: Mutex<State>,
}

struct State {
    machine: Machine,
    /// The number of the last command.
    index: u64,
    turns: HashMap<Name, Turn>,
    /// How many turns were asked for.
    asked: u64,
    /// Who is told when something becomes of what a session has asked for.
    hearing: HashMap<(SessionId, Name), watch::Sender<Option<Departure>>>,
    is_closed: bool,
}

/// A turn that was asked for, or has come.
struct Turn {
    number: u64,
    task: JoinHandle<()>,
}

impl Table {
    /// A machine without anybody.
    pub(super) fn new(node: Node, listener: Arc<dyn Listener>) -> Arc<Table> {
        let state = State {
            machine: Machine::by_turns(LONGEST_NAME - ELECTION.len()),
            index: 0,
            turns: HashMap::new(),
            asked: 0,
            hearing: HashMap::new(),
            is_closed: false,
        };
        Arc::new(Table { node, listener, state: Mutex::new(state) })
    }

    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        look(&self.state().machine)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Applies a command, unless the node stops.
    pub(super) fn apply(self: &Arc<Self>, command: Command) -> Result<Applied, Unavailable> {
        let mut state = self.state();
        if state.is_closed { Err(Unavailable::Stopping) } else { Ok(self.apply_to(&mut state, command)) }
    }

    /// Tells when something becomes of what a session asks for next, or has asked for: why it has left, if it has.
    pub(super) fn hear(&self, session: SessionId, name: &Name) -> watch::Receiver<Option<Departure>> {
        let mut state = self.state();
        state.hearing.retain(|_, told| !told.is_closed());
        state.hearing.entry((session, name.clone())).or_default().subscribe()
    }

    /// What a session holds; if it does not hold it, what the call has asked for is given up.
    pub(super) fn give_up_unless_held(
        self: &Arc<Self>,
        session: SessionId,
        call: u64,
        name: &Name,
    ) -> Result<(Applied, Option<Fence>), Unavailable> {
        let mut state = self.state();
        if state.is_closed {
            return Err(Unavailable::Stopping);
        }
        let held = state.machine.fence_of(session, name);
        let applied = if held.is_some() {
            Applied { moment: Moment { index: state.index, at_ms: calendar_ms() }, response: Response::Done }
        } else {
            self.apply_to(&mut state, Command::GiveUp { session, call, name: name.clone() })
        };
        Ok((applied, held))
    }

    /// Takes everything away from everybody, and does nothing from now on. Returns when all turns are given back.
    pub(super) async fn close(self: &Arc<Self>) {
        for task in self.take_all_away() {
            // That it was ended is what is waited for.
            let _ = task.await;
        }
    }

    fn take_all_away(self: &Arc<Self>) -> Vec<JoinHandle<()>> {
        let mut state = self.state();
        state.is_closed = true;
        let turns: Vec<_> = state.turns.drain().collect();
        let mut tasks = Vec::new();
        for (name, turn) in turns {
            let holder = state.machine.lock(&name, 0).and_then(|view| view.holders.into_iter().next());
            if let Some(fence) = holder.map(|holder| holder.fence) {
                self.apply_to(&mut state, Command::TurnLost { name, fence });
            }
            turn.task.abort();
            tasks.push(turn.task);
        }
        tasks
    }

    fn apply_to(self: &Arc<Self>, state: &mut State, command: Command) -> Applied {
        state.index += 1;
        let moment = Moment { index: state.index, at_ms: calendar_ms() };
        let (response, events) = state.machine.apply(moment, command);
        self.listener.applied(moment, &events);
        for event in &events {
            match event {
                Event::Wanted { name } => self.want(state, name),
                Event::Lost { name, session, departure, .. } => {
                    state.tell(*session, name, Some(*departure));
                    state.give_back(name);
                }
                Event::Vacant { name } => state.give_back(name),
                Event::Granted { name, session, .. } => state.tell(*session, name, None),
                Event::Left { name, session, departure } => state.tell(*session, name, Some(*departure)),
                Event::Opened { .. }
                | Event::Ended { .. }
                | Event::Queued { .. }
                | Event::Delayed { .. }
                | Event::Proclaimed { .. }
                | Event::Forced { .. } => {}
            }
        }
        Applied { moment, response }
    }

    /// Asks for a turn, unless that was done.
    fn want(self: &Arc<Self>, state: &mut State, name: &Name) {
        if state.is_closed || state.turns.contains_key(name) {
            return;
        }
        state.asked += 1;
        let number = state.asked;
        let task = tokio::spawn(take_turn(Arc::clone(self), name.clone(), number));
        state.turns.insert(name.clone(), Turn { number, task });
    }

    /// The turn has come. Says whether somebody has taken it.
    fn came(self: &Arc<Self>, name: &Name, number: u64, fence: Fence) -> bool {
        let mut state = self.state();
        if !state.is_current(name, number) {
            return false;
        }
        let applied = self.apply_to(&mut state, Command::Turn { name: name.clone(), fence });
        let is_taken = matches!(applied.response, Response::Granted { .. });
        if !is_taken {
            state.turns.remove(name);
        }
        is_taken
    }

    /// The turn was taken away.
    fn lost(self: &Arc<Self>, name: &Name, number: u64, fence: Fence) {
        let mut state = self.state();
        if state.is_current(name, number) {
            tracing::warn!(%name, %fence, "lock lost to another node");
            self.apply_to(&mut state, Command::TurnLost { name: name.clone(), fence });
        }
    }

    /// There will be no turn: nobody waits for it in vain.
    fn refuse(self: &Arc<Self>, name: &Name, number: u64) {
        let mut state = self.state();
        if state.is_current(name, number) {
            self.apply_to(&mut state, Command::NoTurn { name: name.clone() });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_current(&self, name: &Name, number: u64) -> bool {
        self.turns.get(name).is_some_and(|turn| turn.number == number)
    }

    /// Nobody wants the turn any more: whoever waits for it withdraws, and whoever has it leaves.
    fn give_back(&mut self, name: &Name) {
        if let Some(turn) = self.turns.remove(name) {
            turn.task.abort();
        }
    }

    fn tell(&mut self, session: SessionId, name: &Name, departure: Option<Departure>) {
        if !self.hearing.is_empty()
            && let Some(told) = self.hearing.get(&(session, name.clone()))
        {
            told.send_replace(departure);
        }
    }
}

/// One turn, from asking for it to its end.
async fn take_turn(table: Arc<Table>, name: Name, number: u64) {
    let guard = match table.node.lock(&resource(&name)).await {
        Ok(guard) => guard,
        // A node that has stopped says so itself, and takes nobody's turn any more.
        Err(Refused::Stopped) => return,
        Err(refused) => {
            tracing::warn!(%name, reason = %refused, "lock request refused");
            return table.refuse(&name, number);
        }
    };
    let fence = Fence::from_number(guard.fence().get());
    if table.came(&name, number, fence) {
        guard.lost().await;
        table.lost(&name, number, fence);
    }
}

/// What the calendar shows, in milliseconds since 1970: for people.
fn calendar_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
