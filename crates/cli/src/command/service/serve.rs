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

use super::config::{Config, member};
use super::logging::{self, LogFormat};
use super::option_names::in_options;
use super::run_node;
use super::turns::Turns;

/// Where the data is kept unless told otherwise.
const DEFAULT_DATA: &str = "quorate-data";
/// So many files a node may need besides those of its connections.
const OTHER_FILES: usize = 512;

/// Serve locks and elections: one durable node by default
///
/// With --engine peer the nodes take turns by an algorithm, each for its own clients, without a leader and without a
/// log. Sessions then end with their node and do not survive its restart; there are no shared locks, permits, delays
/// and backups. --member then says where the nodes speak with each other, and --listen where clients do.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// A file that says all this; options come before it. An example is packaging/node.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Where to listen, for clients and, unless they take turns, for other nodes [default: 127.0.0.1:7420]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    listen: Option<SocketAddr>,

    /// Where to keep the data [default: quorate-data]
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

    /// The number of this node within its cluster [default: 1]
    #[arg(long, visible_alias = "id", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    node: Option<u64>,

    /// A member of the cluster that begins now, or takes turns, this node included; repeat for each
    #[arg(long, value_name = "N=ADDRESS", value_parser = parse_member)]
    member: Vec<(u64, String)>,

    /// Wait to be added to a cluster that exists (`quorate member add`)
    #[arg(long, conflicts_with = "member")]
    join: bool,

    /// Where other nodes reach this one, if that is not where it listens
    #[arg(long, value_name = "ADDRESS")]
    advertise: Option<String>,

    #[command(flatten)]
    turns: Turns,

    /// The name of the group: nodes of others are refused [default: quorate]
    #[arg(long, value_name = "NAME", help_heading = "Taking turns")]
    cluster: Option<String>,

    /// Where to listen for other nodes, if that is not where --member says that they reach this one
    #[arg(long, value_name = "ADDRESS", help_heading = "Taking turns")]
    member_listen: Option<String>,

    /// The data directory was lost, or is only a copy: join as one that comes back and has forgotten what it promised
    #[arg(long, help_heading = "Taking turns")]
    forgotten: bool,

    /// Write down what happens to this node, for `quorate judge` (docs/traces.md); a node that starts again adds to it
    #[arg(long, value_name = "FILE", help_heading = "Taking turns")]
    trace: Option<PathBuf>,

    /// The certificate of the cluster's authority: encrypts, and members must show theirs (`quorate keys nodes`)
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    tls_ca: Option<PathBuf>,

    /// This node's certificate
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    tls_cert: Option<PathBuf>,

    /// The key of this node's certificate
    #[arg(long, value_name = "FILE", requires = "tls_ca")]
    tls_key: Option<PathBuf>,

    /// Who may do what: asks every client for a token (`quorate keys token`); read again on change
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// Listen on an address that others can reach although not everything is encrypted and everybody asked
    #[arg(long)]
    insecure: bool,

    /// How the log on the standard error looks [default: text]; what is in it, QUORATE_LOG says (info, debug, …)
    #[arg(long, value_name = "FORMAT", value_enum)]
    log: Option<LogFormat>,

    /// So many connections there may be [default: 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: Option<u32>,

    /// End when this process has ended, which started the node
    #[arg(long, value_name = "PID", hide = true)]
    with_parent: Option<u32>,
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an IP address and a port, as in 127.0.0.1:7420 or [::1]:7420".into())
}

pub(super) fn parse_member(text: &str) -> Result<(u64, String), String> {
    let explain = || format!("{text:?}: write the member's number and its address, as in 2=10.0.0.2:7420");
    let (node, address) = text.split_once('=').ok_or_else(explain)?;
    member(node, address).ok_or_else(explain)
}

/// What there is to know before a node starts.
struct Plan {
    settings: NodeSettings,
    log_format: LogFormat,
    log_filter: Option<String>,
}

impl Plan {
    /// What the options say, and where they say nothing, the file.
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
                let for_turns = "--cluster, --member-listen, --forgotten and --trace are for --engine peer: say that, \
                                 or leave them out";
                return Err(Failure::Usage(for_turns.into()));
            }
            None => {
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

/// Who is named twice would be forgotten once.
fn members_once(members: Vec<(u64, String)>) -> Result<BTreeMap<u64, String>, Failure> {
    let mut found = BTreeMap::new();
    for (node, address) in members {
        if let Some(other) = found.insert(node, address) {
            return Err(Failure::Usage(format!("member {node} is named twice, first at {other}: name each once")));
        }
    }
    Ok(found)
}

/// Nodes that take turns are a fixed list, and have a port for each other.
fn refuse_what_turns_have_not(
    joins: bool,
    advertise: Option<&str>,
    members: &BTreeMap<u64, String>,
    listen: SocketAddr,
) -> Result<(), Failure> {
    let refused = if joins {
        "the nodes of the peer engine are a fixed list, to which nobody is added: name all with --member on each"
    } else if advertise.is_some() {
        "with the peer engine --member says where other nodes reach this one: leave out --advertise"
    } else if members.is_empty() {
        "the nodes of the peer engine are a fixed list: name all with --member, this one included, as in --member \
         1=127.0.0.1:7431"
    } else if listen.port() != 0 && members.values().any(|member| *member == listen.to_string()) {
        "with the peer engine clients and members have ports of their own: --listen is for clients, and --member is \
         where the nodes speak with each other"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(refused.into()))
}

/// Where others can come, everything is encrypted and everybody is asked who they are, unless that is not wanted.
fn refuse_open_doors(settings: &NodeSettings) -> Result<(), Failure> {
    if settings.is_insecure {
        return Ok(());
    }
    let has_members = match &settings.engine {
        EngineSettings::Replicated(settings) => settings.joins || settings.first_members.len() > 1,
        // They speak with each other elsewhere, and see to that themselves.
        EngineSettings::Peer(_) => false,
    };
    if settings.tokens.is_some() && settings.tls.is_none() && has_members {
        return Err(Failure::Usage(
            "clients would be asked who they are, and members believed: give certificates, too (`quorate keys nodes`, \
             --tls-ca, …), or say --insecure if the network is yours alone"
                .into(),
        ));
    }
    let missing = match (&settings.tls, &settings.tokens) {
        (Some(_), Some(_)) => return Ok(()),
        (None, None) => {
            "nothing would be encrypted and nobody asked who they are: give certificates and tokens (`quorate keys`)"
        }
        (None, Some(_)) => "nothing would be encrypted: give certificates (`quorate keys nodes`, --tls-ca, …)",
        (Some(_), None) => "nobody would be asked who they are: give tokens (`quorate keys token`, --tokens)",
    };
    if settings.listen.ip().is_loopback() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} can be reached from elsewhere, and {missing}, listen on a loopback address, or say --insecure if the \
         network is yours alone",
        settings.listen
    )))
}

/// How many connections there may be, as the system has so many files to give; as many as it lets us have.
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
    // Listened to before anything is promised, so that a stop is always a clean one.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (node, directory) = (settings.engine.node(), settings.engine.data().display().to_string());
    let (tls, asks) = (settings.tls.clone(), settings.tokens.is_some());
    let (engine, joins, how) = match &settings.engine {
        EngineSettings::Replicated(settings) => ("replicated", settings.joins, String::new()),
        EngineSettings::Peer(settings) => {
            let (program, many) = (settings.turns.program(), settings.members.len());
            ("peer", false, format!("; takes turns with {} others by {program}", many - 1))
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
            "node {node} listens on {address}, with its data in {directory}; it serves once it is a member\n\n\
             next   quorate member add {node}={address} --endpoints A-MEMBER:PORT   (unless it is one already)\n\n\
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
