//! `scenarios`: lists and prints the built-in scenarios.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::output::{HEADING, Table, Terminal, styled};
use super::parse;
use crate::scenario::builtin::{self, ALL, BuiltIn};

/// List the built-in scenarios, or print one of them.
///
/// A scenario is a text file that lists the steps of a run. Print one into a file, change it, and run it with `replay`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Print the scenario of this name instead of the list
    #[arg(value_parser = parse::scenario(), hide_possible_values = true)]
    pub name: Option<String>,
}

/// Lists the scenarios, or prints one.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match &arguments.name {
        None => list(terminal)?,
        Some(name) => {
            let found = builtin::find(name).ok_or_else(|| Failure::Usage(unknown(name)))?;
            if terminal.is_json() {
                terminal.print_json(&object(found))?;
            } else {
                terminal.print(found.text)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str) -> String {
    let known: Vec<_> = ALL.iter().map(|scenario| scenario.name).collect();
    format!("there is no built-in scenario `{name}`; the built-in scenarios are {}", known.join(", "))
}

fn list(terminal: &mut Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        let scenarios: Vec<_> = ALL.iter().map(object).collect();
        return Ok(terminal.print_json(&json!({ "scenarios": scenarios }))?);
    }
    let mut table = Table::new(3);
    for known in ALL {
        let scenario = known.scenario();
        table.row([styled(HEADING, known.name), scenario.header.algorithm.clone(), scenario.title().to_string()]);
    }
    Ok(terminal.print(&table.render())?)
}

fn object(known: &BuiltIn) -> serde_json::Value {
    let scenario = known.scenario();
    json!({
        "name": known.name,
        "title": scenario.title(),
        "description": scenario.story(),
        "algorithm": scenario.header.algorithm,
        "n": scenario.header.n,
        "text": known.text,
    })
}
