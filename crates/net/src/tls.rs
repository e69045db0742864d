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

/// What to do about a member of another authority.
const ONE_AUTHORITY: &str = "all members need certificates of one authority (`quorate keys nodes`), and its ca.crt";
/// What to do about a member without certificates.
const ALL_OR_NONE: &str = "give certificates to all members (--tls-ca, --tls-cert and --tls-key, or `Config::tls`), or \
                           to none";

/// Whether this is how TLS begins: one of its records.
pub(crate) fn is_tls(begin: &[u8]) -> bool {
    matches!(begin, [0x14..=0x17, 3, ..])
}

/// What it means that the other end speaks TLS, and this one does not.
pub(crate) fn only_it_has_certificates() -> String {
    format!("it speaks TLS, and this node has no certificates: {ALL_OR_NONE}")
}

/// Why a connection broke, in words that say what to do.
pub(crate) fn explain(error: &io::Error) -> String {
    let Some(secret) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => "it hung up".into(),
            _ => error.to_string(),
        };
    };
    match secret {
        rustls::Error::InvalidCertificate(why) => explain_certificate(why),
        rustls::Error::AlertReceived(alert) => explain_alert(*alert),
        rustls::Error::NoCertificatesPresented => format!("it shows no certificate: {ONE_AUTHORITY}"),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            format!("it does not speak TLS, and this node has certificates: {ALL_OR_NONE}")
        }
        other => format!("TLS with it fails: {other}"),
    }
}

fn explain_certificate(why: &CertificateError) -> String {
    match why {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            format!("its certificate is of another authority (CA) than ours: {ONE_AUTHORITY}")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: make it a new one (`quorate keys nodes`), or set the clocks".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: are the clocks right, here and where it was made?".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("its certificate is that of another member: is it at this address? ({why})")
        }
        other => format!("its certificate cannot be used: {other}"),
    }
}

fn explain_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            format!(
                "it does not accept our certificate, which is of another authority (CA) than its own: {ONE_AUTHORITY}"
            )
        }
        AlertDescription::CertificateExpired => {
            "it does not accept our certificate, as it has expired or is not valid yet: make a new one (`quorate keys \
             nodes`), or set the clocks"
                .into()
        }
        AlertDescription::BadCertificate => {
            "it does not accept our certificate, which is not that of the member that it looks for: is its list of \
             members the same as ours?"
                .into()
        }
        other => format!("it ends TLS: {other:?}"),
    }
}
