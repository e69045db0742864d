//! `check`: every run, a verdict for each property, and the shortest run that breaks one.

mod arguments;
mod text;

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::failure::{Failure, exit_code};
use super::files::{Files, write};
use super::output::Terminal;
use crate::diagram::Picture;
use crate::explore::counterexample::Counterexample;
use crate::explore::goal::Goal;
use crate::explore::{Findings, Progress, Verdict};
use crate::report::Severity;
use crate::scenario::Scenario;
use crate::subject::Subject;

pub use arguments::Arguments;

/// Explores an algorithm and prints what was found.
pub fn run(subject: &impl Subject, arguments: &Arguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let files = Files::new(arguments.diagram.as_ref(), arguments.trace.as_ref(), arguments.view.view(), terminal)?;
    let findings = {
        let mut spinner = terminal.spinner();
        let mut tell = |progress: Progress| spinner.set(progress.states, &in_words(progress));
        arguments.exploration().run_subject(subject, &mut tell)?
    };
    for without_effect in arguments.without_effect(subject.entry()) {
        terminal.warn(&without_effect);
    }
    for broken in &findings.broken_assumptions {
        terminal.warn(&format!("an assumption of {} is broken: {broken}", findings.algorithm));
    }
    if terminal.is_json() {
        terminal.print_json(&json(&findings))?;
    } else {
        terminal.print(&text::text(&findings))?;
        let millions = findings.states as f64 / findings.seconds.max(1e-9) / 1e6;
        terminal.remark(&format!("{:.2} s, {millions:.2} million states a second", findings.seconds));
    }
    // After the verdicts: a file that cannot be written does not lose what a long search has found.
    match first_violation(&findings) {
        Some((goal, found)) => {
            files.write(&picture(&findings, goal, found), terminal)?;
            if let Some(path) = &arguments.scenario {
                let scenario = Scenario::of_counterexample(&arguments.exploration(), subject.entry(), goal, found)
                    .map_err(|error| Failure::Scenario { name: path.display().to_string(), error })?;
                write(path, scenario.to_string())?;
            }
        }
        None if files.is_empty() && arguments.scenario.is_none() => {}
        None => terminal.warn("nothing is violated, so there is no run to write"),
    }
    Ok(exit_code(severity(&findings)))
}

fn in_words(progress: Progress) -> String {
    let rate = progress.states as f64 / progress.seconds.max(1e-9) / 1e6;
    let Progress { states, depth, frontier, .. } = progress;
    format!("{states} states, {rate:.2} million/s, depth {depth}, {frontier} to expand")
}

fn first_violation(findings: &Findings) -> Option<(Goal, &Counterexample)> {
    findings.verdicts.iter().find_map(|(goal, verdict)| match verdict {
        Verdict::Violated(found) => Some((*goal, &**found)),
        Verdict::Holds | Verdict::Undecided(_) => None,
    })
}

/// The run that breaks a goal, as a picture.
pub(crate) fn picture<'f>(findings: &Findings, goal: Goal, found: &'f Counterexample) -> Picture<'f> {
    Picture {
        n: findings.n,
        records: &found.records,
        title: format!("{}: {goal} is violated", findings.algorithm),
        marks: vec![found.mark(findings.n, goal)],
    }
}

/// The worst that was found.
fn severity(findings: &Findings) -> Severity {
    let of = |(goal, verdict): &(Goal, Verdict)| match verdict {
        Verdict::Holds => Severity::Fine,
        Verdict::Undecided(_) => Severity::Undecided,
        Verdict::Violated(_) if goal.is_safety() => Severity::Safety,
        Verdict::Violated(_) => Severity::Liveness,
    };
    findings.verdicts.iter().map(of).max().unwrap_or(Severity::Fine)
}

fn json(findings: &Findings) -> Value {
    let mut properties = Map::new();
    let mut counterexamples = Map::new();
    let mut undecided = Map::new();
    for (goal, verdict) in &findings.verdicts {
        let word = match verdict {
            Verdict::Holds => "holds",
            Verdict::Violated(found) => {
                counterexamples.insert(goal.to_string(), json_of_run(*goal, found));
                "violated"
            }
            Verdict::Undecided(why) => {
                undecided.insert(goal.to_string(), json!(why));
                "undecided"
            }
        };
        properties.insert(goal.to_string(), json!(word));
    }
    json!({
        "algorithm": findings.algorithm,
        "n": findings.n,
        "bounds": findings.bounds,
        "broken_assumptions": findings.broken_assumptions,
        "states": findings.states,
        "transitions": findings.transitions,
        "depth": findings.depth,
        "complete": findings.complete,
        "seconds": findings.seconds,
        "states_per_second": (findings.states as f64 / findings.seconds.max(1e-9)).round(),
        "bytes_per_state": findings.bytes as f64 / findings.states as f64,
        "collision_probability": findings.collision,
        "most_overtaken": findings.most_overtaken,
        "properties": properties,
        "undecided": undecided,
        "promised": findings.promised.iter().map(Goal::to_string).collect::<Vec<_>>(),
        "counterexample": first_violation(findings).map(|(goal, found)| json_of_run(goal, found)),
        "counterexamples": counterexamples,
    })
}

fn json_of_run(goal: Goal, found: &Counterexample) -> Value {
    json!({
        "property": goal.to_string(),
        "why": found.why,
        "steps": found.steps,
        "repeats_from": found.repeats_from,
        "records": found.records,
    })
}
