//! Quorate on a network: any mutual exclusion algorithm of the catalogue between real processes, with a leader beside.
//!
//! A [`Node`] is one process of a group. It runs what the laboratory simulates, [`Surviving`], unchanged; what is added
//! here is only what a process cannot do itself: sockets, timers, and a file.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use quorate_net::{Config, Node, TlsFiles};
//!
//! let members = ["10.0.0.1:7101", "10.0.0.2:7101", "10.0.0.3:7101"];
//! let keys = TlsFiles { ca: "keys/ca.crt".into(), cert: "keys/node1.crt".into(), key: "keys/node1.key".into() };
//! let node = Node::join(Config::new(1, members).algorithm("ricart-agrawala").tls(keys)).await?;
//! let guard = node.lock("printer").await?;
//! println!("my turn: show {} to the printer", guard.fence());
//! guard.release().await?;
//! println!("{} leads", node.leader().await?);
//! # Ok(())
//! # }
//! ```
//!
//! # What a node promises
//! - Of one name, one guard at a time in the whole group, as long as nobody who lives is taken for dead; and fences
//!   that grow, for the resource to look at, where somebody was. While a node does not trust a majority of the group it
//!   lets nobody in, and tells who was ([`Guard::lost`]).
//! - What a process has to remember is on disk before anybody hears of it.
//! - Whatever comes from the network is checked before it is used; who does not belong here is refused, with a sentence
//!   in the log of both.
//!
//! [`Surviving`]: quorate_core::stack::Surviving

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
