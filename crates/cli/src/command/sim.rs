//! `quorate sim`: one seeded run, its conversation, verdicts and costs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::time::Instant;

use quorate_core::catalog::{ENTRIES, Entry, Family, entry};
use quorate_core::id::Id;
use quorate_core::trace::Record;
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::conversation::{conversation, sentence};
use quorate_lab::distribution::Summary;
use quorate_lab::experiment::{Experiment, REQUEST_ORDER_UP_TO, Spectators};
use quorate_lab::observer::{Ending, Verdict};
use quorate_lab::property::of_family;
use quorate_lab::report::Report;
use quorate_lab::time::{DELTA, delta_text, in_delta};
use serde_json::json;

use crate::arguments::{Conversation, Sim};
use crate::failure::{Failure, exit_code};
use crate::output::{BAD, DIM, GOOD, HEADING, Table, Terminal, number, styled};

/// A run of up to this many records is shown as a conversation.
const SHORT: usize = 44;

pub(crate) fn run(arguments: &Sim, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    check_family(arguments)?;
    let experiment = experiment(arguments);
    let mut trace = arguments.trace.as_ref().map(Trace::create).transpose()?;
    let is_mutex = entry(&arguments.algorithm)?.family == Family::Mutex;
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
        experiment.run(&arguments.algorithm, Spectators { records, progress: Some(&mut tell) })?
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
        terminal.print(&text(arguments, &report))?;
        let millions = number((events_per_second / 1e4).round() / 100.0);
        terminal.remark(&format!("{millions} million events a second"));
    }
    Ok(exit_code(report.severity()))
}

/// Refuses what means nothing to the algorithm's family, rather than ignoring it.
fn check_family(arguments: &Sim) -> Result<(), Failure> {
    let family = entry(&arguments.algorithm)?.family;
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
            Err(Failure::Usage(format!("{option} is for {needed}; {} is for {family}", arguments.algorithm)))
        }
        None => check_sets(arguments),
    }
}

fn check_sets(arguments: &Sim) -> Result<(), Failure> {
    let votes = |entry: &Entry| entry.options.iter().any(|option| option.key == "sets");
    if arguments.sets.is_none() || votes(entry(&arguments.algorithm)?) {
        return Ok(());
    }
    let voting: Vec<_> = ENTRIES.iter().filter(|entry| votes(entry)).map(|entry| entry.name).collect();
    Err(Failure::Usage(format!("--sets is for {}, not for {}", voting.join(" and "), arguments.algorithm)))
}

fn experiment(arguments: &Sim) -> Experiment {
    let defaults = ClientPlan::default();
    let workload = if arguments.ask.is_empty() {
        arguments.workload.clone().unwrap_or(defaults.workload)
    } else {
        Workload::List(arguments.ask.clone())
    };
    let sets = arguments.sets.iter().map(|kind| ("sets".to_string(), kind.clone()));
    Experiment {
        n: arguments.n,
        seed: arguments.seed,
        delay: arguments.delay,
        order: arguments.order,
        loss: arguments.loss,
        duplicate: arguments.duplicate,
        partitions: arguments.partition.clone(),
        faults: [&arguments.crash[..], &arguments.restart[..], &arguments.pause[..]].concat(),
        drift_ppm: arguments.drift,
        bound: arguments.bound,
        detector: arguments.detector,
        options: sets.chain(arguments.option.iter().cloned()).collect(),
        clients: ClientPlan {
            workload,
            entries: arguments.entries.unwrap_or(if arguments.ask.is_empty() {
                defaults.entries
            } else {
                arguments.ask.len() as u64
            }),
            time_inside: arguments.cs.unwrap_or(defaults.time_inside),
            withdraw: arguments.withdraw.unwrap_or(defaults.withdraw),
            clocks: arguments.clock.clone(),
        },
        starters: arguments.starter.clone(),
        until: arguments.until,
        properties: None,
        keep_records: match arguments.conversation {
            Conversation::Auto => SHORT,
            Conversation::Always => usize::MAX,
            Conversation::Never => 0,
        },
    }
}

/// The file that records go to. The first error is kept, and told when the run is over.
struct Trace {
    path: String,
    file: BufWriter<File>,
    error: Option<std::io::Error>,
}

impl Trace {
    fn create(path: &std::path::PathBuf) -> Result<Trace, Failure> {
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

fn text(arguments: &Sim, report: &Report) -> String {
    let outcome = &report.outcome;
    let mut text = String::new();
    let processes = if report.n == 1 { "1 process".to_string() } else { format!("{} processes", report.n) };
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{}, {processes}, seed {}\n", styled(HEADING, report.algorithm), report.seed);
    match &outcome.records {
        Some(records) => {
            text.push_str(&voting_sets(arguments));
            let _ = writeln!(text, "{}", conversation(records));
        }
        None if arguments.conversation == Conversation::Auto => {
            let _ = writeln!(text, "{}\n", styled(DIM, "a long conversation, shown with --conversation always"));
        }
        None => {}
    }
    text.push_str(&verdicts(report));
    text.push('\n');
    match report.family {
        Family::Mutex => text.push_str(&costs(report)),
        Family::Election => text.push_str(&election(report)),
        Family::Detector => text.push_str(&detection(report)),
    }
    if let Some(first) = &outcome.first_unexpected {
        let (at, who) = (delta_text(first.at), first.process);
        let _ = writeln!(
            text,
            "\n{} unexpected, the first at {at}: {who} {}",
            outcome.unexpected,
            sentence(who, &first.what)
        );
    }
    let ending = match outcome.ending {
        Ending::Quiet => "until nothing could happen any more",
        Ending::Finished => "until all had left",
        Ending::Stalled => "until it was clear that nobody would be served",
        Ending::CutOff => "and cut off",
    };
    let line = format!("{} events, {} δ, {ending}", outcome.events, number(in_delta(outcome.end)));
    let _ = writeln!(text, "\n{}", styled(DIM, &line));
    text
}

/// Who asks whom, for small groups that vote: what a process says to itself is no message, and is not seen below.
fn voting_sets(arguments: &Sim) -> String {
    let experiment = experiment(arguments);
    let votes = |entry: &&Entry| entry.options.iter().any(|option| option.key == "sets");
    let group = entry(&arguments.algorithm).ok().filter(votes).and_then(|entry| experiment.group(entry).ok());
    match group {
        Some(group) if group.n <= 9 => {
            let set = |id: Id| {
                let members: Vec<_> = group.voting_sets.of(id).iter().map(Id::to_string).collect();
                format!("{id} asks {}", members.join(", "))
            };
            let sets: Vec<_> = Id::all(group.n).map(set).collect();
            format!("{}; what one says to oneself is not shown\n\n", sets.join("; "))
        }
        Some(_) | None => String::new(),
    }
}

fn verdicts(report: &Report) -> String {
    let mut table = Table::new(3);
    for (property, verdict) in &report.outcome.verdicts {
        let promise = if report.promised.contains(property) { "" } else { "(not promised)" };
        let (shown, why) = match verdict {
            Verdict::Held => (styled(GOOD, "held"), String::new()),
            Verdict::Undecided => (styled(BAD, "undecided"), "the run was cut off".to_string()),
            Verdict::Violated(violation) => {
                (styled(BAD, "violated"), format!("at {}: {}", delta_text(violation.at), violation.why))
            }
        };
        table.row([property.name().to_string(), shown, [promise, &why].join(" ").trim().to_string()]);
    }
    for property in of_family(report.family).iter().filter(|property| !report.watched.contains(property)) {
        let why = format!("sees every message; watched up to n = {REQUEST_ORDER_UP_TO}");
        table.row([property.name().to_string(), styled(DIM, "not watched"), why]);
    }
    table.render()
}

fn costs(report: &Report) -> String {
    let costs = &report.outcome.costs;
    let mut table = Table::new(1);
    let per = |count: Option<f64>, what: &str| count.map_or(String::new(), |count| format!("{} {what}", number(count)));
    table.row(["entries".to_string(), costs.entries.to_string()]);
    table.row(["messages".to_string(), costs.messages.to_string(), per(costs.messages_per_entry, "an entry")]);
    table.row(["bytes".to_string(), costs.bytes.to_string()]);
    table.row(["throughput".to_string(), costs.throughput.map_or("–".into(), number), "entries a δ".into()]);
    table.row(["1/(E + SD)".to_string(), costs.throughput_predicted.map_or("–".into(), number), "entries a δ".into()]);
    let mut text = table.render();
    if costs.entries == 0 {
        return text;
    }
    text.push('\n');
    let mut table = Table::new(1);
    table.row(["", "mean", "p50", "p99", "max"]);
    for (name, summary) in [
        ("client delay, entry (δ)", costs.client_delay),
        ("client delay, exit (δ)", costs.exit_delay),
        ("synchronization delay (δ)", costs.sync_delay),
        ("messages between entries", costs.messages_between_entries),
        ("messages of an exit", costs.messages_of_exit),
        ("bytes of a message", costs.bytes_per_message),
    ] {
        table.row(summary_row(name, summary));
    }
    for (kind, &summary) in &costs.entry_messages {
        table.row(summary_row(&format!("{kind} messages to enter"), Some(summary)));
    }
    for (kind, &summary) in &costs.exit_messages {
        table.row(summary_row(&format!("{kind} messages to exit"), Some(summary)));
    }
    text + &table.render()
}

fn summary_row(name: &str, summary: Option<Summary>) -> Vec<String> {
    let values = match summary {
        Some(summary) => [summary.mean, summary.p50, summary.p99, summary.max].map(number),
        None => ["–"; 4].map(String::from),
    };
    [name.to_string()].into_iter().chain(values).collect()
}

fn kinds(messages: &BTreeMap<&'static str, u64>) -> String {
    messages.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

fn election(report: &Report) -> String {
    let outcome = &report.outcome;
    let mut table = Table::new(2);
    table.row(["leader".to_string(), outcome.election.leader().map_or("none".into(), |leader| leader.to_string())]);
    table.row([
        "messages".to_string(),
        format!("{} ({})", outcome.costs.messages, kinds(&outcome.costs.messages_by_kind)),
    ]);
    table.row(["bytes".to_string(), outcome.costs.bytes.to_string()]);
    let turnaround = outcome.election.turnaround();
    table.row(["turnaround".to_string(), turnaround.map_or("–".into(), |ticks| format!("{} δ", delta_text(ticks)))]);
    table.render()
}

fn detection(report: &Report) -> String {
    let outcome = &report.outcome;
    let mut table = Table::new(2);
    table.row(["messages".to_string(), outcome.costs.messages.to_string()]);
    table.row(["false suspicions".to_string(), outcome.detection.false_suspicions.to_string()]);
    table.row(["corrections".to_string(), outcome.detection.corrections.to_string()]);
    let mut times = Table::new(1);
    times.row(["", "mean", "p50", "p99", "max"]);
    times.row(summary_row("from crash to detection (δ)", outcome.detection.detection_time.summary(DELTA as f64)));
    format!("{}\n{}", table.render(), times.render())
}
