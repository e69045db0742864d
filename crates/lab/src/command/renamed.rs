//! Options of `sim` and `check` by names that these commands do not have: earlier names, and names that only the other
//! command has. The error names the option to use instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Replacements for options that `sim` does not have.
const IN_SIM: &[(&str, &str)] = &[
    ("loss", "use --loss-rate P, the probability that a message is lost"),
    ("losses", "use --loss-rate P, the probability that a message is lost (`check` counts losses)"),
    ("duplicate", "use --duplicate-rate P, the probability that a message arrives twice"),
    ("duplicates", "use --duplicate-rate P, the probability that a message arrives twice (`check` counts duplicates)"),
    ("withdraw", "use --withdraw-rate P, the probability that a request is withdrawn"),
    ("withdrawals", "use --withdraw-rate P, the probability that a request is withdrawn (`check` counts withdrawals)"),
    ("drift", "use --drift-ppm PPM, the drift of clocks in parts per million"),
    ("drift-ticks", "use --drift-ppm PPM, the drift of clocks in parts per million (`check` counts ticks)"),
    ("bound", "use --delay-bound TIME, in δ"),
    ("clock", "use --initial-clock ID=NUMBER (--clocks draws logical clocks)"),
    ("crashes", "use --crash ID@TIME, or --shake FAULTS for random faults (`check` counts crashes)"),
    ("restarts", "use --restart ID@TIME (`check` counts restarts)"),
    ("timing", "use --delay, whose distribution decides whether delays are bounded"),
    ("suspicions", "only `check` has it: here, heartbeats that are late cause false suspicions (--recovery)"),
    ("pokes", "use --workload causal, which sends application messages"),
    ("writes", "only `check` has a shared resource that processes write to"),
    ("timeouts", "only `check` limits timeouts: here, timers expire when their time comes"),
    ("scenario", "only `check` writes scenarios: use --trace or --diagram"),
    ("stop", "only `check` has it: use --until TIME to end a run"),
    ("plot", "it was removed: `--json` prints the mean, p50, p90, p99 and maximum of waiting times"),
];

/// Replacements for options that `check` does not have.
const IN_CHECK: &[(&str, &str)] = &[
    ("entries", "use --entries-each R, the number of requests of each process"),
    ("loss", "use --losses L, the maximum number of lost messages"),
    ("loss-rate", "use --losses L, the maximum number of lost messages (`sim` has probabilities)"),
    ("duplicate", "use --duplicates D, the maximum number of messages that arrive twice"),
    (
        "duplicate-rate",
        "use --duplicates D, the maximum number of messages that arrive twice (`sim` has probabilities)",
    ),
    ("withdraw", "use --withdrawals W, the maximum number of withdrawn requests"),
    ("withdraw-rate", "use --withdrawals W, the maximum number of withdrawn requests (`sim` has probabilities)"),
    ("drift", "use --drift-ticks TICKS"),
    ("drift-ppm", "use --drift-ticks TICKS (`sim` has parts per million)"),
    ("bound", "use --delay-bound TICKS"),
    ("delay", "use --delay-bound TICKS, the longest delay, with --timing=synchronous"),
    ("crash", "use --crashes K, which explores crashes of all processes at all times, or --absent ID"),
    ("restart", "use --restarts K, which explores restarts at all times"),
    ("seed", "only `sim` has seeds: `check` explores all runs"),
    ("runs", "only `sim` has it: `check` explores all runs"),
    ("ask", "use --entries-each R: `check` explores requests at all times"),
    ("starter", "use --entries-each R: `check` explores all starts of elections"),
    ("initial-clock", "only `sim` has it: in `check`, clocks begin at 0"),
    ("clock", "only `sim` has initial clocks (--initial-clock); --clocks draws logical clocks"),
    ("reduce", "it was removed: `check` always explores all runs"),
];

/// What to use instead of an option of a command, by the names of both.
pub(crate) fn instead(command: &str, option: &str) -> Option<&'static str> {
    let table = match command {
        "sim" => IN_SIM,
        "check" => IN_CHECK,
        _ => return None,
    };
    table.iter().find(|(name, _)| *name == option).map(|(_, advice)| *advice)
}

/// The error for an unknown option that has another name.
pub(super) fn advice(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(given))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let command = words.iter().skip(1).filter_map(|word| word.to_str()).find(|word| !word.starts_with('-'))?;
    let option = given.strip_prefix("--")?;
    instead(command, option).map(|advice| format!("`{command}` has no option --{option}: {advice}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::command::{check, sim};

    #[derive(clap::Parser)]
    struct Sim {
        #[command(flatten)]
        run: sim::Arguments,
    }

    #[derive(clap::Parser)]
    struct Check {
        #[command(flatten)]
        run: check::Arguments,
    }

    /// Advice about an option that exists would never be printed, and advice must name options that exist.
    #[test]
    fn advice_is_about_missing_options_and_names_existing_ones() {
        for (command, mut definition, table) in [("sim", Sim::command(), IN_SIM), ("check", Check::command(), IN_CHECK)]
        {
            definition.build();
            let has = |name: &str| definition.get_arguments().any(|argument| argument.get_long() == Some(name));
            for (option, advice) in table {
                assert!(!has(option), "{command} has --{option}");
                // Flags of other commands are in parentheses.
                let own = advice.split('(').next().unwrap_or_default();
                let is_end = |letter: char| !letter.is_ascii_lowercase() && letter != '-';
                for named in own.split("--").skip(1).filter_map(|rest| rest.split(is_end).next()) {
                    assert!(has(named) || named == "json", "{command}: --{named}, in the advice about --{option}");
                }
            }
        }
    }
}
