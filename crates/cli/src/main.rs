//! The command `quorate`: distributed mutual exclusion and leader election, simulated, explored, compared, and served.

mod arguments;
mod command;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use command::service;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use quorate_lab::command::{check, program, replay, scenarios, sim};
use quorate_lab::subject::Named;

fn main() -> ExitCode {
    let (arguments, form): (Arguments, _) = match program::arguments(arguments::command()) {
        Ok(read) => read,
        Err(code) => return code,
    };
    let mut terminal = Terminal::new("quorate", form);
    let result = run(arguments.command, &mut terminal);
    terminal.conclude(result)
}

fn run(command: Command, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match command {
        Command::Sim(chosen) => sim::run(&Named::new(&chosen.algorithm)?, &chosen.run, terminal),
        Command::Check(chosen) => check::run(&Named::new(&chosen.algorithm)?, &chosen.run, terminal),
        Command::Claims(claims) => command::claims::run(&claims, terminal),
        Command::Replay(arguments) => replay::run_named(&arguments, terminal),
        Command::Scenarios(arguments) => scenarios::run(&arguments, terminal),
        Command::Compare(compare) => command::compare::run(&compare, terminal),
        Command::Judge(judge) => command::judge::run(&judge, terminal),
        Command::Diagram(diagram) => command::diagram::run(&diagram, terminal),
        Command::Algorithms(algorithms) => command::algorithms::run(&algorithms, terminal),
        Command::VotingSets(sets) => command::voting_sets::run(&sets, terminal),
        Command::Violation(violation) => command::violation::run(&violation, terminal),
        Command::Exercise(exercise) => command::exercise::run(&exercise, terminal),
        Command::Lab(lab) => command::lab::run(&lab, terminal),
        Command::Serve(serve) => service::serve::run(*serve, terminal),
        Command::Keys(keys) => service::keys::run(&keys, terminal),
        Command::Lock(lock) => service::lock::run(*lock, terminal),
        Command::Elect(elect) => service::lock::run_elect(*elect, terminal),
        Command::Locks(locks) => service::look::locks(&locks, terminal),
        Command::Elections(elections) => service::look::elections(&elections, terminal),
        Command::Release(release) => service::look::release(&release, terminal),
        Command::Status(status) => service::look::status(&status, terminal),
        Command::Observe(observe) => service::follow::observe(&observe, terminal),
        Command::Watch(watch) => service::follow::watch(&watch, terminal),
        Command::Member(member) => service::member::run(&member, terminal),
        Command::Backup(backup) => service::backup::backup(&backup, terminal),
        Command::Restore(restore) => service::backup::restore(&restore, terminal),
        Command::Dev(dev) => service::dev::run(dev, terminal),
        Command::Demo(demo) => service::demo::run(demo, terminal),
        Command::Bench(bench) => service::bench::run(&bench, terminal),
        Command::Completions { shell } => command::definitions::completions(shell, terminal),
        Command::Man { directory } => command::definitions::man(directory.as_deref(), terminal),
    }
}
