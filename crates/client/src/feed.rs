//! Events as they happen: server-sent events from one node, or from another one if that fails.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Method;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::client::is_of_this_node;
use crate::dial::Endpoint;
use crate::http::{self, Kept, unreachable};
use crate::{Client, Error};

/// A node says at least every 15 seconds that it is there. One that is silent for longer than this is gone.
const SILENCE: Duration = Duration::from_secs(40);
/// An event is at most so long.
const LONGEST_EVENT: usize = 1024 * 1024;
/// How long to wait before trying the nodes again: from, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Type of the event: `granted`, `lost`, `session-opened`, …
    pub kind: String,
    /// Index of the command that caused the event, if a command did. It is the same on every node.
    pub index: Option<u64>,
    /// The other fields of the event.
    pub data: Value,
}

/// An item of a [`Feed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// An event.
    Event(Event),
    /// The connection was lost, and the feed connects to another node. Events may be missing.
    Interrupted(Error),
}

/// A stream of events.
#[derive(Debug)]
pub struct Feed {
    client: Client,
    path: String,
    next_node: usize,
    open: Option<Open>,
    has_been_open: bool,
}

/// A connection on which events arrive.
#[derive(Debug)]
struct Open {
    node: Endpoint,
    body: Incoming,
    unread: Vec<u8>,
    _kept: Kept,
}

impl Feed {
    pub(crate) fn new(client: Client, path: String) -> Feed {
        Feed { client, path, next_node: 0, open: None, has_been_open: false }
    }

    /// Waits for the next item.
    ///
    /// # Errors
    /// If no node can be reached at first, or if the service refuses the request. After the first connection, the feed
    /// keeps trying until a node answers.
    pub async fn next(&mut self) -> Result<News, Error> {
        loop {
            match &mut self.open {
                None => self.open = Some(self.connect().await?),
                Some(open) => match open.next().await {
                    Ok(event) => return Ok(News::Event(event)),
                    Err(error) => {
                        self.open = None;
                        return Ok(News::Interrupted(error));
                    }
                },
            }
        }
    }

    async fn connect(&mut self) -> Result<Open, Error> {
        let (nodes, mut pause, mut last) = (self.client.nodes.len(), PAUSES.0, None);
        loop {
            for _ in 0..nodes {
                let node = self.client.nodes[self.next_node % nodes].clone();
                self.next_node += 1;
                let opened = http::open(&self.client.dialer, &node, Method::GET, &self.path, Bytes::new());
                match timeout(self.client.patience, opened).await {
                    Ok(Ok((response, kept))) => {
                        self.has_been_open = true;
                        return Ok(Open { node, body: response.into_body(), unread: Vec::new(), _kept: kept });
                    }
                    Ok(Err(Error::Problem(problem))) if !is_of_this_node(&problem) => return Err(problem.into()),
                    Ok(Err(error)) => last = Some(error),
                    Err(_) => last = Some(unreachable(&node, "no answer in time")),
                }
            }
            if let (false, Some(error)) = (self.has_been_open, last.take()) {
                return Err(error);
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}

impl Open {
    async fn next(&mut self) -> Result<Event, Error> {
        loop {
            while let Some(end) = find(&self.unread, b"\n\n") {
                let rest = self.unread.split_off(end + 2);
                let text = std::mem::replace(&mut self.unread, rest);
                if let Some(event) = parse(&String::from_utf8_lossy(&text)) {
                    return Ok(event);
                }
            }
            if self.unread.len() > LONGEST_EVENT {
                let why = format!("an event is longer than {LONGEST_EVENT} bytes");
                return Err(Error::NotUnderstood { node: self.node.to_string(), why });
            }
            let lost = |why: &str| unreachable(&self.node, why);
            let frame = timeout(SILENCE, self.body.frame()).await.map_err(|_| lost("the node stopped sending"))?;
            let frame = frame
                .ok_or_else(|| lost("the node closed the connection"))?
                .map_err(|error| lost(&error.to_string()))?;
            if let Ok(data) = frame.into_data() {
                self.unread.extend_from_slice(&data);
            }
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// An event, if this is one and not a sign of life.
fn parse(text: &str) -> Option<Event> {
    let (mut kind, mut index, mut data) = (None, None, String::new());
    for line in text.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => kind = Some(value.to_string()),
            "id" => index = value.parse().ok(),
            "data" => data.push_str(value),
            // Comments, and what is not known yet.
            _ => {}
        }
    }
    Some(Event { kind: kind?, index, data: serde_json::from_str(&data).ok()? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_read_and_signs_of_life_are_not() {
        let event = parse("event: granted\ndata: {\"fence\":7}\nid: 7\n\n").unwrap();
        assert_eq!(event, Event { kind: "granted".into(), index: Some(7), data: json!({ "fence": 7 }) });
        assert_eq!(parse(":\n\n"), None);
        assert_eq!(parse("event: x\ndata: {\n\n"), None);
        assert_eq!(find(b"a\n\nb", b"\n\n"), Some(1));
    }
}
