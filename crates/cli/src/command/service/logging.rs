//! The log of a node on standard error: text or JSON.

use std::io::IsTerminal;

use clap::ValueEnum;
use quorate_lab::command::failure::Failure;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;

/// The default filter. Libraries log details that only their authors need.
const USUAL: &str = "info,openraft=error,raft_log=warn,chunked_wal=warn";

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// Lines of text
    Text,
    /// One JSON object a line
    Json,
}

/// Starts the log, with the filter of the variable `QUORATE_LOG`, or else this one.
pub(crate) fn begin(format: LogFormat, filter: Option<&str>) -> Result<(), Failure> {
    let filter = filter.unwrap_or(USUAL);
    let filter = EnvFilter::try_from_env("QUORATE_LOG").or_else(|_| EnvFilter::try_new(filter)).map_err(|error| {
        let accepted =
            "write a level (error, warn, info, debug, trace), or levels by module, as in info,openraft=error";
        Failure::Usage(format!("log.filter = {filter:?}: {error}; {accepted}"))
    })?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    match format {
        LogFormat::Text => subscriber.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => subscriber.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
    }
    Ok(())
}
