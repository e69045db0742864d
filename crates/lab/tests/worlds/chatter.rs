//! A process that says what it is told to say, so that what becomes of its words is the world's doing.

use quorate_core::catalog::{Assumptions, Entry, Family, OptionSpec, Values};
use quorate_core::election::{Election, Input, Output};
use quorate_core::id::Id;
use quorate_core::process::{self, Effects, Event, Process, Ticks};
use quorate_core::setting::Setting;
use quorate_core::trace::{Record, Sequence, What};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::report::Report;
use quorate_lab::time::DELTA;
use serde::{Deserialize, Serialize};

/// Counts, every `interval`, and tells everybody the number; what it has counted survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chatter {
    me: Id,
    n: u32,
    interval: Ticks,
    /// How far it counts.
    words: u64,
    counted: u64,
}

/// The only timer: it is time for the next number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Next;

/// A number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Word(u64);

impl process::Message for Word {
    fn kind(&self) -> &'static str {
        "word"
    }

    fn number(&self) -> Option<u64> {
        Some(self.0)
    }
}

impl Election for Chatter {
    const ENTRY: Entry = Entry {
        assumptions: Assumptions { crash_free: false, ..Assumptions::RELIABLE },
        options: &[
            OptionSpec {
                key: "interval",
                values: Values::Integer { from: 1, to: 1_000_000_000 },
                default: "1000000",
                meaning: "from one number to the next, in ticks",
            },
            OptionSpec {
                key: "words",
                values: Values::Integer { from: 0, to: 1_000_000 },
                default: "10",
                meaning: "how far it counts",
            },
        ],
        ..Entry::new("chatter", Family::Election)
    };

    fn new(setting: &Setting) -> Self {
        let options = &setting.group.options;
        let (interval, words) = (options.integer("interval"), options.integer("words"));
        Chatter { me: setting.me, n: setting.n(), interval, words, counted: 0 }
    }
}

impl Process for Chatter {
    type Message = Word;
    type Input = Input;
    type Output = Output;
    type Timer = Next;
    type Stable = u64;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { saved, .. } => {
                self.counted = saved.unwrap_or(0);
                self.wait(effects);
            }
            Event::Timeout(Next) => {
                self.counted += 1;
                effects.save(self.counted);
                effects.multicast(self.me.others(self.n), &Word(self.counted));
                self.wait(effects);
            }
            Event::Input(Input::Call) | Event::Notice(_) | Event::Receive { .. } => {}
        }
    }
}

impl Chatter {
    fn wait(&self, effects: &mut Effects<Self>) {
        if self.counted < self.words {
            effects.set_timer(Next, self.interval..=self.interval);
        }
    }
}

/// `n` processes that count to so many, one number every δ.
pub(crate) fn chatter(n: u32, words: u64) -> Experiment {
    every(DELTA, n, words)
}

/// `n` processes that count to so many, one number every so many ticks.
pub(crate) fn every(interval: Ticks, n: u32, words: u64) -> Experiment {
    let options = vec![("interval".to_string(), interval.to_string()), ("words".to_string(), words.to_string())];
    Experiment { n, options, ..Experiment::default() }
}

/// What an experiment with chatter came to, and all that happened.
pub(crate) fn listen(experiment: &Experiment) -> (Report, Vec<Record>) {
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    let spectators = Spectators { records: Some(&mut keep), ..Spectators::default() };
    let report = experiment.run_election::<Chatter>(spectators).expect("the experiment is possible");
    (report, records)
}

/// What an experiment with an algorithm of the catalogue came to, and all that happened.
pub(crate) fn watch(experiment: &Experiment, algorithm: &str) -> (Report, Vec<Record>) {
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    let spectators = Spectators { records: Some(&mut keep), ..Spectators::default() };
    let report = experiment.run(algorithm, spectators).expect("the experiment is possible");
    (report, records)
}

/// One word of one process to another: its number, when it was sent, and when its copies arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) number: u64,
    pub(crate) at: Ticks,
    pub(crate) arrived: Vec<Ticks>,
    /// When it turned out to be lost, as often as it did.
    pub(crate) lost: Vec<Ticks>,
}

/// All words of a run in the order in which they were sent, each with what became of it.
pub(crate) fn words(records: &[Record]) -> Vec<Sent> {
    let mut words = std::collections::BTreeMap::<Sequence, Sent>::new();
    for record in records {
        let (at, process) = (record.at, record.process.number());
        match &record.what {
            What::Sent { to, sequence, label } => {
                let number = label.number.expect("a word is a number");
                let word = Sent { from: process, to: to.number(), number, at, arrived: Vec::new(), lost: Vec::new() };
                assert!(words.insert(*sequence, word).is_none(), "a message is sent once");
            }
            What::Received { from, sequence, label } => {
                let word = words.get_mut(sequence).expect("what arrives was sent");
                assert_eq!((word.from, word.to, Some(word.number)), (from.number(), process, label.number));
                word.arrived.push(at);
            }
            What::Lost { to, sequence, label } => {
                let word = words.get_mut(sequence).expect("what is lost was sent");
                assert_eq!((word.from, word.to, Some(word.number)), (process, to.number(), label.number));
                word.lost.push(at);
            }
            _ => {}
        }
    }
    words.into_values().collect()
}

/// The numbers that one process got from another, in the order of arrival.
pub(crate) fn heard(records: &[Record], from: u32, by: u32) -> Vec<u64> {
    let numbers =
        records.iter().filter(|record| record.process.number() == by).filter_map(|record| match &record.what {
            What::Received { from: sender, label, .. } if sender.number() == from => label.number,
            _ => None,
        });
    numbers.collect()
}

/// When this happened to a process.
pub(crate) fn times(records: &[Record], process: u32, is: impl Fn(&What) -> bool) -> Vec<Ticks> {
    let those = records.iter().filter(|record| record.process.number() == process && is(&record.what));
    those.map(|record| record.at).collect()
}

/// When a process's timer ran out.
pub(crate) fn counts(records: &[Record], process: u32) -> Vec<Ticks> {
    times(records, process, |what| matches!(what, What::TimedOut { .. }))
}
