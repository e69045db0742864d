//! Quorate, with its own client: one session and one stream per client, one request at a time.

use anyhow::Result;
use quorate_client::{Client, Guard, Session};

use super::{LockService, Target};

pub struct Quorate {
    session: Session,
}

impl LockService for Quorate {
    type Guard = Guard;

    async fn connect(target: &Target, client: usize) -> Result<Self> {
        let quorate = Client::new([target.endpoint_for(client)])?;
        let session = quorate.session().ttl(target.ttl).label("peers").open().await?;
        Ok(Self { session })
    }

    async fn acquire(&self, name: &str) -> Result<Guard> {
        Ok(self.session.lock(name).acquire().await?)
    }

    async fn release(&self, guard: Guard) -> Result<()> {
        Ok(guard.release().await?)
    }
}
