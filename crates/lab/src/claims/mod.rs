//! What five lecture documents say of these algorithms, and what the algorithms say when they are run.
//!
//! A [`Claim`] is a sentence of a document, in our words, with a function that judges it. That function never knows the
//! answer: it asks a [`Court`] for explorations (where a claim is about all runs), for simulated runs (where it is
//! about costs) or computes (where it is about numbers), and what it finds is the [`Verdict`]. The court writes down
//! what was run, so that no sentence of the evidence is written by hand either.
//!
//! | module | what it holds |
//! |---|---|
//! | [`court`] | what judges share: runs, kept so that each is made once, and the evidence |
//! | [`command_line`] | the command that reproduces a run, made from the run |
//! | [`page`], [`html`] | the page of all claims, in Markdown with drawings beside it, and as one file |
//! | the others | the claims of one section of the literature each |

pub mod command_line;
pub mod court;
pub mod html;
pub mod page;

mod all;
mod central;
mod costs;
mod detection;
mod elections;
mod lamport;
mod maekawa;
mod majority;
mod model;
mod order;
mod ricart_agrawala;
mod tables;
mod token_ring;
mod voting_sets;

use std::fmt;

use quorate_core::trace::Record;
use serde_json::{Value, json};

use crate::diagram::{Mark, Picture, Unit, View};

pub use court::Court;

/// A sentence of the literature.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Its name: the row of the list of claims, and after a point the document where documents differ.
    pub id: &'static str,
    /// Which documents say so, by the letters of [`DOCUMENTS`](quorate_core::catalog::DOCUMENTS).
    pub documents: &'static str,
    /// What they say, in our words.
    pub statement: &'static str,
    /// Finds out whether it is so.
    pub judge: fn(&mut Court) -> Verdict,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is so, as far as was run.
    Holds,
    /// It is so under a condition, and was broken without.
    Conditional(String),
    /// It is not so.
    Refuted,
    /// It says what a word means; this is where the word is in the code.
    Definition(String),
    /// It is about something that the algorithms do not do yet.
    NotYet(String),
}

impl Verdict {
    /// Whether it is so.
    fn of(holds: bool) -> Verdict {
        if holds { Verdict::Holds } else { Verdict::Refuted }
    }

    /// What follows from whether it is so with a condition, and without.
    fn only_if(condition: &str, with: bool, without: bool) -> Verdict {
        match (with, without) {
            (true, true) => Verdict::Holds,
            (true, false) => Verdict::Conditional(condition.into()),
            (false, _) => Verdict::Refuted,
        }
    }

    /// Its name for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Conditional(_) => "conditional",
            Verdict::Refuted => "refuted",
            Verdict::Definition(_) => "definition",
            Verdict::NotYet(_) => "not-yet",
        }
    }

    /// What it depends on, what embodies it, or what is missing.
    pub fn condition(&self) -> Option<&str> {
        match self {
            Verdict::Conditional(words) | Verdict::Definition(words) | Verdict::NotYet(words) => Some(words),
            Verdict::Holds | Verdict::Refuted => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Holds => f.write_str("holds"),
            Verdict::Conditional(condition) => write!(f, "holds only if {condition}"),
            Verdict::Refuted => f.write_str("refuted"),
            Verdict::Definition(embodied) => write!(f, "definition: {embodied}"),
            Verdict::NotYet(missing) => write!(f, "not yet: {missing}"),
        }
    }
}

/// A verdict and what it rests on.
#[derive(Clone, Debug)]
pub struct Ruling {
    /// What was judged.
    pub claim: Claim,
    /// What was found.
    pub verdict: Verdict,
    /// From what, one sentence each.
    pub evidence: Vec<String>,
    /// The commands that reproduce it; the first shows what decided it.
    pub commands: Vec<String>,
    /// The run that shows it, if one does.
    pub exhibit: Option<Exhibit>,
}

/// A run to be shown.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// The algorithm that runs.
    pub algorithm: &'static str,
    /// How many processes there are.
    pub n: u32,
    /// What happened.
    pub records: Vec<Record>,
    /// What is to be seen in it.
    pub why: String,
    /// Where that is seen, if at one place.
    pub mark: Option<Mark>,
    /// What its times are counted in.
    pub unit: Unit,
}

impl Exhibit {
    /// The run as a picture, and how to see it: with its mark, and in its unit.
    pub fn picture(&self, title: impl Into<String>) -> (Picture<'_>, View) {
        let marks = self.mark.iter().cloned().collect();
        let picture = Picture { n: self.n, records: &self.records, title: title.into(), marks };
        (picture, View { unit: self.unit, ..View::default() })
    }
}

impl Ruling {
    /// The ruling for programs.
    pub fn json(&self) -> Value {
        json!({
            "id": self.claim.id,
            "documents": self.claim.documents,
            "statement": self.claim.statement,
            "verdict": self.verdict.name(),
            "condition": self.verdict.condition(),
            "evidence": self.evidence,
            "command": self.commands.first(),
            "commands": self.commands,
        })
    }
}

/// The sections of the literature: the letters with which the names of their claims begin, and their titles.
pub const SECTIONS: &[(&str, &str)] = &[
    ("P", "The model"),
    ("C", "Central server"),
    ("T", "Token ring"),
    ("L", "Lamport (1978)"),
    ("R", "Ricart–Agrawala (1981)"),
    ("M", "Maekawa (1985)"),
    ("D", "Majority voting"),
    ("H", "Failure detection"),
    ("EKBG", "Elections"),
    ("F", "All of them"),
];

/// Every claim, in the order of the list of claims.
pub fn claims() -> Vec<Claim> {
    let mut claims = [
        model::CLAIMS,
        central::CLAIMS,
        token_ring::CLAIMS,
        lamport::CLAIMS,
        ricart_agrawala::CLAIMS,
        maekawa::CLAIMS,
        voting_sets::CLAIMS,
        majority::CLAIMS,
        detection::CLAIMS,
        elections::CLAIMS,
        all::CLAIMS,
        tables::CLAIMS,
    ]
    .concat();
    // Those of one row keep their order.
    claims.sort_by_key(|claim| {
        let letters: String = SECTIONS.iter().map(|(letters, _)| *letters).collect();
        let number: String = claim.id[1..].chars().take_while(char::is_ascii_digit).collect();
        (letters.find(&claim.id[..1]), number.parse::<u32>().ok())
    });
    claims
}

/// There is no claim of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown claim `{name}`; for example: {}", near.join(", "))]
pub struct UnknownClaim {
    name: String,
    near: Vec<&'static str>,
}

/// The claims of these names, each with those whose names begin with it and a point; all if none is named.
pub fn chosen(names: &[String]) -> Result<Vec<Claim>, UnknownClaim> {
    let all = claims();
    let means = |name: &str, claim: &Claim| {
        let rest = claim.id.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name)).map(|_| name.len());
        rest.is_some_and(|at| claim.id.len() == at || claim.id[at..].starts_with('.'))
    };
    if let Some(name) = names.iter().find(|name| !all.iter().any(|claim| means(name, claim))) {
        let letter = name.chars().next().unwrap_or('P').to_ascii_uppercase();
        let mut near: Vec<_> = all.iter().map(|claim| claim.id).filter(|id| id.starts_with(letter)).collect();
        if near.is_empty() {
            near = all.iter().map(|claim| claim.id).collect();
        }
        near.truncate(12);
        return Err(UnknownClaim { name: name.clone(), near });
    }
    let wanted = |claim: &Claim| names.is_empty() || names.iter().any(|name| means(name, claim));
    Ok(all.into_iter().filter(wanted).collect())
}
