//! Encryption: one certificate for clients and members alike, and how a member is known by its own.
//!
//! A member shows a certificate of the cluster's authority that is valid for [`MEMBER_NAME`]. By that it is recognised,
//! at whatever address, by who connects to it and by whom it connects to; no other certificate of the authority will
//! do. Clients need none.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quorate_net::TlsFiles;
use rustls::client::verify_server_name;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The name that certificates of members are valid for, and no others.
pub const MEMBER_NAME: &str = "member.quorate.internal";

/// Why certificates cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read, or has not in it what it should have.
    #[error("invalid certificate or key file {}: {why}; `quorate keys nodes` creates such files", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why not.
        why: String,
    },
    /// They do not belong together.
    #[error("the certificate {} and the key {} do not belong together: {why}", cert.display(), key.display())]
    Pair {
        /// The certificate.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why not.
        why: String,
    },
    /// Nobody who trusts the authority would trust the certificate.
    #[error(
        "the certificate {} was not issued by the CA {}, or is not valid: {why}; `quorate keys nodes` creates both",
        cert.display(),
        ca.display()
    )]
    NotFrom {
        /// The certificate.
        cert: PathBuf,
        /// The authority's.
        ca: PathBuf,
        /// Why not.
        why: String,
    },
    /// Other members would refuse the certificate.
    #[error(
        "the certificate {} is not for a member: it must be valid for {MEMBER_NAME}; `quorate keys nodes` creates \
         such certificates",
        .0.display()
    )]
    NotAMember(PathBuf),
}

/// What a node needs to speak in secret.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) acceptor: TlsAcceptor,
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
    if found.is_empty() {
        return Err(unusable(file, &"it contains no certificate"));
    }
    Ok(found)
}

fn member_name() -> ServerName<'static> {
    ServerName::try_from(MEMBER_NAME).expect("it is a name")
}

/// Whether a certificate, which has been verified, is a member's.
pub(super) fn is_members(certificate: &CertificateDer<'_>) -> bool {
    ParsedCertificate::try_from(certificate).is_ok_and(|parsed| verify_server_name(&parsed, &member_name()).is_ok())
}

/// Whether a node could use these files.
pub fn check_tls(files: &TlsFiles) -> Result<(), TlsError> {
    Tls::read(files).map(|_| ())
}

impl Tls {
    /// Reads the files.
    pub(super) fn read(files: &TlsFiles) -> Result<Tls, TlsError> {
        let TlsFiles { ca, cert, key } = files;
        let mut roots = RootCertStore::empty();
        for root in certificates(ca)? {
            roots.add(root).map_err(|error| unusable(ca, &error))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates(cert)?;
        if !is_members(&chain[0]) {
            return Err(TlsError::NotAMember(cert.clone()));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
        let unfit =
            |error: rustls::Error| TlsError::Pair { cert: cert.clone(), key: key.clone(), why: error.to_string() };
        let provider = Arc::new(default_provider());
        // Clients need no certificate; who shows one shows one of the authority.
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .map_err(|error| unusable(ca, &error))?;
        let not_from =
            |error: rustls::Error| TlsError::NotFrom { cert: cert.clone(), ca: ca.clone(), why: error.to_string() };
        verifier.verify_client_cert(&chain[0], &chain[1..], UnixTime::now()).map_err(not_from)?;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(unfit)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), secret.clone_key())
            .map_err(unfit)?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unfit)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, secret)
            .map_err(unfit)?;
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(server)), connector: TlsConnector::from(Arc::new(client)) })
    }

    /// Makes sure that the other end of a connection is a member, and speaks to it in secret.
    pub(super) async fn connect(
        &self,
        socket: tokio::net::TcpStream,
    ) -> std::io::Result<tokio_rustls::client::TlsStream<tokio::net::TcpStream>> {
        self.connector.connect(member_name(), socket).await
    }
}
