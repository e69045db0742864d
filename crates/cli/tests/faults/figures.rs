//! What much of something costs: the memory of a node and the time of a hand-over, with many locks held, many waiters
//! on one lock, and many sessions.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use quorate_client::{Client, Guard, Session};
use tokio::task::JoinSet;

use crate::cluster::{Cluster, address, eventually};

const LOCKS: usize = 10_000;
const WAITERS: usize = 10_000;
const SESSIONS: usize = 50_000;
/// Each session holds so many of the locks.
const LOCKS_OF_ONE: usize = 100;
/// So many hand-overs are timed between two clients.
const ROUNDS: usize = 500;
/// Sessions are opened so many at a time.
const AT_ONCE: usize = 100;
/// Nobody expires meanwhile.
const TTL: Duration = Duration::from_secs(600);

/// Measures each on a node of its own, and prints a table.
pub(crate) fn print(directory: &Path) {
    println!("{:<32}{:>14}{:>14}{:>22}", "one node with", "memory", "per item", "hand-over (median)");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    for (what, count) in
        [("nothing", 0), ("locks held", LOCKS), ("waiters on one lock", WAITERS), ("sessions", SESSIONS)]
    {
        let cluster = Cluster::start_alone(directory);
        let node = address(1);
        let client = Client::new([node.clone()]).expect("an address of the harness").patience(Duration::from_secs(60));
        let before = eventually("the node's memory", || Some(cluster.memory(1)).filter(|memory| *memory > 0));
        let (memory, hand_over) = runtime.block_on(async {
            match what {
                "locks held" => {
                    let held = hold(&client, count).await;
                    let measured = (cluster.memory(1), time_hand_overs(&client).await);
                    // In the background, as the node ends with them.
                    drop(held);
                    measured
                }
                "waiters on one lock" => wait_in_line(&client, count, || cluster.memory(1)).await,
                "sessions" => {
                    open_sessions(&node, count);
                    (cluster.memory(1), time_hand_overs(&client).await)
                }
                _ => (cluster.memory(1), time_hand_overs(&client).await),
            }
        });
        let what = if count > 0 { format!("{count} {what}") } else { what.into() };
        let each = memory
            .saturating_sub(before)
            .checked_div(count as u64)
            .map_or_else(String::new, |each| format!("{each} B"));
        println!("{what:<32}{:>11} MB{each:>14}{:>22}", memory / 1_000_000, format!("{hand_over:.0?}"));
    }
}

/// Many locks, each session with a hundred of them.
async fn hold(client: &Client, count: usize) -> Vec<(Session, Vec<Guard>)> {
    let mut holders = JoinSet::new();
    for holder in 0..count / LOCKS_OF_ONE {
        let client = client.clone();
        holders.spawn(async move {
            let session = client.session().ttl(TTL).open().await.expect("a session");
            let mut guards = Vec::new();
            for lock in 0..LOCKS_OF_ONE {
                guards.push(session.lock(format!("lock-{holder}-{lock}")).acquire().await.expect("a free lock"));
            }
            (session, guards)
        });
    }
    holders.join_all().await
}

/// Two clients take turns; the time from when one begins to give the lock back until the other has it.
async fn time_hand_overs(client: &Client) -> Duration {
    let sessions = [client.session().ttl(TTL).open().await, client.session().ttl(TTL).open().await];
    let [one, other] = sessions.map(|session| session.expect("a session"));
    let (mut guard, mut times) = (one.lock("turns").acquire().await.expect("a free lock"), Vec::new());
    for round in 0..ROUNDS {
        let next = if round % 2 == 0 { &other } else { &one }.clone();
        let waiting = tokio::spawn(async move { (next.lock("turns").acquire().await, Instant::now()) });
        // By then it is in line.
        tokio::time::sleep(Duration::from_millis(3)).await;
        let began = Instant::now();
        guard.release().await.expect("it is held");
        let (granted, at) = waiting.await.expect("no waiter panics");
        guard = granted.expect("a lock that is given back");
        times.push(at.duration_since(began));
    }
    times.sort();
    times[times.len() / 2]
}

/// Many wait for one lock, each with a session and a stream of its own, and give it back as soon as they have it.
/// Returns the memory while all wait, and the median time from one grant to the next.
async fn wait_in_line(client: &Client, count: usize, memory: impl Fn() -> u64) -> (u64, Duration) {
    let holder = client.session().ttl(TTL).open().await.expect("a session");
    let guard = holder.lock("line").acquire().await.expect("a free lock");
    let mut waiters = JoinSet::new();
    let places = std::sync::Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    for _ in 0..count {
        let (client, places) = (client.clone(), std::sync::Arc::clone(&places));
        waiters.spawn(async move {
            let place = places.acquire_owned().await.expect("nobody closes it");
            let session = client.session().ttl(TTL).open().await.expect("a session");
            drop(place);
            let guard = session.lock("line").acquire().await.expect("everybody's turn comes");
            let at = Instant::now();
            guard.release().await.expect("it is held");
            at
        });
    }
    let deadline = Instant::now() + Duration::from_secs(300);
    while client.lock("line").await.map_or(0, |line| line.waiting) < count as u64 {
        assert!(Instant::now() < deadline, "{count} cannot wait");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let memory = memory();
    guard.release().await.expect("it is held");
    let mut granted = waiters.join_all().await;
    granted.sort();
    let mut times: Vec<_> = granted.windows(2).map(|pair| pair[1] - pair[0]).collect();
    times.sort();
    (memory, times[times.len() / 2])
}

/// Many sessions, opened over a few connections.
fn open_sessions(node: &str, count: usize) {
    const CONNECTIONS: usize = 16;
    let open = || -> std::io::Result<()> {
        let mut stream = BufReader::new(TcpStream::connect(node)?);
        let body = format!("{{\"ttl\": \"{}s\", \"label\": \"one of many\"}}", TTL.as_secs());
        let length = body.len();
        // In one piece: the system would let the second one wait for the other side.
        let request = format!("POST /v1/sessions HTTP/1.1\r\nHost: {node}\r\nContent-Length: {length}\r\n\r\n{body}");
        for _ in 0..count / CONNECTIONS {
            stream.get_mut().write_all(request.as_bytes())?;
            let (mut line, mut length) = (String::new(), 0);
            while line != "\r\n" {
                line.clear();
                if stream.read_line(&mut line)? == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                let value = line.to_ascii_lowercase().strip_prefix("content-length:").map(|value| value.trim().parse());
                length = value.and_then(Result::ok).unwrap_or(length);
            }
            stream.read_exact(&mut vec![0; length])?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| open().expect("sessions can be opened"));
        }
    });
}
