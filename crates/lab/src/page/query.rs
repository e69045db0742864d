//! The parameters of an address, read as arguments of a command: so the page accepts and refuses the same values as the
//! command, with the same errors.

use clap::Parser;
use quorate_core::catalog::{ENTRIES, Entry, Values};
use serde_json::{Value, json};

use super::{Limits, Refusal};
use crate::command::program::one_line;
use crate::command::renamed::instead;
use crate::command::{check, sim};
use crate::subject::Named;

/// The parameters of an address, as names and values.
pub(super) struct Words(Vec<(String, String)>);

/// The parameters of runs and of explorations: the long names of arguments.
const OF_RUNS: &[&str] = &[
    "n",
    "entries",
    "entries-each",
    "seed",
    "property",
    "delay",
    "order",
    "workload",
    "ask",
    "initial-clock",
    "cs",
    "withdraw-rate",
    "loss-rate",
    "duplicate-rate",
    "absent",
    "crash",
    "restart",
    "pause",
    "partition",
    "drift-ppm",
    "delay-bound",
    "detector",
    "recovery",
    "election",
    "guard",
    "gather",
    "interval",
    "missed",
    "shake",
    "shaking",
    "sets",
    "option",
    "starter",
    "until",
    "down",
    "clocks",
    "fold",
    "from",
    "to",
    "records",
];
const OF_CHECKS: &[&str] = &[
    "n",
    "entries-each",
    "property",
    "stop",
    "order",
    "losses",
    "duplicates",
    "pokes",
    "unstamped-pokes",
    "withdrawals",
    "writes",
    "sealed",
    "recovery",
    "election",
    "suspicions",
    "crashes",
    "restarts",
    "absent",
    "detector",
    "timing",
    "delay-bound",
    "drift-ticks",
    "timeouts",
    "sets",
    "option",
    "down",
    "clocks",
    "fold",
];
/// Parameters without a value.
const FLAGS: &[&str] = &["recovery", "guard", "gather", "down", "fold", "stop", "sealed", "unstamped-pokes"];

/// More parameters than an address of any page has.
const MOST_WORDS: usize = 200;

#[derive(Parser, Debug)]
#[command(name = "run", no_binary_name = true, disable_help_flag = true)]
struct OfRun {
    #[command(flatten)]
    run: sim::Arguments,
}

#[derive(Parser, Debug)]
#[command(name = "check", no_binary_name = true, disable_help_flag = true)]
struct OfCheck {
    #[command(flatten)]
    check: check::Arguments,
}

impl Words {
    pub(super) fn new(pairs: Vec<(String, String)>) -> Result<Words, Refusal> {
        if pairs.len() > MOST_WORDS {
            return Err(Refusal::TooMuch(format!("the address has more than {MOST_WORDS} parameters")));
        }
        Ok(Words(pairs))
    }

    /// The value of a name, if it was given.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// A whole number that has to be given.
    pub(super) fn number<N: std::str::FromStr>(&self, name: &str) -> Result<N, Refusal> {
        let number = self.value(name).and_then(|value| value.parse().ok());
        number.ok_or_else(|| Refusal::Question(format!("{name}: give a whole number")))
    }

    /// The algorithm that they are about.
    pub(super) fn algorithm(&self) -> Result<Named, Refusal> {
        let name = self.value("algorithm").unwrap_or(ENTRIES[0].name);
        Named::new(name).map_err(|unknown| Refusal::Question(unknown.to_string()))
    }

    /// The run that they describe.
    pub(super) fn run(&self, entry: &Entry, limits: &Limits) -> Result<sim::Arguments, Refusal> {
        let OfRun { run } = parse(self.arguments("sim", OF_RUNS)?)?;
        at_most("n", run.n, limits.processes)?;
        sim::check_family(entry, &run).map_err(|failure| Refusal::Question(failure.to_string()))?;
        Ok(run)
    }

    /// The exploration that they describe.
    pub(super) fn check(&self, entry: &Entry, limits: &Limits) -> Result<check::Arguments, Refusal> {
        let OfCheck { check } = parse(self.arguments("check", OF_CHECKS)?)?;
        at_most("n", check.n, limits.explored)?;
        sim::check_sets(entry, check.sets.as_deref()).map_err(|failure| Refusal::Question(failure.to_string()))?;
        Ok(check)
    }

    /// The parameters as arguments of a command. Other parameters belong to the page itself, except those that are
    /// earlier names of options, which would otherwise be ignored without notice.
    fn arguments(&self, command: &str, known: &[&str]) -> Result<Vec<String>, Refusal> {
        let mut arguments = Vec::new();
        for (name, value) in &self.0 {
            if let (false, false, Some(advice)) =
                (known.contains(&name.as_str()), value.is_empty(), instead(command, name))
            {
                let advice = with_parameters(advice, known);
                return Err(Refusal::Question(format!("this page has no parameter {name}: {advice}")));
            }
            if !known.contains(&name.as_str()) || (value.is_empty() && !FLAGS.contains(&name.as_str())) {
                continue;
            }
            match (name.as_str(), value.as_str()) {
                ("n", value) => arguments.push(format!("-n={value}")),
                (flag, "" | "1") if FLAGS.contains(&flag) => arguments.push(format!("--{flag}")),
                (flag, _) if FLAGS.contains(&flag) => {
                    return Err(Refusal::Question(format!("{flag}: give {flag}=1, or leave it out")));
                }
                (name, value) => arguments.push(format!("--{name}={value}")),
            }
        }
        Ok(arguments)
    }
}

/// Advice about options, in terms of the parameters that replace them: `--loss-rate P` becomes `loss-rate=P`.
fn with_parameters(advice: &str, known: &[&str]) -> String {
    let mut parts = advice.split("--");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        match rest.strip_prefix(' ').filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase())) {
            _ if !known.contains(&name) => text += &format!("--{part}"),
            Some(value) => text += &format!("{name}={value}"),
            None => text += part,
        }
    }
    text
}

fn parse<P: Parser>(arguments: Vec<String>) -> Result<P, Refusal> {
    P::try_parse_from(arguments).map_err(|error| Refusal::Question(one_line(&error.render().to_string())))
}

fn at_most(what: &str, given: u32, most: u32) -> Result<(), Refusal> {
    if given > most {
        return Err(Refusal::TooMuch(format!("{what} = {given} is more than this laboratory allows: at most {most}")));
    }
    Ok(())
}

/// The algorithms, their options, and the limits of this laboratory.
pub(super) fn catalogue(limits: &Limits) -> Value {
    let algorithms: Vec<Value> = ENTRIES.iter().map(|entry| of_entry(entry)).collect();
    json!({
        "algorithms": algorithms,
        "limits": {
            "processes": limits.processes,
            "events": limits.events,
            "explored": limits.explored,
            "states": limits.states,
            "at_once": limits.at_once,
        },
    })
}

fn of_entry(entry: &Entry) -> Value {
    let options = entry.options.iter().map(|option| {
        let values: Vec<&str> = match option.values {
            Values::OneOf(choices) => choices.iter().map(|choice| choice.name).collect(),
            Values::Integer { .. } => Vec::new(),
        };
        json!({
            "key": option.key,
            "values": values,
            "takes": option.values.to_string(),
            "default": option.default,
            "meaning": option.meaning,
        })
    });
    json!({
        "name": entry.name,
        "family": entry.family.to_string(),
        "summary": entry.summary,
        "paper": entry.paper,
        "assumes": entry.assumptions.words(),
        "recovery": entry.recovery.map(|recovery| recovery.summary),
        "options": options.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Subject;

    fn words(text: &str) -> Words {
        let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
        Words::new(text.split('&').filter_map(pair).collect()).unwrap()
    }

    fn run(text: &str) -> Result<sim::Arguments, String> {
        let words = words(text);
        let named = words.algorithm().map_err(|refusal| refusal.to_string())?;
        words.run(named.entry(), &Limits::CLASS).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn an_address_says_what_a_command_line_says() {
        let said = run("algorithm=maekawa&n=9&seed=3&crash=2@5.5&absent=3&partition=1,2/3@4..6&recovery=1&sets=grid");
        let experiment = said.unwrap().experiment();
        assert_eq!((experiment.n, experiment.seed, experiment.faults.len()), (9, 3, 2));
        assert_eq!((experiment.partitions.len(), experiment.recovery.is_some()), (1, true));
        assert_eq!(experiment.options, [("sets".to_string(), "grid".to_string())]);
    }

    #[test]
    fn it_says_nothing_of_files_and_what_is_empty_is_not_said() {
        let said = run("algorithm=central&diagram=/tmp/x.svg&trace=/tmp/x.jsonl&n=&crash=&step=3").unwrap();
        assert_eq!((said.diagram, said.trace, said.n), (None, None, 5));
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        for (text, words) in [
            ("algorithm=raft", "unknown algorithm `raft`; choose one of central,"),
            ("algorithm=central&n=65", "n = 65 is more than this laboratory allows: at most 64"),
            ("algorithm=central&loss=0.1", "this page has no parameter loss: use loss-rate=P, the"),
            ("algorithm=central&scenario=x", "use --trace or --diagram"),
            ("algorithm=central&sets=grid", "--sets works only with maekawa"),
            ("algorithm=central&n=0", "give a whole number from 1 to"),
            ("algorithm=central&delay=soon", "`soon` is not a delay: give constant:T"),
            ("algorithm=central&recovery=perhaps", "recovery: give recovery=1, or leave it out"),
            (
                "algorithm=bully&workload=alone",
                "--workload works only with mutual exclusion algorithms; bully is for election",
            ),
        ] {
            let refused = run(text).unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }
}
