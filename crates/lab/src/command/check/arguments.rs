//! What `check` takes, but for the algorithm.

use std::path::PathBuf;

use clap::Args;
use quorate_core::catalog::{Entry, Family};
use quorate_core::id::Id;
use quorate_core::setting::{Options, Timing};

use crate::command::{parse, view};
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::network::Order;
use crate::recovery::{Beside, is_timeless};
use crate::stage::Bounds;
use crate::stage::wish::Times;

/// Explore every run of an algorithm: a proof for this n, or the shortest run that breaks it.
///
/// Each property gets a verdict: it holds (everything was explored), it is violated (with the shortest run), or it is
/// not decided (a limit was reached). Every verdict is for the bounds that are printed with it. A violation decides the
/// exit code, whether the algorithm promises the property or not; ask for what you want to know with --property.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// How many processes, the coordinator included
    #[arg(short, value_name = "N", default_value_t = 3, allow_negative_numbers = true,
          value_parser = parse::explored_size)]
    pub n: u32,

    /// How often each asks to enter, or calls an election: a number, or `endless` where the states end
    #[arg(long, value_name = "R", default_value = "1", allow_negative_numbers = true, value_parser = parse::times)]
    pub entries_each: Times,

    /// What to decide, separated by commas; by default everything that is asked of the algorithm's family
    #[arg(long, value_name = "PROPERTY[,…]", value_delimiter = ',', value_parser = parse::goal)]
    pub property: Vec<Goal>,

    /// End at the first violation
    #[arg(long)]
    pub stop: bool,

    /// Whether messages between two processes arrive in order; by default if the algorithm needs it
    #[arg(long, help_heading = "Network", value_name = "fifo|any", value_parser = parse::order)]
    pub order: Option<Order>,

    /// Up to this many messages are lost
    #[arg(long, help_heading = "Network", value_name = "L", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub loss: u32,

    /// Up to this many messages arrive twice
    #[arg(long, help_heading = "Network", value_name = "D", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub duplicates: u32,

    /// Up to this many messages are sent by applications, in all, by who has asked or heard of a request
    #[arg(long, help_heading = "Applications", value_name = "P", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub pokes: u32,

    /// These carry no stamp, so that no clock learns of them
    #[arg(long, help_heading = "Applications")]
    pub unstamped_pokes: bool,

    /// Up to this many requests are taken back
    #[arg(long, help_heading = "Applications", value_name = "W", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub withdrawals: u32,

    /// Up to this many times, who believes to be inside writes to the resource, which it reads first; the resource
    /// accepts no fence that is smaller than one before
    #[arg(long, help_heading = "Applications", value_name = "W", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub writes: u32,

    /// Who reads shows its fence, too, so that the resource accepts nothing older from then on (with --writes)
    #[arg(long, help_heading = "Applications", requires = "writes")]
    pub sealed: bool,

    /// The algorithm recovers: everybody is told of every crash when the last message of the dead has arrived or is
    /// void, and of every return; messages travel in order and without loss between two lives
    #[arg(long, help_heading = "Faults and time")]
    pub recovery: bool,

    /// The election beside an algorithm that needs one to recover
    #[arg(long, help_heading = "Faults and time", value_name = "ring|chang-roberts|bully", default_value = "ring",
          requires = "recovery", value_parser = parse::beside)]
    pub election: Beside,

    /// Up to this many times, somebody who lives is suspected to have crashed (with --recovery); by default 0, or 1
    /// with --timing asynchronous
    #[arg(long, help_heading = "Faults and time", value_name = "F", allow_negative_numbers = true,
          requires = "recovery", value_parser = parse::bound)]
    pub suspicions: Option<u32>,

    /// Up to this many processes crash, between any two steps, or between two effects of one
    #[arg(long, help_heading = "Faults and time", value_name = "K", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub crashes: u32,

    /// Up to this many of them come back
    #[arg(long, help_heading = "Faults and time", value_name = "K", default_value_t = 0, allow_negative_numbers = true,
          value_parser = parse::bound)]
    pub restarts: u32,

    /// These have crashed before the run
    #[arg(long, help_heading = "Faults and time", value_name = "ID[,…]", value_delimiter = ',',
          value_parser = parse::id)]
    pub absent: Vec<Id>,

    /// Whether a perfect failure detector tells everybody of crashes; by default if the algorithm needs it
    #[arg(long, help_heading = "Faults and time", value_name = "none|perfect", value_parser = parse::detector)]
    pub detector: Option<bool>,

    /// Whether delays have a known bound; by default if the algorithm needs it
    #[arg(long, help_heading = "Faults and time", value_name = "synchronous|asynchronous",
          value_parser = parse::timing)]
    pub timing: Option<Timing>,

    /// The bound, in ticks, where there is one
    #[arg(long, help_heading = "Faults and time", value_name = "TICKS", default_value_t = 1,
          allow_negative_numbers = true, value_parser = parse::delay_bound)]
    pub delay_bound: u64,

    /// Clocks drift: a timer may run out this many ticks too early or too late, where there is a bound on delays
    #[arg(long, help_heading = "Faults and time", value_name = "TICKS", default_value_t = 0,
          allow_negative_numbers = true, value_parser = parse::drift_ticks)]
    pub drift: u64,

    /// Up to this many timers run out, in all; by default 1 where delays have no bound, else any number
    #[arg(long, help_heading = "Faults and time", value_name = "T", allow_negative_numbers = true,
          value_parser = parse::timeouts)]
    pub timeouts: Option<u32>,

    /// An option of the algorithm; repeat for more
    #[arg(long, help_heading = "Algorithm", value_name = "KEY=VALUE", value_parser = parse::option)]
    pub option: Vec<(String, String)>,

    /// How many threads search; by default one for each core. The answer does not depend on it
    #[arg(long, help_heading = "Search", value_name = "T", allow_negative_numbers = true,
          value_parser = parse::threads)]
    pub threads: Option<usize>,

    /// Give up when there are more states than this
    #[arg(long, help_heading = "Search", value_name = "M", default_value_t = 1_000_000_000,
          allow_negative_numbers = true, value_parser = parse::count)]
    pub max_states: u64,

    /// Give up when they take more memory than this
    #[arg(long, help_heading = "Search", value_name = "GB", default_value_t = 8.0, allow_negative_numbers = true,
          value_parser = parse::gigabytes)]
    pub memory: f64,

    /// Draw the run that breaks the first property that is violated: .svg, .html (a page to step
    /// through) or .txt, or - for text here
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub diagram: Option<PathBuf>,

    /// Write its records: .jsonl, or .shiviz for ShiViz
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Write it as a scenario, which `replay` runs again
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub scenario: Option<PathBuf>,

    /// How to draw.
    #[command(flatten)]
    pub view: view::StepViewArguments,
}

impl Arguments {
    /// What was asked for, but changes nothing, in words.
    pub fn without_effect(&self, entry: &Entry) -> Vec<String> {
        let given = self.option.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let entry = Options::new(entry, given).map_or(*entry, |options| entry.with(&options));
        let assumed = if entry.assumptions.synchronous { Timing::Synchronous } else { Timing::Asynchronous };
        let timed = self.timing.unwrap_or(assumed) == Timing::Synchronous;
        let elects = entry.family == Family::Mutex && entry.recovery.is_some_and(|recovery| recovery.elects);
        let is_timeless = is_timeless(&entry, self.recovery.then_some(self.election));
        let without_effect = [
            (self.unstamped_pokes && self.pokes == 0, "--unstamped-pokes changes nothing without --pokes"),
            (self.sealed && self.writes == 0, "--sealed changes nothing without --writes"),
            (self.delay_bound != 1 && !timed, "--delay-bound changes nothing without --timing synchronous"),
            (
                self.delay_bound != 1 && timed && is_timeless,
                "--delay-bound changes nothing where everybody is told of crashes and nothing waits for a deadline",
            ),
            (self.drift > 0 && (!timed || is_timeless), "--drift changes nothing where nothing waits for a deadline"),
            (self.recovery && self.order.is_some(), "--order changes nothing with --recovery: sessions keep the order"),
            (
                self.recovery && self.detector.is_some(),
                "--detector changes nothing with --recovery: everybody is told of crashes, and --suspicions says how \
                 often wrongly",
            ),
            (
                self.recovery && !elects && self.election != Beside::Ring,
                "--election changes nothing here: no election is beside this algorithm",
            ),
            (
                self.restarts > 0 && self.crashes == 0 && self.absent.is_empty(),
                "--restarts changes nothing without --crashes or --absent",
            ),
        ];
        without_effect.into_iter().filter(|(is, _)| *is).map(|(_, words)| words.to_string()).collect()
    }

    /// Whether no detector can be right: crashes are survived, and it was said that delays have no bound.
    fn doubts_detectors(&self) -> bool {
        self.recovery && self.timing == Some(Timing::Asynchronous)
    }

    /// The exploration that they describe.
    pub fn exploration(&self) -> Exploration {
        Exploration {
            n: self.n,
            times: self.entries_each,
            order: self.order,
            timing: self.timing,
            delay_bound: self.delay_bound,
            drift: self.drift,
            detector: self.detector,
            recovery: self.recovery.then_some(self.election),
            bounds: Bounds {
                pokes: self.pokes,
                crashes: self.crashes,
                restarts: self.restarts,
                losses: self.loss,
                duplicates: self.duplicates,
                withdrawals: self.withdrawals,
                writes: self.writes,
                suspicions: self.suspicions.unwrap_or(u32::from(self.doubts_detectors())),
                timeouts: self.timeouts,
            },
            unstamped_pokes: self.unstamped_pokes,
            sealed: self.sealed,
            absent: self.absent.clone(),
            options: self.option.clone(),
            goals: (!self.property.is_empty()).then(|| self.property.clone()),
            threads: self.threads,
            max_states: self.max_states,
            max_bytes: (self.memory * 1e9) as u64,
            stop: self.stop,
        }
    }
}
