//! Load generator for lock services: how fast they lock, hand over and
//! recover, all measured by the same client on the same machine.

mod backend;
mod cpu;
mod crash;
mod floor;
mod report;
mod verdict;
mod workload;

use std::{
    io::{BufReader, stdin},
    path::PathBuf,
    time::Duration,
};

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};
use tokio::runtime::Runtime;

use crate::{
    backend::{
        RetryDelay, Target, etcd::Etcd, quorate::Quorate, redis::Redis, redlock::Redlock, zookeeper::ZooKeeper,
    },
    floor::FloorReport,
    report::Line,
    workload::{Spec, Workload},
};

#[derive(Parser)]
#[command(about = "Measures lock services with one load generator")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Cycle acquire and release against a service
    Run(RunArgs),
    /// Kill a holder and time how long its lock stays taken
    Crash {
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Measure what a message and a durable write cost on this machine
    Floor {
        /// Directory on the disk to measure
        #[arg(long, default_value = ".")]
        dir: PathBuf,
        /// Seconds for each of the four measurements
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3))]
        seconds: u64,
    },
    /// Read result lines from standard input and print tables of medians
    Summarize {
        /// Leave out runs during which other processes used more than this
        /// (percent of one core)
        #[arg(long, default_value_t = f64::INFINITY)]
        max_others: f64,
    },
    /// Hold a lock until killed (used by `crash`)
    #[command(hide = true)]
    Hold {
        #[command(flatten)]
        service: ServiceArgs,
        #[arg(long)]
        name: String,
    },
}

#[derive(Args)]
struct RunArgs {
    #[command(flatten)]
    service: ServiceArgs,
    #[arg(long, value_enum)]
    workload: Workload,
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    clients: u64,
    /// Seconds before the measured window
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=2))]
    warmup: u64,
    /// Seconds of the measured window
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=10))]
    seconds: u64,
    /// Most cycles any one client makes
    #[arg(long, default_value_t = 1_000_000)]
    max_cycles: u64,
    /// Process id of a server on this machine, to account for its CPU time
    #[arg(long = "server-pid", value_delimiter = ',')]
    server_pids: Vec<u32>,
}

#[derive(Args, Clone)]
struct ServiceArgs {
    #[arg(long, value_enum)]
    backend: Backend,
    /// host:port, once per server (clients spread over them; Redlock needs all)
    #[arg(long = "endpoint", required = true, value_delimiter = ',')]
    endpoints: Vec<String>,
    /// What to call the service in the results (default: the backend's name)
    #[arg(long)]
    label: Option<String>,
    /// Lease, session or key expiry
    #[arg(long, default_value_t = 10_000)]
    ttl_ms: u64,
    /// Shortest pause between attempts (Redis and Redlock only)
    #[arg(long, default_value_t = 50)]
    retry_min_ms: u64,
    /// Longest pause between attempts (Redis and Redlock only)
    #[arg(long, default_value_t = 250)]
    retry_max_ms: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Backend {
    Etcd,
    Quorate,
    Zookeeper,
    Redis,
    Redlock,
}

impl Backend {
    fn name(self) -> String {
        self.to_possible_value()
            .expect("no variant is skipped")
            .get_name()
            .to_owned()
    }
}

impl ServiceArgs {
    fn label(&self) -> String {
        self.label.clone().unwrap_or_else(|| self.backend.name())
    }

    fn target(&self) -> Target {
        Target {
            endpoints: self.endpoints.clone(),
            ttl: Duration::from_millis(self.ttl_ms),
            retry: RetryDelay {
                min: Duration::from_millis(self.retry_min_ms),
                max: Duration::from_millis(self.retry_max_ms),
            },
        }
    }

    /// The arguments that make another process a client of the same service.
    fn to_args(&self) -> Vec<String> {
        let mut args = vec!["--backend".to_owned(), self.backend.name()];
        for endpoint in &self.endpoints {
            args.extend(["--endpoint".to_owned(), endpoint.clone()]);
        }
        args.extend(["--ttl-ms".to_owned(), self.ttl_ms.to_string()]);
        args
    }
}

/// Calls a function generic over the service with the type `backend` names.
macro_rules! with_service {
    ($backend:expr, $module:ident :: $function:ident ( $($arg:expr),* )) => {
        match $backend {
            Backend::Etcd => $module::$function::<Etcd>($($arg),*).await,
            Backend::Quorate => $module::$function::<Quorate>($($arg),*).await,
            Backend::Zookeeper => $module::$function::<ZooKeeper>($($arg),*).await,
            Backend::Redis => $module::$function::<Redis>($($arg),*).await,
            Backend::Redlock => $module::$function::<Redlock>($($arg),*).await,
        }
    };
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Run(args) => Runtime::new()?.block_on(run(args)),
        Command::Crash { service } => Runtime::new()?.block_on(crash(service)),
        Command::Hold { service, name } => Runtime::new()?.block_on(async {
            with_service!(service.backend, crash::hold(&service.target(), &name))
        }),
        Command::Floor { dir, seconds } => {
            let floor = FloorReport::measure(&dir, Duration::from_secs(seconds))?;
            println!("{}", FloorReport::table(std::slice::from_ref(&floor)));
            report::print_json(&Line::Floor(floor))
        }
        Command::Summarize { max_others } => report::summarize(BufReader::new(stdin()), max_others),
    }
}

async fn run(args: RunArgs) -> Result<()> {
    let spec = Spec {
        label: args.service.label(),
        workload: args.workload,
        clients: args.clients as usize,
        warmup: Duration::from_secs(args.warmup),
        duration: Duration::from_secs(args.seconds),
        max_cycles: args.max_cycles,
        server_pids: args.server_pids,
    };
    let report = with_service!(
        args.service.backend,
        workload::run(&args.service.target(), &spec)
    )?;
    report::print_run(&report);
    report::print_json(&Line::Run(report))
}

async fn crash(service: ServiceArgs) -> Result<()> {
    let report = with_service!(
        service.backend,
        crash::run(&service.target(), &service.label(), service.to_args())
    )?;
    report::print_json(&Line::Crash(report))
}
