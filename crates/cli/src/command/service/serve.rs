//! `quorate serve`: a node of the service.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use quorate_client::contract::DEFAULT_ADDRESS;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use quorate_net::JoinError;
use quorate_server::node::{
    EngineSettings, MOST_CONNECTIONS, Node, NodeError, NodeSettings, ReplicatedSettings, TlsFiles,
};
use quorate_server::peer::PeerSettings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use super::config::{Config, is_address, member};
use super::logging::{self, LogFormat};
use super::option_names::in_options;
use super::run_node;
use super::turns::Turns;

/// The default data directory.
const DEFAULT_DATA: &str = "quorate-data";
/// File descriptors that a node may need besides those of its connections.
const OTHER_FILES: usize = 512;

const NOTES: &str = "\
Examples:
  Start one node on 127.0.0.1:7420, with its data in ./quorate-data:
    quorate serve
  Start a node of a cluster with the options of a file:
    quorate serve --config /etc/quorate/node.toml
  Start a new node on a trusted network; `quorate member add` then adds it to the cluster:
    quorate serve --node 4 --listen 10.0.0.4:7420 --join --insecure
  Start the first of two nodes with the peer engine:
    quorate serve --algorithm token-ring --node 1 --member 1=127.0.0.1:7431 --member 2=127.0.0.1:7432

Exit codes:
  0  stopped by SIGINT or SIGTERM
  1  the node failed or could not start
  2  the options are wrong";

/// Start a node of the lock service
///
/// By default this is one node that keeps its data in ./quorate-data and listens on 127.0.0.1:7420. Given several
/// --member options, the nodes form a cluster that replicates a log: it serves while a majority of its members runs.
///
/// With --engine peer, the nodes run a mutual exclusion algorithm among themselves, each for its own clients, without a
/// replicated log. Sessions then end when their node stops, and there are no shared locks, permits, lock delays and
/// backups. --member then gives the addresses at which the nodes reach each other, and --listen is for clients only.
#[derive(Args, Debug)]
#[command(after_long_help = NOTES)]
pub(crate) struct Serve {
    /// Read options from FILE; options on the command line override it. packaging/node.toml is an example
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Address to listen on, for clients and, except with the peer engine, for other nodes [default: 127.0.0.1:7420]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    listen: Option<SocketAddr>,

    /// Data directory [default: quorate-data]
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

    /// Id of this node in its cluster [default: 1]
    #[arg(long, visible_alias = "id", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    node: Option<u64>,

    /// A member of the new cluster: its id and address. Repeat it for each member, this node included
    #[arg(long, value_name = "N=ADDRESS", value_parser = parse_member)]
    member: Vec<(u64, String)>,

    /// Wait until `quorate member add` adds this node to an existing cluster
    #[arg(long, conflicts_with = "member")]
    join: bool,

    /// Address at which other nodes reach this node [default: the address of --listen]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    advertise: Option<String>,

    #[command(flatten)]
    turns: Turns,

    /// Name of the group: nodes with another name are refused [default: quorate]
    #[arg(long, value_name = "NAME", help_heading = "Peer engine")]
    cluster: Option<String>,

    /// Address to listen on for other nodes [default: the address of this node's --member]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address, help_heading = "Peer engine")]
    member_listen: Option<String>,

    /// For one start after the data directory was lost or replaced by an old copy: rejoin the group without that data
    #[arg(long, help_heading = "Peer engine")]
    forgotten: bool,

    /// Append a trace of the events of this node to FILE, for `quorate judge` (docs/traces.md)
    #[arg(long, value_name = "FILE", help_heading = "Peer engine")]
    trace: Option<PathBuf>,

    /// CA certificate of the cluster: turns on TLS, and requires a certificate of this CA from members
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    tls_ca: Option<PathBuf>,

    /// Certificate of this node; `quorate keys nodes` creates it
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    tls_cert: Option<PathBuf>,

    /// Private key of this node's certificate
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    tls_key: Option<PathBuf>,

    /// Token file: requires a token from every client (`quorate keys token`); reloaded when it changes
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// Allow listening on an address that other hosts can reach, although TLS or tokens are not configured
    #[arg(long)]
    insecure: bool,

    /// Format of the log on standard error [default: text]; the variable QUORATE_LOG sets its level (info, debug, …)
    #[arg(long, value_name = "FORMAT", value_enum)]
    log: Option<LogFormat>,

    /// Maximum number of connections [default: 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: Option<u32>,

    /// Exit when the process with this id, which started the node, has exited
    #[arg(long, value_name = "PID", hide = true)]
    with_parent: Option<u32>,
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an IP address and a port, as in 127.0.0.1:7420 or [::1]:7420".into())
}

fn parse_address(text: &str) -> Result<String, String> {
    let explain = || "write a host and a port, as in 10.0.0.1:7420 or node1.example.org:7420".to_string();
    if is_address(text) { Ok(text.into()) } else { Err(explain()) }
}

pub(super) fn parse_member(text: &str) -> Result<(u64, String), String> {
    let explain = || "write the id of the member and its address, as in 2=10.0.0.2:7420".to_string();
    let (node, address) = text.split_once('=').ok_or_else(explain)?;
    member(node, address).ok_or_else(explain)
}

/// The settings of a node, from options and from the file.
struct Plan {
    settings: NodeSettings,
    log_format: LogFormat,
    log_filter: Option<String>,
}

impl Plan {
    /// Takes each setting from the options, or else from the file.
    fn of(arguments: Serve) -> Result<Plan, Failure> {
        let config = arguments.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        let tls = match (arguments.tls_ca, arguments.tls_cert, arguments.tls_key) {
            (Some(ca), Some(cert), Some(key)) => Some(TlsFiles { ca, cert, key }),
            _ => config.tls(),
        };
        let members: BTreeMap<_, _> = if arguments.join {
            BTreeMap::new()
        } else if arguments.member.is_empty() {
            config.members().map_err(Failure::Usage)?
        } else {
            members_once(arguments.member)?
        };
        let (node, is_insecure) = (arguments.node.or(config.node).unwrap_or(1), arguments.insecure || config.insecure);
        let default_address = || DEFAULT_ADDRESS.parse().expect("it is an address");
        let listen = arguments.listen.or(config.listen).unwrap_or_else(default_address);
        let joins = arguments.join || (config.join && members.is_empty());
        let advertise = arguments.advertise.or(config.advertise.clone());
        let data = arguments.data.or(config.data.clone()).unwrap_or_else(|| DEFAULT_DATA.into());
        let written = config.turns.clone();
        let only_turns = arguments.cluster.is_some()
            || arguments.member_listen.is_some()
            || arguments.forgotten
            || arguments.trace.is_some();
        let member_listen = arguments.member_listen.or_else(|| written.as_ref().and_then(|turns| turns.listen.clone()));
        let is_forgotten = arguments.forgotten || written.as_ref().is_some_and(|turns| turns.forgotten);
        let trace = arguments.trace.or_else(|| written.as_ref().and_then(|turns| turns.trace.clone()));
        let engine = match arguments.turns.settle(config.engine, written)? {
            Some(mut turns) => {
                if let Some(cluster) = arguments.cluster {
                    turns.cluster = cluster;
                }
                let tls = tls.clone();
                refuse_what_turns_have_not(joins, advertise.as_deref(), &members, listen)?;
                let listen = member_listen;
                EngineSettings::Peer(PeerSettings {
                    node,
                    members,
                    listen,
                    data,
                    tls,
                    is_insecure,
                    is_forgotten,
                    trace,
                    turns,
                })
            }
            None if only_turns => {
                let peer_only = "--cluster, --member-listen, --forgotten and --trace need --engine peer: add it, or \
                                 remove them";
                return Err(Failure::Usage(peer_only.into()));
            }
            None => {
                refuse_unlisted_node(node, &members)?;
                let (first_members, timing) = (members, config.timing().map_err(Failure::Usage)?);
                EngineSettings::Replicated(ReplicatedSettings { node, advertise, data, first_members, joins, timing })
            }
        };
        let settings = NodeSettings {
            listen,
            engine,
            tls,
            most_connections: connections(arguments.max_connections.or(config.limits.connections)),
            tokens: arguments.tokens.or(config.tokens),
            is_insecure,
        };
        refuse_open_doors(&settings)?;
        Ok(Plan {
            settings,
            log_format: arguments.log.or(config.log.format).unwrap_or(LogFormat::Text),
            log_filter: config.log.filter,
        })
    }
}

/// Refuses a member that is given twice: one of its addresses would be ignored.
fn members_once(members: Vec<(u64, String)>) -> Result<BTreeMap<u64, String>, Failure> {
    let mut found = BTreeMap::new();
    for (node, address) in members {
        if let Some(other) = found.insert(node, address) {
            return Err(Failure::Usage(format!(
                "member {node} is named twice, first with {other}: name each member once"
            )));
        }
    }
    Ok(found)
}

/// Refuses a node of the replicated engine that is not among the members it begins with.
fn refuse_unlisted_node(node: u64, members: &BTreeMap<u64, String>) -> Result<(), Failure> {
    if members.is_empty() || members.contains_key(&node) {
        return Ok(());
    }
    let ids: Vec<_> = members.keys().map(u64::to_string).collect();
    Err(Failure::Usage(format!(
        "node {node} is not among the members ({}): give its id with --node, or add it with --member {node}=HOST:PORT",
        ids.join(", ")
    )))
}

/// Refuses what the peer engine does not have: its members are a fixed list, with a port of their own.
fn refuse_what_turns_have_not(
    joins: bool,
    advertise: Option<&str>,
    members: &BTreeMap<u64, String>,
    listen: SocketAddr,
) -> Result<(), Failure> {
    let refused = if joins {
        "the peer engine has a fixed list of members, to which no node can be added: instead of --join, name all of \
         them with --member on every node"
    } else if advertise.is_some() {
        "with the peer engine, --member gives the address at which other nodes reach this node: leave out --advertise"
    } else if members.is_empty() {
        "the peer engine has a fixed list of members: name all of them with --member, this node included, as in \
         --member 1=127.0.0.1:7431"
    } else if listen.port() != 0 && members.values().any(|member| *member == listen.to_string()) {
        "with the peer engine, clients and members need different ports: --listen is the port for clients, and \
         --member the one for other nodes"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(refused.into()))
}

/// Refuses an address that other hosts can reach without TLS and authentication, unless --insecure allows it.
fn refuse_open_doors(settings: &NodeSettings) -> Result<(), Failure> {
    if settings.is_insecure {
        return Ok(());
    }
    let has_members = match &settings.engine {
        EngineSettings::Replicated(settings) => settings.joins || settings.first_members.len() > 1,
        // Its members have another port, for which `quorate_net` checks the same.
        EngineSettings::Peer(_) => false,
    };
    if settings.tokens.is_some() && settings.tls.is_none() && has_members {
        return Err(Failure::Usage(
            "--tokens authenticates clients, but without certificates any host could pose as a member: add --tls-ca, \
             --tls-cert and --tls-key (`quorate keys nodes` creates the files), or --insecure on a trusted network"
                .into(),
        ));
    }
    let missing = match (&settings.tls, &settings.tokens) {
        (Some(_), Some(_)) => return Ok(()),
        (None, None) => {
            "without TLS and authentication: add certificates (--tls-ca, --tls-cert, --tls-key) and tokens (--tokens), \
             which `quorate keys` creates"
        }
        (None, Some(_)) => {
            "without TLS: add certificates (--tls-ca, --tls-cert, --tls-key), which `quorate keys nodes` creates"
        }
        (Some(_), None) => "without authentication: add tokens (--tokens), which `quorate keys token` creates",
    };
    if settings.listen.ip().is_loopback() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "refusing to listen on {}, which other hosts can reach, {missing}; or listen on a loopback address, or add \
         --insecure on a trusted network",
        settings.listen
    )))
}

/// The maximum number of connections: what is wanted, within the limit of open files, which is raised if possible.
fn connections(wanted: Option<u32>) -> usize {
    let wanted = wanted.map_or(MOST_CONNECTIONS, |wanted| wanted as usize);
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Without it there are fewer connections.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let Some(files) = getrlimit(Resource::Nofile).current else { return wanted };
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    wanted.min(files.saturating_sub(OTHER_FILES).max(files / 4)).max(1)
}

pub(crate) fn run(arguments: Serve, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    if let Some(parent) = arguments.with_parent {
        super::process::end_with(parent)?;
    }
    let Plan { settings, log_format, log_filter } = Plan::of(arguments)?;
    logging::begin(log_format, log_filter.as_deref())?;
    run_node(serve(settings, terminal))
}

async fn serve(settings: NodeSettings, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    // Signals are handled before the node starts, so that a stop is always a clean one.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (node, directory) = (settings.engine.node(), settings.engine.data().display().to_string());
    let (tls, asks) = (settings.tls.clone(), settings.tokens.is_some());
    let (engine, joins, how) = match &settings.engine {
        EngineSettings::Replicated(settings) => ("replicated", settings.joins, String::new()),
        EngineSettings::Peer(settings) => {
            let (program, many) = (settings.turns.program(), settings.members.len());
            ("peer", false, format!("; peer engine: {program}, {many} members"))
        }
    };
    let running = Node::start(settings).await.map_err(|error| match error {
        NodeError::Join(JoinError::Config(error)) => Failure::Usage(in_options(&error.to_string())),
        error => Failure::Failed(in_options(&error.to_string())),
    })?;
    let address = running.address();
    if terminal.is_json() {
        let started = serde_json::json!({
            "node": node, "address": address.to_string(), "data": directory, "tls": tls.is_some(), "tokens": asks,
            "engine": engine,
        });
        terminal.print(&format!("{started}\n"))?;
    } else if joins {
        terminal.print(&format!(
            "node {node} listens on {address}, with its data in {directory}; it serves clients once it is a member\n\n\
             next   quorate member add {node}={address} --endpoints MEMBER:PORT   (unless it is a member already)\n\n\
             Ctrl-C stops it\n"
        ))?;
    } else {
        let (turns, page) = (how, format!("{}://{address}/", if tls.is_some() { "https" } else { "http" }));
        let (how, curl) = match &tls {
            Some(TlsFiles { ca, .. }) => {
                let ca = ca.display();
                (format!(" --ca {ca}"), format!("curl --cacert {ca} -X POST https://{address}"))
            }
            None => (String::new(), format!("curl -X POST {address}")),
        };
        let is_default = address.to_string() == DEFAULT_ADDRESS;
        let how = if is_default { how } else { format!(" --endpoints {address}{how}") };
        let (how, header) =
            if asks { (format!("{how} --token-file FILE"), " -H \"Authorization: Bearer $TOKEN\"") } else { (how, "") };
        terminal.print(&format!(
            "node {node} serves on {address}, with its data in {directory}{turns}\n\n\
             try    quorate lock{how} backup -- sleep 10\n       \
             {curl}/v1/locks/backup/acquire{header} -d '{{\"ttl\": \"30s\"}}'\n       \
             quorate locks{how}\n\
             see    {page}\n\nCtrl-C stops it\n"
        ))?;
    }
    let mut trouble = running.trouble();
    let failed = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        trouble = trouble.wait_for(Option::is_some) => trouble.ok().and_then(|trouble| trouble.clone()),
    };
    running.stop().await;
    match failed {
        Some(why) => Err(Failure::Failed(in_options(&why))),
        None => Ok(ExitCode::SUCCESS),
    }
}
