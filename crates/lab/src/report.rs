//! What came of an experiment, for programs; the command shows the same to people.

use quorate_core::catalog::{Family, Property};
use serde_json::{Map, Value, json};

use crate::observer::{Ending, Outcome, Verdict};
use crate::time::{DELTA, in_delta};

/// What came of an experiment.
#[derive(Clone, Debug)]
pub struct Report {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// Its family.
    pub family: Family,
    /// How many processes.
    pub n: u32,
    /// The seed.
    pub seed: u64,
    /// What of the experiment broke an assumption of the algorithm.
    pub broken_assumptions: Vec<String>,
    /// What the algorithm promises while its assumptions hold.
    pub promised: Vec<Property>,
    /// What was watched.
    pub watched: Vec<Property>,
    /// The properties whose violation counts: those that the experiment names, or else what the algorithm promises.
    pub counted: Vec<Property>,
    /// What happened.
    pub outcome: Outcome,
}

/// The worst verdict on a property that counts: one that the algorithm promises, or that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// No property that counts is violated.
    Fine,
    /// At least one property is not decided: the run or the search ended too early.
    Undecided,
    /// A liveness property is violated.
    Liveness,
    /// A safety property is violated.
    Safety,
}

impl Report {
    /// The worst verdict on a property that [counts](Report::counted).
    pub fn severity(&self) -> Severity {
        let counted = self.outcome.verdicts.iter().filter(|(property, _)| self.counted.contains(property));
        let severities = counted.map(|(property, verdict)| match verdict {
            Verdict::Held => Severity::Fine,
            Verdict::Undecided => Severity::Undecided,
            Verdict::Violated(_) if property.is_safety() => Severity::Safety,
            Verdict::Violated(_) => Severity::Liveness,
        });
        severities.max().unwrap_or(Severity::Fine)
    }

    /// The report as JSON. Everything in it is reproducible.
    pub fn json(&self) -> Map<String, Value> {
        let outcome = &self.outcome;
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| drop(object.insert(key.to_string(), value));
        put("algorithm", json!(self.algorithm));
        put("n", json!(self.n));
        put("seed", json!(self.seed));
        put("events", json!(outcome.events));
        put("duration", json!(in_delta(outcome.end)));
        put("ending", json!(ending_name(outcome.ending)));
        put("unexpected", json!(outcome.unexpected));
        put("broken_assumptions", json!(self.broken_assumptions));
        put("watched", json!(self.watched.iter().map(|property| property.name()).collect::<Vec<_>>()));
        put("promised", json!(self.promised.iter().map(|property| property.name()).collect::<Vec<_>>()));
        put("properties", verdict_names(&outcome.verdicts));
        put("violations", violations(&outcome.verdicts));
        match self.family {
            Family::Mutex => {}
            Family::Election => {
                put("leader", json!(outcome.election.leader().map(|leader| leader.number())));
                put("turnaround", json!(outcome.election.turnaround().map(in_delta)));
            }
            Family::Detector => {
                let detection = &outcome.detection;
                put("detection_time", json!(detection.detection_time.summary(DELTA as f64)));
                put("false_suspicions", json!(detection.false_suspicions));
                put("corrections", json!(detection.corrections));
            }
        }
        // The same fields for every family; what an election has none of is null or empty.
        let costs = serde_json::to_value(&outcome.costs).expect("costs are plain data");
        let Value::Object(costs) = costs else { unreachable!("a structure becomes an object") };
        object.extend(costs);
        object
    }
}

/// The name of an ending.
pub fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Quiet => "quiet",
        Ending::Finished => "finished",
        Ending::Stalled => "stalled",
        Ending::CutOff => "cut-off",
    }
}

fn verdict_names(verdicts: &[(Property, Verdict)]) -> Value {
    let name = |verdict: &Verdict| match verdict {
        Verdict::Held => "held",
        Verdict::Violated(_) => "violated",
        Verdict::Undecided => "undecided",
    };
    verdicts.iter().map(|(property, verdict)| (property.name().to_string(), json!(name(verdict)))).collect()
}

fn violations(verdicts: &[(Property, Verdict)]) -> Value {
    verdicts
        .iter()
        .filter_map(|(property, verdict)| match verdict {
            Verdict::Violated(violation) => {
                Some(json!({ "property": property.name(), "at": in_delta(violation.at), "why": violation.why }))
            }
            Verdict::Held | Verdict::Undecided => None,
        })
        .collect()
}
