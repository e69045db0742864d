//! What a node is told before it joins: who it is, who the others are, which algorithm they run.

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

/// What a node is told before it joins. All nodes of a group are told the same, but for who they are.
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

/// One of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number, from 1 on without gaps.
    pub id: u32,
    /// Where the others reach it: a host and a port.
    pub address: String,
}

/// How long the name of a group may be: two of them fit into the sentence that refuses somebody of another group.
const LONGEST_CLUSTER: usize = 256;

/// Why a node cannot be set up like this. Nothing was begun.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The members are not numbered 1 to n.
    #[error("the members have to be numbered 1 to {0}, each once")]
    Numbering(usize),
    /// The node is not among the members.
    #[error("{0} is not among the members, which are numbered 1 to {1}")]
    NotAMember(u32, usize),
    /// Two members have the same address.
    #[error("members {0} and {1} have the same address, {2}")]
    SameAddress(u32, u32, String),
    /// An address without a port, or without a host.
    #[error("member {0} is at {1:?}: write a host and a port, as in node1.example.org:7101")]
    Address(u32, String),
    /// A name that others could not be told.
    #[error("the name of the group has {0} bytes, and may have {LONGEST_CLUSTER}: choose a shorter one")]
    Cluster(usize),
    /// There is no such algorithm.
    #[error("{0}")]
    Algorithm(#[from] UnknownAlgorithm),
    /// It is not one by which processes take turns.
    #[error("{0} is no mutual exclusion algorithm")]
    NotMutex(&'static str),
    /// It does not survive crashes, and on a network there are crashes.
    #[error("{0} does not recover from crashes, so that it is not run on a network, unless to look at it (`textbook`)")]
    DoesNotRecover(&'static str),
    /// It would never be silent.
    #[error("{0} with rest=no would send messages for every resource all the time: leave that out, its tokens rest")]
    Restless(&'static str),
    /// It does not run in this group.
    #[error("{0}")]
    Setting(#[from] SettingError),
    /// Times that make no sense together.
    #[error("{0}")]
    Times(String),
    /// Others could listen to what is said, and say something themselves.
    #[error(
        "{0} is not only on this machine, and without certificates anybody there could speak for a member: give \
         certificates (`quorate keys nodes`, --tls-ca, …), or say --insecure (`Config::insecure`) if the network is \
         yours alone"
    )]
    Insecure(String),
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
    /// Node `id` of these, which are numbered 1, 2, … in this order.
    pub fn new(id: u32, members: impl IntoIterator<Item = impl Into<String>>) -> Config {
        let members = (1..).zip(members).map(|(id, address)| Member { id, address: address.into() });
        Config::of(id, members.collect())
    }

    /// Node `id` of these.
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

    /// The name of the group. Nodes of groups with other names are refused.
    #[must_use]
    pub fn cluster(mut self, name: impl Into<String>) -> Config {
        self.cluster = name.into();
        self
    }

    /// Which algorithm of the catalogue; `ricart-agrawala` if none is given.
    #[must_use]
    pub fn algorithm(mut self, name: impl Into<String>) -> Config {
        self.algorithm = name.into();
        self
    }

    /// An option of the algorithm.
    #[must_use]
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>) -> Config {
        self.options.push((key.into(), value.into()));
        self
    }

    /// Which election; the ring if none is given.
    #[must_use]
    pub fn election(mut self, election: Kind) -> Config {
        self.election = election;
        self
    }

    /// Whether a node that does not trust a majority lets nobody in. It is so if nothing is said.
    #[must_use]
    pub fn guard(mut self, is_guarded: bool) -> Config {
        self.is_guarded = is_guarded;
        self
    }

    /// How often a node says that it lives, and how long another may be silent before it is taken for dead, and a delay
    /// more. Half a second and two seconds if nothing is said. A beat is a whole number of [delays](Config::delay), and
    /// the tolerance one of beats.
    #[must_use]
    pub fn beat(mut self, beat: Duration, tolerance: Duration) -> Config {
        self.beat = beat;
        self.tolerance = tolerance;
        self
    }

    /// How long a message takes, by and large: what is not acknowledged after twice as long is sent again. A tenth of a
    /// second if nothing is said.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Config {
        self.delay = delay;
        self
    }

    /// Where the node keeps what it has to remember: a directory of its own. `quorate-node-ID`, where the program runs,
    /// if nothing is said.
    #[must_use]
    pub fn data(mut self, directory: impl Into<PathBuf>) -> Config {
        self.data = Some(directory.into());
        self
    }

    /// The node's certificate, and the authority's: nodes then speak in secret, with nobody else.
    #[must_use]
    pub fn tls(mut self, files: TlsFiles) -> Config {
        self.tls = Some(files);
        self
    }

    /// Speak to other machines without certificates: whoever reaches the port can pretend to be a member.
    #[must_use]
    pub fn insecure(mut self) -> Config {
        self.is_insecure = true;
        self
    }

    /// Where to listen, if that is not where the others reach it.
    #[must_use]
    pub fn listen(mut self, address: impl Into<String>) -> Config {
        self.listen = Some(address.into());
        self
    }

    /// The node's directory was lost, and with it what it has promised in former lives. It joins as one that comes
    /// back: what it has promised to those who live, they tell it. (It tells its lives apart by this machine's clock.)
    #[must_use]
    pub fn forgotten(mut self) -> Config {
        self.is_forgotten = true;
        self
    }

    /// Write what happens into this file, for `quorate judge`; added to what is in it. A disk that is full or slow
    /// leaves a gap in the file, and does the node no harm. Give every node a file of its own, and trace all of them.
    #[must_use]
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Config {
        self.trace = Some(file.into());
        self
    }

    /// Also an algorithm that does not recover from crashes, to be looked at as its paper has it: a crash may stop
    /// everybody, and `maekawa` may stop by itself.
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
            "{program} among {n}, {} elections, {} a quorum guard, beats every {:?}, tolerance {:?}, delays of {:?}",
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
                "a delay of {delay:?}, a beat every {beat:?} and a tolerance of {tolerance:?}: the delay has to be at \
                 least 1 ms, a beat at least a delay, and the tolerance at least a beat"
            )));
        }
        let whole = |name: &str, time: Duration, of: &str, unit: Duration| {
            if ticks(time).is_multiple_of(ticks(unit)) {
                return Ok(ticks(time) / ticks(unit));
            }
            let less = duration(ticks(time) / ticks(unit) * ticks(unit));
            let more = less + unit;
            let times = format!("the {name} of {time:?} is not a whole number of {of}, of which each is {unit:?}");
            Err(ConfigError::Times(format!("{times}: say {less:?} or {more:?}")))
        };
        let interval = whole("beat", beat, "delays", delay)?;
        let missed = whole("tolerance", tolerance, "beats", beat)?.saturating_sub(1);
        if interval > 1000 || missed > 1000 {
            return Err(ConfigError::Times(format!(
                "a delay of {delay:?}, a beat every {beat:?} and a tolerance of {tolerance:?}: each at most a thousand \
                 times the one before"
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
