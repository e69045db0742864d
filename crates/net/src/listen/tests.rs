//! Connections between two members, as both sides make them.

use crate::authority::Authority;
use crate::link::Link;

use super::*;
use crate::frame::{Directory, Identity};

const LONG: Duration = Duration::from_secs(60);

fn hello(from: u32, to: u32) -> Hello {
    let (cluster, terms) = ("quorate".into(), "central among 3".into());
    let directory = Directory { number: u128::from(from), is_in_place_of_another: false };
    let identity = Identity { incarnation: 1, instance: u128::from(from), directory };
    Hello { cluster, terms, from, to, identity }
}

fn outboxes(me: u32) -> BTreeMap<Id, Arc<Outbox>> {
    let me = Id::new(me);
    me.others(3).map(|other| (other, Arc::new(Outbox::new(me, other)))).collect()
}

/// Member 1 of three listens. Where, and who may speak to it.
async fn listen(tls: Option<Tls>, silence: Duration) -> (String, mpsc::Receiver<Inlet>) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let (connecting, connected) = mpsc::channel(8);
    let speakers = Arc::new(Speakers::new(LONG));
    let (outboxes, refused) = (outboxes(1), Rarely::default());
    let listener = Listener { hello: hello(1, 1), n: 3, tls, connecting, speakers, silence, outboxes, refused };
    tokio::spawn(Arc::new(listener).run(socket));
    (address, connected)
}

/// A way to it, of who says that it is this member.
fn link(from: u32, address: &str, tls: Option<Tls>) -> Link {
    let (to, address, hello) = (Id::new(1), address.into(), hello(from, 1));
    let (speakers, outbox) = (Arc::new(Speakers::new(LONG)), Arc::clone(&outboxes(from)[&to]));
    let commands = mpsc::unbounded_channel().0.downgrade();
    Link { to, address, hello, tls, outbox, speakers, connecting: mpsc::channel(8).0, commands, tolerance: LONG }
}

#[tokio::test]
async fn who_shows_the_certificate_of_another_member_does_not_speak_for_it() {
    let directory = std::env::temp_dir().join(format!("quorate-listen-{}", std::process::id()));
    let authority = Authority::new(&directory);
    let [first, second] = [1, 2].map(|id| Some(Tls::issued(&authority, id)));
    let (address, mut connected) = listen(first, LONG).await;
    let refused = link(3, &address, second.clone()).open().await.err();
    let why = "rejected by the peer: the certificate of this connection is not valid for node 3: create one for node 3 \
               (`quorate keys nodes`, with a NAME that ends with 3)";
    assert_eq!(refused.as_deref(), Some(why));
    let itself = link(2, &address, second).open().await;
    assert!(itself.is_ok() && connected.recv().await.is_some(), "{:?}", itself.err());
    assert!(connected.try_recv().is_err(), "who was refused is not heard");
    std::fs::remove_dir_all(directory).unwrap();
}

/// As one whose machine is gone: it is connected for as long as nobody says anything to it.
#[tokio::test]
async fn a_connection_on_which_its_opener_asks_nothing_is_given_up() {
    let (address, mut connected) = listen(None, Duration::from_millis(20)).await;
    let _opened = link(2, &address, None).open().await.unwrap();
    let inlet = connected.recv().await.unwrap();
    let (way, _) = inlet.way();
    let is_given_up = async {
        while !way.has_ended() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(LONG, is_given_up).await.is_ok(), "it waits for ever");
}
