//! `--engine peer`: how nodes take turns, on the command line and in `node.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use quorate_client::contract::Span;
use quorate_core::catalog::{ENTRIES, Family};
use quorate_core::election::Kind;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::parse;
use quorate_server::peer::TurnSettings;
use serde::Deserialize;

/// How nodes agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EngineName {
    /// A log on a majority's disks: sessions and locks survive any node
    Replicated,
    /// Turns by one of the algorithms, each node for its own clients, whose sessions end with it
    Peer,
}

/// How the nodes take turns.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Turns {
    /// How the nodes agree [default: replicated, or peer if there is an algorithm]
    #[arg(long, value_name = "ENGINE", value_enum)]
    engine: Option<EngineName>,

    /// The algorithm by which the nodes take turns [default: ricart-agrawala]; implies --engine peer
    #[arg(long, value_name = "NAME", value_parser = algorithms(), help_heading = "Taking turns")]
    algorithm: Option<String>,

    /// An option of the algorithm, as `quorate algorithms` has them; repeat for each
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = parse::option, help_heading = "Taking turns")]
    options: Vec<(String, String)>,

    /// How the nodes elect a leader: ring, chang-roberts or bully [default: ring]
    #[arg(long, value_name = "NAME", value_parser = parse::beside, help_heading = "Taking turns")]
    election: Option<Kind>,

    /// Whether a node that does not trust a majority lets nobody in: yes or no [default: yes]
    #[arg(long, value_name = "YES|NO", value_parser = yes_or_no, help_heading = "Taking turns")]
    guard: Option<bool>,

    /// How often a node shows that it lives: a whole number of delays [default: 500ms]
    #[arg(long, value_name = "TIME", help_heading = "Taking turns")]
    beat: Option<Span>,

    /// How long a node may be silent before it is taken for dead: a whole number of beats [default: 2s]
    #[arg(long, value_name = "TIME", help_heading = "Taking turns")]
    tolerance: Option<Span>,

    /// How long a message takes, by and large [default: 100ms]
    #[arg(long, value_name = "TIME", help_heading = "Taking turns")]
    delay_bound: Option<Span>,
}

/// Those that can be run between real processes.
fn algorithms() -> PossibleValuesParser {
    let can_run = ENTRIES.iter().filter(|entry| entry.family == Family::Mutex && entry.recovery.is_some());
    PossibleValuesParser::new(can_run.map(|entry| entry.name))
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("write yes or no".into()),
    }
}

/// The same in a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct WrittenTurns {
    pub(super) algorithm: Option<String>,
    pub(super) options: BTreeMap<String, String>,
    pub(super) election: Option<String>,
    pub(super) guard: Option<bool>,
    pub(super) beat: Option<Span>,
    pub(super) tolerance: Option<Span>,
    pub(super) delay_bound: Option<Span>,
    pub(super) cluster: Option<String>,
    pub(super) listen: Option<String>,
    pub(super) forgotten: bool,
    pub(super) trace: Option<PathBuf>,
}

impl WrittenTurns {
    /// Which election it names.
    pub(super) fn election(&self) -> Result<Option<Kind>, String> {
        let named = |name: &String| parse::beside(name).map_err(|why| format!("turns.election: {why}"));
        self.election.as_ref().map(named).transpose()
    }
}

impl Turns {
    /// How the nodes agree, by what is said here and in a file; and how they take turns, if they do.
    pub(super) fn settle(
        self,
        engine: Option<EngineName>,
        written: Option<WrittenTurns>,
    ) -> Result<Option<TurnSettings>, Failure> {
        let engine = self.engine.or_else(|| self.is_said().then_some(EngineName::Peer)).or(engine);
        let is_written = written.is_some();
        let engine = engine.or_else(|| is_written.then_some(EngineName::Peer)).unwrap_or(EngineName::Replicated);
        if engine == EngineName::Replicated {
            if self.is_said() {
                return Err(Failure::Usage(
                    "--algorithm and all that goes with it are for --engine peer: say that, or leave them out".into(),
                ));
            }
            return Ok(None);
        }
        let written = written.unwrap_or_default();
        let election = written.election().map_err(Failure::Usage)?;
        let standard = TurnSettings::default();
        let options = if self.options.is_empty() { written.options.into_iter().collect() } else { self.options };
        let time = |said: Option<Span>, written: Option<Span>| said.or(written).map(Span::duration);
        Ok(Some(TurnSettings {
            cluster: written.cluster.unwrap_or(standard.cluster),
            algorithm: self.algorithm.or(written.algorithm).unwrap_or(standard.algorithm),
            options,
            election: self.election.or(election).unwrap_or(standard.election),
            is_guarded: self.guard.or(written.guard).unwrap_or(standard.is_guarded),
            beat: time(self.beat, written.beat).unwrap_or(standard.beat),
            tolerance: time(self.tolerance, written.tolerance).unwrap_or(standard.tolerance),
            delay: time(self.delay_bound, written.delay_bound).unwrap_or(standard.delay),
        }))
    }

    /// Whether anything is said that only nodes that take turns understand.
    fn is_said(&self) -> bool {
        let Turns { engine: _, algorithm, options, election, guard, beat, tolerance, delay_bound } = self;
        let times = [beat, tolerance, delay_bound].into_iter().any(Option::is_some);
        algorithm.is_some() || !options.is_empty() || election.is_some() || guard.is_some() || times
    }
}

/// The same for another process, on its command line.
pub(super) fn to_arguments(turns: &TurnSettings) -> Vec<String> {
    let TurnSettings { cluster, algorithm, options, election, is_guarded, beat, tolerance, delay } = turns;
    let in_ms = |time: &std::time::Duration| format!("{}ms", time.as_millis());
    let guard = if *is_guarded { "yes" } else { "no" };
    let mut arguments = vec!["--engine=peer".into(), format!("--algorithm={algorithm}"), format!("--guard={guard}")];
    arguments.extend(options.iter().map(|(key, value)| format!("--option={key}={value}")));
    arguments.extend([format!("--election={}", election.name()), format!("--cluster={cluster}")]);
    arguments.extend([format!("--beat={}", in_ms(beat)), format!("--tolerance={}", in_ms(tolerance))]);
    arguments.push(format!("--delay-bound={}", in_ms(delay)));
    arguments
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn said(arguments: &[&str]) -> Turns {
        let command = Turns::augment_args(Command::new("test"));
        let matches = command.try_get_matches_from(["test"].iter().chain(arguments)).unwrap();
        Turns::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn an_algorithm_implies_turns_and_what_is_said_comes_before_what_is_written() {
        assert!(said(&[]).settle(None, None).unwrap().is_none());
        let ring = said(&["--algorithm", "token-ring"]).settle(None, None).unwrap().unwrap();
        assert_eq!(ring, TurnSettings { algorithm: "token-ring".into(), ..TurnSettings::default() });
        let written = || WrittenTurns { algorithm: Some("lamport".into()), guard: Some(false), ..Default::default() };
        let settled = said(&[]).settle(None, Some(written())).unwrap().unwrap();
        assert_eq!((settled.algorithm.as_str(), settled.is_guarded), ("lamport", false));
        let settled = said(&["--algorithm=central", "--guard=yes"]).settle(None, Some(written())).unwrap().unwrap();
        assert_eq!((settled.algorithm.as_str(), settled.is_guarded), ("central", true));
        assert!(said(&["--engine=replicated"]).settle(Some(EngineName::Peer), Some(written())).unwrap().is_none());
        assert!(said(&["--engine=replicated", "--beat=1s"]).settle(None, None).is_err());
    }

    #[test]
    fn what_is_told_another_process_is_understood_there() {
        let turns = TurnSettings {
            algorithm: "token-ring".into(),
            options: vec![("rest".into(), "yes".into())],
            election: Kind::Bully,
            is_guarded: false,
            ..TurnSettings::default()
        };
        let arguments = to_arguments(&turns);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).filter(|said| !said.contains("cluster")).collect();
        assert_eq!(said(&arguments).settle(None, None).unwrap(), Some(turns));
    }
}
