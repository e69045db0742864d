//! The arguments of diagrams, shared by all commands that draw.

use clap::Args;
use quorate_core::process::Ticks;

use super::parse;
use crate::diagram::{Clocks, Part, Unit, View};

/// How to draw.
#[derive(Args, Clone, Debug, Default)]
pub struct ViewArguments {
    /// Draw time downwards instead of to the right
    #[arg(long, help_heading = "Diagram")]
    pub down: bool,

    /// Show the value of a logical clock at each step
    #[arg(long, help_heading = "Diagram", value_name = "lamport|vector", value_parser = parse::clocks(),
          hide_possible_values = true)]
    pub clocks: Option<Clocks>,

    /// Shorten long intervals without events; the diagram says how long they are
    #[arg(long, help_heading = "Diagram")]
    pub fold: bool,

    /// Draw only from this time on
    #[arg(long, help_heading = "Diagram", value_name = "TIME", allow_negative_numbers = true,
          value_parser = parse::time)]
    pub from: Option<Ticks>,

    /// Draw only up to this time
    #[arg(long, help_heading = "Diagram", value_name = "TIME", allow_negative_numbers = true,
          value_parser = parse::time)]
    pub to: Option<Ticks>,

    /// Draw only these records, counted from 1
    #[arg(long, help_heading = "Diagram", value_name = "FIRST..LAST", value_parser = parse::records,
          conflicts_with_all = ["from", "to"])]
    pub records: Option<(usize, usize)>,
}

impl ViewArguments {
    /// What they ask for.
    pub fn view(&self) -> View {
        let part = match (self.records, self.from, self.to) {
            (Some((first, last)), ..) => Part::Records(first - 1..last),
            (None, None, None) => Part::Usual,
            (None, from, to) => Part::Times { from, to },
        };
        View { down: self.down, clocks: self.clocks, fold: self.fold, part, ..View::default() }
    }
}

/// How to draw a run whose records have the numbers of its steps for times.
#[derive(Args, Clone, Debug, Default)]
pub struct StepViewArguments {
    #[command(flatten)]
    arguments: ViewArguments,
}

impl StepViewArguments {
    /// What they ask for.
    pub fn view(&self) -> View {
        View { unit: Unit::Steps, ..self.arguments.view() }
    }
}
