//! Groups of nodes on loopback, and a resource that watches who comes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate_core::clock::Fence;
use quorate_net::{Config, JoinError, Node};

use crate::ports::free_addresses;

/// An address on loopback that nobody listens on.
pub(crate) fn free_address() -> String {
    free_addresses(1).remove(0)
}

/// Waits for something that happens soon, if at all.
pub(crate) async fn soon<T>(what: &str, happening: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(60), happening).await;
    waited.unwrap_or_else(|_| panic!("waited in vain until {what}"))
}

/// Nodes that know each other.
pub(crate) struct Group {
    members: Vec<String>,
    directory: PathBuf,
    adapt: Box<dyn Fn(Config) -> Config>,
}

impl Group {
    pub(crate) fn new(n: usize, adapt: impl Fn(Config) -> Config + 'static) -> Group {
        let members = free_addresses(n);
        let port = members[0].rsplit_once(':').unwrap().1;
        let directory = std::env::temp_dir().join(format!("quorate-net-{}-{port}", std::process::id()));
        Group { members, directory, adapt: Box::new(adapt) }
    }

    pub(crate) fn config(&self, id: u32) -> Config {
        self.config_among(id, self.members.clone())
    }

    /// Of a member that looks for the others elsewhere.
    pub(crate) fn config_among(&self, id: u32, members: Vec<String>) -> Config {
        let config = Config::new(id, members)
            .data(self.directory.join(id.to_string()))
            .delay(Duration::from_millis(20))
            .beat(Duration::from_millis(100), Duration::from_millis(1000));
        (self.adapt)(config)
    }

    /// Where each looks for the others.
    pub(crate) fn members(&self) -> &[String] {
        &self.members
    }

    /// A directory that goes with the group.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) async fn join(&self, id: u32) -> Result<Node, JoinError> {
        Node::join(self.config(id)).await
    }

    pub(crate) async fn join_all(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        for id in 1..=self.members.len() {
            nodes.push(self.join(id as u32).await.unwrap());
        }
        nodes
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Something that only one may use at a time.
#[derive(Clone, Default)]
pub(crate) struct Resource(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    is_used: bool,
    latest: Option<Fence>,
    entries: u64,
}

impl Resource {
    pub(crate) fn enter(&self, fence: Fence) {
        let mut seen = self.0.lock().unwrap();
        assert!(!seen.is_used, "two are inside");
        assert!(seen.latest < Some(fence), "{fence} after {:?}", seen.latest);
        *seen = Seen { is_used: true, latest: Some(fence), entries: seen.entries + 1 };
    }

    pub(crate) fn leave(&self) {
        self.0.lock().unwrap().is_used = false;
    }

    pub(crate) fn latest(&self) -> Option<Fence> {
        self.0.lock().unwrap().latest
    }

    pub(crate) fn entries(&self) -> u64 {
        self.0.lock().unwrap().entries
    }
}
