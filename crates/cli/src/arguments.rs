//! What the command takes. Help texts, completions and man pages are made from this.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use quorate_core::catalog::ENTRIES;
use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::mutex::voting_set::SetsKind;
use quorate_core::process::Ticks;
use quorate_lab::application::Workload;
use quorate_lab::network::{Delay, Order, Partition};
use quorate_lab::simulate::Fault;

use crate::{output, parse};

/// Distributed mutual exclusion and leader election, from the textbook to production.
///
/// The classic algorithms, each as one state machine: simulated under faults, measured, and compared with what the
/// literature says of it. Times are in δ, the unit of message delays; processes are numbered 1 to n.
#[derive(Parser, Debug)]
#[command(name = "quorate", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 fine, 1 failed, 2 usage, 10 safety violated, 11 liveness violated, 12 not decided."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print JSON, for programs
    #[arg(long, global = true, display_order = 900)]
    pub(crate) json: bool,

    /// Show no progress and no warnings
    #[arg(long, short, global = true, display_order = 901)]
    pub(crate) quiet: bool,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run an algorithm once, by a seed: the conversation, costs and verdicts
    Sim(Box<Sim>),
    /// All algorithms side by side: published costs beside measured ones
    Compare(Compare),
    /// The catalogue: assumptions, promises, costs, options, papers
    Algorithms(Algorithms),
    /// Who asks whom in algorithms that vote, and whether the published conditions hold
    VotingSets(VotingSetsArguments),
    /// Majority voting's chance of letting two in when coordinators forget their votes
    Violation(Violation),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write the pages of all commands into a directory
    Man {
        /// Write one page per command into this directory
        directory: Option<PathBuf>,
    },
}

fn algorithm_names() -> PossibleValuesParser {
    PossibleValuesParser::new(ENTRIES.iter().map(|entry| entry.name))
}

/// When to show what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversation {
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
#[derive(Args, Debug)]
pub(crate) struct Sim {
    /// The algorithm; `quorate algorithms` describes them
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: String,

    /// How many processes, the coordinator included
    #[arg(short, value_name = "N", default_value_t = 5, allow_negative_numbers = true,
          value_parser = parse::group_size)]
    pub(crate) n: u32,

    /// No request beyond this many, in all, is made [default: 20]
    #[arg(long, help_heading = "Workload", value_name = "E", allow_negative_numbers = true,
          value_parser = parse::count)]
    pub(crate) entries: Option<u64>,

    /// Determines everything that is left to chance
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true, value_parser = parse::seed)]
    pub(crate) seed: u64,

    /// How long messages take: constant:T, uniform:T..T, exponential:MEAN or per-link:T..T
    #[arg(long, help_heading = "Network", value_name = "DELAY", default_value = "constant:1",
          value_parser = parse::delay)]
    pub(crate) delay: Delay,

    /// Whether messages between two processes arrive in order; by default if the algorithm needs it
    #[arg(long, help_heading = "Network", value_name = "fifo|any", value_parser = parse::order)]
    pub(crate) order: Option<Order>,

    /// Who asks when: alone, contended, poisson:RATE or causal [default: contended]
    #[arg(long, help_heading = "Workload", value_name = "WORKLOAD", value_parser = parse::workload)]
    pub(crate) workload: Option<Workload>,

    /// Requests of processes at times, in place of a workload; who still waits or is inside does not ask
    #[arg(long, help_heading = "Workload", value_name = "ID@TIME[,…]", value_delimiter = ',',
          value_parser = parse::id_at, conflicts_with = "workload")]
    pub(crate) ask: Vec<(Id, Ticks)>,

    /// What the Lamport clock of a process shows at first; its first request carries one more
    #[arg(long, help_heading = "Workload", value_name = "ID=NUMBER[,…]", value_delimiter = ',',
          value_parser = parse::clock)]
    pub(crate) clock: Vec<(Id, Number)>,

    /// How long each stays inside [default: 1]
    #[arg(long, help_heading = "Workload", value_name = "TIME", allow_negative_numbers = true,
          value_parser = parse::time)]
    pub(crate) cs: Option<Ticks>,

    /// The chance that a request is taken back, after up to 4 δ [default: 0]
    #[arg(long, help_heading = "Workload", value_name = "P", allow_negative_numbers = true,
          value_parser = parse::probability)]
    pub(crate) withdraw: Option<f64>,

    /// The chance that a message is lost
    #[arg(long, help_heading = "Network", value_name = "P", allow_negative_numbers = true, default_value_t = 0.0,
          value_parser = parse::probability)]
    pub(crate) loss: f64,

    /// The chance that a message arrives twice
    #[arg(long, help_heading = "Network", value_name = "P", allow_negative_numbers = true, default_value_t = 0.0,
          value_parser = parse::probability)]
    pub(crate) duplicate: f64,

    /// Processes crash at times, or are dead from the beginning
    #[arg(long, help_heading = "Faults and time", value_name = "ID[@TIME][,…]", value_delimiter = ',',
          value_parser = parse::crash)]
    pub(crate) crash: Vec<Fault>,

    /// Crashed processes begin another life
    #[arg(long, help_heading = "Faults and time", value_name = "ID@TIME[,…]", value_delimiter = ',',
          value_parser = parse::restart)]
    pub(crate) restart: Vec<Fault>,

    /// Processes do nothing for a while, and then go on as if nothing had been
    #[arg(long, help_heading = "Faults and time", value_name = "ID@FROM..TO[,…]", value_delimiter = ',',
          value_parser = parse::pause)]
    pub(crate) pause: Vec<Fault>,

    /// The network is cut for a while, as in 1,2/3@10..20; all who are not named are one more part. What is sent across
    /// the cut meanwhile is held back, and arrives after it; nothing is lost. Repeat for more
    #[arg(long, help_heading = "Network", value_name = "PARTS@FROM..TO", value_parser = parse::partition)]
    pub(crate) partition: Vec<Partition>,

    /// Clocks are off by up to this many parts per million
    #[arg(long, help_heading = "Faults and time", value_name = "PPM", default_value_t = 0,
          allow_negative_numbers = true, value_parser = parse::drift)]
    pub(crate) drift: u32,

    /// What the processes take for the longest delay; by default the truth, or 8 means where there is none
    #[arg(long, help_heading = "Faults and time", value_name = "TIME", allow_negative_numbers = true,
          value_parser = parse::time)]
    pub(crate) bound: Option<Ticks>,

    /// Whether a perfect failure detector tells everybody of crashes; by default if the algorithm needs it
    #[arg(long, help_heading = "Faults and time", value_name = "none|perfect", value_parser = parse::detector)]
    pub(crate) detector: Option<bool>,

    /// The voting sets, for algorithms that have them: grid, plane or best
    #[arg(long, help_heading = "Algorithm", value_name = "KIND", value_parser = ["grid", "plane", "best"],
          hide_possible_values = true)]
    pub(crate) sets: Option<String>,

    /// An option of the algorithm; repeat for more
    #[arg(long, help_heading = "Algorithm", value_name = "KEY=VALUE", value_parser = parse::option)]
    pub(crate) option: Vec<(String, String)>,

    /// Who starts an election, at the beginning or at a time; by default the smallest that lives
    #[arg(long, help_heading = "Algorithm", value_name = "ID[@TIME][,…]", value_delimiter = ',',
          value_parser = parse::starter)]
    pub(crate) starter: Vec<(Id, Ticks)>,

    /// Whether to show what was said: auto (when the run is short), always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = parse::conversation)]
    pub(crate) conversation: Conversation,

    /// Stop at this time at the latest
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse::time)]
    pub(crate) until: Option<Ticks>,

    /// Write every record as a line of JSON into a file; times are in millionths of δ
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// All algorithms side by side: published costs beside measured ones.
///
/// One row for each published figure, with the documents that state it; a star where the measurement differs.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Only these
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: Vec<String>,

    /// The sizes of the group to compare at
    #[arg(short, value_name = "N,…", value_delimiter = ',', default_value = "3,5,9,25",
          allow_negative_numbers = true, value_parser = parse::compared_size)]
    pub(crate) n: Vec<u32>,
}

/// The catalogue: assumptions, promises, costs, options, papers.
#[derive(Args, Debug)]
pub(crate) struct Algorithms {
    /// Only these
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: Vec<String>,

    /// One line each
    #[arg(long)]
    pub(crate) short: bool,
}

/// Who asks whom in algorithms that vote, and whether the published conditions hold.
#[derive(Args, Debug)]
pub(crate) struct VotingSetsArguments {
    /// How many processes
    #[arg(short, value_name = "N", allow_negative_numbers = true, value_parser = parse::group_size)]
    pub(crate) n: u32,

    /// Row and column of a grid, a finite projective plane, or the smallest we can construct
    #[arg(long, value_name = "grid|plane|best", default_value = "grid", value_parser = parse::sets)]
    pub(crate) kind: SetsKind,
}

/// Majority voting's chance of letting two in when coordinators forget their votes.
///
/// The published formula, the exact probability that a second process can collect enough votes, and a simulation with
/// the algorithm itself, side by side.
#[derive(Args, Debug)]
pub(crate) struct Violation {
    /// How many coordinators there are
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::members)]
    pub(crate) coordinators: u32,

    /// How many votes let one in: more than half
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = parse::members)]
    pub(crate) votes: u32,

    /// How long a coordinator runs before it crashes, as in 1h
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    pub(crate) uptime: u64,

    /// How long the time is in which a crash makes it forget its vote, as in 30s
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    pub(crate) reset: u64,

    /// How often to try in the simulation
    #[arg(long, value_name = "K", default_value_t = 100_000, allow_negative_numbers = true,
          value_parser = parse::count)]
    pub(crate) trials: u64,

    /// Determines the simulation
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true, value_parser = parse::seed)]
    pub(crate) seed: u64,
}

/// The arguments of this process; or, when there is nothing more to do, the exit code.
pub(crate) fn parse() -> Result<Arguments, ExitCode> {
    Arguments::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Nobody is left to tell if this fails.
            let _ = error.print();
            ExitCode::from(u8::from(error.use_stderr()) * 2)
        }
        _ => {
            output::tell(&one_line(&error.render().to_string()));
            ExitCode::from(2)
        }
    })
}

/// An error of the parser as one line: without the reminder of the usage, which `--help` shows, and without guesses at
/// what else an argument could be.
fn one_line(rendered: &str) -> String {
    let told = rendered
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.trim_start().starts_with("tip: to pass"));
    let words: Vec<&str> = told.flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").replace(" tip: ", "; ")
}
