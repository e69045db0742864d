//! How a node is reached: where it is, whether what is said is encrypted, and by which token the client is known.

use std::fmt;
use std::time::Duration;

use hyper::header::{self, HeaderValue};
use hyper::http::request::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Error;

/// How long to wait for a node to accept a connection.
pub(crate) const CONNECT_PATIENCE: Duration = Duration::from_secs(1);

/// A connection, encrypted or not.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Wire for S {}

/// Where a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Host and port.
    address: String,
    /// Whether to encrypt, if that was said.
    is_encrypted: Option<bool>,
}

impl Endpoint {
    /// Reads `host:port`, `http://host:port` or `https://host:port`.
    pub(crate) fn parse(text: &str) -> Result<Endpoint, Error> {
        let (address, is_encrypted) = match text.split_once("://") {
            Some(("https", address)) => (address, Some(true)),
            Some(("http", address)) => (address, Some(false)),
            Some(_) => {
                return Err(Error::Usage(format!(
                    "invalid address {text:?}: the scheme must be https or http, as \
                 in https://host:port"
                )));
            }
            None => (text, None),
        };
        let address = address.strip_suffix('/').unwrap_or(address);
        let has_port =
            address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
        if !has_port || address.contains('/') {
            return Err(Error::Usage(format!("invalid address {text:?}: write host:port")));
        }
        Ok(Endpoint { address: address.into(), is_encrypted })
    }

    /// Host and port, as the header `Host` has them.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The host, as a certificate has it.
    #[cfg(feature = "tls")]
    fn host(&self) -> &str {
        let host = self.address.rsplit_once(':').map_or(&*self.address, |(host, _)| host);
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

/// Reaches nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dialer {
    #[cfg(feature = "tls")]
    tls: Option<tls::Tls>,
    token: Option<HeaderValue>,
}

impl Dialer {
    /// Trusts nodes whose certificate is from this authority.
    #[cfg(feature = "tls")]
    pub(crate) fn trust(&mut self, ca: &[u8]) -> Result<(), Error> {
        self.tls = Some(tls::Tls::new(ca)?);
        Ok(())
    }

    /// Says who it is.
    pub(crate) fn identify(&mut self, token: &str) -> Result<(), Error> {
        let refuse = |_| Error::Usage("the token contains characters that are not allowed in an HTTP header".into());
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(refuse)?;
        value.set_sensitive(true);
        self.token = Some(value);
        Ok(())
    }

    fn encrypts(&self, endpoint: &Endpoint) -> bool {
        #[cfg(feature = "tls")]
        let can = self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let can = false;
        endpoint.is_encrypted.unwrap_or(can)
    }

    /// Whether this node can be reached at all by what is known.
    pub(crate) fn check(&self, endpoint: &Endpoint) -> Result<(), Error> {
        #[cfg(feature = "tls")]
        let can = self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let can = false;
        if self.encrypts(endpoint) && !can {
            let text = format!(
                "https://{endpoint} needs a CA certificate to verify the node: pass the CA's \
                 certificate file"
            );
            return Err(Error::Usage(text));
        }
        Ok(())
    }

    /// Connects, or says why not.
    pub(crate) async fn dial(&self, endpoint: &Endpoint) -> Result<Box<dyn Wire>, String> {
        let connected = timeout(CONNECT_PATIENCE, TcpStream::connect(&endpoint.address)).await;
        let socket = connected.map_err(|_| "connecting timed out".to_string())?.map_err(|error| error.to_string())?;
        // A connection without it works as well, only slower.
        let _ = socket.set_nodelay(true);
        if !self.encrypts(endpoint) {
            return Ok(Box::new(socket));
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return timeout(CONNECT_PATIENCE, tls.connect(endpoint, socket))
                .await
                .map_err(|_| "the TLS handshake timed out; does the node use TLS?".to_string())?;
        }
        Err("this client was built without TLS".into())
    }

    /// The beginning of a request to a node.
    pub(crate) fn request(&self, endpoint: &Endpoint) -> Builder {
        let request = hyper::Request::builder().header(header::HOST, endpoint.address());
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, token.clone()),
            None => request,
        }
    }

    /// What may be the matter if a node closes a connection without a word.
    pub(crate) fn hint(&self, endpoint: &Endpoint) -> &'static str {
        if self.encrypts(endpoint) { "" } else { " (if the node uses TLS, pass the CA's certificate file)" }
    }
}

#[cfg(feature = "tls")]
mod tls {
    //! Encryption.

    use std::fmt;
    use std::sync::Arc;

    use rustls::crypto::ring::default_provider;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, RootCertStore};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;

    use super::{Endpoint, Wire};
    use crate::Error;

    #[derive(Clone)]
    pub(super) struct Tls(TlsConnector);

    impl fmt::Debug for Tls {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Tls")
        }
    }

    impl Tls {
        pub(super) fn new(ca: &[u8]) -> Result<Tls, Error> {
            let refuse = |why: &dyn fmt::Display| Error::Usage(format!("invalid CA certificate file: {why}"));
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(ca) {
                let certificate = certificate.map_err(|error| refuse(&error))?;
                roots.add(certificate).map_err(|error| refuse(&error))?;
            }
            if roots.is_empty() {
                return Err(refuse(&"it contains no certificate"));
            }
            let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| refuse(&error))?
                .with_root_certificates(roots)
                .with_no_client_auth();
            Ok(Tls(TlsConnector::from(Arc::new(config))))
        }

        pub(super) async fn connect(&self, endpoint: &Endpoint, socket: TcpStream) -> Result<Box<dyn Wire>, String> {
            let name = ServerName::try_from(endpoint.host().to_string()).map_err(|error| error.to_string())?;
            let stream = self.0.connect(name, socket).await.map_err(|error| {
                format!(
                    "{error} (the node must use TLS, with a certificate of this CA; for a node without TLS, write \
                     http://{endpoint})"
                )
            })?;
            Ok(Box::new(stream))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_and_may_say_whether_it_is_encrypted() {
        for (text, address, is_encrypted) in [
            ("127.0.0.1:7420", "127.0.0.1:7420", None),
            ("[::1]:7420", "[::1]:7420", None),
            ("https://node1.example:1/", "node1.example:1", Some(true)),
            ("http://[::1]:7420", "[::1]:7420", Some(false)),
        ] {
            assert_eq!(Endpoint::parse(text), Ok(Endpoint { address: address.into(), is_encrypted }), "{text}");
        }
        for text in ["", "example", ":7420", "example:http", "ftp://example:1", "https://example:1/v1", "example:99999"]
        {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn who_encrypts_needs_an_authority() {
        let (dialer, endpoint) = (Dialer::default(), Endpoint::parse("https://[::1]:1").unwrap());
        assert_eq!(endpoint.host(), "::1");
        assert!(dialer.check(&endpoint).is_err());
        assert!(Dialer::default().trust(b"no certificate").is_err());
    }
}
