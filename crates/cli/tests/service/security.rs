//! Who may come, and who may do what: certificates, tokens, and those who mean no good.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quorate_client::Client;
use quorate_client::contract::ProblemKind;
use rcgen::{CertificateParams, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use crate::ports::free_addresses;
use crate::support::{Directory, Served, eventually, exchange};

const MEMBER_STREAM: &str = "Connection: upgrade\r\nUpgrade: quorate-peer-1\r\n";

/// A directory with certificates and tokens.
pub(crate) struct Keys {
    directory: Directory,
}

impl Keys {
    pub(crate) fn new(nodes: &[&str]) -> Keys {
        let keys = Keys { directory: Directory::new() };
        keys.make(nodes);
        keys
    }

    fn make(&self, nodes: &[&str]) -> Output {
        let out = self.path("");
        let made = run(&[&["keys", "nodes", "--out", &out], nodes].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        made
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_string()
    }

    /// The options of a node with this name.
    pub(crate) fn options(&self, node: &str) -> Vec<String> {
        let (ca, cert, key) =
            (self.path("ca.crt"), self.path(&format!("{node}.crt")), self.path(&format!("{node}.key")));
        ["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &key].map(String::from).into()
    }

    /// Adds a token, and returns it.
    pub(crate) fn token(&self, name: &str, role: &[&str]) -> String {
        let file = self.path("tokens.toml");
        let made = run(&[&["keys", "token", name, "--file", &file, "--role"], role].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).unwrap().trim().to_string()
    }

    /// A connection as a client makes it that trusts the authority, with a certificate if it has one.
    pub(crate) fn connect(
        &self,
        address: &str,
        shown: Option<(&str, &str)>,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.path("ca.crt")).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let config = match shown {
            None => config.with_no_client_auth(),
            Some((cert, key)) => {
                let cert = CertificateDer::from_pem_slice(cert.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config.with_client_auth_cert(vec![cert], key).unwrap()
            }
        };
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        StreamOwned::new(connection, socket)
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quorate")).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn start(data: &Path, options: &[String]) -> Served {
    Served::start(data, &options.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A request with a token, in the open.
fn ask(node: &Served, token: Option<&str>, method: &str, path: &str, body: &str) -> (u16, Value) {
    let header = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
    let mut stream = TcpStream::connect(&node.address).unwrap();
    exchange(&mut stream, method, path, &header, body).unwrap()
}

#[test]
fn three_nodes_serve_over_mutual_tls_and_survive_the_loss_of_one() {
    let keys = Keys::new(&["n1=127.0.0.1", "n2=127.0.0.1", "n3=127.0.0.1,localhost"]);
    let token = keys.token("web", &["lock", "--prefix", "web/"]);
    let addresses = free_addresses(3);
    let data = Directory::new();
    let mut nodes: Vec<_> = (1..=3)
        .map(|number| {
            let mut options = keys.options(&format!("n{number}"));
            options.extend(["--node".into(), number.to_string(), "--tokens".into(), keys.path("tokens.toml")]);
            options.extend(["--listen".into(), addresses[number - 1].clone()]);
            for (at, address) in addresses.iter().enumerate() {
                options.extend(["--member".into(), format!("{}={address}", at + 1)]);
            }
            Some(start(&data.path().join(number.to_string()), &options))
        })
        .collect();
    let command = |arguments: &[&str], endpoints: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        command.args(arguments).env("QUORATE_ENDPOINTS", endpoints).env("QUORATE_CA", keys.path("ca.crt"));
        command.env("QUORATE_TOKEN", &token).stdin(Stdio::null()).output().unwrap()
    };
    let everybody = addresses.join(",");
    let fence = || {
        eventually("a grant", || {
            let output = command(&["lock", "web/job", "--", "sh", "-c", "echo $QUORATE_FENCE"], &everybody);
            String::from_utf8(output.stdout).unwrap().trim().parse::<u64>().ok()
        })
    };
    let first = fence();
    let status: Value = serde_json::from_slice(&command(&["status", "--json"], &everybody).stdout).unwrap();
    let leader = status["leader"].as_u64().unwrap() as usize;
    nodes[leader - 1].take().unwrap().kill();
    assert!(fence() > first, "fences grow over the loss of the leader");
    let follower = &addresses[leader % 3];
    assert!(command(&["locks"], &format!("https://{follower}")).status.success());
    let denied = command(&["lock", "db/job", "--", "true"], &everybody);
    assert_eq!(denied.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&denied.stderr).contains("prefix"), "{denied:?}");
    let open = command(&["locks"], &format!("http://{follower}"));
    assert!(String::from_utf8_lossy(&open.stderr).contains("uses TLS"), "a client without TLS gets a hint: {open:?}");
}

#[test]
fn only_a_members_certificate_opens_the_way_of_members() {
    let keys = Keys::new(&["n1=127.0.0.1"]);
    let data = Directory::new();
    let node = start(data.path(), &keys.options("n1"));
    let read = |name: &str| std::fs::read_to_string(keys.path(name)).unwrap();
    let signed = |name: &str, key: &KeyPair| {
        // As `quorate keys` names its authority.
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(rcgen::DnType::CommonName, "Quorate cluster authority");
        let issuer = Issuer::new(authority, KeyPair::from_pem(&read("ca.key")).unwrap());
        CertificateParams::new(vec![name.to_string()]).unwrap().signed_by(key, &issuer).unwrap().pem()
    };
    let key = KeyPair::generate().unwrap();
    let (client, secret) = (signed("web1.example", &key), key.serialize_pem());
    for shown in [None, Some((&*client, &*secret))] {
        let mut stream = keys.connect(&node.address, shown);
        let (status, problem) = exchange(&mut stream, "GET", "/v1/peer", MEMBER_STREAM, "").unwrap();
        assert_eq!((status, problem["type"].as_str()), (403, Some("forbidden")), "{problem}");
        let mut stream = keys.connect(&node.address, shown);
        assert_eq!(exchange(&mut stream, "GET", "/v1/status", "", "").unwrap().0, 200, "as a client it is welcome");
    }
    let mut member = keys.connect(&node.address, Some((&read("n1.crt"), &read("n1.key"))));
    write!(member, "GET /v1/peer HTTP/1.1\r\nHost: quorate\r\n{MEMBER_STREAM}\r\n").unwrap();
    let mut line = [0; 12];
    member.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"HTTP/1.1 101");
    // One of another authority is no certificate at all, whatever it says.
    let others = Keys::new(&["n1=127.0.0.1"]);
    let read = |name: &str| std::fs::read_to_string(others.path(name)).unwrap();
    let mut stranger = keys.connect(&node.address, Some((&read("n1.crt"), &read("n1.key"))));
    assert!(exchange(&mut stranger, "GET", "/v1/status", "", "").is_err());
    let distrustful = others.connect(&node.address, None).write_all(b"GET / HTTP/1.1\r\n\r\n");
    assert!(distrustful.unwrap_err().to_string().contains("certificate"));
}

#[test]
fn keys_are_private_and_never_overwritten() {
    use std::os::unix::fs::PermissionsExt;
    let keys = Keys::new(&["n1=127.0.0.1"]);
    let read = |name: &str| std::fs::read_to_string(keys.path(name)).unwrap();
    let before = ["ca.crt", "ca.key", "n1.crt", "n1.key"].map(read);
    keys.make(&["n1=10.0.0.9", "n2=10.0.0.2"]);
    assert_eq!(["ca.crt", "ca.key", "n1.crt", "n1.key"].map(read), before, "what exists stays");
    for key in ["ca.key", "n1.key", "n2.key"] {
        assert_eq!(std::fs::metadata(keys.path(key)).unwrap().permissions().mode() & 0o777, 0o600, "{key}");
    }
    std::fs::remove_file(keys.path("ca.key")).unwrap();
    let without = run(&["keys", "nodes", "--out", &keys.path(""), "n3=10.0.0.3"]);
    assert_eq!(without.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&without.stderr).contains("ca.key"));
    let data = Directory::new();
    let data = data.path().to_str().unwrap();
    let mixed =
        ["--tls-ca", &keys.path("ca.crt"), "--tls-cert", &keys.path("n1.crt"), "--tls-key", &keys.path("n2.key")];
    let mixed = run(&[&["serve", "--listen", "127.0.0.1:0", "--data", data], &mixed[..]].concat());
    assert_eq!(mixed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&mixed.stderr).contains("n2.key"));
}

#[test]
fn each_role_does_what_it_is_for_and_no_more() {
    let keys = Keys::new(&["n1=127.0.0.1"]);
    let (reader, admin) = (keys.token("dashboard", &["read"]), keys.token("oncall", &["admin"]));
    let web = keys.token("web", &["lock", "--prefix", "web/"]);
    let other = keys.token("other", &["lock", "--prefix", ""]);
    let data = Directory::new();
    let node = start(data.path(), &["--tokens".into(), keys.path("tokens.toml")]);
    let acquire = "/v1/locks/web%2Fa/acquire";
    for token in [None, Some("quorate_wrong")] {
        for (method, path) in [("GET", "/v1/status"), ("POST", acquire), ("GET", "/v1/events"), ("GET", "/v1/stream")] {
            let (status, problem) = ask(&node, token, method, path, "");
            assert_eq!((status, problem["type"].as_str()), (401, Some("unauthenticated")), "{path}: {problem}");
        }
    }
    let mut health = TcpStream::connect(&node.address).unwrap();
    write!(health, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    health.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

    let forbidden = |token: &str, method: &str, path: &str, body: &str| {
        let (status, problem) = ask(&node, Some(token), method, path, body);
        assert_eq!((status, problem["type"].as_str()), (403, Some("forbidden")), "{method} {path}: {problem}");
    };
    assert_eq!(ask(&node, Some(&reader), "GET", "/v1/locks", "").0, 200);
    forbidden(&reader, "POST", acquire, "");
    forbidden(&reader, "POST", "/v1/sessions", "");
    let (status, grant) = ask(&node, Some(&web), "POST", acquire, r#"{"ttl": "60s"}"#);
    assert_eq!(status, 200, "{grant}");
    let session = grant["session"].as_str().unwrap();
    let holding = format!(r#"{{"session": "{session}"}}"#);
    forbidden(&web, "POST", "/v1/locks/db/acquire", "");
    forbidden(&web, "POST", "/v1/elections/db/campaign", "");
    forbidden(&web, "POST", "/v1/locks/web%2Fa/force", "");
    forbidden(&web, "POST", "/v1/members", r#"{"node": 2, "address": "127.0.0.1:1"}"#);
    // A session is its owner's, whatever others may do.
    forbidden(&other, "POST", "/v1/locks/web%2Fa/release", &holding);
    forbidden(&other, "POST", "/v1/locks/web%2Fb/acquire", &holding);
    forbidden(&other, "POST", &format!("/v1/sessions/{session}/renew"), "");
    forbidden(&other, "DELETE", &format!("/v1/sessions/{session}"), "");
    assert_eq!(ask(&node, Some(&web), "POST", &format!("/v1/sessions/{session}/renew"), "").0, 200);
    let (_, sessions) = ask(&node, Some(&reader), "GET", "/v1/sessions", "");
    assert_eq!(sessions.as_array().unwrap().len(), 1, "who is refused leaves nothing behind: {sessions}");
    assert_eq!(ask(&node, Some(&web), "POST", "/v1/locks/web%2Fa/release", &holding).0, 204);
    assert_eq!(ask(&node, Some(&admin), "POST", "/v1/locks/db/acquire", "").0, 200);
    assert_eq!(ask(&node, Some(&admin), "POST", "/v1/locks/db/force", "").0, 204);
}

/// Where clients are asked who they are, nobody comes in by saying that it is a member.
#[test]
fn nobody_is_believed_to_be_a_member_where_tokens_are_asked_for() {
    let keys = Keys::new(&["n1=127.0.0.1"]);
    keys.token("oncall", &["admin"]);
    let data = Directory::new();
    let tokens = ["--tokens".into(), keys.path("tokens.toml")];
    let upgrade = "Connection: upgrade\r\nUpgrade: quorate-peer-1\r\n";
    let knock = |node: &Served| {
        let mut stream = TcpStream::connect(&node.address).unwrap();
        write!(stream, "GET /v1/peer HTTP/1.1\r\nHost: x\r\n{upgrade}\r\n").unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    assert_eq!(knock(&start(data.path(), &tokens)), "HTTP/1.1 403");
    let insecure = [&tokens[..], &["--insecure".into()]].concat();
    assert_eq!(knock(&start(data.path(), &insecure)), "HTTP/1.1 101", "as the operator wants it");
    let cluster = ["serve", "--listen", "127.0.0.1:0", "--join", "--tokens", &tokens[1]];
    let refused = run(&cluster);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("pose as a member"));
}

#[tokio::test]
async fn a_change_of_the_token_file_takes_effect_also_on_open_streams() {
    let keys = Keys::new(&["n1=127.0.0.1"]);
    let token = keys.token("web", &["lock", "--prefix", ""]);
    let data = Directory::new();
    let node = start(data.path(), &["--tokens".into(), keys.path("tokens.toml")]);
    let client = Client::new([&*node.address]).unwrap();
    let refused = client.session().open().await.unwrap_err();
    assert_eq!(refused.kind(), Some(ProblemKind::Unauthenticated), "at once, not after a time-out: {refused}");
    let session = client.clone().token(&token).unwrap().session().open().await.unwrap();
    session.lock("a").acquire().await.unwrap().release().await.unwrap();

    let file = keys.path("tokens.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "[[token]]\nname = ").unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    session.lock("a").acquire().await.expect("a broken file changes nothing").release().await.unwrap();

    std::fs::write(&file, before.replace("lock", "read").replace("prefixes", "# prefixes")).unwrap();
    eventually("the end of a right", || {
        let (status, _) = ask(&node, Some(&token), "POST", "/v1/locks/b/acquire", r#"{"wait": 0}"#);
        (status == 403).then_some(())
    });
    let refused = session.lock("a").acquire().await.unwrap_err();
    assert_eq!(refused.kind(), Some(ProblemKind::Forbidden), "{refused}");
    std::fs::write(&file, "").unwrap();
    eventually("the end of a token", || (ask(&node, Some(&token), "GET", "/v1/status", "").0 == 401).then_some(()));
    let token = keys.token("late", &["admin"]);
    eventually("a new token", || (ask(&node, Some(&token), "GET", "/v1/status", "").0 == 200).then_some(()));
}

#[test]
fn curl_works_with_the_authoritys_certificate_and_a_token() {
    if Command::new("curl").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "there must be curl where everything is to be tested");
        eprintln!("curl is not installed: what it can do with certificates and tokens was NOT tested");
        return;
    }
    let keys = Keys::new(&["n1=127.0.0.1"]);
    let token = keys.token("web", &["lock", "--prefix", ""]);
    let mut options = keys.options("n1");
    options.extend(["--tokens".into(), keys.path("tokens.toml")]);
    let data = Directory::new();
    let node = start(data.path(), &options);
    let url = format!("https://{}/v1/locks/backup/acquire", node.address);
    let (header, ca) = (format!("Authorization: Bearer {token}"), keys.path("ca.crt"));
    for version in ["--http1.1", "--http2"] {
        let curl = Command::new("curl")
            .args(["-sS", version, "--cacert", &ca, "-X", "POST", &url, "-H", &header, "-d", r#"{"mode": "shared"}"#])
            .output()
            .unwrap();
        let grant: Value = serde_json::from_slice(&curl.stdout).unwrap_or_else(|_| panic!("{curl:?}"));
        assert!(grant["fence"].is_u64(), "{grant}");
    }
}

/// What nobody should send: noise, and beginnings without an end.
fn garbage() -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise = |length: usize| -> Vec<u8> {
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .take(length)
        .collect()
    };
    let mut all: Vec<Vec<u8>> = (0..30).map(|size| noise(1 + 37 * size * size)).collect();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let upgrade = b"GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: quorate-stream-1\r\n\r\n";
    all.extend([
        b"\0".to_vec(),
        b"\r\n\r\n\r\n".to_vec(),
        b"GET".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"POST /v1/locks/a/acquire HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n".to_vec(),
        b"POST /v1/locks/%ff%fe/acquire HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".to_vec(),
        [b"GET /".as_slice(), &b"a".repeat(1 << 20), b" HTTP/1.1\r\n\r\n"].concat(),
        [b"GET / HTTP/1.1\r\n".as_slice(), &b"A: b\r\n".repeat(10_000), b"\r\n"].concat(),
        preface[..10].to_vec(),
        [preface.clone(), noise(5000)].concat(),
        [preface, b"\0\0\0\x04\0\0\0\0\0".to_vec(), noise(5000)].concat(),
        [upgrade.as_slice(), &noise(5000)].concat(),
        [upgrade.as_slice(), b"\xff\xff\xff\xff"].concat(),
        [upgrade.as_slice(), b"\0\0\0\x08", &noise(8)].concat(),
        b"\x16\x03\x01\xff\xff\x01".to_vec(),
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00".to_vec(),
    ]);
    all
}

#[test]
fn garbage_hurts_nobody() {
    let keys = Keys::new(&["n1=127.0.0.1"]);
    let (plain_data, secret_data) = (Directory::new(), Directory::new());
    let plain = start(plain_data.path(), &[]);
    let secret = start(secret_data.path(), &keys.options("n1"));
    // It may be sent where nothing is encrypted, instead of encryption, and encrypted.
    for bytes in garbage() {
        for address in [&plain.address, &secret.address] {
            let mut stream = TcpStream::connect(address).unwrap();
            // The node may have had enough before all is said.
            let _ = stream.write_all(&bytes).and_then(|()| stream.shutdown(Shutdown::Write));
            let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
            let _ = stream.read_to_end(&mut Vec::new());
        }
        let mut stream = keys.connect(&secret.address, None);
        let _ = stream.write_all(&bytes);
        stream.conn.send_close_notify();
        let _ = stream.flush();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(plain.post("/v1/locks/a/acquire", "").0, 200);
    let acquired = exchange(&mut keys.connect(&secret.address, None), "POST", "/v1/locks/a/acquire", "", "").unwrap();
    assert_eq!(acquired.0, 200);
}

#[test]
fn who_says_nothing_is_not_waited_for() {
    let keys = Keys::new(&["n1=127.0.0.1"]);
    let (plain_data, secret_data) = (Directory::new(), Directory::new());
    let plain = start(plain_data.path(), &[]);
    let secret = start(secret_data.path(), &keys.options("n1"));
    let silent: Vec<_> = [(&plain, &b""[..]), (&plain, b"PRI * HT"), (&secret, b""), (&secret, b"\x16\x03\x01\x02")]
        .into_iter()
        .map(|(node, said)| {
            let mut stream = TcpStream::connect(&node.address).unwrap();
            stream.write_all(said).unwrap();
            stream
        })
        .collect();
    for mut stream in silent {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // Whoever has said something that was not read is cut off.
        if let Err(error) = stream.read_to_end(&mut Vec::new()) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
    }
}

#[test]
fn too_many_connections_are_told_so_and_streams_count() {
    let data = Directory::new();
    let node = start(data.path(), &["--max-connections".into(), "3".into()]);
    let stream = || {
        let mut stream = TcpStream::connect(&node.address).unwrap();
        write!(
            stream,
            "GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: quorate-stream-1\r\n\r\n"
        )
        .unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 101");
        stream
    };
    let mut streams = vec![stream(), stream(), stream()];
    let (status, problem) = node.get("/v1/status");
    assert_eq!((status, problem["type"].as_str()), (429, Some("too-many")), "{problem}");
    streams.pop();
    eventually("a place", || (node.get("/v1/status").0 == 200).then_some(()));
}

#[test]
fn a_file_says_what_options_say_and_options_come_first() {
    let keys = Keys::new(&["n1=127.0.0.1"]);
    let token = keys.token("oncall", &["admin"]);
    let file: PathBuf = keys.path("node.toml").into();
    let text = "listen = \"127.0.0.1:1\"\ndata = \"data\"\nnode = 7\ntokens = \"tokens.toml\"\n\n\
                [tls]\nca = \"ca.crt\"\ncert = \"n1.crt\"\nkey = \"n1.key\"\n\n[log]\nformat = \"json\"\n";
    std::fs::write(&file, text).unwrap();
    let config = file.to_str().unwrap().to_string();
    // The file names a port that nobody may have, and a directory beside itself.
    let data = keys.directory.path().join("data");
    let node = start(&data, &["--config".into(), config.clone()]);
    let header = format!("Authorization: Bearer {token}\r\n");
    let (status, answer) = exchange(&mut keys.connect(&node.address, None), "GET", "/v1/status", &header, "").unwrap();
    assert_eq!((status, answer["node"].as_u64()), (200, Some(7)), "{answer}");
    drop(node);
    std::fs::write(&file, text.replace("tokens =", "token =")).unwrap();
    let unknown = run(&["serve", "--config", &config]);
    assert_eq!(unknown.status.code(), Some(2));
    let told = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(told.contains("`token`") && told.contains("line 4"), "{told}");
    // An address that others can reach takes both.
    let tokens = keys.path("tokens.toml");
    for (options, missing) in [(keys.options("n1"), "--tokens"), (vec!["--tokens".into(), tokens], "--tls-ca")] {
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let refused = run(&[&["serve", "--listen", "0.0.0.0:0"], &options[..]].concat());
        assert_eq!(refused.status.code(), Some(2));
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains(missing) && told.contains("--insecure"), "{told}");
    }
}
