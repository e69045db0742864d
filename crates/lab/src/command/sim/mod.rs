//! `sim`: one seeded run, its conversation, verdicts and costs.

mod arguments;
mod runs;
mod text;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use quorate_core::catalog::{ENTRIES, Entry, Family};
use quorate_core::trace::Record;
use serde_json::json;

use super::failure::{Failure, exit_code};
use super::files::{Files, form_of_trace};
use super::output::{Terminal, number};
use crate::diagram::{Format, Mark, Picture};
use crate::experiment::Spectators;
use crate::observer::Verdict;
use crate::property::of_family;
use crate::report::Report;
use crate::subject::Subject;

pub use arguments::{Arguments, Conversation};

/// Runs an algorithm once and prints what came of it.
pub fn run(subject: &impl Subject, arguments: &Arguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    check_family(subject.entry(), arguments)?;
    if let Some(runs) = arguments.runs {
        return runs::run(subject, arguments, runs, terminal);
    }
    let experiment = arguments.experiment();
    let format = arguments.trace.as_deref().map(form_of_trace).transpose()?;
    let log = arguments.trace.as_ref().filter(|_| format == Some(Format::Shiviz));
    let lines = arguments.trace.as_deref().filter(|_| log.is_none());
    let files = Files::new(arguments.diagram.as_ref(), log, arguments.view.view(), terminal)?;
    let mut trace = lines.map(Trace::create).transpose()?;
    let mut kept = Vec::new();
    let is_mutex = subject.entry().family == Family::Mutex;
    let mut progress =
        if is_mutex { terminal.progress(experiment.most_entries(), "entries") } else { terminal.spinner() };
    let began = Instant::now();
    let is_seen = trace.is_some() || !files.is_empty();
    let report = {
        let mut write = |record: &Record| {
            if let Some(trace) = &mut trace {
                trace.write(record);
            }
            if !files.is_empty() && kept.len() <= MOST_DRAWN {
                kept.push(record.clone());
            }
        };
        let mut tell = |events: u64, entries: u64| progress.set(entries, &format!("{events} events"));
        let records: Option<&mut dyn FnMut(&Record)> = if is_seen { Some(&mut write) } else { None };
        let spectators = Spectators { records, progress: Some(&mut tell), ..Spectators::default() };
        experiment.run_subject(subject, spectators)?
    };
    let seconds = began.elapsed().as_secs_f64();
    drop(progress);
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
        terminal.remark(&format!("{millions} million events per second"));
    }
    // What was found is printed first: a file that cannot be written takes nothing away from it.
    if let Some(trace) = trace {
        trace.finish()?;
    }
    if kept.len() > MOST_DRAWN {
        return Err(Failure::Usage(format!(
            "the run has more than {MOST_DRAWN} records, too many to draw: shorten it with --entries or --until"
        )));
    }
    files.write(&picture(&report, &kept), terminal)?;
    Ok(exit_code(report.severity()))
}

/// So many records can be drawn or written for ShiViz at most; a trace in JSON has no limit.
const MOST_DRAWN: usize = 1_000_000;

/// A run to draw, its broken promises marked.
pub(crate) fn picture<'r>(report: &Report, records: &'r [Record]) -> Picture<'r> {
    let marks = report.outcome.verdicts.iter().filter_map(|(property, verdict)| match verdict {
        Verdict::Violated(violation) => Some(Mark::of_violation(report.n, records, *property, violation)),
        Verdict::Held | Verdict::Undecided => None,
    });
    let title = format!("{}, n = {}, seed {}", report.algorithm, report.n, report.seed);
    Picture { n: report.n, records, title, marks: marks.collect() }
}

/// Refuses options and properties that mean nothing for the algorithm's family.
pub(crate) fn check_family(entry: &Entry, arguments: &Arguments) -> Result<(), Failure> {
    let family = entry.family;
    let misplaced = [
        ("--entries", arguments.entries.is_some(), Family::Mutex),
        ("--workload", arguments.workload.is_some(), Family::Mutex),
        ("--entries-each", arguments.entries_each.is_some(), Family::Mutex),
        ("--ask", !arguments.ask.is_empty(), Family::Mutex),
        ("--initial-clock", !arguments.initial_clock.is_empty(), Family::Mutex),
        ("--cs", arguments.cs.is_some(), Family::Mutex),
        ("--withdraw-rate", arguments.withdraw_rate.is_some(), Family::Mutex),
        ("--starter", !arguments.starter.is_empty(), Family::Election),
    ];
    if let Some((option, _, needed)) = misplaced.into_iter().find(|&(_, given, needed)| given && needed != family) {
        let why = format!("{option} works only with {needed} algorithms; {} is for {family}", entry.name);
        return Err(Failure::Usage(why));
    }
    let known = of_family(family);
    if let Some(property) = arguments.property.iter().find(|property| !known.contains(property)) {
        let known: Vec<_> = known.iter().map(|property| property.name()).collect();
        let why = format!(
            "{} is not a property of {family}; the properties of {} are {}",
            property.name(),
            entry.name,
            known.join(", ")
        );
        return Err(Failure::Usage(why));
    }
    check_sets(entry, arguments.sets.as_deref())
}

/// Refuses `--sets` for an algorithm without voting sets.
pub(crate) fn check_sets(entry: &Entry, sets: Option<&str>) -> Result<(), Failure> {
    if sets.is_none() || has_sets(entry) {
        return Ok(());
    }
    let voting: Vec<_> = ENTRIES.iter().filter(|entry| has_sets(entry)).map(|entry| entry.name).collect();
    Err(Failure::Usage(format!("--sets works only with {}, not with {}", voting.join(" and "), entry.name)))
}

/// Whether an algorithm has an option that chooses its voting sets.
fn has_sets(entry: &Entry) -> bool {
    entry.options.iter().any(|option| option.key == "sets")
}

/// The file that records are written to. The first error is kept, and returned when the run is over.
struct Trace {
    path: String,
    file: BufWriter<File>,
    error: Option<std::io::Error>,
}

impl Trace {
    fn create(path: &Path) -> Result<Trace, Failure> {
        let name = path.display().to_string();
        match File::create(path) {
            Ok(file) => Ok(Trace { path: name, file: BufWriter::new(file), error: None }),
            Err(error) => Err(Failure::File { path: name, error }),
        }
    }

    fn write(&mut self, record: &Record) {
        if self.error.is_none() {
            let written = serde_json::to_writer(&mut self.file, record)
                .map_err(std::io::Error::from)
                .and_then(|()| self.file.write_all(b"\n"));
            self.error = written.err();
        }
    }

    fn finish(mut self) -> Result<(), Failure> {
        let result = match self.error.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        };
        result.map_err(|error| Failure::File { path: self.path, error })
    }
}
