//! What the applications around the processes do: when they ask, how long they stay, what they tell each other.
//!
//! An [`Application`] is all applications of a run. It wakes at [alarms](Application::Alarm) that it set, answers
//! outputs, and says what it wants through [`Wishes`]. The simulator carries that out.

use quorate_core::clock::Number;
use quorate_core::detector::Detector;
use quorate_core::election::{self, Election};
use quorate_core::id::Id;
use quorate_core::mutex::{Mutex, Output};
use quorate_core::process::{Process, Ticks};
use quorate_core::stack::{Request, Withdrawable};

use crate::random::{Chance, mix};
use crate::time::DELTA;

/// The applications of a run around processes `P`.
pub trait Application<P: Process> {
    /// Why an application wakes up.
    type Alarm: Copy;

    /// The run begins.
    fn begin(&mut self, wishes: &mut Wishes<Self::Alarm>);

    /// An alarm goes off at a process that lives.
    fn wake(&mut self, id: Id, alarm: Self::Alarm, wishes: &mut Wishes<Self::Alarm>) -> Option<P::Input>;

    /// A process tells its application something.
    fn hear(&mut self, _id: Id, _output: &P::Output, _wishes: &mut Wishes<Self::Alarm>) {}

    /// An application's message arrives at another, which has observed its stamp.
    fn poked(&mut self, _id: Id, _wishes: &mut Wishes<Self::Alarm>) {}

    /// A process has crashed, and its application with it.
    fn crashed(&mut self, _id: Id) {}

    /// A process begins another life, and its application with it.
    fn restarted(&mut self, _id: Id, _wishes: &mut Wishes<Self::Alarm>) {}

    /// Whether nothing is left to do. No alarm will go off, no message arrive and nobody come back if
    /// `nothing_planned`.
    fn is_finished(&self, nothing_planned: bool) -> bool;

    /// What to attach to an application's message.
    fn stamp(_process: &P) -> Number {
        Number::ZERO
    }

    /// Whether a process that finds out about crashes itself takes somebody for dead.
    fn suspects(_process: &P, _id: Id) -> bool {
        false
    }

    /// How a process observes the stamp of one.
    fn observe(_stamp: Number) -> Option<P::Input> {
        None
    }
}

/// What applications want of the simulator.
#[derive(Clone, Debug)]
pub struct Wishes<A> {
    /// Wake this application after this time.
    pub alarms: Vec<(Id, Ticks, A)>,
    /// Send an application message from the first to the second.
    pub pokes: Vec<(Id, Id)>,
}

impl<A> Default for Wishes<A> {
    fn default() -> Self {
        Wishes { alarms: Vec::new(), pokes: Vec::new() }
    }
}

impl<A> Wishes<A> {
    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.alarms.is_empty() && self.pokes.is_empty()
    }

    fn alarm(&mut self, id: Id, after: Ticks, alarm: A) {
        self.alarms.push((id, after, alarm));
    }
}

/// Who asks to enter, and when.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Only the last process, again as soon as it has left.
    Alone,
    /// Everybody at once, and again as soon as they have left.
    Contended,
    /// Each idle process at this rate per δ.
    Poisson(f64),
    /// Whoever asks tells another of it, which then asks too.
    Causal,
    /// Exactly these, at these times.
    List(Vec<(Id, Ticks)>),
}

/// What applications of mutual exclusion do.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientPlan {
    /// Who asks when.
    pub workload: Workload,
    /// The total number of requests of all processes.
    pub entries: u64,
    /// The number of requests of each process, if it is limited.
    pub entries_each: Option<u64>,
    /// How long each stays inside.
    pub time_inside: Ticks,
    /// The chance that a request is taken back, after up to four δ.
    pub withdraw: f64,
    /// Stamps that processes have observed when the run begins: their clocks show at least these.
    pub clocks: Vec<(Id, Number)>,
}

impl Default for ClientPlan {
    fn default() -> Self {
        ClientPlan {
            workload: Workload::Contended,
            entries: 20,
            entries_each: None,
            time_inside: DELTA,
            withdraw: 0.0,
            clocks: Vec::new(),
        }
    }
}

/// The applications that enter and leave.
#[derive(Clone, Debug)]
pub struct Clients {
    plan: ClientPlan,
    chance: Chance,
    /// Who takes part.
    askers: Vec<Id>,
    clients: Vec<Client>,
    /// How many lives each has begun after its first.
    lives: Vec<u64>,
    requests: u64,
    /// How many requests each process has made, in all its incarnations.
    requests_of: Vec<u64>,
    /// How many are waiting or inside.
    busy: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    Idle,
    Waiting {
        request: u64,
    },
    Inside {
        request: u64,
    },
    /// It has taken its request back, and waits until that is through.
    Withdrawing,
}

/// Why a client wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAlarm {
    /// It observes a stamp before anything else happens.
    SetClock(Number),
    /// It asks to enter, as it was told to.
    Ask,
    /// It asks to enter, as it meant to.
    AskAgain {
        /// In which of its lives.
        life: u64,
    },
    /// It has waited for this request for long enough.
    GiveUp {
        /// Which one.
        request: u64,
    },
    /// It has been inside for long enough.
    Leave {
        /// With which request.
        request: u64,
    },
}

impl Clients {
    /// The clients of `n` processes, of which the coordinator, if there is one, asks only if a list says so.
    pub fn new(plan: ClientPlan, n: u32, coordinator: Option<Id>, seed: u64) -> Clients {
        let askers = match &plan.workload {
            Workload::Alone => vec![Id::new(n)],
            Workload::Contended | Workload::Poisson(_) | Workload::Causal => {
                Id::all(n).filter(|&id| n == 1 || Some(id) != coordinator).collect()
            }
            Workload::List(_) => Vec::new(),
        };
        Clients {
            plan,
            chance: Chance::new(mix(seed, 2, 0)),
            askers,
            clients: vec![Client::Idle; n as usize],
            lives: vec![0; n as usize],
            requests: 0,
            requests_of: vec![0; n as usize],
            busy: 0,
        }
    }

    /// Whether a process has made as many requests as each process may.
    fn has_made_all(&self, id: Id) -> bool {
        self.plan.entries_each.is_some_and(|each| self.requests_of[id.index()] >= each)
    }

    /// Sets the alarm for the next request of an idle client.
    fn ask_again(&mut self, id: Id, wishes: &mut Wishes<ClientAlarm>) {
        if self.requests >= self.plan.entries || self.has_made_all(id) || !self.askers.contains(&id) {
            return;
        }
        let after = match self.plan.workload {
            Workload::Alone | Workload::Contended => 0,
            Workload::Poisson(rate) => self.chance.exponential(DELTA as f64 / rate) as Ticks,
            Workload::Causal => self.chance.exponential(4.0 * DELTA as f64) as Ticks,
            Workload::List(_) => return,
        };
        wishes.alarm(id, after, ClientAlarm::AskAgain { life: self.lives[id.index()] });
    }

    fn ask(&mut self, id: Id, wishes: &mut Wishes<ClientAlarm>) -> Option<Request> {
        if self.requests >= self.plan.entries || self.has_made_all(id) || self.clients[id.index()] != Client::Idle {
            return None;
        }
        self.requests += 1;
        self.requests_of[id.index()] += 1;
        self.busy += 1;
        let request = self.requests;
        self.clients[id.index()] = Client::Waiting { request };
        if self.chance.happens(self.plan.withdraw) {
            wishes.alarm(id, self.chance.below(4 * DELTA), ClientAlarm::GiveUp { request });
        }
        if self.plan.workload == Workload::Causal {
            let other = Id::at(self.chance.below(self.clients.len() as u64) as usize);
            if other != id {
                wishes.pokes.push((id, other));
            }
        }
        Some(Request::Enter)
    }

    fn become_idle(&mut self, id: Id, wishes: &mut Wishes<ClientAlarm>) {
        self.clients[id.index()] = Client::Idle;
        self.busy -= 1;
        self.ask_again(id, wishes);
    }
}

impl<M: Mutex> Application<Withdrawable<M>> for Clients {
    type Alarm = ClientAlarm;

    fn begin(&mut self, wishes: &mut Wishes<ClientAlarm>) {
        for &(id, number) in &self.plan.clocks {
            wishes.alarm(id, 0, ClientAlarm::SetClock(number));
        }
        if let Workload::List(list) = &self.plan.workload {
            for &(id, at) in list {
                wishes.alarm(id, at, ClientAlarm::Ask);
            }
        }
        for id in self.askers.clone() {
            self.ask_again(id, wishes);
        }
    }

    fn wake(&mut self, id: Id, alarm: ClientAlarm, wishes: &mut Wishes<ClientAlarm>) -> Option<Request> {
        match alarm {
            ClientAlarm::SetClock(number) => Some(Request::Observe(number)),
            ClientAlarm::Ask => self.ask(id, wishes),
            ClientAlarm::AskAgain { life } if life == self.lives[id.index()] => self.ask(id, wishes),
            ClientAlarm::AskAgain { .. } => None,
            ClientAlarm::GiveUp { request } => (self.clients[id.index()] == Client::Waiting { request }).then(|| {
                self.clients[id.index()] = Client::Withdrawing;
                Request::Withdraw
            }),
            ClientAlarm::Leave { request } => {
                (self.clients[id.index()] == Client::Inside { request }).then_some(Request::Exit)
            }
        }
    }

    fn hear(&mut self, id: Id, output: &Output, wishes: &mut Wishes<ClientAlarm>) {
        match (output, self.clients[id.index()]) {
            (Output::Entered { .. }, Client::Waiting { request }) => {
                self.clients[id.index()] = Client::Inside { request };
                wishes.alarm(id, self.plan.time_inside, ClientAlarm::Leave { request });
            }
            (Output::Exited, Client::Inside { .. }) | (Output::Withdrawn, Client::Withdrawing) => {
                self.become_idle(id, wishes);
            }
            // That it has lost its turn is no news before its exit is done. And a broken algorithm says what nobody
            // asked for: the properties have seen it, and the application does not care.
            (Output::Entered { .. } | Output::Exited | Output::Lost | Output::Withdrawn, _) => {}
        }
    }

    fn poked(&mut self, id: Id, wishes: &mut Wishes<ClientAlarm>) {
        if self.askers.contains(&id) {
            wishes.alarm(id, 0, ClientAlarm::Ask);
        }
    }

    fn crashed(&mut self, id: Id) {
        match std::mem::replace(&mut self.clients[id.index()], Client::Idle) {
            Client::Idle => {}
            Client::Waiting { .. } | Client::Inside { .. } | Client::Withdrawing => self.busy -= 1,
        }
    }

    fn restarted(&mut self, id: Id, wishes: &mut Wishes<ClientAlarm>) {
        self.lives[id.index()] += 1;
        self.ask_again(id, wishes);
    }

    fn is_finished(&self, nothing_planned: bool) -> bool {
        let asked = match &self.plan.workload {
            Workload::List(list) => self.requests as usize >= list.len().min(self.plan.entries as usize),
            Workload::Alone | Workload::Contended | Workload::Poisson(_) | Workload::Causal => {
                self.requests >= self.plan.entries || self.askers.iter().all(|&id| self.has_made_all(id))
            }
        };
        (asked || nothing_planned) && self.busy == 0
    }

    fn stamp(process: &Withdrawable<M>) -> Number {
        process.stamp()
    }

    fn suspects(process: &Withdrawable<M>, id: Id) -> bool {
        process.algorithm().suspects(id)
    }

    fn observe(stamp: Number) -> Option<Request> {
        Some(Request::Observe(stamp))
    }
}

/// The applications that call elections.
#[derive(Clone, Debug)]
pub struct Voters {
    /// Who calls an election, and when.
    pub starters: Vec<(Id, Ticks)>,
    /// How many have called.
    called: usize,
}

impl Voters {
    /// These call an election at these times.
    pub fn new(starters: Vec<(Id, Ticks)>) -> Voters {
        Voters { starters, called: 0 }
    }
}

/// Why a voter wakes up: to call an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call;

impl<E: Election> Application<E> for Voters {
    type Alarm = Call;

    fn begin(&mut self, wishes: &mut Wishes<Call>) {
        for &(starter, at) in &self.starters {
            wishes.alarm(starter, at, Call);
        }
    }

    fn wake(&mut self, _: Id, Call: Call, _: &mut Wishes<Call>) -> Option<election::Input> {
        self.called += 1;
        Some(election::Input::Call)
    }

    fn is_finished(&self, nothing_planned: bool) -> bool {
        nothing_planned || self.called == self.starters.len()
    }
}

/// The applications around failure detectors, which only listen.
#[derive(Clone, Copy, Debug)]
pub struct Listeners;

impl<D: Detector> Application<D> for Listeners {
    type Alarm = Call;

    fn begin(&mut self, _: &mut Wishes<Call>) {}

    fn wake(&mut self, _: Id, Call: Call, _: &mut Wishes<Call>) -> Option<D::Input> {
        None
    }

    fn is_finished(&self, _: bool) -> bool {
        false
    }
}
