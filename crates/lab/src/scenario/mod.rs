//! Conversations as files: who asks, who gets what next, and what is expected to come of it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`step`] | one line of a script, in the words that a [`Stage`](crate::stage::Stage) has for its choices |
//! | `language` | a whole file: description, header, steps, expected conversation |
//! | [`play`] | a script on a stage, step by step, judged by the same properties as a simulation |
//! | `counterexample` | a run that the [explorer](crate::explore) found, as a scenario |
//! | [`builtin`] | those that come with the laboratory |
//!
//! The language is described for people in `docs/scenarios.md`.

pub mod builtin;
mod counterexample;
mod language;
pub mod play;
pub mod step;

use quorate_core::catalog::Property;
use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::setting::Timing;

use crate::network::Order;
use crate::property::AT_THE_RESOURCE;
use crate::recovery::Beside;
use crate::stage::wish::{Times, Wish};
use step::Step;

pub use play::Played;

/// A conversation that can be run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// What it shows, for people; the first line is its title.
    pub description: Vec<String>,
    /// About whom it is, and in which world.
    pub header: Header,
    /// What happens.
    pub script: Vec<Written>,
    /// Remarks after the last step.
    pub closing: Vec<String>,
    /// What is expected to be recorded, in words.
    pub conversation: Option<String>,
}

/// About whom a scenario is, and in which world. What is left out is as the algorithm assumes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The algorithm.
    pub algorithm: String,
    /// How many processes.
    pub n: u32,
    /// In which order messages arrive.
    pub order: Option<Order>,
    /// Whether there is time.
    pub timing: Option<Timing>,
    /// How many ticks a message takes at most, where there is time; and what the processes take for that.
    pub delay_bound: Option<Ticks>,
    /// By how many ticks a timer may run out too early or too late, where there is time.
    pub drift: Option<Ticks>,
    /// Whether everybody is told of crashes.
    pub detector: Option<bool>,
    /// Whether messages travel in sessions, so that the algorithm can recover, and with which election beside it if it
    /// needs one.
    pub recovery: Option<Beside>,
    /// Whether applications' messages carry stamps.
    pub stamps: Option<bool>,
    /// Whether who reads the resource seals it.
    pub sealed: Option<bool>,
    /// The algorithm's options, as key and value.
    pub options: Vec<(String, String)>,
    /// Who has crashed before the run.
    pub absent: Vec<Id>,
    /// Which stamps processes observe before anything else happens.
    pub clocks: Vec<(Id, Number)>,
    /// How often each application may ask; any number of times, if it is not said. If that is said, entries are not
    /// counted, as in an exploration without end, and have no fences.
    pub entries_each: Option<Times>,
    /// How often those who crash may come back. Until then messages to them wait; after that, they are lost at once.
    /// If it is not said, as often as the script says.
    pub restarts: Option<u32>,
    /// What is expected of the properties.
    pub expect: Vec<Expectation>,
}

impl Header {
    /// A header that leaves everything to the algorithm.
    pub fn new(algorithm: &str, n: u32) -> Header {
        Header {
            algorithm: algorithm.to_string(),
            n,
            order: None,
            timing: None,
            delay_bound: None,
            drift: None,
            detector: None,
            recovery: None,
            stamps: None,
            sealed: None,
            options: Vec::new(),
            absent: Vec::new(),
            clocks: Vec::new(),
            entries_each: None,
            restarts: None,
            expect: Vec::new(),
        }
    }
}

/// What is expected of the properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// None is violated.
    Holds,
    /// This one holds.
    Held(Property),
    /// This one is violated.
    Violated(Property),
}

/// A step, and where it is written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The line of the file; 0 if there is none.
    pub line: usize,
    /// Remarks before it.
    pub remarks: Vec<String>,
    /// What happens.
    pub step: Step,
}

/// Where a step is written makes no difference.
impl PartialEq for Written {
    fn eq(&self, other: &Written) -> bool {
        self.remarks == other.remarks && self.step == other.step
    }
}

impl Eq for Written {}

/// What is wrong with a scenario. What was played until then is forgotten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct ScenarioError {
    /// In which line, if it is about one.
    pub line: Option<usize>,
    /// What was not understood or is not possible, and what would be.
    pub why: String,
}

impl ScenarioError {
    fn at(line: usize, why: impl Into<String>) -> ScenarioError {
        ScenarioError { line: (line > 0).then_some(line), why: why.into() }
    }

    fn of_header(why: impl Into<String>) -> ScenarioError {
        ScenarioError { line: None, why: why.into() }
    }
}

/// The largest group of a scenario.
pub const LARGEST_GROUP: u32 = 64;
/// The longest file that is read.
pub const MOST_BYTES: usize = 1 << 20;
/// The longest script.
pub const MOST_STEPS: usize = 10_000;

impl Scenario {
    /// A scenario of these steps, in the words of a file.
    pub fn from_steps(
        description: Vec<String>,
        header: Header,
        steps: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Scenario, ScenarioError> {
        let read = |(place, words): (usize, _)| match Step::parse(AsRef::as_ref(&words)) {
            Ok(step) => Ok(Written { line: 0, remarks: Vec::new(), step }),
            Err(why) => Err(ScenarioError::of_header(format!("step {}: {why}", place + 1))),
        };
        let script = steps.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Scenario { description, header, script, closing: Vec::new(), conversation: None })
    }

    /// What it is called, for people.
    pub fn title(&self) -> &str {
        self.description.first().map_or("", String::as_str)
    }

    /// What it shows, without the title.
    pub fn story(&self) -> String {
        self.description.iter().skip(1).map(String::as_str).collect::<Vec<_>>().join("\n").trim().to_string()
    }

    /// Whether applications read or write a resource: if the script says so, or if something is expected of it.
    fn has_resource(&self) -> bool {
        let touches = |written: &Written| matches!(written.step, Step::Wish(_, Wish::Read | Wish::Write));
        let is_about_it = |expectation: &Expectation| match expectation {
            Expectation::Held(property) | Expectation::Violated(property) => AT_THE_RESOURCE.contains(property),
            Expectation::Holds => false,
        };
        self.script.iter().any(touches) || self.header.expect.iter().any(is_about_it)
    }
}
