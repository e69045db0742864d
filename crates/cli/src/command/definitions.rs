//! `quorate completions` and `quorate man`: from the same definitions as the help texts.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;

use crate::commands::{self, FIRST_COMMANDS, about};

pub(crate) fn completions(shell: clap_complete::Shell, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut commands::definition(), "quorate", &mut script);
    terminal.print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(directory: Option<&Path>, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let mut definition = commands::definition().disable_help_subcommand(true);
    definition.build();
    match directory {
        None => {
            let mut page = Vec::new();
            write_page(&definition, &mut page)?;
            terminal.print(&String::from_utf8_lossy(&page))?;
        }
        Some(directory) => {
            let written = std::fs::create_dir_all(directory).and_then(|()| write_pages(&definition, directory));
            written.map_err(|error| Failure::File { path: directory.display().to_string(), error })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and those of its subcommands, each into a file of its own.
fn write_pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_pages(command, directory)?;
    }
    let mut page = Vec::new();
    write_page(command, &mut page)?;
    std::fs::write(directory.join(Man::new(command.clone()).get_filename()), page)
}

fn write_page(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone()).source(concat!("quorate ", env!("CARGO_PKG_VERSION")));
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    let is_root = command.get_name() == "quorate";
    if is_root {
        groups().to_writer(page)?;
    }
    man.render_options_section(page)?;
    if command.has_subcommands() && !is_root {
        man.render_subcommands_section(page)?;
    }
    if let Some(text) = command.get_after_long_help().or(command.get_after_help()) {
        closing(&text.to_string()).to_writer(page)?;
    }
    if is_root {
        man.render_version_section(page)?;
    }
    page.flush()
}

/// The commands by group, as the help lists them.
fn groups() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["FIRST COMMANDS"]);
    for (command, does) in FIRST_COMMANDS {
        roff.control("TP", []).text([bold(command)]).text([roman(does)]);
    }
    for (name, group) in commands::groups() {
        roff.control("SH", [format!("{} COMMANDS", name.to_uppercase()).as_str()]);
        for command in group.get_subcommands().filter(|command| !command.is_hide_set()) {
            roff.control("TP", []).text([bold(format!("quorate-{}(1)", command.get_name()))]);
            roff.text([roman(about(command))]);
        }
    }
    roff
}

/// The text that follows the options in the help. Each of its parts has a heading, as in "Examples:", which becomes a
/// section of the page.
fn closing(text: &str) -> Roff {
    let mut roff = Roff::new();
    for part in text.split("\n\n") {
        let (title, body) = match part.split_once(':') {
            Some((title, body)) if is_heading(title) => (title, body),
            _ => ("Notes", part),
        };
        let title = if title == "Exit codes" { "Exit status" } else { title };
        roff.control("SH", [title.to_uppercase().as_str()]).control("nf", []);
        for line in body.trim_matches('\n').lines() {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line.trim_start()))]);
        }
        roff.control("fi", []);
    }
    roff
}

/// Whether a part of a text opens with these words as its heading: some letters, and no sentence.
fn is_heading(title: &str) -> bool {
    title.len() <= 40 && title.chars().all(|c| c.is_ascii_alphabetic() || c == ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(name: &str) -> String {
        let mut definition = commands::definition().disable_help_subcommand(true);
        definition.build();
        let command = name.split_whitespace().fold(&definition, |command, name| {
            command.find_subcommand(name).unwrap_or_else(|| panic!("there is no command {name}"))
        });
        let mut page = Vec::new();
        write_page(command, &mut page).unwrap();
        // Hyphens are written so that they can be searched for and copied.
        String::from_utf8(page).unwrap().replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
    }

    #[test]
    fn the_man_page_groups_the_commands_as_the_help_does() {
        let page = page_of("");
        let headings =
            ["FIRST COMMANDS", "SERVICE COMMANDS", "CLUSTER COMMANDS", "LABORATORY COMMANDS", "TOOLS COMMANDS"];
        let at: Vec<_> = headings.iter().map(|heading| page.find(&format!(".SH \"{heading}\"\n"))).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?} in\n{page}");
        for (_, group) in commands::groups() {
            for command in group.get_subcommands().filter(|command| !command.is_hide_set()) {
                let line = format!("\nquorate-{}(1)\n", command.get_name());
                assert_eq!(page.matches(&line).count(), 1, "{line:?} in\n{page}");
            }
        }
        assert!(!page.contains(".SH SUBCOMMANDS"), "{page}");
    }

    #[test]
    fn the_pages_of_lock_and_elect_have_the_whole_synopsis_examples_and_exit_codes() {
        for (name, synopsis) in [
            ("lock", "quorate lock NAME [OPTIONS] -- COMMAND [ARGUMENT]…"),
            ("elect", "quorate elect NAME [OPTIONS] -- COMMAND [ARGUMENT]…"),
        ] {
            let page = page_of(name);
            for part in [synopsis, "--ttl <DURATION>", ".SH EXAMPLES", ".SH \"EXIT STATUS\"", "Possible values:"] {
                assert!(page.contains(part), "{part} is not in\n{page}");
            }
        }
        assert!(page_of("member add").contains(".SH EXAMPLES"));
    }
}
