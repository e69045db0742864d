//! What the literature claims: listed at once, judged when somebody asks.
//!
//! One court judges for all visitors, one claim after the other, and keeps what it has run: a claim is judged once.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use quorate_core::catalog::DOCUMENTS;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::Refusal;
use super::query::Words;
use crate::claims::{self, Claim, Court, Ruling, SECTIONS};
use crate::diagram::{Picture, View};

/// All claims, without verdicts.
pub(super) fn list() -> Value {
    let all = claims::claims();
    let sections = SECTIONS.iter().map(|(letters, title)| {
        let mine = all.iter().filter(|claim| claim.id.starts_with(|letter| letters.contains(letter)));
        let mine =
            mine.map(|claim| json!({ "id": claim.id, "documents": claim.documents, "statement": claim.statement }));
        json!({ "title": title, "claims": mine.collect::<Vec<_>>() })
    });
    let documents = DOCUMENTS.iter().map(|(letter, title)| json!([letter, title]));
    json!({ "sections": sections.collect::<Vec<_>>(), "documents": documents.collect::<Vec<_>>() })
}

/// The claim that was asked for.
pub(super) fn chosen(words: &Words) -> Result<Claim, Refusal> {
    let name = words.value("id").unwrap_or_default();
    let known = claims::claims().into_iter().find(|claim| claim.id == name);
    known.ok_or_else(|| match claims::chosen(&[name.to_string()]) {
        Err(unknown) => Refusal::Question(unknown.to_string()),
        Ok(several) => {
            let names: Vec<_> = several.iter().map(|claim| claim.id).collect();
            Refusal::Question(format!("`{name}` is several claims: {}", names.join(", ")))
        }
    })
}

type Case = (Claim, oneshot::Sender<Value>);

/// Where claims are judged.
pub(super) struct CourtRoom(Sender<Case>);

impl CourtRoom {
    /// A court on a thread of its own, which ends when this is gone.
    pub(super) fn open() -> CourtRoom {
        let (cases, waiting) = channel();
        std::thread::spawn(move || sit(&waiting));
        CourtRoom(cases)
    }

    /// Waits for the ruling on a claim.
    pub(super) async fn judge(&self, claim: Claim) -> Result<Value, Refusal> {
        let (ruled, ruling) = oneshot::channel();
        self.0.send((claim, ruled)).map_err(|_| Refusal::Broken)?;
        ruling.await.map_err(|_| Refusal::Broken)
    }
}

fn sit(waiting: &Receiver<Case>) {
    let mut court = Court::new();
    let mut known: BTreeMap<&'static str, Value> = BTreeMap::new();
    while let Ok((claim, ruled)) = waiting.recv() {
        // Who has left is not waited for.
        if ruled.is_closed() {
            continue;
        }
        let ruling = known.entry(claim.id).or_insert_with(|| told(&court.judge(claim)));
        let _ = ruled.send(ruling.clone());
    }
}

/// A ruling with the run that shows it.
fn told(ruling: &Ruling) -> Value {
    let mut value = ruling.json();
    value["words"] = json!(ruling.verdict.to_string());
    if let Some(exhibit) = &ruling.exhibit {
        let picture = Picture { n: exhibit.n, records: &exhibit.records, title: String::new(), marks: Vec::new() };
        value["exhibit"] = json!({
            "algorithm": exhibit.algorithm,
            "n": exhibit.n,
            "why": exhibit.why,
            "picture": picture.stepped(&View::default()),
        });
    }
    value
}
