//! Locks and leader election for your processes: the client of the Quorate service.
//!
//! ```no_run
//! # async fn example() -> Result<(), quorate_client::Error> {
//! use quorate_client::Client;
//!
//! let client = Client::new(["127.0.0.1:7420"])?;
//! let session = client.session().label("nightly backup").open().await?;
//! let guard = session.lock("backup").acquire().await?;
//! // Show the fence to whatever the lock protects: it must refuse smaller ones than it has seen.
//! println!("mine, with fence {}, for at least {:?}", guard.fence(), guard.valid_for());
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Session`] is kept alive in the background until it is closed or dropped. A [`Guard`] is a lock that is held: it
//! knows its fence, how long it is surely valid, and when it is [lost](Guard::lost). It counts from when the last
//! renewal that was answered had been *sent*, on a clock that goes on while the machine is suspended, less a margin for
//! clocks that drift; so it considers the lock lost before the service could give it to anybody else.
//!
//! Where the service encrypts and asks who one is: `Client::new(["node1:7420"])?.ca(&pem)?.token("…")?`.
//!
//! [`contract`] is what is said over HTTP, in types that the server uses as well.

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
pub use client::{Client, DEFAULT_PATIENCE, NewSession};
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
