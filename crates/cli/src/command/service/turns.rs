//! `--engine peer`: the settings of the peer engine, on the command line and in `node.toml`.

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

/// How nodes agree on the holder of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EngineName {
    /// A replicated log: sessions and locks survive as long as a majority of the nodes does
    Replicated,
    /// A mutual exclusion algorithm among the nodes, without a log: sessions end when their node stops
    Peer,
}

/// The settings of the peer engine.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Turns {
    /// How the nodes agree on the holder of a lock [default: replicated; peer if an option of the peer engine is given]
    #[arg(long, value_name = "ENGINE", value_enum)]
    engine: Option<EngineName>,

    /// The mutual exclusion algorithm [default: ricart-agrawala]; implies --engine peer
    #[arg(long, value_name = "NAME", value_parser = algorithms(), help_heading = "Peer engine")]
    algorithm: Option<String>,

    /// An option of the algorithm, which `quorate algorithms` lists; repeat it for each option
    #[arg(long = "option", value_name = "KEY=VALUE", value_parser = parse::option, help_heading = "Peer engine")]
    options: Vec<(String, String)>,

    /// The election algorithm: ring, chang-roberts or bully [default: ring]
    #[arg(long, value_name = "NAME", value_parser = parse::beside, help_heading = "Peer engine")]
    election: Option<Kind>,

    /// Grant locks only while this node suspects fewer than half of the members to have crashed [default: yes]
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no, help_heading = "Peer engine")]
    guard: Option<bool>,

    /// Interval of heartbeats: a multiple of --delay-bound [default: 500ms]
    #[arg(long, value_name = "DURATION", help_heading = "Peer engine")]
    beat: Option<Span>,

    /// Silence after which a node is suspected to have crashed: a multiple of --beat [default: 2s]
    #[arg(long, value_name = "DURATION", help_heading = "Peer engine")]
    tolerance: Option<Span>,

    /// Expected upper bound of the delay of a message [default: 100ms]
    #[arg(long, value_name = "DURATION", help_heading = "Peer engine")]
    delay_bound: Option<Span>,
}

/// The algorithms that recover from crashes, and so can run between real processes.
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

/// The same settings in a file.
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
    /// The election algorithm.
    pub(super) fn election(&self) -> Result<Option<Kind>, String> {
        let named = |name: &String| parse::beside(name).map_err(|why| format!("turns.election: {why}"));
        self.election.as_ref().map(named).transpose()
    }
}

impl Turns {
    /// The settings of the peer engine by these options and those of a file; none for the replicated engine.
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
                    "--algorithm and the other options of the peer engine need --engine peer: add it, or remove them"
                        .into(),
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

    /// Whether an option of the peer engine is given.
    fn is_said(&self) -> bool {
        let Turns { engine: _, algorithm, options, election, guard, beat, tolerance, delay_bound } = self;
        let times = [beat, tolerance, delay_bound].into_iter().any(Option::is_some);
        algorithm.is_some() || !options.is_empty() || election.is_some() || guard.is_some() || times
    }
}

/// The same settings as options for another process.
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
