//! The lock services under test: one trait, one file per service.

pub mod etcd;
pub mod quorate;
pub mod redis;
pub mod redlock;
pub mod zookeeper;

use std::{future::Future, time::Duration};

use anyhow::Result;

/// Where the service listens and how its clients are configured.
#[derive(Clone, Debug)]
pub struct Target {
    pub endpoints: Vec<String>,
    /// Lease, session or key expiry: how long a dead client may keep its lock.
    pub ttl: Duration,
    /// Pause between two attempts, for services whose clients must poll.
    pub retry: RetryDelay,
}

impl Target {
    /// The endpoint client number `client` talks to: clients spread evenly
    /// over the members of a cluster.
    pub fn endpoint_for(&self, client: usize) -> &str {
        &self.endpoints[client % self.endpoints.len()]
    }
}

/// A uniformly random pause.
#[derive(Clone, Copy, Debug)]
pub struct RetryDelay {
    pub min: Duration,
    pub max: Duration,
}

impl RetryDelay {
    pub async fn sleep(self) {
        let span = self.max.saturating_sub(self.min);
        tokio::time::sleep(self.min + span.mul_f64(rand::random::<f64>())).await;
    }
}

/// One client of a lock service, with its own connection and its own session.
pub trait LockService: Sized + Send + Sync + 'static {
    /// What the holder must present to release.
    type Guard: Send;

    /// Connects client number `client`.
    fn connect(target: &Target, client: usize) -> impl Future<Output = Result<Self>> + Send;

    /// Waits until this client holds the lock called `name`.
    fn acquire(&self, name: &str) -> impl Future<Output = Result<Self::Guard>> + Send;

    /// Gives the lock up; an error if it was no longer held.
    fn release(&self, guard: Self::Guard) -> impl Future<Output = Result<()>> + Send;
}
