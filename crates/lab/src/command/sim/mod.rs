//! `sim`: one seeded run, its conversation, verdicts and costs.

mod arguments;
mod text;

use std::process::ExitCode;
use std::time::Instant;

use quorate_core::catalog::{ENTRIES, Entry, Family};
use quorate_core::trace::Record;
use serde_json::json;

use super::failure::{Failure, exit_code};
use super::output::{Terminal, number};
use super::trace::Trace;
use crate::experiment::Spectators;
use crate::subject::Subject;

pub use arguments::{Arguments, Conversation};

/// Runs an algorithm once and prints what came of it.
pub fn run(subject: &impl Subject, arguments: &Arguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    check_family(subject.entry(), arguments)?;
    let experiment = arguments.experiment();
    let mut trace = arguments.trace.as_deref().map(Trace::create).transpose()?;
    let is_mutex = subject.entry().family == Family::Mutex;
    let mut progress =
        if is_mutex { terminal.progress(experiment.clients.entries, "entries") } else { terminal.spinner() };
    let began = Instant::now();
    let report = {
        let mut write = |record: &Record| {
            if let Some(trace) = &mut trace {
                trace.write(record);
            }
        };
        let mut tell = |events: u64, entries: u64| progress.set(entries, &format!("{events} events"));
        let records: Option<&mut dyn FnMut(&Record)> = if arguments.trace.is_some() { Some(&mut write) } else { None };
        experiment.run_subject(subject, Spectators { records, progress: Some(&mut tell) })?
    };
    let seconds = began.elapsed().as_secs_f64();
    drop(progress);
    if let Some(trace) = trace {
        trace.finish()?;
    }
    for broken in &report.broken_assumptions {
        terminal.warn(&format!("an assumption of {} is broken: {broken}", report.algorithm));
    }
    let events_per_second = report.outcome.events as f64 / seconds.max(1e-9);
    if terminal.is_json() {
        let mut object = report.json();
        object.insert("events_per_second".to_string(), json!(events_per_second.round()));
        terminal.print_json(&object)?;
    } else {
        terminal.print(&text::text(subject.entry(), arguments, &report))?;
        let millions = number((events_per_second / 1e4).round() / 100.0);
        terminal.remark(&format!("{millions} million events a second"));
    }
    Ok(exit_code(report.severity()))
}

/// Refuses what means nothing to the algorithm's family, rather than ignoring it.
fn check_family(entry: &Entry, arguments: &Arguments) -> Result<(), Failure> {
    let family = entry.family;
    let misplaced = [
        ("--entries", arguments.entries.is_some(), Family::Mutex),
        ("--workload", arguments.workload.is_some(), Family::Mutex),
        ("--ask", !arguments.ask.is_empty(), Family::Mutex),
        ("--clock", !arguments.clock.is_empty(), Family::Mutex),
        ("--cs", arguments.cs.is_some(), Family::Mutex),
        ("--withdraw", arguments.withdraw.is_some(), Family::Mutex),
        ("--starter", !arguments.starter.is_empty(), Family::Election),
    ];
    match misplaced.into_iter().find(|&(_, given, needed)| given && needed != family) {
        Some((option, _, needed)) => {
            Err(Failure::Usage(format!("{option} is for {needed}; {} is for {family}", entry.name)))
        }
        None => check_sets(entry, arguments),
    }
}

fn check_sets(entry: &Entry, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.sets.is_none() || has_sets(entry) {
        return Ok(());
    }
    let voting: Vec<_> = ENTRIES.iter().filter(|entry| has_sets(entry)).map(|entry| entry.name).collect();
    Err(Failure::Usage(format!("--sets is for {}, not for {}", voting.join(" and "), entry.name)))
}

/// Whether an algorithm lets one choose its voting sets.
fn has_sets(entry: &Entry) -> bool {
    entry.options.iter().any(|option| option.key == "sets")
}
