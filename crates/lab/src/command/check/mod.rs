//! `check`: explores all runs, and prints a verdict and, if violated, a counterexample for each property.

mod arguments;
mod text;

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::failure::{Failure, exit_code};
use super::files::{Files, check_standard_output, is_standard_output, write};
use super::interrupt::Interrupt;
use super::output::Terminal;
use super::sim::check_sets;
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
    check_sets(subject.entry(), arguments.sets.as_deref())?;
    let files = Files::new(arguments.diagram.as_ref(), arguments.trace.as_ref(), arguments.view.view(), terminal)?;
    if let Some(path) = &arguments.scenario {
        check_standard_output("--scenario", path, terminal)?;
    }
    let interrupt = Interrupt::listen();
    let findings = {
        let mut spinner = terminal.spinner();
        let mut tell = |progress: Progress| {
            spinner.set(progress.states, &in_words(progress));
            progress.enough.set(interrupt.is_received());
        };
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
        terminal.remark(&format!("{:.2} s, {millions:.2} million states per second", findings.seconds));
    }
    // After the verdicts: a file that cannot be written does not lose what a long search has found.
    match findings.first_violation() {
        Some((goal, found)) => {
            files.write(&picture(&findings, goal, found), terminal)?;
            if let Some(path) = &arguments.scenario {
                let scenario = Scenario::of_counterexample(&arguments.exploration(), subject.entry(), goal, found)
                    .map_err(|error| Failure::Scenario { name: path.display().to_string(), error })?;
                if is_standard_output(path) {
                    terminal.print(&format!("\n{scenario}"))?;
                } else {
                    write(path, scenario.to_string())?;
                }
            }
        }
        None if files.is_empty() && arguments.scenario.is_none() => {}
        None => terminal.warn("no property is violated, so there is no counterexample to write"),
    }
    let interrupted = interrupt.is_received() && !findings.complete;
    let least = if interrupted { Severity::Undecided } else { Severity::Fine };
    Ok(exit_code(findings.severity().max(least)))
}

fn in_words(progress: Progress) -> String {
    let rate = progress.states as f64 / progress.seconds.max(1e-9) / 1e6;
    let Progress { states, depth, frontier, .. } = progress;
    format!("{states} states, {rate:.2} million/s, depth {depth}, {frontier} to expand")
}

/// A counterexample, as a picture.
pub(crate) fn picture<'f>(findings: &Findings, goal: Goal, found: &'f Counterexample) -> Picture<'f> {
    Picture {
        n: findings.n,
        records: &found.records,
        title: format!("{}: {goal} is violated", findings.algorithm),
        marks: vec![found.mark(findings.n, goal)],
    }
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
        "counted": findings.counted.iter().map(Goal::to_string).collect::<Vec<_>>(),
        "promised": findings.promised.iter().map(Goal::to_string).collect::<Vec<_>>(),
        "counterexample": findings.first_violation().map(|(goal, found)| json_of_run(goal, found)),
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
