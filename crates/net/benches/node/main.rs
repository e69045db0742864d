//! What a node costs, as ratios to what the network alone costs in the same run: `cargo bench -p quorate-net`.
//!
//! Five nodes on loopback: as five programs, which is how they are run, and then in one, where the tasks of all share
//! two threads and who wakes whom matters more than what is said. The plain round trip is to ask four others over TCP
//! and wait for the slowest, and is measured in the same way.
//!
//! With `-- entry 100` a hundred times as many entries and round trips, in turns, in one program and nothing else; with
//! `-- plain 100` or `-- ours 100` only these or only those, for who looks at them with a profiler; with
//! `-- programs 10` only the five programs, ten times as long.
//!
//! What is demanded is said beside what is measured among five programs, and over many names; whatever is not met fails
//! the run. It takes a machine that does nothing else.

#[path = "../../../../tests/ports.rs"]
mod ports;
mod processes;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ports::free_addresses;
use quorate_net::{Config, Node};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const NODES: u32 = 5;
const ROUNDS: usize = 2000;
const TURNS: usize = 20;

/// What is demanded of five programs: so many round trips for an entry, so many one-way messages for a hand-over, and
/// so much of a core while nothing happens, at most; and so many entries a second over many names, at least.
const MOST_ROUND_TRIPS: f64 = 1.5;
const MOST_MESSAGES: f64 = 2.0;
const MOST_IDLE: f64 = 0.01;
const LEAST_ENTRIES: f64 = 10_000.0;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // As a task among others: who is not waits for another thread with every message.
    let missed = runtime.block_on(async { tokio::spawn(measure()).await.unwrap() });
    for what in &missed {
        println!("NOT MET: {what}");
    }
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures. Returns the demands that were not met.
async fn measure() -> Vec<String> {
    if processes::be_another().await {
        return Vec::new();
    }
    let (only, times) = asked();
    let scratch = Scratch::new();
    let mut missed = Vec::new();
    if only.is_empty() || only == "programs" {
        processes::measure(&scratch.0.join("programs"), times, &mut missed).await;
    }
    if only != "programs" {
        measure_one_program(&scratch, &only, times, &mut missed).await;
    }
    missed
}

async fn measure_one_program(scratch: &Scratch, only: &str, times: usize, missed: &mut Vec<String>) {
    println!("one program");
    let nodes = scratch.group().await;
    // So that connections and resources are there.
    for node in &nodes {
        drop(node.lock("printer").await.unwrap());
    }
    let mut plain = Plain::connect().await;
    let (round_trip, entry) = in_turns(&mut plain, &nodes[0], only, times).await;
    print_entry(round_trip, entry);
    if !only.is_empty() {
        return;
    }
    let rate = many_names(&nodes).await;
    println!("entries a second over many names        {rate:>9.0}  demanded: {LEAST_ENTRIES:.0} at least");
    if rate < LEAST_ENTRIES {
        missed.push("entries a second over many names".into());
    }
    let share = idle(&["self".into()], Duration::from_secs(10)).await;
    println!("an idle group of five                   {:>9.2} % of a core", share * 100.0);
    let bytes = memory(&nodes).await;
    println!("a resource on a node                    {bytes:>9.0} bytes");
}

/// A plain round trip, and an entry: in turns, so that whatever else the machine does meets both.
async fn in_turns(plain: &mut Plain, node: &Node, only: &str, times: usize) -> (Duration, Duration) {
    let (mut round_trips, mut entries) = (Vec::new(), Vec::new());
    for _ in 0..TURNS * times {
        if only != "ours" {
            round_trips.extend(plain.round_trips().await);
        }
        if only != "plain" {
            entries.extend(uncontended(node).await);
        }
    }
    (median(round_trips), median(entries))
}

fn print_entry(round_trip: Duration, entry: Duration) {
    println!("plain round trip to four, the slowest   {:>9.1} µs", micros(round_trip));
    println!(
        "an uncontended entry                    {:>9.1} µs  {:.2} round trips",
        micros(entry),
        ratio(entry, round_trip)
    );
}

/// What only is measured, if not all is, and how many times as often.
fn asked() -> (String, usize) {
    let mut arguments =
        std::env::args().skip_while(|argument| !["entry", "plain", "ours", "programs"].contains(&argument.as_str()));
    let only = arguments.next().unwrap_or_default();
    (only, arguments.next().and_then(|times| times.parse().ok()).unwrap_or(1))
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn ratio(duration: Duration, unit: Duration) -> f64 {
    duration.as_secs_f64() / unit.as_secs_f64()
}

fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort();
    durations.get(durations.len() / 2).copied().unwrap_or_default()
}

/// Four others, each of which sends back what it is sent.
struct Plain {
    streams: Vec<TcpStream>,
}

impl Plain {
    /// In this program.
    async fn connect() -> Plain {
        let mut streams = Vec::new();
        for _ in 1..NODES {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            streams.push(TcpStream::connect(listener.local_addr().unwrap()).await.unwrap());
            tokio::spawn(send_back(listener.accept().await.unwrap().0));
        }
        Plain::over(streams)
    }

    fn over(streams: Vec<TcpStream>) -> Plain {
        for stream in &streams {
            stream.set_nodelay(true).unwrap();
        }
        Plain { streams }
    }

    /// Asks four at once, and waits for all.
    async fn round_trips(&mut self) -> Vec<Duration> {
        let mut taken = Vec::new();
        for _ in 0..ROUNDS / TURNS {
            rest().await;
            let since = Instant::now();
            for stream in &mut self.streams {
                stream.write_all(&[7; 32]).await.unwrap();
            }
            for stream in &mut self.streams {
                stream.read_exact(&mut [0; 32]).await.unwrap();
            }
            taken.push(since.elapsed());
        }
        taken
    }
}

/// Lets what came before come to its end, so that it is not measured, too.
async fn rest() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

async fn send_back(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut message = [0; 32];
    while stream.read_exact(&mut message).await.is_ok() {
        stream.write_all(&message).await.unwrap();
    }
}

async fn uncontended(node: &Node) -> Vec<Duration> {
    let mut taken = Vec::new();
    for _ in 0..ROUNDS / TURNS {
        rest().await;
        let since = Instant::now();
        let guard = node.lock("printer").await.unwrap();
        taken.push(since.elapsed());
        guard.release().await.unwrap();
    }
    taken
}

/// Forty tasks on each node, each with a name of its own.
async fn many_names(nodes: &[Node]) -> f64 {
    let entries = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    let since = Instant::now();
    let until = since + Duration::from_secs(5);
    for (node, task) in nodes.iter().flat_map(|node| (0..40).map(move |task| (node, task))) {
        let (node, entries) = (node.clone(), entries.clone());
        tasks.spawn(async move {
            let name = format!("name-{}-{task}", node.id());
            while Instant::now() < until {
                drop(node.lock(&name).await.unwrap());
                entries.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tasks.join_all().await;
    entries.load(Ordering::Relaxed) as f64 / since.elapsed().as_secs_f64()
}

/// The share of a core that these programs use together while nothing happens.
async fn idle(programs: &[String], during: Duration) -> f64 {
    let used = || programs.iter().map(|program| processor_time(program)).sum::<f64>();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = used();
    tokio::time::sleep(during).await;
    (used() - before) / during.as_secs_f64()
}

/// So many seconds has a program used, as the system counts them, in hundredths.
fn processor_time(program: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{program}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

/// What a hundred thousand resources, each used once, add to each of five nodes.
async fn memory(nodes: &[Node]) -> f64 {
    const RESOURCES: u64 = 100_000;
    let before = resident();
    let mut tasks = JoinSet::new();
    for task in 0..100 {
        let node = nodes[task % nodes.len()].clone();
        tasks.spawn(async move {
            for count in 0..RESOURCES / 100 {
                drop(node.lock(&format!("resource-{task}-{count}")).await.unwrap());
            }
        });
    }
    tasks.join_all().await;
    (resident() - before) / RESOURCES as f64 / nodes.len() as f64
}

/// The bytes of memory that this program has.
fn resident() -> f64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

/// A directory that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        Scratch(std::env::temp_dir().join(format!("quorate-bench-{}", std::process::id())))
    }

    async fn group(&self) -> Vec<Node> {
        let members = free_addresses(NODES as usize);
        let mut nodes = Vec::new();
        for id in 1..=NODES {
            let config = Config::new(id, members.clone()).data(self.0.join(id.to_string()));
            nodes.push(Node::join(config).await.unwrap());
        }
        nodes
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is only in the way.
        _ = fs::remove_dir_all(&self.0);
    }
}
