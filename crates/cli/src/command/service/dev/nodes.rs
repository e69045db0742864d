//! The nodes of `quorate dev`, each a process.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_client::Client;
use quorate_lab::command::failure::Failure;
use quorate_server::peer::TurnSettings;
use rustix::process::Signal;
use tokio::task::JoinSet;

use super::super::process::Process;
use super::super::turns::to_arguments;

/// How long a node may take to answer a request for its status.
const PATIENCE: Duration = Duration::from_millis(500);

/// The state of a node.
enum Life {
    Runs(Process),
    Paused(Process),
    Dead,
}

/// A node, numbered from 1.
struct Node {
    /// Where clients reach it.
    address: String,
    /// Where other nodes do.
    member: String,
    life: Life,
}

/// All of them.
pub(super) struct Nodes {
    nodes: Vec<Node>,
    data: PathBuf,
    /// The settings of the peer engine, if it is used.
    turns: Option<TurnSettings>,
}

/// Finds out whether ports are free, and keeps them for now: those that the file has, or these. The members know each
/// other by these, so that another cluster on the same data must have the same.
fn reserve(file: &Path, ports: Vec<u16>, data: &Path) -> Result<Vec<(String, TcpListener)>, Failure> {
    let ports = match std::fs::read_to_string(file) {
        Ok(text) => ports_of_before(&text, ports.len(), data)?,
        Err(_) => ports,
    };
    let mut listeners = Vec::new();
    for port in ports {
        let bound =
            TcpListener::bind(("127.0.0.1", port)).and_then(|bound| Ok((bound.local_addr()?.to_string(), bound)));
        listeners.push(bound.map_err(|error| {
            let advice = "choose other ports with --port, or free ones with --port 0";
            Failure::Failed(format!("cannot listen on port {port}: {error}; {advice}"))
        })?);
    }
    let addresses: Vec<_> = listeners.iter().map(|(address, _)| address.as_str()).collect();
    let written = std::fs::write(file, addresses.join("\n"));
    written.map_err(|error| Failure::File { path: file.display().to_string(), error })?;
    Ok(listeners)
}

/// The ports of a cluster that has been here before.
fn ports_of_before(text: &str, many: usize, data: &Path) -> Result<Vec<u16>, Failure> {
    let ports = text.lines().map(|line| line.rsplit(':').next().and_then(|port| port.parse().ok()));
    let ports: Vec<u16> = ports.collect::<Option<_>>().unwrap_or_default();
    if ports.len() == many {
        return Ok(ports);
    }
    let (data, before) = (data.display(), ports.len());
    Err(Failure::Usage(format!("{data} has the data of {before} nodes: use --nodes {before}, or another directory")))
}

/// The leader and its term.
pub(super) type Leader = Option<(u64, u64)>;

impl Nodes {
    /// Chooses addresses: those that the data were made with, or else from this port on, or any that are free if it is
    /// 0. Nodes of the peer engine have further ports for each other, wherever there are free ones.
    pub(super) fn at(port: u16, many: u16, data: &Path, turns: Option<TurnSettings>) -> Result<Nodes, Failure> {
        let ports = (0..many).map(|number| if port == 0 { Some(0) } else { port.checked_add(number) });
        let ports = ports.collect::<Option<Vec<_>>>().ok_or_else(|| {
            Failure::Usage(format!("--port {port} leaves no room for {many} ports: the largest port is {}", u16::MAX))
        })?;
        let clients = reserve(&data.join("addresses"), ports, data)?;
        let members = match turns {
            None => Vec::new(),
            Some(_) => reserve(&data.join("members"), vec![0; usize::from(many)], data)?,
        };
        let address = |(address, _): &(String, TcpListener)| address.clone();
        let nodes = clients.iter().enumerate().map(|(at, client)| Node {
            address: address(client),
            member: address(members.get(at).unwrap_or(client)),
            life: Life::Dead,
        });
        // They are free, and were ours until now; the nodes ask for them next.
        Ok(Nodes { nodes: nodes.collect(), data: data.into(), turns })
    }

    /// The settings of the peer engine, if it is used.
    pub(super) fn turns(&self) -> Option<&TurnSettings> {
        self.turns.as_ref()
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.address.clone()).collect()
    }

    /// Starts a node, on its data if it has any, and returns its process. One that runs is killed first.
    pub(super) async fn start(&mut self, number: usize) -> Result<u32, Failure> {
        self.kill(number).await;
        let addresses = self.addresses();
        let members = self.nodes.iter().enumerate().map(|(at, node)| format!("--member={}={}", at + 1, node.member));
        let address = &addresses[number - 1];
        let data = self.data.join(format!("node-{number}")).display().to_string();
        let mut arguments = vec!["serve".into(), format!("--node={number}"), format!("--listen={address}")];
        arguments.extend(["--data".into(), data]);
        arguments.extend(members);
        arguments.extend(self.turns.iter().flat_map(to_arguments));
        let mut process = Process::start(&arguments, &self.data.join(format!("node-{number}.log")))?;
        process.says().await?;
        let pid = process.pid();
        self.nodes[number - 1].life = Life::Runs(process);
        Ok(pid)
    }

    /// Whether a node runs, or is paused.
    pub(super) fn runs(&self, number: usize) -> bool {
        !matches!(self.nodes[number - 1].life, Life::Dead)
    }

    /// Kills a node; returns whether it was running.
    pub(super) async fn kill(&mut self, number: usize) -> bool {
        match std::mem::replace(&mut self.nodes[number - 1].life, Life::Dead) {
            Life::Runs(mut process) | Life::Paused(mut process) => {
                process.kill().await;
                true
            }
            Life::Dead => false,
        }
    }

    /// Pauses or continues a node; returns whether that changed its state.
    pub(super) fn pause(&mut self, number: usize, pauses: bool) -> bool {
        let node = &mut self.nodes[number - 1];
        let (life, has_changed) = match std::mem::replace(&mut node.life, Life::Dead) {
            Life::Runs(process) if pauses => {
                process.signal(Signal::STOP);
                (Life::Paused(process), true)
            }
            Life::Paused(process) if !pauses => {
                process.signal(Signal::CONT);
                (Life::Runs(process), true)
            }
            life => (life, false),
        };
        node.life = life;
        has_changed
    }

    /// The nodes that exited by themselves since the last call, with their exit status.
    pub(super) fn ended(&mut self) -> Vec<(usize, String)> {
        let mut ended = Vec::new();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            if let Life::Runs(process) | Life::Paused(process) = &mut node.life
                && let Some(status) = process.ended()
            {
                ended.push((at + 1, status.to_string()));
                node.life = Life::Dead;
            }
        }
        ended
    }

    /// The leader: of the nodes that answer and consider themselves leader, the one with the latest term.
    pub(super) async fn leader(&self) -> Leader {
        let mut answers = JoinSet::new();
        for node in self.nodes.iter().filter(|node| matches!(node.life, Life::Runs(_))) {
            if let Ok(client) = Client::new([&node.address]) {
                answers.spawn(async move { client.patience(PATIENCE).status().await.ok() });
            }
        }
        let answers = answers.join_all().await;
        let leaders = answers.into_iter().flatten().filter(|status| status.leader == Some(status.node));
        leaders.map(|status| (status.node, status.term)).max_by_key(|(_, term)| *term)
    }

    /// Stops all nodes: by SIGTERM if their data are kept, by SIGKILL otherwise.
    pub(super) async fn end(&mut self, is_orderly: bool) {
        for node in &self.nodes {
            if let Life::Runs(process) | Life::Paused(process) = &node.life
                && is_orderly
            {
                process.signal(Signal::TERM);
                process.signal(Signal::CONT);
            }
        }
        for node in &mut self.nodes {
            if let Life::Runs(mut process) | Life::Paused(mut process) = std::mem::replace(&mut node.life, Life::Dead) {
                if is_orderly {
                    process.finish().await;
                } else {
                    process.kill().await;
                }
            }
        }
    }
}
