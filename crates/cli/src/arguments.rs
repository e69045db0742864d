//! What the command takes. Help texts, completions and man pages are made from this.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use quorate_core::catalog::ENTRIES;
use quorate_core::mutex::voting_set::SetsKind;
use quorate_lab::command::output::Form;
use quorate_lab::command::parse::ComparedSizes;
use quorate_lab::command::program::{EXIT_CODES, WIDTH};
use quorate_lab::command::{check, parse, replay, scenarios, sim, view};
use quorate_lab::exercise::Exercise;

use crate::command::lab::Lab;
use crate::command::service::backup::{Backup, Restore};
use crate::command::service::bench::Bench;
use crate::command::service::demo::Demo;
use crate::command::service::dev::Dev;
use crate::command::service::follow::{Observe, Watch};
use crate::command::service::keys::Keys;
use crate::command::service::lock::{Elect, Lock};
use crate::command::service::look::{Elections, Locks, Release, Status};
use crate::command::service::member::Member;
use crate::command::service::serve::Serve;

/// Distributed mutual exclusion and leader election, from the textbook to production.
///
/// The classic algorithms, each as one state machine: simulated under faults, measured, and compared with what the
/// literature says of it. Times are in δ, the unit of message delays; processes are numbered 1 to n.
#[derive(Parser, Debug)]
#[command(name = "quorate", version, max_term_width = WIDTH, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run an algorithm once, by a seed: the conversation, costs and verdicts
    Sim(Box<Sim>),
    /// Explore every run of an algorithm: a proof for this n, or the shortest run that breaks it
    Check(Box<Check>),
    /// What the literature says of the algorithms, judged by running them
    Claims(Claims),
    /// Run a written conversation again, step by step
    Replay(replay::Arguments),
    /// The written conversations that come with it
    Scenarios(scenarios::Arguments),
    /// All algorithms side by side: published costs beside measured ones
    Compare(Compare),
    /// Judge the traces of real nodes by the same properties as the laboratory's runs
    Judge(Judge),
    /// Draw a trace: as a picture, or as a page to step through
    Diagram(Diagram),
    /// The catalogue: assumptions, promises, costs, options, papers
    Algorithms(Algorithms),
    /// Who asks whom in algorithms that vote, and whether the published conditions hold
    VotingSets(VotingSetsArguments),
    /// Majority voting's chance of letting two in when coordinators forget their votes
    Violation(Violation),
    /// Algorithms that are wrong in one place: find the run that shows it
    Exercise(ExerciseArguments),
    /// The laboratory in a browser: run, look, interfere, explore
    Lab(Lab),
    /// Serve locks and elections: one durable node by default
    Serve(Box<Serve>),
    /// Make certificates for nodes, and tokens for those who use them
    Keys(Keys),
    /// Hold a lock while a command runs
    Lock(Box<Lock>),
    /// Lead while a command runs
    Elect(Box<Elect>),
    /// Show locks: who holds them, since when, who waits
    Locks(Locks),
    /// Show elections: who leads, what it says, how many wait
    Elections(Elections),
    /// Take a lock or leadership away from whoever has it
    Release(Release),
    /// Show how a node is, and who leads
    Status(Status),
    /// Follow an election: who leads, what it says, and when nobody does
    Observe(Observe),
    /// Follow what happens to sessions, locks and elections
    Watch(Watch),
    /// Show or change who belongs to the cluster
    Member(Member),
    /// Write all that the service knows into a file
    Backup(Backup),
    /// Begin a cluster from a backup
    Restore(Restore),
    /// A local cluster of real processes: kill, pause and restart nodes by a key
    Dev(Dev),
    /// Show with real processes what something is for
    Demo(Demo),
    /// Measure the service: cycles of acquire and release
    Bench(Bench),
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

// Undocumented, so that its help is that of what it contains.
#[derive(Args, Debug)]
pub(crate) struct Sim {
    /// The algorithm; `quorate algorithms` describes them
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: String,

    #[command(flatten)]
    pub(crate) run: sim::Arguments,
}

// Undocumented, as above.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The algorithm; `quorate algorithms` describes them
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: String,

    #[command(flatten)]
    pub(crate) run: check::Arguments,
}

/// What the literature says of the algorithms, judged by running them.
///
/// Each claim holds, holds only under a condition, or is refuted; or it is a definition, or about something that is not
/// there yet. Claims about all runs are judged by exploring every run, for the n that the evidence names; claims about
/// costs by simulation, claims about numbers by arithmetic. A refuted claim is no failure of the command.
#[derive(Args, Debug)]
pub(crate) struct Claims {
    /// Only these, in full: T3 also means T3.A and T3.E
    pub(crate) id: Vec<String>,

    /// Write a page about them into this file, and its drawings into the folder of that name beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write a page about them into this file, which has its drawings inside and needs nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// All algorithms side by side: published costs beside measured ones.
///
/// One row for each published figure, with the documents that state it; a star where the measurement differs.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Only these
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: Vec<String>,

    /// The sizes of the group to compare at; of a range as in 3..101 about ten, of 3..101:7 every seventh
    #[arg(short, value_name = "N,…", value_delimiter = ',', default_value = "3,5,9,25",
          allow_negative_numbers = true, value_parser = parse::compared_sizes)]
    n: Vec<ComparedSizes>,

    /// Draw them against n, one figure for each measure: .svg files in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) plot: Option<PathBuf>,

    /// Write a page with all tables and figures into this file, which needs nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

impl Compare {
    /// The sizes of the group, from the smallest to the largest, each once.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.n.iter().flat_map(|sizes| sizes.0.iter().copied()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
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

/// Judge the traces of real nodes by the same properties as the laboratory's runs.
///
/// Give the traces of all nodes of a group, with all their lives. They are put together by their vector clocks: two
/// turns are taken to have overlapped unless a chain of messages leads from the end of one to the beginning of the
/// other, whatever the machines' clocks say. What is missing is named; what was not broken is then not decided.
#[derive(Args, Debug)]
pub(crate) struct Judge {
    /// What nodes have written with --trace
    #[arg(required = true)]
    pub(crate) file: Vec<PathBuf>,

    /// How long somebody has to have waited at the end before that is held against the algorithm, as in 10s; by default
    /// five times as long as the nodes tolerate silence
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    pub(crate) patience: Option<u64>,
}

/// Draw a trace: as a picture, or as a page to step through.
///
/// Give one trace of the laboratory, or the traces of all nodes of a group, which are put together as `judge` does,
/// with what is broken marked; times of nodes are in seconds. A long run is shown in part, and the picture says so.
#[derive(Args, Debug)]
pub(crate) struct Diagram {
    /// What `sim --trace` or nodes have written
    #[arg(required = true)]
    pub(crate) file: Vec<PathBuf>,

    /// Where to draw: .svg, .html (a page to step through) or .txt, or - for text on standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,

    /// Of nodes that were asked for several resources, which to draw
    #[arg(long, value_name = "NAME")]
    pub(crate) resource: Option<String>,

    #[command(flatten)]
    pub(crate) view: view::ViewArguments,
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

/// Algorithms that are wrong in one place: find the run that shows it.
///
/// Without a number, lists the exercises. With one, shows how the algorithm works and its code, and asks for a run that
/// breaks it.
#[derive(Args, Debug)]
pub(crate) struct ExerciseArguments {
    /// The number of the exercise
    #[arg(value_name = "N", allow_negative_numbers = true, value_parser = parse::exercise)]
    pub(crate) exercise: Option<&'static Exercise>,

    /// Say where to look
    #[arg(long)]
    pub(crate) hint: bool,

    /// Show the shortest run that breaks it, and what is wrong
    #[arg(long)]
    pub(crate) answer: bool,
}
