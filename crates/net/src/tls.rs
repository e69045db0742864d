//! Encryption between members, and how a member is known by its certificate.
//!
//! A member shows a certificate of the group's authority that is valid for [its own name](member_name), which is made
//! of its number. By that it is recognised, at whatever address, by who connects to it and by whom it connects to.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quorate_core::id::Id;
use rustls::client::verify_server_name;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// The name that the certificate of a member is valid for.
pub fn member_name(id: u32) -> String {
    format!("{id}.member.quorate.internal")
}

/// Where certificates are, each a file in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the authority that the group's certificates are from.
    pub ca: PathBuf,
    /// This node's certificate, and those between it and the authority if there are any.
    pub cert: PathBuf,
    /// The key of this node's certificate.
    pub key: PathBuf,
}

/// Why certificates cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read, or has not in it what it should have.
    #[error("{} cannot be used: {why}; `quorate keys nodes` makes such files", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why not.
        why: String,
    },
    /// The certificate and the key do not belong together, or nobody who trusts the authority would trust them.
    #[error("{} cannot be used with its key and {}: {why}", cert.display(), ca.display())]
    Unfit {
        /// The certificate.
        cert: PathBuf,
        /// The authority's.
        ca: PathBuf,
        /// Why not.
        why: String,
    },
    /// It is another's.
    #[error("{} is not the certificate of node {id}: it must be valid for {}", cert.display(), member_name(*id))]
    NotOurs {
        /// The certificate.
        cert: PathBuf,
        /// Who would use it.
        id: u32,
    },
}

/// What a node needs to speak in secret.
#[derive(Clone)]
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

fn unusable(file: &Path, why: &dyn fmt::Display) -> TlsError {
    TlsError::File { file: file.into(), why: why.to_string() }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(file).map_err(|error| unusable(file, &error))?;
    let found = read.collect::<Result<Vec<_>, _>>().map_err(|error| unusable(file, &error))?;
    if found.is_empty() { Err(unusable(file, &"there is no certificate in it")) } else { Ok(found) }
}

fn server_name(id: u32) -> ServerName<'static> {
    ServerName::try_from(member_name(id)).expect("it is a name")
}

/// Whether a certificate, which has been verified, is this member's.
fn is_of(certificate: &CertificateDer<'_>, id: u32) -> bool {
    ParsedCertificate::try_from(certificate).is_ok_and(|parsed| verify_server_name(&parsed, &server_name(id)).is_ok())
}

impl Tls {
    /// Reads the files of node `me`.
    pub(crate) fn read(files: &TlsFiles, me: Id) -> Result<Tls, TlsError> {
        let TlsFiles { ca, cert, key } = files;
        let mut roots = RootCertStore::empty();
        for root in certificates(ca)? {
            roots.add(root).map_err(|error| unusable(ca, &error))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates(cert)?;
        if !is_of(&chain[0], me.number()) {
            return Err(TlsError::NotOurs { cert: cert.clone(), id: me.number() });
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
        let unfit =
            |error: rustls::Error| TlsError::Unfit { cert: cert.clone(), ca: ca.clone(), why: error.to_string() };
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| unusable(ca, &error))?;
        verifier.verify_client_cert(&chain[0], &chain[1..], UnixTime::now()).map_err(unfit)?;
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(unfit)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), secret.clone_key())
            .map_err(unfit)?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unfit)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, secret)
            .map_err(unfit)?;
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(server)), connector: TlsConnector::from(Arc::new(client)) })
    }

    /// Makes sure that the other end is this member.
    pub(crate) async fn connect(&self, to: Id, socket: TcpStream) -> std::io::Result<client::TlsStream<TcpStream>> {
        self.connector.connect(server_name(to.number()), socket).await
    }

    /// Makes sure that the other end is known to the authority.
    pub(crate) async fn accept(&self, socket: TcpStream) -> std::io::Result<server::TlsStream<TcpStream>> {
        self.acceptor.accept(socket).await
    }
}

/// Whether who has connected has shown the certificate of this member.
pub(crate) fn has_shown(stream: &server::TlsStream<TcpStream>, id: u32) -> bool {
    let (_, connection) = stream.get_ref();
    connection.peer_certificates().and_then(|chain| chain.first()).is_some_and(|certificate| is_of(certificate, id))
}
