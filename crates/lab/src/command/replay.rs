//! `replay`: runs a scenario step by step.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::failure::{Failure, exit_code};
use super::files::Files;
use super::output::{BAD, DIM, GOOD, HEADING, Table, Terminal, styled};
use super::{parse, view};
use crate::diagram::{Mark, Picture};
use crate::observer::Verdict;
use crate::scenario::{Played, Scenario, builtin};
use crate::subject::{Named, Subject};
use crate::time::DELTA;

/// Run a scenario step by step, and check the algorithm's properties.
///
/// A scenario is a text file that lists the steps of a run: which process requests entry, which message arrives next,
/// which process crashes. The command prints the resulting conversation with the numbers of the steps, and a verdict
/// for each property. If the file states expectations and they are not met, the command fails with exit code 1.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A scenario file, or the name of a built-in scenario (see `scenarios`)
    #[arg(value_name = "FILE|NAME", value_parser = parse::scenario(), hide_possible_values = true)]
    pub scenario: String,

    /// Draw the run to a .svg, .html (step through it in a browser) or .txt file, or to standard output with -
    #[arg(long, value_name = "FILE")]
    pub diagram: Option<PathBuf>,

    /// Write the trace to a .jsonl file (the times of steps are 1 δ, 1000000 ticks, apart) or to a .shiviz file
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// How to draw.
    #[command(flatten)]
    pub view: view::StepViewArguments,
}

/// Replays a scenario of an algorithm of the catalogue.
pub fn run_named(arguments: &Arguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let scenario = load(&arguments.scenario)?;
    let subject = Named::new(&scenario.header.algorithm)?;
    play(&subject, &scenario, arguments, terminal)
}

/// Replays a scenario of this algorithm.
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
                let why = "neither a file nor a built-in scenario; `quorate scenarios` lists the built-in ones";
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

/// The expectations of the file that were not met.
fn disappointments(scenario: &Scenario, played: &Played) -> Vec<String> {
    let expected = scenario.header.expect.iter().filter_map(|&expected| played.disappointment(expected));
    expected.chain(scenario.conversation.as_deref().and_then(|said| difference(said, played))).collect()
}

/// The first difference between the expected conversation and the actual one.
fn difference(expected: &str, played: &Played) -> Option<String> {
    let actual = played.conversation();
    let (mut expected, mut actual) = (expected.trim_end().lines(), actual.trim_end().lines());
    loop {
        return match (expected.next(), actual.next()) {
            (None, None) => None,
            (Some(expected), Some(actual)) if expected.trim_end() == actual.trim_end() => continue,
            (Some(expected), Some(actual)) => Some(format!(
                "the conversation differs from the expected one: expected `{}`, got `{}`",
                expected.trim(),
                actual.trim()
            )),
            (Some(expected), None) => Some(format!("the conversation ends before the expected `{}`", expected.trim())),
            (None, Some(actual)) => {
                Some(format!("the conversation continues after its expected end: `{}`", actual.trim()))
            }
        };
    }
}

/// The run as a picture, with the remarks of the scenario and the violations.
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
            Verdict::Undecided => (styled(BAD, "not decided"), String::new()),
            Verdict::Violated(violation) => {
                (styled(BAD, "violated"), format!("at step {}: {}", violation.at / DELTA, violation.why))
            }
        };
        table.row([property.name().to_string(), shown, [promise, &why].join(" ").trim().to_string()]);
    }
    for property in &played.open {
        let why = "the scenario ends while steps are still possible".to_string();
        table.row([property.name().to_string(), styled(DIM, "not decided"), why]);
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
