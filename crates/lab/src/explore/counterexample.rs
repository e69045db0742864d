//! A run that violates a property, replayed on plain processes.
//!
//! The search knows states as numbers. Here its way is walked again on a [`Stage`], whose records people read; and the
//! goal must be broken there, too, by the same properties that watch a simulation.

use quorate_core::catalog::Property;
use quorate_core::id::Id;
use quorate_core::process::Process;
use quorate_core::trace::{Record, Recorded};

use super::action::Act;
use super::goal::Goal;
use super::liveness::{self, Graph, Lasso};
use super::machine::Machine;
use super::search::{Breach, Searched};
use super::successor::Change;
use super::tries;
use crate::diagram::Mark;
use crate::property::{Monitor, Violation, overtaking};
use crate::stage::host::Happening;
use crate::stage::wish::Free;
use crate::stage::{Choice, Stage};

/// A run that violates a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The steps of the run, in the words of a scenario.
    pub steps: Vec<String>,
    /// The records of the run, from its start. Each step is one δ later than the step before.
    pub records: Vec<Record>,
    /// The violation at the end of the run, as text.
    pub why: String,
    /// The step from which the run can repeat for ever, if it can.
    pub repeats_from: Option<usize>,
}

impl Counterexample {
    /// The place of the violation in a diagram: the event that must never happen, or the end of the run if something
    /// never happens.
    pub fn mark(&self, n: u32, goal: Goal) -> Mark {
        let at = self.records.last().map_or(0, |record| record.at);
        match goal.property() {
            Some(property) => {
                let violation = Violation { at, why: self.why.clone() };
                Mark::of_violation(n, &self.records, property, &violation)
            }
            None => Mark::at_time(at, &self.why),
        }
    }
}

/// The shortest run that breaks a goal where the search found it broken.
pub(super) fn of_breach<P, A>(
    machine: &Machine<P, A>,
    first: &[u32],
    searched: &Searched,
    breach: Breach,
    goal: Goal,
) -> Counterexample
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    let mut way = searched.visited.way_to(breach.state);
    way.extend(breach.action);
    let acts: Vec<_> = way.into_iter().map(|action| action.unpack()).collect();
    let mut walk = Walk::new(machine, first);
    for &act in &acts {
        walk.take(act);
    }
    let why = walk.why(goal).expect("what breaks a goal in the search breaks it on plain processes");
    Counterexample { steps: walk.steps, records: walk.records, why, repeats_from: None }
}

/// A run that breaks a goal by going round for ever, if there is one.
pub(super) fn of_cycles<P, A>(
    machine: &Machine<P, A>,
    first: &[u32],
    searched: &Searched,
    graph: &Graph,
    goal: Goal,
    place: usize,
) -> Option<Counterexample>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    let of = |pending: &dyn Fn(&[u32]) -> bool, why: &str| {
        let lasso = liveness::lasso(&machine.tables, searched, graph, pending)?;
        Some(of_lasso(machine, first, searched, &lasso, why))
    };
    match goal {
        Goal::StarvationFreedom => (0..machine.tables.n)
            .filter_map(|host| {
                of(&|state| machine.tables.waits(state, host), &format!("{} waits for ever", Id::at(host)))
            })
            .min_by_key(|found| found.steps.len()),
        Goal::Decided | Goal::Completeness => {
            let never = if goal == Goal::Decided {
                "the election is never decided"
            } else {
                "a crashed process is never suspected"
            };
            of(
                &|state| machine.tables.watch_facts[state[machine.tables.n] as usize].at_the_end & 1 << place != 0,
                never,
            )
        }
        Goal::MutualExclusion
        | Goal::DeadlockFreedom
        | Goal::RequestOrder
        | Goal::Fencing
        | Goal::ResourceSafety
        | Goal::NoLostUpdate
        | Goal::SingleLeader
        | Goal::Accuracy => None,
    }
}

/// A run that leads to a cycle on which what is hoped for never comes.
fn of_lasso<P, A>(
    machine: &Machine<P, A>,
    first: &[u32],
    searched: &Searched,
    lasso: &Lasso,
    why: &str,
) -> Counterexample
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    let mut walk = Walk::new(machine, first);
    for action in &lasso.to_the_cycle {
        walk.take(action.unpack());
    }
    let (begins, before) = (walk.steps.len(), (walk.state.clone(), walk.stage.situation()));
    for action in &lasso.cycle {
        walk.take(action.unpack());
        walk.arrange_as_found(searched);
    }
    let is_same = before.1 == walk.stage.situation();
    assert!(before.0 == walk.state && (is_same || machine.tables.renumbers), "a cycle ends where it begins");
    let numbers = if is_same { "" } else { ", with larger numbers each time" };
    let why = format!("{why}: steps {} to {} can repeat for ever{numbers}", begins + 1, walk.steps.len());
    Counterexample { steps: walk.steps, records: walk.records, why, repeats_from: Some(begins) }
}

/// A way of the search, walked on a stage.
struct Walk<'m, P: Process, A> {
    machine: &'m Machine<P, A>,
    state: Vec<u32>,
    /// By how much the numbers of each host's tries are larger on the stage than in the state.
    larger: Vec<u64>,
    stage: Stage<P, A>,
    steps: Vec<String>,
    records: Vec<Record>,
}

impl<'m, P, A> Walk<'m, P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    fn new(machine: &'m Machine<P, A>, first: &[u32]) -> Walk<'m, P, A> {
        let (stage, records) = Stage::new(machine.company.clone(), machine.tables.rules.clone());
        let larger = vec![0; machine.tables.n];
        Walk { machine, state: first.to_vec(), larger, stage, steps: Vec::new(), records }
    }

    fn take(&mut self, act: Act) {
        let choice = self.choice(act);
        self.steps.push(self.stage.in_words(&choice));
        self.records.extend(self.stage.happen(choice));
        let mut change = Change::default();
        let followed = self.machine.tables.follow(&self.state, act, &mut change);
        assert!(followed.is_ok(), "a way that was searched can be followed");
        self.state = self.machine.tables.built(&self.state, &mut change);
        for (larger, shift) in self.larger.iter_mut().zip(&change.shifts) {
            *larger += shift;
        }
        for (id, &host) in Id::all(self.machine.tables.n as u32).zip(&self.state) {
            let mut host = self.machine.host_value(host).clone();
            tries::change(host.tries().unwrap_or_default(), |whose, number| number + self.larger[whose]);
            assert_eq!(self.stage.host(id), &host, "the stage goes the way of the search");
        }
    }

    /// Puts the letters of the state in the order in which they stand where the search found the state first: it may
    /// have come by another way, and the next action counts places there.
    fn arrange_as_found(&mut self, searched: &Searched) {
        let fingerprint = self.machine.tables.fingerprint(&self.state).max(1);
        let number = searched.visited.get(fingerprint).expect("a cycle goes through states that were found");
        self.state = searched.kept.state(number as usize).to_vec();
    }

    /// What an action of the search is on the stage.
    fn choice(&self, act: Act) -> Choice<P> {
        match act {
            Act::Move(host, place) => self.move_of(host, place),
            Act::MoveCutShort(host, place, effects) => Choice::CutShort(Box::new(self.move_of(host, place)), effects),
            Act::DeliverCutShort(place, effects) => Choice::CutShort(Box::new(self.delivery(place, false)), effects),
            Act::DeliverAndKeepCutShort(place, effects) => {
                Choice::CutShort(Box::new(self.delivery(place, true)), effects)
            }
            Act::SuspectCutShort(host, of, effects) => {
                Choice::CutShort(Box::new(Choice::Suspect(Id::at(host), Id::at(of))), effects)
            }
            Act::Suspect(host, of) => Choice::Suspect(Id::at(host), Id::at(of)),
            Act::Deliver(place) => self.delivery(place, false),
            Act::DeliverAndKeep(place) => self.delivery(place, true),
            Act::Lose(place) => Choice::Lose(self.place(place)),
            Act::Poke(from, to) => Choice::Poke(Id::at(from), Id::at(to)),
            Act::Tick => Choice::Tick,
        }
    }

    fn delivery(&self, place: usize, keep: bool) -> Choice<P> {
        Choice::Deliver { place: self.place(place), keep }
    }

    fn move_of(&self, host: usize, place: usize) -> Choice<P> {
        let id = Id::at(host);
        let event = self.machine.tables.host_facts[self.state[host] as usize].moves[place].event;
        match self.machine.event_value(event) {
            Happening::Wish(wish) => Choice::Wish(id, *wish),
            Happening::Timeout(timer) => Choice::Timeout(id, timer.clone()),
            Happening::Crash => Choice::Crash(id),
            Happening::Restart => Choice::Restart(id),
            Happening::Start
            | Happening::Receive { .. }
            | Happening::Hear { .. }
            | Happening::Notice(_)
            | Happening::CutShort(..)
            | Happening::Tick => unreachable!("no host does this by itself"),
        }
    }

    /// Where the stage has the letter that stands at this place of the state.
    fn place(&self, place: usize) -> usize {
        let letter = self.state[self.machine.tables.letters_at() + place];
        let mut letter = self.machine.letter_value(letter).clone();
        tries::change(letter.tries(), |whose, number| number + self.larger[whose]);
        let found = self.stage.letters().iter().position(|(_, other)| *other == letter);
        found.expect("the stage has the letters of the search")
    }

    /// What breaks a goal by the end of the walk.
    fn why(&self, goal: Goal) -> Option<String> {
        match goal.property() {
            // The stage follows the past of each request also through duplicates and crashes; records do not tell.
            Some(Property::RequestOrder) => self.stage.overtaking().map(|(me, other)| overtaking(me, other)),
            Some(property) => {
                let mut monitor = Monitor::new(property, self.stage.n());
                let broken = self.records.iter().filter_map(|record| monitor.observe(record)).last();
                broken.or_else(|| monitor.end(0)).map(|violation| violation.why)
            }
            None => {
                let waiting: Vec<_> = Id::all(self.stage.n())
                    .filter(|&id| self.stage.host(id).is_waiting())
                    .map(|id| id.to_string())
                    .collect();
                (!waiting.is_empty()).then(|| match waiting.len() {
                    1 => format!("{} waits, and nothing more happens", waiting[0]),
                    _ => format!("{} wait, and nothing more happens", waiting.join(", ")),
                })
            }
        }
    }
}
