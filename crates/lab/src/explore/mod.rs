//! Explores every run of an algorithm in a small group: proves a property, or returns a shortest counterexample.
//!
//! | module | what it holds |
//! |---|---|
//! | [`goal`] | the properties that can be checked |
//! | `machine`, `acts`, `successor`, `lives` | the transition system: parts interned, steps remembered, fingerprints updated |
//! | `search`, `visited` | breadth first, level by level, on all cores, with the same answer on any number of them |
//! | `watch`, `budget` | parts of the state: the property monitors, the resource, and the faults that may still happen |
//! | `liveness` | cycles on which a process waits for ever |
//! | `tries` | merges states that differ only in how often a process has retried |
//! | `refusal` | errors: what cannot be explored, and why |
//! | [`counterexample`] | a run that violates a property, replayed on plain processes |
//!
//! The explorer follows everything that a [`Stage`](crate::stage::Stage) allows under the same [`Rules`]. A process can
//! crash between two steps, and also between any two effects of one step, the first step after a restart included: a
//! step may send and save only a part of what it would send and save.

mod action;
mod acts;
mod budget;
pub mod counterexample;
mod findings;
mod frontier;
pub mod goal;
mod interner;
#[cfg(test)]
mod layout_tests;
mod liveness;
mod lives;
mod machine;
mod pairs;
mod parallel;
mod refusal;
mod search;
mod successor;
mod tables;
mod tries;
mod visited;
mod watch;

use std::sync::Arc;
use std::thread::{self, available_parallelism};

use quorate_core::catalog::{Entry, Family};
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::id::Id;
use quorate_core::mutex::Mutex;
use quorate_core::process::{Process, Ticks};
use quorate_core::setting::{Group, Options, Recovering, Timing};
use quorate_core::stack::{Rejoining, Withdrawable};
use quorate_core::trace::Recorded;

use crate::network::Order;
use crate::recovery::{self, Beside, Runner};
use crate::stage::host::Company;
use crate::stage::wish::{Caller, Client, Free, Listener, Times};
use crate::stage::{Bounds, Rules};
use crate::subject::{Named, Subject};
use crate::world::Create;
use goal::Goal;
use liveness::Graph;
use machine::Machine;
use search::{Limits, Searched};

pub use findings::{Findings, Verdict};
pub use refusal::ExplorationError;
pub use search::Progress;

/// Everything that determines an exploration, except the algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Exploration {
    /// How many processes.
    pub n: u32,
    /// How often each application requests entry, or starts an election.
    pub times: Times,
    /// The order in which messages arrive; by default the weakest order that the algorithm assumes.
    pub order: Option<Order>,
    /// Whether message delays are bounded; by default, if the algorithm assumes so.
    pub timing: Option<Timing>,
    /// The largest message delay in ticks, with synchronous timing.
    pub delay_bound: Ticks,
    /// By how many ticks a timer may fire too early or too late, with synchronous timing: clocks drift.
    pub drift: Ticks,
    /// Whether all processes are notified of crashes; by default, if the algorithm assumes so.
    pub detector: Option<bool>,
    /// Whether the algorithm recovers from crashes, and which election runs beside it if it needs one. Messages then
    /// travel in [sessions](Rules#sessions).
    pub recovery: Option<Beside>,
    /// How many faults and other events may happen. With asynchronous timing, timeouts are limited to
    /// [`DEFAULT_TIMEOUTS`] unless a limit is given.
    pub bounds: Bounds,
    /// Whether applications' messages carry no stamp.
    pub unstamped_pokes: bool,
    /// Whether a read of the [resource](crate::stage::resource) is a seal.
    pub sealed: bool,
    /// The processes that crashed before the run.
    pub absent: Vec<Id>,
    /// The algorithm's options, as key and value.
    pub options: Vec<(String, String)>,
    /// The properties to check; by default all properties of the algorithm's family.
    pub goals: Option<Vec<Goal>>,
    /// How many threads; by default as many as there are cores.
    pub threads: Option<usize>,
    /// Give up when there are more states than this.
    pub max_states: u64,
    /// Give up when the states need more bytes of memory than this.
    pub max_bytes: u64,
    /// Whether to stop at the first violation that [counts](Findings::counted).
    pub stop: bool,
}

/// What is about to be explored.
struct Prepared<P: Process, A> {
    entry: Entry,
    goals: Vec<Goal>,
    machine: Machine<P, A>,
    first: Vec<u32>,
}

/// How many timeouts may happen with asynchronous timing, unless a limit is given.
pub const DEFAULT_TIMEOUTS: u32 = 1;

/// The largest group that can be explored. In practice, the number of states limits groups to far fewer processes.
pub const LARGEST_GROUP: u32 = 16;

impl Default for Exploration {
    fn default() -> Self {
        Exploration {
            n: 3,
            times: Times::AtMost(1),
            order: None,
            timing: None,
            delay_bound: 1,
            drift: 0,
            detector: None,
            recovery: None,
            bounds: Bounds::default(),
            unstamped_pokes: false,
            sealed: false,
            absent: Vec::new(),
            options: Vec::new(),
            goals: None,
            threads: None,
            max_states: 1 << 30,
            max_bytes: 8 << 30,
            stop: false,
        }
    }
}

impl Exploration {
    /// Explores the algorithm of this name.
    pub fn run(&self, algorithm: &str, progress: &mut dyn FnMut(Progress)) -> Result<Findings, ExplorationError> {
        self.run_subject(&Named::new(algorithm)?, progress)
    }

    /// Explores an algorithm, however it was chosen.
    pub fn run_subject(
        &self,
        subject: &impl Subject,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Findings, ExplorationError> {
        subject.explore(self, progress)
    }

    /// Explores an algorithm that can be visited.
    pub(crate) fn run_visited(
        &self,
        subject: &impl Subject,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Findings, ExplorationError> {
        struct Run<'a, 'b>(&'a Exploration, &'b mut dyn FnMut(Progress));
        impl Runner for Run<'_, '_> {
            type Output = Result<Findings, ExplorationError>;
            fn mutex<M: Mutex>(self) -> Self::Output {
                self.0.run_mutex::<M>(self.1)
            }
            fn recovering<M: Mutex>(self) -> Self::Output {
                self.mutex::<Rejoining<M>>()
            }
            fn election<E: Election>(self) -> Self::Output {
                self.0.run_election::<E>(self.1)
            }
            fn detector<D: Detector>(self) -> Self::Output {
                self.0.run_detector::<D>(self.1)
            }
        }
        recovery::run(subject, self.recovery.is_some(), Run(self, progress))
    }

    /// Explores a mutual exclusion algorithm.
    pub fn run_mutex<M: Mutex>(&self, progress: &mut dyn FnMut(Progress)) -> Result<Findings, ExplorationError> {
        self.run_entry::<_, Client>(&M::ENTRY, Withdrawable::<M>::new, progress)
    }

    /// Explores an election.
    pub fn run_election<E: Election>(&self, progress: &mut dyn FnMut(Progress)) -> Result<Findings, ExplorationError> {
        self.run_entry::<_, Caller>(&E::ENTRY, E::new, progress)
    }

    /// Explores a failure detector.
    pub fn run_detector<D: Detector>(&self, progress: &mut dyn FnMut(Progress)) -> Result<Findings, ExplorationError> {
        self.run_entry::<_, Listener>(&D::ENTRY, D::new, progress)
    }

    fn run_entry<P, A>(
        &self,
        entry: &Entry,
        create: Create<P>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Findings, ExplorationError>
    where
        P: Process<Input: Recorded, Output: Recorded>,
        A: Free<P>,
    {
        let prepared = self.prepare::<P, A>(entry, create, 0)?;
        Ok(self.explore(prepared, search::slab(self.max_states), progress))
    }

    /// Refuses what cannot be explored, and builds the tables and the first state of what can. The salt changes every
    /// hash, and must change no answer.
    fn prepare<P, A>(&self, entry: &Entry, create: Create<P>, salt: u64) -> Result<Prepared<P, A>, ExplorationError>
    where
        P: Process<Input: Recorded, Output: Recorded>,
        A: Free<P>,
    {
        let goals = self.goals(entry)?;
        let entry = self.as_chosen(entry)?;
        self.check(&entry)?;
        let group = self.group(&entry)?;
        let rules = self.rules(&entry, &goals);
        let company = Company {
            group,
            create,
            timed: rules.delay_bound.is_some(),
            drift: self.drift,
            with_resource: rules.bounds.writes > 0,
        };
        let (machine, first) = Machine::new(company, rules, &goals, salt);
        Ok(Prepared { entry, goals, machine, first })
    }

    /// Explores so many states at a time: how many must change no answer.
    fn explore<P, A>(&self, prepared: Prepared<P, A>, slab: usize, progress: &mut dyn FnMut(Progress)) -> Findings
    where
        P: Process<Input: Recorded, Output: Recorded>,
        A: Free<P>,
    {
        let Prepared { entry, goals, mut machine, first } = prepared;
        let about_cycles = goals.iter().any(|goal| goal.is_about_cycles());
        let limits = Limits {
            threads: self.threads.unwrap_or_else(|| available_parallelism().map_or(1, |cores| cores.get())),
            states: self.max_states,
            bytes: self.max_bytes,
            stop: if self.stop { self.bits_of_counted(&entry, &machine.company.group.options, &goals) } else { 0 },
            acyclic: about_cycles,
            keep: false,
            slab,
        };
        let mut searched = search::search(&mut machine, &first, &goals, &limits, progress);
        let mut graph = None;
        let mut discarded = None;
        if about_cycles && searched.cyclic && !searched.is_enough {
            // Cycles are looked for among all states: once more, and keep them.
            for states in tries::rounds(self.max_states, machine.tables.renumbers) {
                let limits = Limits { acyclic: false, keep: true, states, ..limits };
                let again = search::search(&mut machine, &first, &goals, &limits, progress);
                if again.is_enough && again.visited.len() < searched.visited.len() {
                    // Interrupted before it came as far as the search before, whose findings are kept.
                    searched.is_enough = true;
                    discarded = Some(again);
                    break;
                }
                searched = again;
                let is_enough = searched.complete || machine.tables.renumbers;
                graph = is_enough.then(|| Graph::new(&machine.tables, &searched));
                let is_broken = |(place, &goal)| {
                    let round = |graph| counterexample::of_cycles(&machine, &first, &searched, graph, goal, place);
                    searched.breaches[place].is_some() || graph.as_ref().and_then(round).is_some()
                };
                if searched.complete || searched.is_enough || (0..).zip(&goals).all(is_broken) {
                    break;
                }
            }
        }
        let verdicts = (0..).zip(&goals).map(|(place, &goal)| {
            let counterexample = match (searched.breaches[place], &graph) {
                (Some(breach), _) => Some(counterexample::of_breach(&machine, &first, &searched, breach, goal)),
                (None, Some(graph)) => counterexample::of_cycles(&machine, &first, &searched, graph, goal, place),
                (None, None) => None,
            };
            let verdict = match counterexample {
                Some(counterexample) => Verdict::Violated(Box::new(counterexample)),
                None if !searched.complete => Verdict::Undecided(self.why_incomplete(&searched, limits.stop)),
                None if searched.left_open & 1 << place != 0 => Verdict::Undecided(
                    "some runs reach the limit on timeouts while processes still wait for timers".into(),
                ),
                None => Verdict::Holds,
            };
            (goal, verdict)
        });
        let verdicts: Vec<_> = verdicts.collect();
        let findings = self.findings(&entry, &machine, &searched, verdicts);
        if searched.is_enough {
            // Freeing gigabytes takes seconds, for which an interrupted caller need not wait. If no thread can be
            // started, they are freed here.
            let _ = thread::Builder::new().spawn(move || drop((machine, graph, searched, discarded)));
        }
        findings
    }

    /// Whether the violation of a goal counts: one that is asked by name, or else one that the algorithm promises.
    fn is_counted(&self, goal: Goal, entry: &Entry, options: &Options) -> bool {
        self.goals.is_some() || self.is_promised(goal, entry, options)
    }

    /// The goals that count, as a set of bits.
    fn bits_of_counted(&self, entry: &Entry, options: &Options, goals: &[Goal]) -> u32 {
        let counted = (0..).zip(goals).filter(|(_, goal)| self.is_counted(**goal, entry, options));
        counted.fold(0, |bits, (at, _)| bits | 1 << at)
    }

    fn why_incomplete(&self, searched: &Searched, stop: u32) -> String {
        let is_stop = |(at, breach): (usize, &Option<_>)| stop & 1 << at != 0 && breach.is_some();
        let most = self.max_states.min(search::MOST_STATES);
        if searched.is_enough {
            "the search was interrupted".into()
        } else if searched.visited.len() as u64 > most {
            format!("the search stopped at its limit of {most} states")
        } else if searched.breaches.iter().enumerate().any(is_stop) {
            "the search stopped at the first violation".into()
        } else {
            format!("the search stopped at its limit of {} GB of memory", self.max_bytes as f64 / 1e9)
        }
    }

    fn findings<P: Process, A>(
        &self,
        entry: &Entry,
        machine: &Machine<P, A>,
        searched: &Searched,
        verdicts: Vec<(Goal, Verdict)>,
    ) -> Findings {
        let (rules, options) = (&machine.tables.rules, &machine.company.group.options);
        let states = searched.visited.len() as u64;
        let asked = || verdicts.iter().map(|(goal, _)| *goal);
        let is_order_counted =
            verdicts.iter().any(|(goal, _)| *goal == Goal::StarvationFreedom) && rules.times != Times::Endless;
        Findings {
            algorithm: entry.name,
            n: self.n,
            states,
            transitions: searched.transitions,
            depth: searched.depth,
            ends: searched.ends.0,
            ends_digest: searched.ends.1,
            complete: searched.complete,
            seconds: searched.seconds,
            bytes: searched.visited.bytes() as u64,
            collision: (states as f64) * (states as f64) / 2.0 / 2f64.powi(64),
            promised: asked().filter(|goal| self.is_promised(*goal, entry, options)).collect(),
            counted: asked().filter(|goal| self.is_counted(*goal, entry, options)).collect(),
            verdicts,
            bounds: self.bounds_in_words(entry, rules, machine.tables.host_facts.iter().any(|host| host.armed)),
            broken_assumptions: self.broken_assumptions(entry, rules),
            applications_talk: rules.bounds.pokes > 0,
            most_overtaken: is_order_counted.then_some(machine.tables.most_overtaken),
        }
    }

    fn broken_assumptions(&self, entry: &Entry, rules: &Rules) -> Vec<String> {
        let mut broken = rules.broken_assumptions(entry);
        if recovery::elects_in_time(entry, self.recovery) && rules.delay_bound.is_none() {
            broken.push("message delays have no bound, but the election beside the algorithm needs one".into());
        }
        if self.drift > 0 && rules.delay_bound.is_some() && entry.assumptions.synchronous {
            broken.push("clocks drift".into());
        }
        broken
    }

    fn goals(&self, entry: &Entry) -> Result<Vec<Goal>, ExplorationError> {
        let known = Goal::of_family(entry.family);
        // Where entries are not counted, fences do not grow.
        let fences_grow = |goal: &Goal| *goal != Goal::Fencing || self.times != Times::Endless;
        // Who recovers does not promise an order across a crash.
        let is_ordered = |goal: &Goal| *goal != Goal::RequestOrder || self.recovery.is_none();
        let is_written = |goal: &Goal| !goal.is_about_resource() || self.bounds.writes > 0;
        let is_usual = |goal: &Goal| fences_grow(goal) && is_ordered(goal) && is_written(goal);
        let Some(goals) = &self.goals else { return Ok(known.iter().copied().filter(is_usual).collect()) };
        if !goals.iter().all(fences_grow) {
            return Err(ExplorationError::EndlessFences);
        }
        if let Some(&goal) = goals.iter().find(|goal| known.contains(goal) && !is_written(goal)) {
            return Err(ExplorationError::NothingWritten { goal });
        }
        if goals.is_empty() {
            return Err(ExplorationError::NoGoal);
        }
        let mut asked: Vec<Goal> = Vec::new();
        for &goal in goals {
            if !known.contains(&goal) {
                let known = known.iter().map(Goal::to_string).collect();
                return Err(ExplorationError::WrongGoal { goal, family: entry.family, known });
            }
            if !asked.contains(&goal) {
                asked.push(goal);
            }
        }
        Ok(asked)
    }

    fn options(&self, entry: &Entry) -> Result<Options, ExplorationError> {
        let given = self.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        Ok(Options::new(entry, given)?)
    }

    /// The entry as the options make it.
    fn as_chosen(&self, entry: &Entry) -> Result<Entry, ExplorationError> {
        let options = self.options(entry)?;
        Ok(if self.recovery.is_some() { *entry } else { entry.with(&options) })
    }

    fn group(&self, entry: &Entry) -> Result<Arc<Group>, ExplorationError> {
        let options = self.options(entry)?;
        let group = Group::new(entry, self.n, self.delay_bound, self.timing(entry), options)?;
        let group = group.recovering(entry, self.recovery.map(Recovering::with))?;
        Ok(if self.times == Times::Endless { group.uncounted() } else { group })
    }

    fn timing(&self, entry: &Entry) -> Timing {
        let assumed = if entry.assumptions.synchronous { Timing::Synchronous } else { Timing::Asynchronous };
        self.timing.unwrap_or(assumed)
    }

    fn rules(&self, entry: &Entry, goals: &[Goal]) -> Rules {
        let default_order = if entry.assumptions.fifo { Order::Fifo } else { Order::Any };
        let recovers = self.recovery.is_some();
        let is_timeless = recovery::is_timeless(entry, self.recovery);
        let is_timed = self.timing(entry) == Timing::Synchronous && !is_timeless;
        let timeouts = self.bounds.timeouts.or(if is_timed { None } else { Some(DEFAULT_TIMEOUTS) });
        Rules {
            order: if recovers { Order::Fifo } else { self.order.unwrap_or(default_order) },
            delay_bound: is_timed.then_some(self.delay_bound),
            detector: recovers || self.detector.unwrap_or(entry.assumptions.detector),
            sessions: recovers,
            stamped_pokes: !self.unstamped_pokes,
            times: self.times,
            coordinator: entry.coordinator,
            elects: entry.family == Family::Election,
            absent: self.absent.iter().copied().collect(),
            bounds: Bounds { timeouts, ..self.bounds },
            causal: goals.contains(&Goal::RequestOrder) || self.bounds.pokes > 0,
            sealed: self.sealed,
        }
    }
}
