//! First come, first served, by the log itself: the events of all nodes, put together by the numbers of the commands
//! that caused them.
//!
//! A node that dies tells nothing, so there are stretches of which at least one node told everything, and perhaps gaps
//! between them. Nodes that told of the same command must have told the same.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::cluster::address;

/// What a node told without interruption: by the number of the command, what happened.
type Stretch = BTreeMap<u64, Vec<(String, Value)>>;

/// Somebody who listens to all nodes until it is asked what it has heard.
pub(crate) struct Listener {
    is_over: Arc<AtomicBool>,
    stretches: Arc<Mutex<Vec<Stretch>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Listener {
    pub(crate) fn start(nodes: usize) -> Listener {
        let (is_over, stretches) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<Vec<Stretch>>>::default());
        let listen = |node| {
            let (is_over, stretches) = (Arc::clone(&is_over), Arc::clone(&stretches));
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let heard = hear(node, &is_over).unwrap_or_default();
                    stretches.lock().expect("no listener panics").extend(heard);
                    std::thread::sleep(Duration::from_millis(50));
                }
            })
        };
        let threads = (1..=nodes).map(listen).collect();
        Listener { is_over, stretches, threads }
    }

    /// What is wrong with the order in which locks were granted, and how many grants were judged.
    pub(crate) fn judge(self) -> Result<usize, String> {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("no listener panics");
        }
        let stretches = std::mem::take(&mut *self.stretches.lock().expect("no listener panics"));
        judge(stretches)
    }
}

/// Listens to one node until it falls silent. What it told before and after it had lost something are two stretches.
fn hear(node: usize, is_over: &AtomicBool) -> std::io::Result<Vec<Stretch>> {
    let socket = address(node).parse().expect("an address of the harness");
    let mut stream = TcpStream::connect_timeout(&socket, Duration::from_millis(200))?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    write!(stream, "GET /v1/events HTTP/1.1\r\nHost: {socket}\r\n\r\n")?;
    let (mut lines, mut line) = (BufReader::new(stream), Vec::new());
    let (mut stretches, mut kind, mut data) = (vec![Stretch::new()], String::new(), Value::Null);
    while !is_over.load(Ordering::Relaxed) {
        match lines.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            // What has been read so far stays in the line.
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                continue;
            }
            Err(_) => break,
        }
        let text = String::from_utf8_lossy(&line).trim().to_string();
        line.clear();
        if let Some(name) = text.strip_prefix("event: ") {
            kind = name.into();
            if kind == "missed" {
                stretches.push(Stretch::new());
            }
        } else if let Some(text) = text.strip_prefix("data: ") {
            data = serde_json::from_str(text).unwrap_or_default();
        } else if let Some(index) = text.strip_prefix("id: ").and_then(|index| index.parse().ok()) {
            let stretch = stretches.last_mut().expect("there is always one");
            stretch.entry(index).or_default().push((std::mem::take(&mut kind), data.take()));
        }
    }
    Ok(stretches)
}

fn judge(mut stretches: Vec<Stretch>) -> Result<usize, String> {
    // The last command of a stretch may have been told in part; the first one may have, too.
    for stretch in &mut stretches {
        stretch.pop_first();
        stretch.pop_last();
    }
    stretches.retain(|stretch| !stretch.is_empty());
    stretches.sort_by_key(|stretch| stretch.first_key_value().map(|(index, _)| *index));
    let (mut told, mut gaps, mut covered) = (Stretch::new(), Vec::new(), 0);
    for stretch in stretches {
        let (first, last) = (*stretch.keys().next().expect("not empty"), *stretch.keys().last().expect("not empty"));
        if first > covered + 1 {
            gaps.push(first);
        }
        covered = covered.max(last);
        for (index, events) in stretch {
            let known = told.entry(index).or_insert_with(|| events.clone());
            if *known != events {
                return Err(format!("nodes differ about command {index}: {known:?} and {events:?}"));
            }
        }
    }
    let (mut lines, mut grants) = (BTreeMap::<String, Line>::new(), 0);
    for (index, events) in told {
        if gaps.contains(&index) {
            lines.clear();
        }
        for (kind, data) in events {
            let (Some(name), Some(session)) = (data["name"].as_str(), data["session"].as_str()) else { continue };
            let line = lines.entry(name.into()).or_default();
            match kind.as_str() {
                "queued" => line.waiting.push_back(session.into()),
                "left" => line.waiting.retain(|waiting| waiting != session),
                "granted" => {
                    grants += 1;
                    line.grant(session).map_err(|why| format!("{name}: at command {index} {session} {why}"))?;
                }
                _ => {}
            }
        }
    }
    Ok(grants)
}

/// Who waits for a lock, as far as it was told since the last gap.
#[derive(Default)]
struct Line {
    waiting: VecDeque<String>,
}

impl Line {
    /// Somebody is granted the lock. Who is not known to wait came before the last gap, or found nobody waiting.
    fn grant(&mut self, session: &str) -> Result<(), String> {
        match self.waiting.iter().position(|waiting| waiting == session) {
            Some(0) => drop(self.waiting.pop_front()),
            Some(ahead) => return Err(format!("was granted it before {:?}", self.waiting.range(..ahead))),
            None => {}
        }
        Ok(())
    }
}

/// The judge must be able to find fault.
pub(crate) fn prove() {
    let event = |kind: &str, session: &str| (kind.to_string(), serde_json::json!({ "name": "a", "session": session }));
    let stretch = |events: &[(&str, &str)]| -> Stretch {
        (1..).zip(events).map(|(index, (kind, session))| (index, vec![event(kind, session)])).collect()
    };
    let turns = [("x", "0"), ("queued", "1"), ("queued", "2"), ("granted", "1"), ("granted", "2"), ("x", "0")];
    assert_eq!(judge(vec![stretch(&turns)]), Ok(2));
    let overtaken = [("x", "0"), ("queued", "1"), ("queued", "2"), ("granted", "2"), ("granted", "1"), ("x", "0")];
    assert!(judge(vec![stretch(&overtaken)]).is_err());
    assert!(judge(vec![stretch(&turns), stretch(&overtaken)]).is_err(), "nodes that differ");
}
