//! The command `quorate`: distributed mutual exclusion and leader election, simulated, measured and compared.

mod arguments;
mod command;
mod failure;
mod output;
mod parse;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use failure::Failure;
use output::Terminal;

fn main() -> ExitCode {
    let arguments = match arguments::parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let mut terminal = Terminal::new(arguments.json, arguments.quiet);
    match run(arguments, &mut terminal) {
        Ok(code) => code,
        Err(failure) => {
            output::tell(&failure.to_string());
            failure.exit_code()
        }
    }
}

fn run(arguments: Arguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match arguments.command {
        Command::Sim(sim) => command::sim::run(&sim, terminal),
        Command::Compare(compare) => command::compare::run(&compare, terminal),
        Command::Algorithms(algorithms) => command::algorithms::run(&algorithms, terminal),
        Command::VotingSets(sets) => command::voting_sets::run(&sets, terminal),
        Command::Violation(violation) => command::violation::run(&violation, terminal),
        Command::Completions { shell } => command::definitions::completions(shell, terminal),
        Command::Man { directory } => command::definitions::man(directory.as_deref(), terminal),
    }
}
