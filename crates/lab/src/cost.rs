//! What a run costs, as the literature counts: messages, delays, throughput, bytes.
//!
//! - *Messages of an exit* are those sent in the step in which a process leaves; all others belong to entries.
//! - *Client delay*: from the request to the entry; and from leaving until the process may go on.
//! - *Synchronization delay*: from an exit to the next entry, where the one who enters was already waiting.
//! - *Throughput*: entries per δ between the first entry and the last; beside it 1/(E + SD), of the mean time inside
//!   and the mean synchronization delay.

use std::collections::BTreeMap;

use quorate_core::id::Id;
use quorate_core::process::{Message, Ticks};
use quorate_core::trace::{Record, What};
use serde::Serialize;

use crate::distribution::{Distribution, Summary};
use crate::time::DELTA;

/// The meters of a run.
#[derive(Clone, Debug)]
pub struct Costs {
    entry: Traffic,
    exit: Traffic,
    sizes: Sizes,
    entries: u64,
    /// How many messages all exits but the current one took.
    exit_messages_before: u64,
    clients: Vec<Client>,
    waiting: usize,
    inside: usize,
    /// Since when those who wait have waited without anybody being inside; or nobody has done either.
    unserved_since: Ticks,
    /// The last exit, and how many requests had been made by then.
    last_exit: Option<(Ticks, u64)>,
    requests: u64,
    first_entry: Option<Ticks>,
    last_entry: Ticks,
    messages_at_last_entry: u64,
    messages_between_entries: Distribution,
    messages_of_exit: Distribution,
    client_delay: Distribution,
    exit_delay: Distribution,
    sync_delay: Distribution,
    time_inside: Distribution,
}

#[derive(Clone, Copy, Debug, Default)]
struct Client {
    /// When it asked, and the how many-th request that was.
    asked: Option<(Ticks, u64)>,
    entered: Option<Ticks>,
    left: Option<Ticks>,
}

impl Costs {
    /// The meters for `n` processes.
    pub fn new(n: u32) -> Costs {
        Costs {
            entry: Traffic::default(),
            exit: Traffic::default(),
            sizes: Sizes::default(),
            entries: 0,
            exit_messages_before: 0,
            clients: vec![Client::default(); n as usize],
            waiting: 0,
            inside: 0,
            unserved_since: 0,
            last_exit: None,
            requests: 0,
            first_entry: None,
            last_entry: 0,
            messages_at_last_entry: 0,
            messages_between_entries: Distribution::default(),
            messages_of_exit: Distribution::default(),
            client_delay: Distribution::default(),
            exit_delay: Distribution::default(),
            sync_delay: Distribution::default(),
            time_inside: Distribution::default(),
        }
    }

    /// A message was sent, in a step that was an exit or in another.
    pub fn sent(&mut self, message: &impl Message, leaving: bool) {
        let traffic = if leaving { &mut self.exit } else { &mut self.entry };
        traffic.count(message.kind());
        self.sizes.add(encoded_size(message));
    }

    /// A step in which a process left is over.
    pub fn exited(&mut self) {
        self.exit.used();
        self.messages_of_exit.add(self.exit.total - self.exit_messages_before);
        self.exit_messages_before = self.exit.total;
    }

    /// Sees one record.
    pub fn observe(&mut self, record: &Record) {
        let (at, id) = (record.at, record.process);
        match record.what {
            What::Wanted => {
                self.requests += 1;
                self.client(id).asked = Some((at, self.requests));
                if self.waiting == 0 {
                    self.unserved_since = at;
                }
                self.waiting += 1;
            }
            What::Entered { .. } => self.entered(at, id),
            What::Leaving => {
                self.client(id).left = Some(at);
                self.last_exit = Some((at, self.requests));
                if let Some(entered) = self.client(id).entered.take() {
                    self.inside -= 1;
                    self.unserved_since = at;
                    self.time_inside.add(at - entered);
                }
            }
            What::Exited => {
                if let Some(left) = self.client(id).left.take() {
                    self.exit_delay.add(at - left);
                }
            }
            What::Withdrew | What::Crashed | What::Stopped => {
                let Client { asked, entered, .. } = *self.client(id);
                self.waiting -= usize::from(asked.is_some());
                self.inside -= usize::from(entered.is_some());
                if self.waiting == 0 || entered.is_some() {
                    self.unserved_since = at;
                }
                *self.client(id) = Client::default();
            }
            _ => {}
        }
    }

    fn entered(&mut self, at: Ticks, id: Id) {
        let Some((asked, request)) = self.client(id).asked.take() else { return };
        self.client(id).entered = Some(at);
        self.waiting -= 1;
        self.inside += 1;
        self.entries += 1;
        self.entry.used();
        self.client_delay.add(at - asked);
        if let Some((left, requests)) = self.last_exit.take()
            && request <= requests
        {
            self.sync_delay.add(at - left);
        }
        self.first_entry.get_or_insert(at);
        self.last_entry = at;
        let messages = self.messages();
        self.messages_between_entries.add(messages - self.messages_at_last_entry);
        self.messages_at_last_entry = messages;
    }

    fn client(&mut self, id: Id) -> &mut Client {
        &mut self.clients[id.index()]
    }

    /// All messages sent so far.
    pub fn messages(&self) -> u64 {
        self.entry.total + self.exit.total
    }

    /// All entries so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// How many wait to enter.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Since when those who wait, if any, have waited without anybody being inside, if nobody is.
    pub fn unserved_since(&self) -> Option<Ticks> {
        (self.inside == 0).then_some(self.unserved_since)
    }

    fn messages_by_kind(&self) -> BTreeMap<&'static str, u64> {
        let mut kinds = BTreeMap::new();
        for kind in self.entry.kinds.iter().chain(&self.exit.kinds) {
            *kinds.entry(kind.name).or_insert(0) += kind.count;
        }
        kinds
    }

    /// The bill.
    pub fn report(&self) -> CostReport {
        let delta = DELTA as f64;
        let entries = self.entries as f64;
        let messages = self.messages();
        let span = self.last_entry - self.first_entry.unwrap_or(self.last_entry);
        let predicted = self.time_inside.mean().zip(self.sync_delay.mean()).map(|(e, sd)| delta / (e + sd));
        CostReport {
            entries: self.entries,
            messages,
            messages_per_entry: (self.entries > 0).then(|| messages as f64 / entries),
            messages_between_entries: self.messages_between_entries.summary(1.0),
            messages_by_kind: self.messages_by_kind(),
            entry_messages: self.entry.summaries(),
            exit_messages: self.exit.summaries(),
            messages_of_exit: self.messages_of_exit.summary(1.0),
            client_delay: self.client_delay.summary(delta),
            exit_delay: self.exit_delay.summary(delta),
            sync_delay: self.sync_delay.summary(delta),
            throughput: (span > 0).then(|| (entries - 1.0) * delta / span as f64),
            throughput_predicted: predicted,
            bytes: self.sizes.total(),
            bytes_per_message: self.sizes.distribution().summary(1.0),
        }
    }
}

/// Messages by kind. There are few kinds, so a short list is faster than a map.
#[derive(Clone, Debug, Default)]
struct Traffic {
    kinds: Vec<Kind>,
    total: u64,
    /// How many entries or exits there have been.
    uses: u64,
}

#[derive(Clone, Debug)]
struct Kind {
    name: &'static str,
    count: u64,
    /// How many there were at the last entry or exit, and how many each took.
    counted: u64,
    each: Distribution,
}

impl Traffic {
    fn count(&mut self, name: &'static str) {
        self.total += 1;
        // The same constant has the same address nearly always: comparing that first spares comparing letters.
        match self.kinds.iter_mut().find(|kind| std::ptr::eq(kind.name, name) || kind.name == name) {
            Some(kind) => kind.count += 1,
            None => {
                let mut each = Distribution::default();
                each.add_many(0, self.uses);
                self.kinds.push(Kind { name, count: 1, counted: 0, each });
            }
        }
    }

    /// An entry or an exit took what was counted since the last one.
    fn used(&mut self) {
        self.uses += 1;
        for kind in &mut self.kinds {
            kind.each.add(kind.count - kind.counted);
            kind.counted = kind.count;
        }
    }

    /// What an entry or an exit took. The mean counts all messages, also those after the last one.
    fn summaries(&self) -> BTreeMap<&'static str, Summary> {
        let summary = |kind: &Kind| {
            let each = kind.each.summary(1.0)?;
            Some((kind.name, Summary { mean: kind.count as f64 / self.uses as f64, ..each }))
        };
        self.kinds.iter().filter_map(summary).collect()
    }
}

/// Message sizes: nearly all are small, and those are counted in an array.
#[derive(Clone, Debug)]
struct Sizes {
    small: [u64; 64],
    large: Distribution,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { small: [0; 64], large: Distribution::default() }
    }
}

impl Sizes {
    fn add(&mut self, size: usize) {
        match self.small.get_mut(size) {
            Some(count) => *count += 1,
            None => self.large.add(size as u64),
        }
    }

    fn distribution(&self) -> Distribution {
        let mut all = self.large.clone();
        for (size, &times) in self.small.iter().enumerate() {
            all.add_many(size as u64, times);
        }
        all
    }

    fn total(&self) -> u64 {
        self.distribution().sum() as u64
    }
}

/// How many bytes a message takes on the wire, without framing.
fn encoded_size(message: &impl Message) -> usize {
    let counter = postcard::ser_flavors::Size::default();
    postcard::serialize_with_flavor(message, counter).expect("messages are plain data, which always has an encoding")
}

/// What a run cost. Times are in δ.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are the words that the module defines")]
pub struct CostReport {
    pub entries: u64,
    pub messages: u64,
    pub messages_per_entry: Option<f64>,
    pub messages_between_entries: Option<Summary>,
    pub messages_by_kind: BTreeMap<&'static str, u64>,
    pub entry_messages: BTreeMap<&'static str, Summary>,
    pub exit_messages: BTreeMap<&'static str, Summary>,
    pub messages_of_exit: Option<Summary>,
    pub client_delay: Option<Summary>,
    pub exit_delay: Option<Summary>,
    pub sync_delay: Option<Summary>,
    pub throughput: Option<f64>,
    pub throughput_predicted: Option<f64>,
    pub bytes: u64,
    pub bytes_per_message: Option<Summary>,
}
