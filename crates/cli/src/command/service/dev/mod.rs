//! `quorate dev`: a cluster of real processes on this machine, to try things on.

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

/// How often to look who leads, and who has ended.
const GLANCE: Duration = Duration::from_millis(200);

/// A local cluster of real processes: kill, pause and restart nodes by a key
///
/// Shows who leads as it changes. While it runs, type a letter and the number of a node: k2 kills node 2 (kill -9), p2
/// pauses it (SIGSTOP), c2 lets it go on, r2 starts it again on its data; q quits, as Ctrl-C does. Where input is not a
/// terminal, the same is read from it. Nothing is left running, however this process ends.
#[derive(Args, Debug)]
pub(crate) struct Dev {
    /// How many nodes
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=9))]
    nodes: u16,

    /// The port of the first node; the others follow. 0 means any that are free
    #[arg(long, value_name = "PORT", default_value_t = 7420)]
    port: u16,

    /// Where to keep the data, and the ports with them; by default in a temporary directory that is deleted in the end
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

    #[command(flatten)]
    turns: Turns,
}

/// Says what happens, to people or to programs.
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
                self.say(&styled(HEADING, &format!("node {node} leads")), &event)
            }
            Some((node, term)) => {
                let event = json!({ "event": "leader", "node": node, "term": term });
                self.say(&styled(HEADING, &format!("node {node} leads, in term {term}")), &event)
            }
            None => self.say("nobody leads", &json!({ "event": "leader", "node": null })),
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
    let lived = live(&mut nodes, &data.display().to_string(), temporary.is_some(), &mut reporter).await;
    // Whatever has happened, nobody is left behind.
    nodes.end(temporary.is_none()).await;
    lived.map(|()| ExitCode::SUCCESS)
}

/// Starts all, and does what is wanted until it is enough.
async fn live(nodes: &mut Nodes, data: &str, is_temporary: bool, reporter: &mut Reporter<'_>) -> Result<(), Failure> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hangup = signal(SignalKind::hangup())?;
    let addresses = nodes.addresses();
    for node in 1..=nodes.len() {
        let pid = nodes.start(node).await?;
        reporter.started(node, &addresses[node - 1], pid)?;
    }
    let endpoints = addresses.join(",");
    let fate = if is_temporary { ", deleted in the end" } else { "" };
    let (program, to_try) = match nodes.turns() {
        None => (None, format!("try   QUORATE_ENDPOINTS={endpoints} quorate lock backup -- sleep 10")),
        // Each client has its session at one node, and meets those of the others at the lock.
        Some(turns) => {
            let at = |address: &String| format!("quorate lock -e {address} backup -- sleep 10");
            let lines: Vec<_> = addresses.iter().take(2).map(at).collect();
            let program = turns.program();
            (Some(program.clone()), format!("they take turns by {program}\n\ntry   {}", lines.join("\n      ")))
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
                    reporter.node(node, "died", &format!("has died ({how}); r{node} starts it again"))?;
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
            reporter.0.warn(&format!("there is no node {node}: they are numbered from 1 to {}", addresses.len()));
            Ok(())
        }
        Wish::Kill(node) if nodes.kill(node).await => reporter.node(node, "killed", "is killed"),
        Wish::Kill(node) => refuse(reporter, node, "is dead already"),
        Wish::Pause(node) if nodes.pause(node, true) => reporter.node(node, "paused", "is paused"),
        Wish::Pause(node) => refuse(reporter, node, "does not run"),
        Wish::Continue(node) if nodes.pause(node, false) => reporter.node(node, "continued", "goes on"),
        Wish::Continue(node) => refuse(reporter, node, "is not paused"),
        Wish::Restart(node) if nodes.runs(node) => refuse(reporter, node, &format!("runs: k{node} kills it first")),
        Wish::Restart(node) => match nodes.start(node).await {
            Ok(pid) => reporter.started(node, &addresses[node - 1], pid),
            // The others go on; it can be tried again.
            Err(failure) => refuse(reporter, node, &format!("does not start: {failure}")),
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
