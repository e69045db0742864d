//! The command `quorate`: a lock service, and a laboratory of mutual exclusion and leader election algorithms.

mod arguments;
mod command;
mod commands;

use std::process::ExitCode;

use arguments::Arguments;
use command::service;
use commands::{Cluster, Command, Laboratory, Service, Tools};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use quorate_lab::command::{check, program, replay, scenarios, sim};
use quorate_lab::subject::Named;

fn main() -> ExitCode {
    let (arguments, form): (Arguments, _) = match program::arguments(commands::definition()) {
        Ok(read) => read,
        Err(code) => return code,
    };
    let mut terminal = Terminal::new("quorate", form);
    let result = run(arguments.command, &mut terminal);
    terminal.conclude(result)
}

fn run(command: Command, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match command {
        Command::Service(command) => run_service(command, terminal),
        Command::Cluster(command) => run_cluster(command, terminal),
        Command::Laboratory(command) => run_laboratory(command, terminal),
        Command::Tools(command) => run_tool(command, terminal),
    }
}

fn run_service(command: Service, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match command {
        Service::Serve(serve) => service::serve::run(*serve, terminal),
        Service::Lock(lock) => service::lock::run(*lock, terminal),
        Service::Elect(elect) => service::lock::run_elect(*elect, terminal),
        Service::Locks(locks) => service::look::locks(&locks, terminal),
        Service::Elections(elections) => service::look::elections(&elections, terminal),
        Service::Observe(observe) => service::follow::observe(&observe, terminal),
        Service::Watch(watch) => service::follow::watch(&watch, terminal),
        Service::Release(release) => service::look::release(&release, terminal),
    }
}

fn run_cluster(command: Cluster, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match command {
        Cluster::Dev(dev) => service::dev::run(dev, terminal),
        Cluster::Status(status) => service::look::status(&status, terminal),
        Cluster::Member(member) => service::member::run(&member, terminal),
        Cluster::Backup(backup) => service::backup::backup(&backup, terminal),
        Cluster::Restore(restore) => service::backup::restore(&restore, terminal),
        Cluster::Keys(keys) => service::keys::run(&keys, terminal),
    }
}

fn run_laboratory(command: Laboratory, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match command {
        Laboratory::Sim(chosen) => sim::run(&Named::new(&chosen.algorithm)?, &chosen.run, terminal),
        Laboratory::Check(chosen) => check::run(&Named::new(&chosen.algorithm)?, &chosen.run, terminal),
        Laboratory::Algorithms(algorithms) => command::algorithms::run(&algorithms, terminal),
        Laboratory::Compare(compare) => command::compare::run(&compare, terminal),
        Laboratory::Claims(claims) => command::claims::run(&claims, terminal),
        Laboratory::Scenarios(arguments) => scenarios::run(&arguments, terminal),
        Laboratory::Replay(arguments) => replay::run_named(&arguments, terminal),
        Laboratory::Diagram(diagram) => command::diagram::run(&diagram, terminal),
        Laboratory::Judge(judge) => command::judge::run(&judge, terminal),
        Laboratory::Exercise(exercise) => command::exercise::run(&exercise, terminal),
        Laboratory::Lab(lab) => command::lab::run(&lab, terminal),
        Laboratory::VotingSets(sets) => command::voting_sets::run(&sets, terminal),
        Laboratory::Violation(violation) => command::violation::run(&violation, terminal),
    }
}

fn run_tool(command: Tools, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match command {
        Tools::Demo(demo) => service::demo::run(demo, terminal),
        Tools::Bench(bench) => service::bench::run(&bench, terminal),
        Tools::Completions { shell } => command::definitions::completions(shell, terminal),
        Tools::Man { directory } => command::definitions::man(directory.as_deref(), terminal),
    }
}
