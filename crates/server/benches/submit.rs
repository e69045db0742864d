//! How many commands a node that is alone makes durable, with few and many who submit at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quorate_server::engine::Engine;
use quorate_server::machine::{Command, SessionId};
use quorate_server::raft::{Replica, Settings};

const LASTS: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() {
    let directory = std::env::temp_dir().join(format!("quorate-bench-{}", std::process::id()));
    let replica = Replica::start(Settings::new(1, &directory, "nowhere").alone()).await.expect("an empty directory");
    let led = replica.leadership().wait_for(|leadership| leadership.is_here).await.map(drop);
    led.expect("a node that is alone leads");
    for submitters in [1, 8, 64, 512] {
        measure(&replica, submitters).await;
    }
    replica.shutdown(std::future::ready(())).await;
    std::fs::remove_dir_all(&directory).expect("the directory is ours");
}

async fn measure(replica: &Replica, submitters: u64) {
    let (count, next) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(1)));
    let before = replica.status().syncs;
    let begun = Instant::now();
    let tasks: Vec<_> = (0..submitters)
        .map(|_| {
            let (replica, count, next) = (replica.clone(), count.clone(), next.clone());
            tokio::spawn(async move {
                let mut took = Vec::new();
                while begun.elapsed() < LASTS {
                    let at = Instant::now();
                    // Sessions that do not exist: the machine has little to do.
                    let session = SessionId::new(next.fetch_add(1, Ordering::Relaxed)).expect("a small number");
                    replica.submit(Command::Close { session }).await.expect("the node leads");
                    count.fetch_add(1, Ordering::Relaxed);
                    took.push(at.elapsed());
                }
                took
            })
        })
        .collect();
    let mut took = Vec::new();
    for task in tasks {
        took.extend(task.await.expect("no submitter panics"));
    }
    took.sort();
    let (elapsed, after) = (begun.elapsed(), replica.status().syncs);
    let syncs = after.count - before.count;
    println!(
        "{submitters:4} submitters: {:8.0} commands/s, {:6.0} syncs/s, {:4} us per sync, median {:5} us, 99% {:5} us",
        count.load(Ordering::Relaxed) as f64 / elapsed.as_secs_f64(),
        syncs as f64 / elapsed.as_secs_f64(),
        (after.total_us - before.total_us) / syncs.max(1),
        took[took.len() / 2].as_micros(),
        took[took.len() * 99 / 100].as_micros(),
    );
}
