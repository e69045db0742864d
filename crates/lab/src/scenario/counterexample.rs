//! A run that the explorer found, as a scenario.

use quorate_core::catalog::Entry;

use super::{Expectation, Header, Scenario, ScenarioError};
use crate::conversation::conversation;
use crate::explore::Exploration;
use crate::explore::counterexample::Counterexample;
use crate::explore::goal::Goal;
use crate::stage::wish::Times;

impl Scenario {
    /// A counterexample to a goal, found by exploring an algorithm. Played again, it is the same run.
    pub fn of_counterexample(
        exploration: &Exploration,
        entry: &Entry,
        goal: Goal,
        counterexample: &Counterexample,
    ) -> Result<Scenario, ScenarioError> {
        let title = format!("A counterexample to {goal}: {} with {} processes", entry.name, exploration.n);
        let description = vec![title, format!("At the end: {}.", counterexample.why)];
        let header = Header {
            order: exploration.order,
            timing: exploration.timing,
            delay_bound: (exploration.delay_bound != 1).then_some(exploration.delay_bound),
            drift: (exploration.drift > 0).then_some(exploration.drift),
            detector: exploration.detector,
            recovery: exploration.recovery,
            stamps: exploration.unstamped_pokes.then_some(false),
            sealed: exploration.sealed.then_some(true),
            options: exploration.options.clone(),
            absent: exploration.absent.clone(),
            entries_each: (exploration.times == Times::Endless).then_some(Times::Endless),
            restarts: (exploration.bounds.restarts > 0).then_some(exploration.bounds.restarts),
            // Whether somebody waits for ever may hang on a bound, and a scenario has none.
            expect: goal
                .property()
                .filter(|property| property.is_safety())
                .map(Expectation::Violated)
                .into_iter()
                .collect(),
            ..Header::new(entry.name, exploration.n)
        };
        let mut scenario = Scenario::from_steps(description, header, &counterexample.steps)?;
        if let Some(from) = counterexample.repeats_from
            && let Some(written) = scenario.script.get_mut(from)
        {
            written.remarks.push("From here on, the run repeats forever.".into());
        }
        scenario.conversation = Some(conversation(&counterexample.records).trim_end().to_string());
        Ok(scenario)
    }
}
