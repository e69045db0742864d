//! An authority for certificates, for the tests of nodes and of what is below them.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// An authority, and where it keeps what it makes.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    directory: PathBuf,
}

impl Authority {
    pub(crate) fn new(directory: &Path) -> Authority {
        std::fs::create_dir_all(directory).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(directory.join("ca.crt"), certificate.pem()).unwrap();
        Authority { issuer: Issuer::new(params, key), directory: directory.into() }
    }

    /// The files of whoever has this name: the authority's certificate, its own, and its key.
    pub(crate) fn issue(&self, name: &str) -> [PathBuf; 3] {
        let files = ["ca.crt".to_string(), format!("{name}.crt"), format!("{name}.key")];
        let [ca, cert, key] = files.map(|file| self.directory.join(file));
        let pair = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_string()]).unwrap();
        std::fs::write(&cert, params.signed_by(&pair, &self.issuer).unwrap().pem()).unwrap();
        std::fs::write(&key, pair.serialize_pem()).unwrap();
        [ca, cert, key]
    }
}
