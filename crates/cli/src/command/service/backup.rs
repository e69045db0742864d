//! `quorate backup` and `quorate restore`: all that the service knows, as a file, and a cluster that begins with it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use quorate_client::contract::DEFAULT_ADDRESS;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use quorate_server::raft::{self, Contents};
use serde_json::json;

use super::{Endpoints, failed, run_async};

/// Write all that the service knows into a file
///
/// Asks a node that runs, and has everything that was decided before. With --data, takes what a stopped node has on its
/// disk instead: the way out when a majority of the members is lost for good. The file has a checksum.
#[derive(Args, Debug)]
pub(crate) struct Backup {
    /// Where to; there must be no such file yet
    file: PathBuf,

    /// Of a node that does not run: its data directory
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

    #[command(flatten)]
    endpoints: Endpoints,
}

/// Begin a cluster from a backup
///
/// Fills an empty data directory for one node, which is alone at first; others are added by `quorate member add`.
/// Sessions, locks and elections are as in the backup, and every fence will be larger than all that the old cluster
/// ever gave. The old cluster must not run any more: its nodes are refused, but its clients cannot tell.
#[derive(Args, Debug)]
pub(crate) struct Restore {
    /// The backup
    file: PathBuf,

    /// Where the node will keep its data; it must be empty
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,

    /// The number that the node will have
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    node: u64,

    /// Where the node will listen, and others will reach it
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    listen: String,

    /// The generation of fences that begins, if this backup was restored before: larger than what was printed then
    #[arg(long, value_name = "G")]
    generation: Option<u16>,
}

pub(crate) fn backup(arguments: &Backup, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    // Before anything is asked for, so that nobody waits in vain.
    if arguments.file.exists() {
        let file = arguments.file.display();
        return Err(Failure::Failed(format!("{file} exists: choose another name, or delete it; nothing was written")));
    }
    let bytes = match &arguments.data {
        Some(data) => raft::salvage(data).map_err(|error| Failure::Failed(error.to_string()))?,
        None => {
            let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
            run_async(async { client.backup().await.map_err(|error| failed(&error)) })?.into()
        }
    };
    let contents = raft::examine(&bytes)
        .map_err(|damage| Failure::Failed(format!("what arrived is no backup: {damage}; nothing was written")))?;
    write(&arguments.file, &bytes)
        .map_err(|error| Failure::File { path: arguments.file.display().to_string(), error })?;
    tell("", &arguments.file, &contents, json!({ "file": arguments.file, "bytes": bytes.len() }), terminal)
}

/// Writes a file that is whole and on disk, or not there.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    let temporary = path.with_file_name(name);
    // What holders say of themselves is nobody else's business.
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

pub(crate) fn restore(arguments: &Restore, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Restore { file, data, node, listen, generation } = arguments;
    if !listen.contains(':') {
        return Err(Failure::Usage(format!("{listen:?} is no address: write host:port")));
    }
    let bytes = std::fs::read(file).map_err(|error| Failure::Reading { path: file.display().to_string(), error })?;
    let refused = |why: String| Failure::Failed(format!("{}: {why}", file.display()));
    let contents = raft::examine(&bytes).map_err(|damage| refused(format!("{damage}; nothing was written")))?;
    let restored = raft::restore(data, *node, listen, &bytes, *generation);
    let generation = run_async(async { restored.await.map_err(|error| refused(error.to_string())) })?;
    let directory = data.display();
    let serve = format!("quorate serve --data {directory} --node {node} --listen {listen}");
    let next = format!("fences are of generation {generation}\nstart it:  {serve}\n");
    tell(
        &next,
        data,
        &contents,
        json!({ "data": data, "node": node, "address": listen, "generation": generation }),
        terminal,
    )
}

/// Says what is there now, and what to do next.
fn tell(
    next: &str,
    path: &Path,
    contents: &Contents,
    mut shown: serde_json::Value,
    terminal: &mut Terminal,
) -> Result<ExitCode, Failure> {
    let Contents { commands, sessions, locks } = contents;
    if terminal.is_json() {
        shown["commands"] = json!(commands);
        shown["sessions"] = json!(sessions);
        shown["locks"] = json!(locks);
        terminal.print_json(&shown)?;
    } else {
        let path = path.display();
        let what = format!("{commands} commands, {sessions} sessions, {locks} locks and elections");
        terminal.print(&format!("{path} has all of it: {what}\n{next}"))?;
    }
    Ok(ExitCode::SUCCESS)
}
