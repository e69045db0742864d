//! Clients that speak plain HTTP, one request a connection, with nothing but curl's means.

use std::time::Duration;

use quorate_lab::random::Chance;
use serde_json::{Value, json};

use crate::history::{Answer, Line, What, now};
use crate::http::{Unanswered, ask};
use crate::worker::{ELECTION, LOCKS, Office, Wish};

/// How long to wait for an answer that need not wait for a lock.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait when one only looks: others can be asked meanwhile.
const GLANCE: Duration = Duration::from_millis(500);
/// So often something is asked again that was not answered, each time at another node.
const TRIES: usize = 3;
/// A session is used for so many locks.
const ROUNDS: u64 = 5;

/// A session, and what its client knows of it.
struct Asker<'o> {
    office: &'o Office,
    who: String,
    session: String,
    request: u64,
    /// The node that is asked next.
    node: usize,
    /// Until when the session is surely valid, by the renewals that were answered.
    sure_until: u64,
}

impl<'o> Asker<'o> {
    fn open(office: &'o Office, who: String, node: usize) -> Option<Asker<'o>> {
        let nodes = &office.orders.nodes;
        let body = json!({ "ttl": office.orders.ttl_ms, "label": who });
        let (status, opened) = ask(&nodes[node % nodes.len()], "POST", "/v1/sessions", &body, PATIENCE).ok()?;
        let session = (status == 201).then(|| opened["session"].as_str().map(String::from))??;
        Some(Asker { office, who, session, request: 0, node, sure_until: 0 })
    }

    /// Asks one node after the other for the same, until one answers; says whether it was the first. A node that has
    /// no leader is no answer.
    fn insist(&mut self, path: &str, body: &Value, patience: Duration) -> Option<(u16, Value, bool)> {
        for attempt in 0..TRIES {
            let nodes = &self.office.orders.nodes;
            match ask(&nodes[self.node % nodes.len()], "POST", path, body, patience) {
                Ok((503 | 504 | 429, _)) | Err(Unanswered::Unknown | Unanswered::Unsaid) => self.node += 1,
                Ok((status, answer)) => return Some((status, answer, attempt == 0)),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }

    fn renew(&mut self) {
        let sent = now();
        let path = format!("/v1/sessions/{}/renew", self.session);
        if let Some((200, renewed, _)) = self.insist(&path, &Value::Null, PATIENCE)
            && let Some(ttl_ms) = renewed["ttl_ms"].as_u64()
        {
            // One part in fifty is not relied upon, for clocks that drift.
            self.sure_until = sent + ttl_ms * 980_000;
        }
    }

    /// Whether it is sure of its lock; if so, it says so.
    fn is_sure(&self, operation: u64) -> bool {
        let at = now();
        let is_sure = at < self.sure_until;
        if is_sure {
            self.office.recorder.tell(&Line::Sure { operation, at });
        }
        is_sure
    }

    /// Asks for a lock, holds it and gives it back. Says whether the session can be used again.
    fn round(&mut self, wish: &Wish) -> bool {
        let Wish { lock, is_shared, wait, hold } = *wish;
        let (recorder, is_election) = (&self.office.recorder, lock == ELECTION);
        self.request += 1;
        let wait_ms = wait.as_millis() as u64;
        let mut body = json!({ "session": self.session, "request": self.request, "wait": wait_ms });
        if is_election {
            body["value"] = json!(self.who);
        } else {
            body["mode"] = json!(if is_shared { "shared" } else { "exclusive" });
        }
        let path = |verbs: [&str; 2]| match is_election {
            true => format!("/v1/elections/{lock}/{}", verbs[0]),
            false => format!("/v1/locks/{lock}/{}", verbs[1]),
        };
        let operation = recorder.invoke(&self.who, lock, What::Acquire { is_shared });
        let fence = match self.insist(&path(["campaign", "acquire"]), &body, wait + PATIENCE) {
            Some((200, grant, _)) => grant["fence"].as_u64(),
            Some((409, problem, true)) if problem["type"] == "held" => {
                recorder.answer(operation, Answer::Busy);
                return true;
            }
            Some((408, _, true)) => {
                recorder.answer(operation, Answer::Nothing);
                return true;
            }
            Some(_) | None => None,
        };
        let Some(fence) = fence else { return false };
        recorder.answer(operation, Answer::Granted { fence });
        let (held_since, mut renewed) = (now(), 0);
        loop {
            if now() - renewed > self.office.orders.ttl_ms * 1_000_000 / 3 {
                renewed = now();
                self.renew();
            }
            if !self.is_sure(operation) {
                if !is_shared {
                    self.office.write(operation, lock, fence, &self.who);
                }
                return false;
            }
            if !is_shared {
                self.office.write(operation, lock, fence, &self.who);
            }
            if now() - held_since > hold.as_nanos() as u64 {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.request += 1;
        let body = json!({ "session": self.session, "request": self.request });
        let operation = recorder.invoke(&self.who, lock, What::Release);
        match self.insist(&path(["resign", "release"]), &body, PATIENCE) {
            Some((204, _, _)) => recorder.answer(operation, Answer::Done),
            Some(_) | None => return false,
        }
        true
    }
}

/// A client that locks.
pub(crate) fn client(office: &Office, number: u64, chance: &mut Chance) {
    for life in 1.. {
        if office.is_stopping() {
            return;
        }
        let who = format!("p{}.{number}.{life}", office.orders.number);
        let Some(mut asker) = Asker::open(office, who, chance.below(100) as usize) else {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        let is_usable = (0..ROUNDS).all(|_| !office.is_stopping() && asker.round(&Wish::by(chance)));
        if is_usable {
            // If this is not heard, the session expires.
            let node = &office.orders.nodes[asker.node % office.orders.nodes.len()];
            let _ = ask(node, "DELETE", &format!("/v1/sessions/{}", asker.session), &Value::Null, PATIENCE);
        }
    }
}

/// A client that only looks who holds what.
pub(crate) fn looker(office: &Office, chance: &mut Chance) {
    let nodes = &office.orders.nodes;
    while !office.is_stopping() {
        let lock = LOCKS[chance.below(LOCKS.len() as u64) as usize];
        let node = &nodes[chance.below(nodes.len() as u64) as usize];
        let path = if lock == ELECTION { format!("/v1/elections/{lock}") } else { format!("/v1/locks/{lock}") };
        let operation = office.recorder.invoke("looker", lock, What::Look);
        if let Ok((200, seen)) = ask(node, "GET", &path, &Value::Null, GLANCE)
            && let Some(holders) = holders(lock, &seen)
        {
            office.recorder.answer(operation, Answer::Holders(holders));
        }
        std::thread::sleep(Duration::from_millis(10 + chance.below(40)));
    }
}

fn holders(lock: &str, seen: &Value) -> Option<Vec<(String, u64)>> {
    let shown = |holder: &Value| Some((holder["label"].as_str()?.to_string(), holder["fence"].as_u64()?));
    if lock == ELECTION {
        let leader = seen.get("leader")?;
        return if leader.is_null() { Some(Vec::new()) } else { Some(vec![shown(leader)?]) };
    }
    seen["holders"].as_array()?.iter().map(shown).collect()
}
