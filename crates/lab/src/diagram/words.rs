//! The few words that go beside an event of a diagram.

use quorate_core::id::Id;
use quorate_core::trace::{Opinion, Record, What};

use crate::conversation::innermost;
pub(super) use crate::markup::visible;

/// The longest label that is shown whole.
const LONGEST: usize = 40;

/// What happened, in the few words for which there is room beside a line; nothing for messages, which are arrows, and
/// for what the next record says better.
pub(super) fn brief(record: &Record) -> Option<String> {
    let words = match &record.what {
        What::Wanted => "requests entry".into(),
        What::Withdrew => "withdraws request".into(),
        What::Withdrawn => "request withdrawn".into(),
        What::Entered { fence } => format!("ENTERS, fence {fence}"),
        What::Leaving => "exits".into(),
        What::Read { fence, accepted: true } => format!("reads, fence {fence}"),
        What::Read { fence, accepted: false } => format!("read refused, fence {fence}"),
        What::Wrote { fence, accepted: true } => format!("WRITES, fence {fence}"),
        What::Wrote { fence, accepted: false } => format!("write refused, fence {fence}"),
        What::Called => "starts election".into(),
        What::Leader { leader } if *leader == record.process => "BECOMES LEADER".into(),
        What::Leader { leader } => format!("follows {leader}"),
        What::Opinion { of, opinion: Opinion::Unsuspected } => format!("trusts {of}"),
        What::Opinion { of, opinion: Opinion::Suspected } => format!("suspects {of}"),
        What::Opinion { of, opinion: Opinion::Failed } => format!("declares {of} crashed"),
        What::TimedOut { timer } => format!("timeout {}", innermost(timer)),
        What::Told { of, alive: false } => format!("notified: {of} crashed"),
        What::Told { of, alive: true } => format!("notified: {of} restarted"),
        What::Crashed => "CRASHES".into(),
        What::Stopped => "stops".into(),
        What::Restarted { incarnation } => format!("RESTARTS (incarnation {incarnation})"),
        What::Paused => "pauses".into(),
        What::Resumed => "resumes".into(),
        What::Partitioned { part } => format!("partition: part {part}"),
        What::Healed => "network heals".into(),
        What::Unexpected { why, .. } => format!("unexpected: {why}"),
        What::Exited
        | What::Sent { .. }
        | What::Received { .. }
        | What::Lost { .. }
        | What::Poked { .. }
        | What::Heard { .. } => return None,
    };
    Some(shown(&words))
}

/// Text as it can be shown on one line: no control characters, and not endless.
pub(super) fn shown(text: &str) -> String {
    let mut letters = text.chars();
    let mut shown: String = letters.by_ref().take(LONGEST).map(visible).collect();
    if letters.next().is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// Text of any length as it can be shown on one line.
pub(super) fn line(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// The other process of a message's record, with its sender and its receiver in order.
pub(super) fn ends(record: &Record) -> Option<(Id, Id)> {
    match record.what {
        What::Sent { to, .. } | What::Lost { to, .. } | What::Poked { to, .. } => Some((record.process, to)),
        What::Received { from, .. } | What::Heard { from, .. } => Some((from, record.process)),
        What::Wanted
        | What::Withdrew
        | What::Withdrawn
        | What::Entered { .. }
        | What::Leaving
        | What::Exited
        | What::Read { .. }
        | What::Wrote { .. }
        | What::Called
        | What::Leader { .. }
        | What::Opinion { .. }
        | What::TimedOut { .. }
        | What::Told { .. }
        | What::Crashed
        | What::Stopped
        | What::Restarted { .. }
        | What::Paused
        | What::Resumed
        | What::Partitioned { .. }
        | What::Healed
        | What::Unexpected { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_one_short_line() {
        assert_eq!(shown("request(1)"), "request(1)");
        assert_eq!(shown("a\nb\u{1b}[31m\u{ffff}"), "a\u{fffd}b\u{fffd}[31m\u{fffd}");
        assert_eq!(shown(&"x".repeat(40)), "x".repeat(40));
        assert_eq!(shown(&"x".repeat(41)), format!("{}…", "x".repeat(39)));
    }
}
