//! Why a command failed, in one line, and the exit code that says so.

use std::process::ExitCode;

use quorate_core::catalog::UnknownAlgorithm;
use quorate_lab::experiment::ExperimentError;
use quorate_lab::report::Severity;
use quorate_lab::violation::VotingError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The input cannot be used; nothing was done.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error(transparent)]
    Algorithm(#[from] UnknownAlgorithm),
    #[error(transparent)]
    Voting(#[from] VotingError),
    #[error("{0}")]
    Usage(String),
    /// What was to be written could not be.
    #[error("writing the output: {0}")]
    Output(#[from] std::io::Error),
    #[error("writing {path}: {error}")]
    File { path: String, error: std::io::Error },
}

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const SAFETY: u8 = 10;
const LIVENESS: u8 = 11;
const UNDECIDED: u8 = 12;

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Experiment(_) | Failure::Algorithm(_) | Failure::Voting(_) | Failure::Usage(_) => USAGE,
            Failure::Output(_) | Failure::File { .. } => FAILED,
        })
    }
}

/// The exit code of a run in which this was the worst broken promise.
pub(crate) fn exit_code(severity: Severity) -> ExitCode {
    match severity {
        Severity::Fine => ExitCode::SUCCESS,
        Severity::Undecided => ExitCode::from(UNDECIDED),
        Severity::Liveness => ExitCode::from(LIVENESS),
        Severity::Safety => ExitCode::from(SAFETY),
    }
}
