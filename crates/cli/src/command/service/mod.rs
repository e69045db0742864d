//! The commands of the lock service: nodes, their clients, and what operators do with clusters.

pub(crate) mod backup;
pub(crate) mod bench;
mod child;
mod config;
pub(crate) mod demo;
pub(crate) mod dev;
pub(crate) mod follow;
pub(crate) mod keys;
pub(crate) mod lock;
mod logging;
pub(crate) mod look;
pub(crate) mod member;
mod misplaced;
mod option_names;
mod process;
pub(crate) mod serve;
mod signals;
mod suggest;
mod turns;

use std::future::Future;
use std::path::{Path, PathBuf};

use clap::Args;
use quorate_client::contract::{DEFAULT_ADDRESS, ProblemKind};
use quorate_client::{Client, Error};
use quorate_lab::command::failure::Failure;

/// How to reach the service.
#[derive(Args, Clone, Debug)]
pub(crate) struct Endpoints {
    /// Addresses of nodes, separated by commas; any node can answer
    #[arg(long, short, value_name = "HOST:PORT,…", env = "QUORATE_ENDPOINTS", default_value = DEFAULT_ADDRESS,
          value_delimiter = ',', help_heading = "Connection")]
    endpoints: Vec<String>,

    /// CA certificate of the cluster (ca.crt): connect with TLS, and only to nodes with a certificate of this CA
    #[arg(long, value_name = "FILE", env = "QUORATE_CA", help_heading = "Connection")]
    ca: Option<PathBuf>,

    /// File with the token of this client; alternatively, set QUORATE_TOKEN to the token itself
    #[arg(long, value_name = "FILE", env = "QUORATE_TOKEN_FILE", help_heading = "Connection")]
    token_file: Option<PathBuf>,
}

impl Endpoints {
    fn client(&self) -> Result<Client, Error> {
        self.client_of(&self.endpoints)
    }

    /// A client of certain nodes, which asks them as the others are asked.
    fn client_of(&self, nodes: &[String]) -> Result<Client, Error> {
        let unreadable = |file: &Path, error| Error::Usage(format!("cannot read {}: {error}", file.display()));
        let mut client = Client::new(nodes)?;
        if let Some(file) = &self.ca {
            client = client.ca(&std::fs::read(file).map_err(|error| unreadable(file, error))?)?;
        }
        let token = match &self.token_file {
            Some(file) => Some(std::fs::read_to_string(file).map_err(|error| unreadable(file, error))?),
            None => std::env::var("QUORATE_TOKEN").ok().filter(|token| !token.is_empty()),
        };
        token.map_or(Ok(client.clone()), |token| client.token(&token))
    }
}

/// Runs something that waits for the network, on as many threads as there are cores.
fn run_async<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    // A thread may still wait for input that nobody will give.
    runtime.shutdown_background();
    done
}

/// Like [`run_async`], for a node: a request passes through several tasks, and to wake another thread for each costs
/// more than its work. Half of the cores are left to the log's thread, to the system, and to whatever else there is.
fn run_node<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let workers = (cores / 2).max(1);
    tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?.block_on(work)
}

/// What a client's error means for a command: arguments that are wrong, whether this process or the service found that
/// out, are a mistake of usage.
fn failed(error: &Error) -> Failure {
    match error {
        Error::Usage(text) => Failure::Usage(text.clone()),
        Error::Problem(problem) if problem.kind == ProblemKind::BadRequest => Failure::Usage(error.to_string()),
        Error::Unreachable { tried, why } => Failure::Failed(format!(
            "no node answered at {tried}: start one with `quorate serve`, or name others with --endpoints (last error: \
             {why})"
        )),
        other => Failure::Failed(other.to_string()),
    }
}

/// A span of time as people say it: `12 s`.
fn in_words(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{} s", ms / 1_000),
        120_000..7_200_000 => format!("{} min", ms / 60_000),
        7_200_000.. => format!("{} h", ms / 3_600_000),
    }
}

/// Text of other programs, on one line and without control characters for terminals.
fn harmless(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_stays_text() {
        assert_eq!(harmless("a\u{1b}[2J\nü"), "a\\u{1b}[2J\\nü");
    }
}
