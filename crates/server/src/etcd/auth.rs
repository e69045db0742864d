//! Who asks: a client of etcd gives its name and a password, and gets a token for them. Here the password is the token.

use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, async_trait};

use super::wire::etcdserverpb::auth_server::Auth;
use super::wire::etcdserverpb::{AuthenticateRequest, AuthenticateResponse};
use super::{Etcd, status};
use crate::engine::Engine;

#[async_trait]
impl<E: Engine> Auth for Etcd<E> {
    async fn authenticate(
        &self,
        request: Request<AuthenticateRequest>,
    ) -> Result<Response<AuthenticateResponse>, Status> {
        let token = request.into_inner().password;
        let mut metadata = MetadataMap::new();
        metadata.insert("token", token.parse().map_err(|_| status::unknown_token())?);
        let this = self.of(&metadata)?;
        Ok(Response::new(AuthenticateResponse { header: this.header(this.index()), token }))
    }
}
