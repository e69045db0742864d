//! `node.toml`: the options of `quorate serve` in a file. Options on the command line override it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use quorate_client::contract::Span;
use quorate_lab::command::failure::Failure;
use quorate_server::node::TlsFiles;
use quorate_server::raft::Timing;
use serde::Deserialize;

use super::logging::LogFormat;
use super::suggest::with_suggestion;
use super::turns::{EngineName, WrittenTurns};

/// The contents of a file. A setting that is missing has its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Config {
    #[serde(alias = "id")]
    pub(super) node: Option<u64>,
    pub(super) listen: Option<SocketAddr>,
    pub(super) advertise: Option<String>,
    pub(super) data: Option<PathBuf>,
    pub(super) tokens: Option<PathBuf>,
    pub(super) insecure: bool,
    pub(super) join: bool,
    pub(super) engine: Option<EngineName>,
    members: BTreeMap<String, String>,
    /// Settings of the peer engine. A file that has them selects it.
    pub(super) turns: Option<WrittenTurns>,
    tls: Option<Tls>,
    timing: Option<WrittenTiming>,
    pub(super) log: Log,
    pub(super) limits: Limits,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tls {
    ca: PathBuf,
    cert: PathBuf,
    key: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTiming {
    heartbeat: Span,
    election: [Span; 2],
}

/// The log.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Log {
    pub(super) format: Option<LogFormat>,
    pub(super) filter: Option<String>,
}

/// Limits.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) connections: Option<u32>,
}

/// The table that has a key of this name, if it was written outside of it.
fn table_of(key: &str) -> Option<&'static str> {
    let is_unknown = |error: toml::de::Error| error.message().starts_with("unknown field");
    let is_there = !toml::from_str::<WrittenTurns>(&format!("{key} = {{}}")).is_err_and(is_unknown);
    is_there.then_some("turns")
}

/// A member as it is written: its id, and its address.
pub(super) fn member(node: &str, address: &str) -> Option<(u64, String)> {
    Some((node.parse().ok()?, is_address(address).then(|| address.to_string())?))
}

/// Whether a text is a host and a port.
pub(super) fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

impl Config {
    /// Reads a file. Its paths are relative to where it is.
    pub(super) fn read(file: &Path) -> Result<Config, Failure> {
        let shown = file.display();
        let text = std::fs::read_to_string(file).map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
        let mut config = Config::parse(&text).map_err(|why| Failure::Usage(format!("{shown}: {why}")))?;
        let place = file.parent().unwrap_or(Path::new(""));
        let tls = config.tls.as_mut().map(|Tls { ca, cert, key }| [ca, cert, key]);
        let trace = config.turns.as_mut().and_then(|turns| turns.trace.as_mut());
        let paths = [&mut config.data, &mut config.tokens].into_iter().flatten().chain(tls.into_iter().flatten());
        let paths = paths.chain(trace);
        paths.for_each(|path| *path = place.join(&path));
        Ok(config)
    }

    fn parse(text: &str) -> Result<Config, String> {
        let config: Config = toml::from_str(text).map_err(|error| with_suggestion(&error, table_of))?;
        config.members()?;
        config.timing()?;
        let listen = config.turns.as_ref().and_then(|turns| turns.listen.as_ref());
        for (key, address) in [("advertise", config.advertise.as_ref()), ("turns.listen", listen)] {
            if let Some(address) = address.filter(|address| !is_address(address)) {
                return Err(format!("{key} = {address:?}: write a host and a port, as in \"10.0.0.1:7420\""));
            }
        }
        config.turns.as_ref().map_or(Ok(None), WrittenTurns::election)?;
        if config.join && !config.members.is_empty() {
            let why = "join waits to be added to an existing cluster, [members] starts a new one: remove one of them";
            return Err(why.into());
        }
        if config.limits.connections == Some(0) {
            return Err("limits.connections = 0: it must be at least 1".into());
        }
        Ok(config)
    }

    /// The members of the new cluster, or of the group of the peer engine.
    pub(super) fn members(&self) -> Result<BTreeMap<u64, String>, String> {
        let read = |(node, address): (&String, &String)| {
            member(node, address).ok_or_else(|| {
                let example = "2 = \"10.0.0.2:7420\"";
                format!("members.{node} = {address:?}: write the id and the address of a member, as in {example}")
            })
        };
        self.members.iter().map(read).collect()
    }

    /// The certificates.
    pub(super) fn tls(&self) -> Option<TlsFiles> {
        let Tls { ca, cert, key } = self.tls.as_ref()?;
        Some(TlsFiles { ca: ca.clone(), cert: cert.clone(), key: key.clone() })
    }

    /// The timing of heartbeats and elections.
    pub(super) fn timing(&self) -> Result<Timing, String> {
        let Some(WrittenTiming { heartbeat, election: [shortest, longest] }) = &self.timing else {
            return Ok(Timing::default());
        };
        let [heartbeat_ms, shortest_ms, longest_ms] = [heartbeat, shortest, longest].map(|span| span.as_millis());
        // Candidates split the votes too often if all wait equally long.
        if heartbeat_ms < 10 || shortest_ms < 2 * heartbeat_ms || longest_ms < shortest_ms + heartbeat_ms {
            return Err(format!(
                "timing: heartbeat = \"{heartbeat}\", election = [\"{shortest}\", \"{longest}\"]: the heartbeat must \
                 be at least 10ms, the first election time at least two heartbeats ({}), and the second at least one \
                 heartbeat more than the first",
                Span::from_millis(2 * heartbeat_ms)
            ));
        }
        Ok(Timing { heartbeat_ms, shortest_ms, longest_ms })
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;
    use quorate_server::peer::TurnSettings;

    use super::super::serve::Serve;
    use super::*;

    #[test]
    fn the_example_is_read_and_says_everything() {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/node.toml");
        let config = Config::read(&example).unwrap();
        let place = example.parent().unwrap();
        assert_eq!(config.members().unwrap().len(), 3);
        assert_eq!(config.tls().unwrap().cert, place.join("keys/node1.crt"));
        assert_eq!(config.tokens, Some(place.join("tokens.toml")));
        assert_eq!(config.timing().unwrap(), Timing::default(), "what the example shows is the default");
        assert_eq!(config.limits.connections, Some(quorate_server::node::MOST_CONNECTIONS as u32));
        assert!(config.listen.is_some() && config.data.is_some() && config.node.is_some());
        assert!(config.advertise.is_some() && config.log.format.is_some() && config.log.filter.is_some());
        // What an example cannot show at the same time is in it as a comment.
        let text = std::fs::read_to_string(&example).unwrap();
        assert!(text.contains("# join = true") && text.contains("# insecure = true"));
        assert_eq!(config.engine, Some(EngineName::Replicated));
        let (_, turns) = text.split_once("# [turns]\n").unwrap();
        let is_setting = |line: &&str| line.contains(" = ");
        let turns: Vec<_> = turns.lines().map(|line| line.trim_start_matches("# ")).filter(is_setting).collect();
        let read = Config::parse(&format!("[turns]\n{}", turns.join("\n"))).unwrap().turns.unwrap();
        assert!(!read.options.is_empty() && read.listen.is_some() && read.trace.is_some() && read.forgotten);
        let standard = TurnSettings::default();
        assert_eq!(read.election().unwrap(), Some(standard.election));
        assert_eq!((read.guard, read.cluster), (Some(standard.is_guarded), Some(standard.cluster)));
        let times = [read.beat, read.tolerance, read.delay_bound].map(|time| time.map(Span::duration));
        assert_eq!(times, [standard.beat, standard.tolerance, standard.delay].map(Some), "shown is the default");
        assert!(quorate_core::catalog::entry(&read.algorithm.unwrap()).is_ok());
    }

    /// The key of the file for an option of the command line.
    fn key_of(option: &str) -> String {
        match option {
            "member" => "members".into(),
            "member-listen" => "turns.listen".into(),
            "option" => "turns.options".into(),
            "log" => "log.format".into(),
            "max-connections" => "limits.connections".into(),
            tls if tls.starts_with("tls-") => tls.replace('-', "."),
            other if Config::parse(&format!("{other} = [[{{}}]]")).is_err_and(|why| why.contains("unknown field")) => {
                format!("turns.{other}")
            }
            other => other.into(),
        }
    }

    #[test]
    fn a_file_can_say_all_that_options_can() {
        let command = Serve::augment_args(clap::Command::new("serve"));
        let mut count = 0;
        // Not which file it is, nor what one program tells another.
        let options = command.get_arguments().filter(|option| !option.is_hide_set() && option.get_id() != "config");
        for option in options {
            let aliases = option.get_all_aliases().unwrap_or_default();
            for name in option.get_long().into_iter().chain(aliases) {
                // No key has such a value; but this one is known.
                let why = Config::parse(&format!("{} = [[{{}}]]", key_of(name))).unwrap_err();
                assert!(!why.contains("unknown field"), "--{name}: {why}");
                count += 1;
            }
        }
        assert!(count > 20, "{count} options");
        assert!(Config::parse("unheard-of = [[{}]]").unwrap_err().contains("unknown field"));
    }

    #[test]
    fn the_number_of_a_node_is_also_its_id_and_what_is_for_turns_may_be_written() {
        assert_eq!(Config::parse("id = 3").unwrap().node, Some(3));
        let read = Config::parse("[turns]\ntrace = \"a.trace\"\nforgotten = true").unwrap().turns.unwrap();
        assert_eq!((read.trace, read.forgotten), (Some("a.trace".into()), true));
        let misplaced = Config::parse("trace = \"a.trace\"").unwrap_err();
        assert!(misplaced.contains("write it under [turns]"), "{misplaced}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, named) in [
            ("node = 1\nlissen = \"x\"", "lissen"),
            ("[tls]\nca = \"a\"\nkeys = \"b\"", "keys"),
            ("\nlisten = \"here\"", "line 2"),
            ("node = 1\nlissen = \"x\"", "line 2"),
            ("[tls]\nca = \"a\"", "cert"),
            ("[members]\none = \"10.0.0.1:7420\"", "members.one"),
            ("join = true\n[members]\n1 = \"10.0.0.1:7420\"", "join"),
            ("[timing]\nheartbeat = \"100ms\"\nelection = [\"100ms\", \"800ms\"]", "200ms"),
            ("[limits]\nconnections = 0", "limits.connections"),
            ("[log]\nformat = \"xml\"", "xml"),
        ] {
            let why = Config::parse(text).unwrap_err();
            assert!(why.contains(named), "{text}: {why}");
        }
    }
}
