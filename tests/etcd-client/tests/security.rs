//! Encryption, and who may do what.

use etcd_client::LockOptions;
use quorate_etcd_client_tests::{Code, Server, lease, name, refusal, said};

#[tokio::test]
async fn who_has_a_token_as_its_password_may_do_what_the_token_is_for() {
    let Some(server) = Server::start_secured() else {
        assert!(std::env::var_os("CI").is_none(), "QUORATE_BIN must name the program where everything is to be tested");
        eprintln!("QUORATE_BIN is not set: encryption and tokens were NOT tested");
        return;
    };
    let mut client = server.client(Some(&server.token)).await.unwrap();
    let lease = lease(&mut client).await;
    let mine = format!("mine/{}", name("a"));
    let options = LockOptions::new().with_lease(lease);
    let locked = client.lock(mine.as_str(), Some(options.clone())).await.unwrap();
    client.unlock(locked.key()).await.unwrap();
    let denied = said(Code::PermissionDenied, "etcdserver: permission denied");
    assert_eq!(refusal(client.lock(name("others"), Some(options)).await), denied);
    assert_eq!(refusal(client.campaign(name("others"), "me", lease).await), denied);
    assert!(client.campaign(mine.as_str(), "me", lease).await.is_ok());

    let unknown = said(Code::Unauthenticated, "etcdserver: invalid auth token");
    let mut stranger = server.client(None).await.unwrap();
    assert_eq!(refusal(stranger.lease_grant(60, None).await), unknown);
    assert_eq!(refusal(stranger.lock(mine.as_str(), None).await), unknown);
    assert_eq!(refusal(server.client(Some("wrong")).await.map(drop)), unknown);
}
