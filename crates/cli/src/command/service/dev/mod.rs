//! `quorate dev`: a cluster of real processes on this machine, to try things with.

mod keys;
mod nodes;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{HEADING, Terminal, styled};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use keys::{EachKey, KEYS, Wish};
use nodes::{Leader, Nodes};

use super::process::TemporaryDirectory;
use super::run_async;
use super::turns::Turns;

/// How often to check the leader and the processes.
const GLANCE: Duration = Duration::from_millis(200);

const NOTES: &str = "\
Examples:
  Run three nodes on ports 7420, 7421 and 7422, and delete their data at the end:
    quorate dev
  Run five nodes, and keep their data for the next time:
    quorate dev --nodes 5 --data ./cluster
  Run three nodes with the peer engine:
    quorate dev --algorithm token-ring";

/// Run a local cluster, and kill, pause and restart its nodes by keys
///
/// Prints the leader whenever it changes. While the cluster runs, type a letter and the number of a node: k2 kills node
/// 2 (SIGKILL), p2 pauses it (SIGSTOP), c2 continues it, r2 restarts it with its data; q quits, as Ctrl-C does. The
/// same letters are read from an input that is not a terminal. All nodes exit when this process exits.
#[derive(Args, Debug)]
#[command(after_long_help = NOTES)]
pub(crate) struct Dev {
    /// Number of nodes
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=9))]
    nodes: u16,

    /// Port of the first node; the other nodes use the next ports. 0 chooses free ports
    #[arg(long, value_name = "PORT", default_value_t = 7420)]
    port: u16,

    /// Keep the data and the ports in this directory [default: a temporary directory, deleted at the end]
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

    #[command(flatten)]
    turns: Turns,
}

/// Prints what happens, as text or as JSON.
struct Reporter<'t>(&'t mut Terminal);

impl Reporter<'_> {
    fn say(&mut self, text: &str, event: &Value) -> Result<(), Failure> {
        let line = if self.0.is_json() { format!("{event}\n") } else { format!("{text}\n") };
        Ok(self.0.print(&line)?)
    }

    fn started(&mut self, node: usize, address: &str, pid: u32) -> Result<(), Failure> {
        let event = json!({ "event": "started", "node": node, "address": address, "pid": pid });
        self.say(&format!("node {node}  {address}  process {pid}"), &event)
    }

    fn node(&mut self, node: usize, what: &str, words: &str) -> Result<(), Failure> {
        self.say(&format!("node {node} {words}"), &json!({ "event": what, "node": node }))
    }

    fn leader(&mut self, leader: Leader, takes_turns: bool) -> Result<(), Failure> {
        match leader {
            Some((node, _)) if takes_turns => {
                let event = json!({ "event": "leader", "node": node });
                self.say(&styled(HEADING, &format!("leader: node {node}")), &event)
            }
            Some((node, term)) => {
                let event = json!({ "event": "leader", "node": node, "term": term });
                self.say(&styled(HEADING, &format!("leader: node {node}, term {term}")), &event)
            }
            None => self.say("no leader", &json!({ "event": "leader", "node": null })),
        }
    }
}

pub(crate) fn run(arguments: Dev, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    run_async(dev(arguments, terminal))
}

async fn dev(arguments: Dev, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let temporary = if arguments.data.is_none() { Some(TemporaryDirectory::new("dev")?) } else { None };
    let data = arguments.data.or_else(|| temporary.as_ref().map(|temporary| temporary.path().into()));
    let data = data.unwrap_or_default();
    std::fs::create_dir_all(&data).map_err(|error| Failure::File { path: data.display().to_string(), error })?;
    let turns = arguments.turns.settle(None, None)?;
    let mut nodes = Nodes::at(arguments.port, arguments.nodes, &data, turns)?;
    let mut reporter = Reporter(terminal);
    let outcome = live(&mut nodes, &data.display().to_string(), temporary.is_some(), &mut reporter).await;
    // Whatever has happened, no process is left behind.
    nodes.end(temporary.is_none()).await;
    outcome.map(|()| ExitCode::SUCCESS)
}

/// Starts all nodes, and obeys the keys until it is to stop.
async fn live(nodes: &mut Nodes, data: &str, is_temporary: bool, reporter: &mut Reporter<'_>) -> Result<(), Failure> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hangup = signal(SignalKind::hangup())?;
    let addresses = nodes.addresses();
    for node in 1..=nodes.len() {
        let pid = nodes.start(node).await?;
        reporter.started(node, &addresses[node - 1], pid)?;
    }
    let endpoints = addresses.join(",");
    let fate = if is_temporary { ", deleted at the end" } else { "" };
    let (program, to_try) = match nodes.turns() {
        None => (None, format!("try   QUORATE_ENDPOINTS={endpoints} quorate lock backup -- sleep 10")),
        // A client has its session at one node; clients of different nodes compete for the lock.
        Some(turns) => {
            let at = |address: &String| format!("quorate lock -e {address} backup -- sleep 10");
            let lines: Vec<_> = addresses.iter().take(2).map(at).collect();
            let program = turns.program();
            (Some(program.clone()), format!("peer engine: {program}\n\ntry   {}", lines.join("\n      ")))
        }
    };
    let page = format!("http://{}/", addresses[0]);
    let text = format!("data in {data}{fate}\n\n{to_try}\nsee   {page}\nkeys  {KEYS}\n");
    reporter.say(&text, &json!({ "event": "ready", "endpoints": endpoints, "data": data, "algorithm": program }))?;

    let _each_key = EachKey::begin();
    let (mut wishes, mut has_input) = (keys::read(), true);
    let mut glances = interval(GLANCE);
    glances.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut leader = None;
    loop {
        tokio::select! {
            wish = wishes.recv(), if has_input => match wish {
                Some(Wish::Quit) => return Ok(()),
                Some(wish) => fulfil(wish, nodes, &addresses, reporter).await?,
                None => has_input = false,
            },
            _ = glances.tick() => {
                for (node, how) in nodes.ended() {
                    reporter.node(node, "died", &format!("exited ({how}); r{node} restarts it"))?;
                }
                let now = nodes.leader().await;
                if now != leader {
                    reporter.leader(now, nodes.turns().is_some())?;
                    leader = now;
                }
            }
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
            _ = hangup.recv() => return Ok(()),
        }
    }
}

async fn fulfil(
    wish: Wish,
    nodes: &mut Nodes,
    addresses: &[String],
    reporter: &mut Reporter<'_>,
) -> Result<(), Failure> {
    let no_such = |node: usize| node > addresses.len();
    match wish {
        Wish::Kill(node) | Wish::Pause(node) | Wish::Continue(node) | Wish::Restart(node) if no_such(node) => {
            reporter.0.warn(&format!("there is no node {node}: the nodes are numbered 1 to {}", addresses.len()));
            Ok(())
        }
        Wish::Kill(node) if nodes.kill(node).await => reporter.node(node, "killed", "killed"),
        Wish::Kill(node) => refuse(reporter, node, "is not running"),
        Wish::Pause(node) if nodes.pause(node, true) => reporter.node(node, "paused", "paused"),
        Wish::Pause(node) => refuse(reporter, node, "is not running, or is paused already"),
        Wish::Continue(node) if nodes.pause(node, false) => reporter.node(node, "continued", "continued"),
        Wish::Continue(node) => refuse(reporter, node, "is not paused"),
        Wish::Restart(node) if nodes.runs(node) => refuse(reporter, node, &format!("is running: k{node} kills it")),
        Wish::Restart(node) => match nodes.start(node).await {
            Ok(pid) => reporter.started(node, &addresses[node - 1], pid),
            // The other nodes continue, and the user can try again.
            Err(failure) => refuse(reporter, node, &format!("did not start: {failure}")),
        },
        Wish::Explain | Wish::Quit => {
            reporter.0.warn(KEYS);
            Ok(())
        }
    }
}

fn refuse(reporter: &Reporter<'_>, node: usize, why: &str) -> Result<(), Failure> {
    reporter.0.warn(&format!("node {node} {why}"));
    Ok(())
}
