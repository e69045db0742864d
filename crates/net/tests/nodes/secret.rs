//! Members that speak in secret, and know each other by their certificates.

use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_net::{JoinError, Node, TlsFiles, member_name};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::support::{Group, soon};

/// An authority, and where it keeps what it makes.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    directory: PathBuf,
}

impl Authority {
    fn new(directory: &Path) -> Authority {
        std::fs::create_dir_all(directory).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(directory.join("ca.crt"), certificate.pem()).unwrap();
        Authority { issuer: Issuer::new(params, key), directory: directory.into() }
    }

    /// The files of a member.
    fn issue(&self, id: u32) -> TlsFiles {
        let [ca, cert, key] =
            ["ca.crt".to_string(), format!("{id}.crt"), format!("{id}.key")].map(|name| self.directory.join(name));
        let pair = KeyPair::generate().unwrap();
        let params = CertificateParams::new([member_name(id)]).unwrap();
        std::fs::write(&cert, params.signed_by(&pair, &self.issuer).unwrap().pem()).unwrap();
        std::fs::write(&key, pair.serialize_pem()).unwrap();
        TlsFiles { ca, cert, key }
    }
}

#[tokio::test]
async fn members_know_each_other_and_nobody_else_by_their_certificates() {
    let group = Group::new(3, |config| config);
    let authority = Authority::new(&group.scratch("keys"));
    let first = Node::join(group.config(1).tls(authority.issue(1))).await.unwrap();
    let second = Node::join(group.config(2).tls(authority.issue(2))).await.unwrap();
    drop(soon("two of three are enough", first.lock("printer")).await.unwrap());

    // Of another authority; without any; with another's.
    let false_authority = Authority::new(&group.scratch("false-keys"));
    let from_elsewhere = Node::join(group.config(3).tls(false_authority.issue(3))).await.unwrap();
    let refused = async |node: &Node| {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let status = node.status().await.unwrap();
        assert!(status.peers.iter().all(|peer| !peer.is_connected), "{status:?}");
        node.stop().await;
    };
    refused(&from_elsewhere).await;
    let plain = Node::join(group.config(3)).await.unwrap();
    refused(&plain).await;
    let TlsFiles { ca, cert, key } = authority.issue(2);
    let Err(JoinError::Tls(error)) = Node::join(group.config(3).tls(TlsFiles { ca, cert, key })).await else {
        panic!("it joined with the certificate of another");
    };
    assert!(error.to_string().ends_with("it must be valid for 3.member.quorate.internal"), "{error}");

    let third = Node::join(group.config(3).tls(authority.issue(3))).await.unwrap();
    drop(soon("the right one joins", third.lock("printer")).await.unwrap());
    drop(soon("and all go on", second.lock("printer")).await.unwrap());
}
