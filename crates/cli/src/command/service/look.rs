//! `quorate locks`, `quorate elections`, `quorate status` and `quorate release`.

use std::process::ExitCode;

use clap::Args;
use quorate_client::contract::{Election, Lock, Mode, Peer};
use quorate_client::user_name;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{DIM, HEADING, Terminal, styled};

use super::{Endpoints, failed, harmless, in_words, run_async};

const LOCKS_NOTES: &str = "\
Examples:
  List the locks that are held or waited for:
    quorate locks
  Show one lock as JSON:
    quorate locks backup --json";

const ELECTIONS_NOTES: &str = "\
Examples:
  List the elections that have a leader or candidates:
    quorate elections
  Show one election as JSON:
    quorate elections db --json";

const STATUS_NOTES: &str = "\
Examples:
  Show the state of the node on 127.0.0.1:7420:
    quorate status
  Show the state of another node:
    quorate status --endpoints 10.0.0.2:7420";

const RELEASE_NOTES: &str = "\
Examples:
  Release the lock `backup`:
    quorate release backup --force
  Release it only if the current grant has fence 17:
    quorate release backup --force --fence 17
  Remove the leader of the election `db`:
    quorate release db --election --force";

/// List locks with their holders and waiters
///
/// Shows the holders of each lock, for how long they have held it and with which fence, and the queue of waiters.
#[derive(Args, Debug)]
#[command(after_long_help = LOCKS_NOTES)]
pub(crate) struct Locks {
    /// Show this lock only [default: all locks that are held or waited for]
    name: Option<String>,

    #[command(flatten)]
    endpoints: Endpoints,
}

/// List elections with their leaders
///
/// Shows for each election the leader, the leader's value, the fence of its leadership, and the number of candidates
/// that wait.
#[derive(Args, Debug)]
#[command(after_long_help = ELECTIONS_NOTES)]
pub(crate) struct Elections {
    /// Show this election only [default: all elections with a leader or candidates]
    name: Option<String>,

    #[command(flatten)]
    endpoints: Endpoints,
}

/// Show the state of a node and of its cluster
///
/// Shows the first node of --endpoints that answers: its version, the leader of the cluster, the members as this node
/// sees them, and what is wrong, if anything is.
#[derive(Args, Debug)]
#[command(after_long_help = STATUS_NOTES)]
pub(crate) struct Status {
    #[command(flatten)]
    endpoints: Endpoints,
}

/// Release a lock, or remove a leader, by force
///
/// The former holder is not asked. It may still be working when the next client gets the lock; only a resource that
/// checks fences refuses its late writes. The release is logged, and reported by `quorate watch`.
#[derive(Args, Debug)]
#[command(after_long_help = RELEASE_NOTES, override_usage = "quorate release NAME --force [OPTIONS]")]
pub(crate) struct Release {
    /// Name of the lock, or of the election with --election
    name: Option<String>,

    /// NAME is an election: remove its leader
    #[arg(long)]
    election: bool,

    /// Required: confirms that the holder may lose the lock while it works
    #[arg(long)]
    force: bool,

    /// Name of the operator, for the log and for `quorate watch` [default: the user]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// Release it only if the current grant has this fence
    #[arg(long, value_name = "FENCE")]
    fence: Option<u64>,

    #[command(flatten)]
    endpoints: Endpoints,
}

pub(crate) fn locks(arguments: &Locks, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
    let found = run_async(async {
        match &arguments.name {
            Some(name) => client.lock(name).await.map(|lock| (vec![lock], 1, false)),
            None => client.locks().await.map(|locks| (locks.locks, locks.total, locks.here_only)),
        }
        .map_err(|error| failed(&error))
    });
    let (locks, total, here_only) = found?;
    if terminal.is_json() {
        match (&arguments.name, &locks[..]) {
            (Some(_), [lock]) => terminal.print_json(lock)?,
            _ => terminal.print_json(&serde_json::json!({ "locks": locks, "total": total }))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let none =
        if here_only { "no client of this node holds or waits for a lock" } else { "no lock is held or waited for" };
    terminal.print(&all(none, locks.iter().map(shown), total))?;
    Ok(ExitCode::SUCCESS)
}

/// The entries that are shown, and how many are not.
fn all(none: &str, shown: impl ExactSizeIterator<Item = String>, total: u64) -> String {
    let more = total.saturating_sub(shown.len() as u64);
    let mut text: String = shown.collect();
    if text.is_empty() {
        text = format!("{none}\n");
    }
    if more > 0 {
        text.push_str(&format!("… and {more} more\n"));
    }
    text
}

pub(crate) fn elections(arguments: &Elections, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
    let found = run_async(async {
        match &arguments.name {
            Some(name) => client.election(name).await.map(|election| (vec![election], 1, false)),
            None => client.elections().await.map(|found| (found.elections, found.total, found.here_only)),
        }
        .map_err(|error| failed(&error))
    });
    let (elections, total, here_only) = found?;
    if terminal.is_json() {
        match (&arguments.name, &elections[..]) {
            (Some(_), [election]) => terminal.print_json(election)?,
            _ => terminal.print_json(&serde_json::json!({ "elections": elections, "total": total }))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let none = if here_only {
        "no client of this node leads or is a candidate"
    } else {
        "no election has a leader or candidates"
    };
    terminal.print(&all(none, elections.iter().map(led), total))?;
    Ok(ExitCode::SUCCESS)
}

fn led(election: &Election) -> String {
    let mut text = format!("{}\n", styled(HEADING, &harmless(&election.name)));
    match &election.leader {
        None if election.here_only => {
            text.push_str("  no client of this node leads; clients of other nodes are not known here\n");
        }
        None => text.push_str("  no leader\n"),
        Some(leader) => {
            let session = styled(DIM, &format!("session {}", leader.session));
            let (label, value) = (harmless(&leader.label), harmless(&leader.value));
            text.push_str(&format!("  leader {label}, fence {}, value {value}  {session}\n", leader.fence));
        }
    }
    if election.waiting > 0 {
        text.push_str(&format!("  {} waiting\n", election.waiting));
    }
    text
}

fn shown(lock: &Lock) -> String {
    let mut text = format!("{}\n", styled(HEADING, &harmless(&lock.name)));
    if lock.holders.is_empty() {
        let delay = lock
            .delay_ms
            .map_or(String::new(), |ms| format!(", not granted until the lock delay of {} ends", in_words(ms)));
        let held = if lock.here_only { "not held by a client of this node" } else { "not held" };
        text.push_str(&format!("  {held}{delay}\n"));
    }
    for holder in &lock.holders {
        let (label, held, fence) = (harmless(&holder.label), in_words(holder.held_ms), holder.fence);
        let session = styled(DIM, &format!("session {}", holder.session));
        text.push_str(&format!("  held{} by {label} for {held}, fence {fence}  {session}\n", sharing(holder.mode)));
    }
    for (place, waiter) in lock.waiters.iter().enumerate() {
        let session = styled(DIM, &format!("session {}", waiter.session));
        let (label, waited) = (harmless(&waiter.label), in_words(waiter.waited_ms));
        text.push_str(&format!(
            "  {:>3}. {label} has waited{} for {waited}  {session}\n",
            place + 1,
            sharing(waiter.mode)
        ));
    }
    let more = lock.waiting - lock.waiters.len() as u64;
    if more > 0 {
        text.push_str(&format!("       … and {more} more\n"));
    }
    text
}

fn sharing(mode: Mode) -> String {
    match mode {
        Mode::Exclusive => String::new(),
        Mode::Shared => " (shared)".into(),
        Mode::Permits(of) => format!(" (1 of {of} permits)"),
    }
}

pub(crate) fn status(arguments: &Status, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
    let status = run_async(async { client.status().await.map_err(|error| failed(&error)) })?;
    if terminal.is_json() {
        terminal.print_json(&status)?;
        return Ok(ExitCode::SUCCESS);
    }
    let leader = status.leader.map_or("no leader".into(), |leader| format!("leader: node {leader}"));
    let (node, version, term) = (status.node, &status.version, status.term);
    let (applied, sessions, locks) = (status.applied, status.sessions, status.locks);
    let counts = format!("{applied} log entries applied, {sessions} sessions, {locks} locks and elections");
    let mut text = match &status.turns {
        None => format!("node {node}, version {version}; {leader}, term {term}\n{counts}\n"),
        Some(turns) => {
            let terms = turns.terms.as_deref().unwrap_or("this node has left its group; its log says why");
            format!("node {node}, version {version}; peer engine; {leader}\n{terms}\n{counts} of its own clients\n")
        }
    };
    for member in &status.members {
        let peers = status.turns.iter().flat_map(|turns| &turns.peers);
        let peer = peers.into_iter().find(|peer| peer.node == member.node).map(met);
        let is_this = status.turns.is_some() && member.node == node;
        let how = match peer {
            Some(peer) => peer,
            None if is_this => "  this node".into(),
            None if member.votes => String::new(),
            None => "  learner, does not vote yet".into(),
        };
        let silent = member.silent_ms.map_or(String::new(), |silent| format!("  no answer for {} s", silent / 1000));
        let how = how + &silent;
        text.push_str(&format!("  node {}  {}{how}\n", member.node, member.address));
    }
    if let Some(trouble) = &status.trouble {
        text.push_str(&format!("{trouble}\n"));
    }
    terminal.print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The state of another node, as the node that answered sees it.
fn met(peer: &Peer) -> String {
    let is_there = if peer.connected { "connected" } else { "not connected" };
    let suspected = if peer.suspected { ", suspected" } else { "" };
    let round_trip = peer.round_trip_us.filter(|_| peer.connected);
    let round_trip = round_trip.map_or(String::new(), |us| format!(", round trip {:.1} ms", us as f64 / 1000.0));
    let failure = peer.failure.as_ref().map_or(String::new(), |failure| format!(": {failure}"));
    format!("  {is_there}{suspected}{round_trip}{failure}")
}

pub(crate) fn release(arguments: &Release, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Release { name, election, force, by, fence, endpoints } = arguments;
    let (thing, list) = if *election { ("election", "elections") } else { ("lock", "locks") };
    let Some(name) = name else {
        return Err(Failure::Usage(format!(
            "the name of the {thing} is missing: quorate release NAME{} --force (`quorate {list}` lists them)",
            if *election { " --election" } else { "" }
        )));
    };
    if !force {
        return Err(Failure::Usage(format!(
            "the holder of {thing} {name} may still be working: add --force to release it all the same"
        )));
    }
    let client = endpoints.client().map_err(|error| failed(&error))?;
    let by = by.clone().unwrap_or_else(user_name);
    run_async(async {
        let forced = match election {
            true => client.force_resignation(name, &by, *fence).await,
            false => client.force(name, &by, *fence).await,
        };
        forced.map_err(|error| failed(&error))
    })?;
    if terminal.is_json() {
        terminal.print_json(&serde_json::json!({ "name": name, "released": true, "by": by }))?;
    } else if *election {
        terminal.print(&format!("removed the leader of election {name}\n"))?;
    } else {
        terminal.print(&format!("released lock {name}; its former holder may still be working\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
