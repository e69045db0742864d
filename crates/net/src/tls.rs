//! Encryption between members, and how a member is known by its certificate.
//!
//! A member shows a certificate of the group's authority that is valid for [its own name](member_name), which is made
//! of its number. By that it is recognised, at whatever address, by who connects to it and by whom it connects to.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quorate_core::id::Id;
use rustls::client::verify_server_name;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{AlertDescription, CertificateError, ClientConfig, InvalidMessage, RootCertStore, ServerConfig};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::frame;

/// Returns the DNS name for which the certificate of member `id` must be valid.
pub fn member_name(id: u32) -> String {
    format!("{id}.member.quorate.internal")
}

/// The files of a node's certificates, each in PEM format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the certificate authority (CA) that signed the certificates of all members.
    pub ca: PathBuf,
    /// This node's certificate, followed by intermediate certificates if there are any.
    pub cert: PathBuf,
    /// The private key of this node's certificate.
    pub key: PathBuf,
}

/// The certificates of a node cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read, or does not contain what it should.
    #[error("cannot use {}: {why}; `quorate keys nodes` creates such files", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The certificate does not match its key, or the CA did not sign it.
    #[error("cannot use the certificate {} with its key and the CA {}: {why}", cert.display(), ca.display())]
    Unfit {
        /// The certificate.
        cert: PathBuf,
        /// The certificate of the CA.
        ca: PathBuf,
        /// What is wrong with them.
        why: String,
    },
    /// The certificate belongs to another member.
    #[error("{} is not the certificate of node {id}: it must be valid for {}", cert.display(), member_name(*id))]
    NotOurs {
        /// The certificate.
        cert: PathBuf,
        /// The node that was to use it.
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
    if found.is_empty() { Err(unusable(file, &"the file contains no certificate")) } else { Ok(found) }
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
    pub(crate) async fn connect(&self, to: Id, socket: TcpStream) -> io::Result<client::TlsStream<TcpStream>> {
        self.connector.connect(server_name(to.number()), socket).await
    }

    /// Makes sure that the other end is known to the authority. If not, it may still be listened to.
    pub(crate) async fn accept(
        &self,
        socket: TcpStream,
    ) -> Result<server::TlsStream<TcpStream>, (io::Error, TcpStream)> {
        self.acceptor.accept(socket).into_fallible().await
    }
}

#[cfg(test)]
impl Tls {
    /// What an authority gives to a member.
    pub(crate) fn issued(authority: &crate::authority::Authority, id: u32) -> Tls {
        let [ca, cert, key] = authority.issue(&member_name(id));
        Tls::read(&TlsFiles { ca, cert, key }, Id::new(id)).unwrap()
    }
}

/// Whether who has connected has shown the certificate of this member.
pub(crate) fn has_shown(stream: &server::TlsStream<TcpStream>, id: u32) -> bool {
    let (_, connection) = stream.get_ref();
    connection.peer_certificates().and_then(|chain| chain.first()).is_some_and(|certificate| is_of(certificate, id))
}

/// What to do about a member whose certificate another CA has signed.
const ONE_AUTHORITY: &str = "give all members certificates of one CA, and that CA's ca.crt (`quorate keys nodes`)";
/// What to do about a member without certificates.
const ALL_OR_NONE: &str = "configure certificates on all members, or on none";

/// Whether this is how TLS begins: one of its records.
pub(crate) fn is_tls(begin: &[u8]) -> bool {
    matches!(begin, [0x14..=0x17, 3, ..])
}

/// What it means that the other end speaks TLS, and this one does not.
pub(crate) fn only_it_has_certificates() -> String {
    format!("the peer uses TLS, but this node has no certificates: {ALL_OR_NONE}")
}

/// Why a connection broke, in words that say what to do.
pub(crate) fn explain(error: &io::Error) -> String {
    let Some(secret) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => frame::CLOSED.into(),
            _ => error.to_string(),
        };
    };
    match secret {
        rustls::Error::InvalidCertificate(why) => explain_certificate(why),
        rustls::Error::AlertReceived(alert) => explain_alert(*alert),
        rustls::Error::NoCertificatesPresented => format!("the peer has no certificate: {ONE_AUTHORITY}"),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            format!("the peer does not use TLS, but this node has certificates: {ALL_OR_NONE}")
        }
        other => format!("the TLS handshake failed: {other}"),
    }
}

fn explain_certificate(why: &CertificateError) -> String {
    match why {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            format!("the peer's certificate is not signed by this node's CA: {ONE_AUTHORITY}")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the peer's certificate has expired: create a new one (`quorate keys nodes`), or correct the clocks".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the peer's certificate is not valid yet: check the clocks here and where it was created".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the peer's certificate belongs to another member: check the member addresses ({why})")
        }
        other => format!("the peer's certificate cannot be used: {other}"),
    }
}

fn explain_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            format!("the peer rejected this node's certificate, which the peer's CA has not signed: {ONE_AUTHORITY}")
        }
        AlertDescription::CertificateExpired => {
            "the peer rejected this node's certificate, which has expired or is not valid yet: create a new one \
             (`quorate keys nodes`), or correct the clocks"
                .into()
        }
        AlertDescription::BadCertificate => {
            "the peer rejected this node's certificate, which belongs to another member than the peer expects: check \
             that all members have the same list of members"
                .into()
        }
        other => format!("the peer ended the TLS handshake: {other:?}"),
    }
}
