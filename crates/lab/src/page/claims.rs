//! What the literature claims: listed at once, judged when somebody asks.
//!
//! One court judges for all visitors, one claim after the other, and keeps what it has run: a claim is judged once. To
//! have one judged takes a turn, as an exploration does. How large an exploration becomes is the claim's affair: there
//! are so many claims and no more.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use quorate_core::catalog::DOCUMENTS;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::Refusal;
use super::limits::Place;
use super::query::Words;
use super::turns::{Length, Turn};
use crate::claims::{self, Claim, Court, Ruling, SECTIONS};

/// The verdicts of this release, which a test judges anew: the name of each claim, and the verdict in words.
const VERDICTS: &str = include_str!("../../tests/claims.txt");

fn verdict_of(id: &str) -> Option<&'static str> {
    let mut lines = VERDICTS.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(name, _)| *name == id).map(|(_, words)| words.trim())
}

/// The name of a verdict, by its words.
fn name_of(words: &str) -> &'static str {
    let begins = [("holds only if", "conditional"), ("holds", "holds"), ("refuted", "refuted")];
    let found = begins.into_iter().find(|(begin, _)| words.starts_with(begin));
    found.map_or(if words.starts_with("definition") { "definition" } else { "not-yet" }, |(_, name)| name)
}

/// All claims, with the verdicts of this release.
pub(super) fn list() -> Value {
    let all = claims::claims();
    let sections = SECTIONS.iter().map(|(letters, title)| {
        let mine = all.iter().filter(|claim| claim.id.starts_with(|letter| letters.contains(letter)));
        let mine = mine.map(|claim| {
            let words = verdict_of(claim.id);
            json!({
                "id": claim.id,
                "documents": claim.documents,
                "statement": claim.statement,
                "verdict": words.map(name_of),
                "words": words,
            })
        });
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

/// A claim to be judged, who waits for it, and what is given back when it is.
type Case = (Claim, oneshot::Sender<Value>, (Place, Turn));

/// What was ruled.
type Rulings = Arc<Mutex<BTreeMap<&'static str, Value>>>;

/// Where claims are judged.
pub(super) struct CourtRoom {
    cases: Sender<Case>,
    rulings: Rulings,
}

impl CourtRoom {
    /// A court on a thread of its own, which ends when this is gone. Its explorations have so many threads.
    pub(super) fn open(threads: Option<usize>) -> CourtRoom {
        let (cases, waiting) = channel();
        let rulings = Rulings::default();
        let written = Arc::clone(&rulings);
        std::thread::spawn(move || sit(&mut Court::with_threads(threads), &waiting, &written));
        CourtRoom { cases, rulings }
    }

    /// Waits for the ruling on a claim. One that is known costs nothing.
    pub(super) async fn judge(&self, claim: Claim, place: Place) -> Result<Value, Refusal> {
        if let Some(known) = known(&self.rulings, &claim) {
            return Ok(known);
        }
        let turn = place.turn(Length::Long).await;
        let (ruled, ruling) = oneshot::channel();
        self.cases.send((claim, ruled, (place, turn))).map_err(|_| Refusal::Broken)?;
        ruling.await.map_err(|_| Refusal::Broken)
    }
}

fn known(rulings: &Rulings, claim: &Claim) -> Option<Value> {
    rulings.lock().unwrap_or_else(PoisonError::into_inner).get(claim.id).cloned()
}

fn sit(court: &mut Court, waiting: &Receiver<Case>, rulings: &Rulings) {
    while let Ok((claim, ruled, place)) = waiting.recv() {
        // Who has left is not waited for.
        if !ruled.is_closed() {
            let ruling = known(rulings, &claim).unwrap_or_else(|| {
                let (id, ruling) = (claim.id, told(&court.judge(claim)));
                rulings.lock().unwrap_or_else(PoisonError::into_inner).insert(id, ruling.clone());
                ruling
            });
            let _ = ruled.send(ruling);
        }
        drop(place);
    }
}

/// A ruling with the run that shows it.
fn told(ruling: &Ruling) -> Value {
    let mut value = ruling.json();
    value["words"] = json!(ruling.verdict.to_string());
    if let Some(exhibit) = &ruling.exhibit {
        let (picture, view) = exhibit.picture("");
        value["exhibit"] = json!({
            "algorithm": exhibit.algorithm,
            "n": exhibit.n,
            "why": exhibit.why,
            "picture": picture.stepped(&view),
        });
    }
    value
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::claims::Verdict;
    use crate::page::limits::{Limits, Places};

    /// One that is quickly judged.
    const CLAIM: Claim = Claim { id: "P5", documents: "", statement: "", judge: |_: &mut Court| Verdict::Holds };

    #[tokio::test]
    async fn to_have_a_claim_judged_takes_a_turn_and_to_hear_what_was_ruled_does_not() {
        let soon = Duration::from_millis(50);
        let (places, court) = (Places::new(Limits::CLASS), CourtRoom::open(Some(1)));
        let [busy, other] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let place = places.enter(busy).ok().unwrap();
        let mut turns = Vec::new();
        while let Ok(turn) = timeout(soon, place.turn(Length::Long)).await {
            turns.push(turn);
        }
        let judge = || court.judge(CLAIM, places.enter(other).ok().unwrap());
        assert!(timeout(soon, judge()).await.is_err(), "others are before it");
        turns.pop();
        let ruling = judge().await.unwrap();
        turns.push(place.turn(Length::Long).await);
        assert_eq!(timeout(soon, judge()).await.unwrap().unwrap(), ruling);
    }
}
