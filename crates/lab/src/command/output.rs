//! What people and programs see: text with colours where a terminal shows them, JSON, progress, warnings.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::failure::Failure;

/// In which form a program prints: arguments of every command.
#[derive(Args, Clone, Copy, Debug)]
pub struct Form {
    /// Print JSON, for programs
    #[arg(long, global = true, display_order = 900)]
    json: bool,

    /// Show no progress and no warnings
    #[arg(long, short, global = true, display_order = 901)]
    quiet: bool,
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

    /// Prints text, and says whether anybody reads on: for output that would never end by itself.
    pub fn offer(&mut self, text: &str) -> io::Result<bool> {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        match written {
            // Who closes our output, as `head` does, has seen enough.
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

    /// Says something that is not the result.
    pub fn warn(&self, text: &str) {
        if !self.form.quiet {
            tell(&self.program, text);
        }
    }

    /// Says what went wrong, also to who wants to hear nothing else.
    pub fn complain(&self, text: &str) {
        tell(&self.program, text);
    }

    /// Says something to who watches, and to nobody else.
    pub fn remark(&self, text: &str) {
        if io::stderr().is_terminal() {
            self.warn(text);
        }
    }

    /// Says how far the work is where no progress bar shows it.
    pub fn remark_elsewhere(&self, text: &str) {
        if !io::stderr().is_terminal() {
            self.warn(text);
        }
    }

    /// Tells why a command failed, if it did; either way, its exit code.
    pub fn conclude(&self, result: Result<ExitCode, Failure>) -> ExitCode {
        result.unwrap_or_else(|failure| {
            tell(&self.program, &failure.to_string());
            failure.exit_code()
        })
    }

    /// A progress bar that appears when the work takes longer than a second, and only on a terminal.
    pub fn progress(&self, length: u64, unit: &'static str) -> Progress {
        let template = "{elapsed_precise} {bar:30} {pos}/{len} {prefix} {msg}";
        let shown = !self.form.quiet && io::stderr().is_terminal();
        Progress { bar: None, shown, since: Instant::now(), length, unit, template }
    }

    /// The same for work whose length nobody knows.
    pub fn spinner(&self) -> Progress {
        let mut progress = self.progress(0, "");
        progress.template = "{elapsed_precise} {spinner} {msg}";
        progress
    }
}

/// Says something on standard error, in the name of a program.
pub fn tell(program: &str, text: &str) {
    // Nobody is left to tell if this fails.
    let _ = writeln!(anstream::stderr(), "{program}: {text}");
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
