//! `quorate serve`: a node of the service.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use quorate_client::contract::DEFAULT_ADDRESS;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use quorate_server::node::{Node, NodeSettings};
use quorate_server::raft::Timing;
use tokio::signal::unix::{SignalKind, signal};

use super::logging::{self, LogFormat};
use super::run_node;

/// Serve locks and elections: one durable node by default
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Where to listen, for clients and for other nodes
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    listen: SocketAddr,

    /// Where to keep the data
    #[arg(long, value_name = "DIRECTORY", default_value = "quorate-data")]
    data: PathBuf,

    /// The number of this node within its cluster
    #[arg(long, value_name = "N", default_value_t = 1)]
    node: u64,

    /// A member of the cluster that begins now, this node included; repeat for each
    #[arg(long, value_name = "N=ADDRESS", value_parser = member)]
    member: Vec<(u64, String)>,

    /// Wait to be added to a cluster that exists (`quorate member add`)
    #[arg(long, conflicts_with = "member")]
    join: bool,

    /// Where other nodes reach this one, if that is not where it listens
    #[arg(long, value_name = "ADDRESS")]
    advertise: Option<String>,

    /// Listen on an address that others can reach although nothing is encrypted and nobody is asked who they are
    #[arg(long)]
    insecure: bool,

    /// How the log on the standard error looks; what is in it, the variable QUORATE_LOG says (info, debug, …)
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log: LogFormat,

    /// End when this process has ended, which started the node
    #[arg(long, value_name = "PID", hide = true)]
    with_parent: Option<u32>,
}

pub(super) fn member(text: &str) -> Result<(u64, String), String> {
    let explain = || format!("{text:?}: write the member's number and its address, as in 2=10.0.0.2:7420");
    let (node, address) = text.split_once('=').ok_or_else(explain)?;
    let node = node.parse().map_err(|_| explain())?;
    if address.contains(':') { Ok((node, address.into())) } else { Err(explain()) }
}

pub(crate) fn run(arguments: Serve, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    if let Some(parent) = arguments.with_parent {
        super::process::end_with(parent)?;
    }
    if !arguments.listen.ip().is_loopback() && !arguments.insecure {
        return Err(Failure::Usage(format!(
            "{} can be reached from elsewhere, and nothing would be encrypted and nobody asked who they are: listen on \
             a loopback address, or say --insecure if the network is yours alone",
            arguments.listen
        )));
    }
    logging::begin(arguments.log);
    run_node(serve(arguments, terminal))
}

async fn serve(arguments: Serve, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Serve { listen, data, node, member, join, advertise, .. } = arguments;
    let directory = data.display().to_string();
    let settings = NodeSettings {
        node,
        listen,
        advertise,
        data,
        first_members: member.into_iter().collect(),
        joins: join,
        timing: Timing::default(),
    };
    // Listened to before anything is promised, so that a stop is always a clean one.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let node_number = settings.node;
    let running = Node::start(settings).await.map_err(|error| Failure::Failed(error.to_string()))?;
    let address = running.address();
    if terminal.is_json() {
        let started = serde_json::json!({ "node": node_number, "address": address.to_string(), "data": directory });
        terminal.print(&format!("{started}\n"))?;
    } else {
        terminal.print(&format!(
            "node {node_number} serves on {address}, with its data in {directory}\n\n\
             try    quorate lock backup -- sleep 10\n       \
             curl -X POST {address}/v1/locks/backup/acquire -d '{{\"ttl\": \"30s\"}}'\n       \
             quorate locks\n\nCtrl-C stops it\n"
        ))?;
    }
    let mut trouble = running.service.engine().trouble();
    let failed = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        trouble = trouble.wait_for(Option::is_some) => trouble.ok().and_then(|trouble| trouble.clone()),
    };
    running.stop().await;
    match failed {
        Some(why) => Err(Failure::Failed(why)),
        None => Ok(ExitCode::SUCCESS),
    }
}
