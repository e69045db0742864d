//! Channels between processes: how long a message takes, in which order, and what the network does to it.

use quorate_core::id::Id;
use quorate_core::process::Ticks;
use rustc_hash::FxHashMap;

use crate::random::{Chance, mix};
use crate::time::DELTA;

/// How long a message takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// Always the same.
    Constant(Ticks),
    /// Anything between these, evenly.
    Uniform(Ticks, Ticks),
    /// Memoryless, with this mean: mostly short, sometimes very long.
    Exponential(Ticks),
    /// For each link between two processes always the same, somewhere between these.
    PerLink(Ticks, Ticks),
}

impl Delay {
    /// The largest delay there is, or for want of one a guess that is wrong once in three thousand messages.
    pub fn bound(self) -> Ticks {
        match self {
            Delay::Constant(delay) => delay,
            Delay::Uniform(_, most) | Delay::PerLink(_, most) => most,
            Delay::Exponential(mean) => mean.saturating_mul(8),
        }
    }

    /// Whether the bound is a fact.
    pub fn is_bounded(self) -> bool {
        !matches!(self, Delay::Exponential(_))
    }

    fn draw(self, from: Id, to: Id, seed: u64, chance: &mut Chance) -> Ticks {
        match self {
            Delay::Constant(delay) => delay,
            Delay::Uniform(least, most) => chance.within(&(least..=most)),
            Delay::Exponential(mean) => (chance.exponential(mean as f64) as Ticks).max(1),
            Delay::PerLink(least, most) => {
                let (one, other) = (from.number().min(to.number()), from.number().max(to.number()));
                least + mix(seed, u64::from(one), u64::from(other)) % (most - least + 1)
            }
        }
    }
}

/// In which order the messages of one process to another arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were sent.
    Fifo,
    /// As their delays happen to be.
    Any,
}

/// A time during which the network is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Who can talk to whom. All who are in none of these are in one more.
    pub parts: Vec<Vec<Id>>,
    /// From when.
    pub from: Ticks,
    /// Until when.
    pub to: Ticks,
}

impl Partition {
    /// The part a process is in, counted from 1.
    pub fn part(&self, id: Id) -> usize {
        1 + self.parts.iter().position(|part| part.contains(&id)).unwrap_or(self.parts.len())
    }

    fn separates(&self, one: Id, other: Id) -> bool {
        self.part(one) != self.part(other)
    }
}

/// What the network is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// How long messages take.
    pub delay: Delay,
    /// In which order they arrive.
    pub order: Order,
    /// The chance that a message is lost.
    pub loss: f64,
    /// The chance that a message arrives twice.
    pub duplicate: f64,
    /// When the network is cut. What is sent across a cut is held back and arrives after it; nothing is lost.
    pub partitions: Vec<Partition>,
}

impl Default for Conditions {
    fn default() -> Self {
        Conditions {
            delay: Delay::Constant(DELTA),
            order: Order::Any,
            loss: 0.0,
            duplicate: 0.0,
            partitions: Vec::new(),
        }
    }
}

/// When copies of a message arrive: none, one or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Never.
    Lost,
    /// Once.
    Arrives(Ticks),
    /// Twice.
    ArrivesTwice(Ticks, Ticks),
}

/// The network of a run.
#[derive(Clone, Debug)]
pub struct Network {
    conditions: Conditions,
    seed: u64,
    chance: Chance,
    /// Where order must be kept: when the last message of each channel arrives.
    last_arrival: FxHashMap<(Id, Id), Ticks>,
    /// Whether order must be kept although delays could change it.
    keeps_order: bool,
    /// Whether nothing but the delay decides what becomes of a message.
    plain: bool,
}

impl Network {
    /// A network under these conditions.
    pub fn new(conditions: Conditions, seed: u64) -> Network {
        let steady = matches!(conditions.delay, Delay::Constant(_) | Delay::PerLink(..));
        let keeps_order = conditions.order == Order::Fifo && !(steady && conditions.partitions.is_empty());
        let mut network = Network {
            conditions,
            seed,
            chance: Chance::new(mix(seed, 1, 0)),
            last_arrival: FxHashMap::default(),
            keeps_order,
            plain: false,
        };
        network.plain = !keeps_order && !network.is_faulty();
        network
    }

    /// Decides what becomes of a message.
    pub fn send(&mut self, from: Id, to: Id, now: Ticks) -> Fate {
        if self.plain {
            return Fate::Arrives(now.saturating_add(self.draw(from, to)));
        }
        if self.chance.happens(self.conditions.loss) {
            return Fate::Lost;
        }
        let first = self.arrival(from, to, now);
        if self.chance.happens(self.conditions.duplicate) {
            Fate::ArrivesTwice(first, self.arrival(from, to, now))
        } else {
            Fate::Arrives(first)
        }
    }

    /// When an application's own message arrives: it takes its own way, in no order relative to others, and is never
    /// lost. A cut holds it back, too.
    pub fn poke(&mut self, from: Id, to: Id, now: Ticks) -> Ticks {
        self.departure(from, to, now).saturating_add(self.draw(from, to))
    }

    fn arrival(&mut self, from: Id, to: Id, now: Ticks) -> Ticks {
        let mut arrival = self.departure(from, to, now).saturating_add(self.draw(from, to));
        if self.keeps_order {
            let last = self.last_arrival.entry((from, to)).or_default();
            arrival = arrival.max(*last);
            *last = arrival;
        }
        arrival
    }

    fn draw(&mut self, from: Id, to: Id) -> Ticks {
        self.conditions.delay.draw(from, to, self.seed, &mut self.chance)
    }

    /// When nothing stands between the two any more.
    fn departure(&self, from: Id, to: Id, now: Ticks) -> Ticks {
        let mut departure = now;
        while let Some(cut) = self
            .conditions
            .partitions
            .iter()
            .find(|cut| cut.from <= departure && departure < cut.to && cut.separates(from, to))
        {
            departure = cut.to;
        }
        departure
    }

    /// Ends all that is wrong with the network.
    pub fn heal(&mut self) {
        self.conditions.loss = 0.0;
        self.conditions.duplicate = 0.0;
        self.conditions.partitions.clear();
    }

    /// Whether anything is wrong with the network.
    pub fn is_faulty(&self) -> bool {
        self.conditions.loss > 0.0 || self.conditions.duplicate > 0.0 || !self.conditions.partitions.is_empty()
    }
}
