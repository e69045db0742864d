//! A process of clients: some use the library, some speak plain HTTP, and some only look. What they do is chance by a
//! seed; what they were told goes to standard output. It ends when its standard input does.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quorate_client::contract::ProblemKind;
use quorate_client::{Client, Guard, Session};
use quorate_lab::random::{Chance, mix};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use crate::history::{Answer, Line, Recorder, What, now};
use crate::plain;
use crate::resource::Resource;

/// What the clients of a process are told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// Which process this is, from 1.
    pub(crate) number: u64,
    pub(crate) seed: u64,
    pub(crate) nodes: Vec<String>,
    /// Where the resources are.
    pub(crate) directory: PathBuf,
    pub(crate) ttl_ms: u64,
    /// How many use the library.
    pub(crate) clients: u64,
    /// How many speak plain HTTP.
    pub(crate) plain_clients: u64,
    /// How many only look.
    pub(crate) lookers: u64,
    /// Whether a client stays sure of its lock when its lease is over: a bug that must be noticed.
    pub(crate) ignores_expiry: bool,
}

/// What is locked. In the second some share; the last is an election.
pub(crate) const LOCKS: [&str; 4] = ["one", "shared", "two", ELECTION];
/// An election.
pub(crate) const ELECTION: &str = "election";
/// The lock that some share.
pub(crate) const SHARED: &str = "shared";

/// What all clients of a process know.
pub(crate) struct Office {
    pub(crate) orders: Orders,
    pub(crate) recorder: Recorder,
    stopping: AtomicBool,
}

impl Office {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Shows a fence to the resource that a lock protects.
    pub(crate) fn write(&self, operation: u64, lock: &str, fence: u64, who: &str) {
        let at = now();
        let is_accepted = Resource::of(&self.orders.directory, lock).write(fence, who).expect("the resource works");
        self.recorder.tell(&Line::Wrote { operation, at, is_accepted });
    }
}

/// What a client wants next.
pub(crate) struct Wish {
    pub(crate) lock: &'static str,
    pub(crate) is_shared: bool,
    pub(crate) wait: Duration,
    pub(crate) hold: Duration,
}

impl Wish {
    pub(crate) fn by(chance: &mut Chance) -> Wish {
        let lock = LOCKS[chance.below(LOCKS.len() as u64) as usize];
        let wait = if chance.happens(0.1) { 0 } else { 2000 };
        let hold = if chance.happens(0.05) { 500 } else { chance.below(60) };
        let is_shared = lock == SHARED && chance.happens(0.7);
        Wish { lock, is_shared, wait: Duration::from_millis(wait), hold: Duration::from_millis(hold) }
    }
}

/// Works until standard input ends.
pub(crate) fn main(orders: &str) {
    let orders: Orders = serde_json::from_str(orders).expect("orders of the harness");
    let recorder = Recorder::new(orders.number << 32, std::io::stdout());
    let office = Arc::new(Office { orders, recorder, stopping: false.into() });
    let Orders { number, seed, clients, plain_clients, lookers, .. } = office.orders;
    let chance = move |client: u64| Chance::new(mix(seed, number, client));
    let mut threads = Vec::new();
    for client in clients..clients + plain_clients {
        let office = Arc::clone(&office);
        threads.push(std::thread::spawn(move || plain::client(&office, client, &mut chance(client))));
    }
    for looker in 0..lookers {
        let office = Arc::clone(&office);
        threads.push(std::thread::spawn(move || plain::looker(&office, &mut chance(1000 + looker))));
    }
    let told = Arc::clone(&office);
    std::thread::spawn(move || {
        // It says nothing; its end is what counts.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        told.stopping.store(true, Ordering::Relaxed);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let tasks: Vec<_> =
            (0..clients).map(|one| tokio::spawn(client(Arc::clone(&office), one, chance(one)))).collect();
        for task in tasks {
            task.await.expect("no client panics");
        }
    });
    for thread in threads {
        thread.join().expect("no client panics");
    }
}

async fn client(office: Arc<Office>, number: u64, mut chance: Chance) {
    let nodes = office.orders.nodes.clone();
    let client = Client::new(nodes).expect("addresses of the harness").patience(Duration::from_secs(3));
    let ttl = Duration::from_millis(office.orders.ttl_ms);
    for life in 1.. {
        if office.is_stopping() {
            return;
        }
        let who = format!("c{}.{number}.{life}", office.orders.number);
        match client.session().ttl(ttl).label(&who).open().await {
            // Whatever comes of a session that was opened unheard: it asks for nothing.
            Err(_) => sleep(Duration::from_millis(100)).await,
            Ok(session) => {
                while !office.is_stopping() && round(&office, &session, &who, Wish::by(&mut chance)).await {}
                if office.is_stopping() {
                    // Whoever is left waits no longer than it must. If this is not heard, the session expires.
                    let _ = timeout(Duration::from_secs(1), session.close()).await;
                }
            }
        }
    }
}

/// Asks for a lock, holds it and gives it back. Says whether the session can be used again.
async fn round(office: &Office, session: &Session, who: &str, wish: Wish) -> bool {
    let Wish { lock, is_shared, wait, hold } = wish;
    let recorder = &office.recorder;
    let request = if lock == ELECTION { session.campaign(lock, who) } else { session.lock(lock) };
    let request = if is_shared { request.shared() } else { request }.wait(wait);
    let operation = recorder.invoke(who, lock, What::Acquire { is_shared });
    let guard = match request.acquire().await {
        Ok(guard) => guard,
        Err(error) => {
            match error.kind() {
                Some(ProblemKind::Held) => recorder.answer(operation, Answer::Busy),
                Some(ProblemKind::WaitedInVain) => recorder.answer(operation, Answer::Nothing),
                _ => return false,
            }
            return true;
        }
    };
    recorder.answer(operation, Answer::Granted { fence: guard.fence() });
    let held_since = now();
    loop {
        if !is_sure(office, operation, &guard) {
            // A write that was under way when the lock was lost: the resource refuses it once it knows a larger fence.
            if !is_shared {
                office.write(operation, lock, guard.fence(), who);
            }
            return false;
        }
        if !is_shared {
            office.write(operation, lock, guard.fence(), who);
        }
        if now() - held_since > hold.as_nanos() as u64 {
            break;
        }
        sleep(Duration::from_millis(5)).await;
    }
    if !is_sure(office, operation, &guard) {
        return false;
    }
    let operation = recorder.invoke(who, lock, What::Release);
    match timeout(Duration::from_secs(10), guard.release()).await {
        Ok(Ok(())) => recorder.answer(operation, Answer::Done),
        Ok(Err(_)) | Err(_) => return false,
    }
    true
}

/// Whether a client is sure of its lock; if so, it says so.
fn is_sure(office: &Office, operation: u64, guard: &Guard) -> bool {
    let at = now();
    let is_sure = office.orders.ignores_expiry || !guard.valid_for().is_zero();
    if is_sure {
        office.recorder.tell(&Line::Sure { operation, at });
    }
    is_sure
}
