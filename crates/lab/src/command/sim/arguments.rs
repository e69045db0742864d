//! What `sim` takes, but for the algorithm.

use std::path::PathBuf;

use clap::Args;
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

/// A run of up to this many records is shown as a conversation.
const SHORT: usize = 44;

/// When to show what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversation {
    /// When the run is short.
    Auto,
    /// Whatever its length.
    Always,
    /// Not at all.
    Never,
}

/// Run an algorithm once, by a seed: the conversation, costs and verdicts.
///
/// The same seed and options give the same run. Times are in δ, the unit of --delay. What the algorithm does not
/// promise is reported, not failed. A promise that breaks decides the exit code, also where the run breaks an
/// assumption of the algorithm; a warning says which.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// How many processes, the coordinator included
    #[arg(short, value_name = "N", default_value_t = 5, allow_negative_numbers = true,
          value_parser = parse::group_size)]
    pub n: u32,

    /// No request beyond this many, in all, is made [default: 20]
    #[arg(long, help_heading = "Workload", value_name = "E", allow_negative_numbers = true,
          value_parser = parse::count)]
    pub entries: Option<u64>,

    /// Determines everything that is left to chance
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true, value_parser = parse::seed)]
    pub seed: u64,

    /// How long messages take: constant:T, uniform:T..T, exponential:MEAN or per-link:T..T
    #[arg(long, help_heading = "Network", value_name = "DELAY", default_value = "constant:1",
          value_parser = parse::delay)]
    pub delay: Delay,

    /// Whether messages between two processes arrive in order; by default if the algorithm needs it
    #[arg(long, help_heading = "Network", value_name = "fifo|any", value_parser = parse::order)]
    pub order: Option<Order>,

    /// Who asks when: alone, contended, poisson:RATE or causal [default: contended]
    #[arg(long, help_heading = "Workload", value_name = "WORKLOAD", value_parser = parse::workload)]
    pub workload: Option<Workload>,

    /// Requests of processes at times, in place of a workload; who still waits or is inside does not ask
    #[arg(long, help_heading = "Workload", value_name = "ID@TIME[,…]", value_delimiter = ',',
          value_parser = parse::id_at, conflicts_with = "workload")]
    pub ask: Vec<(Id, Ticks)>,

    /// What the Lamport clock of a process shows at first; its first request carries one more
    #[arg(long, help_heading = "Workload", value_name = "ID=NUMBER[,…]", value_delimiter = ',',
          value_parser = parse::clock)]
    pub clock: Vec<(Id, Number)>,

    /// How long each stays inside [default: 1]
    #[arg(long, help_heading = "Workload", value_name = "TIME", allow_negative_numbers = true,
          value_parser = parse::time)]
    pub cs: Option<Ticks>,

    /// The chance that a request is taken back, after up to 4 δ [default: 0]
    #[arg(long, help_heading = "Workload", value_name = "P", allow_negative_numbers = true,
          value_parser = parse::probability)]
    pub withdraw: Option<f64>,

    /// The chance that a message is lost
    #[arg(long, help_heading = "Network", value_name = "P", allow_negative_numbers = true, default_value_t = 0.0,
          value_parser = parse::probability)]
    pub loss: f64,

    /// The chance that a message arrives twice
    #[arg(long, help_heading = "Network", value_name = "P", allow_negative_numbers = true, default_value_t = 0.0,
          value_parser = parse::probability)]
    pub duplicate: f64,

    /// Processes crash at times, or are dead from the beginning
    #[arg(long, help_heading = "Faults and time", value_name = "ID[@TIME][,…]", value_delimiter = ',',
          value_parser = parse::crash)]
    pub crash: Vec<Fault>,

    /// Crashed processes begin another life
    #[arg(long, help_heading = "Faults and time", value_name = "ID@TIME[,…]", value_delimiter = ',',
          value_parser = parse::restart)]
    pub restart: Vec<Fault>,

    /// Processes do nothing for a while, and then go on as if nothing had been
    #[arg(long, help_heading = "Faults and time", value_name = "ID@FROM..TO[,…]", value_delimiter = ',',
          value_parser = parse::pause)]
    pub pause: Vec<Fault>,

    /// The network is cut for a while, as in 1,2/3@10..20; all who are not named are one more part. What is sent across
    /// the cut meanwhile is held back, and arrives after it; nothing is lost. Repeat for more
    #[arg(long, help_heading = "Network", value_name = "PARTS@FROM..TO", value_parser = parse::partition)]
    pub partition: Vec<Partition>,

    /// Clocks are off by up to this many parts per million
    #[arg(long, help_heading = "Faults and time", value_name = "PPM", default_value_t = 0,
          allow_negative_numbers = true, value_parser = parse::drift)]
    pub drift: u32,

    /// What the processes take for the longest delay; by default the truth, or 8 means where there is none
    #[arg(long, help_heading = "Faults and time", value_name = "TIME", allow_negative_numbers = true,
          value_parser = parse::time)]
    pub bound: Option<Ticks>,

    /// Whether a perfect failure detector tells everybody of crashes; by default if the algorithm needs it
    #[arg(long, help_heading = "Faults and time", value_name = "none|perfect", value_parser = parse::detector)]
    pub detector: Option<bool>,

    /// The algorithm recovers: heartbeats tell of crashes and returns, and reliable channels make up for whatever the
    /// network does. Loss, duplicates and order are of the messages of all that together
    #[arg(long, help_heading = "Recovery")]
    pub recovery: bool,

    /// The election beside an algorithm that needs one to recover
    #[arg(long, help_heading = "Recovery", value_name = "ring|chang-roberts|bully", default_value = "ring",
          requires = "recovery", value_parser = parse::beside)]
    pub election: Beside,

    /// Who does not trust a majority lets nobody in
    #[arg(long, help_heading = "Recovery", requires = "recovery")]
    pub guard: bool,

    /// A first life begins only when all are there, as on a network, where not all start at the same time
    #[arg(long, help_heading = "Recovery", requires = "recovery")]
    pub gather: bool,

    /// From one heartbeat to the next, in units of the longest delay
    #[arg(long, help_heading = "Recovery", value_name = "K", default_value_t = 5, requires = "recovery",
          allow_negative_numbers = true, value_parser = parse::beats)]
    pub interval: u64,

    /// How many heartbeats in a row may be lost before their sender is taken for dead
    #[arg(long, help_heading = "Recovery", value_name = "K", default_value_t = 0, requires = "recovery",
          allow_negative_numbers = true, value_parser = parse::missed)]
    pub missed: u64,

    /// So many random crashes, returns, pauses and cuts of the network, by the seed, in place of --crash, --restart,
    /// --pause and --partition
    #[arg(long, help_heading = "Faults and time", value_name = "FAULTS", allow_negative_numbers = true,
          value_parser = parse::faults, conflicts_with_all = ["crash", "restart", "pause", "partition"])]
    pub shake: Option<u32>,

    /// With --shake: crashes (and returns), of which a detector can be right, or everything
    #[arg(long, help_heading = "Faults and time", value_name = "crashes|everything", default_value = "everything",
          requires = "shake", value_parser = parse::shaking)]
    pub shaking: Shaking,

    /// Run so many seeds, from --seed on, and say in how many of them something broke
    #[arg(long, value_name = "RUNS", allow_negative_numbers = true, value_parser = parse::count,
          conflicts_with_all = ["diagram", "trace", "conversation"])]
    pub runs: Option<u64>,

    /// The voting sets, for algorithms that have them: grid, plane or best
    #[arg(long, help_heading = "Algorithm", value_name = "KIND", value_parser = ["grid", "plane", "best"],
          hide_possible_values = true)]
    pub sets: Option<String>,

    /// An option of the algorithm; repeat for more
    #[arg(long, help_heading = "Algorithm", value_name = "KEY=VALUE", value_parser = parse::option)]
    pub option: Vec<(String, String)>,

    /// Who starts an election, at the beginning or at a time; by default the smallest that lives
    #[arg(long, help_heading = "Algorithm", value_name = "ID[@TIME][,…]", value_delimiter = ',',
          value_parser = parse::starter)]
    pub starter: Vec<(Id, Ticks)>,

    /// Whether to show what was said: auto (when the run is short), always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = parse::conversation)]
    pub conversation: Conversation,

    /// Stop at this time at the latest
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse::time)]
    pub until: Option<Ticks>,

    /// Draw the run: .svg, .html (a page to step through) or .txt, or - for text here
    #[arg(long, value_name = "FILE")]
    pub diagram: Option<PathBuf>,

    /// Write every record as a line of JSON into a file, times in millionths of δ; or, as .shiviz, for ShiViz
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
        let sets = self.sets.iter().map(|kind| ("sets".to_string(), kind.clone()));
        let experiment = Experiment {
            n: self.n,
            seed: self.seed,
            delay: self.delay,
            order: self.order,
            loss: self.loss,
            duplicate: self.duplicate,
            partitions: self.partition.clone(),
            faults: [&self.crash[..], &self.restart[..], &self.pause[..]].concat(),
            drift_ppm: self.drift,
            bound: self.bound,
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
                entries: self.entries.unwrap_or(if self.ask.is_empty() {
                    defaults.entries
                } else {
                    self.ask.len() as u64
                }),
                time_inside: self.cs.unwrap_or(defaults.time_inside),
                withdraw: self.withdraw.unwrap_or(defaults.withdraw),
                clocks: self.clock.clone(),
            },
            starters: self.starter.clone(),
            until: self.until,
            properties: None,
            keep_records: match self.conversation {
                Conversation::Auto => SHORT,
                Conversation::Always => usize::MAX,
                Conversation::Never => 0,
            },
        };
        self.shake.map_or(experiment.clone(), |faults| experiment.shaken(self.shaking, faults))
    }
}
