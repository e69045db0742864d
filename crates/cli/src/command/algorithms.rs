//! `quorate algorithms`: the catalogue.

use std::fmt::Write;
use std::process::ExitCode;

use quorate_core::catalog::{ENTRIES, Entry, entry};
use quorate_lab::compare::measure_name;
use serde_json::{Value, json};

use crate::arguments::Algorithms;
use crate::failure::Failure;
use crate::output::{HEADING, Table, Terminal, styled};

/// The source documents, by the letters under which the catalogue cites them.
const DOCUMENTS: &[(&str, &str)] = &[
    ("A", "Mutual Exclusion (Mutex) and Election"),
    ("B", "Coordination, part 2"),
    ("C", "Distributed Algorithms Part II: Distributed Mutual Exclusion"),
    ("D", "Lecture 5: Mutual Exclusion and Election"),
    ("E", "Coordination and Agreement (N. Dragoni)"),
];

pub(crate) fn run(arguments: &Algorithms, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let chosen = match &arguments.algorithm[..] {
        [] => ENTRIES.to_vec(),
        names => names.iter().map(|name| entry(name)).collect::<Result<Vec<_>, _>>()?,
    };
    if terminal.is_json() {
        terminal.print_json(&chosen.iter().map(|entry| as_json(entry)).collect::<Vec<_>>())?;
    } else if arguments.short {
        terminal.print(&list(&chosen))?;
    } else {
        let mut text = chosen.iter().map(|entry| in_full(entry)).collect::<Vec<_>>().join("\n");
        text.push_str(&documents(&chosen));
        terminal.print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(entries: &[&Entry]) -> String {
    let mut table = Table::new(3);
    for entry in entries {
        table.row([styled(HEADING, entry.name), entry.family.to_string(), entry.summary.to_string()]);
    }
    table.render()
}

fn in_full(entry: &Entry) -> String {
    let mut text =
        format!("{} ({})\n{}\n{}\n\n", styled(HEADING, entry.name), entry.family, entry.summary, entry.paper);
    let promises: Vec<_> = entry.promises.iter().map(|property| property.name()).collect();
    let _ = writeln!(text, "assumes   {}", entry.assumptions.words().join(", "));
    let _ = writeln!(text, "promises  {}", promises.join(", "));
    if !entry.published.is_empty() {
        let mut table = Table::new(3);
        for published in entry.published {
            table.row([
                format!("  {}", measure_name(published.measure)),
                published.formula.into(),
                published.sources.into(),
            ]);
        }
        let _ = write!(text, "\npublished costs, and by whom\n{}", table.render());
    }
    for option in entry.options {
        let _ = write!(text, "\n--option {}=…  {}\n", option.key, option.meaning);
        let _ = writeln!(text, "  takes {}; by default {}", option.values, option.default);
    }
    text
}

/// The documents that these entries cite.
fn documents(entries: &[&Entry]) -> String {
    let cited = entries.iter().flat_map(|entry| entry.published).flat_map(|published| published.sources.split(", "));
    let letters: std::collections::BTreeSet<_> = cited.collect();
    let mut table = Table::new(2);
    for (letter, title) in DOCUMENTS.iter().filter(|(letter, _)| letters.contains(letter)) {
        table.row([*letter, *title]);
    }
    if letters.is_empty() { String::new() } else { format!("\n{}", table.render()) }
}

fn as_json(entry: &Entry) -> Value {
    json!({
        "name": entry.name,
        "family": entry.family.to_string(),
        "summary": entry.summary,
        "paper": entry.paper,
        "assumptions": entry.assumptions.words(),
        "promises": entry.promises.iter().map(|property| property.name()).collect::<Vec<_>>(),
        "published": entry.published.iter().map(|published| json!({
            "measure": measure_name(published.measure),
            "formula": published.formula,
            "sources": published.sources,
        })).collect::<Vec<_>>(),
        "options": entry.options.iter().map(|option| json!({
            "key": option.key,
            "accepts": option.values.to_string(),
            "default": option.default,
            "meaning": option.meaning,
        })).collect::<Vec<_>>(),
    })
}
