//! Traces of real nodes, judged by the same properties as the laboratory's runs.
//!
//! Nodes have no common clock. What their traces do have is vector clocks: for any two records it is known whether one
//! happened before the other, or neither. So the traces are [merged](merge()) into one order in which everything comes
//! after its past; where messages leave it open, by the time stamps, of which those that messages contradict are put
//! right. Then each resource is judged:
//!
//! | property | how |
//! |---|---|
//! | mutual exclusion | by causality: of two turns, one has to end before the other begins, by a chain of messages. If neither does, both may have been inside at the same time, and nothing excluded it: it is broken, whatever the time stamps say |
//! | fencing | by causality: an entry's fence is larger than that of every entry before it. Two that no message orders are *not decided* if their time stamps say that they are the wrong way round |
//! | resource safety | the same, of the fences that the resource took, where applications note that |
//! | request order | by the laboratory's [monitor](crate::property), along the messages about that resource. What applications tell each other is not in a trace |
//! | one leader | of the group: in the end all who live name the same one, who lives, if nothing has changed for longer than the patience |
//! | progress | by the laboratory's monitor: who still waited at the end. *Not decided* if it had not waited for longer than the patience |
//!
//! A node whose life ends without its leaving has crashed, and who has crashed is not inside; what it was inside with
//! must be in its trace. A life that ends without a word, while others go on, is a crash. Who has crashed since tells
//! nobody that its turn has ended: who enters because that one was taken for dead was excluded by its death.
//!
//! **Missing** traces, lives and records are named. What is found broken is broken without them, too; what is not
//! found broken is then not decided.
//!
//! **Promises.** Where a node was taken for dead that lived (it knew of that later, in the same life), two may be
//! inside: that is reported, and not failed; [`Judgement::is_promised`] says which.

mod bill;
mod causal;
mod clocks;
pub mod hostile;
mod leadership;
mod lives;
mod merge;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::catalog::{self, Entry, Measure, Property};
use quorate_core::id::Id;
use quorate_core::journal::Header;
use quorate_core::setting::Options;
use quorate_core::trace::What;
use serde_json::{Value, json};

use crate::compare::{self, Row};
use crate::property::Monitor;
use crate::report::Severity;

use self::lives::Death;

pub use bill::Bill;
pub use clocks::Correction;
pub use lives::Mistake;
pub use merge::{Event, Merged, merge};
pub use read::{Life, TraceError, read};

/// What the traces say about a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It held throughout.
    Held,
    /// It was broken.
    Violated {
        /// When it showed, in microseconds since 1970.
        at: u64,
        /// Who did it, if one of them did: then `at` is when, by its own clock.
        by: Option<Id>,
        /// Then also its place among all that happened.
        order: Option<usize>,
        /// What happened.
        why: String,
    },
    /// That cannot be said.
    Undecided {
        /// Why not.
        why: String,
    },
}

/// What is judged of a resource.
const JUDGED: [Property; 5] = [
    Property::MutualExclusion,
    Property::Progress,
    Property::RequestOrder,
    Property::Fencing,
    Property::ResourceSafety,
];

/// What came of one resource.
#[derive(Clone, Debug)]
pub struct ResourceJudgement {
    /// Its name.
    pub name: String,
    /// What the traces say.
    pub findings: Vec<(Property, Finding)>,
    /// Who entered while whom was inside.
    pub overlaps: BTreeSet<(Id, Id)>,
    /// What it cost.
    pub bill: Bill,
}

/// What came of the traces of a group.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// What all of them ran.
    pub header: Header,
    /// The algorithm.
    pub entry: &'static Entry,
    /// The lives that there are, without their records.
    pub lives: Vec<Life>,
    /// How many records there are.
    pub records: usize,
    /// What is not there, in words.
    pub missing: Vec<String>,
    /// Clocks that were put right, as messages arrived before they were sent by them.
    pub corrections: Vec<Correction>,
    /// Who took whom for dead that lived: the first of them. From then on, more is possible than is promised.
    pub mistaken: Option<Mistake>,
    /// Whether anybody was taken for dead.
    pub has_suspicions: bool,
    /// Whom each node named its leader last.
    pub leaders: BTreeMap<Id, Id>,
    /// Whether they follow one leader in the end, if anybody was ever named.
    pub one_leader: Option<Finding>,
    /// Each resource.
    pub resources: Vec<ResourceJudgement>,
    /// What all of them cost.
    pub bill: Bill,
    options: Options,
}

/// How long somebody has to have waited in vain, if nothing is said: so many times as long as silence is tolerated.
const PATIENCE: u64 = 5;

/// Judges these lives of the nodes of one group. `patience`, in microseconds, is how long somebody has to have waited
/// before that is held against the algorithm.
pub fn judge(lives: Vec<Life>, patience: Option<u64>) -> Result<Judgement, TraceError> {
    let header = lives.first().map(|life| life.header.clone());
    let Some(header) = header else {
        return Err(TraceError { file: "nothing".into(), line: 0, why: "there is no trace to judge".into() });
    };
    let refuse = |why: String| TraceError { file: lives[0].file.clone(), line: 1, why };
    let entry = catalog::entry(&header.algorithm).map_err(|error| refuse(error.to_string()))?;
    let given = header.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let options = Options::new(entry, given).map_err(|error| refuse(error.to_string()))?;
    let patience = patience.unwrap_or(header.tolerance.saturating_mul(PATIENCE));
    let merged = merge(lives, patience)?;
    let (missing, deaths) = (lives::missing(&header, &merged), lives::deaths(&merged));
    let mut judgement = Judgement {
        mistaken: lives::mistaken(&merged, &deaths),
        has_suspicions: merged.events.iter().any(|event| matches!(event.record.what, What::Told { alive: false, .. })),
        leaders: leaders(&merged),
        one_leader: leadership::one_leader(&merged, patience).map(|finding| of_all(&missing, finding)),
        records: merged.events.len(),
        lives: Vec::new(),
        corrections: Vec::new(),
        resources: Vec::new(),
        bill: Bill::default(),
        missing,
        header,
        entry,
        options,
    };
    judgement.resources = judge_resources(&merged, &deaths, &judgement, patience);
    for resource in &judgement.resources {
        judgement.bill.add(&resource.bill);
    }
    judgement.lives = merged.lives;
    judgement.corrections = merged.corrections;
    Ok(judgement)
}

fn judge_resources(
    merged: &Merged,
    deaths: &[Death<'_>],
    judgement: &Judgement,
    patience: u64,
) -> Vec<ResourceJudgement> {
    let names: BTreeSet<&str> = merged.events.iter().filter_map(|event| event.resource.as_deref()).collect();
    let mut events: BTreeMap<&str, Vec<&Event>> = names.iter().map(|&name| (name, Vec::new())).collect();
    for event in &merged.events {
        match &event.resource {
            Some(name) => events.entry(name.as_str()).or_default().push(event),
            // Only the end of a life concerns all of them.
            None if matches!(event.record.what, What::Crashed | What::Stopped) => {
                events.values_mut().for_each(|all| all.push(event));
            }
            None => {}
        }
    }
    let judge_one = |(name, events): (&str, Vec<&Event>)| {
        let (exclusion, overlaps) = causal::exclusion(&events, merged, deaths);
        let findings = JUDGED.iter().filter_map(|&property| {
            let finding = match property {
                Property::MutualExclusion => exclusion.clone(),
                _ => finding(property, &events, merged, judgement, patience)?,
            };
            Some((property, of_all(&judgement.missing, finding)))
        });
        ResourceJudgement { name: name.to_string(), findings: findings.collect(), overlaps, bill: Bill::of(&events) }
    };
    events.into_iter().map(judge_one).collect()
}

/// What can be said if something is missing: what is not found broken is not decided.
fn of_all(missing: &[String], finding: Finding) -> Finding {
    match (finding, missing) {
        (Finding::Held, [first, ..]) => {
            Finding::Undecided { why: format!("no violation found, but the traces are incomplete: {first}") }
        }
        (finding, _) => finding,
    }
}

/// What the events that concern a resource say about a property; nothing if it is not about them.
fn finding(
    property: Property,
    events: &[&Event],
    merged: &Merged,
    judgement: &Judgement,
    patience: u64,
) -> Option<Finding> {
    match property {
        Property::Fencing => {
            let entered = events.iter().filter_map(|event| match event.record.what {
                What::Entered { fence } => Some((*event, fence)),
                _ => None,
            });
            Some(causal::growing(&entered.collect::<Vec<_>>(), "entered"))
        }
        Property::ResourceSafety => {
            let taken = events.iter().filter_map(|event| match event.record.what {
                What::Wrote { fence, accepted: true } => Some((*event, fence)),
                _ => None,
            });
            let mut taken: Vec<_> = taken.collect();
            // Who writes twice in one turn shows the same fence twice.
            taken.dedup_by_key(|(event, fence)| (event.record.process, *fence));
            (!taken.is_empty()).then(|| causal::growing(&taken, "wrote"))
        }
        Property::Progress => Some(progress(events, merged, patience)),
        Property::RequestOrder => {
            let mut monitor = Monitor::new(Property::RequestOrder, judgement.header.n);
            let broken = events.iter().find_map(|event| Some((event, monitor.observe(&event.record)?)));
            Some(broken.map_or(Finding::Held, |(event, broken)| Finding::Violated {
                at: broken.at,
                by: Some(event.record.process),
                order: Some(event.order),
                why: broken.why,
            }))
        }
        Property::MutualExclusion
        | Property::NoLostUpdate
        | Property::SingleLeader
        | Property::Decided
        | Property::Accuracy
        | Property::Completeness => None,
    }
}

fn progress(events: &[&Event], merged: &Merged, patience: u64) -> Finding {
    let mut monitor = Monitor::new(Property::Progress, 0);
    let mut asked: BTreeMap<Id, (u64, usize)> = BTreeMap::new();
    for event in events {
        let me = event.record.process;
        monitor.observe(&event.record);
        match event.record.what {
            What::Wanted => _ = asked.insert(me, (event.record.at, event.life)),
            What::Entered { .. } | What::Withdrew | What::Crashed | What::Stopped => _ = asked.remove(&me),
            _ => {}
        }
    }
    let end = merged.events.iter().map(|event| event.record.at).max().unwrap_or(0);
    let Some(waited) = monitor.end(end) else { return Finding::Held };
    let longest = asked.values().map(|&(at, life)| {
        let Life { header, ended, .. } = &merged.lives[life];
        let over = ended.map_or(end, |ended| header.started.saturating_add(ended));
        over.saturating_sub(at)
    });
    let longest = longest.max().unwrap_or(0);
    let seconds = |micros: u64| micros as f64 / 1e6;
    let why = format!("{}, for {:.3} s", waited.why, seconds(longest));
    if longest > patience {
        return Finding::Violated { at: waited.at, by: None, order: None, why };
    }
    Finding::Undecided { why: format!("{why}; the limit is {} s", seconds(patience)) }
}

fn leaders(merged: &Merged) -> BTreeMap<Id, Id> {
    let named = merged.events.iter().filter_map(|event| match event.record.what {
        What::Leader { leader } => Some((event.record.process, leader)),
        _ => None,
    });
    named.collect()
}

impl Judgement {
    /// Whether the algorithm promises a property, after what had happened when it was found broken; if it was not, or
    /// by what nobody did, after all that happened.
    pub fn is_promised(&self, property: Property, finding: &Finding) -> bool {
        let is_mistaken = self.mistaken.is_some_and(|mistake| match finding {
            Finding::Violated { order: Some(order), .. } => mistake.order < *order,
            Finding::Violated { order: None, .. } | Finding::Held | Finding::Undecided { .. } => true,
        });
        let recovers = self.entry.recovery;
        let holds_anyway = match property {
            Property::RequestOrder => !self.has_suspicions,
            Property::Fencing | Property::ResourceSafety => {
                let always = recovers.is_some_and(|recovery| recovery.fenced_crashes.is_none());
                !self.has_suspicions || always && !is_mistaken
            }
            _ => !self.has_suspicions || recovers.is_some() && !is_mistaken,
        };
        holds_anyway && self.entry.promises(property, &self.options)
    }

    /// What is said of a property in all resources: the worst, and of which.
    pub fn worst(&self, property: Property) -> Option<(&ResourceJudgement, &Finding)> {
        let of_all = self.resources.iter().flat_map(|resource| {
            resource
                .findings
                .iter()
                .filter(|(about, _)| *about == property)
                .map(move |(_, finding)| (resource, finding))
        });
        // Of two that are as bad, what was promised is worse.
        let how_bad = |finding: &Finding| (badness(finding), self.is_promised(property, finding));
        of_all.reduce(|a, b| if how_bad(b.1) > how_bad(a.1) { b } else { a })
    }

    /// All properties that were judged, with what is said of each.
    pub fn findings(&self) -> Vec<(Property, &ResourceJudgement, &Finding)> {
        let worst =
            |&property: &Property| self.worst(property).map(|(resource, finding)| (property, resource, finding));
        JUDGED.iter().filter_map(worst).collect()
    }

    /// How bad the worst broken promise is.
    pub fn severity(&self) -> Severity {
        let severity = |(property, _, finding): (Property, &ResourceJudgement, &Finding)| match finding {
            Finding::Violated { .. } if !self.is_promised(property, finding) => Severity::Fine,
            Finding::Violated { .. } if property.is_safety() => Severity::Safety,
            Finding::Violated { .. } => Severity::Liveness,
            Finding::Undecided { .. } if self.is_promised(property, finding) => Severity::Undecided,
            Finding::Undecided { .. } | Finding::Held => Severity::Fine,
        };
        let of_leader = match self.one_leader {
            Some(Finding::Violated { .. }) => Severity::Liveness,
            _ => Severity::Fine,
        };
        let worst = self.findings().into_iter().map(severity).max().map(|worst| worst.max(of_leader));
        // Where nobody asked for anything, nothing was shown.
        worst.unwrap_or(Severity::Undecided)
    }

    /// The costs, beside what is published, as `quorate compare` has them. Delays are measured in milliseconds.
    pub fn rows(&self) -> Vec<Row> {
        let is_alone = self.bill.contended == 0;
        let messages = if is_alone { Measure::Messages } else { Measure::MessagesContended };
        let milliseconds = |mean: Option<f64>| mean.map(|micros| micros / 1000.0);
        // What it costs to come back is not what a turn costs.
        let is_first = self.lives.iter().all(|life| life.header.incarnation == 1) && !self.has_suspicions;
        let measured = [
            (messages, self.bill.per_entry(), is_first),
            (Measure::ClientDelay, milliseconds(self.bill.client_delay.mean()), false),
            (Measure::SyncDelay, milliseconds(self.bill.sync_delay.mean()), false),
        ];
        compare::of_run(self.entry, self.header.n, &self.options, &measured)
    }

    /// All of it, for programs.
    pub fn json(&self) -> Value {
        let finding = |finding: &Finding| match finding {
            Finding::Held => json!({ "verdict": "held" }),
            Finding::Violated { at, why, .. } => json!({ "verdict": "violated", "at": at, "why": why }),
            Finding::Undecided { why } => json!({ "verdict": "undecided", "why": why }),
        };
        let properties = |findings: &[(Property, Finding)]| {
            findings.iter().map(|(property, found)| (property.name().to_string(), finding(found))).collect::<Value>()
        };
        let bill = |bill: &Bill| {
            json!({
                "entries": bill.entries,
                "contended": bill.contended,
                "messages": bill.total(),
                "messages_per_entry": bill.per_entry(),
                "messages_by_kind": bill.messages,
                "client_delay_ms": bill.client_delay.summary(1000.0),
                "sync_delay_ms": bill.sync_delay.summary(1000.0),
                "clocks_disagreed": bill.negative,
            })
        };
        let lives = self.lives.iter().map(|life| {
            json!({
                "process": life.header.process,
                "incarnation": life.header.incarnation,
                "file": life.file,
                "lost": life.lost(),
                "stopped": life.ended.is_some(),
                "torn": life.is_torn,
            })
        });
        let corrections = self.corrections.iter().map(|Correction { process, incarnation, ahead }| {
            json!({ "process": process, "incarnation": incarnation, "ahead_ms": *ahead as f64 / 1000.0 })
        });
        let resources = self.resources.iter().map(|resource| {
            let properties = properties(&resource.findings);
            json!({ "name": resource.name, "properties": properties, "costs": bill(&resource.bill) })
        });
        let leaders = self.leaders.iter().map(|(id, leader)| (id.number().to_string(), json!(leader)));
        let promised =
            self.findings().into_iter().filter(|&(property, _, finding)| self.is_promised(property, finding));
        let promised = promised.map(|(property, ..)| property.name());
        json!({
            "algorithm": self.entry.name,
            "options": self.header.options,
            "n": self.header.n,
            "records": self.records,
            "lives": lives.collect::<Vec<_>>(),
            "missing": self.missing,
            "clocks": corrections.collect::<Vec<_>>(),
            "promised": promised.collect::<Vec<_>>(),
            "mistaken": self.mistaken.map(|Mistake { by, of, .. }| json!({ "process": by, "of": of })),
            "leaders": leaders.collect::<Value>(),
            "one_leader": self.one_leader.as_ref().map(finding),
            "costs": bill(&self.bill),
            "rows": self.rows(),
            "resources": resources.collect::<Vec<_>>(),
        })
    }
}

fn badness(finding: &Finding) -> u8 {
    match finding {
        Finding::Held => 0,
        Finding::Undecided { .. } => 1,
        Finding::Violated { .. } => 2,
    }
}
