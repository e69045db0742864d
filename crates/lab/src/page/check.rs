//! Every run, with progress while it goes on.

use serde_json::{Value, json};

use super::Refusal;
use super::limits::Limits;
use super::query::Words;
use super::stream::Teller;
use crate::claims::command_line;
use crate::command::check::{self, Arguments};
use crate::explore::{Exploration, Findings, Progress, Verdict};
use crate::subject::{Named, Subject};

/// What was asked.
pub(super) struct Asked {
    named: Named,
    arguments: Arguments,
    exploration: Exploration,
}

impl Asked {
    pub(super) fn new(words: &Words, limits: &Limits) -> Result<Asked, Refusal> {
        let named = words.algorithm()?;
        let arguments = words.check(named.entry(), limits)?;
        let exploration = Exploration {
            max_states: limits.states,
            max_bytes: limits.bytes,
            threads: limits.threads,
            ..arguments.exploration()
        };
        Ok(Asked { named, arguments, exploration })
    }

    /// What is found, told while it is looked for.
    pub(super) fn answer(&self, teller: &mut Teller) -> Result<Value, Refusal> {
        let mut tell = |progress: Progress| {
            progress.enough.set(teller.has_left());
            let Progress { states, depth, frontier, seconds, .. } = progress;
            teller.progress(|| json!({ "states": states, "depth": depth, "frontier": frontier, "seconds": seconds }));
        };
        let findings = self.named.explore(&self.exploration, &mut tell);
        findings.map(|findings| self.found(&findings)).map_err(|why| Refusal::Question(why.to_string()))
    }

    fn found(&self, findings: &Findings) -> Value {
        let view = self.arguments.view.view();
        let verdicts = findings.verdicts.iter().map(|(goal, verdict)| {
            let promised = findings.promised.contains(goal);
            let name = goal.to_string();
            match verdict {
                Verdict::Holds => {
                    let why = findings.remark(*goal);
                    json!({ "goal": name, "promised": promised, "verdict": "holds", "why": why })
                }
                Verdict::Undecided(why) => {
                    json!({ "goal": name, "promised": promised, "verdict": "undecided", "why": why })
                }
                Verdict::Violated(found) => json!({
                    "goal": name,
                    "promised": promised,
                    "verdict": "violated",
                    "why": found.why,
                    "steps": found.steps.len(),
                    "repeats_from": found.repeats_from,
                    "picture": check::picture(findings, *goal, found).stepped(&view),
                }),
            }
        });
        json!({
            "command": command_line::check(findings.algorithm, &self.arguments.exploration()),
            "algorithm": findings.algorithm,
            "bounds": findings.bounds,
            "without_effect": self.arguments.without_effect(self.named.entry()),
            "broken_assumptions": findings.broken_assumptions,
            "states": findings.states,
            "transitions": findings.transitions,
            "depth": findings.depth,
            "complete": findings.complete,
            "seconds": findings.seconds,
            "verdicts": verdicts.collect::<Vec<_>>(),
        })
    }
}
