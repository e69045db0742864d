//! Who watches a run: properties, meters, and whoever wants to see the records.

use std::collections::BTreeSet;
use std::fmt::Debug;

use quorate_core::catalog::Property;
use quorate_core::id::Id;
use quorate_core::process::{Message, Ticks};
use quorate_core::trace::{Opinion, Record, What};

use crate::cost::{CostReport, Costs};
use crate::distribution::Distribution;
use crate::property::{Monitor, Violation};

/// What to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// These properties.
    pub properties: Vec<Property>,
    /// Keep all records of the run if there are no more than this.
    pub keep_records: usize,
    /// A detector works for ever, so a cut is as good an end as any, but not before it has had this much time.
    pub detector_needs: Ticks,
}

/// Sees a process, before each of its steps and again after it.
pub type Look<'a> = &'a mut dyn FnMut(Id, &dyn Debug);

/// Watches a run.
pub struct Observer<'a> {
    monitors: Vec<Monitor>,
    verdicts: Vec<(Property, Verdict)>,
    costs: Costs,
    election: ElectionMeter,
    detection: DetectionMeter,
    kept: Option<Vec<Record>>,
    keep_records: usize,
    detector_needs: Ticks,
    sink: Option<&'a mut dyn FnMut(&Record)>,
    states: Option<Look<'a>>,
    enough: Option<u64>,
    sees_messages: bool,
    unexpected: u64,
    first_unexpected: Option<Record>,
}

/// What a run says about a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It held throughout.
    Held,
    /// It was broken.
    Violated(Violation),
    /// The run was cut off before it could show.
    Undecided,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing could happen any more.
    Quiet,
    /// The applications were done; only the algorithm itself never stops.
    Finished,
    /// Nobody was served for very long, though somebody waited or the algorithm had not fallen silent.
    Stalled,
    /// It had lasted as long as it was meant to.
    CutOff,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// When, in ticks.
    pub end: Ticks,
    /// How many things happened.
    pub events: u64,
    /// What it says about each property that was watched.
    pub verdicts: Vec<(Property, Verdict)>,
    /// What it cost.
    pub costs: CostReport,
    /// All records, if there were few.
    pub records: Option<Vec<Record>>,
    /// How many events broke an assumption of the algorithm, and the first of them.
    pub unexpected: u64,
    /// The first of them.
    pub first_unexpected: Option<Record>,
    /// What an election came to.
    pub election: ElectionMeter,
    /// What a detector found.
    pub detection: DetectionMeter,
}

impl Outcome {
    /// The verdict on a property, if it was watched.
    pub fn verdict(&self, property: Property) -> Option<&Verdict> {
        self.verdicts.iter().find(|(watched, _)| *watched == property).map(|(_, verdict)| verdict)
    }

    /// Whether a property was watched and broken.
    pub fn violated(&self, property: Property) -> bool {
        matches!(self.verdict(property), Some(Verdict::Violated(_)))
    }
}

impl<'a> Observer<'a> {
    /// An observer of `n` processes. The sink, if there is one, sees every record.
    pub fn new(n: u32, watch: &Watch, sink: Option<&'a mut dyn FnMut(&Record)>) -> Observer<'a> {
        let monitors: Vec<_> = watch.properties.iter().map(|&property| Monitor::new(property, n)).collect();
        let mut observer = Observer {
            monitors,
            verdicts: Vec::new(),
            costs: Costs::new(n),
            election: ElectionMeter::new(n),
            detection: DetectionMeter::new(n),
            kept: (watch.keep_records > 0).then(Vec::new),
            keep_records: watch.keep_records,
            detector_needs: watch.detector_needs,
            sink,
            states: None,
            enough: None,
            sees_messages: true,
            unexpected: 0,
            first_unexpected: None,
        };
        observer.decide_what_to_see();
        observer
    }

    /// The same, which shows each process to somebody before and after each of its steps.
    #[must_use]
    pub fn looking(self, states: Option<Look<'a>>) -> Observer<'a> {
        Observer { states, ..self }
    }

    /// The same, which has seen enough after so many events.
    #[must_use]
    pub fn until(self, enough: Option<u64>) -> Observer<'a> {
        Observer { enough, ..self }
    }

    /// Sees a process, before a step or after it.
    pub fn look(&mut self, id: Id, process: &impl Debug) {
        if let Some(states) = &mut self.states {
            states(id, process);
        }
    }

    /// Whether it has seen enough.
    pub fn has_seen_enough(&self, events: u64) -> bool {
        self.enough.is_some_and(|enough| events >= enough)
    }

    /// Whether anybody wants to know of single messages. Most of the time nobody does, and telling would cost time.
    pub fn sees_messages(&self) -> bool {
        self.sees_messages
    }

    fn decide_what_to_see(&mut self) {
        self.sees_messages =
            self.sink.is_some() || self.kept.is_some() || self.monitors.iter().any(Monitor::sees_messages);
    }

    /// Sees one record.
    pub fn observe(&mut self, record: &Record) {
        if let Some(sink) = &mut self.sink {
            sink(record);
        }
        if let Some(kept) = &mut self.kept {
            if kept.len() < self.keep_records {
                kept.push(record.clone());
            } else {
                self.kept = None;
                self.decide_what_to_see();
            }
        }
        let mut broken = false;
        for monitor in &mut self.monitors {
            if let Some(violation) = monitor.observe(record) {
                self.verdicts.push((monitor.property(), Verdict::Violated(violation)));
                broken = true;
            }
        }
        if broken {
            let verdicts = &self.verdicts;
            self.monitors.retain(|monitor| verdicts.iter().all(|(property, _)| *property != monitor.property()));
            self.decide_what_to_see();
        }
        self.costs.observe(record);
        match record.what {
            What::Called | What::Leader { .. } => self.election.observe(record),
            What::Opinion { .. } => self.detection.observe(record),
            What::Crashed | What::Stopped | What::Restarted { .. } => {
                self.election.observe(record);
                self.detection.observe(record);
            }
            What::Unexpected { .. } => {
                self.unexpected += 1;
                self.first_unexpected.get_or_insert_with(|| record.clone());
            }
            _ => {}
        }
    }

    /// Sees a message being sent, in a step that was an exit or in another.
    pub fn sent(&mut self, message: &impl Message, leaving: bool) {
        self.costs.sent(message, leaving);
    }

    /// Sees that a step in which a process left is over.
    pub fn exited(&mut self) {
        self.costs.exited();
    }

    /// How many wait to enter.
    pub fn waiting(&self) -> usize {
        self.costs.waiting()
    }

    /// Since when those who wait, if any, have waited without anybody being inside, if nobody is.
    pub fn unserved_since(&self) -> Option<Ticks> {
        self.costs.unserved_since()
    }

    /// How many entries there were.
    pub fn entries(&self) -> u64 {
        self.costs.entries()
    }

    /// The run is over.
    pub fn finish(mut self, ending: Ending, end: Ticks, events: u64) -> Outcome {
        for monitor in &self.monitors {
            let property = monitor.property();
            let long_enough = property == Property::Completeness && end >= self.detector_needs;
            let undecided = ending == Ending::CutOff && !property.is_safety() && !long_enough;
            let verdict = match monitor.end(end) {
                Some(_) if undecided => Verdict::Undecided,
                Some(violation) => Verdict::Violated(violation),
                None => Verdict::Held,
            };
            self.verdicts.push((property, verdict));
        }
        self.verdicts.sort_by_key(|(property, _)| *property);
        Outcome {
            ending,
            end,
            events,
            verdicts: self.verdicts,
            costs: self.costs.report(),
            records: self.kept,
            unexpected: self.unexpected,
            first_unexpected: self.first_unexpected,
            election: self.election,
            detection: self.detection,
        }
    }
}

/// What an election comes to.
#[derive(Clone, Debug)]
pub struct ElectionMeter {
    named: Vec<Option<Id>>,
    alive: Vec<bool>,
    first_call: Option<Ticks>,
    last_choice: Option<Ticks>,
}

impl ElectionMeter {
    fn new(n: u32) -> ElectionMeter {
        let n = n as usize;
        ElectionMeter { named: vec![None; n], alive: vec![true; n], first_call: None, last_choice: None }
    }

    fn observe(&mut self, record: &Record) {
        let place = record.process.index();
        match record.what {
            What::Called => {
                self.first_call.get_or_insert(record.at);
            }
            What::Leader { leader } => {
                if self.named[place] != Some(leader) {
                    self.last_choice = Some(record.at);
                }
                self.named[place] = Some(leader);
            }
            What::Crashed | What::Stopped => {
                self.alive[place] = false;
                self.named[place] = None;
            }
            What::Restarted { .. } => self.alive[place] = true,
            _ => {}
        }
    }

    /// Whom all live processes name, if they name the same.
    pub fn leader(&self) -> Option<Id> {
        let mut live = self.named.iter().zip(&self.alive).filter(|(_, alive)| **alive).map(|(named, _)| *named);
        let first = live.next()??;
        live.all(|named| named == Some(first)).then_some(first)
    }

    /// From the first call to the last choice.
    pub fn turnaround(&self) -> Option<Ticks> {
        Some(self.last_choice?.saturating_sub(self.first_call?))
    }
}

/// What a detector finds.
#[derive(Clone, Debug)]
pub struct DetectionMeter {
    crashed_at: Vec<Option<Ticks>>,
    /// Who wrongly thinks whom dead.
    mistaken: BTreeSet<(Id, Id)>,
    /// How often a live process was thought dead.
    pub false_suspicions: u64,
    /// How often such a one was trusted again.
    pub corrections: u64,
    /// From a crash to each process's finding out.
    pub detection_time: Distribution,
}

impl DetectionMeter {
    fn new(n: u32) -> DetectionMeter {
        DetectionMeter {
            crashed_at: vec![None; n as usize],
            mistaken: BTreeSet::new(),
            false_suspicions: 0,
            corrections: 0,
            detection_time: Distribution::default(),
        }
    }

    fn observe(&mut self, record: &Record) {
        match record.what {
            What::Crashed | What::Stopped => {
                let crashed = record.process;
                self.crashed_at[crashed.index()] = Some(record.at);
                self.mistaken.retain(|&(who, of)| who != crashed && of != crashed);
            }
            What::Restarted { .. } => self.crashed_at[record.process.index()] = None,
            What::Opinion { of, opinion: Opinion::Suspected | Opinion::Failed } => {
                match self.crashed_at.get(of.index()).copied().flatten() {
                    Some(crashed) => self.detection_time.add(record.at - crashed),
                    None => {
                        self.false_suspicions += 1;
                        self.mistaken.insert((record.process, of));
                    }
                }
            }
            What::Opinion { of, opinion: Opinion::Unsuspected } => {
                self.corrections += u64::from(self.mistaken.remove(&(record.process, of)));
            }
            _ => {}
        }
    }
}
