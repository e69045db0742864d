//! `replay`: a written conversation, run again step by step.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::failure::{Failure, exit_code};
use super::files::Files;
use super::output::{BAD, DIM, GOOD, HEADING, Table, Terminal, styled};
use super::view;
use crate::diagram::{Mark, Picture};
use crate::observer::Verdict;
use crate::scenario::{Played, Scenario, builtin};
use crate::subject::{Named, Subject};
use crate::time::DELTA;

/// Run a written conversation again, step by step.
///
/// A scenario says who asks, who gets what next, who crashes; what is recorded of that is printed with the numbers of
/// the steps, and judged. If the file says what to expect, and something else happens, that is a failure.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A file, or the name of a scenario that comes with the laboratory
    #[arg(value_name = "FILE|NAME")]
    pub scenario: String,

    /// Draw it: .svg, .html (a page to step through) or .txt, or - for text here
    #[arg(long, value_name = "FILE")]
    pub diagram: Option<PathBuf>,

    /// Write its records: .jsonl, or .shiviz for ShiViz. Each step is one δ, a million ticks, after the one before
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// How to draw.
    #[command(flatten)]
    pub view: view::StepViewArguments,
}

/// Plays a scenario about an algorithm of the catalogue.
pub fn run_named(arguments: &Arguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let scenario = load(&arguments.scenario)?;
    let subject = Named::new(&scenario.header.algorithm)?;
    play(&subject, &scenario, arguments, terminal)
}

/// Plays a scenario about this algorithm.
pub fn run(subject: &impl Subject, arguments: &Arguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    play(subject, &load(&arguments.scenario)?, arguments, terminal)
}

/// The scenario in a file or of a name.
fn load(name: &str) -> Result<Scenario, Failure> {
    match std::fs::read_to_string(name) {
        Ok(text) => Scenario::parse(&text).map_err(|error| Failure::Scenario { name: name.into(), error }),
        Err(error) => match builtin::find(name) {
            Some(found) => Ok(found.scenario()),
            None if error.kind() == std::io::ErrorKind::NotFound => {
                let why = "there is no such file, and no scenario of this name; `quorate scenarios` lists those";
                Err(Failure::Usage(format!("{name}: {why}")))
            }
            None => Err(Failure::Reading { path: name.into(), error }),
        },
    }
}

fn play(
    subject: &impl Subject,
    scenario: &Scenario,
    arguments: &Arguments,
    terminal: &mut Terminal,
) -> Result<ExitCode, Failure> {
    let files = Files::new(arguments.diagram.as_ref(), arguments.trace.as_ref(), arguments.view.view(), terminal)?;
    let wrong = |error| Failure::Scenario { name: arguments.scenario.clone(), error };
    let played = scenario.play_subject(subject).map_err(wrong)?;
    for broken in &played.broken_assumptions {
        terminal.warn(&format!("an assumption of {} is broken: {broken}", scenario.header.algorithm));
    }
    let disappointments = disappointments(scenario, &played);
    if terminal.is_json() {
        terminal.print_json(&json_of(scenario, &played, &disappointments))?;
    } else {
        terminal.print(&text(scenario, &played))?;
    }
    files.write(&picture(scenario, &played), terminal)?;
    match disappointments.is_empty() {
        true => Ok(exit_code(played.severity())),
        false => Err(Failure::Expected(disappointments.join("; "))),
    }
}

/// What the file expects, and did not happen.
fn disappointments(scenario: &Scenario, played: &Played) -> Vec<String> {
    let expected = scenario.header.expect.iter().filter_map(|&expected| played.disappointment(expected));
    expected.chain(scenario.conversation.as_deref().and_then(|said| difference(said, played))).collect()
}

/// Where the conversation is not the expected one.
fn difference(expected: &str, played: &Played) -> Option<String> {
    let actual = played.conversation();
    let (mut expected, mut actual) = (expected.trim_end().lines(), actual.trim_end().lines());
    loop {
        return match (expected.next(), actual.next()) {
            (None, None) => None,
            (Some(expected), Some(actual)) if expected.trim_end() == actual.trim_end() => continue,
            (Some(expected), Some(actual)) => Some(format!(
                "the conversation is not the expected one: `{}` where `{}` was expected",
                actual.trim(),
                expected.trim()
            )),
            (Some(expected), None) => Some(format!("the conversation ends before `{}`", expected.trim())),
            (None, Some(actual)) => {
                Some(format!("the conversation goes on where none is expected: `{}`", actual.trim()))
            }
        };
    }
}

/// What happened as a picture, with the remarks of the script and what is wrong.
fn picture<'p>(scenario: &Scenario, played: &'p Played) -> Picture<'p> {
    let n = scenario.header.n;
    let remarks = played.remarks.iter().map(|(step, remark)| Mark::at_time(*step as u64 * DELTA, remark));
    let violations = played.verdicts.iter().filter_map(|(property, verdict)| match verdict {
        Verdict::Violated(violation) => Some(Mark::of_violation(n, &played.records, *property, violation)),
        Verdict::Held | Verdict::Undecided => None,
    });
    Picture {
        n,
        records: &played.records,
        title: if scenario.title().is_empty() { &scenario.header.algorithm } else { scenario.title() }.to_string(),
        marks: remarks.chain(violations).collect(),
    }
}

fn text(scenario: &Scenario, played: &Played) -> String {
    let header = &scenario.header;
    let mut text = String::new();
    if !scenario.description.is_empty() {
        text += &format!("{}\n\n", styled(HEADING, scenario.title()));
    }
    let story = scenario.story();
    if !story.is_empty() {
        text += &format!("{story}\n\n");
    }
    let options: Vec<_> = header.options.iter().map(|(key, value)| format!(", {key}={value}")).collect();
    let processes = if header.n == 1 { "1 process".to_string() } else { format!("{} processes", header.n) };
    text += &format!("{}, {processes}{}\n\n", header.algorithm, options.concat());
    text += &format!("{}\n{}", played.annotated(), verdicts(played));
    text
}

fn verdicts(played: &Played) -> String {
    let mut table = Table::new(3);
    for (property, verdict) in &played.verdicts {
        let promise = if played.promised.contains(property) { "" } else { "(not promised)" };
        let (shown, why) = match verdict {
            Verdict::Held => (styled(GOOD, "held"), String::new()),
            Verdict::Undecided => (styled(BAD, "undecided"), String::new()),
            Verdict::Violated(violation) => {
                (styled(BAD, "violated"), format!("at step {}: {}", violation.at / DELTA, violation.why))
            }
        };
        table.row([property.name().to_string(), shown, [promise, &why].join(" ").trim().to_string()]);
    }
    for property in &played.open {
        let why = "something that has to happen is left at the end".to_string();
        table.row([property.name().to_string(), styled(DIM, "not judged"), why]);
    }
    table.render()
}

fn json_of(scenario: &Scenario, played: &Played, disappointments: &[String]) -> Value {
    let name = |verdict: &Verdict| match verdict {
        Verdict::Held => "held",
        Verdict::Violated(_) => "violated",
        Verdict::Undecided => "undecided",
    };
    let judged = played.verdicts.iter().map(|(property, verdict)| (property.name().to_string(), json!(name(verdict))));
    let open = played.open.iter().map(|property| (property.name().to_string(), json!("not-judged")));
    let violations: Vec<_> = played
        .verdicts
        .iter()
        .filter_map(|(property, verdict)| match verdict {
            Verdict::Violated(violation) => {
                let step = violation.at / DELTA;
                Some(json!({ "property": property.name(), "step": step, "why": violation.why }))
            }
            Verdict::Held | Verdict::Undecided => None,
        })
        .collect();
    json!({
        "title": scenario.title(),
        "description": scenario.story(),
        "algorithm": scenario.header.algorithm,
        "n": scenario.header.n,
        "steps": played.steps,
        "records": played.records,
        "broken_assumptions": played.broken_assumptions,
        "promised": played.promised.iter().map(|property| property.name()).collect::<Vec<_>>(),
        "properties": judged.chain(open).collect::<serde_json::Map<_, _>>(),
        "violations": violations,
        "unexpected": disappointments,
    })
}
