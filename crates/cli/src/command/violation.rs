//! `quorate violation`: how likely majority voting violates mutual exclusion.

use std::num::NonZeroU64;
use std::process::ExitCode;

use quorate_lab::violation::{Simulated, Voting};
use serde_json::json;

use crate::arguments::Violation;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{Table, Terminal, number};

pub(crate) fn run(arguments: &Violation, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let voting = Voting::new(arguments.coordinators, arguments.votes, arguments.uptime, arguments.reset)?;
    let trials =
        NonZeroU64::new(arguments.trials).ok_or_else(|| Failure::Usage("--trials must be at least 1".to_string()))?;
    let mut bar = terminal.progress(arguments.trials, "trials");
    let simulated = voting.simulate(trials, arguments.seed, &mut |done| bar.set(done, ""));
    drop(bar);
    if terminal.is_json() {
        terminal.print_json(&json!({
            "coordinators": voting.coordinators(),
            "votes": voting.votes(),
            "reset_probability": voting.reset_probability(),
            "forgotten_needed_by_formula": voting.forgotten_needed_by_formula(),
            "forgotten_needed": voting.forgotten_needed(),
            "formula": voting.formula(),
            "exact": voting.exact(),
            "simulated": simulated.probability,
            "simulated_interval": [simulated.interval.0, simulated.interval.1],
            "violations": simulated.violations,
            "trials": simulated.trials,
            "seed": arguments.seed,
        }))?;
    } else {
        terminal.print(&text(&voting, &simulated))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The text of the three probabilities.
fn text(voting: &Voting, simulated: &Simulated) -> String {
    let mut table = Table::new(3);
    let row = |name: &str, probability: f64, note: String| [name.to_string(), number(probability), note];
    table.row(row(
        "formula",
        voting.formula(),
        format!(
            "as published: at least {} of {} voters lose their votes",
            voting.forgotten_needed_by_formula(),
            voting.votes()
        ),
    ));
    table.row(row(
        "exact",
        voting.exact(),
        format!(
            "a second process gets {} votes: at least {} coordinators lose their votes",
            voting.votes(),
            voting.forgotten_needed()
        ),
    ));
    table.row(row(
        "simulated",
        simulated.probability,
        format!(
            "{} of {} runs; 95 % interval {} to {}",
            simulated.violations,
            simulated.trials,
            number(simulated.interval.0),
            number(simulated.interval.1)
        ),
    ));
    let heading = format!(
        "{} coordinators, {} votes; each coordinator loses its vote with probability {} while a process is inside\n\n",
        voting.coordinators(),
        voting.votes(),
        number(voting.reset_probability())
    );
    let note = "exact and simulated: the process that is inside has exactly this number of votes, as in the \
                literature; in `quorate sim majority` a process asks all coordinators for their votes\n";
    heading + &table.render() + "\n" + note
}
