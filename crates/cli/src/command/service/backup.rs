//! `quorate backup` and `quorate restore`: the state of the service in a file, and a new cluster from that file.

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

use super::config::is_address;
use super::{Endpoints, failed, run_async};

const BACKUP_NOTES: &str = "\
Examples:
  Write a backup of the running cluster:
    quorate backup monday.quorate
  Write a backup of a stopped node, when a majority of the members is lost:
    quorate backup rescue.quorate --data /var/lib/quorate";

const RESTORE_NOTES: &str = "\
Examples:
  Fill the data directory of the first node of a new cluster; then start it with `quorate serve`:
    quorate restore monday.quorate --data ./restored
  Restore the same backup once more, with a larger generation than the last restore printed:
    quorate restore monday.quorate --data ./again --generation 3";

/// Write a backup of the service to a file
///
/// The backup comes from a running node and contains everything that was committed before the command started. With
/// --data, it comes from the data directory of a stopped node: use this when a majority of the members is lost for
/// good. The file has a checksum.
#[derive(Args, Debug)]
#[command(after_long_help = BACKUP_NOTES)]
pub(crate) struct Backup {
    /// File to write; it must not exist
    file: PathBuf,

    /// Read the data directory of a stopped node instead of asking a running one
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

    #[command(flatten)]
    endpoints: Endpoints,
}

/// Create the first node of a new cluster from a backup
///
/// Fills an empty data directory for one node; add further nodes with `quorate member add`. Sessions, locks and
/// elections are those of the backup, and every new fence is larger than all fences of the old cluster. Stop the old
/// cluster first: the new one refuses its nodes, but its clients cannot tell the two apart.
#[derive(Args, Debug)]
#[command(after_long_help = RESTORE_NOTES)]
pub(crate) struct Restore {
    /// Backup to read
    file: PathBuf,

    /// Data directory to fill; it must be empty or missing
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,

    /// Id of the node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    node: u64,

    /// Address on which the node will listen, and at which others will reach it
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    listen: String,

    /// Generation number, which makes new fences larger than old ones [default: the next one]. Required if this backup
    /// was restored before: give a larger number than that restore printed
    #[arg(long, value_name = "G")]
    generation: Option<u16>,
}

pub(crate) fn backup(arguments: &Backup, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    // Checked before a node is asked, which may take long.
    if arguments.file.exists() {
        let file = arguments.file.display();
        return Err(Failure::Failed(format!(
            "{file} exists, and nothing was written: choose another name, or delete it"
        )));
    }
    let bytes = match &arguments.data {
        Some(data) => raft::salvage(data).map_err(|error| Failure::Failed(error.to_string()))?,
        None => {
            let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
            run_async(async { client.backup().await.map_err(|error| failed(&error)) })?.into()
        }
    };
    let contents = raft::examine(&bytes)
        .map_err(|damage| Failure::Failed(format!("the node sent a damaged backup: {damage}; nothing was written")))?;
    write(&arguments.file, &bytes)
        .map_err(|error| Failure::File { path: arguments.file.display().to_string(), error })?;
    tell("", &arguments.file, &contents, json!({ "file": arguments.file, "bytes": bytes.len() }), terminal)
}

/// Writes a file atomically: it is complete and on disk, or does not exist.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    let temporary = path.with_file_name(name);
    // Labels and values of holders are private.
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

pub(crate) fn restore(arguments: &Restore, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Restore { file, data, node, listen, generation } = arguments;
    if !is_address(listen) {
        return Err(Failure::Usage(format!("--listen {listen}: write a host and a port, as in 10.0.0.1:7420")));
    }
    let bytes = std::fs::read(file).map_err(|error| Failure::Reading { path: file.display().to_string(), error })?;
    let refused = |why: String| Failure::Failed(format!("{}: {why}", file.display()));
    let contents = raft::examine(&bytes).map_err(|damage| refused(format!("{damage}; nothing was written")))?;
    let restored = raft::restore(data, *node, listen, &bytes, *generation);
    let generation = run_async(async { restored.await.map_err(|error| refused(error.to_string())) })?;
    let directory = data.display();
    let serve = format!("quorate serve --data {directory} --node {node} --listen {listen}");
    let next = format!("generation of new fences: {generation}\nstart the node: {serve}\n");
    tell(
        &next,
        data,
        &contents,
        json!({ "data": data, "node": node, "address": listen, "generation": generation }),
        terminal,
    )
}

/// Prints what was written, and what to do next.
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
        let what = format!("{commands} log entries, {sessions} sessions, {locks} locks and elections");
        terminal.print(&format!("wrote {path}: {what}\n{next}"))?;
    }
    Ok(ExitCode::SUCCESS)
}
