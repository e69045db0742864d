//! `sim --runs`: simulates many seeds, and counts the violations.

use std::process::ExitCode;

use quorate_core::catalog::Property;
use serde_json::json;

use super::Arguments;
use crate::command::failure::{Failure, exit_code};
use crate::command::output::{BAD, GOOD, HEADING, Table, Terminal, styled};
use crate::experiment::Spectators;
use crate::observer::Verdict;
use crate::report::{Report, Severity};
use crate::subject::Subject;

/// The verdicts of many runs on one property.
struct Tally {
    property: Property,
    promised: bool,
    violated: u64,
    undecided: u64,
    /// The first seed whose run violates it.
    first: Option<u64>,
}

impl Tally {
    fn add(&mut self, verdict: &Verdict, seed: u64) {
        match verdict {
            Verdict::Held => {}
            Verdict::Undecided => self.undecided += 1,
            Verdict::Violated(_) => {
                self.violated += 1;
                self.first.get_or_insert(seed);
            }
        }
    }
}

/// Simulates an algorithm with this many seeds, and prints how many runs violate each property.
pub(super) fn run(
    subject: &impl Subject,
    arguments: &Arguments,
    runs: u64,
    terminal: &mut Terminal,
) -> Result<ExitCode, Failure> {
    let mut tallies: Vec<Tally> = Vec::new();
    let (mut worst, mut entries, mut events) = (Severity::Fine, 0, 0);
    let mut broken_assumptions = Vec::new();
    let mut progress = terminal.progress(runs, "runs");
    for (done, seed) in (0..runs).map(|run| (run, arguments.seed.wrapping_add(run))) {
        let one = Arguments { seed, conversation: super::Conversation::Never, ..arguments.clone() };
        let report = one.experiment().run_subject(subject, Spectators::default())?;
        count(&report, seed, &mut tallies);
        worst = worst.max(report.severity());
        entries += report.outcome.costs.entries;
        events += report.outcome.events;
        for broken in report.broken_assumptions {
            if !broken_assumptions.contains(&broken) {
                broken_assumptions.push(broken);
            }
        }
        progress.set(done + 1, "");
    }
    drop(progress);
    let name = subject.entry().name;
    for broken in &broken_assumptions {
        terminal.warn(&format!("some runs break an assumption of {name}: {broken}"));
    }
    if terminal.is_json() {
        let properties = tallies.iter().map(|tally| {
            let Tally { promised, violated, undecided, first, .. } = tally;
            let found = json!({
                "promised": promised, "violated": violated, "undecided": undecided, "first_seed": first
            });
            (tally.property.name().to_string(), found)
        });
        let properties: serde_json::Map<_, _> = properties.collect();
        terminal.print_json(&json!({
            "algorithm": name,
            "n": arguments.n,
            "seed": arguments.seed,
            "runs": runs,
            "entries": entries,
            "events": events,
            "broken_assumptions": broken_assumptions,
            "properties": properties,
        }))?;
    } else {
        let title = format!("{name}, {} processes, {runs} runs from seed {}", arguments.n, arguments.seed);
        terminal.print(&format!("{}\n\n{}", styled(HEADING, &title), text(&tallies)))?;
        terminal.remark(&format!("{entries} entries, {events} events"));
    }
    Ok(exit_code(worst))
}

fn count(report: &Report, seed: u64, tallies: &mut Vec<Tally>) {
    for (property, verdict) in &report.outcome.verdicts {
        let place = tallies.iter().position(|tally| tally.property == *property).unwrap_or_else(|| {
            tallies.push(Tally { property: *property, promised: true, violated: 0, undecided: 0, first: None });
            tallies.len() - 1
        });
        tallies[place].promised &= report.promised.contains(property);
        tallies[place].add(verdict, seed);
    }
}

fn text(tallies: &[Tally]) -> String {
    let mut table = Table::new(3);
    for tally in tallies {
        let shown = match (tally.violated, tally.undecided) {
            (0, 0) => styled(GOOD, "held"),
            (0, some) => styled(BAD, &format!("not decided in {some} runs")),
            (some, _) => styled(BAD, &format!("violated in {some} runs")),
        };
        let first = tally.first.map_or(String::new(), |seed| format!("first with seed {seed}"));
        let promise = if tally.promised { "" } else { "(not always promised)" };
        table.row([tally.property.name().to_string(), shown, [promise, &first].join(" ").trim().to_string()]);
    }
    table.render()
}
