//! Why a command failed: one line of text, a kind, and an exit code.

use std::process::ExitCode;

use crate::diagram::FormatError;
use crate::experiment::ExperimentError;
use crate::explore::ExplorationError;
use crate::report::Severity;
use crate::scenario::ScenarioError;
use crate::violation::VotingError;
use quorate_core::catalog::UnknownAlgorithm;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The experiment cannot be run.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The exploration cannot be run.
    #[error(transparent)]
    Exploration(#[from] ExplorationError),
    /// A file name does not end in a known format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// There is no algorithm of this name.
    #[error(transparent)]
    Algorithm(#[from] UnknownAlgorithm),
    /// The numbers of votes and coordinators are impossible.
    #[error(transparent)]
    Voting(#[from] VotingError),
    /// A scenario cannot be played.
    #[error("{name}: {error}")]
    Scenario {
        /// The file or the name of the scenario.
        name: String,
        /// What is wrong with it.
        error: ScenarioError,
    },
    /// A scenario was replayed, and its expectations were not met.
    #[error("{0}")]
    Expected(String),
    /// The command failed; the text gives the reason, and what to do.
    #[error("{0}")]
    Failed(String),
    /// A file could not be read.
    #[error("cannot read {path}: {error}")]
    Reading {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The command failed with a kind and an exit code of its own.
    #[error("{text}")]
    Own {
        /// The reason, and what to do.
        text: String,
        /// The kind of error.
        kind: &'static str,
        /// The exit code.
        code: u8,
    },
    /// The arguments are wrong; the text says what is accepted.
    #[error("{0}")]
    Usage(String),
    /// Standard output could not be written.
    #[error("cannot write standard output: {0}")]
    Output(#[from] std::io::Error),
    /// A file could not be written.
    #[error("cannot write {path}: {error}")]
    File {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        error: std::io::Error,
    },
}

const FAILED: u8 = 1;
/// The exit code of a mistake in the arguments.
pub(super) const USAGE: u8 = 2;
/// The kind of such an error.
pub(super) const USAGE_KIND: &str = "usage";
const SAFETY: u8 = 10;
const LIVENESS: u8 = 11;
const UNDECIDED: u8 = 12;

impl Failure {
    /// The exit code of the command: 2 for mistakes in its arguments, else 1 or one of its own.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Experiment(_)
            | Failure::Exploration(_)
            | Failure::Format(_)
            | Failure::Algorithm(_)
            | Failure::Voting(_)
            | Failure::Scenario { .. }
            | Failure::Usage(_) => USAGE,
            Failure::Own { code, .. } => *code,
            Failure::Expected(_)
            | Failure::Failed(_)
            | Failure::Reading { .. }
            | Failure::Output(_)
            | Failure::File { .. } => FAILED,
        }
    }

    /// The kind of error, as programs read it in the JSON of an error.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Experiment(_)
            | Failure::Exploration(_)
            | Failure::Format(_)
            | Failure::Algorithm(_)
            | Failure::Voting(_)
            | Failure::Usage(_) => USAGE_KIND,
            Failure::Scenario { .. } => "scenario",
            Failure::Expected(_) => "unexpected",
            Failure::Failed(_) => "failed",
            Failure::Own { kind, .. } => kind,
            Failure::Reading { .. } => "read",
            Failure::Output(_) | Failure::File { .. } => "write",
        }
    }
}

/// The exit code of a command whose worst verdict is this one.
pub fn exit_code(severity: Severity) -> ExitCode {
    match severity {
        Severity::Fine => ExitCode::SUCCESS,
        Severity::Undecided => ExitCode::from(UNDECIDED),
        Severity::Liveness => ExitCode::from(LIVENESS),
        Severity::Safety => ExitCode::from(SAFETY),
    }
}
