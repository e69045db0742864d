//! A client for the Quorate lock service: distributed locks and leader election.
//!
//! Open a [`Session`], acquire a lock or campaign in an election with it, and keep the returned [`Guard`] for as long
//! as you need the lock:
//!
//! ```no_run
//! # async fn example() -> Result<(), quorate_client::Error> {
//! use quorate_client::Client;
//!
//! let client = Client::new(["127.0.0.1:7420"])?;
//! let session = client.session().label("nightly backup").open().await?;
//! let guard = session.lock("backup").acquire().await?;
//! // Send the fence with every write. The resource must refuse fences smaller than the largest it has seen.
//! println!("acquired with fence {}, valid for at least {:?}", guard.fence(), guard.valid_for());
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Sessions and guards
//!
//! A [`Session`] is a lease: a background task renews it until you close or drop it. When its process dies, the service
//! releases its locks after the session's TTL.
//!
//! A [`Guard`] is a lock that you hold, or an election that you have won. Dropping it releases the lock.
//! [`Guard::valid_for`] returns for how long you are guaranteed to hold the lock, and [`Guard::lost`] completes when
//! you have lost it.
//! The client counts the TTL from the moment when it *sent* the last successful renewal, on a clock that also runs
//! while the machine is suspended, and subtracts a margin for clock drift. It therefore considers a lock lost before
//! the service can grant it to another session.
//!
//! # Fences
//!
//! A paused process cannot notice that it has lost a lock. Protect the resource itself: every grant has a *fence*
//! (fencing token), which is larger than that of every earlier grant of the same name. Send it with every write, and
//! let the resource refuse smaller fences than the largest it has seen.
//!
//! # TLS and authentication
//!
//! ```no_run
//! # fn example(ca: &[u8]) -> Result<(), quorate_client::Error> {
//! # use quorate_client::Client;
//! let client = Client::new(["node1:7420", "node2:7420"])?.ca(ca)?.token("quorate_…")?;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `client` (default): the client itself. Without it, the crate has only the types of the HTTP API, in [`contract`].
//! - `tls` (default): connections with TLS.
//! - `schema`: JSON schemas of the types in [`contract`].

pub mod contract;

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod clock;
#[cfg(feature = "client")]
mod connection;
#[cfg(feature = "client")]
mod dial;
#[cfg(feature = "client")]
mod error;
#[cfg(feature = "client")]
mod feed;
#[cfg(feature = "client")]
mod guard;
#[cfg(feature = "client")]
mod http;
#[cfg(feature = "client")]
mod session;

#[cfg(feature = "client")]
pub use client::{Client, DEFAULT_PATIENCE, NewSession, user_name};
#[cfg(feature = "client")]
pub use error::Error;
#[cfg(feature = "client")]
pub use feed::{Event, Feed, News};
#[cfg(feature = "client")]
pub use guard::{Guard, LockRequest};
#[cfg(feature = "client")]
pub use session::{MARGIN, Session};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
