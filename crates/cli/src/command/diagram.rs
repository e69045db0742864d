//! `quorate diagram`: draws a trace of the laboratory or of real nodes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Record, What};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::files;
use quorate_lab::command::output::Terminal;
use quorate_lab::diagram::{self, Mark, Picture, Unit, View};
use quorate_lab::judge::{Finding, Life, judge, merge, read};

use crate::arguments::Diagram;

/// Maximum number of resources that an error lists.
const MOST_NAMED: usize = 10;

pub(crate) fn run(arguments: &Diagram, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let path = &arguments.output;
    let format = files::form_of_diagram("--output", path, terminal)?;
    let run = load(arguments)?;
    for missing in &run.missing {
        terminal.warn(&format!("{missing}; the diagram is incomplete"));
    }
    let picture = Picture { n: run.n, records: &run.records, title: run.title, marks: run.marks };
    let command = Some(files::command_line(std::env::args_os()));
    let view = View { unit: run.unit, command, ..arguments.view.view() };
    files::draw(path, &picture, format, &view, terminal)?;
    terminal.remark(&format!("drew {} records to {}", run.records.len(), path.display()));
    Ok(ExitCode::SUCCESS)
}

/// A run to draw.
struct Run {
    n: u32,
    records: Vec<Record>,
    title: String,
    marks: Vec<Mark>,
    unit: Unit,
    /// What is not there, in words.
    missing: Vec<String>,
}

fn load(arguments: &Diagram) -> Result<Run, Failure> {
    let mut lives = Vec::new();
    for path in &arguments.file {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| Failure::Reading { path: name.clone(), error })?;
        if is_of_the_laboratory(&bytes) {
            return of_the_laboratory(arguments, path, &bytes);
        }
        lives.extend(read(&name, &bytes).map_err(|error| Failure::Usage(error.to_string()))?);
    }
    of_nodes(arguments, lives)
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    (1..).zip(bytes.split(|&byte| byte == b'\n')).filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace))
}

/// Whether a trace begins with a record; a node's trace begins with a header.
fn is_of_the_laboratory(bytes: &[u8]) -> bool {
    lines(bytes).next().is_some_and(|(_, line)| serde_json::from_slice::<Record>(line).is_ok())
}

fn of_the_laboratory(arguments: &Diagram, path: &Path, bytes: &[u8]) -> Result<Run, Failure> {
    let name = path.display();
    if arguments.file.len() > 1 {
        let why = "this trace of the laboratory contains a whole run: pass no other file";
        return Err(Failure::Usage(format!("{name}: {why}")));
    }
    if arguments.resource.is_some() {
        return Err(Failure::Usage(format!(
            "{name}: a trace of the laboratory has only one resource: leave out --resource"
        )));
    }
    let records = lines(bytes).map(|(line, bytes)| {
        serde_json::from_slice::<Record>(bytes)
            .map_err(|error| Failure::Usage(format!("{name}, line {line}: not a trace record: {error}")))
    });
    let records = records.collect::<Result<Vec<_>, _>>()?;
    let n = diagram::group(&records);
    let marks = diagram::broken(n, &records);
    let title = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Ok(Run { n, records, title, marks, unit: Unit::Delta, missing: Vec::new() })
}

/// The run that nodes recorded, ordered by their vector clocks, with its violations.
fn of_nodes(arguments: &Diagram, lives: Vec<Life>) -> Result<Run, Failure> {
    let refuse = |error: quorate_lab::judge::TraceError| Failure::Usage(error.to_string());
    let judgement = judge(lives.clone(), None).map_err(refuse)?;
    let names: BTreeSet<&str> = judgement.resources.iter().map(|resource| &*resource.name).collect();
    let chosen = choose(arguments.resource.as_deref(), &names)?;
    let tolerance = judgement.header.tolerance;
    let merged = merge(lives, tolerance.saturating_mul(5)).map_err(refuse)?;
    let begin = merged.events.iter().map(|event| event.record.at).min().unwrap_or(0);
    let is_shown = |resource: Option<&str>| resource.is_none_or(|name| Some(name) == chosen);
    let shown = merged.events.into_iter().filter(|event| is_shown(event.resource.as_deref()));
    let records: Vec<Record> = shown.map(|event| Record { at: event.record.at - begin, ..event.record }).collect();
    let findings = judgement.resources.iter().filter(|resource| Some(&*resource.name) == chosen);
    let findings = findings.flat_map(|resource| &resource.findings).filter_map(|(_, finding)| match finding {
        Finding::Violated { at, by, why, .. } => Some(mark(&records, at.saturating_sub(begin), *by, why)),
        Finding::Held | Finding::Undecided { .. } => None,
    });
    let marks = findings.collect();
    let about = chosen.map(|name| format!(", {name:?}")).unwrap_or_default();
    Ok(Run {
        n: judgement.header.n,
        records,
        title: format!("{}, {} nodes{about}", judgement.entry.name, judgement.header.n),
        marks,
        unit: Unit::Seconds,
        missing: judgement.missing,
    })
}

/// The mark of a violation: at the record of a process at a time of its own clock, or at the end of the run.
fn mark(records: &[Record], at: Ticks, by: Option<Id>, why: &str) -> Mark {
    let is_it = |record: &Record| {
        let may_be = matches!(record.what, What::Entered { .. } | What::Wrote { .. });
        may_be && record.at == at && Some(record.process) == by
    };
    match records.iter().position(is_it) {
        Some(place) => Mark::at_record(place, why),
        None => Mark::at_time(at, why),
    }
}

/// The resource to draw. A process can hold one and wait for another, which one line cannot show.
fn choose<'a>(wanted: Option<&'a str>, names: &BTreeSet<&'a str>) -> Result<Option<&'a str>, Failure> {
    let known = || {
        let shown: Vec<String> = names.iter().take(MOST_NAMED).map(|name| format!("{name:?}")).collect();
        let more =
            if names.len() > MOST_NAMED { format!(" and {} more", names.len() - MOST_NAMED) } else { String::new() };
        format!("{}{more}", shown.join(", "))
    };
    match wanted {
        Some(name) if names.contains(name) => Ok(Some(name)),
        Some(name) => Err(Failure::Usage(format!("--resource {name:?}: unknown; the traces are about {}", known()))),
        None if names.len() > 1 => Err(Failure::Usage(format!(
            "the traces are about several resources: choose one with --resource: {}",
            known()
        ))),
        None => Ok(names.first().copied()),
    }
}
