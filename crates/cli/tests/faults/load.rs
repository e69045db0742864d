//! Hours of load on three nodes: whatever they need is bounded.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quorate_client::Client;
use serde_json::json;

use crate::cluster::{Cluster, NODES, addresses, post};

/// So many clients lock, and open sessions and close them,
const CLIENTS: usize = 32;
/// so many locks,
const LOCKS: usize = 16;
/// so often with one session.
const ROUNDS: usize = 50;
/// So often it is looked how much there is.
const SAMPLES: u32 = 20;
/// What may be added in the last half, besides a quarter: buffers that fill slowly.
const SLACK: u64 = 24_000_000;

/// Loads a cluster for so long. Says whether memory and disk did not grow any more in the last half.
pub(crate) fn run(directory: &Path, lasting: Duration) -> bool {
    let cluster = Cluster::start(directory, &[]);
    let (is_over, cycles) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    for number in 0..CLIENTS {
        runtime.spawn(client(number, Arc::clone(&is_over), Arc::clone(&cycles)));
    }
    println!(
        "{:>8}{:>12}{:>24}{:>10}{:>10}{:>10}",
        "minutes", "cycles", "memory of nodes (MB)", "disk (MB)", "sessions", "locks"
    );
    let (began, mut samples) = (Instant::now(), Vec::new());
    for sample in 1..=SAMPLES {
        std::thread::sleep((lasting / SAMPLES * sample).saturating_sub(began.elapsed()));
        let memory = [1, 2, 3].map(|node| cluster.memory(node));
        let disk = size(directory);
        let status = cluster.status(cluster.leader()).unwrap_or_default();
        let (sessions, locks) = (status["sessions"].as_u64().unwrap_or(0), status["locks"].as_u64().unwrap_or(0));
        let (minutes, cycles) = (began.elapsed().as_secs_f64() / 60.0, cycles.load(Ordering::Relaxed));
        let shown = memory.map(|bytes| (bytes / 1_000_000).to_string()).join(" ");
        println!("{minutes:>8.1}{cycles:>12}{shown:>24}{:>10}{sessions:>10}{locks:>10}", disk / 1_000_000);
        samples.push((memory.into_iter().max().unwrap_or(0), disk));
    }
    is_over.store(true, Ordering::Relaxed);
    runtime.shutdown_timeout(Duration::from_secs(10));
    let (early, late) = samples.split_at(samples.len() / 2);
    // While everything fills up, there is less; so the second quarter counts.
    let early = &early[early.len() / 2..];
    let grew = |what: fn(&(u64, u64)) -> u64| {
        let most = |samples: &[(u64, u64)]| samples.iter().map(what).max().unwrap_or(0);
        most(late) > most(early) + most(early) / 4 + SLACK
    };
    let (memory_grew, disk_grew) = (grew(|sample| sample.0), grew(|sample| sample.1));
    println!("memory {}, disk {}", verdict(memory_grew), verdict(disk_grew));
    !memory_grew && !disk_grew
}

fn verdict(grew: bool) -> &'static str {
    if grew { "GREW" } else { "is bounded" }
}

async fn client(number: usize, is_over: Arc<AtomicBool>, cycles: Arc<AtomicU64>) {
    let client = Client::new(addresses()).expect("addresses of the harness");
    while !is_over.load(Ordering::Relaxed) {
        let Ok(session) = client.session().ttl(Duration::from_secs(5)).label(format!("load {number}")).open().await
        else {
            continue;
        };
        for round in 0..ROUNDS {
            let Ok(guard) = session.lock(format!("lock-{}", (number + round) % LOCKS)).acquire().await else { break };
            if guard.release().await.is_ok() {
                cycles.fetch_add(1, Ordering::Relaxed);
            }
        }
        // Some leave without a word, and some ask for something that nobody ever asks for again.
        if number.is_multiple_of(2) {
            let _ = session.close().await;
        }
        if number == 1 {
            let name = format!("/v1/locks/once-{}/acquire", cycles.load(Ordering::Relaxed));
            let asked = move || post(NODES, &name, &json!({ "ttl": 2000, "wait": 0 }), Duration::from_secs(5));
            // What comes of it is of no interest here.
            let _ = tokio::task::spawn_blocking(asked).await;
        }
    }
}

/// What is in a directory, in bytes.
fn size(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
