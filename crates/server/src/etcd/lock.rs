//! Locks.

use tonic::{Request, Response, Status, async_trait};

use super::obtain::Wish;
use super::wire::v3lockpb::lock_server::Lock;
use super::wire::v3lockpb::{LockRequest, LockResponse, UnlockRequest, UnlockResponse};
use super::{Etcd, delivery, key, soon, status};
use crate::engine::Engine;
use crate::machine::{Name, Refusal, SessionId};
use crate::service::ServiceError;

#[async_trait]
impl<E: Engine> Lock for Etcd<E> {
    async fn lock(&self, request: Request<LockRequest>) -> Result<Response<LockResponse>, Status> {
        let (metadata, _, LockRequest { name, lease }) = request.into_parts();
        let this = self.of(&metadata)?;
        let wish = Wish { name: Name::lock(key::name(&name)?), lease, value: Vec::new() };
        let granted = this.obtain(&metadata, wish, status::of_lock).await?;
        let key = key::of(granted.claim.name(), granted.claim.session());
        let answer = LockResponse { header: self.header(granted.fence.number()), key };
        Ok(delivery::tell(answer, granted))
    }

    async fn unlock(&self, request: Request<UnlockRequest>) -> Result<Response<UnlockResponse>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let key = request.into_inner().key;
        if key.is_empty() {
            return Err(status::no_key());
        }
        let revision = match key::parse(&key) {
            Some((name, session)) => this.unlock_place(session, Name::lock(name)).await?,
            None => this.index(),
        };
        Ok(Response::new(UnlockResponse { header: self.header(revision) }))
    }
}

impl<E: Engine> Etcd<E> {
    /// Gives back a lock, or a place in line, and says when. There need not be either.
    async fn unlock_place(&self, session: SessionId, name: Name) -> Result<u64, Status> {
        let failed = |error: ServiceError| status::of_lock(&error);
        match self.service.release(session, 0, name.clone(), None, soon()).await {
            Ok(applied) => return Ok(applied.moment.index),
            Err(ServiceError::Refused(Refusal::NotHeld { .. })) => {}
            Err(ServiceError::Refused(Refusal::NoSession(_))) => return Ok(self.index()),
            Err(error) => return Err(failed(error)),
        }
        match self.service.withdraw(session, 0, name.clone(), soon()).await {
            Ok(None) | Err(ServiceError::Refused(_)) => Ok(self.index()),
            Err(error) => Err(failed(error)),
            // It was granted in between.
            Ok(Some(_)) => match self.service.release(session, 0, name, None, soon()).await {
                Ok(applied) => Ok(applied.moment.index),
                Err(ServiceError::Refused(_)) => Ok(self.index()),
                Err(error) => Err(failed(error)),
            },
        }
    }
}
