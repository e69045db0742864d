//! Output for people and programs: text (coloured on a terminal), JSON, progress and warnings.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use clap::{Arg, ArgAction, ArgMatches};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use super::failure::Failure;

/// How a command prints: the options `--json` and `--quiet`.
///
/// [`Form::add_to`] gives every command `--quiet`, and `--json` to those that have it; [`Form::of`] reads them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form {
    json: bool,
    quiet: bool,
}

impl Form {
    /// Adds `--quiet` to a program, and `--json` to its commands, except those that print nothing for programs.
    #[must_use]
    pub fn add_to(program: clap::Command, without_json: &[&str]) -> clap::Command {
        let flag = |name, help| Arg::new(name).long(name).global(true).action(ArgAction::SetTrue).help(help);
        let json = || {
            let long = "Print one JSON object instead of text; commands that follow events print one object per line. \
                        Warnings and errors are JSON objects, too, on standard error; an error has the fields \
                        `error`, `kind` and `exit`";
            flag("json", "Print JSON instead of text").long_help(long).display_order(900)
        };
        let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_string()).collect();
        let with_json = names.into_iter().filter(|name| !without_json.contains(&name.as_str()));
        let program = with_json.fold(program, |program, name| program.mut_subcommand(name, |one| one.arg(json())));
        program.arg(flag("quiet", "Print no progress and no warnings").short('q').display_order(901))
    }

    /// The form that these matches ask for.
    pub fn of(matches: &ArgMatches) -> Form {
        let is_given = |matches: &ArgMatches, name| matches.try_get_one(name).ok().flatten() == Some(&true);
        let mut form = Form::default();
        let mut level = Some(matches);
        while let Some(matches) = level {
            form.json |= is_given(matches, "json");
            form.quiet |= is_given(matches, "quiet");
            level = matches.subcommand().map(|(_, matches)| matches);
        }
        form
    }
}

/// Where a program writes.
pub struct Terminal {
    out: anstream::AutoStream<io::Stdout>,
    program: String,
    form: Form,
}

/// The style of titles and names.
pub const HEADING: Style = Style::new().bold();
/// The style of what is as it should be.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// The style of what is not.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// The style of remarks.
pub const DIM: Style = Style::new().dimmed();

impl Terminal {
    /// The terminal of a program of this name.
    pub fn new(program: &str, form: Form) -> Terminal {
        Terminal { out: anstream::AutoStream::auto(io::stdout()), program: program.to_string(), form }
    }

    /// Whether to print JSON instead of text.
    pub fn is_json(&self) -> bool {
        self.form.json
    }

    /// Prints text.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        self.offer(text).map(drop)
    }

    /// Prints text, and returns whether the reader is still there: for output that would never end by itself.
    pub fn offer(&mut self, text: &str) -> io::Result<bool> {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        match written {
            // A reader that closes the pipe, as `head` does, has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Prints a value as JSON.
    pub fn print_json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        text.push('\n');
        self.print(&text)
    }

    /// Prints a warning to standard error, unless `--quiet` is given.
    pub fn warn(&self, text: &str) {
        if !self.form.quiet {
            self.complain(text);
        }
    }

    /// Prints a warning to standard error, even with `--quiet`.
    pub fn complain(&self, text: &str) {
        match self.form.json {
            true => tell_json(&json!({ "warning": text })),
            false => tell(&self.program, text),
        }
    }

    /// Prints a remark to standard error if it is a terminal.
    pub fn remark(&self, text: &str) {
        if io::stderr().is_terminal() {
            self.warn(text);
        }
    }

    /// Prints how far the work is to standard error if it is no terminal, and so shows no progress bar.
    pub fn remark_elsewhere(&self, text: &str) {
        if !io::stderr().is_terminal() {
            self.warn(text);
        }
    }

    /// Prints the error of a command that failed to standard error. Returns the exit code in any case.
    pub fn conclude(&self, result: Result<ExitCode, Failure>) -> ExitCode {
        result.unwrap_or_else(|failure| {
            refuse(&self.program, self.form.json, &failure.to_string(), failure.kind(), failure.code());
            ExitCode::from(failure.code())
        })
    }

    /// A progress bar that appears when the work takes longer than a second, and only on a terminal.
    pub fn progress(&self, length: u64, unit: &'static str) -> Progress {
        let template = "{elapsed_precise} {bar:30} {pos}/{len} {prefix} {msg}";
        let shown = !self.form.quiet && io::stderr().is_terminal();
        Progress { bar: None, shown, since: Instant::now(), length, unit, template }
    }

    /// The same for work of unknown length.
    pub fn spinner(&self) -> Progress {
        let mut progress = self.progress(0, "");
        progress.template = "{elapsed_precise} {spinner} {msg}";
        progress
    }
}

/// Prints a line to standard error, after the name of the program.
pub fn tell(program: &str, text: &str) {
    // If this fails, there is no other place to report it.
    let _ = writeln!(anstream::stderr(), "{program}: {text}");
}

/// Prints a JSON object to standard error, on one line.
fn tell_json(value: &serde_json::Value) {
    // As above.
    let _ = writeln!(anstream::stderr(), "{value}");
}

/// Prints an error to standard error, as text or as a JSON object.
pub(super) fn refuse(program: &str, is_json: bool, error: &str, kind: &str, exit: u8) {
    match is_json {
        true => tell_json(&json!({ "error": error, "kind": kind, "exit": exit })),
        false => tell(program, error),
    }
}

/// A progress bar, when it is time for one.
pub struct Progress {
    bar: Option<ProgressBar>,
    shown: bool,
    since: Instant,
    length: u64,
    unit: &'static str,
    template: &'static str,
}

impl Progress {
    /// Shows how much is done.
    pub fn set(&mut self, done: u64, detail: &str) {
        if !self.shown || self.since.elapsed() < Duration::from_secs(1) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(self.template);
            let bar = ProgressBar::new(self.length).with_prefix(self.unit);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        bar.set_position(done);
        bar.set_message(detail.to_string());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Text in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A table: columns as wide as their widest cell, the first ones to the left, the rest to the right.
pub struct Table {
    left: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose first `left` columns are aligned to the left.
    pub fn new(left: usize) -> Table {
        Table { left, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as text, a line for each row.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| visible(cell)).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths[column] - visible(cell));
                if column > 0 {
                    line.push_str("  ");
                }
                if column < self.left {
                    line.push_str(cell);
                    line.push_str(&padding);
                } else {
                    line.push_str(&padding);
                    line.push_str(cell);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// How many columns a text takes, without what only colours it.
fn visible(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

/// A number as people write it: at most four digits after the point, none that say nothing.
pub fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.0001 {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
