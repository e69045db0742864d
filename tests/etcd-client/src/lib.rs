//! What the tests need: a server to speak to, names that nobody else uses, and errors as they came over the wire.
//!
//! The server is the one at `QUORATE_ENDPOINT` (`http://127.0.0.1:7420`), or the program `quorate` at `QUORATE_BIN`, which
//! is started for each test, with an empty data directory and on a port that is free.

use std::fmt::Debug;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etcd_client::{Certificate, Client, ConnectOptions, Error, LeaseTimeToLiveOptions, TlsOptions};
use tokio::time::{Instant, sleep, timeout};
pub use tonic::Code;

/// What takes longer does not happen.
pub const LONG: Duration = Duration::from_secs(10);
/// What has not happened by then is taken not to happen.
pub const SHORT: Duration = Duration::from_millis(300);

/// A server, until it is dropped.
#[derive(Debug)]
pub struct Server {
    endpoint: String,
    /// The process and its data directory.
    started: Option<(Child, PathBuf)>,
}

impl Server {
    /// The server that the environment names.
    pub fn start() -> Server {
        if let Ok(endpoint) = std::env::var("QUORATE_ENDPOINT") {
            return Server { endpoint, started: None };
        }
        let program = std::env::var("QUORATE_BIN").expect("set QUORATE_ENDPOINT or QUORATE_BIN");
        let data = std::env::temp_dir().join(name("data").replace('/', "-"));
        Server::launch(&program, data, &[])
    }

    /// A server that encrypts and asks its clients who they are, if there is a program to start.
    pub fn start_secured() -> Option<Secured> {
        let program = std::env::var("QUORATE_BIN").ok()?;
        let data = std::env::temp_dir().join(name("data").replace('/', "-"));
        let file = |name: &str| data.join(name).to_str().expect("it is text").to_string();
        let run = |arguments: &[&str]| {
            let output = Command::new(&program).args(arguments).output().expect("it starts");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).expect("it writes text").trim().to_string()
        };
        let (ca, tokens) = (file("ca.crt"), file("tokens.toml"));
        run(&["keys", "nodes", "node=127.0.0.1", "--out", &file("")]);
        let token = run(&["keys", "token", "me", "--role", "lock", "--prefix", "mine/", "--file", &tokens]);
        let options = ["--tls-ca", &ca, "--tls-cert", &file("node.crt"), "--tls-key", &file("node.key")];
        let mut server = Server::launch(&program, data.clone(), &[&options[..], &["--tokens", &tokens]].concat());
        server.endpoint = server.endpoint.replace("http://", "https://");
        let ca = std::fs::read(ca).expect("it was made");
        Some(Secured { server, ca, token })
    }

    fn launch(program: &str, data: PathBuf, options: &[&str]) -> Server {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.join("node")).args(options);
        command.stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let mut lines = output.lines().map(|line| line.expect("it writes text"));
        let address = lines.find_map(|line| {
            let (_, rest) = line.split_once(" serves on ")?;
            Some(rest.split(',').next()?.to_string())
        });
        // Whatever it says from now on is thrown away, so that it never waits to say it.
        std::thread::spawn(move || lines.for_each(drop));
        Server {
            endpoint: format!("http://{}", address.expect("it says where it listens")),
            started: Some((child, data)),
        }
    }

    /// A client with a connection of its own.
    pub async fn client(&self) -> Client {
        Client::connect([&self.endpoint], None).await.expect("the server can be reached")
    }
}

/// A server that encrypts and asks its clients who they are.
#[derive(Debug)]
pub struct Secured {
    server: Server,
    ca: Vec<u8>,
    /// A token for names that begin with `mine/`.
    pub token: String,
}

impl Secured {
    /// A client that trusts the server, with a password or without.
    pub async fn client(&self, password: Option<&str>) -> Result<Client, Error> {
        let options = ConnectOptions::new().with_tls(TlsOptions::new().ca_certificate(Certificate::from_pem(&self.ca)));
        let options = match password {
            Some(password) => options.with_user("me", password),
            None => options,
        };
        Client::connect([&self.server.endpoint], Some(options)).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some((child, data)) = &mut self.started {
            // Whatever is left of it is in a temporary directory.
            let _ = child.kill();
            let _ = child.wait();
            let _ = std::fs::remove_dir_all(data);
        }
    }
}

/// A name that nobody else uses, on whichever server.
pub fn name(what: &str) -> String {
    static NAMES: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970").as_nanos();
    format!("tests/{what}/{now:x}-{}", NAMES.fetch_add(1, Ordering::Relaxed))
}

/// A lease that lasts longer than any test.
pub async fn lease(client: &mut Client) -> i64 {
    client.lease_grant(120, None).await.expect("a lease is granted").id()
}

/// The key of a place.
pub fn key(name: &str, lease: i64) -> Vec<u8> {
    format!("{name}/{lease:x}").into_bytes()
}

/// What a lease holds or awaits.
pub async fn keys(client: &mut Client, lease: i64) -> Vec<Vec<u8>> {
    let options = LeaseTimeToLiveOptions::new().with_keys();
    client.lease_time_to_live(lease, Some(options)).await.expect("the lease is looked at").keys().to_vec()
}

/// Waits until a lease holds or awaits so many things.
pub async fn until_places(client: &mut Client, lease: i64, places: usize) {
    let began = Instant::now();
    while keys(client, lease).await.len() != places {
        assert!(began.elapsed() < LONG, "lease {lease:x} never held or awaited {places}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Has it that something happens in time.
pub async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.expect("it happens in time")
}

/// The code and the text of an error, as they came over the wire.
pub fn refusal<T: Debug>(result: Result<T, Error>) -> (Code, String) {
    match result.expect_err("it is refused") {
        Error::GRpcStatus(status) => (status.code(), status.message().to_string()),
        other => panic!("{other} did not come over the wire"),
    }
}

/// A code and a text, to compare a refusal with.
pub fn said(code: Code, text: &str) -> (Code, String) {
    (code, text.to_string())
}
