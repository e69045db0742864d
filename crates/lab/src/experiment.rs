//! An experiment: an algorithm, a group, a network, faults and applications; run it and get a [`Report`].
//!
//! [`Experiment::run`] takes the algorithm's name; [`Experiment::run_mutex`] and its sisters take a type, also one that
//! is not in the catalogue.

use std::sync::Arc;

use quorate_core::catalog::{ENTRIES, Entry, Family, Property, UnknownAlgorithm};
use quorate_core::clock::{Fence, LamportClock};
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::id::Id;
use quorate_core::mutex::Mutex;
use quorate_core::process::{Process, Ticks};
use quorate_core::setting::{Group, Options, Recovering, SettingError, Timing};
use quorate_core::stack::{Alone, Withdrawable};
use quorate_core::trace::{Record, Recorded};

use crate::application::{Application, ClientPlan, Clients, Listeners, Voters, Workload};
use crate::network::{Conditions, Delay, Order, Partition};
use crate::observer::{Look, Observer, Outcome, Watch};
use crate::property::of_family;
use crate::recovery::{self, Runner};
use crate::report::Report;
use crate::simulate::{self, Fault, Plan, last_change};
use crate::subject::{Named, Subject};
use crate::time::{DELTA, delta_text};
use crate::world::Create;

/// Everything that determines a run but the algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// How many processes.
    pub n: u32,
    /// Determines everything that is left to chance.
    pub seed: u64,
    /// How long messages take.
    pub delay: Delay,
    /// In which order they arrive; by default the weakest that the algorithm assumes.
    pub order: Option<Order>,
    /// The chance that a message is lost.
    pub loss: f64,
    /// The chance that a message arrives twice.
    pub duplicate: f64,
    /// When the network is cut.
    pub partitions: Vec<Partition>,
    /// What befalls processes.
    pub faults: Vec<Fault>,
    /// How far clocks may be off, in parts per million.
    pub drift_ppm: u32,
    /// What the processes take for the longest delay; by default the truth, or a guess where there is none.
    pub bound: Option<Ticks>,
    /// Whether a perfect failure detector tells everybody of crashes; by default if the algorithm assumes one.
    pub detector: Option<bool>,
    /// How the algorithm recovers from crashes, if it is to: with heartbeats and reliable channels around it.
    pub recovery: Option<Recovering>,
    /// The algorithm's options, as key and value.
    pub options: Vec<(String, String)>,
    /// What applications of mutual exclusion do.
    pub clients: ClientPlan,
    /// Who calls an election, and when; by default the smallest that lives, when the run begins.
    pub starters: Vec<(Id, Ticks)>,
    /// When to stop at the latest.
    pub until: Option<Ticks>,
    /// The properties to check. All of them count in [`Report::severity`], promised or not. By default, all properties
    /// of the algorithm's family are checked, and those that the algorithm promises count.
    pub properties: Option<Vec<Property>>,
    /// Keep all records of the run if there are no more than this.
    pub keep_records: usize,
}

/// Above this many processes request order is not watched by default: it sees every message, and its sets grow with n.
pub const REQUEST_ORDER_UP_TO: u32 = 64;

impl Default for Experiment {
    fn default() -> Self {
        Experiment {
            n: 5,
            seed: 1,
            delay: Delay::Constant(DELTA),
            order: None,
            loss: 0.0,
            duplicate: 0.0,
            partitions: Vec::new(),
            faults: Vec::new(),
            drift_ppm: 0,
            bound: None,
            detector: None,
            recovery: None,
            options: Vec::new(),
            clients: ClientPlan::default(),
            starters: Vec::new(),
            until: None,
            properties: None,
            keep_records: 0,
        }
    }
}

/// Who wants to see a run while it goes on.
#[derive(Default)]
pub struct Spectators<'a> {
    /// Sees every record.
    pub records: Option<&'a mut dyn FnMut(&Record)>,
    /// Hears now and then how many events there were and how many requests were served.
    pub progress: Option<&'a mut dyn FnMut(u64, u64)>,
    /// Sees a process before each of its steps, and again after it.
    pub states: Option<Look<'a>>,
    /// They have seen enough after so many events: the run is cut off.
    pub enough: Option<u64>,
}

/// Why an experiment cannot be run. Nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each means")]
pub enum ExperimentError {
    #[error(transparent)]
    UnknownAlgorithm(#[from] UnknownAlgorithm),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("{algorithm} has no recovery from crashes; these algorithms have it: {known}")]
    NoRecovery { algorithm: &'static str, known: String },
    #[error("{what} of process {id}: no such process; process ids are 1 to {n}")]
    NoSuchProcess { what: &'static str, id: u32, n: u32 },
    #[error("partition: process {id} is in two parts")]
    PartitionOverlap { id: u32 },
    #[error("{what} from {from} to {to}: it must end after it begins")]
    EmptyInterval { what: &'static str, from: String, to: String },
    #[error("restart of process {id} at {at}: it has not crashed before that")]
    RestartWithoutCrash { id: u32, at: String },
    #[error("process {id} cannot start an election at time 0, because it is absent; choose another starter")]
    DeadStarter { id: u32 },
    #[error("all {n} processes are absent from the beginning: at least one must live")]
    NobodyLives { n: u32 },
    #[error("delay bound {bound}: it must be at least 0.001 δ; otherwise processes only ask again")]
    BadBound { bound: String },
    #[error("delay {least}..{most}: the first value must be at least 0.000001 δ and not larger than the second")]
    BadDelay { least: String, most: String },
}

impl Experiment {
    /// Runs the algorithm of this name.
    pub fn run(&self, algorithm: &str, spectators: Spectators<'_>) -> Result<Report, ExperimentError> {
        self.run_subject(&Named::new(algorithm)?, spectators)
    }

    /// Runs an algorithm, however it was chosen.
    pub fn run_subject(&self, subject: &impl Subject, spectators: Spectators<'_>) -> Result<Report, ExperimentError> {
        subject.simulate(self, spectators)
    }

    /// Runs an algorithm that can be visited.
    pub(crate) fn run_visited(
        &self,
        subject: &impl Subject,
        spectators: Spectators<'_>,
    ) -> Result<Report, ExperimentError> {
        struct Run<'a, 'b>(&'a Experiment, Spectators<'b>);
        impl Runner for Run<'_, '_> {
            type Output = Result<Report, ExperimentError>;
            fn mutex<M: Mutex>(self) -> Self::Output {
                self.0.run_mutex::<M>(self.1)
            }
            fn recovering<M: Mutex>(self) -> Self::Output {
                self.0.run_mutex::<Alone<M>>(self.1)
            }
            fn led<M: Mutex>(self) -> Self::Output {
                self.recovering::<M>()
            }
            fn election<E: Election>(self) -> Self::Output {
                self.0.run_election::<E>(self.1)
            }
            fn detector<D: Detector>(self) -> Self::Output {
                self.0.run_detector::<D>(self.1)
            }
        }
        self.check_recovery(subject.entry())?;
        recovery::run(subject, self.recovery.is_some(), Run(self, spectators))
    }

    /// Runs a mutual exclusion algorithm.
    pub fn run_mutex<M: Mutex>(&self, spectators: Spectators<'_>) -> Result<Report, ExperimentError> {
        // An impossible n is refused below.
        let n = self.n.clamp(1, Fence::MOST_PROCESSES);
        let clients = Clients::new(self.clients.clone(), n, M::ENTRY.coordinator, self.seed);
        self.run_entry(&M::ENTRY, Withdrawable::<M>::new, clients, spectators)
    }

    /// Runs an election.
    pub fn run_election<E: Election>(&self, spectators: Spectators<'_>) -> Result<Report, ExperimentError> {
        self.run_entry(&E::ENTRY, E::new, Voters::new(self.callers()), spectators)
    }

    /// Who calls an election, and when.
    fn callers(&self) -> Vec<(Id, Ticks)> {
        if self.starters.is_empty() {
            Id::all(self.n).find(|&id| !self.is_absent(id)).map(|id| (id, 0)).into_iter().collect()
        } else {
            self.starters.clone()
        }
    }

    /// Runs a failure detector.
    pub fn run_detector<D: Detector>(&self, spectators: Spectators<'_>) -> Result<Report, ExperimentError> {
        self.run_entry(&D::ENTRY, D::new, Listeners, spectators)
    }

    fn run_entry<P, A>(
        &self,
        entry: &Entry,
        create: Create<P>,
        application: A,
        spectators: Spectators<'_>,
    ) -> Result<Report, ExperimentError>
    where
        P: Process<Input: Recorded, Output: Recorded>,
        A: Application<P>,
    {
        let group = self.group(entry)?;
        let entry = &entry.with(&group.options);
        self.check()?;
        let plan = self.plan(entry, &group);
        let observer = Observer::new(self.n, &plan.watch, spectators.records);
        let observer = observer.looking(spectators.states).until(spectators.enough);
        let mut ignore = |_, _| {};
        let progress = spectators.progress.unwrap_or(&mut ignore);
        let outcome = simulate::run(&plan, &group, create, application, observer, progress);
        Ok(self.report(entry, &group, &plan, outcome))
    }

    /// The group of processes that this experiment sets up for an algorithm.
    pub fn group(&self, entry: &Entry) -> Result<Arc<Group>, ExperimentError> {
        let given = self.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let options = Options::new(entry, given)?;
        let bound = self.bound.unwrap_or(self.delay.bound());
        let timing = if self.delay.is_bounded() { Timing::Synchronous } else { Timing::Asynchronous };
        Ok(Group::new(entry, self.n, bound, timing, options)?.recovering(entry, self.recovery)?)
    }

    fn plan(&self, entry: &Entry, group: &Group) -> Plan {
        let in_order = entry.assumptions.fifo && self.recovery.is_none();
        let default_order = if in_order { Order::Fifo } else { Order::Any };
        let properties = self.properties.clone().unwrap_or_else(|| {
            let demanded = of_family(entry.family).iter().copied();
            demanded.filter(|&property| property != Property::RequestOrder || self.n <= REQUEST_ORDER_UP_TO).collect()
        });
        let default_end = self.default_end(entry, group);
        Plan {
            seed: self.seed,
            conditions: Conditions {
                delay: self.delay,
                order: self.order.unwrap_or(default_order),
                loss: self.loss,
                duplicate: self.duplicate,
                partitions: self.partitions.clone(),
            },
            faults: self.faults.clone(),
            drift_ppm: self.drift_ppm,
            detector: self.detector.unwrap_or(entry.assumptions.detector),
            until: self.until.or(default_end),
            detects: self.recovery.is_some(),
            restless: entry.restless || self.recovery.is_some(),
            watch: Watch { properties, keep_records: self.keep_records, detector_needs: default_end.unwrap_or(0) },
        }
    }

    /// When a run stops that would never end by itself.
    fn default_end(&self, entry: &Entry, group: &Group) -> Option<Ticks> {
        match entry.family {
            // Its applications are done some time, or stall.
            Family::Mutex => None,
            Family::Election => {
                let last_call = self.starters.iter().map(|&(_, at)| at).max().unwrap_or(0);
                let enough = DELTA.max(group.delay_bound).saturating_mul(1_000_000);
                Some(self.last_change().max(last_call).saturating_add(enough))
            }
            Family::Detector => {
                // A detector that does not say how often it beats gets plenty of time.
                let interval =
                    group.options.choice_if_any("interval").map_or(100, |_| group.options.integer("interval"));
                let enough = group.delay_bound.saturating_mul(10 * (interval + 1));
                Some(self.last_change().saturating_add(enough))
            }
        }
    }

    /// The largest number of requests that the applications can make.
    pub fn most_entries(&self) -> u64 {
        let all = self.clients.entries_each.map_or(u64::MAX, |each| each.saturating_mul(u64::from(self.n)));
        self.clients.entries.min(all)
    }

    fn last_change(&self) -> Ticks {
        last_change(&self.faults, &self.partitions)
    }

    fn is_absent(&self, id: Id) -> bool {
        self.faults.contains(&Fault::AbsentFromTheBeginning(id))
    }

    /// What of this breaks an assumption of the algorithm, in words.
    fn broken_assumptions(&self, entry: &Entry, plan: &Plan, group: &Group) -> Vec<String> {
        let assumed = &entry.assumptions;
        let crashes = self.faults.iter().any(|fault| !matches!(fault, Fault::Pause(..)));
        let late = self.faults.iter().any(|fault| matches!(fault, Fault::Pause(..))) || !self.partitions.is_empty();
        let steady = matches!(self.delay, Delay::Constant(_) | Delay::PerLink(..));
        let restarts = self.faults.iter().any(|fault| matches!(fault, Fault::Restart(..)));
        let crash = |fault: &Fault| match *fault {
            Fault::Crash(id, at) => Some((id, at)),
            Fault::AbsentFromTheBeginning(_) | Fault::Restart(..) | Fault::Pause(..) => None,
        };
        let crashed: Vec<_> = self.faults.iter().filter_map(crash).collect();
        let callers = self.callers();
        let last_call = callers.iter().map(|(_, at)| *at).max().unwrap_or(0);
        let last_crash = crashed.iter().map(|(_, at)| *at).max().unwrap_or(0);
        let nobody_survives = callers.iter().all(|(caller, _)| crashed.iter().any(|(id, _)| id == caller));
        if self.recovery.is_some() {
            let drifts = self.drift_ppm > 0 || !self.delay.is_bounded() || group.delay_bound < self.delay.bound();
            let may_err = late || drifts || self.loss > 0.0;
            return may_err.then(|| "live processes may be suspected".to_string()).into_iter().collect();
        }
        let broken = [
            (assumed.reliable && self.loss > 0.0, "messages may be lost"),
            (assumed.reliable && self.duplicate > 0.0, "messages may arrive twice"),
            (assumed.fifo && plan.conditions.order == Order::Any && !steady, "messages may overtake each other"),
            (assumed.crash_free && crashes, "processes crash"),
            (assumed.restart_free && !assumed.crash_free && restarts, "processes restart"),
            (
                entry.family == Family::Election && !plan.detector && last_crash > last_call,
                "no process starts an election after the last crash",
            ),
            (entry.family == Family::Election && nobody_survives, "every process that starts an election crashes"),
            (assumed.synchronous && !self.delay.is_bounded(), "message delays have no bound"),
            (
                assumed.synchronous && self.delay.is_bounded() && group.delay_bound < self.delay.bound(),
                "messages take longer than the delay bound that the processes assume",
            ),
            (assumed.synchronous && late, "messages and processes may be late beyond any bound"),
            (assumed.synchronous && self.drift_ppm > 0, "clocks drift"),
            (assumed.detector && !plan.detector, "processes are not notified of crashes"),
        ];
        broken.into_iter().filter(|(is, _)| *is).map(|(_, words)| words.to_string()).collect()
    }

    /// What the algorithm promises with these options and, if it recovers, with these faults.
    fn promised(&self, entry: &Entry, options: &Options) -> Vec<Property> {
        let crashes = self.faults.iter().filter(|fault| matches!(fault, Fault::Crash(..))).count();
        let bounded = entry.recovery.is_some_and(|recovery| recovery.fenced_crashes.is_some());
        let needs_majority = entry.recovery.is_some_and(|recovery| recovery.needs_majority);
        let clocks = self.clients.clocks.iter().map(|(_, number)| number.get());
        let are_clocks_apart = clocks.max().is_some_and(|highest| highest >= LamportClock::ERA);
        let still = |property: Property| {
            self.recovery.is_none()
                || match property {
                    Property::RequestOrder => false,
                    Property::Fencing => crashes == 0 || (crashes == 1 && !(bounded && are_clocks_apart)),
                    Property::Progress => !needs_majority || self.n - self.dead_for_good() > self.n / 2,
                    Property::MutualExclusion
                    | Property::SingleLeader
                    | Property::Decided
                    | Property::Accuracy
                    | Property::Completeness
                    | Property::ResourceSafety
                    | Property::NoLostUpdate => true,
                }
        };
        entry.promises.iter().copied().filter(|&p| entry.promises(p, options) && still(p)).collect()
    }

    /// How many crash, or are not there, and do not come back.
    fn dead_for_good(&self) -> u32 {
        let last = |id: Id| {
            let of_it = self.faults.iter().filter_map(|fault| match *fault {
                Fault::AbsentFromTheBeginning(dead) if dead == id => Some((0, true)),
                Fault::Crash(dead, at) if dead == id => Some((at, true)),
                Fault::Restart(back, at) if back == id => Some((at, false)),
                Fault::AbsentFromTheBeginning(_) | Fault::Crash(..) | Fault::Restart(..) | Fault::Pause(..) => None,
            });
            of_it.max_by_key(|(at, _)| *at).is_some_and(|(_, dead)| dead)
        };
        Id::all(self.n).filter(|&id| last(id)).count() as u32
    }

    /// Refuses to let recover what does not.
    fn check_recovery(&self, entry: &Entry) -> Result<(), ExperimentError> {
        // An election that recovers is told of crashes as it always is; there is nothing to put around it.
        let recovers = |entry: &Entry| entry.family == Family::Mutex && entry.recovery.is_some();
        if self.recovery.is_some() && !recovers(entry) {
            let known = ENTRIES.iter().filter(|entry| recovers(entry)).map(|entry| entry.name);
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(ExperimentError::NoRecovery { algorithm: entry.name, known });
        }
        Ok(())
    }

    fn report(&self, entry: &Entry, group: &Group, plan: &Plan, outcome: Outcome) -> Report {
        let promised = self.promised(entry, &group.options);
        Report {
            algorithm: entry.name,
            family: entry.family,
            n: self.n,
            seed: self.seed,
            broken_assumptions: self.broken_assumptions(entry, plan, group),
            counted: self.properties.clone().unwrap_or_else(|| promised.clone()),
            promised,
            watched: plan.watch.properties.clone(),
            outcome,
        }
    }

    fn check(&self) -> Result<(), ExperimentError> {
        self.check_delay()?;
        for fault in &self.faults {
            match *fault {
                Fault::AbsentFromTheBeginning(id) | Fault::Crash(id, _) => self.check_id("crash", id)?,
                Fault::Restart(id, at) => {
                    self.check_id("restart", id)?;
                    self.check_restart(id, at)?;
                }
                Fault::Pause(id, from, to) => {
                    self.check_id("pause", id)?;
                    check_interval("pause", from, to)?;
                }
            }
        }
        for partition in &self.partitions {
            check_interval("partition", partition.from, partition.to)?;
            let mut seen = std::collections::BTreeSet::new();
            for &id in partition.parts.iter().flatten() {
                self.check_id("partition", id)?;
                if !seen.insert(id) {
                    return Err(ExperimentError::PartitionOverlap { id: id.number() });
                }
            }
        }
        if Id::all(self.n).all(|id| self.is_absent(id)) {
            return Err(ExperimentError::NobodyLives { n: self.n });
        }
        for &(id, at) in &self.starters {
            self.check_id("starter", id)?;
            if at == 0 && self.is_absent(id) {
                return Err(ExperimentError::DeadStarter { id: id.number() });
            }
        }
        if let Workload::List(list) = &self.clients.workload {
            list.iter().try_for_each(|&(id, _)| self.check_id("request", id))?;
        }
        self.clients.clocks.iter().try_for_each(|&(id, _)| self.check_id("clock", id))
    }

    fn check_delay(&self) -> Result<(), ExperimentError> {
        let (least, most) = match self.delay {
            Delay::Constant(delay) | Delay::Exponential(delay) => (delay, delay),
            Delay::Uniform(least, most) | Delay::PerLink(least, most) => (least, most),
        };
        if let Some(bound) = self.bound.filter(|&bound| bound < DELTA / 1000) {
            return Err(ExperimentError::BadBound { bound: (bound as f64 / DELTA as f64).to_string() });
        }
        if least == 0 || least > most {
            return Err(ExperimentError::BadDelay { least: delta_text(least), most: delta_text(most) });
        }
        Ok(())
    }

    fn check_id(&self, what: &'static str, id: Id) -> Result<(), ExperimentError> {
        if id.number() > self.n {
            return Err(ExperimentError::NoSuchProcess { what, id: id.number(), n: self.n });
        }
        Ok(())
    }

    fn check_restart(&self, id: Id, at: Ticks) -> Result<(), ExperimentError> {
        let crashed_before = self.faults.iter().any(|fault| match *fault {
            Fault::AbsentFromTheBeginning(other) => other == id,
            Fault::Crash(other, when) => other == id && when <= at,
            Fault::Restart(..) | Fault::Pause(..) => false,
        });
        if !crashed_before {
            return Err(ExperimentError::RestartWithoutCrash { id: id.number(), at: delta_text(at) });
        }
        Ok(())
    }
}

fn check_interval(what: &'static str, from: Ticks, to: Ticks) -> Result<(), ExperimentError> {
    if from >= to {
        return Err(ExperimentError::EmptyInterval { what, from: delta_text(from), to: delta_text(to) });
    }
    Ok(())
}
