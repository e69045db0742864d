//! A member of a group, as a process of its own: it does what it is told on its standard input, a word a line, and says
//! on its standard error when it has.
//!
//! | told | does | says |
//! |---|---|---|
//! | (begins) | joins | `ready` when it is connected to all others |
//! | `enter N` | N turns, each shown to the resource | `done` |
//! | `lead` | finds out who leads | `leader N` |
//! | `stop` | leaves the group, and ends | |

use std::fs::OpenOptions;
use std::io::{BufRead, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use quorate_net::{Config, ElectionKind, Fence, Guard, Node};
use serde::{Deserialize, Serialize};

/// Who it is, and what it joins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) id: u32,
    pub(crate) members: Vec<String>,
    pub(crate) algorithm: String,
    pub(crate) election: String,
    /// What it has to remember, its trace, and the resource that all share are in it.
    pub(crate) directory: PathBuf,
}

impl Plan {
    pub(crate) fn trace(&self) -> PathBuf {
        self.directory.join(format!("{}.trace", self.id))
    }

    fn config(&self) -> Config {
        let election = ElectionKind::ALL.into_iter().find(|kind| kind.name() == self.election).unwrap();
        Config::new(self.id, self.members.clone())
            .algorithm(&self.algorithm)
            .election(election)
            .textbook()
            // The machine may be busy: nobody is dead before it has been silent for long.
            .beat(Duration::from_millis(500), Duration::from_secs(20))
            .data(self.directory.join(self.id.to_string()))
            .trace(self.trace())
    }
}

fn say(word: &str) {
    // With `--nocapture` this is not kept back.
    eprintln!("member: {word}");
}

/// Runs a member until it is told to stop.
pub(crate) fn run(plan: &Plan) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let node = runtime.block_on(Node::join(plan.config())).unwrap();
    runtime.block_on(async {
        while !node.status().await.unwrap().peers.iter().all(|peer| peer.is_connected) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    say("ready");
    let (told, mut words) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines();
        lines.map_while(Result::ok).try_for_each(|line| told.send(line))
    });
    // The node runs only while this does.
    runtime.block_on(async {
        while let Some(word) = words.recv().await {
            match word.split_once(' ') {
                Some(("enter", times)) => {
                    for _ in 0..times.parse::<u64>().unwrap() {
                        use_resource(&node, plan).await;
                    }
                    say("done");
                }
                _ if word == "lead" => say(&format!("leader {}", node.leader().await.unwrap().number())),
                _ if word == "stop" => break,
                _ => panic!("what does {word:?} mean?"),
            }
        }
        node.stop().await;
    });
}

async fn use_resource(node: &Node, plan: &Plan) {
    let guard = node.lock("printer").await.unwrap();
    show(plan, &guard, "enters");
    guard.wrote(true);
    tokio::time::sleep(Duration::from_millis(1)).await;
    show(plan, &guard, "leaves");
    guard.release().await.unwrap();
}

/// Shows a fence to the resource: a file that has no two inside, and takes no fence after a larger one.
fn show(plan: &Plan, guard: &Guard, deed: &str) {
    let path = plan.directory.join("resource");
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).unwrap();
    file.lock().unwrap();
    let mut seen = String::new();
    file.read_to_string(&mut seen).unwrap();
    let fence = Fence::get(guard.fence());
    match seen.lines().last().map(|line| line.split(' ').collect::<Vec<_>>()).as_deref() {
        None => assert_eq!(deed, "enters"),
        Some([_, "enters", latest]) => {
            assert_eq!((deed, *latest), ("leaves", fence.to_string().as_str()), "two are inside: {seen}");
        }
        Some([_, "leaves", latest]) => {
            assert_eq!(deed, "enters");
            assert!(fence > latest.parse().unwrap(), "fence {fence} after {latest}");
        }
        Some(_) => panic!("{seen}"),
    }
    writeln!(file, "{} {deed} {fence}", plan.id).unwrap();
}
