//! A run in words, one line a record.

use std::fmt::Write;

use quorate_core::id::Id;
use quorate_core::trace::{Opinion, Record, What};

use crate::time::{DELTA, delta_text};

/// The conversation of these records.
pub fn conversation(records: &[Record]) -> String {
    let width = records.iter().map(|record| delta_text(record.at).len()).max().unwrap_or(0);
    let names = records.iter().map(|record| record.process.to_string().len()).max().unwrap_or(0);
    records.iter().fold(String::new(), |mut text, record| {
        let (at, who) = (delta_text(record.at), record.process.to_string());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{at:>width$}  {who:<names$}  {}", sentence(record.process, &record.what));
        text
    })
}

/// The conversation of records that are one step a δ, such as a counterexample's: one numbered line a step.
pub fn numbered(records: &[Record]) -> String {
    let mut text = String::new();
    for step in records.chunk_by(|a, b| a.at == b.at) {
        let number = step[0].at / DELTA;
        // What everybody does before the first step is not a step.
        let number = if number == 0 { String::new() } else { number.to_string() };
        let _ = writeln!(text, "{number:>4}  {}", clauses(step).join("; "));
    }
    text
}

/// What happened in a step, in clauses. Equal messages to several are told once.
fn clauses(step: &[Record]) -> Vec<String> {
    let mut clauses: Vec<String> = Vec::new();
    let mut before: Option<&Record> = None;
    for record in step {
        let clause = match (&record.what, before.map(|before| (before.process, &before.what))) {
            (What::Sent { to, label, .. }, Some((who, What::Sent { label: same, .. })))
                if who == record.process && same == label =>
            {
                if let Some(last) = clauses.last_mut() {
                    let _ = write!(last, ", {to}");
                }
                before = Some(record);
                continue;
            }
            (what, Some((who, _))) if who == record.process => sentence(record.process, what),
            (what, _) => with_subject(record.process, what),
        };
        clauses.push(clause);
        before = Some(record);
    }
    clauses
}

/// What happened, as a sentence that names the process.
pub fn with_subject(process: Id, what: &What) -> String {
    match what {
        What::Lost { to, label, .. } => format!("{label} from {process} to {to} is lost"),
        what => format!("{process} {}", sentence(process, what)),
    }
}

/// What happened to a process, in words that follow the name of the process.
pub fn sentence(process: Id, what: &What) -> String {
    match what {
        What::Wanted => "requests entry".into(),
        What::Withdrew => "withdraws its request".into(),
        What::Withdrawn => "has withdrawn its request".into(),
        What::Entered { fence } => format!("ENTERS with fence {fence}"),
        What::Leaving => "exits".into(),
        What::Exited => "has exited".into(),
        What::Read { fence, accepted: true } => format!("reads with fence {fence}"),
        What::Read { fence, accepted: false } => format!("fails to read: fence {fence} is too old"),
        What::Wrote { fence, accepted: true } => format!("WRITES with fence {fence}"),
        What::Wrote { fence, accepted: false } => format!("fails to write: fence {fence} is too old"),
        What::Called => "starts an election".into(),
        What::Leader { leader } if *leader == process => "BECOMES LEADER".into(),
        What::Leader { leader } => format!("follows {leader}"),
        What::Opinion { of, opinion: Opinion::Unsuspected } => format!("trusts {of} again"),
        What::Opinion { of, opinion: Opinion::Suspected } => format!("suspects {of}"),
        What::Opinion { of, opinion: Opinion::Failed } => format!("declares {of} crashed"),
        What::Sent { to, label, .. } => format!("sends {label} to {to}"),
        What::Received { from, label, .. } => format!("receives {label} from {from}"),
        What::Lost { to, label, .. } => format!("{label} to {to} is lost"),
        What::Poked { to, .. } => format!("sends an application message to {to}"),
        What::Heard { from, .. } => format!("receives an application message from {from}"),
        What::TimedOut { timer } => format!("times out: {}", innermost(timer)),
        What::Told { of, alive: false } => format!("is notified that {of} crashed"),
        What::Told { of, alive: true } => format!("is notified that {of} restarted"),
        What::Crashed => "CRASHES".into(),
        What::Stopped => "stops".into(),
        What::Restarted { incarnation } => format!("RESTARTS (incarnation {incarnation})"),
        What::Paused => "pauses".into(),
        What::Resumed => "resumes".into(),
        What::Partitioned { part } => format!("is in part {part} of the partitioned network"),
        What::Healed => "can reach all processes again".into(),
        What::Unexpected { from: Some(from), why } => format!("ignores unexpected input from {from}: {why}"),
        What::Unexpected { from: None, why } => format!("ignores unexpected input from its application: {why}"),
    }
}

/// A timer without what stands around its process: of `process(-election(-answer(p2)))` it is `answer(p2)`.
pub(crate) fn innermost(timer: &str) -> &str {
    let begin = ["(-", " -"].iter().filter_map(|mark| timer.rfind(mark)).max().map_or(0, |at| at + 2);
    let mut open = 0;
    let ends = |letter: char| match letter {
        '(' => {
            open += 1;
            false
        }
        ')' | ' ' | '}' if open == 0 => true,
        ')' => {
            open -= 1;
            false
        }
        _ => false,
    };
    let name = &timer[begin..];
    name.find(ends).map_or(name, |end| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_named_without_what_stands_around_it() {
        for (timer, name) in [
            ("back-off", "back-off"),
            ("silence(p3)", "silence(p3)"),
            ("detector(-silence(p1))", "silence(p1)"),
            ("process(-process { life: 1, timer: -acknowledgement(p2) })", "acknowledgement(p2)"),
            ("process(-process { life: 1, timer: -algorithm(-back-off) })", "back-off"),
        ] {
            assert_eq!(innermost(timer), name);
        }
    }
}
