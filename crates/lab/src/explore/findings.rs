//! What an exploration found, and under which conditions, in words.

use quorate_core::catalog::{Entry, Family, Recovery};
use quorate_core::id::Id;
use quorate_core::setting::Options;

use super::Exploration;
use super::counterexample::Counterexample;
use super::goal::Goal;
use crate::network::Order;
use crate::report::Severity;
use crate::stage::Rules;
use crate::stage::wish::Times;

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The algorithm.
    pub algorithm: &'static str,
    /// How many processes.
    pub n: u32,
    /// How many distinct states there are.
    pub states: u64,
    /// How many steps lead from one to another.
    pub transitions: u64,
    /// How many steps the farthest state is away from the first.
    pub depth: u64,
    /// How many states there are in which a run ends.
    pub ends: u64,
    /// The sum of the fingerprints of these: the same if and only if they are the same states, but for chance.
    pub ends_digest: u64,
    /// Whether everything was explored.
    pub complete: bool,
    /// How long it took.
    pub seconds: f64,
    /// How many bytes the visited states and the ways to them take.
    pub bytes: u64,
    /// The chance that two states had the same fingerprint, so that one of them was not explored.
    pub collision: f64,
    /// What was found about each goal, in the order in which they were asked.
    pub verdicts: Vec<(Goal, Verdict)>,
    /// Those of them that the algorithm promises.
    pub promised: Vec<Goal>,
    /// Those of them whose violation counts: all that the exploration names, or else what the algorithm promises.
    pub counted: Vec<Goal>,
    /// Under which bounds and conditions, in words.
    pub bounds: Vec<String>,
    /// What of these breaks an assumption of the algorithm, in words.
    pub broken_assumptions: Vec<String>,
    /// Whether applications could send messages of their own.
    pub applications_talk: bool,
    /// How often somebody who waited was overtaken at most, as far as was explored, where that was counted.
    pub most_overtaken: Option<u32>,
}

/// What was found about a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was explored, and nothing breaks it.
    Holds,
    /// This breaks it.
    Violated(Box<Counterexample>),
    /// It was not broken as far as was explored, and this is why that is not far enough.
    Undecided(String),
}

impl Findings {
    /// The verdict on a goal, if it was asked.
    pub fn verdict(&self, goal: Goal) -> Option<&Verdict> {
        self.verdicts.iter().find(|(asked, _)| *asked == goal).map(|(_, verdict)| verdict)
    }

    /// Whether a goal was asked and holds.
    pub fn holds(&self, goal: Goal) -> bool {
        self.verdict(goal) == Some(&Verdict::Holds)
    }

    /// The worst verdict on a goal that [counts](Findings::counted).
    pub fn severity(&self) -> Severity {
        let counted = self.verdicts.iter().filter(|(goal, _)| self.counted.contains(goal));
        let severities = counted.map(|(goal, verdict)| match verdict {
            Verdict::Holds => Severity::Fine,
            Verdict::Undecided(_) => Severity::Undecided,
            Verdict::Violated(_) if goal.is_safety() => Severity::Safety,
            Verdict::Violated(_) => Severity::Liveness,
        });
        severities.max().unwrap_or(Severity::Fine)
    }

    /// The counterexample to show first: to the first violated goal that [counts](Findings::counted), or else to the
    /// first violated goal.
    pub fn first_violation(&self) -> Option<(Goal, &Counterexample)> {
        let violated = self.verdicts.iter().filter_map(|(goal, verdict)| match verdict {
            Verdict::Violated(found) => Some((*goal, &**found)),
            Verdict::Holds | Verdict::Undecided(_) => None,
        });
        let violated: Vec<_> = violated.collect();
        let counted = violated.iter().find(|(goal, _)| self.counted.contains(goal));
        counted.or(violated.first()).copied()
    }

    /// What else is to be said of a goal that holds.
    pub fn remark(&self, goal: Goal) -> Option<String> {
        match goal {
            Goal::StarvationFreedom => self.overtaken(),
            Goal::RequestOrder if !self.applications_talk => {
                Some("where applications send no messages: --pokes lets them".into())
            }
            _ => None,
        }
    }

    /// How often who waits is overtaken, in words.
    pub fn overtaken(&self) -> Option<String> {
        self.most_overtaken.map(|times| match times {
            0 => "who waits is never overtaken".into(),
            1 => "who waits is overtaken once at most".into(),
            _ => format!("who waits is overtaken {times} times at most"),
        })
    }

    /// The run that breaks a goal, if it was asked and is broken.
    pub fn counterexample(&self, goal: Goal) -> Option<&Counterexample> {
        match self.verdict(goal)? {
            Verdict::Violated(counterexample) => Some(counterexample),
            Verdict::Holds | Verdict::Undecided(_) => None,
        }
    }
}

impl Exploration {
    /// Whether an algorithm promises something, in this world.
    pub(super) fn is_promised(&self, goal: Goal, entry: &Entry, options: &Options) -> bool {
        let survives = |recovery: &Recovery| match goal {
            Goal::RequestOrder => false,
            // Two may be inside, and fences that only writes show come too late for what the first has read.
            Goal::NoLostUpdate if self.bounds.suspicions > 0 => self.sealed,
            // Who comes back when all others have died knows nothing of what they did meanwhile.
            Goal::Fencing | Goal::ResourceSafety if self.bounds.restarts > 0 && self.bounds.crashes > 1 => false,
            Goal::DeadlockFreedom | Goal::StarvationFreedom if recovery.needs_majority => {
                let dead = self.bounds.crashes + self.absent.len() as u32;
                self.n.saturating_sub(dead) > self.n / 2
            }
            // Where the living are taken for dead, two may be inside; fences are for the resource to check.
            Goal::MutualExclusion | Goal::Fencing if self.bounds.suspicions > 0 => false,
            Goal::Fencing | Goal::ResourceSafety => {
                recovery.fenced_crashes.is_none_or(|most| self.bounds.crashes <= most)
            }
            Goal::MutualExclusion
            | Goal::DeadlockFreedom
            | Goal::StarvationFreedom
            | Goal::NoLostUpdate
            | Goal::SingleLeader
            | Goal::Decided
            | Goal::Accuracy
            | Goal::Completeness => true,
        };
        let still = self.recovery.is_none() || entry.recovery.as_ref().is_some_and(survives);
        goal.is_promised(entry, options) && still
    }

    /// The bounds of a search in which timers were set, or were not.
    pub(super) fn bounds_in_words(&self, entry: &Entry, rules: &Rules, with_timers: bool) -> Vec<String> {
        let (one, what) = if entry.family == Family::Mutex { ("entry", "entries") } else { ("call", "calls") };
        let mut words = vec![format!("n = {}", self.n)];
        if entry.family != Family::Detector {
            words.push(match rules.times {
                Times::AtMost(1) => format!("1 {one} each"),
                times => format!("{times} {what} each"),
            });
        }
        if let Some(coordinator) = rules.coordinator.filter(|_| self.n > 1) {
            words.push(format!("{coordinator} serves and does not ask"));
        }
        words.push(match rules.order {
            _ if rules.sessions => "sessions".into(),
            Order::Fifo => "FIFO channels".into(),
            Order::Any => "messages in any order".into(),
        });
        if let Some(bound) = rules.delay_bound {
            words.push(format!("delays of {}", at_most(bound, "ticks")));
            if self.drift > 0 {
                words.push(format!("timers off by {}", at_most(self.drift, "ticks")));
            }
        }
        let bounds = &rules.bounds;
        for (count, what) in [
            (bounds.pokes, "application messages"),
            (bounds.crashes, "crashes"),
            (bounds.restarts, "restarts"),
            (bounds.losses, "losses"),
            (bounds.duplicates, "duplicates"),
            (bounds.withdrawals, "withdrawals"),
            (bounds.suspicions, "false suspicions"),
            (bounds.writes, "writes"),
        ] {
            if count > 0 {
                words.push(at_most(u64::from(count), what));
            }
        }
        if rules.sealed && bounds.writes > 0 {
            words.push("reads are seals".into());
        }
        if bounds.pokes > 0 && !rules.stamped_pokes {
            words.push("no stamps".into());
        }
        if let (Some(timeouts), true) = (bounds.timeouts, with_timers) {
            words.push(at_most(u64::from(timeouts), "timeouts"));
        }
        if !self.absent.is_empty() {
            let absent: Vec<_> = self.absent.iter().map(Id::to_string).collect();
            words.push(format!("without {}", absent.join(", ")));
        }
        // Where nobody crashes there is nothing to tell.
        let crashes = bounds.crashes > 0 || !self.absent.is_empty();
        if rules.detector && crashes {
            words.push("everybody is told of crashes".into());
        } else if self.detector == Some(false) && crashes {
            words.push("nobody is told of crashes".into());
        }
        words.extend(self.options.iter().map(|(key, value)| format!("{key}={value}")));
        words
    }
}

/// "at most 1 crash", "at most 2 crashes".
fn at_most(count: u64, what: &str) -> String {
    let one = match what {
        "crashes" => "crash",
        "losses" => "loss",
        what => what.trim_end_matches('s'),
    };
    format!("at most {count} {}", if count == 1 { one } else { what })
}
