//! `quorate locks`, `quorate elections`, `quorate status`, `quorate release`: look, and interfere.

use std::process::ExitCode;

use clap::Args;
use quorate_client::contract::{Election, Lock, Mode, Peer};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{DIM, HEADING, Terminal, styled};

use super::{Endpoints, failed, harmless, in_words, run_async};

/// Show locks: who holds them, since when, who waits
#[derive(Args, Debug)]
pub(crate) struct Locks {
    /// One lock; by default all that somebody holds or awaits
    name: Option<String>,

    #[command(flatten)]
    endpoints: Endpoints,
}

/// Show elections: who leads, what it says, how many wait
#[derive(Args, Debug)]
pub(crate) struct Elections {
    /// One election; by default all in which somebody leads or waits
    name: Option<String>,

    #[command(flatten)]
    endpoints: Endpoints,
}

/// Show how a node is, and who leads
#[derive(Args, Debug)]
pub(crate) struct Status {
    #[command(flatten)]
    endpoints: Endpoints,
}

/// Take a lock or leadership away from whoever has it
#[derive(Args, Debug)]
pub(crate) struct Release {
    /// The lock's name
    name: String,

    /// It is the name of an election
    #[arg(long)]
    election: bool,

    /// Really: its holder may be at work, and only a fence keeps it from doing harm
    #[arg(long, required = true)]
    force: bool,

    /// Who does it, for the record; by default the user
    #[arg(long, value_name = "WHO")]
    by: Option<String>,

    /// The fence of the grant that is meant: if somebody else has it by then, nothing is taken away
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
        if here_only { "no client of this node holds or awaits a lock" } else { "nobody holds or awaits a lock" };
    terminal.print(&all(none, locks.iter().map(shown), total))?;
    Ok(ExitCode::SUCCESS)
}

/// Those that are shown, and how many are not.
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
    let none =
        if here_only { "no client of this node leads or waits to lead" } else { "nobody leads or waits to lead" };
    terminal.print(&all(none, elections.iter().map(led), total))?;
    Ok(ExitCode::SUCCESS)
}

fn led(election: &Election) -> String {
    let mut text = format!("{}\n", styled(HEADING, &harmless(&election.name)));
    match &election.leader {
        None if election.here_only => {
            text.push_str("  no client of this node leads; who leads at others is not known\n");
        }
        None => text.push_str("  nobody leads\n"),
        Some(leader) => {
            let session = styled(DIM, &format!("session {}", leader.session));
            let (label, value) = (harmless(&leader.label), harmless(&leader.value));
            text.push_str(&format!("  {label} leads, fence {}: {value}  {session}\n", leader.fence));
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
        let delay = lock.delay_ms.map_or(String::new(), |ms| format!(", and nobody gets it for {}", in_words(ms)));
        let nobody = if lock.here_only { "no client of this node" } else { "nobody" };
        text.push_str(&format!("  {nobody} holds it{delay}\n"));
    }
    for holder in &lock.holders {
        let (label, held, fence) = (harmless(&holder.label), in_words(holder.held_ms), holder.fence);
        let session = styled(DIM, &format!("session {}", holder.session));
        text.push_str(&format!("  held{} by {label} for {held}, fence {fence}  {session}\n", sharing(holder.mode)));
    }
    for (place, waiter) in lock.waiters.iter().enumerate() {
        let session = styled(DIM, &format!("session {}", waiter.session));
        let (label, waited) = (harmless(&waiter.label), in_words(waiter.waited_ms));
        text.push_str(&format!("  {:>3}. {label} waits{} for {waited}  {session}\n", place + 1, sharing(waiter.mode)));
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
    let leader = status.leader.map_or("nobody leads".into(), |leader| format!("node {leader} leads"));
    let (node, version, term) = (status.node, &status.version, status.term);
    let (applied, sessions, locks) = (status.applied, status.sessions, status.locks);
    let counts = format!("{applied} commands applied, {sessions} sessions, {locks} locks and elections");
    let mut text = match &status.turns {
        None => format!("node {node}, version {version}; {leader} in term {term}\n{counts}\n"),
        Some(turns) => {
            let terms = turns.terms.as_deref().unwrap_or("it has stopped to take part: its log says why");
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
            None => "  learns, does not vote yet".into(),
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

/// How another node is, as the one that was asked knows it.
fn met(peer: &Peer) -> String {
    let is_there = if peer.connected { "connected" } else { "not connected" };
    let suspected = if peer.suspected { ", taken for dead" } else { "" };
    let round_trip = peer.round_trip_us.filter(|_| peer.connected);
    let round_trip = round_trip.map_or(String::new(), |us| format!(", {:.1} ms there and back", us as f64 / 1000.0));
    let failure = peer.failure.as_ref().map_or(String::new(), |failure| format!(": {failure}"));
    format!("  {is_there}{suspected}{round_trip}{failure}")
}

pub(crate) fn release(arguments: &Release, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    debug_assert!(arguments.force, "it is required");
    let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
    let by = arguments.by.clone().or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "somebody".into());
    let Release { name, election, fence, .. } = arguments;
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
        terminal.print(&format!("the lead of {name} was taken away from its leader\n"))?;
    } else {
        terminal.print(&format!("{name} was taken away from its holder\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
