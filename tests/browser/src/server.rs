//! Nodes and commands as processes of their own, and single requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ports::free_addresses;

/// The command that is tested.
pub fn program() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/quorate");
    std::env::var_os("QUORATE_BIN").map_or_else(built, PathBuf::from)
}

/// A directory that is gone when the test is.
pub struct Directory(PathBuf);

impl Directory {
    /// An empty one, of which nobody else knows.
    pub fn new() -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("quorate-browser-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Directory {
    fn default() -> Directory {
        Directory::new()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left is the system's to clean up.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that dies with the test, whatever becomes of that.
pub struct Process(Child);

impl Process {
    /// Starts it in a group of its own, with whatever it starts in turn.
    fn start(command: &mut Command) -> Process {
        Process(command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Asks it to end, as a shell does.
    pub fn terminate(&mut self) {
        let status = Command::new("kill").args(["-s", "TERM", &self.0.id().to_string()]).status().unwrap();
        assert!(status.success());
        self.0.wait().unwrap();
    }

    /// Whether it ends well by itself.
    pub fn is_success(&mut self) -> bool {
        self.0.wait().unwrap().success()
    }

    /// Kills it with whatever it has started, as the crash of a machine would.
    pub fn kill(&mut self) {
        let group = format!("-{}", self.0.id());
        // It may be dead already.
        let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A node.
pub struct Served {
    /// The process that it is.
    pub process: Process,
    /// Where it listens.
    pub address: String,
}

impl Served {
    /// Starts a node on its data, and waits until it listens.
    pub fn start(data: &Path, listen: &str, extra: &[&str]) -> Served {
        let mut command = Command::new(program());
        command.args(["serve", "--json", "--listen", listen, "--data"]).arg(data).args(extra);
        let mut process = Process::start(command.stdout(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the node said {line:?}"));
        Served { process, address: started["address"].as_str().unwrap().to_string() }
    }

    /// Where its page is.
    pub fn page(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// `quorate lock NAME -- sleep`, as a user would type it.
    pub fn hold(&self, name: &str, options: &[&str]) -> Process {
        self.run(&[&["lock", name], options, &["--", "sleep", "120"]].concat())
    }

    /// A command that goes on for a while.
    pub fn run(&self, arguments: &[&str]) -> Process {
        let mut command = Command::new(program());
        command.args(arguments).env("QUORATE_ENDPOINTS", &self.address);
        Process::start(command.stdout(Stdio::null()))
    }

    /// What it answers to a request with a body, which is to succeed.
    pub fn post(&self, path: &str, body: &str) -> Value {
        let (status, answer) = request(&self.address, "POST", path, "", body);
        assert!((200..300).contains(&status), "{path} {body}: {status} {answer}");
        answer
    }

    /// What it answers to a request, which is to succeed.
    pub fn get(&self, path: &str) -> Value {
        let (status, answer) = request(&self.address, "GET", path, "", "");
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }
}

/// The laboratory's page, of one's own machine.
pub struct Laboratory {
    _process: Process,
    address: String,
}

impl Laboratory {
    /// Starts it, and waits until it listens.
    pub fn start() -> Laboratory {
        let mut command = Command::new(program());
        command.args(["lab", "--json", "--listen", "127.0.0.1:0"]);
        let mut process = Process::start(command.stdout(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the laboratory said {line:?}"));
        Laboratory { _process: process, address: started["address"].as_str().unwrap().to_string() }
    }

    /// Where something of it is.
    pub fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// The address of a file that a command writes: what the command is to do, and after `--diagram` where to.
pub fn draw(directory: &Directory, arguments: &[&str]) -> String {
    let file = directory.path().join("run.html");
    let output = Command::new(program()).args(arguments).arg("--diagram").arg(&file).output().unwrap();
    // Whether what it found is a failure is its own affair.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(file.exists(), "{arguments:?} has drawn nothing: {said}");
    format!("file://{}", file.display())
}

/// Addresses on loopback that three nodes can have.
pub fn addresses() -> [String; 3] {
    free_addresses(3).try_into().expect("there are as many as were asked for")
}

/// A single request over HTTP, with more headers, each with its end of line.
pub fn request(address: &str, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
    let (status, body) = exchange(address, method, path, headers, body);
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// A text that is no JSON.
pub fn text(address: &str, path: &str) -> String {
    exchange(address, "GET", path, "", "").1
}

fn exchange(address: &str, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}");
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    // Drivers keep the connection, whatever they are told: only the length says where the answer ends.
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), None);
    while !head.ends_with("\r\n\r\n") {
        let start = head.len();
        assert!(reader.read_line(&mut head).unwrap() > 0, "{method} {path} was answered {head:?}");
        if let Some((name, value)) = head[start..].split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    let mut body = Vec::new();
    reader.take(length.unwrap_or(if status == 204 { 0 } else { u64::MAX })).read_to_end(&mut body).unwrap();
    (status, String::from_utf8_lossy(&body).into_owned())
}

/// Tries until it succeeds, for a generous time.
pub fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(instead) => assert!(Instant::now() < until, "{what} did not happen within a minute: {instead}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
