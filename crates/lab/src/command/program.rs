//! A program about one algorithm, and what all programs of the laboratory share: how arguments are read and refused.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use quorate_core::election::Election;
use quorate_core::mutex::Mutex;

use super::failure::Failure;
use super::output::{Form, Terminal, tell};
use super::{check, replay, sim};
use crate::subject::{OfElection, OfMutex, Subject};

/// The exit codes, as the help of every program ends.
pub const EXIT_CODES: &str =
    "Exit codes: 0 fine, 1 failed, 2 usage, 10 safety violated, 11 liveness violated, 12 not decided.";
/// How wide help texts become at most.
pub const WIDTH: usize = 100;

/// What a program about one algorithm takes.
#[derive(Parser, Debug)]
#[command(max_term_width = WIDTH, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    form: Form,
}

/// The commands that every algorithm has.
#[derive(Subcommand, Debug)]
enum Command {
    /// Run the algorithm once, by a seed: the conversation, costs and verdicts
    Sim(Box<sim::Arguments>),
    /// Explore every run: a proof for this n, or the shortest run that breaks the algorithm
    Check(Box<check::Arguments>),
    /// Run a written conversation again, step by step
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
    let command = Arguments::command().name(entry.name).bin_name(&program).about(about);
    let arguments: Arguments = match arguments(command) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let mut terminal = Terminal::new(&program, arguments.form);
    let result = run(subject, arguments.command, &mut terminal);
    terminal.conclude(result)
}

/// What a program is called, by the path by which it was called.
fn name_of(called: Option<OsString>) -> Option<String> {
    Some(Path::new(&called?).file_stem()?.to_string_lossy().into_owned())
}

/// The arguments of this process; or, when there is nothing more to do, the exit code.
pub fn arguments<A: FromArgMatches>(mut command: clap::Command) -> Result<A, ExitCode> {
    let program = command.get_bin_name().unwrap_or(command.get_name()).to_string();
    let read = command.try_get_matches_from_mut(std::env::args_os());
    let read = read.and_then(|matches| A::from_arg_matches(&matches).map_err(|error| error.format(&mut command)));
    read.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Nobody is left to tell if this fails.
            let _ = error.print();
            ExitCode::from(u8::from(error.use_stderr()) * 2)
        }
        _ => {
            tell(&program, &one_line(&error.render().to_string()));
            ExitCode::from(2)
        }
    })
}

/// An error of the parser as one line: without the reminder of the usage, which `--help` shows, and without guesses at
/// what else an argument could be.
pub(crate) fn one_line(rendered: &str) -> String {
    let told = rendered
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.trim_start().starts_with("tip: to pass"));
    let words: Vec<&str> = told.flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").replace(" tip: ", "; ")
}
