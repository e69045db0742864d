//! What judges share: explorations and runs, each made once, and the evidence that is taken down meanwhile.

use std::rc::Rc;

use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Record, What};

use super::command_line;
use super::{Claim, Exhibit, Ruling};
use crate::diagram::{Mark, Unit};
use crate::experiment::{Experiment, Spectators};
use crate::explore::counterexample::Counterexample;
use crate::explore::goal::Goal;
use crate::explore::{Exploration, Findings};
use crate::observer::Verdict;
use crate::report::Report;
use crate::time::DELTA;

/// Judges claims.
#[derive(Default)]
pub struct Court {
    explorations: Vec<(String, Rc<Findings>)>,
    runs: Vec<(String, Rc<Run>)>,
    case: Case,
    /// How many threads explore; by default as many as there are cores.
    threads: Option<usize>,
}

/// What has been found about the claim at hand.
#[derive(Default)]
struct Case {
    evidence: Vec<String>,
    commands: Vec<String>,
    exhibit: Option<Exhibit>,
    /// The command that shows the exhibit.
    shown_by: Option<String>,
    runs: u64,
}

/// One simulated run.
pub struct Run {
    /// What came of it.
    pub report: Report,
    /// All that happened.
    pub records: Vec<Record>,
}

/// No more commands than this are listed with a claim.
const MOST_COMMANDS: usize = 6;

impl Court {
    /// A court that has judged nothing.
    pub fn new() -> Court {
        Court::default()
    }

    /// The same, whose explorations have so many threads.
    pub fn with_threads(threads: Option<usize>) -> Court {
        Court { threads, ..Court::default() }
    }

    /// Judges a claim.
    pub fn judge(&mut self, claim: Claim) -> Ruling {
        self.case = Case::default();
        let verdict = (claim.judge)(self);
        let Case { evidence, mut commands, exhibit, shown_by, .. } = std::mem::take(&mut self.case);
        if let Some(first) = shown_by {
            commands.retain(|command| *command != first);
            commands.insert(0, first);
        }
        commands.truncate(MOST_COMMANDS);
        Ruling { claim, verdict, evidence, commands, exhibit }
    }

    /// Takes a sentence down.
    pub(super) fn say(&mut self, sentence: impl Into<String>) {
        self.case.evidence.push(sentence.into());
    }

    /// Names a command that reproduces what is computed without a run.
    pub(super) fn cite(&mut self, command: impl Into<String>) {
        let command = command.into();
        if !self.case.commands.contains(&command) {
            self.case.commands.push(command);
        }
    }

    /// How many runs were simulated for the claim at hand.
    pub(super) fn runs(&self) -> u64 {
        self.case.runs
    }

    /// Whether all runs of an algorithm have these properties. What breaks one is shown.
    pub(super) fn holds(&mut self, algorithm: &'static str, exploration: &Exploration, goals: &[Goal]) -> bool {
        let exploration = Exploration { goals: Some(goals.to_vec()), ..exploration.clone() };
        let findings = self.explore(algorithm, &exploration);
        let broken: Vec<_> = goals.iter().copied().filter(|&goal| findings.counterexample(goal).is_some()).collect();
        let states = findings.states;
        let bounds = findings.bounds.join(", ");
        for &goal in &broken {
            let found = findings.counterexample(goal).expect("it was just found");
            let ending = match found.repeats_from {
                Some(from) => {
                    format!("{} steps, of which steps {} to {0} repeat for ever", found.steps.len(), from + 1)
                }
                None if found.steps.len() == 1 => "1 step".into(),
                None => format!("{} steps", found.steps.len()),
            };
            self.say(format!(
                "{algorithm}: {goal} is violated; shortest counterexample, {ending}: {} ({bounds})",
                found.why
            ));
            self.show(algorithm, &exploration, found, goal);
        }
        let held: Vec<_> = goals.iter().filter(|goal| findings.holds(**goal)).map(Goal::to_string).collect();
        if !held.is_empty() {
            self.say(format!("{algorithm}: {} in all {states} states ({bounds})", both(&held, "holds", "hold")));
        }
        assert!(broken.len() + held.len() == goals.len() || !broken.is_empty(), "claims ask what can be explored");
        broken.is_empty()
    }

    /// Whether some run of an algorithm breaks a property; it is shown.
    pub(super) fn breaks(&mut self, algorithm: &'static str, exploration: &Exploration, goal: Goal) -> bool {
        !self.holds(algorithm, &Exploration { stop: true, ..exploration.clone() }, &[goal])
    }

    /// How often somebody who waits is overtaken at most, in all runs.
    pub(super) fn most_overtaken(&mut self, algorithm: &'static str, exploration: &Exploration) -> u32 {
        // Mutual exclusion is never broken here, so that the search goes to its end.
        let goals = Some(vec![Goal::StarvationFreedom, Goal::MutualExclusion]);
        let exploration = Exploration { goals, ..exploration.clone() };
        let findings = self.explore(algorithm, &exploration);
        let most = findings.most_overtaken.expect("with a number of entries it is counted");
        let bounds = findings.bounds.join(", ");
        self.say(format!(
            "{algorithm}: a waiting process is overtaken at most {most} times, in all {} states ({bounds})",
            findings.states
        ));
        most
    }

    fn explore(&mut self, algorithm: &'static str, exploration: &Exploration) -> Rc<Findings> {
        let command = command_line::check(algorithm, exploration);
        self.cite(command.clone());
        if let Some((_, findings)) = self.explorations.iter().find(|(known, _)| *known == command) {
            return Rc::clone(findings);
        }
        let exploration = Exploration { threads: self.threads.or(exploration.threads), ..exploration.clone() };
        let findings = exploration.run(algorithm, &mut |_| {}).expect("claims explore what can be explored");
        let findings = Rc::new(findings);
        self.explorations.push((command, Rc::clone(&findings)));
        findings
    }

    /// Runs an algorithm once.
    pub(super) fn run(&mut self, algorithm: &'static str, experiment: &Experiment) -> Rc<Run> {
        let command = command_line::sim(algorithm, experiment);
        self.cite(command.clone());
        self.case.runs += 1;
        if let Some((_, run)) = self.runs.iter().find(|(known, _)| *known == command) {
            return Rc::clone(run);
        }
        let mut records = Vec::new();
        let mut keep = |record: &Record| records.push(record.clone());
        let spectators = Spectators { records: Some(&mut keep), ..Spectators::default() };
        let report = experiment.run(algorithm, spectators).expect("claims run what can be run");
        let run = Rc::new(Run { report, records });
        self.runs.push((command, Rc::clone(&run)));
        run
    }

    /// Shows a simulated run, if none is shown yet.
    pub(super) fn show_run(&mut self, algorithm: &'static str, experiment: &Experiment, run: &Run, why: &str) {
        if self.case.exhibit.is_none() {
            let (n, records) = (experiment.n, run.records.clone());
            // Of a run that was made to show something else, only what is promised and broken is marked.
            let broken = run.report.outcome.verdicts.iter().find_map(|(property, verdict)| match verdict {
                Verdict::Violated(violation) if run.report.promised.contains(property) => Some((*property, violation)),
                Verdict::Violated(_) | Verdict::Held | Verdict::Undecided => None,
            });
            let mark = broken.map(|(property, violation)| Mark::of_violation(n, &records, property, violation));
            let (why, unit) = (why.into(), Unit::Delta);
            self.case.exhibit = Some(Exhibit { algorithm, n, records, why, mark, unit });
            self.case.shown_by = Some(command_line::sim(algorithm, experiment));
        }
    }

    fn show(&mut self, algorithm: &'static str, exploration: &Exploration, found: &Counterexample, goal: Goal) {
        if self.case.exhibit.is_none() {
            let (n, records, why) = (exploration.n, found.records.clone(), found.why.clone());
            let mark = Some(found.mark(n, goal));
            self.case.exhibit = Some(Exhibit { algorithm, n, records, why, mark, unit: Unit::Steps });
            self.case.shown_by = Some(command_line::check(algorithm, exploration));
        }
    }
}

impl Run {
    /// Who entered, and when, in order.
    pub(super) fn entries(&self) -> Vec<(u32, Ticks)> {
        self.moments(|what| matches!(what, What::Entered { .. }))
    }

    /// To whom something of this kind happened, and when, in order.
    pub(super) fn moments(&self, is: impl Fn(&What) -> bool) -> Vec<(u32, Ticks)> {
        let happened = self.records.iter().filter(|record| is(&record.what));
        happened.map(|record| (record.process.number(), record.at)).collect()
    }

    /// Who sent messages of this kind, and to whom, in order.
    pub(super) fn sent(&self, kind: &str) -> Vec<(u32, u32)> {
        let sent = self.records.iter().filter_map(|record| match &record.what {
            What::Sent { to, label, .. } if label.kind == kind => Some((record.process, *to)),
            _ => None,
        });
        sent.map(|(from, to): (Id, Id)| (from.number(), to.number())).collect()
    }
}

/// A finding in words.
pub(super) fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// Several words and a verb that agrees with them.
pub(super) fn both(words: &[String], one: &str, several: &str) -> String {
    match words {
        [] => String::new(),
        [word] => format!("{word} {one}"),
        [most @ .., last] => format!("{} and {last} {several}", most.join(", ")),
    }
}

/// The usual exploration of `n` processes with so many entries each.
pub(super) fn explored(n: u32, entries: u32) -> Exploration {
    Exploration { n, times: crate::stage::wish::Times::AtMost(entries), ..Exploration::default() }
}

/// The usual experiment of `n` processes.
pub(super) fn experiment(n: u32) -> Experiment {
    Experiment { n, ..Experiment::default() }
}

/// This many δ.
pub(super) fn delta(count: f64) -> Ticks {
    libm::round(count * DELTA as f64) as Ticks
}

/// A process.
pub(super) fn p(number: u32) -> Id {
    Id::new(number)
}

/// A number as people write it: at most four digits after the point, none that say nothing.
pub(super) fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.0001 {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
