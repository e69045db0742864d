//! How members speak with each other: on the one port, as streams that begin with an HTTP upgrade.

use std::io;
use std::sync::{Arc, OnceLock, Weak};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use quorate_client::contract::{Problem, ProblemKind};
use tokio::net::TcpStream;

use super::accept::FromMember;
use super::tls::{MEMBER_NAME, Tls};
use crate::api::Failure;
use crate::engine::NodeId;
use crate::raft::{Answerer, ByteStream, Connector, Replica};
use crate::service::{Service, answer};

/// What both sides must name in the `Upgrade` header.
const PROTOCOL: &str = "quorate-peer-1";
const PATH: &str = "/v1/peer";

/// Who is believed to be a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Believed {
    /// Who shows a member's certificate.
    ByCertificate,
    /// Whoever says so: nobody is asked who they are, or the network is the cluster's alone.
    Everybody,
    /// Nobody: clients are asked who they are, and as a member anybody could do what they may not.
    Nobody,
}

impl Believed {
    /// What certificates and tokens are for, unless the network is the cluster's alone.
    pub(super) fn of(has_certificates: bool, has_tokens: bool, is_insecure: bool) -> Believed {
        match (has_certificates, has_tokens) {
            (true, _) => Believed::ByCertificate,
            (false, true) if !is_insecure => Believed::Nobody,
            (false, _) => Believed::Everybody,
        }
    }
}

/// What is needed to speak with another member.
#[derive(Clone)]
struct Peers {
    replica: Replica,
    believed: Believed,
}

/// Where other members connect.
pub(super) fn routes(replica: Replica, believed: Believed) -> Router {
    Router::new().route(PATH, get(open)).with_state(Peers { replica, believed })
}

async fn open(State(peers): State<Peers>, request: Request) -> Response {
    let Peers { replica, believed } = peers;
    let refused = match believed {
        Believed::ByCertificate if request.extensions().get::<FromMember>().is_none() => Some(format!(
            "connections between members need a certificate that the cluster's CA issued for {MEMBER_NAME}"
        )),
        Believed::Nobody => Some(
            "connections between members need certificates, and this node has none: start it with --tls-ca, \
                 --tls-cert and --tls-key"
                .into(),
        ),
        Believed::ByCertificate | Believed::Everybody => None,
    };
    if let Some(detail) = refused {
        tracing::warn!("inbound member connection refused");
        return Failure::from(Problem::new(ProblemKind::Forbidden, detail)).into_response();
    }
    let wanted = request.headers().get(header::UPGRADE).and_then(|value| value.to_str().ok());
    if !wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(PROTOCOL)) {
        return (StatusCode::UPGRADE_REQUIRED, "this path is only for connections between members\n").into_response();
    }
    tokio::spawn(async move {
        // Whoever goes away before the upgrade has said nothing.
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            replica.serve(TokioIo::new(upgraded)).await;
        }
    });
    let headers = [
        (header::CONNECTION, HeaderValue::from_static("upgrade")),
        (header::UPGRADE, HeaderValue::from_static(PROTOCOL)),
    ];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

/// Opens streams to other members by an HTTP upgrade.
#[derive(Clone, Debug)]
pub(super) struct ByUpgrade {
    /// How to encrypt, if so.
    pub(super) tls: Option<Tls>,
}

impl Connector for ByUpgrade {
    fn connect(&self, address: String) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> {
        let tls = self.tls.clone();
        Box::pin(async move {
            let socket = TcpStream::connect(&address).await?;
            socket.set_nodelay(true)?;
            let stream: Box<dyn ByteStream> = match tls {
                None => Box::new(socket),
                Some(tls) => Box::new(tls.connect(socket).await?),
            };
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
            tokio::spawn(connection.with_upgrades());
            let request = hyper::Request::get(PATH)
                .header(header::HOST, address)
                .header(header::CONNECTION, "upgrade")
                .header(header::UPGRADE, PROTOCOL)
                .body(Empty::<Bytes>::new())
                .map_err(io::Error::other)?;
            let response = sender.send_request(request).await.map_err(io::Error::other)?;
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                return Err(io::Error::other(format!(
                    "unexpected HTTP status {}: is the node a member of this cluster?",
                    response.status()
                )));
            }
            let upgraded = hyper::upgrade::on(response).await.map_err(io::Error::other)?;
            Ok(Box::new(TokioIo::new(upgraded)) as Box<dyn ByteStream>)
        })
    }
}

/// Answers other members by the service, once there is one.
#[derive(Default)]
pub(super) struct ServiceAnswerer {
    service: OnceLock<Weak<Service<Replica>>>,
}

impl ServiceAnswerer {
    /// Answers from now on.
    pub(super) fn begin(&self, service: &Arc<Service<Replica>>) {
        // It is called once.
        let _ = self.service.set(Arc::downgrade(service));
    }
}

impl Answerer for ServiceAnswerer {
    fn answer(&self, _: NodeId, request: Bytes) -> BoxFuture<'_, Bytes> {
        Box::pin(async move {
            // No answer is one that cannot be understood: who asks tries again.
            match self.service.get().and_then(Weak::upgrade) {
                Some(service) => Bytes::from(answer(&service, &request).await),
                None => Bytes::new(),
            }
        })
    }
}
