//! What `check` prints for people.

use std::fmt::Write;

use super::picture;
use crate::command::output::{BAD, DIM, GOOD, HEADING, Table, styled};
use crate::conversation::numbered;
use crate::diagram::{Unit, View};
use crate::explore::counterexample::Counterexample;
use crate::explore::goal::Goal;
use crate::explore::{Findings, Verdict};

/// How wide a diagram becomes.
const COLUMNS: usize = 100;

/// The findings as people read them.
pub(super) fn text(findings: &Findings) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{}, {}\n", styled(HEADING, findings.algorithm), findings.bounds.join(", "));
    let in_steps = View { unit: Unit::Steps, ..View::default() };
    let mut shown: Vec<&Counterexample> = Vec::new();
    for (goal, verdict) in &findings.verdicts {
        let Verdict::Violated(found) = verdict else { continue };
        let promise = promise(findings, *goal);
        let title = format!("counterexample to {goal}, {}{promise}", steps(found));
        let _ = writeln!(text, "{}", styled(HEADING, &title));
        if let Some(same) = shown.iter().position(|other| other.steps == found.steps) {
            let _ = writeln!(text, "  the same run as {}\n", nth(same));
            continue;
        }
        shown.push(found);
        let _ = writeln!(text, "{}  {}\n", numbered(&found.records), styled(BAD, &found.why));
        let _ = writeln!(text, "{}", picture(findings, *goal, found).text_of(COLUMNS, &in_steps));
    }
    text.push_str(&verdicts(findings));
    let Findings { states, transitions, depth, .. } = findings;
    let _ = writeln!(text, "\n{states} states, {transitions} transitions, deepest state: {depth} steps");
    if let Some(overtaken) =
        findings.overtaken().filter(|_| findings.complete && !findings.holds(Goal::StarvationFreedom))
    {
        let _ = writeln!(text, "{overtaken}");
    }
    if findings.verdicts.iter().any(|(_, verdict)| *verdict == Verdict::Holds) {
        let chance = format!("probability of a missed state (hash collision): {:.0e}", findings.collision);
        let _ = writeln!(text, "{}", styled(DIM, &chance));
    }
    text
}

fn nth(place: usize) -> String {
    if place == 0 { "the first counterexample".into() } else { format!("counterexample {}", place + 1) }
}

fn steps(found: &Counterexample) -> String {
    if found.steps.len() == 1 { "1 step".into() } else { format!("{} steps", found.steps.len()) }
}

fn promise(findings: &Findings, goal: Goal) -> &'static str {
    if findings.promised.contains(&goal) { "" } else { " (not promised)" }
}

fn verdicts(findings: &Findings) -> String {
    let mut table = Table::new(3);
    for (goal, verdict) in &findings.verdicts {
        let promise = promise(findings, *goal);
        let (word, detail) = match verdict {
            Verdict::Holds => (styled(GOOD, "holds"), findings.remark(*goal).unwrap_or_default()),
            Verdict::Violated(found) => (styled(BAD, "violated"), format!("{}{promise}", found.why)),
            Verdict::Undecided(why) => (styled(BAD, "not decided"), format!("{why}{promise}")),
        };
        table.row([goal.to_string(), word, detail]);
    }
    table.render()
}
