//! `quorate claims`: checks what the literature claims.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use quorate_core::catalog::DOCUMENTS;
use quorate_lab::claims::html::html;
use quorate_lab::claims::page::{page, summary};
use quorate_lab::claims::{Court, Ruling, SECTIONS, Verdict, chosen};
use quorate_lab::conversation::sentence;
use serde_json::json;

use crate::arguments::Claims;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::files::{self, check_page};
use quorate_lab::command::output::{BAD, DIM, GOOD, HEADING, Table, Terminal, styled};

use super::algorithms::documents;

/// A run of more records than this is not printed.
const LONGEST_CONVERSATION: usize = 60;

pub(crate) fn run(arguments: &Claims, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let claims = chosen(&arguments.id).map_err(|unknown| Failure::Usage(unknown.to_string()))?;
    for (option, path) in [("--markdown", &arguments.markdown), ("--html", &arguments.html)] {
        path.as_deref().map_or(Ok(()), |path| check_page(option, path))?;
    }
    let mut court = Court::new();
    let mut bar = terminal.progress(claims.len() as u64, "claims");
    let mut rulings = Vec::new();
    for claim in claims {
        bar.set(rulings.len() as u64, claim.id);
        rulings.push(court.judge(claim));
    }
    drop(bar);
    if terminal.is_json() {
        let rulings: Vec<_> = rulings.iter().map(Ruling::json).collect();
        terminal.print_json(&json!({ "claims": rulings }))?;
    } else if arguments.id.is_empty() {
        terminal.print(&overview(&rulings))?;
    } else {
        let cited: Vec<_> = rulings.iter().map(|ruling| ruling.claim.documents).collect();
        let in_full: Vec<_> = rulings.iter().map(in_full).collect();
        terminal.print(&format!("{}\n{}", in_full.join("\n"), documents(&cited)))?;
    }
    // Printed first: a page that cannot be written takes nothing away.
    if let Some(path) = &arguments.markdown {
        write(path, &rulings)?;
    }
    if let Some(path) = &arguments.html {
        files::write(path, html(&rulings))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page, and its drawings into the folder of the same name beside it.
fn write(path: &Path, rulings: &[Ruling]) -> Result<(), Failure> {
    let page = page(rulings);
    let folder = path.with_extension("");
    files::write(path, &page.text)?;
    std::fs::create_dir_all(&folder).map_err(|error| Failure::File { path: folder.display().to_string(), error })?;
    page.drawings.iter().try_for_each(|(name, drawing)| files::write(&folder.join(name), drawing))
}

fn overview(rulings: &[Ruling]) -> String {
    let mut text = String::new();
    for (letters, title) in SECTIONS {
        let mut table = Table::new(4);
        let mut any = false;
        for ruling in rulings.iter().filter(|ruling| ruling.claim.id.starts_with(|letter| letters.contains(letter))) {
            let claim = &ruling.claim;
            table.row([
                claim.id.to_string(),
                coloured(&ruling.verdict),
                claim.documents.into(),
                claim.statement.into(),
            ]);
            any = true;
        }
        if any {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}\n{}", styled(HEADING, title), table.render());
        }
    }
    let _ = writeln!(text, "{}\n", styled(HEADING, "Claims that are refuted or hold under a condition, and why"));
    for ruling in rulings.iter().filter(|ruling| matches!(ruling.verdict, Verdict::Conditional(_) | Verdict::Refuted)) {
        let _ = writeln!(text, "{} {}", ruling.claim.id, ruling.verdict);
        text.push_str(&evidence(ruling));
    }
    let _ = writeln!(text, "\n{}", summary(rulings));
    for (letter, title) in DOCUMENTS {
        let _ = writeln!(text, "{letter}: {title}");
    }
    text.push_str("`quorate claims ID …` prints claims in full, with the run that decided each\n");
    text
}

fn coloured(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => styled(GOOD, "holds"),
        Verdict::Conditional(_) => styled(BAD, "conditional"),
        Verdict::Refuted => styled(BAD, "refuted"),
        Verdict::Definition(_) | Verdict::NotYet(_) => styled(DIM, verdict.name()),
    }
}

fn evidence(ruling: &Ruling) -> String {
    let mut text: String = ruling.evidence.iter().map(|sentence| format!("    {sentence}\n")).collect();
    if let Some(command) = ruling.commands.first() {
        let _ = writeln!(text, "    $ {command}");
    }
    text
}

fn in_full(ruling: &Ruling) -> String {
    let Ruling { claim, verdict, evidence, commands, exhibit } = ruling;
    let mut text = format!("{} {} ({})\n", styled(HEADING, claim.id), claim.statement, claim.documents);
    let style = if *verdict == Verdict::Holds { GOOD } else { HEADING };
    let _ = writeln!(text, "{}\n", styled(style, &verdict.to_string()));
    for sentence in evidence {
        let _ = writeln!(text, "  {sentence}");
    }
    for command in commands {
        let _ = writeln!(text, "  $ {command}");
    }
    if let Some(exhibit) = exhibit.as_ref().filter(|exhibit| exhibit.records.len() <= LONGEST_CONVERSATION) {
        let _ = writeln!(text, "\n  {}, {} processes: {}", exhibit.algorithm, exhibit.n, exhibit.why);
        for (place, record) in exhibit.records.iter().enumerate() {
            let (who, what) = (record.process, sentence(record.process, &record.what));
            let _ = writeln!(text, "  {:>3}  {who}  {what}", place + 1);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use quorate_lab::claims::command_line;

    use crate::arguments::Arguments;
    use crate::commands::{Command, Laboratory};

    #[test]
    fn the_command_of_a_run_has_all_its_options_to_the_last_digit() {
        for line in [
            "quorate sim central -n 4 --entries 12 --partition 1@1.3..21.3 --recovery",
            "quorate sim lamport -n 5 --partition 1,2/3,4@0.000001..2 --partition 5@3..4.5 --recovery",
            "quorate sim majority -n 3 --delay constant:0.333333 --crash 2@1.103449 --pause 1@1.103449..3.333333",
            "quorate sim maekawa -n 7 --entries-each 2 --withdraw-rate 0.1 --initial-clock 1=40 --loss-rate 0.1 \
             --duplicate-rate 0.2 --absent 3 --drift-ppm 50 --delay-bound 2 --sets plane --property progress",
            "quorate sim lamport -n 3 --ask 1@0,2@0 --entries-each 1",
            "quorate sim lamport -n 3 --entries-each 1 --entries 2",
        ] {
            let read = Arguments::parse_from(line.split_whitespace()).command;
            let Command::Laboratory(Laboratory::Sim(sim)) = read else { panic!("{line}") };
            assert_eq!(command_line::sim(&sim.algorithm, &sim.run.experiment()), line);
        }
    }

    /// The page lists the commands that reproduce each verdict. They are accepted, and mean what they were made from.
    #[test]
    fn the_commands_of_the_page_are_commands() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/claims.md")).unwrap();
        let lines: Vec<_> = page.lines().filter(|line| line.starts_with("quorate ")).collect();
        assert!(lines.len() > 100, "{}", lines.len());
        for line in lines {
            let read = Arguments::try_parse_from(line.split_whitespace()).unwrap_or_else(|why| panic!("{line}: {why}"));
            match read.command {
                Command::Laboratory(Laboratory::Check(check)) => {
                    assert_eq!(command_line::check(&check.algorithm, &check.run.exploration()), line);
                }
                Command::Laboratory(Laboratory::Sim(sim)) => {
                    assert_eq!(command_line::sim(&sim.algorithm, &sim.run.experiment()), line);
                }
                _ => {}
            }
        }
    }
}
