//! The service and its clients: serve, lock, elect, look.

pub(crate) mod bench;
mod child;
mod config;
pub(crate) mod keys;
pub(crate) mod lock;
pub(crate) mod look;
pub(crate) mod serve;

use std::future::Future;
use std::path::{Path, PathBuf};

use clap::Args;
use quorate_client::contract::DEFAULT_ADDRESS;
use quorate_client::{Client, Error};
use quorate_lab::command::failure::Failure;

/// Where the service is.
#[derive(Args, Clone, Debug)]
pub(crate) struct Endpoints {
    /// The addresses of the nodes, separated by commas; any of them answers
    #[arg(long, short, value_name = "HOST:PORT,…", env = "QUORATE_ENDPOINTS", default_value = DEFAULT_ADDRESS,
          value_delimiter = ',', help_heading = "Service")]
    endpoints: Vec<String>,

    /// The certificate of the cluster's authority: encrypts, and trusts nodes with a certificate of it
    #[arg(long, value_name = "FILE", env = "QUORATE_CA", help_heading = "Service")]
    ca: Option<PathBuf>,

    /// A file with the token to be known by; or QUORATE_TOKEN has the token itself
    #[arg(long, value_name = "FILE", env = "QUORATE_TOKEN_FILE", help_heading = "Service")]
    token_file: Option<PathBuf>,
}

impl Endpoints {
    fn client(&self) -> Result<Client, Error> {
        let unreadable = |file: &Path, error| Error::Usage(format!("{}: {error}", file.display()));
        let mut client = Client::new(&self.endpoints)?;
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
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

/// What the service says, as the reason of a failure.
fn failed(error: &Error) -> Failure {
    match error {
        Error::Usage(text) => Failure::Usage(text.clone()),
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
