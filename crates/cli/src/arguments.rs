//! The arguments of all commands. Help texts, completions and man pages are generated from them.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser};
use quorate_core::catalog::ENTRIES;
use quorate_core::mutex::voting_set::SetsKind;
use quorate_lab::command::parse::ComparedSizes;
use quorate_lab::command::program::{EXIT_CODES, WIDTH};
use quorate_lab::command::{check, parse, sim, view};
use quorate_lab::exercise::Exercise;

use crate::commands::Command;

/// A lock service, and a laboratory of mutual exclusion and leader election algorithms
///
/// The service grants locks and elects leaders for your processes. Every grant carries a fence: a growing number with
/// which a resource recognises late writes of a former holder. The service runs as one node or as a cluster of nodes.
///
/// The laboratory runs the classic algorithms under faults, checks every possible run of them, and compares their costs
/// with the literature.
#[derive(Parser, Debug)]
#[command(name = "quorate", version, max_term_width = WIDTH, after_help = format!("\
`quorate help COMMAND` describes a command, with examples.

{EXIT_CODES}
`quorate lock` and `quorate elect` exit with the exit code of the command that they run, or with one of their own."))]
#[command(override_usage = "quorate COMMAND [OPTIONS]")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

fn algorithm_names() -> PossibleValuesParser {
    PossibleValuesParser::new(ENTRIES.iter().map(|entry| entry.name))
}

// Undocumented, so that its help is that of what it contains.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  A short run, with every message:
    quorate sim ricart-agrawala -n 3 --entries-each 1 --conversation always
  Crash the leader, and let p1 start an election afterwards:
    quorate sim bully -n 4 --crash 4@10 --starter 1@12
  Lose one message in ten, with and without recovery:
    quorate sim central --loss-rate 0.1
    quorate sim central --loss-rate 0.1 --recovery
  Search 1000 seeds for a violation of mutual exclusion:
    quorate sim lamport --order any --delay exponential:1 --property ME1 --runs 1000")]
pub(crate) struct Sim {
    /// Name of the algorithm; `quorate algorithms --short` lists them
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: String,

    #[command(flatten)]
    pub(crate) run: sim::Arguments,
}

// Undocumented, as above.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Decide all properties of an algorithm:
    quorate check ricart-agrawala -n 3
  Find Maekawa's deadlock, and step through it in a browser:
    quorate check maekawa -n 3 --property deadlock-freedom --diagram deadlock.html
  What if one process crashes, with and without recovery?
    quorate check central --crashes 1
    quorate check central --crashes 1 --recovery
  Keep a counterexample, and run it again later:
    quorate check lamport --order any --scenario found.txt
    quorate replay found.txt")]
pub(crate) struct Check {
    /// Name of the algorithm; `quorate algorithms --short` lists them
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: String,

    #[command(flatten)]
    pub(crate) run: check::Arguments,
}

/// Check what the literature claims about the algorithms.
///
/// Each claim gets a verdict: it holds, holds under a condition, or is refuted; or it is a definition, or about
/// something that is not implemented yet. Claims about all runs are decided by exploring all runs of the group sizes
/// that the evidence names; claims about costs by simulation; claims about numbers by calculation. Each verdict names
/// the commands that reproduce it. The exit code is 0 even if a claim is refuted.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  All claims, with their verdicts:
    quorate claims
  One claim, with its evidence and the run that decided it:
    quorate claims M2
  All claims as one page for a browser:
    quorate claims --html claims.html")]
pub(crate) struct Claims {
    /// Ids of claims to print in full; T3 includes T3.A, T3.B and T3.E
    #[arg(value_parser = parse::claim(), hide_possible_values = true)]
    pub(crate) id: Vec<String>,

    /// Write the claims as a Markdown page, and its diagrams into the directory of the same name without .md
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write the claims as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Compare the published and the measured costs of all algorithms.
///
/// Each row is a published figure with its sources, and the measured value for each group size. A star marks a
/// measurement that differs from the published figure.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  All algorithms, for the default group sizes:
    quorate compare
  Two algorithms, with figures over about ten sizes from 3 to 101:
    quorate compare central ricart-agrawala -n 3..101 --plot figures
  Everything as one page for a browser:
    quorate compare --html compare.html")]
pub(crate) struct Compare {
    /// Algorithms to compare [default: all]
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: Vec<String>,

    /// Group sizes; a range such as 3..101 stands for about ten sizes, 3..101:7 for every seventh size
    #[arg(short, value_name = "N,…", value_delimiter = ',', default_value = "3,5,9,25",
          allow_negative_numbers = true, value_parser = parse::compared_sizes)]
    n: Vec<ComparedSizes>,

    /// Plot each measure over n, as .svg files in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) plot: Option<PathBuf>,

    /// Write all tables and figures as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

impl Compare {
    /// The group sizes in increasing order, without duplicates.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.n.iter().flat_map(|sizes| sizes.0.iter().copied()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

/// Describe the algorithms: assumptions, promises, published costs, options, papers.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  A list of all algorithms:
    quorate algorithms --short
  Everything about one:
    quorate algorithms maekawa")]
pub(crate) struct Algorithms {
    /// Algorithms to describe [default: all]
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: Vec<String>,

    /// Print one line for each algorithm
    #[arg(long)]
    pub(crate) short: bool,
}

/// Print the voting sets of all processes, and check the published conditions.
///
/// In algorithms that vote, a process needs the votes of all members of its voting set before it enters.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Maekawa's grid for nine processes:
    quorate voting-sets -n 9
  A projective plane, the smallest possible voting sets:
    quorate voting-sets -n 7 --kind plane")]
pub(crate) struct VotingSetsArguments {
    /// Number of processes
    #[arg(short, value_name = "N", allow_negative_numbers = true, value_parser = parse::group_size)]
    pub(crate) n: u32,

    /// Construction: row and column of a grid, a finite projective plane, or the smallest sets that are known here
    #[arg(long, value_name = "grid|plane|best", default_value = "grid", value_parser = parse::sets(),
          hide_possible_values = true)]
    pub(crate) kind: SetsKind,
}

/// Check the traces of real nodes for the same properties as the laboratory's runs.
///
/// Pass the traces of all nodes of a group, including all incarnations of restarted nodes. The traces are merged by
/// their vector clocks, not by the clocks of the machines: two critical sections overlap unless a chain of messages
/// leads from the exit of one to the entry of the other. The command names missing traces; properties that are not
/// violated are then not decided. The exit code is 10, 11 or 12 as for `sim`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Check the traces of three nodes:
    quorate judge 1.trace 2.trace 3.trace
  Draw what happened:
    quorate diagram 1.trace 2.trace 3.trace --output run.html")]
pub(crate) struct Judge {
    /// Trace files that nodes wrote
    #[arg(required = true)]
    pub(crate) file: Vec<PathBuf>,

    /// A request that still waits at the end violates progress if it has waited longer than this, such as 10s [default:
    /// five times the nodes' tolerance]
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    pub(crate) patience: Option<u64>,
}

/// Draw a trace, as a picture or as a page to step through.
///
/// Pass one trace of the laboratory, or the traces of all nodes of a group, which are merged as `judge` does.
/// Violations are marked. Times of nodes are in seconds. If a run is too long to draw, the diagram shows a part of it
/// and says so.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  Print a trace as text:
    quorate diagram run.jsonl
  Step through the traces of three nodes in a browser:
    quorate diagram 1.trace 2.trace 3.trace --output run.html
  Draw the last part of a long run:
    quorate diagram run.jsonl --output end.svg --from 900")]
pub(crate) struct Diagram {
    /// Trace files that `sim --trace` or nodes wrote
    #[arg(required = true)]
    pub(crate) file: Vec<PathBuf>,

    /// Output file: .svg, .html (step through it in a browser) or .txt, or - for text on standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,

    /// Resource to draw, if the traces are about several
    #[arg(long, value_name = "NAME")]
    pub(crate) resource: Option<String>,

    #[command(flatten)]
    pub(crate) view: view::ViewArguments,
}

/// Compute how likely majority voting violates mutual exclusion when coordinators crash and lose their votes.
///
/// Prints three probabilities: the published formula, the exact probability that a second process collects enough
/// votes, and a simulation with the algorithm itself.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  The example of the literature:
    quorate violation --coordinators 16 --votes 9 --uptime 1h --reset 30s")]
pub(crate) struct Violation {
    /// Number of coordinators
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::members)]
    pub(crate) coordinators: u32,

    /// Number of votes that a process needs to enter: more than half
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = parse::members)]
    pub(crate) votes: u32,

    /// Mean time between two crashes of a coordinator, such as 1h
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    pub(crate) uptime: u64,

    /// Length of the interval in which a crash loses a vote, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    pub(crate) reset: u64,

    /// Number of simulated runs
    #[arg(long, value_name = "K", default_value_t = 100_000, allow_negative_numbers = true,
          value_parser = parse::count)]
    pub(crate) trials: u64,

    /// Seed of the simulation
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true, value_parser = parse::seed)]
    pub(crate) seed: u64,
}

/// Exercises: find the bug in an algorithm.
///
/// Without a number, lists the exercises. With a number, explains an algorithm and shows its code, which has one bug,
/// and asks for a run that violates a property.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  List the exercises:
    quorate exercise
  Try one, get a hint, and look at the answer:
    quorate exercise 2
    quorate exercise 2 --hint
    quorate exercise 2 --answer")]
pub(crate) struct ExerciseArguments {
    /// Number of the exercise
    #[arg(value_name = "N", allow_negative_numbers = true, value_parser = parse::exercise(),
          hide_possible_values = true)]
    pub(crate) exercise: Option<&'static Exercise>,

    /// Print a hint
    #[arg(long)]
    pub(crate) hint: bool,

    /// Print a shortest counterexample, and explain the bug
    #[arg(long)]
    pub(crate) answer: bool,
}
