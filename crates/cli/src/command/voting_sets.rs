//! `quorate voting-sets`: prints voting sets, and checks the published conditions.

use std::fmt::Write;
use std::process::ExitCode;

use quorate_core::id::Id;
use quorate_core::mutex::voting_set::VotingSets;
use serde_json::json;

use crate::arguments::VotingSetsArguments;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{BAD, GOOD, Table, Terminal, styled};

pub(crate) fn run(arguments: &VotingSetsArguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Some(sets) = VotingSets::new(arguments.kind, arguments.n) else {
        return Err(Failure::Usage(VotingSets::why_no_plane(arguments.n)));
    };
    let conditions = sets.check();
    let numbers = |id: Id| sets.of(id).into_iter().map(Id::number).collect::<Vec<_>>();
    if terminal.is_json() {
        let all: serde_json::Map<_, _> =
            Id::all(sets.n()).map(|id| (id.number().to_string(), json!(numbers(id)))).collect();
        terminal.print_json(&json!({
            "n": sets.n(),
            "kind": arguments.kind.name(),
            "construction": sets.construction(),
            "in_own_set": conditions.own,
            "every_two_meet": conditions.meet,
            "size": { "least": conditions.size.0, "most": conditions.size.1 },
            "membership": { "least": conditions.membership.0, "most": conditions.membership.1 },
            "sets": all,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{}\n\n", sets.construction());
    if let Some(width) = sets.grid_width() {
        let mut grid = Table::new(0);
        for row in Id::all(sets.n()).collect::<Vec<_>>().chunks(width as usize) {
            grid.row(row.iter().map(|id| id.number().to_string()));
        }
        text.push_str(&grid.render());
        text.push('\n');
    }
    let mut table = Table::new(2);
    for id in Id::all(sets.n()) {
        let members: Vec<_> = numbers(id).into_iter().map(|number| number.to_string()).collect();
        table.row([id.to_string(), format!("{{{}}}", members.join(", "))]);
    }
    text.push_str(&table.render());
    let mut table = Table::new(3);
    let yes = |holds: bool| if holds { styled(GOOD, "yes") } else { styled(BAD, "no") };
    let span = |(least, most): (u32, u32)| if least == most { least.to_string() } else { format!("{least} to {most}") };
    table.row(["every process is in its own set".to_string(), yes(conditions.own), String::new()]);
    table.row(["every two sets have a common member".to_string(), yes(conditions.meet), String::new()]);
    table.row([
        "all sets have the same size K".to_string(),
        yes(conditions.equal_size()),
        format!("K = {}", span(conditions.size)),
    ]);
    table.row([
        "every process is in the same number M of sets".to_string(),
        yes(conditions.equal_membership()),
        format!("M = {}", span(conditions.membership)),
    ]);
    // Writing to a string cannot fail.
    let _ = write!(text, "\n{}", table.render());
    terminal.print(&text)?;
    Ok(ExitCode::SUCCESS)
}
