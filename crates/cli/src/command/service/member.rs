//! `quorate member`: the members of a cluster, and how to change them.

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

/// How often to read the progress of a new member.
const GLANCE: Duration = Duration::from_millis(500);

const NOTES: &str = "\
Examples:
  List the members of the cluster of the node on 127.0.0.1:7420:
    quorate member list
  Add node 4, which runs already:
    quorate member add 4=10.0.0.4:7420 --endpoints 10.0.0.1:7420
  Remove node 2:
    quorate member remove 2 --endpoints 10.0.0.1:7420";

const LIST_NOTES: &str = "\
Examples:
  List the members of the cluster of the node on 127.0.0.1:7420:
    quorate member list
  List the members of another cluster as JSON:
    quorate member list --endpoints 10.0.0.1:7420 --json";

const ADD_NOTES: &str = "\
Examples:
  First start the new node, on its own machine:
    quorate serve --node 4 --listen 10.0.0.4:7420 --join --insecure
  Then add it, through any member:
    quorate member add 4=10.0.0.4:7420 --endpoints 10.0.0.1:7420";

const REMOVE_NOTES: &str = "\
Examples:
  Remove node 2, through any other member:
    quorate member remove 2 --endpoints 10.0.0.1:7420";

/// List, add and remove the members of a cluster
#[derive(Args, Debug)]
#[command(after_long_help = NOTES)]
pub(crate) struct Member {
    #[command(subcommand)]
    change: Change,
}

#[derive(Subcommand, Debug)]
enum Change {
    /// List the members: voters, learners, and the leader
    #[command(after_long_help = LIST_NOTES)]
    List(List),
    /// Add a member: first as a learner, and as a voter when it has caught up
    ///
    /// The node must run already, with an empty data directory: `quorate serve --node N --listen ADDRESS --join`. An id
    /// is used once: a member that lost its disk returns under a new id.
    #[command(after_long_help = ADD_NOTES)]
    Add(Add),
    /// Remove a member
    ///
    /// Its process keeps running, but does not belong to the cluster any more: stop it. Its id must not be used again.
    #[command(after_long_help = REMOVE_NOTES)]
    Remove(Remove),
}

#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    endpoints: Endpoints,
}

#[derive(Args, Debug)]
struct Add {
    /// Id and address of the new member, as in 4=10.0.0.4:7420
    #[arg(value_name = "N=ADDRESS", value_parser = super::serve::parse_member)]
    member: (u64, String),

    #[command(flatten)]
    endpoints: Endpoints,
}

#[derive(Args, Debug)]
struct Remove {
    /// Id of the member
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
            (EngineKind::Peer, _) => "peer",
            (EngineKind::Replicated, true) => "voter",
            (EngineKind::Replicated, false) => "learner",
        };
        let leads = if Some(member.node) == leader { ", leader" } else { "" };
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
        // The peer engine refuses, without a learner before.
        if !client.status().await.is_ok_and(|status| status.engine == EngineKind::Peer) {
            terminal.warn(&format!("node {node} is a learner until it has caught up"));
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
        terminal.print(&format!("node {node} at {address} is a member and a voter\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows the progress of a new member, as that member reports it. While it cannot be reached, nothing is shown.
async fn show_progress(client: &Client, newcomer: &Client, node: u64, terminal: &Terminal) -> std::convert::Infallible {
    let mut bar: Option<Progress> = None;
    let mut told = None;
    loop {
        sleep(GLANCE).await;
        let Ok((has, all)) = how_far(client, newcomer).await else { continue };
        bar.get_or_insert_with(|| terminal.progress(all, "log entries")).set(has, "");
        if told.replace(has) != Some(has) && has < all {
            terminal.remark_elsewhere(&format!("node {node} has applied {has} of {all} log entries"));
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
        terminal.print(&format!("removed node {node}: stop its process, and do not use its id again\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
