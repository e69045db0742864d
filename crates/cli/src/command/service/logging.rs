//! The log of a node: lines on the standard error, for people or for programs.

use std::io::IsTerminal;

use clap::ValueEnum;
use quorate_lab::command::failure::Failure;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;

/// What is logged unless told otherwise. Libraries tell much that only their authors understand.
const USUAL: &str = "info,openraft=error,raft_log=warn,chunked_wal=warn";

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// An object of JSON a line, for programs
    Json,
}

/// Begins to log, for the rest of the process: what the variable `QUORATE_LOG` says, or else the filter.
pub(crate) fn begin(format: LogFormat, filter: Option<&str>) -> Result<(), Failure> {
    let filter = filter.unwrap_or(USUAL);
    let filter = EnvFilter::try_from_env("QUORATE_LOG")
        .or_else(|_| EnvFilter::try_new(filter))
        .map_err(|error| Failure::Usage(format!("log.filter = {filter:?}: {error}")))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    match format {
        LogFormat::Text => subscriber.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => subscriber.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
    }
    Ok(())
}
