//! What a node of the peer engine is told: who the members are, and how they take turns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use quorate_net::{Config, ElectionKind, Member, Node, TlsFiles};

use crate::engine::NodeId;

/// Who does not want to wait for a lock waits no longer than this, however slow the network is said to be.
const LONGEST_TRY: Duration = Duration::from_secs(5);

/// What a node is told to join its group.
#[derive(Clone, Debug)]
pub struct PeerSettings {
    /// Its number, which is that of one of the members.
    pub node: NodeId,
    /// Where the members speak with each other, this one included; the same on each of them.
    pub members: BTreeMap<NodeId, String>,
    /// Where this one listens for the others, if that is not where they reach it.
    pub listen: Option<String>,
    /// Its data directory.
    pub data: PathBuf,
    /// The certificates, if the members are to know each other by them.
    pub tls: Option<TlsFiles>,
    /// Whether the network is the group's alone: members are believed without certificates.
    pub is_insecure: bool,
    /// Whether the data directory was lost, and with it what the node has promised before.
    pub is_forgotten: bool,
    /// Where to write down what happens, for `quorate judge`.
    pub trace: Option<PathBuf>,
    /// How they take turns.
    pub turns: TurnSettings,
}

/// How the members take turns; the same on each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnSettings {
    /// The name of the group.
    pub cluster: String,
    /// The algorithm of the catalogue, and its options.
    pub algorithm: String,
    /// The algorithm's own options.
    pub options: Vec<(String, String)>,
    /// How a leader is elected, where somebody leads.
    pub election: ElectionKind,
    /// Whether a node that does not trust a majority lets nobody in.
    pub is_guarded: bool,
    /// How often a node shows that it lives.
    pub beat: Duration,
    /// How long another one may be silent before it is taken for dead.
    pub tolerance: Duration,
    /// How long a message takes, by and large.
    pub delay: Duration,
}

/// What a node does that is told nothing.
impl Default for TurnSettings {
    fn default() -> TurnSettings {
        TurnSettings {
            cluster: "quorate".into(),
            algorithm: "ricart-agrawala".into(),
            options: Vec::new(),
            election: ElectionKind::default(),
            is_guarded: true,
            beat: Duration::from_millis(500),
            tolerance: Duration::from_secs(2),
            delay: Duration::from_millis(100),
        }
    }
}

impl TurnSettings {
    /// The algorithm with its options, in one line.
    pub fn program(&self) -> String {
        let options = self.options.iter().map(|(key, value)| format!(" {key}={value}"));
        [self.algorithm.clone()].into_iter().chain(options).collect()
    }
}

impl PeerSettings {
    /// The same for the network.
    pub(super) fn config(&self) -> Config {
        // A number that does not fit is nobody's: whoever checks the members says so.
        let number = |node: NodeId| u32::try_from(node).unwrap_or(u32::MAX);
        let TurnSettings { cluster, algorithm, options, election, is_guarded, beat, tolerance, delay } = &self.turns;
        let members = self.members.iter().map(|(id, address)| Member { id: number(*id), address: address.clone() });
        let mut config = Config::of(number(self.node), members.collect())
            .cluster(cluster)
            .algorithm(algorithm)
            .election(*election)
            .guard(*is_guarded)
            .beat(*beat, *tolerance)
            .delay(*delay)
            .data(&self.data);
        for (key, value) in options {
            config = config.option(key, value);
        }
        if let Some(listen) = &self.listen {
            config = config.listen(listen);
        }
        if let Some(tls) = &self.tls {
            config = config.tls(tls.clone());
        }
        if self.is_insecure {
            config = config.insecure();
        }
        if let Some(trace) = &self.trace {
            config = config.trace(trace);
        }
        if self.is_forgotten { config.forgotten() } else { config }
    }

    /// The number of the group, for clients that want one: the same for the same name and members.
    pub(crate) fn cluster_id(&self) -> u64 {
        let members = self.members.iter().map(|(node, address)| format!("\n{node}={address}"));
        let text: String = [self.turns.cluster.clone()].into_iter().chain(members).collect();
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }

    /// How long who does not want to wait waits for an answer of the others.
    pub(super) fn patience(&self, node: &Node) -> Duration {
        node.patience().min(LONGEST_TRY)
    }
}
