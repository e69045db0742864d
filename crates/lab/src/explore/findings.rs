//! The result of an exploration, and the conditions under which it holds.

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

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The name of the algorithm.
    pub algorithm: &'static str,
    /// How many processes.
    pub n: u32,
    /// How many distinct states there are.
    pub states: u64,
    /// How many steps lead from one state to another.
    pub transitions: u64,
    /// How many steps the farthest state is away from the initial one.
    pub depth: u64,
    /// How many states end a run: nothing more has to happen in them.
    pub ends: u64,
    /// The sum of the fingerprints of these states. Two explorations with equal sums ended in the same states, except
    /// for hash collisions.
    pub ends_digest: u64,
    /// Whether all states were explored.
    pub complete: bool,
    /// The duration of the search in seconds.
    pub seconds: f64,
    /// How many bytes of memory the visited states and the paths to them need.
    pub bytes: u64,
    /// The probability that a hash collision hid a state, so that it was not explored.
    pub collision: f64,
    /// The verdict on each property, in the order in which they were asked for.
    pub verdicts: Vec<(Goal, Verdict)>,
    /// The properties among these that the algorithm promises.
    pub promised: Vec<Goal>,
    /// The properties that count for the exit code: those that the exploration names, or else those that the algorithm
    /// promises.
    pub counted: Vec<Goal>,
    /// The bounds and conditions of the exploration, as text.
    pub bounds: Vec<String>,
    /// The conditions that break an assumption of the algorithm, as text.
    pub broken_assumptions: Vec<String>,
    /// Whether applications could send messages of their own.
    pub applications_talk: bool,
    /// How often a waiting process was overtaken at most, in the explored states, if that was counted.
    pub most_overtaken: Option<u32>,
}

/// The verdict on a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All states were explored, and no run violates the property.
    Holds,
    /// This run violates the property.
    Violated(Box<Counterexample>),
    /// No explored run violates the property, but the exploration is incomplete for this reason.
    Undecided(String),
}

impl Findings {
    /// The verdict on a property, if it was asked for.
    pub fn verdict(&self, goal: Goal) -> Option<&Verdict> {
        self.verdicts.iter().find(|(asked, _)| *asked == goal).map(|(_, verdict)| verdict)
    }

    /// Whether a property was asked for and holds.
    pub fn holds(&self, goal: Goal) -> bool {
        self.verdict(goal) == Some(&Verdict::Holds)
    }

    /// The worst verdict on a property that [counts](Findings::counted).
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

    /// The counterexample to show first: to the first violated property that [counts](Findings::counted), or else to
    /// the first violated property.
    pub fn first_violation(&self) -> Option<(Goal, &Counterexample)> {
        let violated = self.verdicts.iter().filter_map(|(goal, verdict)| match verdict {
            Verdict::Violated(found) => Some((*goal, &**found)),
            Verdict::Holds | Verdict::Undecided(_) => None,
        });
        let violated: Vec<_> = violated.collect();
        let counted = violated.iter().find(|(goal, _)| self.counted.contains(goal));
        counted.or(violated.first()).copied()
    }

    /// A condition or detail to print beside a property that holds.
    pub fn remark(&self, goal: Goal) -> Option<String> {
        match goal {
            Goal::StarvationFreedom => self.overtaken(),
            Goal::RequestOrder if !self.applications_talk => {
                Some("checked without application messages; --pokes P explores runs with up to P of them".into())
            }
            _ => None,
        }
    }

    /// How often a waiting process is overtaken, as text.
    pub fn overtaken(&self) -> Option<String> {
        self.most_overtaken.map(|times| match times {
            0 => "a waiting process is never overtaken".into(),
            1 => "a waiting process is overtaken at most once".into(),
            _ => format!("a waiting process is overtaken at most {times} times"),
        })
    }

    /// The counterexample to a property, if it was asked for and is violated.
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
            words.push(format!("{coordinator} coordinates and never requests entry"));
        }
        words.push(match rules.order {
            _ if rules.sessions => "FIFO channels between incarnations".into(),
            Order::Fifo => "FIFO channels".into(),
            Order::Any => "messages in any order".into(),
        });
        if let Some(bound) = rules.delay_bound {
            words.push(format!("delays of {}", at_most(bound, "ticks")));
            if self.drift > 0 {
                words.push(format!("timer drift of {}", at_most(self.drift, "ticks")));
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
            words.push("reads seal the resource".into());
        }
        if bounds.pokes > 0 && !rules.stamped_pokes {
            words.push("application messages without timestamps".into());
        }
        if let (Some(timeouts), true) = (bounds.timeouts, with_timers) {
            words.push(at_most(u64::from(timeouts), "timeouts"));
        }
        if !self.absent.is_empty() {
            let absent: Vec<_> = self.absent.iter().map(Id::to_string).collect();
            words.push(format!("{} crashed before the run", absent.join(", ")));
        }
        // Where nobody crashes there is nothing to tell.
        let crashes = bounds.crashes > 0 || !self.absent.is_empty();
        if rules.detector && crashes {
            words.push("all processes are notified of crashes".into());
        } else if self.detector == Some(false) && crashes {
            words.push("no process is notified of crashes".into());
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
