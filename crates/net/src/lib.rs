//! Distributed locks and a leader without a server: the algorithms of Quorate between the processes of your program.
//!
//! A [`Node`] is one member of a group with a fixed list of members. The members run a mutual exclusion algorithm among
//! themselves, such as Ricart–Agrawala's, and elect a leader. A node adds sockets, timers and a file to the state
//! machines of [`quorate-core`](quorate_core), which the simulator runs unchanged. It runs on tokio.
//!
//! # Example
//! In `Cargo.toml`, with a checkout of the repository in `quorate/`:
//!
//! ```toml
//! [dependencies]
//! quorate-net = { path = "quorate/crates/net" }
//! tokio = { version = "1", features = ["full"] }
//! ```
//!
//! Run this program on three machines, with the ids 1, 2 and 3. `quorate keys nodes` creates the certificates.
//!
//! ```no_run
//! use quorate_net::{Config, Node, TlsFiles};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let members = ["10.0.0.1:7101", "10.0.0.2:7101", "10.0.0.3:7101"];
//!     let keys = TlsFiles { ca: "keys/ca.crt".into(), cert: "keys/node1.crt".into(), key: "keys/node1.key".into() };
//!     let node = Node::join(Config::new(1, members).tls(keys)).await?;
//!
//!     let guard = node.lock("printer").await?;
//!     tokio::select! {
//!         // Pass the fence with every write: the printer rejects smaller fences than it has seen.
//!         () = print(guard.fence()) => guard.release().await?,
//!         () = guard.lost() => eprintln!("the lock was lost: stop printing"),
//!     }
//!
//!     println!("node {} is the leader", node.leader().await?);
//!     node.stop().await;
//!     Ok(())
//! }
//!
//! async fn print(fence: quorate_net::Fence) {
//!     println!("printing with fence {fence}");
//! }
//! ```
//!
//! # What a node guarantees
//! - **Mutual exclusion.** At most one guard of a name exists in the group, as long as no running member is suspected
//!   to have crashed. A false suspicion (after a pause, or a network partition) can let two nodes hold a lock at once.
//!   Fences grow from grant to grant, so a resource that checks them rejects the older holder.
//! - **Quorum guard.** A node that does not trust a majority of the members grants no locks, and reports the loss of
//!   those that it has granted ([`Guard::lost`]). [`Config::guard`] turns this off.
//! - **Recovery.** State that must survive a crash is fsynced before the message that depends on it is sent. A node
//!   restarts on its data directory, and its locks are released. If that directory is lost, start the node with
//!   [`Config::forgotten`], for one start only.
//! - **Only members take part.** With [`Config::tls`], connections use mutual TLS. Input from the network is checked
//!   before it is used, and a process that is not a member is rejected with a reason that both sides log.
//!
//! # Where to go next
//! - [`Config`]: the settings, with their defaults.
//! - [`Node`]: what a program can call; [`Guard`]: a lock that is held; [`Leadership`]: the leader as it changes.
//! - [`NodeStatus`]: connections, suspicions and message counts.
//! - The document `docs/network.md` of the repository: an example to run, the log messages, and what a node costs.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod alarm;
#[cfg(test)]
#[path = "../tests/nodes/authority.rs"]
mod authority;
mod bell;
mod config;
mod desk;
mod driver;
mod frame;
#[cfg(feature = "hostile")]
pub mod hostile;
mod incoming;
mod inlet;
mod joining;
mod link;
mod listen;
mod node;
mod outbox;
mod rarely;
mod running;
mod speakers;
mod store;
mod strangers;
mod tls;
mod tracer;
mod way;

pub use quorate_core::clock::{Fence, Number};
pub use quorate_core::election::Kind as ElectionKind;
pub use quorate_core::id::Id;

pub use config::{Config, ConfigError, Member};
pub use desk::{LONGEST_NAME, Refused};
pub use node::{Guard, JoinError, Leadership, Node, NodeStatus, PeerStatus};
pub use store::{StoreError, has_data};
pub use tls::{TlsError, TlsFiles, member_name};
