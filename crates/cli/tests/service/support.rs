//! Nodes as processes of their own, and single requests to them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A directory that is gone when the test is.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("quorate-service-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left is the system's to clean up.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A node. It dies with the test, whatever becomes of that.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
}

impl Served {
    /// Starts a node on its data, and waits until it listens.
    pub(crate) fn start(data: &Path, extra: &[&str]) -> Served {
        Served::start_by(Command::new(env!("CARGO_BIN_EXE_quorate")), data, extra)
    }

    /// Starts a node on a disk that is full as soon as a file has so many blocks of 512 bytes.
    pub(crate) fn start_on_a_small_disk(data: &Path, blocks: u32) -> Served {
        let mut command = Command::new("sh");
        // Without the trap the process would be killed, where a full disk fails the write.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_quorate")]);
        Served::start_by(command, data, &[])
    }

    fn start_by(mut command: Command, data: &Path, extra: &[&str]) -> Served {
        command.args(["serve", "--json", "--data"]).arg(data);
        if !extra.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(extra).stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the node said {line:?}"));
        Served { child, address: started["address"].as_str().unwrap().to_string() }
    }

    /// Kills it, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until it has ended, and says with which code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> (u16, Value) {
        request(&self.address, "POST", path, body)
    }

    /// Sends a request, and does not wait for the answer.
    pub(crate) fn send(&self, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\nHost: quorate\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        stream
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        request(&self.address, "GET", path, "")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A single request over HTTP, as curl would make it.
pub(crate) fn request(address: &str, method: &str, path: &str, body: &str) -> (u16, Value) {
    try_request(address, method, path, body).unwrap_or_else(|error| panic!("{method} {address}{path}: {error}"))
}

pub(crate) fn try_request(address: &str, method: &str, path: &str, body: &str) -> std::io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    exchange(&mut stream, method, path, "", body)
}

/// A single request on a connection, with more headers, each with its end of line.
pub(crate) fn exchange(
    stream: &mut (impl Read + Write),
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> std::io::Result<(u16, Value)> {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: quorate\r\nConnection: close\r\n{headers}");
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len())?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // Who refuses an upgrade over TLS hangs up without a farewell, after all is said.
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof && !answer.is_empty() => {}
        read => drop(read?),
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let invalid = || std::io::Error::new(std::io::ErrorKind::InvalidData, answer.clone());
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(invalid)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(invalid)?;
    let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        body.lines().skip(1).step_by(2).collect::<String>()
    } else {
        body.to_string()
    };
    let value =
        if body.trim().is_empty() { Value::Null } else { serde_json::from_str(&body).map_err(|_| invalid())? };
    Ok((status, value))
}

/// Runs the command against a node.
pub(crate) fn quorate(address: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command.args(arguments).env("QUORATE_ENDPOINTS", address).stdin(Stdio::null());
    command.output().unwrap()
}

/// Tries until it succeeds, for a generous time.
pub(crate) fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(done) = attempt() {
            return done;
        }
        assert!(Instant::now() < until, "{what} did not happen within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}
