//! `quorate algorithms`: describes the algorithms.

use std::fmt::Write;
use std::process::ExitCode;

use quorate_core::catalog::{DOCUMENTS, ENTRIES, Entry, entry};
use quorate_lab::compare::measure_name;
use serde_json::{Value, json};

use crate::arguments::Algorithms;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{HEADING, Table, Terminal, styled};

pub(crate) fn run(arguments: &Algorithms, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let chosen = match &arguments.algorithm[..] {
        [] => ENTRIES.to_vec(),
        names => names.iter().map(|name| entry(name)).collect::<Result<Vec<_>, _>>()?,
    };
    if terminal.is_json() {
        let algorithms: Vec<_> = chosen.iter().map(|entry| as_json(entry)).collect();
        terminal.print_json(&json!({ "algorithms": algorithms }))?;
    } else if arguments.short {
        terminal.print(&list(&chosen))?;
    } else {
        let mut text = chosen.iter().map(|entry| in_full(entry)).collect::<Vec<_>>().join("\n");
        let published = chosen.iter().flat_map(|entry| entry.published);
        text.push('\n');
        text.push_str(&documents(&published.map(|published| published.sources).collect::<Vec<_>>()));
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
    if let Some(recovery) = &entry.recovery {
        let election = if recovery.elects { " (with an election that runs beside it)" } else { "" };
        let _ = writeln!(text, "recovers  {}{election}", recovery.summary);
    }
    if !entry.published.is_empty() {
        let mut table = Table::new(3);
        for published in entry.published {
            table.row([
                format!("  {}", measure_name(published.measure)),
                published.formula.into(),
                published.sources.into(),
            ]);
        }
        let _ = write!(text, "\npublished costs, and their sources\n{}", table.render());
    }
    for option in entry.options {
        let name = if option.key == "sets" { "--sets …".into() } else { format!("--option {}=…", option.key) };
        let _ = write!(text, "\n{name}  {}\n", option.meaning);
        let _ = writeln!(text, "  accepts {}; default: {}", option.values, option.default);
    }
    text
}

/// The titles of the documents that these sources cite.
pub(crate) fn documents(sources: &[&str]) -> String {
    let cited = |letter: &str| sources.iter().any(|source| source.split(", ").any(|cited| cited == letter));
    let titles = DOCUMENTS.iter().filter(|(letter, _)| cited(letter));
    titles.map(|(letter, title)| format!("{letter}: {title}\n")).collect()
}

fn as_json(entry: &Entry) -> Value {
    json!({
        "name": entry.name,
        "family": entry.family.to_string(),
        "summary": entry.summary,
        "paper": entry.paper,
        "assumptions": entry.assumptions.words(),
        "promises": entry.promises.iter().map(|property| property.name()).collect::<Vec<_>>(),
        "recovery": entry.recovery.map(|recovery| json!({
            "summary": recovery.summary,
            "elects": recovery.elects,
            "fenced_crashes": recovery.fenced_crashes,
        })),
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
