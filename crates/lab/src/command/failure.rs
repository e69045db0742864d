//! Why a command failed, in one line, and the exit code that says so.

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
    /// The experiment cannot be run; nothing was done, as in all cases but the last two.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// It cannot be explored.
    #[error(transparent)]
    Exploration(#[from] ExplorationError),
    /// The name of a file does not say what to write into it.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// There is no such algorithm.
    #[error(transparent)]
    Algorithm(#[from] UnknownAlgorithm),
    /// There is no such vote.
    #[error(transparent)]
    Voting(#[from] VotingError),
    /// A scenario cannot be played.
    #[error("{name}: {error}")]
    Scenario {
        /// Its file or name.
        name: String,
        /// What is wrong with it.
        error: ScenarioError,
    },
    /// A scenario was played, and what it expects did not happen.
    #[error("{0}")]
    Expected(String),
    /// It could not be done; the text says why, and what to do.
    #[error("{0}")]
    Failed(String),
    /// A file could not be read.
    #[error("reading {path}: {error}")]
    Reading {
        /// Which.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
    /// The arguments do not go together; the text says what does.
    #[error("{0}")]
    Usage(String),
    /// What was to be written could not be.
    #[error("writing the output: {0}")]
    Output(#[from] std::io::Error),
    /// A file could not be written.
    #[error("writing {path}: {error}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
}

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const SAFETY: u8 = 10;
const LIVENESS: u8 = 11;
const UNDECIDED: u8 = 12;

impl Failure {
    /// The exit code that says so.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Experiment(_)
            | Failure::Exploration(_)
            | Failure::Format(_)
            | Failure::Algorithm(_)
            | Failure::Voting(_)
            | Failure::Scenario { .. }
            | Failure::Usage(_) => USAGE,
            Failure::Expected(_)
            | Failure::Failed(_)
            | Failure::Reading { .. }
            | Failure::Output(_)
            | Failure::File { .. } => FAILED,
        })
    }
}

/// The exit code of a run in which this was the worst broken promise.
pub fn exit_code(severity: Severity) -> ExitCode {
    match severity {
        Severity::Fine => ExitCode::SUCCESS,
        Severity::Undecided => ExitCode::from(UNDECIDED),
        Severity::Liveness => ExitCode::from(LIVENESS),
        Severity::Safety => ExitCode::from(SAFETY),
    }
}
