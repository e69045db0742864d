//! Single requests over HTTP, as curl would make them, that know whether they can have been heard.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// Nobody has heard the question.
    Unsaid,
    /// It may have been heard.
    Unknown,
}

/// Asks, and waits for so long at most.
pub(crate) fn ask(
    address: &str,
    method: &str,
    path: &str,
    body: &Value,
    patience: Duration,
) -> Result<(u16, Value), Unanswered> {
    let deadline = Instant::now() + patience;
    let socket = address.parse().expect("an address of the harness");
    let mut stream = TcpStream::connect_timeout(&socket, patience).map_err(|_| Unanswered::Unsaid)?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}");
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).map_err(|_| Unanswered::Unknown)?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).map_err(|_| Unanswered::Unknown)?;
        match stream.read(&mut piece) {
            Ok(0) => return parsed(&answer).ok_or(Unanswered::Unknown),
            Ok(length) => answer.extend_from_slice(&piece[..length]),
            Err(_) => return Err(Unanswered::Unknown),
        }
        if Instant::now() >= deadline {
            return Err(Unanswered::Unknown);
        }
    }
}

fn parsed(answer: &[u8]) -> Option<(u16, Value)> {
    let (head, body) = std::str::from_utf8(answer).ok()?.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        body.lines().skip(1).step_by(2).collect::<String>()
    } else {
        body.to_string()
    };
    Some((status, if body.trim().is_empty() { Value::Null } else { serde_json::from_str(&body).ok()? }))
}
