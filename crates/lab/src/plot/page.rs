//! A comparison as one file: tables and figures.

use std::fmt::Write;

use quorate_core::catalog::DOCUMENTS;

use super::Figure;
use super::comparison::{figures, recovery_figures};
use crate::compare::{Cell, Row, measure_name};
use crate::markup::{Page, escape};
use crate::recovery_costs::RecoveryRow;

/// The page of a comparison, which needs no other file. `number` writes a number as the tables of the command do.
pub fn html(mutex: &[Row], election: &[Row], recovery: &[RecoveryRow], number: fn(f64) -> String) -> String {
    let mut page = Page::new("Published and measured costs");
    let documents: Vec<_> = DOCUMENTS.iter().map(|(letter, title)| format!("{letter}: {title}")).collect();
    page.push(&format!(
        "<p>Every algorithm was run with every number of processes n; each message takes 1 δ. In the figures, lines \
         are published values and points are measured values. In the tables, the published value is left of the \
         arrow and the measured value right of it; a star marks values that differ.</p>\n<p class=\"dim\">{}</p>\n",
        escape(&documents.join("; "))
    ));
    let recovery_table = recovery_table(recovery, number);
    for (title, unit, drawn, table) in [
        ("Mutual exclusion", "messages, delays in δ, and entries per δ", figures(mutex), table(mutex, number)),
        ("Election", "messages", figures(election), table(election, number)),
        (
            "Recovery",
            "messages and time from a crash to the next entry; the failure detector sends heartbeats every 5 δ",
            recovery_figures(recovery),
            recovery_table,
        ),
    ] {
        if !drawn.is_empty() {
            page.push(&format!("<section>\n<h2>{title}</h2>\n<p class=\"dim\">{}</p>\n", escape(unit)));
            drawn.iter().for_each(|figure: &Figure| page.drawing(&figure.svg(), ""));
            page.push(&format!("<div class=\"scroll\">\n{table}</div>\n</section>\n"));
        }
    }
    page.finish()
}

/// The beginning of a table: these columns, and one for each size.
fn heading(columns: &[&str], sizes: impl Iterator<Item = u32>) -> String {
    let mut text: String = columns.iter().map(|name| format!("<th class=\"l\">{name}</th>")).collect();
    sizes.for_each(|n| text += &format!("<th>n = {n}</th>"));
    format!("<table>\n<thead><tr>{text}</tr></thead>\n<tbody>\n")
}

fn table(rows: &[Row], number: fn(f64) -> String) -> String {
    let sizes = rows.first().into_iter().flat_map(|row| &row.cells).map(|cell| cell.n);
    let mut text = heading(&["algorithm", "measure", "published"], sizes);
    for row in rows {
        let published = match (row.formula, row.sources) {
            (Some(formula), Some(sources)) => format!("{formula} ({sources})"),
            (None, _) | (_, None) => "–".into(),
        };
        text += "<tr>";
        for cell in [row.algorithm, measure_name(row.measure), &published] {
            // Writing to a string cannot fail, here and below.
            let _ = write!(text, "<td class=\"l\">{}</td>", escape(cell));
        }
        for cell in &row.cells {
            let class = if cell.differs { " class=\"differs\"" } else { "" };
            let _ = write!(text, "<td{class}>{}</td>", compared(cell, number));
        }
        text += "</tr>\n";
    }
    text + "</tbody>\n</table>\n"
}

fn compared(cell: &Cell, number: fn(f64) -> String) -> String {
    let measured = cell.measured.map_or("–".to_string(), number);
    let star = if cell.differs { " *" } else { "" };
    match (cell.published, cell.published_most) {
        (Some(least), Some(most)) => format!("{}..{} → {measured}{star}", number(least), number(most)),
        (Some(value), None) => format!("{} → {measured}{star}", number(value)),
        (None, _) => measured,
    }
}

fn recovery_table(rows: &[RecoveryRow], number: fn(f64) -> String) -> String {
    let sizes = rows.first().into_iter().flat_map(|row| &row.cells).map(|cell| cell.n);
    let mut text = heading(&["algorithm", "crashed process"], sizes);
    for row in rows {
        let (name, victim) = (escape(row.algorithm), escape(row.victim.words()));
        let _ = write!(text, "<tr><td class=\"l\">{name}</td><td class=\"l\">{victim}</td>");
        for cell in &row.cells {
            let _ = match (cell.messages, cell.delay) {
                (Some(messages), Some(delay)) => {
                    write!(text, "<td>{} / {} δ</td>", number(messages), number(delay))
                }
                (None, _) | (_, None) => write!(text, "<td>–</td>"),
            };
        }
        text += "</tr>\n";
    }
    text + "</tbody>\n</table>\n"
}
