//! The settings of a node: its id, the members of the group, and the algorithm that they run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use quorate_core::catalog::{self, Entry, Family, UnknownAlgorithm};
use quorate_core::election::Kind;
use quorate_core::id::Id;
use quorate_core::journal::{self, Header};
use quorate_core::setting::{Group, Options, Recovering, SettingError, Timing};
use thiserror::Error;

use crate::tls::TlsFiles;

/// The settings of a node, passed to [`Node::join`](crate::Node::join).
///
/// All nodes of a group need the same members, cluster name, algorithm with its options, election, quorum guard and
/// times; a node with other settings is rejected when it connects. The id, the data directory, the certificates, the
/// listening address and the trace file belong to one node.
///
/// | setting | default |
/// |---|---|
/// | [`algorithm`](Config::algorithm) | `ricart-agrawala` |
/// | [`election`](Config::election) | ring |
/// | [`beat`](Config::beat): heartbeat interval, tolerance | 500 ms, 2 s |
/// | [`delay`](Config::delay) | 100 ms |
/// | [`data`](Config::data) | `quorate-node-ID` in the working directory |
/// | [`tls`](Config::tls) | none: only loopback addresses are accepted |
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) id: u32,
    pub(crate) members: Vec<Member>,
    pub(crate) cluster: String,
    pub(crate) algorithm: String,
    pub(crate) options: Vec<(String, String)>,
    pub(crate) election: Kind,
    pub(crate) is_guarded: bool,
    pub(crate) beat: Duration,
    pub(crate) tolerance: Duration,
    pub(crate) delay: Duration,
    pub(crate) data: Option<PathBuf>,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) is_insecure: bool,
    pub(crate) listen: Option<String>,
    pub(crate) is_forgotten: bool,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) is_textbook: bool,
}

/// A member of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id: members are numbered from 1, without gaps.
    pub id: u32,
    /// The address at which the other members reach it, as `HOST:PORT`.
    pub address: String,
}

/// How long the name of a group may be: two of them fit into the sentence that refuses somebody of another group.
const LONGEST_CLUSTER: usize = 256;

/// The settings of a node are invalid. Nothing was started or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The members are not numbered 1 to n, which is the number of members given.
    #[error("{}", numbering(*.0))]
    Numbering(usize),
    /// The node is not among the members.
    #[error("node {0} is not a member: the members are numbered 1 to {1}")]
    NotAMember(u32, usize),
    /// Two members have the same address.
    #[error("members {0} and {1} have the same address, {2}: each needs its own")]
    SameAddress(u32, u32, String),
    /// The address of a member has no port, or no host.
    #[error("member {0} has the address {1:?}: expected HOST:PORT, such as node1.example.org:7101")]
    Address(u32, String),
    /// The cluster name is too long.
    #[error("the cluster name has {0} bytes, the maximum is {LONGEST_CLUSTER}: choose a shorter one")]
    Cluster(usize),
    /// The catalogue has no algorithm with this name.
    #[error("{0}")]
    Algorithm(#[from] UnknownAlgorithm),
    /// The algorithm is not a mutual exclusion algorithm.
    #[error("{0} is not a mutual exclusion algorithm: choose one, such as ricart-agrawala")]
    NotMutex(&'static str),
    /// The algorithm does not recover from crashes, which happen on a network.
    #[error(
        "{0} does not recover from crashes: choose another algorithm (`Config::textbook` allows this one, for study)"
    )]
    DoesNotRecover(&'static str),
    /// The algorithm would send messages while no process requests entry.
    #[error("{0} with rest=no would send messages for every name all the time: leave the option out, or set rest=yes")]
    Restless(&'static str),
    /// The algorithm does not run in a group of this size, or not with these options.
    #[error("{0}")]
    Setting(#[from] SettingError),
    /// The delay, the heartbeat interval and the tolerance do not fit together.
    #[error("{0}")]
    Times(String),
    /// An address can be reached from other machines, and no certificates are configured.
    #[error(
        "{0} is not a loopback address, and without certificates any process that reaches it could act as a member: \
         set `Config::tls` (`quorate keys nodes` creates certificates), or `Config::insecure` if the network is private"
    )]
    Insecure(String),
}

fn numbering(members: usize) -> String {
    match members {
        0 => "the group has no members: name at least this node".into(),
        n => format!("the members must be numbered 1 to {n}, each number once"),
    }
}

/// The group as its processes see it, checked.
pub(crate) struct Checked {
    pub(crate) me: Id,
    pub(crate) entry: &'static Entry,
    pub(crate) group: Arc<Group>,
    /// The algorithm with its options.
    pub(crate) program: String,
    /// What all have to agree on, in words.
    pub(crate) terms: String,
}

impl Config {
    /// The settings of node `id` in a group whose members have these addresses (`HOST:PORT`). The members are numbered
    /// 1, 2, … in this order.
    pub fn new(id: u32, members: impl IntoIterator<Item = impl Into<String>>) -> Config {
        let members = (1..).zip(members).map(|(id, address)| Member { id, address: address.into() });
        Config::of(id, members.collect())
    }

    /// The settings of node `id` in a group with these members.
    pub fn of(id: u32, members: Vec<Member>) -> Config {
        Config {
            id,
            members,
            cluster: "quorate".into(),
            algorithm: "ricart-agrawala".into(),
            options: Vec::new(),
            election: Kind::default(),
            is_guarded: true,
            beat: Duration::from_millis(500),
            tolerance: Duration::from_secs(2),
            delay: Duration::from_millis(100),
            data: None,
            tls: None,
            is_insecure: false,
            listen: None,
            is_forgotten: false,
            trace: None,
            is_textbook: false,
        }
    }

    /// Sets the name of the group, at most 256 bytes; `quorate` by default. A node with another cluster name is
    /// rejected.
    #[must_use]
    pub fn cluster(mut self, name: impl Into<String>) -> Config {
        self.cluster = name.into();
        self
    }

    /// Sets the mutual exclusion algorithm, by its name in the catalogue; `ricart-agrawala` by default.
    #[must_use]
    pub fn algorithm(mut self, name: impl Into<String>) -> Config {
        self.algorithm = name.into();
        self
    }

    /// Sets an option of the algorithm, such as `votes` for `majority`.
    #[must_use]
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>) -> Config {
        self.options.push((key.into(), value.into()));
        self
    }

    /// Sets the election algorithm that finds the leader; ring by default.
    #[must_use]
    pub fn election(mut self, election: Kind) -> Config {
        self.election = election;
        self
    }

    /// Sets whether a node that does not trust a majority of the members refuses to grant locks, and revokes those that
    /// it has granted. This is the default.
    #[must_use]
    pub fn guard(mut self, is_guarded: bool) -> Config {
        self.is_guarded = is_guarded;
        self
    }

    /// Sets the heartbeat interval and the tolerance; 500 ms and 2 s by default.
    ///
    /// A node suspects a member from which it has received nothing for the tolerance plus one [delay](Config::delay).
    /// The interval must be a whole number of delays, and the tolerance a whole number of intervals.
    #[must_use]
    pub fn beat(mut self, beat: Duration, tolerance: Duration) -> Config {
        self.beat = beat;
        self.tolerance = tolerance;
        self
    }

    /// Sets the message delay to expect; 100 ms by default. A message that is not acknowledged after twice this time is
    /// sent again. Slower messages cost retransmissions, and nothing else.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Config {
        self.delay = delay;
        self
    }

    /// Sets the data directory, which no other node may use; `quorate-node-ID` in the working directory by default. The
    /// node keeps there the state that must survive a crash.
    #[must_use]
    pub fn data(mut self, directory: impl Into<PathBuf>) -> Config {
        self.data = Some(directory.into());
        self
    }

    /// Sets the certificates. Connections between members then use mutual TLS.
    #[must_use]
    pub fn tls(mut self, files: TlsFiles) -> Config {
        self.tls = Some(files);
        self
    }

    /// Allows connections to other machines without certificates. Any process that reaches the port can then act as a
    /// member.
    #[must_use]
    pub fn insecure(mut self) -> Config {
        self.is_insecure = true;
        self
    }

    /// Sets the address to listen on, if it differs from the address at which the other members reach this node.
    #[must_use]
    pub fn listen(mut self, address: impl Into<String>) -> Config {
        self.listen = Some(address.into());
        self
    }

    /// Declares that the node's data directory was lost, or is an old copy. The node joins as a restarted one, and
    /// learns from the running members what it had promised to them.
    ///
    /// Set this for one start only. The new incarnation number is taken from this machine's clock, which must not be
    /// behind the clock of the incarnation that was lost.
    #[must_use]
    pub fn forgotten(mut self) -> Config {
        self.is_forgotten = true;
        self
    }

    /// Appends a trace of this node's events to a file, for `quorate judge`.
    ///
    /// A full or slow disk leaves a gap in the file, and does not delay the node. Every node needs a file of its own;
    /// a verdict needs the traces of all nodes.
    #[must_use]
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Config {
        self.trace = Some(file.into());
        self
    }

    /// Allows an algorithm that does not recover from crashes, to study it as published. A crash may block all nodes
    /// for ever, and `maekawa` may deadlock without one.
    #[must_use]
    pub fn textbook(mut self) -> Config {
        self.is_textbook = true;
        self
    }

    pub(crate) fn data_directory(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| format!("quorate-node-{}", self.id).into())
    }

    pub(crate) fn listen_address(&self) -> &str {
        let own = self.members.iter().find(|member| member.id == self.id).map(|member| member.address.as_str());
        self.listen.as_deref().or(own).unwrap_or_default()
    }

    pub(crate) fn check(&self) -> Result<Checked, ConfigError> {
        self.check_members()?;
        if self.cluster.len() > LONGEST_CLUSTER {
            return Err(ConfigError::Cluster(self.cluster.len()));
        }
        let entry = catalog::entry(&self.algorithm)?;
        if entry.family != Family::Mutex {
            return Err(ConfigError::NotMutex(entry.name));
        }
        if entry.recovery.is_none() && !self.is_textbook {
            return Err(ConfigError::DoesNotRecover(entry.name));
        }
        let given = self.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        // Nobody asks for most resources most of the time: their tokens rest.
        let rest = (entry.name == "token-ring" && !self.options.iter().any(|(key, _)| key == "rest"))
            .then_some(("rest", "yes"));
        let options = Options::new(entry, given.chain(rest))?;
        if options.choice_if_any("rest") == Some("no") {
            return Err(ConfigError::Restless(entry.name));
        }
        let chosen: Vec<_> = options.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        let recovering = self.recovering()?;
        let n = self.members.len() as u32;
        let bound = ticks(self.delay);
        let group = Group::new(entry, n, bound, Timing::Asynchronous, options)?.recovering(entry, Some(recovering))?;
        let program = format!("{}{}", entry.name, chosen.concat());
        let terms = format!(
            "{program} among {n} members, {} election, {} quorum guard, heartbeat every {:?}, tolerance {:?}, \
             message delay {:?}",
            self.election.name(),
            if self.is_guarded { "with" } else { "without" },
            self.beat,
            self.tolerance,
            self.delay,
        );
        Ok(Checked { me: Id::new(self.id), entry, group, program, terms })
    }

    /// What the trace of a life begins with.
    pub(crate) fn header(&self, checked: &Checked, incarnation: u64) -> Header {
        let options = checked.group.options.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        Header {
            version: journal::VERSION,
            cluster: self.cluster.clone(),
            process: checked.me,
            incarnation,
            forgotten: self.is_forgotten,
            n: checked.group.n,
            algorithm: checked.entry.name.into(),
            options: options.collect(),
            election: self.election.name().into(),
            guard: self.is_guarded,
            delay: ticks(self.delay),
            beat: ticks(self.beat),
            tolerance: ticks(self.tolerance),
            started: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, ticks),
        }
    }

    fn check_members(&self) -> Result<(), ConfigError> {
        let n = self.members.len();
        let mut ids: Vec<_> = self.members.iter().map(|member| member.id).collect();
        ids.sort_unstable();
        if n == 0 || !ids.iter().copied().eq(1..=n as u32) {
            return Err(ConfigError::Numbering(n));
        }
        if !ids.contains(&self.id) {
            return Err(ConfigError::NotAMember(self.id, n));
        }
        for (index, member) in self.members.iter().enumerate() {
            let (host, port) = member.address.rsplit_once(':').unwrap_or_default();
            if host.is_empty() || port.parse::<u16>().is_err() {
                return Err(ConfigError::Address(member.id, member.address.clone()));
            }
            if let Some(other) = self.members[..index].iter().find(|other| other.address == member.address) {
                return Err(ConfigError::SameAddress(other.id, member.id, member.address.clone()));
            }
        }
        let addresses = self.members.iter().map(|member| member.address.as_str()).chain(self.listen.as_deref());
        for address in addresses {
            let (host, _) = address.rsplit_once(':').unwrap_or((address, ""));
            if self.tls.is_none() && !self.is_insecure && !is_loopback(host) {
                return Err(ConfigError::Insecure(address.into()));
            }
        }
        Ok(())
    }

    /// Beats are counted in units of the delay, which the processes think in.
    fn recovering(&self) -> Result<Recovering, ConfigError> {
        let Config { beat, tolerance, delay, .. } = *self;
        if delay < Duration::from_millis(1) || beat < delay || tolerance < beat {
            return Err(ConfigError::Times(format!(
                "delay {delay:?}, heartbeat interval {beat:?} and tolerance {tolerance:?} do not fit together: the \
                 delay must be at least 1 ms, the interval at least the delay, and the tolerance at least the interval"
            )));
        }
        let whole = |name: &str, time: Duration, of: &str, unit: Duration| {
            if ticks(time).is_multiple_of(ticks(unit)) {
                return Ok(ticks(time) / ticks(unit));
            }
            let less = duration(ticks(time) / ticks(unit) * ticks(unit));
            let more = less + unit;
            let times = format!("the {name} of {time:?} is not a whole multiple of the {of}, {unit:?}");
            Err(ConfigError::Times(format!("{times}: use {less:?} or {more:?}")))
        };
        let interval = whole("heartbeat interval", beat, "delay", delay)?;
        let missed = whole("tolerance", tolerance, "heartbeat interval", beat)?.saturating_sub(1);
        if interval > 1000 || missed > 1000 {
            return Err(ConfigError::Times(format!(
                "delay {delay:?}, heartbeat interval {beat:?} and tolerance {tolerance:?} do not fit together: the \
                 interval may be at most 1000 delays, and the tolerance at most 1000 intervals"
            )));
        }
        Ok(Recovering { election: self.election, guard: self.is_guarded, gather: true, interval, missed })
    }
}

/// As long as processes say. A tick of theirs is a microsecond.
pub(crate) fn duration(ticks: u64) -> Duration {
    Duration::from_micros(ticks)
}

/// A duration as processes count it.
pub(crate) fn ticks(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
