//! How a lock or leadership is obtained: ask, wait, and leave nothing behind.

use std::time::{Duration, Instant};

use tonic::Status;
use tonic::metadata::MetadataMap;

use super::claim::Claim;
use super::delivery::Granted;
use super::{Etcd, key, metadata, soon, status};
use crate::engine::{Engine, Unavailable};
use crate::machine::{Acquire, Fence, Name, SessionId};
use crate::service::{NewSession, ServiceError, plain_request};

/// How long a session lasts that is opened for a call without a lease.
const OWN_TTL: Duration = Duration::from_secs(60);
/// How soon to ask again if it is not known what came of it.
const AGAIN: Duration = Duration::from_millis(50);

/// What a call asks for.
pub(super) struct Wish {
    pub(super) name: Name,
    /// Whose it will be; 0 for a session that is opened for it.
    pub(super) lease: i64,
    /// What its holder has to say.
    pub(super) value: Vec<u8>,
}

impl<E: Engine> Etcd<E> {
    /// Waits until a wish is granted, or as long as the client wants to wait. Whoever drops the future, or what it
    /// returns, gives it up.
    pub(super) async fn obtain(
        &self,
        metadata: &MetadataMap,
        wish: Wish,
        describe: impl Fn(&ServiceError) -> Status,
    ) -> Result<Granted<E>, Status> {
        self.check_leader(metadata)?;
        let granted = self.grant(wish, describe);
        match metadata::timeout(metadata) {
            None => granted.await,
            Some(timeout) => tokio::time::timeout(timeout, granted).await.unwrap_or(Err(status::deadline_exceeded())),
        }
    }

    async fn grant(&self, wish: Wish, describe: impl Fn(&ServiceError) -> Status) -> Result<Granted<E>, Status> {
        let Wish { name, lease, value } = wish;
        // Before a session is opened for it.
        self.service.may_hold(&name).map_err(|error| describe(&error))?;
        let is_own = lease == 0;
        let session = match lease {
            0 => self.open_own().await.map_err(|error| describe(&error))?,
            lease => key::session(lease).ok_or_else(status::lease_unknown)?,
        };
        // Before it is claimed: whoever drops a claim gives up what the session has asked for.
        self.service.may_use(session, soon()).await.map_err(|error| describe(&error))?;
        let claim = Claim::enter(self.service.unasked(), &self.numbers, session, name.clone(), is_own);
        let acquire = Acquire { value, call: claim.call(), ..plain_request(session, name) };
        let granted = if is_own { self.ask_kept_alive(acquire).await } else { self.ask(acquire).await };
        match granted {
            Ok(fence) => Ok(Granted { claim, fence }),
            Err(error) => {
                // In all other cases it may have got a place.
                if matches!(error, ServiceError::Refused(_) | ServiceError::Denied(_)) {
                    claim.nothing();
                }
                Err(describe(&error))
            }
        }
    }

    async fn open_own(&self) -> Result<SessionId, ServiceError> {
        let (label, owner) = ("etcd client without a lease".to_string(), String::new());
        let new = NewSession { number: None, ttl: OWN_TTL, label, owner, transient: true };
        Ok(self.service.open(&new, soon()).await?.session)
    }

    /// Asks, and keeps the session alive meanwhile. It has its full time when it is granted what it waits for.
    async fn ask_kept_alive(&self, acquire: Acquire) -> Result<Fence, ServiceError> {
        let (session, began) = (acquire.session, Instant::now());
        let granted = self.ask(acquire);
        tokio::pin!(granted);
        let fence = loop {
            tokio::select! {
                granted = &mut granted => break granted?,
                () = tokio::time::sleep(OWN_TTL / 3) => {
                    // Whether it is lost is told by the wait itself.
                    let _ = self.service.renew(session, Instant::now() + OWN_TTL / 3).await;
                }
            }
        };
        if began.elapsed() > OWN_TTL / 60 {
            self.service.renew(session, soon()).await?;
        }
        Ok(fence)
    }

    /// Asks for something, and waits for it. Asking twice does no harm: there is one place for a session and a name.
    async fn ask(&self, acquire: Acquire) -> Result<Fence, ServiceError> {
        let deadline = soon();
        loop {
            match self.service.acquire(acquire.clone(), None, deadline).await {
                Err(ServiceError::Unavailable(Unavailable::Unknown)) if Instant::now() < deadline => {
                    tokio::time::sleep(AGAIN).await;
                }
                other => return other,
            }
        }
    }
}
