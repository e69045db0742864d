//! The arguments of `check`, except the algorithm.

use std::path::PathBuf;

use clap::Args;
use quorate_core::catalog::{Entry, Family};
use quorate_core::id::Id;
use quorate_core::setting::{Options, Timing};

use crate::command::parse::NamedGoals;
use crate::command::{parse, view};
use crate::explore::Exploration;
use crate::network::Order;
use crate::recovery::{Beside, is_timeless};
use crate::stage::Bounds;
use crate::stage::wish::Times;

/// Explore all runs of an algorithm for a small group: prove its properties, or print shortest counterexamples.
///
/// Each property gets a verdict: it holds (all runs were explored), it is violated (with a shortest counterexample), or
/// it is not decided (the search reached a limit). A verdict is valid for the bounds that are printed with it.
///
/// The exit code counts only the properties that the algorithm promises, or those that --property names: 10 if a safety
/// property is violated, 11 for a liveness property, 12 if one is not decided. Violations of other properties are
/// reported as "not promised". A broken assumption, such as lost messages, is reported as a warning and does not change
/// the exit code.
///
/// Ctrl-C ends the search and prints what it has found so far. Another Ctrl-C, at least a second later, ends the
/// command at once.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Number of processes, including the coordinator
    #[arg(short, value_name = "N", default_value_t = 3, allow_negative_numbers = true,
          value_parser = parse::explored_size)]
    pub n: u32,

    /// Number of requests (or elections started) of each process: a number, or `endless`
    ///
    /// `endless` works only for algorithms whose state space is finite then.
    #[arg(long, value_name = "R", default_value = "1", allow_negative_numbers = true, value_parser = parse::times(),
          hide_possible_values = true)]
    pub entries_each: Times,

    /// Check only these properties, and count them in the exit code even if the algorithm does not promise them
    #[arg(long, value_name = "PROPERTY[,…]", value_delimiter = ',', value_parser = parse::goals(),
          hide_possible_values = true)]
    pub property: Vec<NamedGoals>,

    /// Stop at the first violation that counts in the exit code
    #[arg(long)]
    pub stop: bool,

    /// Whether messages between two processes arrive in order [default: fifo if the algorithm assumes it, else any]
    #[arg(long, help_heading = "Network", value_name = "fifo|any", value_parser = parse::order(),
          hide_possible_values = true)]
    pub order: Option<Order>,

    /// Maximum number of lost messages
    #[arg(long, help_heading = "Network", value_name = "L", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub losses: u32,

    /// Maximum number of messages that arrive twice
    #[arg(long, help_heading = "Network", value_name = "D", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub duplicates: u32,

    /// Maximum number of application messages, sent by processes that have requested entry or know of a request
    #[arg(long, help_heading = "Applications", value_name = "P", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub pokes: u32,

    /// Send application messages without a timestamp, so that no logical clock advances (with --pokes)
    #[arg(long, help_heading = "Applications")]
    pub unstamped_pokes: bool,

    /// Maximum number of withdrawn requests
    #[arg(long, help_heading = "Applications", value_name = "W", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub withdrawals: u32,

    /// Maximum number of writes to a shared resource that checks fences
    ///
    /// A process that is inside reads the resource and then writes to it. The resource rejects a write whose fence is
    /// smaller than an earlier one.
    #[arg(long, help_heading = "Applications", value_name = "W", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub writes: u32,

    /// Present the fence when reading, too: from then on the resource rejects smaller fences (with --writes)
    #[arg(long, help_heading = "Applications", requires = "writes")]
    pub sealed: bool,

    /// Explore the algorithm with recovery from crashes: this command adds notifications of crashes and restarts
    ///
    /// Each process is notified of every crash, after the last message from the crashed process has arrived or is
    /// discarded, and of every restart. Channels are FIFO and lossless between two incarnations. (`sim --recovery` runs
    /// the heartbeats and the reliable channels that achieve this on a network.)
    #[arg(long, help_heading = "Faults and time")]
    pub recovery: bool,

    /// Election that runs beside an algorithm that needs a leader to recover
    #[arg(long, help_heading = "Faults and time", value_name = "ring|chang-roberts|bully", default_value = "ring",
          requires = "recovery", value_parser = parse::elections(), hide_possible_values = true)]
    pub election: Beside,

    /// Maximum number of false suspicions of live processes (with --recovery) [default: 0, or 1 with --timing
    /// asynchronous]
    #[arg(long, help_heading = "Faults and time", value_name = "F", allow_negative_numbers = true,
          requires = "recovery", value_parser = parse::bound)]
    pub suspicions: Option<u32>,

    /// Maximum number of crashes; a crash happens between two steps, or between two effects of one step
    #[arg(long, help_heading = "Faults and time", value_name = "K", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub crashes: u32,

    /// Maximum number of restarts of crashed processes
    #[arg(long, help_heading = "Faults and time", value_name = "K", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub restarts: u32,

    /// Processes that have crashed before the run
    #[arg(long, help_heading = "Faults and time", value_name = "ID[,…]", value_delimiter = ',',
          value_parser = parse::id)]
    pub absent: Vec<Id>,

    /// Whether a perfect failure detector reports crashes [default: perfect if the algorithm assumes it, else none]
    #[arg(long, help_heading = "Faults and time", value_name = "none|perfect", value_parser = parse::detector(),
          hide_possible_values = true)]
    pub detector: Option<bool>,

    /// Whether message delays have a known bound [default: synchronous if the algorithm assumes it, else asynchronous]
    #[arg(long, help_heading = "Faults and time", value_name = "synchronous|asynchronous",
          value_parser = parse::timing(), hide_possible_values = true)]
    pub timing: Option<Timing>,

    /// Longest message delay, in ticks, with --timing synchronous
    #[arg(long, help_heading = "Faults and time", value_name = "TICKS", default_value_t = 1,
          allow_negative_numbers = true, value_parser = parse::delay_bound)]
    pub delay_bound: u64,

    /// Timers expire up to this many ticks too early or too late, with --timing synchronous
    #[arg(long, help_heading = "Faults and time", value_name = "TICKS", default_value_t = 0,
          allow_negative_numbers = true, value_parser = parse::drift_ticks)]
    pub drift_ticks: u64,

    /// Maximum number of timers that expire [default: 1 with --timing asynchronous, else unlimited]
    #[arg(long, help_heading = "Faults and time", value_name = "T", allow_negative_numbers = true,
          value_parser = parse::timeouts)]
    pub timeouts: Option<u32>,

    /// Construction of the voting sets, for algorithms that use them: grid, plane or best
    #[arg(long, help_heading = "Algorithm", value_name = "grid|plane|best", value_parser = ["grid", "plane", "best"],
          hide_possible_values = true)]
    pub sets: Option<String>,

    /// Set an option of the algorithm; repeat for more options
    #[arg(long, help_heading = "Algorithm", value_name = "KEY=VALUE", value_parser = parse::option)]
    pub option: Vec<(String, String)>,

    /// Number of threads [default: one for each core]; the results do not depend on it
    #[arg(long, help_heading = "Search", value_name = "T", allow_negative_numbers = true,
          value_parser = parse::threads)]
    pub threads: Option<usize>,

    /// Stop when the search has found more states than this
    #[arg(long, help_heading = "Search", value_name = "M", default_value_t = 1_000_000_000,
          allow_negative_numbers = true, value_parser = parse::count)]
    pub max_states: u64,

    /// Stop when the states take more memory than this, in gigabytes
    #[arg(long, help_heading = "Search", value_name = "GB", default_value_t = 8.0, allow_negative_numbers = true,
          value_parser = parse::gigabytes)]
    pub memory: f64,

    /// Draw the counterexample to a .svg, .html (step through it in a browser) or .txt file, or to standard output with
    /// -
    ///
    /// If several properties are violated, this is the first counterexample that counts in the exit code, or else the
    /// first one. The same holds for --trace and --scenario.
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub diagram: Option<PathBuf>,

    /// Write the trace of the counterexample to a .jsonl file or to a .shiviz file
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Write the counterexample as a scenario for `replay`, or print it to standard output with -
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub scenario: Option<PathBuf>,

    /// How to draw.
    #[command(flatten)]
    pub view: view::StepViewArguments,
}

impl Arguments {
    /// One sentence for each option that was given but has no effect.
    pub fn without_effect(&self, entry: &Entry) -> Vec<String> {
        let options = self.options();
        let given = options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let entry = Options::new(entry, given).map_or(*entry, |options| entry.with(&options));
        let assumed = if entry.assumptions.synchronous { Timing::Synchronous } else { Timing::Asynchronous };
        let timed = self.timing.unwrap_or(assumed) == Timing::Synchronous;
        let elects = entry.family == Family::Mutex && entry.recovery.is_some_and(|recovery| recovery.elects);
        let is_timeless = is_timeless(&entry, self.recovery.then_some(self.election));
        let without_effect = [
            (self.unstamped_pokes && self.pokes == 0, "--unstamped-pokes has no effect without --pokes"),
            (self.sealed && self.writes == 0, "--sealed has no effect without --writes"),
            (self.delay_bound != 1 && !timed, "--delay-bound has no effect without --timing synchronous"),
            (
                self.delay_bound != 1 && timed && is_timeless,
                "--delay-bound has no effect here: crashes are notified, and the algorithm sets no timers",
            ),
            (
                self.drift_ticks > 0 && (!timed || is_timeless),
                "--drift-ticks has no effect here: no timer depends on a delay bound",
            ),
            (self.recovery && self.order.is_some(), "--order has no effect with --recovery, which has FIFO channels"),
            (
                self.recovery && self.detector.is_some(),
                "--detector has no effect with --recovery, which notifies every process of crashes; --suspicions adds \
                 false suspicions",
            ),
            (
                self.recovery && !elects && self.election != Beside::Ring,
                "--election has no effect here: this algorithm recovers without an election",
            ),
            (
                self.restarts > 0 && self.crashes == 0 && self.absent.is_empty(),
                "--restarts has no effect without --crashes or --absent",
            ),
        ];
        without_effect.into_iter().filter(|(is, _)| *is).map(|(_, words)| words.to_string()).collect()
    }

    /// Whether failure detection may be wrong: recovery was asked for, with delays explicitly unbounded.
    fn doubts_detectors(&self) -> bool {
        self.recovery && self.timing == Some(Timing::Asynchronous)
    }

    /// The options of the algorithm.
    fn options(&self) -> Vec<(String, String)> {
        let sets = self.sets.iter().map(|kind| ("sets".to_string(), kind.clone()));
        sets.chain(self.option.iter().cloned()).collect()
    }

    /// The exploration that these arguments describe.
    pub fn exploration(&self) -> Exploration {
        Exploration {
            n: self.n,
            times: self.entries_each,
            order: self.order,
            timing: self.timing,
            delay_bound: self.delay_bound,
            drift: self.drift_ticks,
            detector: self.detector,
            recovery: self.recovery.then_some(self.election),
            bounds: Bounds {
                pokes: self.pokes,
                crashes: self.crashes,
                restarts: self.restarts,
                losses: self.losses,
                duplicates: self.duplicates,
                withdrawals: self.withdrawals,
                writes: self.writes,
                suspicions: self.suspicions.unwrap_or(u32::from(self.doubts_detectors())),
                timeouts: self.timeouts,
            },
            unstamped_pokes: self.unstamped_pokes,
            sealed: self.sealed,
            absent: self.absent.clone(),
            options: self.options(),
            goals: (!self.property.is_empty())
                .then(|| self.property.iter().flat_map(|named| named.0.iter().copied()).collect()),
            threads: self.threads,
            max_states: self.max_states,
            max_bytes: (self.memory * 1e9) as u64,
            stop: self.stop,
        }
    }
}
