//! A member of the group, as a process of its own on a host of its own: takes turns and shows each fence to the
//! resource, until its standard input ends.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_net::{Config, Fence, Node};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::{network, resource};

/// How often members say that they live.
const BEAT: Duration = Duration::from_millis(200);
/// For how long they may be silent.
pub(crate) const TOLERANCE: Duration = Duration::from_millis(1500);
/// How long a message takes at most, by and large.
const DELAY: Duration = Duration::from_millis(100);
/// How long a turn lasts, and how long a member does without one: a time between these milliseconds, by turns.
const HOLD: [u64; 4] = [2, 20, 5, 0];

/// Where a member's trace is.
pub(crate) fn trace(directory: &Path, id: u32) -> PathBuf {
    directory.join(format!("{id}.trace"))
}

/// Runs member `id` of so many.
pub(crate) fn run(id: u32, members: u32, algorithm: &str, directory: &Path) {
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
        tokio::select! {
            () = work(id, &node, directory) => {}
            _ = told => {}
        }
        node.stop().await;
    });
}

/// Takes turns for ever.
async fn work(id: u32, node: &Node, directory: &Path) {
    let stream = UnixStream::connect(resource::path(directory)).await.expect("there is a resource");
    let mut resource = BufReader::new(stream);
    for hold in HOLD.into_iter().cycle() {
        let guard = node.lock("printer").await.expect("whoever waits gets its turn");
        tokio::time::sleep(Duration::from_millis(hold)).await;
        let shown = format!("{id} {}\n", Fence::get(guard.fence()));
        resource.get_mut().write_all(shown.as_bytes()).await.expect("the resource listens");
        let mut answer = String::new();
        resource.read_line(&mut answer).await.expect("the resource answers");
        guard.wrote(answer.trim() == "taken");
        // A turn that was taken away needs no end.
        _ = guard.release().await;
        tokio::time::sleep(Duration::from_millis(hold)).await;
    }
}
