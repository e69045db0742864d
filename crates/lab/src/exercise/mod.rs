//! Exercises: algorithms that are wrong in one place, each with a question. Its answer is the shortest run that breaks
//! it, which the [explorer](crate::explore) finds.
//!
//! There are six small algorithms. Each is right, and has flaws to choose from: one arm of one `match self.flaw`, which
//! differs from the right one beside it. What a student sees is cut from the file that runs (see `excerpt`).

#![expect(
    clippy::match_like_matches_macro,
    clippy::single_match,
    reason = "each place where variants differ is a match with an arm for each, from which a variant is shown"
)]

mod asker;
mod excerpt;
mod list;
mod queue;
mod ring;
mod server;
mod token;
mod voter;

use quorate_core::catalog::{Entry, Family, OptionSpec, Values, Visitor};
use quorate_core::election::Election;
use quorate_core::mutex::Mutex;
use quorate_core::setting::Setting;

use crate::experiment::{Experiment, ExperimentError, Spectators};
use crate::explore::goal::Goal;
use crate::explore::{Exploration, ExplorationError, Findings, Progress};
use crate::report::Report;
use crate::stage::Bounds;
use crate::stage::wish::Times;

/// All exercises, in order of their numbers, which begin with 1.
pub fn all() -> &'static [Exercise] {
    list::ALL
}

/// The exercise of this number.
pub fn exercise(number: u32) -> Option<&'static Exercise> {
    all().iter().find(|exercise| exercise.number == number)
}

/// An algorithm that is wrong in one place, and the question how that shows.
#[derive(Debug)]
pub struct Exercise {
    /// Its number.
    pub number: u32,
    /// Its title, which gives nothing away.
    pub title: &'static str,
    /// The algorithm, as it should be.
    pub lesson: &'static Lesson,
    /// What to look at.
    pub hint: &'static str,
    /// What is wrong, and what would be right.
    pub explanation: &'static str,
    /// What it breaks, and all that it breaks of what the right one promises. The question is about the first.
    pub breaks: &'static [Goal],
    /// How many processes there are.
    pub n: u32,
    /// How often each asks, or calls an election.
    pub times: u32,
    /// How many messages the applications send.
    pub pokes: u32,
    flaw: Flaw,
}

/// Where an algorithm is wrong: the value of its option, and the name of the arm in its source.
#[derive(Clone, Copy, Debug)]
struct Flaw {
    number: u8,
    name: &'static str,
}

/// The option by which the algorithms of the exercises are made wrong.
const FLAW: &[OptionSpec] = &[OptionSpec {
    key: "flaw",
    values: Values::Integer { from: 0, to: u8::MAX as u64 },
    default: "0",
    meaning: "the place where the algorithm is wrong; 0 for none",
}];

/// The flaw that a process is to have.
fn flaw_of(setting: &Setting) -> u8 {
    u8::try_from(setting.group.options.integer("flaw")).expect("the option was checked when the options were made")
}

/// What the exercises about one algorithm have in common.
#[derive(Debug)]
pub struct Lesson {
    /// What it is about.
    pub title: &'static str,
    /// How the algorithm works, if it is right.
    pub story: &'static str,
    /// What it promises, if it is right.
    pub promises: &'static [Goal],
    algorithm: Algorithm,
    source: &'static str,
}

/// An algorithm that can be explored and simulated.
#[derive(Clone, Copy, Debug)]
struct Algorithm {
    entry: &'static Entry,
    explore: Explore,
    simulate: fn(&Experiment) -> Result<Report, ExperimentError>,
}

type Explore = fn(&Exploration, &mut dyn FnMut(Progress)) -> Result<Findings, ExplorationError>;

impl Algorithm {
    const fn mutex<M: Mutex>() -> Algorithm {
        Algorithm {
            entry: const { &M::ENTRY },
            explore: |exploration, progress| exploration.run_mutex::<M>(progress),
            simulate: |experiment| experiment.run_mutex::<M>(Spectators::default()),
        }
    }

    const fn election<E: Election>() -> Algorithm {
        Algorithm {
            entry: const { &E::ENTRY },
            explore: |exploration, progress| exploration.run_election::<E>(progress),
            simulate: |experiment| experiment.run_election::<E>(Spectators::default()),
        }
    }
}

impl Lesson {
    /// Whether its algorithm elects somebody, rather than let processes take turns.
    pub fn is_about_elections(&self) -> bool {
        self.algorithm.entry.family == Family::Election
    }

    /// Whether messages between two processes arrive in order.
    pub fn is_fifo(&self) -> bool {
        self.algorithm.entry.assumptions.fifo
    }
}

/// Which of the two an algorithm is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As it should be.
    Right,
    /// As the exercise has it.
    Flawed,
}

impl Exercise {
    /// The search that finds the answer: everything that the right algorithm promises, in a group as small as will do.
    pub fn exploration(&self) -> Exploration {
        Exploration {
            n: self.n,
            times: Times::AtMost(self.times),
            bounds: Bounds { pokes: self.pokes, ..Bounds::default() },
            goals: Some(self.lesson.promises.to_vec()),
            ..Exploration::default()
        }
    }

    /// Explores every run of its algorithm. The options are its own.
    pub fn explore(
        &self,
        variant: Variant,
        exploration: &Exploration,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Findings, ExplorationError> {
        let exploration = Exploration { options: self.options(variant), ..exploration.clone() };
        (self.lesson.algorithm.explore)(&exploration, progress)
    }

    /// Simulates one run of its algorithm. The options are its own.
    pub fn simulate(&self, variant: Variant, experiment: &Experiment) -> Result<Report, ExperimentError> {
        let experiment = Experiment { options: self.options(variant), ..experiment.clone() };
        (self.lesson.algorithm.simulate)(&experiment)
    }

    /// Lets a visitor see its algorithm.
    pub fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        list::visit(self.lesson.algorithm.entry, visitor)
    }

    /// The options that make the algorithm right, or wrong.
    pub fn options(&self, variant: Variant) -> Vec<(String, String)> {
        let number = match variant {
            Variant::Right => 0,
            Variant::Flawed => self.flaw.number,
        };
        vec![("flaw".to_string(), number.to_string())]
    }

    /// What the question is about.
    pub fn goal(&self) -> Goal {
        self.breaks[0]
    }

    /// What is asked.
    pub fn question(&self) -> &'static str {
        match self.goal() {
            Goal::MutualExclusion => "Find a run in which two processes are inside at the same time.",
            Goal::DeadlockFreedom => "Find a run that ends while a process still waits.",
            Goal::StarvationFreedom => "Find a run in which a process waits forever.",
            Goal::RequestOrder => {
                "Find a run in which a process enters before another process whose request happened before its own."
            }
            Goal::Fencing => "Find a run in which the fence of an entry is not larger than that of an earlier entry.",
            Goal::ResourceSafety => "Find a run in which two entries have the same fence, or an old write is accepted.",
            Goal::NoLostUpdate => "Find a run in which a process overwrites a write that it has not read.",
            Goal::SingleLeader => "Find a run in which two processes name different leaders.",
            Goal::Decided => "Find a run that ends while a process does not name the process with the largest id.",
            Goal::Accuracy => "Find a run in which a running process is suspected.",
            Goal::Completeness => "Find a run in which a crashed process is never suspected.",
        }
    }

    /// What of the algorithm is to be read.
    pub fn source(&self, variant: Variant) -> String {
        excerpt::excerpt(
            self.lesson.source,
            match variant {
                Variant::Right => "_",
                Variant::Flawed => self.flaw.name,
            },
        )
    }

    /// The lines that are wrong, and those that would be right in their place.
    pub fn difference(&self) -> (Vec<String>, Vec<String>) {
        let (wrong, right) = (self.source(Variant::Flawed), self.source(Variant::Right));
        let (mut wrong, mut right): (Vec<_>, Vec<_>) = (wrong.lines().collect(), right.lines().collect());
        let same = wrong.iter().zip(&right).take_while(|(wrong, right)| wrong == right).count();
        (wrong, right) = (wrong.split_off(same), right.split_off(same));
        while wrong.last().is_some_and(|line| right.last() == Some(line)) {
            wrong.pop();
            right.pop();
        }
        let owned = |lines: Vec<&str>| lines.into_iter().map(String::from).collect();
        (owned(wrong), owned(right))
    }
}
