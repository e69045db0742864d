//! Members that speak in secret, and know each other by their certificates.

use std::time::Duration;

use quorate_net::{JoinError, Node, TlsFiles, member_name};

use crate::authority::Authority;
use crate::log;
use crate::support::{Group, soon};

/// The files of a member.
fn issue(authority: &Authority, id: u32) -> TlsFiles {
    let [ca, cert, key] = authority.issue(&member_name(id));
    TlsFiles { ca, cert, key }
}

#[tokio::test]
async fn members_know_each_other_and_nobody_else_by_their_certificates() {
    log::begin();
    let group = Group::new(3, |config| config);
    let authority = Authority::new(&group.scratch("keys"));
    let first = Node::join(group.config(1).tls(issue(&authority, 1))).await.unwrap();
    let second = Node::join(group.config(2).tls(issue(&authority, 2))).await.unwrap();
    drop(soon("two of three are enough", first.lock("printer")).await.unwrap());

    // Of another authority; of one that only it knows; without any; with another's. Both sides say what is wrong.
    let refused = async |node: &Node, its: &str, ours: &str, heard: &str| {
        let sees = async |node: &Node, of: u32, why: &str| loop {
            let status = node.status().await.unwrap();
            let peer = status.peers.into_iter().find(|peer| peer.id.number() == of).unwrap();
            assert!(!peer.is_connected, "{peer:?}");
            if peer.failure.is_some_and(|failure| failure.contains(why)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        soon(&format!("it sees: {its}"), sees(node, 1, its)).await;
        soon(&format!("the others see: {ours}"), sees(&first, 3, ours)).await;
        soon(&format!("who listens logs: {heard}"), async {
            while log::lines(&["node=1 ", "inbound connection rejected", heard]).is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        node.stop().await;
    };
    let false_authority = Authority::new(&group.scratch("false-keys"));
    let false_files = issue(&false_authority, 3);
    let from_elsewhere = Node::join(group.config(3).tls(false_files.clone())).await.unwrap();
    let other = "the peer's certificate is not signed by this node's CA: give all members certificates of one CA";
    let not_accepted =
        "the peer rejected this node's certificate, which the peer's CA has not signed: give all members";
    refused(&from_elsewhere, other, other, not_accepted).await;

    let both = group.scratch("both.crt");
    let known = [&false_files.ca, &issue(&authority, 3).ca].map(|file| std::fs::read_to_string(file).unwrap());
    std::fs::write(&both, known.concat()).unwrap();
    let credulous = Node::join(group.config(3).tls(TlsFiles { ca: both, ..false_files })).await.unwrap();
    refused(&credulous, not_accepted, other, other).await;

    let plain = Node::join(group.config(3)).await.unwrap();
    let (its, ours) =
        ("the peer uses TLS, but this node has no certificates: ", "the peer does not use TLS, but this node has");
    refused(&plain, its, ours, ours).await;
    let TlsFiles { ca, cert, key } = issue(&authority, 2);
    let Err(JoinError::Tls(error)) = Node::join(group.config(3).tls(TlsFiles { ca, cert, key })).await else {
        panic!("it joined with the certificate of another");
    };
    assert!(error.to_string().ends_with("it must be valid for 3.member.quorate.internal"), "{error}");

    let third = Node::join(group.config(3).tls(issue(&authority, 3))).await.unwrap();
    drop(soon("the right one joins", third.lock("printer")).await.unwrap());
    drop(soon("and all go on", second.lock("printer")).await.unwrap());
}
