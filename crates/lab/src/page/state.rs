//! A process before and after a step: the run is made again, and the process looked at where the step is.

use std::cell::Cell;
use std::fmt::Debug;

use quorate_core::id::Id;
use quorate_core::trace::{Record, What};
use serde_json::{Value, json};

use super::query::Words;
use super::{Limits, Refusal};
use crate::conversation::sentence;
use crate::experiment::Spectators;
use crate::subject::Subject;

/// The process of a record, before and after the step that the record begins.
pub(super) fn answer(words: &Words, limits: &Limits) -> Result<Value, Refusal> {
    let named = words.algorithm()?;
    let experiment = words.run(named.entry(), limits)?.experiment();
    let number: usize = words.number("record")?;
    let process = Id::try_from(words.number::<u32>("process")?)
        .map_err(|_| Refusal::Question("there is no process 0: processes are numbered 1 to n".into()))?;
    let seen = Cell::new(0);
    let mut found = None;
    let mut eyes = Eyes { number, process, before: None, last: None, is_sure: false };
    {
        let mut records = |record: &Record| {
            if seen.get() == number {
                found = Some(record.clone());
            }
            seen.set(seen.get() + 1);
        };
        let mut states = |id: Id, state: &dyn Debug| eyes.see(id, seen.get(), state);
        let spectators = Spectators {
            records: Some(&mut records),
            states: Some(&mut states),
            enough: Some(limits.events),
            ..Spectators::default()
        };
        named.simulate(&experiment, spectators).map_err(|why| Refusal::Question(why.to_string()))?;
    }
    let record = found
        .filter(|record| record.process == process)
        .ok_or_else(|| Refusal::Question(format!("record {number} of this run does not belong to {process}")))?;
    let (before, after) = eyes.last.unwrap_or_default();
    let (before, after) = match record.what {
        What::Crashed | What::Stopped => (after, String::new()),
        // Before, there was nothing.
        What::Restarted { .. } => (String::new(), after),
        // What befalls a process is no step of it.
        What::Paused | What::Resumed | What::Lost { .. } | What::Partitioned { .. } | What::Healed => {
            (after.clone(), after)
        }
        _ => (before, after),
    };
    Ok(json!({
        "process": process.to_string(),
        "what": format!("{process} {}", sentence(process, &record.what)),
        "before": before,
        "after": after,
    }))
}

/// Looks at one process, and remembers the step that a record begins, or else the last one before it.
struct Eyes {
    number: usize,
    process: Id,
    /// The step that goes on: after how many records it began, and the process before it.
    before: Option<(usize, String)>,
    last: Option<(String, String)>,
    is_sure: bool,
}

impl Eyes {
    /// Each step is seen twice, before and after it; what causes it is recorded before both.
    fn see(&mut self, id: Id, seen: usize, state: &dyn Debug) {
        if id != self.process || self.is_sure {
            return;
        }
        match self.before.take() {
            None if seen <= self.number + 1 => self.before = Some((seen, format!("{state:#?}"))),
            None => {}
            Some((begun, before)) => {
                self.last = Some((before, format!("{state:#?}")));
                self.is_sure = begun == self.number + 1;
            }
        }
    }
}
