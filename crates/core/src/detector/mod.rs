//! Failure detection: processes find out who has crashed.

pub(crate) mod heartbeat;

use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use crate::catalog::Entry;
use crate::id::Id;
use crate::process::Process;
use crate::setting::Setting;
use crate::trace::{Opinion, Recorded, What};

pub use heartbeat::Heartbeat;

/// What an application asks of a detector: nothing, it works by itself.
pub type Input = Infallible;

/// What a detector tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Output {
    /// Of whom it thinks differently now.
    pub of: Id,
    /// What it thinks.
    pub opinion: Opinion,
}

/// A failure detector.
pub trait Detector: Process<Input = Input, Output = Output> {
    /// What is known of it.
    const ENTRY: Entry;

    /// A process before its first event.
    fn new(setting: &Setting) -> Self;
}

impl Recorded for Input {
    fn what(&self) -> Option<What> {
        match *self {}
    }
}

impl Recorded for Output {
    fn what(&self) -> Option<What> {
        Some(What::Opinion { of: self.of, opinion: self.opinion })
    }
}
