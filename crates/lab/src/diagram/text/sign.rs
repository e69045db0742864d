//! The signs of a chart in characters, and what its legend says of those that occur.

use super::super::phases::Phase;

/// Something that a legend explains.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    Phase(Phase),
    Tag,
    Dots,
    Cross,
    Application,
    /// In these words.
    Clock(&'static str),
}

impl Sign {
    /// What it means, in words; nothing, if it goes without saying.
    pub(super) fn meaning(&self) -> Option<String> {
        let words = match self {
            Sign::Phase(Phase::Idle) => return None,
            Sign::Phase(phase) => {
                return Some(format!("{} {}", stroke(*phase), phase.meaning()));
            }
            Sign::Tag => "[1] sent above, received below",
            Sign::Dots => "… other end outside this picture",
            Sign::Cross => "✗ lost",
            Sign::Application => "┄ application message",
            Sign::Clock(words) => words,
        };
        Some(words.into())
    }
}

/// How a line is drawn.
pub(super) fn stroke(phase: Phase) -> char {
    match phase {
        Phase::Idle => '│',
        Phase::Wanting => '╎',
        Phase::Inside => '█',
        Phase::Candidate => '☆',
        Phase::Leading => '★',
        Phase::Paused => 'z',
        Phase::PausedInside => '▒',
        Phase::Crashed => '·',
        Phase::Stopped => ':',
    }
}
