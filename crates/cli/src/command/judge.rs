//! `quorate judge`: checks traces of real nodes for the same properties as the laboratory's runs.

use std::process::ExitCode;

use quorate_lab::command::failure::{Failure, exit_code};
use quorate_lab::command::output::{BAD, DIM, GOOD, HEADING, Table, Terminal, number, styled};
use quorate_lab::judge::{Correction, Finding, Judgement, Mistake, judge, read};

use super::compare::section;
use crate::arguments::Judge;

/// Clock corrections of fewer microseconds are only in the JSON.
const LEAST_SAID: u64 = 1000;
/// The text shows at most this many resources; the JSON has all.
const MOST_SHOWN: usize = 20;

pub(crate) fn run(arguments: &Judge, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let mut lives = Vec::new();
    for path in &arguments.file {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| Failure::Reading { path: name.clone(), error })?;
        lives.extend(read(&name, &bytes).map_err(|error| Failure::Usage(error.to_string()))?);
    }
    let judgement = judge(lives, arguments.patience).map_err(|error| Failure::Usage(error.to_string()))?;
    if terminal.is_json() {
        terminal.print_json(&judgement.json())?;
    } else {
        terminal.print(&text(&judgement))?;
    }
    Ok(exit_code(judgement.severity()))
}

fn text(judgement: &Judgement) -> String {
    let mut text = format!("{}\n", title(judgement));
    for missing in &judgement.missing {
        text.push_str(&format!("{} {missing}\n", styled(BAD, "missing:")));
    }
    for correction in judgement.corrections.iter().filter(|one| one.ahead.unsigned_abs() >= LEAST_SAID) {
        text.push_str(&clock(correction));
    }
    if let Some(Mistake { by: who, of, .. }) = judgement.mistaken {
        text.push_str(&format!("{who} suspected {of} falsely: two processes may have been inside at the same time\n"));
    }
    text.push('\n');
    text.push_str(&verdicts(judgement));
    if !judgement.leaders.is_empty() {
        let named = judgement.leaders.iter().map(|(id, leader)| {
            let lives = judgement.lives.iter().filter(|life| life.header.process == *id);
            let last = lives.max_by_key(|life| life.header.incarnation);
            let is_cut = last.is_some_and(|life| life.ended.is_none());
            format!("{id} names {leader}{}", if is_cut { " (its trace ends abruptly)" } else { "" })
        });
        text.push_str(&format!("\nleaders at the end: {}\n", named.collect::<Vec<_>>().join(", ")));
    }
    text.push('\n');
    text.push_str(&resources(judgement));
    text.push_str(&costs(judgement));
    text
}

fn clock(Correction { process, incarnation, ahead }: &Correction) -> String {
    let seconds = ahead.unsigned_abs() as f64 / 1e6;
    let side = if *ahead > 0 { "ahead" } else { "behind" };
    format!(
        "the clock of {process} (incarnation {incarnation}) was {seconds:.3} s {side}; corrected by the times of its \
         messages\n"
    )
}

fn title(judgement: &Judgement) -> String {
    let options = judgement.header.options.iter().map(|(key, value)| format!(", {key}={value}"));
    let [lives, killed] = [judgement.lives.len(), judgement.lives.iter().filter(|life| life.ended.is_none()).count()];
    let ends = if killed > 0 { format!(", {killed} of them without a regular end") } else { String::new() };
    format!(
        "{}{}, {} nodes, {} records of {lives} incarnations{ends}",
        styled(HEADING, judgement.entry.name),
        options.collect::<String>(),
        judgement.header.n,
        judgement.records,
    )
}

fn verdicts(judgement: &Judgement) -> String {
    let mut table = Table::new(3);
    for (property, resource, finding) in judgement.findings() {
        let promise = if judgement.is_promised(property, finding) { "" } else { "(not promised) " };
        let (verdict, why) = in_words(finding, &format!("{:?}", resource.name));
        table.row([property.name().to_string(), verdict, format!("{promise}{why}")]);
    }
    if let Some(finding) = &judgement.one_leader {
        let (verdict, why) = in_words(finding, "the group");
        table.row(["one-leader".to_string(), verdict, why]);
    }
    if judgement.resources.is_empty() {
        return format!("{}no process requested entry\n", table.render());
    }
    table.render()
}

fn in_words(finding: &Finding, about: &str) -> (String, String) {
    match finding {
        Finding::Held => (styled(GOOD, "held"), String::new()),
        Finding::Violated { at, why, .. } => (styled(BAD, "violated"), format!("{about}, at {}: {why}", time(*at))),
        Finding::Undecided { why } => (styled(DIM, "not decided"), format!("{about}: {why}")),
    }
}

/// A time of a trace: seconds since 1970, as `date -d @…` takes them.
fn time(micros: u64) -> String {
    format!("@{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn resources(judgement: &Judgement) -> String {
    if judgement.resources.len() < 2 {
        return String::new();
    }
    let mut table = Table::new(1);
    table.row(["resource", "entries", "messages", "per entry"]);
    for resource in judgement.resources.iter().take(MOST_SHOWN) {
        let each = resource.bill.per_entry().map_or("–".to_string(), number);
        let name = format!("{:?}", resource.name);
        table.row([name, resource.bill.entries.to_string(), resource.bill.total().to_string(), each]);
    }
    let more = judgement.resources.len().saturating_sub(MOST_SHOWN);
    let more = if more > 0 { format!("and {more} more; --json prints all\n") } else { String::new() };
    format!("{}{more}\n", table.render())
}

fn costs(judgement: &Judgement) -> String {
    let bill = &judgement.bill;
    let mut table = Table::new(1);
    table.row(["entries".to_string(), bill.entries.to_string()]);
    table.row(["messages".to_string(), bill.total().to_string()]);
    for (kind, count) in &bill.messages {
        let each = if bill.entries > 0 { number(*count as f64 / bill.entries as f64) } else { "–".into() };
        table.row([format!("  {kind}"), count.to_string(), format!("{each} per entry")]);
    }
    let clocks = match bill.negative {
        0 => String::new(),
        times => {
            format!("entries with a negative synchronization delay, because the machines' clocks differ: {times}\n")
        }
    };
    let unit = "messages; delays in ms, published in δ";
    format!("{}{clocks}\n{}", table.render(), section("Costs", unit, &judgement.rows()))
}
