//! One run: drawn, judged, and measured beside what is published.

use quorate_core::catalog::{Entry, Family, Measure};
use quorate_core::process::Ticks;
use quorate_core::setting::Options;
use quorate_core::trace::Record;
use serde_json::{Value, json};

use super::query::Words;
use super::stream::Teller;
use super::{Limits, Refusal};
use crate::application::Workload;
use crate::claims::command_line;
use crate::command::sim;
use crate::compare::{self, measure_name};
use crate::diagram::MOST_STEPPED;
use crate::experiment::{Experiment, Spectators};
use crate::observer::{Ending, Verdict};
use crate::report::Report;
use crate::subject::Subject;
use crate::time::{delta_text, in_delta};

/// Of a longer run, only the beginning can be looked at.
const MOST_KEPT: usize = 200_000;
/// More than a time that is written loses.
const ROUNDING: Ticks = 100;

/// The run that was asked for, told while it is made.
pub(super) fn answer(words: &Words, limits: &Limits, teller: &mut Teller) -> Result<Value, Refusal> {
    let named = words.algorithm()?;
    let arguments = words.run(named.entry(), limits)?;
    let experiment = arguments.experiment();
    let mut records: Vec<Record> = Vec::new();
    let (mut count, mut next_part) = (0, None);
    let mut keep = |record: &Record| {
        count += 1;
        if records.len() < MOST_KEPT {
            records.push(record.clone());
        } else if count <= MOST_KEPT + MOST_STEPPED {
            next_part = Some(record.at);
        }
    };
    let mut tell = |events, entries| teller.progress(|| json!({ "events": events, "entries": entries }));
    let spectators = Spectators {
        records: Some(&mut keep),
        progress: Some(&mut tell),
        enough: Some(limits.events),
        ..Spectators::default()
    };
    let report = named.simulate(&experiment, spectators).map_err(|why| Refusal::Question(why.to_string()))?;
    let command = command_line::sim(report.algorithm, &experiment);
    let mut picture = sim::picture(&report, &records).stepped(&arguments.view.view());
    // In a shell it would go on for as long as it takes, and become too long to be drawn.
    let shell = match next_part {
        Some(end) if experiment.until.is_none() => format!("{command} --until {}", delta_text(end + ROUNDING)),
        Some(_) | None => command.clone(),
    };
    if let (Some(note), Some(notes)) = (not_kept(count, records.len(), &shell), picture["notes"].as_array_mut()) {
        notes.push(note.into());
    }
    Ok(json!({
        "command": command,
        "report": report.json(),
        "verdicts": verdicts(&report),
        "published": published(named.entry(), &experiment, &report),
        "ending": ending(&report, limits),
        "records": count,
        "kept": records.len(),
        "picture": picture,
    }))
}

/// What to say of a run that is longer than what can be looked at: how much that is, and how to look at the rest.
fn not_kept(count: usize, kept: usize, command: &str) -> Option<String> {
    (count > kept).then(|| {
        let next = format!("--records {}..{}", kept + 1, count.min(kept + MOST_STEPPED));
        format!(
            "The run has {count} records, and this page keeps the first {kept} of them: \
             {command} --diagram run.html {next} shows what comes next"
        )
    })
}

fn verdicts(report: &Report) -> Vec<Value> {
    let verdicts = report.outcome.verdicts.iter().map(|(property, verdict)| {
        let (word, at, why) = match verdict {
            Verdict::Held => ("held", None, None),
            Verdict::Undecided => ("undecided", None, Some("the run was stopped at its limit".to_string())),
            Verdict::Violated(violation) => ("violated", Some(violation.at), Some(violation.why.clone())),
        };
        json!({
            "property": property.name(),
            "promised": report.promised.contains(property),
            "verdict": word,
            "at": at.map(in_delta),
            "why": why,
        })
    });
    verdicts.collect()
}

/// How it ended, in words.
fn ending(report: &Report, limits: &Limits) -> String {
    let outcome = &report.outcome;
    let how = match outcome.ending {
        Ending::Quiet => "until no event was left".to_string(),
        Ending::Finished => "until all processes had exited".to_string(),
        Ending::Stalled => "until no waiting process could be served any more".to_string(),
        Ending::CutOff if outcome.events >= limits.events => {
            format!("and stopped at this laboratory's limit of {} events", limits.events)
        }
        Ending::CutOff => "and stopped at its limit".to_string(),
    };
    format!("{} events, {} δ, {how}", outcome.events, delta_text(outcome.end))
}

/// What this run cost, beside what is published about runs of its kind.
fn published(entry: &'static Entry, experiment: &Experiment, report: &Report) -> Vec<Value> {
    let costs = &report.outcome.costs;
    let mean = |summary: Option<crate::distribution::Summary>| summary.map(|summary| summary.mean);
    let is_alone = experiment.clients.workload == Workload::Alone;
    let measured: Vec<(Measure, Option<f64>, bool)> = match entry.family {
        Family::Mutex if is_alone => vec![
            (Measure::Messages, costs.messages_per_entry, true),
            (Measure::MessagesToExit, mean(costs.messages_of_exit), true),
            (Measure::ClientDelay, mean(costs.client_delay), true),
            (Measure::ExitDelay, mean(costs.exit_delay), true),
        ],
        // What is published about who is alone is said, and was not measured here.
        Family::Mutex => vec![
            (Measure::Messages, None, true),
            (Measure::MessagesContended, costs.messages_per_entry, true),
            (Measure::MessagesToExit, mean(costs.messages_of_exit), true),
            (Measure::ExitDelay, mean(costs.exit_delay), true),
            (Measure::SyncDelay, mean(costs.sync_delay), true),
            (Measure::Throughput, costs.throughput, true),
        ],
        Family::Election => {
            let messages = Some(costs.messages as f64);
            if experiment.starters.len() > 1 {
                vec![(Measure::ElectionWorstAllStart, messages, true)]
            } else {
                vec![(Measure::ElectionBest, messages, true), (Measure::ElectionWorst, messages, true)]
            }
        }
        Family::Detector => Vec::new(),
    };
    let given = experiment.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let Ok(options) = Options::new(entry, given) else { return Vec::new() };
    let rows = compare::of_run(entry, experiment.n, &options, &measured);
    let shown = rows.into_iter().map(|row| {
        let cell = row.cells.first();
        json!({
            "measure": measure_name(row.measure),
            "unit": unit(row.measure),
            "formula": row.formula,
            "sources": row.sources,
            "published": cell.and_then(|cell| cell.published),
            "published_most": cell.and_then(|cell| cell.published_most),
            "measured": cell.and_then(|cell| cell.measured),
        })
    });
    shown.collect()
}

/// What a measure is counted in, other than messages.
fn unit(measure: Measure) -> &'static str {
    match measure {
        Measure::ClientDelay | Measure::ExitDelay | Measure::SyncDelay => "δ",
        Measure::Throughput => "entries per δ",
        Measure::Messages
        | Measure::MessagesAgain
        | Measure::MessagesToEnter
        | Measure::MessagesContended
        | Measure::MessagesToExit
        | Measure::ElectionBest
        | Measure::ElectionWorst
        | Measure::ElectionWorstAllStart => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_is_said_with_the_command_that_shows_it() {
        assert_eq!(not_kept(200_000, MOST_KEPT, "quorate sim central"), None);
        let said = not_kept(203_000, MOST_KEPT, "quorate sim central").unwrap();
        assert!(said.starts_with("The run has 203000 records, and this page keeps the first 200000 of them"), "{said}");
        assert!(said.contains("quorate sim central --diagram run.html --records 200001..203000"), "{said}");
    }
}
