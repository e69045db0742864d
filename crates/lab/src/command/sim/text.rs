//! What `sim` prints for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use quorate_core::catalog::{Entry, Family};
use quorate_core::id::Id;

use super::{Arguments, Conversation, has_sets};
use crate::command::output::{BAD, DIM, GOOD, HEADING, Table, number, styled};
use crate::conversation::{conversation, sentence};
use crate::distribution::Summary;
use crate::experiment::REQUEST_ORDER_UP_TO;
use crate::observer::{Ending, Verdict};
use crate::property::of_family;
use crate::report::Report;
use crate::time::{DELTA, delta_text, in_delta};

/// The text of a run.
pub(super) fn text(entry: &Entry, arguments: &Arguments, report: &Report) -> String {
    let outcome = &report.outcome;
    let mut text = String::new();
    let processes = if report.n == 1 { "1 process".to_string() } else { format!("{} processes", report.n) };
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{}, {processes}, seed {}\n", styled(HEADING, report.algorithm), report.seed);
    match &outcome.records {
        Some(records) => {
            text.push_str(&voting_sets(entry, arguments));
            let _ = writeln!(text, "{}", conversation(records));
        }
        None if arguments.conversation == Conversation::Auto => {
            let _ = writeln!(text, "{}\n", styled(DIM, "long conversation: `--conversation always` prints it"));
        }
        None => {}
    }
    text.push_str(&verdicts(arguments, report));
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
            "\n{} events broke an assumption of the algorithm, the first at {at}: {who} {}",
            outcome.unexpected,
            sentence(who, &first.what)
        );
    }
    let ending = match outcome.ending {
        Ending::Quiet => "ended because no more events were possible",
        Ending::Finished => "ended because all requests were served",
        Ending::Stalled => "ended because no waiting process would ever enter",
        Ending::CutOff => "cut off",
    };
    let line = format!("{} events in {} δ; {ending}", outcome.events, number(in_delta(outcome.end)));
    let _ = writeln!(text, "\n{}", styled(DIM, &line));
    text
}

/// The voting sets of a small group. Messages that a process would send to itself are not part of a conversation.
fn voting_sets(entry: &Entry, arguments: &Arguments) -> String {
    let group = if has_sets(entry) { arguments.experiment().group(entry).ok() } else { None };
    match group {
        Some(group) if group.n <= 9 => {
            let set = |id: Id| {
                let members: Vec<_> = group.voting_sets.of(id).iter().map(Id::to_string).collect();
                format!("{id} {{{}}}", members.join(", "))
            };
            let sets: Vec<_> = Id::all(group.n).map(set).collect();
            format!("voting sets: {}; messages of a process to itself are not shown\n\n", sets.join(", "))
        }
        Some(_) | None => String::new(),
    }
}

fn verdicts(arguments: &Arguments, report: &Report) -> String {
    let mut table = Table::new(3);
    for (property, verdict) in &report.outcome.verdicts {
        let promise = if report.promised.contains(property) { "" } else { "(not promised)" };
        let (shown, why) = match verdict {
            Verdict::Held => (styled(GOOD, "held"), String::new()),
            Verdict::Undecided => (styled(BAD, "not decided"), "the run was cut off".to_string()),
            Verdict::Violated(violation) => {
                (styled(BAD, "violated"), format!("at {}: {}", delta_text(violation.at), violation.why))
            }
        };
        table.row([property.name().to_string(), shown, [promise, &why].join(" ").trim().to_string()]);
    }
    if arguments.property.is_empty() {
        for property in of_family(report.family).iter().filter(|property| !report.watched.contains(property)) {
            let why = format!("checked only up to n = {REQUEST_ORDER_UP_TO} without --property {}", property.name());
            table.row([property.name().to_string(), styled(DIM, "not checked"), why]);
        }
    }
    table.render()
}

fn costs(report: &Report) -> String {
    let costs = &report.outcome.costs;
    let mut table = Table::new(1);
    let per = |count: Option<f64>, what: &str| count.map_or(String::new(), |count| format!("{} {what}", number(count)));
    table.row(["entries".to_string(), costs.entries.to_string()]);
    table.row(["messages".to_string(), costs.messages.to_string(), per(costs.messages_per_entry, "per entry")]);
    table.row(["bytes".to_string(), costs.bytes.to_string()]);
    table.row(["throughput".to_string(), costs.throughput.map_or("–".into(), number), "entries per δ".into()]);
    table.row([
        "predicted: 1/(E + SD)".to_string(),
        costs.throughput_predicted.map_or("–".into(), number),
        "entries per δ".into(),
    ]);
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
        ("messages to exit", costs.messages_of_exit),
        ("bytes per message", costs.bytes_per_message),
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
    table.row(["decided after".to_string(), turnaround.map_or("–".into(), |ticks| format!("{} δ", delta_text(ticks)))]);
    table.render()
}

fn detection(report: &Report) -> String {
    let outcome = &report.outcome;
    let mut table = Table::new(2);
    table.row(["messages".to_string(), outcome.costs.messages.to_string()]);
    table.row(["false suspicions".to_string(), outcome.detection.false_suspicions.to_string()]);
    table.row(["trusted again".to_string(), outcome.detection.corrections.to_string()]);
    let mut times = Table::new(1);
    times.row(["", "mean", "p50", "p99", "max"]);
    times.row(summary_row("from crash to detection (δ)", outcome.detection.detection_time.summary(DELTA as f64)));
    format!("{}\n{}", table.render(), times.render())
}
