//! `scenarios`: the written conversations that come with the laboratory.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::output::{HEADING, Table, Terminal, styled};
use crate::scenario::builtin::{self, ALL, BuiltIn};

/// The scenarios that come with the laboratory, or one of them as a file.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Print this one, to keep and to change: `quorate replay` plays it
    pub name: Option<String>,
}

/// Lists them, or prints one.
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
    format!("there is no scenario `{name}`; there are {}", known.join(", "))
}

fn list(terminal: &mut Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        return Ok(terminal.print_json(&ALL.iter().map(object).collect::<Vec<_>>())?);
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
