//! `quorate compare`: compares the published and the measured costs of all algorithms.

use std::process::ExitCode;

use quorate_core::catalog::{ENTRIES, Entry, Family};
use quorate_lab::compare::{Cell, Row, compare, measure_name};
use quorate_lab::plot::comparison::{figures, recovery_figures};
use quorate_lab::plot::page::html;
use quorate_lab::recovery_costs::{RecoveryRow, Victim, recovery_costs};
use serde_json::json;

use super::algorithms::documents;
use crate::arguments::Compare;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::files::{self, Folder, check_page};
use quorate_lab::command::output::{BAD, HEADING, Table, Terminal, number, styled};

pub(crate) fn run(arguments: &Compare, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let folder = arguments.plot.as_deref().map(Folder::new).transpose()?;
    if let Some(path) = &arguments.html {
        check_page("--html", path)?;
    }
    let (names, sizes) = (&arguments.algorithm, arguments.sizes());
    let mut bar = terminal.progress((steps(names) * sizes.len()) as u64, "measured");
    let mut done = 0;
    let mut step = || {
        done += 1;
        bar.set(done, "");
    };
    let mutex = compare(Family::Mutex, names, &sizes, &mut step)?;
    let election = compare(Family::Election, names, &sizes, &mut step)?;
    let recovery = recovery_costs(names, &sizes, &mut step)?;
    drop(bar);
    if terminal.is_json() {
        terminal.print_json(&json!({ "mutex": mutex, "election": election, "recovery": recovery }))?;
    } else {
        let text = [
            section("Mutual exclusion", "messages and delays (δ) of one entry and one exit", &mutex),
            section("Election", "messages", &election),
            recovery_section(&recovery),
            "published → measured; * marks a difference; – means not published or not measurable\n".into(),
            "token-ring, alone: all processes request entry at random, every 100 δ on average; differences up to 5 % \
             are not marked\n"
                .into(),
            documents(&mutex.iter().chain(&election).filter_map(|row| row.sources).collect::<Vec<_>>()),
        ];
        terminal.print(&text.concat())?;
    }
    // What was measured is printed first: a file that cannot be written takes nothing away from it.
    if let Some(folder) = folder {
        let figures = [figures(&mutex), figures(&election), recovery_figures(&recovery)].concat();
        terminal.warn(&folder.write(&figures)?);
    }
    if let Some(path) = &arguments.html {
        files::write(path, html(&mutex, &election, &recovery, number))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The number of measurements for each size: one for each algorithm, and its crashes if it recovers.
fn steps(names: &[String]) -> usize {
    let asked = ENTRIES.iter().filter(|entry| names.is_empty() || names.iter().any(|name| name == entry.name));
    let crashes = |entry: &Entry| if entry.recovery.is_some() { Victim::ALL.len() } else { 0 };
    asked
        .map(|entry| match entry.family {
            Family::Mutex => 1 + crashes(entry),
            Family::Election => 1,
            Family::Detector => 0,
        })
        .sum()
}

/// A table of rows, under a title.
pub(crate) fn section(title: &str, unit: &str, rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(3);
    let sizes = rows.first().into_iter().flat_map(|row| &row.cells).map(|cell| format!("n = {}", cell.n));
    table.row(["".into(), "".into(), "published".into()].into_iter().chain(sizes).collect::<Vec<String>>());
    let mut last = "";
    for row in rows {
        let name = if row.algorithm == last { String::new() } else { styled(HEADING, row.algorithm) };
        last = row.algorithm;
        let published = match (row.formula, row.sources) {
            (Some(formula), Some(sources)) => format!("{formula} ({sources})"),
            (None, _) | (_, None) => "–".to_string(),
        };
        let cells = row.cells.iter().map(cell);
        table.row([name, measure_name(row.measure).to_string(), published].into_iter().chain(cells));
    }
    format!("{} ({unit})\n{}\n", styled(HEADING, title), table.render())
}

/// The costs of a crash for the other processes.
fn recovery_section(rows: &[RecoveryRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(2);
    let sizes = rows.first().into_iter().flat_map(|row| &row.cells).map(|cell| format!("n = {}", cell.n));
    table.row(["".into(), "crashed process".into()].into_iter().chain(sizes).collect::<Vec<String>>());
    let mut last = "";
    for row in rows {
        let name = if row.algorithm == last { String::new() } else { styled(HEADING, row.algorithm) };
        last = row.algorithm;
        let cells = row.cells.iter().map(|cell| match (cell.messages, cell.delay) {
            (Some(messages), Some(delay)) => format!("{} / {} δ", number(messages), number(delay)),
            (None, _) | (_, None) => "–".to_string(),
        });
        table.row([name, row.victim.words().to_string()].into_iter().chain(cells));
    }
    let unit = "messages / time from a crash to the next entry; heartbeats every 5 δ detect the crash";
    format!("{} ({unit})\n{}\n", styled(HEADING, "Recovery"), table.render())
}

fn cell(cell: &Cell) -> String {
    let measured = cell.measured.map_or("–".to_string(), number);
    let published = match (cell.published, cell.published_most) {
        (Some(least), Some(most)) => format!("{}..{} → ", number(least), number(most)),
        (Some(value), None) => format!("{} → ", number(value)),
        (None, _) => String::new(),
    };
    if cell.differs { styled(BAD, &format!("{published}{measured} *")) } else { format!("{published}{measured}  ") }
}
