//! `quorate member`: who belongs to the cluster, and how that changes.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use quorate_client::contract::EngineKind;
use quorate_client::{Client, Error};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{Progress, Table, Terminal};
use serde_json::json;
use tokio::time::sleep;

use super::{Endpoints, failed, harmless, run_async};

/// How often to look how far a new member is.
const GLANCE: Duration = Duration::from_millis(500);

/// Show or change who belongs to the cluster
#[derive(Args, Debug)]
pub(crate) struct Member {
    #[command(subcommand)]
    change: Change,
}

#[derive(Subcommand, Debug)]
enum Change {
    /// Show the members: who votes, who still learns, who leads
    List(List),
    /// Add a member: it learns everything first, and votes when it has caught up
    ///
    /// It must run already, on an empty data directory: `quorate serve --node N --listen ADDRESS --join`. A number is
    /// used once: a member that has lost its disk comes back under another one.
    Add(Add),
    /// Remove a member
    ///
    /// Its process runs on, and takes no part any more: stop it. Its number is not used again.
    Remove(Remove),
}

#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    endpoints: Endpoints,
}

#[derive(Args, Debug)]
struct Add {
    /// Its number and where the others reach it, as in 4=10.0.0.4:7420
    #[arg(value_name = "N=ADDRESS", value_parser = super::serve::parse_member)]
    member: (u64, String),

    #[command(flatten)]
    endpoints: Endpoints,
}

#[derive(Args, Debug)]
struct Remove {
    /// Its number
    #[arg(value_name = "N")]
    node: u64,

    #[command(flatten)]
    endpoints: Endpoints,
}

pub(crate) fn run(arguments: &Member, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match &arguments.change {
        Change::List(arguments) => list(arguments, terminal),
        Change::Add(arguments) => add(arguments, terminal),
        Change::Remove(arguments) => remove(arguments, terminal),
    }
}

fn list(arguments: &List, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
    let asked = run_async(async {
        let members = client.members().await.map_err(|error| failed(&error))?;
        let status = client.status().await.map_err(|error| failed(&error))?;
        Ok((members, status.leader, status.engine))
    });
    let (members, leader, engine) = asked?;
    if terminal.is_json() {
        let shown = members.iter().map(|member| {
            let (node, address, votes) = (member.node, &member.address, member.votes);
            json!({ "node": node, "address": address, "votes": votes, "leads": Some(node) == leader })
        });
        terminal.print_json(&shown.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(3);
    for member in members {
        let part = match (engine, member.votes) {
            (EngineKind::Peer, _) => "takes turns",
            (EngineKind::Replicated, true) => "votes",
            (EngineKind::Replicated, false) => "learns",
        };
        let leads = if Some(member.node) == leader { ", leads" } else { "" };
        table.row([format!("node {}", member.node), harmless(&member.address), format!("{part}{leads}")]);
    }
    terminal.print(&table.render())?;
    Ok(ExitCode::SUCCESS)
}

fn add(arguments: &Add, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let (node, address) = &arguments.member;
    let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
    let newcomer = arguments.endpoints.client_of(std::slice::from_ref(address)).map_err(|error| failed(&error))?;
    let added = run_async(async {
        // With a fixed list of members the answer is no, and nothing is learned before.
        if !client.status().await.is_ok_and(|status| status.engine == EngineKind::Peer) {
            terminal.warn(&format!("node {node} learns everything first, and votes when it has caught up"));
        }
        tokio::select! {
            added = client.add_member(*node, address) => added.map_err(|error| failed(&error)),
            never = show_progress(&client, &newcomer, *node, terminal) => match never {},
        }
    });
    added?;
    if terminal.is_json() {
        terminal.print_json(&json!({ "node": node, "address": address, "votes": true }))?;
    } else {
        terminal.print(&format!("node {node} at {address} is a member, and votes\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows how far a new member is, as it says itself. Who cannot be asked is not shown.
async fn show_progress(client: &Client, newcomer: &Client, node: u64, terminal: &Terminal) -> std::convert::Infallible {
    let mut bar: Option<Progress> = None;
    let mut told = None;
    loop {
        sleep(GLANCE).await;
        let Ok((has, all)) = how_far(client, newcomer).await else { continue };
        bar.get_or_insert_with(|| terminal.progress(all, "commands")).set(has, "");
        if told.replace(has) != Some(has) && has < all {
            terminal.remark_elsewhere(&format!("node {node} has {has} of {all} commands"));
        }
    }
}

async fn how_far(client: &Client, newcomer: &Client) -> Result<(u64, u64), Error> {
    Ok((newcomer.status().await?.applied, client.status().await?.applied))
}

fn remove(arguments: &Remove, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let (node, client) = (arguments.node, arguments.endpoints.client().map_err(|error| failed(&error))?);
    run_async(async { client.remove_member(node).await.map_err(|error| failed(&error)) })?;
    if terminal.is_json() {
        terminal.print_json(&json!({ "node": node, "removed": true }))?;
    } else {
        terminal.print(&format!("node {node} is no member any more: stop it, and do not use its number again\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
