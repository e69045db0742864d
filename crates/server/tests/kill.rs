//! A node that is killed: what it acknowledged is there when it comes back. With the deliberate bug it is not, which
//! shows that this test would notice.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use quorate_server::engine::Engine;
use quorate_server::machine::{Command, SessionId};
use quorate_server::raft::{Replica, Settings};

const DIRECTORY: &str = "QUORATE_TEST_CHILD_DIRECTORY";
/// So many commands are acknowledged before the kill.
const ENOUGH: u64 = 100;

async fn start(directory: &Path) -> Replica {
    let replica = Replica::start(Settings::new(1, directory, "nowhere").alone()).await.unwrap();
    replica.leadership().wait_for(|leadership| leadership.is_here).await.unwrap();
    replica
}

/// Not a test of its own: the process that is killed. It tells each session that was acknowledged.
#[tokio::test]
async fn child() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let replica = start(Path::new(&directory)).await;
    for session in 1.. {
        let open = Command::Open {
            session: SessionId::new(session).unwrap(),
            ttl_ms: 1,
            label: String::new(),
            owner: String::new(),
            transient: false,
        };
        replica.submit(open).await.unwrap();
        println!("acknowledged {session}");
    }
}

/// Kills a node and starts it again. Returns the last session that was acknowledged and how many there are then.
fn kill_and_count(switches: &[&str]) -> (u64, u64) {
    let directory: PathBuf =
        std::env::temp_dir().join(format!("quorate-kill-{}-{}", std::process::id(), switches.len()));
    let _ = std::fs::remove_dir_all(&directory);
    let mut child = Process::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child", "--nocapture"]).env(DIRECTORY, &directory).stdout(Stdio::piped());
    child.envs(switches.iter().map(|switch| (switch, "1")));
    let mut child = child.spawn().unwrap();
    let mut last = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        // The harness says something on the same line first.
        if let Some((_, number)) = line.unwrap().split_once("acknowledged ") {
            last = number.parse().unwrap();
        }
        if last == ENOUGH {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(last >= ENOUGH);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let count = runtime.block_on(async {
        let replica = start(&directory).await;
        let count = replica.look(|machine| machine.sessions().len() as u64);
        replica.stop().await;
        count
    });
    std::fs::remove_dir_all(&directory).unwrap();
    (last, count)
}

#[test]
fn a_killed_node_keeps_everything_it_acknowledged() {
    let (acknowledged, kept) = kill_and_count(&[]);
    assert!(kept >= acknowledged, "{acknowledged} were acknowledged, {kept} were kept");
}

/// The kill may fall right behind a sync, but not every time.
#[cfg(debug_assertions)]
#[test]
fn a_node_that_acknowledges_early_loses_something() {
    let has_lost = || {
        let (acknowledged, kept) = kill_and_count(&["QUORATE_TEST_ACK_EARLY"]);
        kept < acknowledged
    };
    assert!((0..5).any(|_| has_lost()));
}
