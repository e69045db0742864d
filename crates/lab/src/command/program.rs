//! A program about one algorithm, and what all programs of the laboratory share: reading arguments, and refusing them.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use quorate_core::election::Election;
use quorate_core::mutex::Mutex;

use super::failure::{Failure, USAGE, USAGE_KIND};
use super::output::{Form, Terminal, refuse};
use super::{check, renamed, replay, sim};
use crate::subject::{OfElection, OfMutex, Subject};

/// The exit codes, as the help of every program ends.
pub const EXIT_CODES: &str =
    "Exit codes: 0 success, 1 failure, 2 wrong usage, 10 safety violated, 11 liveness violated, 12 not decided.";
/// The maximum width of help texts, in columns.
pub const WIDTH: usize = 100;

/// The arguments of a program about one algorithm.
#[derive(Parser, Debug)]
#[command(max_term_width = WIDTH, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands that every algorithm has.
#[derive(Subcommand, Debug)]
enum Command {
    /// Simulate one run of the algorithm: conversation, costs and verdicts
    Sim(Box<sim::Arguments>),
    /// Explore all runs for a small group: proofs, or shortest counterexamples
    Check(Box<check::Arguments>),
    /// Run a scenario step by step
    Replay(replay::Arguments),
}

fn run(subject: &impl Subject, command: Command, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match command {
        Command::Sim(arguments) => sim::run(subject, &arguments, terminal),
        Command::Check(arguments) => check::run(subject, &arguments, terminal),
        Command::Replay(arguments) => replay::run(subject, &arguments, terminal),
    }
}

/// The laboratory as a program about a mutual exclusion algorithm: the commands of `quorate`, without a name to give.
///
/// ```no_run
/// # use quorate_core::mutex::Central as Mine;
/// fn main() -> std::process::ExitCode {
///     quorate_lab::main::<Mine>()
/// }
/// ```
pub fn main<M: Mutex>() -> ExitCode {
    start(&OfMutex::<M>::new())
}

/// The same as a program about an election.
///
/// ```no_run
/// # use quorate_core::election::Bully as Mine;
/// fn main() -> std::process::ExitCode {
///     quorate_lab::main_election::<Mine>()
/// }
/// ```
pub fn main_election<E: Election>() -> ExitCode {
    start(&OfElection::<E>::new())
}

fn start(subject: &impl Subject) -> ExitCode {
    let entry = subject.entry();
    let program = name_of(std::env::args_os().next()).unwrap_or_else(|| entry.name.to_string());
    let about = if entry.summary.is_empty() { entry.name.into() } else { format!("{}: {}", entry.name, entry.summary) };
    let command = Form::add_to(Arguments::command(), &[]).name(entry.name).bin_name(&program).about(about);
    let (arguments, form): (Arguments, Form) = match arguments(command) {
        Ok(read) => read,
        Err(code) => return code,
    };
    let mut terminal = Terminal::new(&program, form);
    let result = run(subject, arguments.command, &mut terminal);
    terminal.conclude(result)
}

/// The name of a program, from the path by which it was started.
fn name_of(called: Option<OsString>) -> Option<String> {
    Some(Path::new(&called?).file_stem()?.to_string_lossy().into_owned())
}

/// Reads the arguments of this process, and how it prints. Returns the exit code if there is nothing more to do: after
/// printing help, or an error.
pub fn arguments<A: FromArgMatches>(mut command: clap::Command) -> Result<(A, Form), ExitCode> {
    let program = command.get_bin_name().unwrap_or(command.get_name()).to_string();
    let words: Vec<OsString> = std::env::args_os().collect();
    let read = command.try_get_matches_from_mut(&words).and_then(|matches| {
        let form = Form::of(&matches);
        A::from_arg_matches(&matches).map(|arguments| (arguments, form)).map_err(|error| error.format(&mut command))
    });
    read.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If this fails, there is no other place to report it.
            let _ = error.print();
            ExitCode::from(u8::from(error.use_stderr()) * USAGE)
        }
        _ => {
            let text = renamed::advice(&error, &words).unwrap_or_else(|| one_line(&error.render().to_string()));
            let is_json = words.iter().take_while(|word| *word != "--").any(|word| word == "--json");
            refuse(&program, is_json, &text, USAGE_KIND, USAGE);
            ExitCode::from(USAGE)
        }
    })
}

/// An error of the parser as one line: without the usage, which `--help` prints, and without tips about passing an
/// option as a value.
pub(crate) fn one_line(rendered: &str) -> String {
    let told = rendered
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.trim_start().starts_with("tip: to pass"));
    let words: Vec<&str> = told.flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").replace(" tip: ", "; ")
}
