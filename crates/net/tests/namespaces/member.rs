//! A member of the group, as a process of its own on a host of its own: takes turns and shows each fence to the
//! resource, twice, until its standard input ends. Then it looks whether its network was as far away as it should be.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_net::{Config, Fence, Node};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::{network, resource, wire};

/// How often members say that they live.
const BEAT: Duration = Duration::from_millis(200);
/// For how long they may be silent.
pub(crate) const TOLERANCE: Duration = Duration::from_millis(1600);
/// How long a message takes at most, by and large.
const DELAY: Duration = Duration::from_millis(100);
/// A turn lasts for less than so many milliseconds.
const LONGEST_TURN_MS: u64 = 20;

/// A member does without a turn for less than so many milliseconds. With `majority`, where everybody asks all the time,
/// who has just left is there first, and nobody else has a turn ("Attempts that collide" in docs/recovery.md); so there
/// they ask less often.
fn longest_rest_ms(algorithm: &str) -> u64 {
    if algorithm == "majority" { 4000 } else { 20 }
}

/// Where a member's trace is.
pub(crate) fn trace(directory: &Path, id: u32) -> PathBuf {
    directory.join(format!("{id}.trace"))
}

/// Runs member `id` of so many.
pub(crate) fn run(id: u32, members: u32, algorithm: &str, seed: u64, directory: &Path) {
    let config = Config::new(id, (1..=members).map(|id| format!("{}:7100", network::address(id))))
        .algorithm(algorithm)
        .insecure()
        .beat(BEAT, TOLERANCE)
        .delay(DELAY)
        .data(directory.join(id.to_string()))
        .trace(trace(directory, id));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let node = Node::join(config).await.expect("it can join");
        let (tell, told) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // It ends when the test wants no more of this.
            _ = std::io::stdin().read_to_end(&mut Vec::new());
            _ = tell.send(());
        });
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(id) << 32);
        tokio::select! {
            () = work(&node, random, longest_rest_ms(algorithm), directory) => {}
            _ = told => {}
        }
        let peers = node.status().await.expect("it has not stopped").peers;
        node.stop().await;
        let nearest = peers.iter().filter_map(|peer| peer.round_trip).min();
        assert!(nearest.is_none_or(|nearest| nearest >= 2 * wire::least_delay()), "there and back in {nearest:?}");
    });
}

/// Takes turns for ever.
async fn work(node: &Node, mut random: Xoshiro256PlusPlus, longest_rest_ms: u64, directory: &Path) {
    let stream = UnixStream::connect(resource::path(directory)).await.expect("there is a resource");
    let mut resource = BufReader::new(stream);
    loop {
        let guard = node.lock("printer").await.expect("whoever waits gets its turn");
        tokio::time::sleep(Duration::from_millis(random.next_u64() % LONGEST_TURN_MS)).await;
        let fence = Fence::get(guard.fence()).to_string();
        guard.wrote(ask(&mut resource, node, &fence).await == "taken");
        ask(&mut resource, node, "rest").await;
        guard.wrote(ask(&mut resource, node, &fence).await == "taken");
        // A turn that was taken away needs no end.
        _ = guard.release().await;
        tokio::time::sleep(Duration::from_millis(random.next_u64() % longest_rest_ms)).await;
    }
}

/// Asks the resource for something.
async fn ask(resource: &mut BufReader<UnixStream>, node: &Node, what: &str) -> String {
    let asked = format!("{} {what}\n", node.id().number());
    resource.get_mut().write_all(asked.as_bytes()).await.expect("the resource listens");
    let mut answer = String::new();
    resource.read_line(&mut answer).await.expect("the resource answers");
    answer.trim().into()
}
