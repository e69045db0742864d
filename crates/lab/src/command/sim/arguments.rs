//! The arguments of `sim`, except the algorithm.

use std::path::PathBuf;

use clap::Args;
use quorate_core::catalog::Property;
use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::setting::Recovering;

use crate::application::{ClientPlan, Workload};
use crate::command::{parse, view};
use crate::experiment::Experiment;
use crate::network::{Delay, Order, Partition};
use crate::recovery::Beside;
use crate::shake::Shaking;
use crate::simulate::Fault;

/// With `--conversation auto`, runs of up to this many records are printed as a conversation.
const SHORT: usize = 44;

/// When to print the conversation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversation {
    /// When the run is short.
    Auto,
    /// Whatever its length.
    Always,
    /// Never.
    Never,
}

/// Simulate one run of an algorithm, and print its conversation, costs and verdicts.
///
/// The same options and the same --seed give the same run. Times are in δ, the unit of message delays (see --delay).
///
/// The run is checked for the properties of the algorithm's family. The exit code counts only the properties that the
/// algorithm promises, or those that --property names: 10 if a safety property is violated, 11 for a liveness property,
/// 12 if the run was cut off too early to tell. Violations of other properties are reported as "not promised". A broken
/// assumption, such as lost messages, is reported as a warning and does not change the exit code.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Number of processes, including the coordinator
    #[arg(short, value_name = "N", default_value_t = 5, allow_negative_numbers = true,
          value_parser = parse::group_size)]
    pub n: u32,

    /// Total number of requests of all processes [default: 20, or no limit with --entries-each]
    #[arg(long, help_heading = "Workload", value_name = "E", allow_negative_numbers = true,
          value_parser = parse::count)]
    pub entries: Option<u64>,

    /// Number of requests of each process; by default only --entries limits them
    #[arg(long, help_heading = "Workload", value_name = "R", allow_negative_numbers = true,
          value_parser = parse::entries_each)]
    pub entries_each: Option<u64>,

    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true, value_parser = parse::seed)]
    pub seed: u64,

    /// Check only these properties, and count them in the exit code even if the algorithm does not promise them
    #[arg(long, value_name = "PROPERTY[,…]", value_delimiter = ',', value_parser = parse::property(),
          hide_possible_values = true)]
    pub property: Vec<Property>,

    /// Distribution of message delays: constant:T, uniform:T..T, exponential:MEAN or per-link:T..T
    #[arg(long, help_heading = "Network", value_name = "DELAY", default_value = "constant:1",
          value_parser = parse::delays(), hide_possible_values = true)]
    pub delay: Delay,

    /// Whether messages between two processes arrive in order [default: fifo if the algorithm assumes it, else any]
    #[arg(long, help_heading = "Network", value_name = "fifo|any", value_parser = parse::order(),
          hide_possible_values = true)]
    pub order: Option<Order>,

    /// When processes request entry: alone, contended, poisson:RATE or causal [default: contended]
    ///
    /// alone: only the last process, again and again. contended: all processes at once, again and again. poisson:RATE:
    /// each idle process at random, RATE times per δ. causal: a process that requests entry also sends an application
    /// message to another process, which then requests entry, too.
    #[arg(long, help_heading = "Workload", value_name = "WORKLOAD", value_parser = parse::workloads(),
          hide_possible_values = true)]
    pub workload: Option<Workload>,

    /// Request entry at these times, in place of a workload; a process that is waiting or inside does not request
    #[arg(long, help_heading = "Workload", value_name = "ID@TIME[,…]", value_delimiter = ',',
          value_parser = parse::id_at, conflicts_with = "workload")]
    pub ask: Vec<(Id, Ticks)>,

    /// Initial value of a process's Lamport clock; its first request carries the next number
    #[arg(long, help_heading = "Workload", value_name = "ID=NUMBER[,…]", value_delimiter = ',',
          value_parser = parse::initial_clock)]
    pub initial_clock: Vec<(Id, Number)>,

    /// Time that a process stays in the critical section, in δ [default: 1]
    #[arg(long, help_heading = "Workload", value_name = "TIME", allow_negative_numbers = true,
          value_parser = parse::time)]
    pub cs: Option<Ticks>,

    /// Probability that a request is withdrawn, after up to 4 δ [default: 0]
    #[arg(long, help_heading = "Workload", value_name = "P", allow_negative_numbers = true,
          value_parser = parse::probability)]
    pub withdraw_rate: Option<f64>,

    /// Probability that a message is lost
    #[arg(long, help_heading = "Network", value_name = "P", allow_negative_numbers = true, default_value_t = 0.0,
          value_parser = parse::probability)]
    pub loss_rate: f64,

    /// Probability that a message arrives twice
    #[arg(long, help_heading = "Network", value_name = "P", allow_negative_numbers = true, default_value_t = 0.0,
          value_parser = parse::probability)]
    pub duplicate_rate: f64,

    /// Processes that have crashed before the run
    #[arg(long, help_heading = "Faults and time", value_name = "ID[,…]", value_delimiter = ',',
          value_parser = parse::id)]
    pub absent: Vec<Id>,

    /// Crash processes at these times
    #[arg(long, help_heading = "Faults and time", value_name = "ID@TIME[,…]", value_delimiter = ',',
          value_parser = parse::crash)]
    pub crash: Vec<Fault>,

    /// Restart crashed processes at these times
    #[arg(long, help_heading = "Faults and time", value_name = "ID@TIME[,…]", value_delimiter = ',',
          value_parser = parse::restart)]
    pub restart: Vec<Fault>,

    /// Pause processes for a while; a paused process neither sends nor handles anything, and loses no state
    #[arg(long, help_heading = "Faults and time", value_name = "ID@FROM..TO[,…]", value_delimiter = ',',
          value_parser = parse::pause)]
    pub pause: Vec<Fault>,

    /// Partition the network for a while, as in 1,2/3@10..20; repeat for more partitions
    ///
    /// Processes that are not named form one more part. Messages between two parts are delayed until the partition
    /// ends; none is lost.
    #[arg(long, help_heading = "Network", value_name = "PARTS@FROM..TO", value_parser = parse::partition)]
    pub partition: Vec<Partition>,

    /// Clocks run too fast or too slow by up to this many parts per million
    #[arg(long, help_heading = "Faults and time", value_name = "PPM", default_value_t = 0,
          allow_negative_numbers = true, value_parser = parse::drift)]
    pub drift_ppm: u32,

    /// Longest message delay that the processes assume, in δ [default: the true one, or 8 times the mean if --delay is
    /// unbounded]
    #[arg(long, help_heading = "Faults and time", value_name = "TIME", allow_negative_numbers = true,
          value_parser = parse::time)]
    pub delay_bound: Option<Ticks>,

    /// Whether a perfect failure detector reports crashes [default: perfect if the algorithm assumes it, else none]
    #[arg(long, help_heading = "Faults and time", value_name = "none|perfect", value_parser = parse::detector(),
          hide_possible_values = true)]
    pub detector: Option<bool>,

    /// Run the algorithm with recovery from crashes: this command adds heartbeats and reliable channels
    ///
    /// Heartbeats detect crashes and restarts, and may suspect a live process falsely. Reliable channels repair lost,
    /// duplicated and reordered messages; --loss-rate, --duplicate-rate and --order apply to what they send. (`check
    /// --recovery` explores neither: it notifies every process of every crash, and bounds false suspicions by
    /// --suspicions.)
    #[arg(long, help_heading = "Recovery")]
    pub recovery: bool,

    /// Election that runs beside an algorithm that needs a leader to recover
    #[arg(long, help_heading = "Recovery", value_name = "ring|chang-roberts|bully", default_value = "ring",
          requires = "recovery", value_parser = parse::elections(), hide_possible_values = true)]
    pub election: Beside,

    /// Grant entry only on processes that trust a majority of the group
    #[arg(long, help_heading = "Recovery", requires = "recovery")]
    pub guard: bool,

    /// Start each process only when it has connected to all others, as processes on a network do
    #[arg(long, help_heading = "Recovery", requires = "recovery")]
    pub gather: bool,

    /// Time between two heartbeats, in multiples of the longest delay
    #[arg(long, help_heading = "Recovery", value_name = "K", default_value_t = 5, requires = "recovery",
          allow_negative_numbers = true, value_parser = parse::beats)]
    pub interval: u64,

    /// Number of consecutive heartbeats that may be lost before their sender is suspected
    #[arg(long, help_heading = "Recovery", value_name = "K", default_value_t = 0, requires = "recovery",
          allow_negative_numbers = true, value_parser = parse::missed)]
    pub missed: u64,

    /// Inject this many random faults: crashes, restarts, pauses and partitions
    #[arg(long, help_heading = "Faults and time", value_name = "FAULTS", allow_negative_numbers = true,
          value_parser = parse::faults,
          conflicts_with_all = ["absent", "crash", "restart", "pause", "partition"])]
    pub shake: Option<u32>,

    /// Kind of random faults: only crashes and restarts, or everything
    #[arg(long, help_heading = "Faults and time", value_name = "crashes|everything", default_value = "everything",
          requires = "shake", value_parser = parse::shaking(), hide_possible_values = true)]
    pub shaking: Shaking,

    /// Simulate this many runs, with consecutive seeds from --seed on, and count violations
    #[arg(long, value_name = "RUNS", allow_negative_numbers = true, value_parser = parse::count,
          conflicts_with_all = ["diagram", "trace", "conversation", "down", "clocks", "fold", "from", "to",
                                "records"])]
    pub runs: Option<u64>,

    /// Construction of the voting sets, for algorithms that use them: grid, plane or best
    #[arg(long, help_heading = "Algorithm", value_name = "grid|plane|best", value_parser = ["grid", "plane", "best"],
          hide_possible_values = true)]
    pub sets: Option<String>,

    /// Set an option of the algorithm; repeat for more options
    #[arg(long, help_heading = "Algorithm", value_name = "KEY=VALUE", value_parser = parse::option)]
    pub option: Vec<(String, String)>,

    /// Processes that start an election, at time 0 or at TIME [default: the live process with the smallest id]
    #[arg(long, help_heading = "Algorithm", value_name = "ID[@TIME][,…]", value_delimiter = ',',
          value_parser = parse::starter)]
    pub starter: Vec<(Id, Ticks)>,

    /// Whether to print the conversation; auto prints it if the run is short
    #[arg(long, value_name = "auto|always|never", default_value = "auto", value_parser = parse::conversation(),
          hide_possible_values = true)]
    pub conversation: Conversation,

    /// Stop the run at this time, in δ
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse::time)]
    pub until: Option<Ticks>,

    /// Draw the run to a .svg, .html (step through it in a browser) or .txt file, or to standard output with -
    #[arg(long, value_name = "FILE")]
    pub diagram: Option<PathBuf>,

    /// Write the trace to a .jsonl file (one record a line, times in millionths of δ) or to a .shiviz file
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// How to draw.
    #[command(flatten)]
    pub view: view::ViewArguments,
}

impl Arguments {
    /// The experiment that these arguments describe.
    pub fn experiment(&self) -> Experiment {
        let defaults = ClientPlan::default();
        let workload = if self.ask.is_empty() {
            self.workload.clone().unwrap_or(defaults.workload)
        } else {
            Workload::List(self.ask.clone())
        };
        let absent = self.absent.iter().map(|&id| Fault::AbsentFromTheBeginning(id)).collect::<Vec<_>>();
        let entries = match (self.entries_each, self.ask.len()) {
            (Some(_), _) => u64::MAX,
            (None, 0) => defaults.entries,
            (None, asks) => asks as u64,
        };
        let sets = self.sets.iter().map(|kind| ("sets".to_string(), kind.clone()));
        let experiment = Experiment {
            n: self.n,
            seed: self.seed,
            delay: self.delay,
            order: self.order,
            loss: self.loss_rate,
            duplicate: self.duplicate_rate,
            partitions: self.partition.clone(),
            faults: [&absent[..], &self.crash[..], &self.restart[..], &self.pause[..]].concat(),
            drift_ppm: self.drift_ppm,
            bound: self.delay_bound,
            detector: self.detector,
            recovery: self.recovery.then_some(Recovering {
                election: self.election,
                guard: self.guard,
                gather: self.gather,
                interval: self.interval,
                missed: self.missed,
            }),
            options: sets.chain(self.option.iter().cloned()).collect(),
            clients: ClientPlan {
                workload,
                entries: self.entries.unwrap_or(entries),
                entries_each: self.entries_each,
                time_inside: self.cs.unwrap_or(defaults.time_inside),
                withdraw: self.withdraw_rate.unwrap_or(defaults.withdraw),
                clocks: self.initial_clock.clone(),
            },
            starters: self.starter.clone(),
            until: self.until,
            properties: (!self.property.is_empty()).then(|| self.property.clone()),
            keep_records: match self.conversation {
                Conversation::Auto => SHORT,
                Conversation::Always => usize::MAX,
                Conversation::Never => 0,
            },
        };
        self.shake.map_or(experiment.clone(), |faults| experiment.shaken(self.shaking, faults))
    }
}
