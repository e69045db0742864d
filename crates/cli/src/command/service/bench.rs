//! `quorate bench`: a closed loop of acquire and release against a running service.
//!
//! The workloads are those of the comparison with other services: every client on a lock of its own, or all on one.
//! Every client has a session and a stream of its own and makes one request at a time.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use hdrhistogram::Histogram;
use quorate_client::contract::Span;
use quorate_client::{Client, Error, Session};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use serde_json::json;

use super::{Endpoints, failed, run_async};

/// The TTL of the sessions of a benchmark.
const TTL: Duration = Duration::from_secs(10);

/// Which locks the clients use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Workload {
    /// Each client uses a lock of its own
    Uncontended,
    /// All clients use one lock
    Contended,
}

const NOTES: &str = "\
Examples:
  Run both workloads with 64 clients for 5 seconds each:
    quorate bench
  Measure the hand-over of one lock among 200 clients:
    quorate bench --workload contended --clients 200 --duration 30s --json

Exit codes:
  0   measured
  1   the service failed or could not be reached
  2   the options are wrong
  10  two clients held one lock at the same time, or a fence did not grow";

/// Measure how fast a running service grants and releases locks
///
/// Every client has its own session and connection, and repeats: acquire a lock, release it. The locks have names that
/// no other client uses, so you can measure a service that is in use.
#[derive(Args, Debug)]
#[command(after_long_help = NOTES)]
pub(crate) struct Bench {
    /// Which locks the clients use [default: one workload after the other]
    #[arg(long, value_enum)]
    workload: Option<Workload>,

    /// Number of clients
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    clients: u16,

    /// Duration of the measurement
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    duration: Span,

    /// Duration of the warm-up before the measurement
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    warmup: Span,

    #[command(flatten)]
    endpoints: Endpoints,
}

/// What all clients of a run share.
struct Run {
    began: Instant,
    measure_from: Instant,
    until: Instant,
    contended: bool,
    /// How many believe to hold the one lock.
    inside: AtomicI64,
    violations: AtomicU64,
    /// When the lock was last given back, in nanoseconds since the beginning.
    released_at: AtomicU64,
    last_fence: AtomicU64,
}

/// Measurements of one client.
struct Tally {
    acquire: Histogram<u64>,
    release: Histogram<u64>,
    handover: Histogram<u64>,
    cycles: u64,
    least: u64,
    most: u64,
}

impl Tally {
    fn new() -> Tally {
        let longest = 600_000_000_000;
        let histogram = || Histogram::new_with_max(longest, 3).expect("three digits are allowed");
        Tally { acquire: histogram(), release: histogram(), handover: histogram(), cycles: 0, least: u64::MAX, most: 0 }
    }

    fn add(&mut self, other: &Tally) {
        for (sum, part) in [
            (&mut self.acquire, &other.acquire),
            (&mut self.release, &other.release),
            (&mut self.handover, &other.handover),
        ] {
            sum.add(part).expect("histograms that grow can be added");
        }
        self.cycles += other.cycles;
        self.least = self.least.min(other.cycles);
        self.most = self.most.max(other.cycles);
    }
}

pub(crate) fn run(arguments: &Bench, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    if arguments.duration.duration().is_zero() {
        return Err(Failure::Usage("`--duration` must be greater than zero, for example --duration 5s".into()));
    }
    let client = arguments.endpoints.client().map_err(|error| failed(&error))?;
    let workloads = match arguments.workload {
        Some(workload) => vec![workload],
        None => vec![Workload::Uncontended, Workload::Contended],
    };
    let mut reports = Vec::new();
    let mut code = ExitCode::SUCCESS;
    for workload in workloads {
        let (tally, violations) =
            run_async(async { measure(&client, arguments, workload).await.map_err(|error| failed(&error)) })?;
        let seconds = arguments.duration.duration().as_secs_f64();
        let micros = |histogram: &Histogram<u64>, quantile: f64| histogram.value_at_quantile(quantile) as f64 / 1e3;
        let name = workload.to_possible_value().map_or(String::new(), |value| value.get_name().to_string());
        let per_second = (tally.cycles as f64 / seconds).round();
        if terminal.is_json() {
            reports.push(json!({
                "workload": name, "clients": arguments.clients, "cycles_per_second": per_second,
                "acquire_us": { "p50": micros(&tally.acquire, 0.5), "p99": micros(&tally.acquire, 0.99) },
                "release_us": { "p50": micros(&tally.release, 0.5), "p99": micros(&tally.release, 0.99) },
                "handover_us": { "p50": micros(&tally.handover, 0.5), "p99": micros(&tally.handover, 0.99) },
                "least_cycles": tally.least, "most_cycles": tally.most, "violations": violations,
            }));
        } else {
            let histogram = if workload == Workload::Contended { &tally.handover } else { &tally.acquire };
            let what = if workload == Workload::Contended { "hand-over" } else { "acquire" };
            terminal.print(&format!(
                "{name:<12} {} clients  {per_second:>7} cycles/s  {what} p50 {:.0} µs, p99 {:.0} µs  \
                 cycles per client {} to {}\n",
                arguments.clients,
                micros(histogram, 0.5),
                micros(histogram, 0.99),
                tally.least,
                tally.most
            ))?;
        }
        if violations > 0 {
            terminal.warn(&format!(
                "mutual exclusion was violated {violations} times: a client was granted a lock that another client \
                 held, or a fence that was not larger than the last one"
            ));
            code = ExitCode::from(10);
        }
    }
    if terminal.is_json() {
        terminal.print_json(&reports)?;
    }
    Ok(code)
}

async fn measure(client: &Client, arguments: &Bench, workload: Workload) -> Result<(Tally, u64), Error> {
    let mut sessions = Vec::new();
    for _ in 0..arguments.clients {
        sessions.push(client.session().ttl(TTL).label("quorate bench").open().await?);
    }
    let began = Instant::now();
    let measure_from = began + arguments.warmup.duration();
    let run = Arc::new(Run {
        began,
        measure_from,
        until: measure_from + arguments.duration.duration(),
        contended: workload == Workload::Contended,
        inside: AtomicI64::new(0),
        violations: AtomicU64::new(0),
        released_at: AtomicU64::new(u64::MAX),
        last_fence: AtomicU64::new(0),
    });
    let prefix = format!("bench-{}", sessions[0].id());
    let clients: Vec<_> = sessions
        .into_iter()
        .enumerate()
        .map(|(number, session)| {
            let name = if run.contended { prefix.clone() } else { format!("{prefix}-{number}") };
            tokio::spawn(cycle(Arc::clone(&run), session, name))
        })
        .collect();
    let mut total = Tally::new();
    for client in clients {
        total.add(&client.await.map_err(|error| Error::SessionOver(error.to_string()))??);
    }
    Ok((total, run.violations.load(SeqCst)))
}

async fn cycle(run: Arc<Run>, session: Session, name: String) -> Result<Tally, Error> {
    let mut tally = Tally::new();
    while Instant::now() < run.until {
        let asked = Instant::now();
        let guard = session.lock(&name).acquire().await?;
        let got = Instant::now();
        let is_measured = asked >= run.measure_from && got < run.until;
        if run.contended {
            let alone = run.inside.fetch_add(1, SeqCst) == 0;
            let grows = run.last_fence.swap(guard.fence(), SeqCst) < guard.fence();
            if !alone || !grows {
                run.violations.fetch_add(1, SeqCst);
            }
            let released_at = run.released_at.load(SeqCst);
            if is_measured && released_at != u64::MAX {
                let now = got.duration_since(run.began).as_nanos() as u64;
                tally.handover.saturating_record(now.saturating_sub(released_at));
            }
            run.inside.fetch_sub(1, SeqCst);
            run.released_at.store(Instant::now().duration_since(run.began).as_nanos() as u64, SeqCst);
        }
        let releasing = Instant::now();
        guard.release().await?;
        if is_measured {
            tally.acquire.saturating_record(got.duration_since(asked).as_nanos() as u64);
            tally.release.saturating_record(releasing.elapsed().as_nanos() as u64);
            tally.cycles += 1;
        }
    }
    session.close().await?;
    Ok(tally)
}
