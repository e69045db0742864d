//! Judges what happened: by the laboratory's properties, by the search for an order that explains every answer, and by
//! what the resources accepted.

use std::collections::BTreeMap;
use std::path::Path;

use quorate_core::catalog::Property;
use quorate_core::clock::{Epoch, Fence, Number};
use quorate_core::id::Id;
use quorate_core::trace::{Record, What as Happened};
use quorate_lab::linearize::lock::{Call, Lock, Mode, Who, end};
use quorate_lab::linearize::{Operation, Verdict, check};
use quorate_lab::property::Monitor;

use crate::history::{Answer, Line, What};
use crate::resource::Resource;

/// How long to look for an order before giving up, if nobody says how long.
pub(crate) const MOST_STEPS: usize = 30_000_000;

/// One thing that somebody asked for, and all that came of it.
#[derive(Clone, Debug)]
struct Asked {
    who: String,
    lock: String,
    what: What,
    invoked: u64,
    answered: Option<(u64, Answer)>,
    /// When it was first and last sure of what it was granted.
    sure: Option<(u64, u64)>,
    /// When its fence was refused.
    refused: Vec<u64>,
}

/// A history, ready to be judged.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    asked: BTreeMap<u64, Asked>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// What is wrong, in words.
    pub(crate) complaints: Vec<String>,
    pub(crate) grants: usize,
    pub(crate) looks: usize,
    pub(crate) unknown: usize,
    pub(crate) refused: usize,
}

impl Judge {
    /// Reads a history. A line that is cut off was never finished.
    pub(crate) fn read<'l>(lines: impl IntoIterator<Item = &'l str>) -> Judge {
        let mut judge = Judge::default();
        for line in lines.into_iter().filter_map(|line| serde_json::from_str(line).ok()) {
            judge.hear(line);
        }
        judge
    }

    fn hear(&mut self, line: Line) {
        match line {
            Line::Invoked { operation, at, who, lock, what } => {
                let (answered, sure, refused) = (None, None, Vec::new());
                self.asked.insert(operation, Asked { who, lock, what, invoked: at, answered, sure, refused });
            }
            Line::Answered { operation, at, answer } => {
                self.asked.get_mut(&operation).expect("what is answered was asked").answered = Some((at, answer));
            }
            Line::Sure { operation, at } => {
                let asked = self.asked.get_mut(&operation).expect("what is held was asked for");
                asked.sure = Some((asked.sure.map_or(at, |(first, _)| first), at));
            }
            Line::Wrote { operation, at, is_accepted } => {
                let asked = self.asked.get_mut(&operation).expect("what is held was asked for");
                if !is_accepted {
                    asked.refused.push(at);
                }
            }
        }
    }

    /// Judges everything, and looks for so many steps for an order. The resources are in a directory.
    pub(crate) fn judge(&self, resources: &Path, most_steps: usize) -> Judgement {
        let mut judgement = Judgement::default();
        for asked in self.asked.values() {
            match &asked.answered {
                Some((_, Answer::Granted { .. })) => judgement.grants += 1,
                Some((_, Answer::Holders(_))) => judgement.looks += 1,
                Some((_, Answer::Busy | Answer::Nothing | Answer::Done)) => {}
                None => judgement.unknown += 1,
            }
            judgement.refused += asked.refused.len();
            if let (Some((_, last)), Some(refused)) = (asked.sure, asked.refused.first())
                && *refused < last
            {
                let Asked { who, lock, .. } = asked;
                judgement.complaints.push(format!("{lock}: {who} was sure of it when its fence was refused"));
            }
        }
        let locks: std::collections::BTreeSet<_> = self.asked.values().map(|asked| asked.lock.as_str()).collect();
        for lock in locks {
            let asked: Vec<_> = self.asked.values().filter(|asked| asked.lock == lock).collect();
            judgement.complaints.extend(watch(lock, &asked));
            judgement.complaints.extend(self.explain(lock, &asked, most_steps));
            judgement.complaints.extend(Resource::of(resources, lock).complaint());
        }
        judgement
    }

    /// Whether some order explains every answer about a lock.
    fn explain(&self, lock: &str, asked: &[&Asked], most_steps: usize) -> Option<String> {
        let mut names = Names::default();
        let mut history: Vec<_> = asked.iter().filter_map(|asked| operation(asked, &mut names)).collect();
        for (name, who) in names.0.clone() {
            let of_session = || self.asked.values().filter(|asked| asked.who == name);
            let last_sure = of_session().filter_map(|asked| asked.sure).map(|(_, last)| last).max();
            let last_sure = last_sure.or_else(|| of_session().map(|asked| asked.invoked).min());
            history.push(end(who, last_sure.unwrap_or(0)));
        }
        match check(&Lock, &history, most_steps) {
            Verdict::Linearizable => None,
            Verdict::Violated { why } => {
                let names: Vec<_> = names.0.iter().map(|(name, who)| format!("{who} is {name}")).collect();
                let named = names.join(", ");
                Some(format!("{lock}: no order explains all answers: {why}(where {named})"))
            }
            Verdict::Undecided { steps } => Some(format!("{lock}: no order was found in {steps} steps: not decided")),
        }
    }
}

/// Numbers for sessions, from 1.
#[derive(Default)]
struct Names<'n>(BTreeMap<&'n str, Who>);

impl<'n> Names<'n> {
    fn number(&mut self, name: &'n str) -> Who {
        let next = self.0.len() as Who + 1;
        *self.0.entry(name).or_insert(next)
    }
}

fn operation<'n>(asked: &'n Asked, names: &mut Names<'n>) -> Option<Operation<Call>> {
    let mut answered = asked.answered.as_ref().map(|(at, _)| *at);
    let call = match (asked.what, asked.answered.as_ref().map(|(_, answer)| answer)) {
        (_, Some(Answer::Nothing)) | (What::Look, None) => return None,
        (_, Some(Answer::Holders(holders))) => {
            Call::Look { holders: holders.iter().map(|(name, fence)| (names.number(name), *fence)).collect() }
        }
        (_, Some(Answer::Busy)) => Call::Busy { who: names.number(&asked.who) },
        (What::Release, _) => Call::Release { who: names.number(&asked.who) },
        (What::Acquire { is_shared }, answer) => {
            let mode = if is_shared { Mode::Shared } else { Mode::Exclusive };
            let fence = match answer {
                Some(Answer::Granted { fence }) => Some(*fence),
                _ => {
                    answered = None;
                    None
                }
            };
            Call::Acquire { who: names.number(&asked.who), mode, fence }
        }
        (What::Look, Some(_)) => return None,
    };
    Some(Operation { call, invoked: asked.invoked, answered })
}

/// Lets the laboratory's properties watch who was surely inside, where nobody shares.
fn watch(lock: &str, asked: &[&Asked]) -> Vec<String> {
    if asked.iter().any(|asked| asked.what == What::Acquire { is_shared: true }) {
        return Vec::new();
    }
    let mut names = Names::default();
    let mut records = Vec::new();
    for asked in asked {
        let Some((_, Answer::Granted { fence })) = &asked.answered else { continue };
        let Some((first, last)) = asked.sure else { continue };
        let process = Id::new(names.number(&asked.who));
        let fence = Fence::counted(Epoch::FIRST, Number::try_from(*fence).expect("fences are below 2^53"));
        records.push(Record { at: first, process, what: Happened::Entered { fence } });
        // Nobody leaves before it has entered.
        records.push(Record { at: last.max(first + 1), process, what: Happened::Leaving });
    }
    // Who leaves at the moment when another one enters is not inside with it.
    records.sort_by_key(|record| (record.at, record.what != Happened::Leaving));
    let mut complaints = Vec::new();
    for property in [Property::MutualExclusion, Property::Fencing] {
        let mut monitor = Monitor::new(property, names.0.len() as u32);
        if let Some(violation) = records.iter().find_map(|record| monitor.observe(record)) {
            let named: Vec<_> = names.0.iter().map(|(name, who)| (format!("p{who}"), name)).collect();
            let is_meant = |number: &String| violation.why.split(' ').any(|word| word == number);
            let meant: Vec<_> = named
                .iter()
                .filter(|(number, _)| is_meant(number))
                .map(|(number, name)| format!("{number} is {name}"))
                .collect();
            complaints.push(format!("{lock}: {property:?} is violated: {} ({})", violation.why, meant.join(", ")));
        }
    }
    complaints
}
