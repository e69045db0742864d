//! A node, and single requests to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use quorate_server::node::{EngineSettings, MOST_CONNECTIONS, Node, NodeSettings, ReplicatedSettings};
use quorate_server::raft::Timing;
use serde_json::Value;
use tokio::runtime::Runtime;

/// A node of its own, which is gone with its data when the test is.
pub(crate) struct Served {
    runtime: Runtime,
    node: Option<Node>,
    address: SocketAddr,
    directory: PathBuf,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The media type, without what follows it.
    pub(crate) fn media(&self) -> Option<&str> {
        let line = self.head.lines().find_map(|line| line.strip_prefix("content-type: "))?;
        line.split(';').next()
    }
}

impl Served {
    /// A node that is alone and leads.
    pub(crate) fn start() -> Served {
        Served::start_as(false)
    }

    /// A node that waits to be added to a cluster.
    pub(crate) fn start_waiting() -> Served {
        Served::start_as(true)
    }

    fn start_as(joins: bool) -> Served {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("quorate-api-{}-{number}", std::process::id()));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let engine = EngineSettings::Replicated(ReplicatedSettings {
            node: 1,
            advertise: None,
            data: directory.clone(),
            first_members: Default::default(),
            joins,
            timing: Timing::default(),
        });
        let settings = NodeSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            engine,
            tls: None,
            tokens: None,
            is_insecure: false,
            most_connections: MOST_CONNECTIONS,
        };
        let node = runtime.block_on(Node::start(settings)).unwrap();
        Served { runtime, address: node.address(), node: Some(node), directory }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, b"")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, body.as_bytes())
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.ask_with(method, path, "", body)
    }

    /// The same with more headers, each with its end of line.
    pub(crate) fn ask_with(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        self.ask_by_name(&self.address.to_string(), method, path, headers, body)
    }

    /// The same, by another name that leads to it.
    pub(crate) fn ask_by_name(&self, host: &str, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // A node that has seen enough may answer and hang up before the end of a body that is too long.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let split = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let split = split.unwrap_or_else(|| panic!("{method} {path} was answered by {} bytes", bytes.len()));
        let head = String::from_utf8_lossy(&bytes[..split]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        Answer { status, head, body: bytes[split + 4..].to_vec() }
    }

    /// Reads the beginning of an answer that does not end: its head, and what follows up to a text.
    pub(crate) fn begin(&self, path: &str, until: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        let (mut bytes, mut part) = (Vec::new(), [0; 1024]);
        while !String::from_utf8_lossy(&bytes).contains(until) {
            let length = stream.read(&mut part).unwrap();
            assert!(length > 0, "it ended before {until:?}");
            bytes.extend_from_slice(&part[..length]);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        Answer { status, head: head.into(), body: body.as_bytes().to_vec() }
    }

    /// A session, by its number.
    pub(crate) fn session(&self) -> String {
        let opened = self.post("/v1/sessions", r#"{"ttl": "10m", "label": "tester"}"#);
        assert_eq!(opened.status, 201, "{}", opened.text());
        opened.json()["session"].as_str().unwrap().to_string()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(node) = self.node.take() {
            self.runtime.block_on(node.stop());
        }
        // What is left is the system's to clean up.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Tries until it succeeds, for a generous time.
pub(crate) fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(done) = attempt() {
            return done;
        }
        assert!(Instant::now() < until, "{what} did not happen within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}
