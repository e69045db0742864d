//! What a node costs, as ratios to what the network alone costs in the same run: `cargo bench -p quorate-net`.
//!
//! With `-- entry 100` a hundred times as many entries and round trips, in turns, and nothing else; with `-- plain 100`
//! or `-- ours 100` only these or only those, for who looks at them with a profiler.
//!
//! Five nodes on loopback in one program. The plain round trip is to ask four others over TCP and wait for the slowest.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quorate_net::{Config, Node};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const NODES: u32 = 5;
const ROUNDS: usize = 2000;
const TURNS: usize = 20;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // As a task among others: who is not waits for another thread with every message.
    runtime.block_on(async { tokio::spawn(measure()).await.unwrap() });
}

async fn measure() {
    let scratch = Scratch::new();
    let nodes = scratch.group().await;
    // So that connections and resources are there.
    for node in &nodes {
        drop(node.lock("printer").await.unwrap());
    }

    // In turns, so that whatever else the machine does meets both.
    let mut plain = Plain::connect().await;
    let (mut round_trips, mut entries) = (Vec::new(), Vec::new());
    let (only, times) = asked();
    for _ in 0..TURNS * times {
        if only != "ours" {
            round_trips.extend(plain.round_trips().await);
        }
        if only != "plain" {
            entries.extend(uncontended(&nodes[0]).await);
        }
    }
    let (round_trip, entry) = (median(round_trips), median(entries));
    println!("plain round trip to four, the slowest   {:>9.1} µs", micros(round_trip));
    println!(
        "an uncontended entry                    {:>9.1} µs  {:.2} round trips",
        micros(entry),
        ratio(entry, round_trip)
    );
    if !only.is_empty() {
        return;
    }
    let (hand_over, count) = handed_over(&nodes).await;
    let one_way = round_trip / 2;
    println!(
        "from an exit to the next entry          {:>9.1} µs  {:.2} one-way messages, median of {count}",
        micros(hand_over),
        ratio(hand_over, one_way)
    );
    let rate = many_names(&nodes).await;
    println!("entries a second over many names        {rate:>9.0}");
    let share = idle(Duration::from_secs(10)).await;
    println!("an idle group of five                   {:>9.2} % of a core", share * 100.0);
    let bytes = memory(&nodes).await;
    println!("a resource on a node                    {bytes:>9.0} bytes");
}

/// What only is measured, if not all is, and how many times as often.
fn asked() -> (String, usize) {
    let mut arguments =
        std::env::args().skip_while(|argument| !["entry", "plain", "ours"].contains(&argument.as_str()));
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
    async fn connect() -> Plain {
        let mut streams = Vec::new();
        for _ in 1..NODES {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (mut other, _) = listener.accept().await.unwrap();
            other.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let mut message = [0; 32];
                while other.read_exact(&mut message).await.is_ok() {
                    other.write_all(&message).await.unwrap();
                }
            });
            streams.push(stream);
        }
        Plain { streams }
    }

    /// Asks four at once, and waits for all.
    async fn round_trips(&mut self) -> Vec<Duration> {
        let mut taken = Vec::new();
        for _ in 0..ROUNDS / TURNS {
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

async fn uncontended(node: &Node) -> Vec<Duration> {
    let mut taken = Vec::new();
    for _ in 0..ROUNDS / TURNS {
        let since = Instant::now();
        let guard = node.lock("printer").await.unwrap();
        taken.push(since.elapsed());
        guard.release().await.unwrap();
    }
    taken
}

/// All nodes always want to enter: from the release of one guard to the next one.
async fn handed_over(nodes: &[Node]) -> (Duration, usize) {
    let released = Arc::new(Mutex::new(None::<Instant>));
    let taken = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for node in nodes {
        let (node, released, taken) = (node.clone(), released.clone(), taken.clone());
        tasks.spawn(async move {
            for _ in 0..ROUNDS / 5 {
                let guard = node.lock("printer").await.unwrap();
                if let Some(since) = released.lock().unwrap().take() {
                    taken.lock().unwrap().push(since.elapsed());
                }
                // So long that who has left last waits again. A machine that sleeps is another one than the plain
                // round trip was measured on.
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                *released.lock().unwrap() = Some(Instant::now());
                drop(guard);
            }
        });
    }
    tasks.join_all().await;
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    let count = taken.len();
    (median(taken), count)
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

/// The share of a core that this program uses while nothing happens.
async fn idle(during: Duration) -> f64 {
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = processor_time();
    tokio::time::sleep(during).await;
    (processor_time() - before) / during.as_secs_f64()
}

/// So many seconds has this program used, as the system counts them, in hundredths.
fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
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
        let sockets: Vec<_> = (0..NODES).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let members: Vec<_> = sockets.iter().map(|socket| socket.local_addr().unwrap().to_string()).collect();
        drop(sockets);
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
