//! Named resources: one process of an algorithm for each, made when its name is first heard.
//!
//! Resources know nothing of each other; each has its own requests, its own clock, its own fences. What concerns all of
//! them (crashes, returns, who leads) is told to each; and to one that is made later, as if it had been there from the
//! beginning and nobody had asked for it. A number that was observed each is told before the next thing that happens to
//! it. So **idle resources cost nothing**: no message,
//! no timer, no memory before their first use. Only where somebody crashes do those that were used hear of it.
//!
//! There is one [election](super::Elected) for all of them, not one each. A resource is told who leads once somebody
//! has crashed, or it misses a leader because of what others say; before, everybody follows the algorithm as its paper
//! has it, whoever leads. And who leads may not have heard of a resource yet: so who asks for it says that it is there.
//! Who has come back says so of every resource, to everybody: what its former life has promised, it has to hear from
//! those to whom it was promised.
//!
//! What a resource has to keep through a crash is saved for it alone: a save is as large as the change.

#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Member, Request, Resigned, Resigning, Withdrawable};
use crate::catalog::Recovery;
use crate::clock::Number;
use crate::id::{Id, IdSet};
use crate::mutex::{self, Mutex};
use crate::process::{self, Effects, Event, Notice, Process, Room, perform};
use crate::setting::Setting;

/// The name of a resource.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// A mutual exclusion algorithm for any number of resources.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resources<M: Mutex> {
    n: u32,
    /// How each begins.
    unborn: Withdrawable<M>,
    life: u64,
    /// So many there may be.
    most: usize,
    resources: BTreeMap<Name, Withdrawable<M>>,
    /// What former lives have saved of those that were not heard of in this one.
    saved: BTreeMap<Name, M::Stable>,
    /// The highest number that was observed for all; and the highest that any of them has seen, or has saved.
    observed: Number,
    highest: Number,
    /// Who has crashed; and who has crashed and is back.
    dead: IdSet,
    back: IdSet,
    /// Who leads, as far as is known, and whether the application wants to know.
    leader: Option<Id>,
    is_leader_wanted: bool,
    /// The resources that miss a leader.
    leaderless: BTreeSet<Name>,
    /// Those of which we have told who leads.
    announced: BTreeSet<Name>,
    room: Room<M>,
}

/// What the application asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Something of one resource.
    Of(Name, Request),
    /// For all resources: a message of the application has arrived that carries this stamp.
    Observe(Number),
    /// From now on it wants to know who leads.
    Lead,
    /// There is such a resource, though nobody has asked for it yet.
    Begin(Name),
}

/// What the application is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// Something about one resource.
    Of(Name, mutex::Output),
    /// Who leads.
    Leader(Id),
}

/// What is said about a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message<M> {
    /// Which.
    pub resource: Name,
    /// What the algorithm says. Nothing, if only that there is such a resource.
    pub message: Option<M>,
}

/// What a resource waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer<T> {
    /// Which.
    pub resource: Name,
    /// What for.
    pub timer: T,
}

/// What resources have to keep: of each that is named, all of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Saved<S>(pub BTreeMap<Name, S>);

impl Name {
    /// The longest name that is accepted from others, in bytes.
    pub const LONGEST: usize = 512;

    /// This name. Which names are sensible is up to the driver.
    pub fn new(name: &str) -> Name {
        Name(name.into())
    }

    /// As a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameReader)
    }
}

/// Reads a name where it is, without a copy of its own.
struct NameReader;

impl Visitor<'_> for NameReader {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a name of at most {} bytes", Name::LONGEST)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
        if name.len() > Name::LONGEST { Err(E::custom("a name is too long")) } else { Ok(Name::new(name)) }
    }
}

impl<M: process::Message> process::Message for Message<M> {
    fn kind(&self) -> &'static str {
        self.message.as_ref().map_or("resource", process::Message::kind)
    }

    fn number(&self) -> Option<u64> {
        self.message.as_ref().and_then(process::Message::number)
    }
}

impl<S: process::Stable> process::Stable for Saved<S> {
    fn absorb(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

impl<M: Mutex> Resources<M> {
    /// So many resources there are at most, if nothing is said.
    pub const MOST: usize = 1 << 18;

    /// No resource yet.
    pub fn new(setting: &Setting) -> Self {
        Resources::within(Self::MOST, setting)
    }

    /// No resource yet, and never more than these: of others, others may not speak. Who asks for one here sees to it
    /// that there is room.
    pub fn within(most: usize, setting: &Setting) -> Self {
        Resources {
            n: setting.n(),
            most,
            unborn: Withdrawable::new(setting),
            life: 0,
            resources: BTreeMap::new(),
            saved: BTreeMap::new(),
            observed: Number::ZERO,
            highest: Number::ZERO,
            dead: IdSet::new(),
            back: IdSet::new(),
            leader: None,
            is_leader_wanted: false,
            leaderless: BTreeSet::new(),
            announced: BTreeSet::new(),
            room: Room::new(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.resources.len()
    }

    /// Whether this is one of them.
    pub fn contains(&self, resource: &Name) -> bool {
        self.resources.contains_key(resource)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Who leads, as far as is known.
    pub fn leader(&self) -> Option<Id> {
        self.leader
    }

    /// Lets something happen to a resource, which is made if it is new.
    fn happen(&mut self, resource: &Name, event: Event<Withdrawable<M>>, effects: &mut Effects<Self>) {
        self.make_if_new(resource, effects);
        self.step_of(resource, event, effects);
    }

    fn make_if_new(&mut self, resource: &Name, effects: &mut Effects<Self>) {
        if !self.resources.contains_key(resource) {
            self.make(resource, effects);
        }
    }

    /// A resource that has been there from the beginning, unused.
    fn make(&mut self, resource: &Name, effects: &mut Effects<Self>) {
        self.resources.insert(resource.clone(), self.unborn.clone());
        let saved = self.saved.remove(resource);
        self.step_of(resource, Event::Start { incarnation: self.life, saved }, effects);
        for id in Vec::from_iter(self.dead.iter()) {
            self.step_of(resource, Event::Notice(Notice::Suspect(id)), effects);
        }
        // Not that they were dead: who is told of all others that they are would go on alone, were it for a moment.
        for id in Vec::from_iter(self.back.iter()) {
            self.step_of(resource, Event::Notice(Notice::Trust(id)), effects);
        }
        if let Some(leader) = self.leader
            && self.is_led()
        {
            self.step_of(resource, Event::Notice(Notice::Leader(leader)), effects);
        }
        if self.life > 1 {
            // What a former life has promised only the others know, and they say it when they have heard of the
            // resource.
            let living = effects.me().others(self.n).filter(|&other| !self.dead.contains(other));
            effects.multicast(living, &Message { resource: resource.clone(), message: None });
        }
    }

    fn step_of(&mut self, resource: &Name, event: Event<Withdrawable<M>>, effects: &mut Effects<Self>) {
        let Some(process) = self.resources.get_mut(resource) else { return };
        let mut wanted = self.room.list(effects.me());
        let missed = process.algorithm().misses_leader();
        if process.stamp() < self.observed && !matches!(event, Event::Start { .. }) {
            perform(process, Event::Input(Request::Observe(self.observed)), &mut wanted);
        }
        perform(process, event, &mut wanted);
        self.highest = self.highest.max(process.stamp());
        let (misses, is_asking) = (process.algorithm().misses_leader(), process.is_asking());
        effects.adopt(
            &mut wanted,
            |message| Message { resource: resource.clone(), message: Some(message) },
            |timer| Timer { resource: resource.clone(), timer },
            |effects, stable| effects.save(Saved(BTreeMap::from([(resource.clone(), stable)]))),
            |effects, output| effects.output(Output::Of(resource.clone(), output)),
        );
        self.room.keep(wanted);
        match (missed, misses, self.leader) {
            // Nobody has to be elected: somebody is.
            (false, true, Some(leader)) => self.step_of(resource, Event::Notice(Notice::Leader(leader)), effects),
            (false, true, None) => _ = self.leaderless.insert(resource.clone()),
            (true, false, _) => _ = self.leaderless.remove(resource),
            (true, true, _) | (false, false, _) => {}
        }
        if is_asking {
            self.announce(resource, effects);
        }
    }

    /// Tells who leads that there is such a resource.
    fn announce(&mut self, resource: &Name, effects: &mut Effects<Self>) {
        let elects = const { matches!(M::ENTRY.recovery, Some(Recovery { elects: true, .. })) };
        if elects
            && self.is_led()
            && let Some(leader) = self.leader
            && leader != effects.me()
            && self.announced.insert(resource.clone())
        {
            effects.send(leader, Message { resource: resource.clone(), message: None });
        }
    }

    /// Whether the resources are told who leads: somebody has crashed, be it a former life.
    fn is_led(&self) -> bool {
        self.life > 1 || !self.dead.is_empty() || !self.back.is_empty()
    }

    fn tell_all(&mut self, event: impl Fn() -> Event<Withdrawable<M>>, effects: &mut Effects<Self>) {
        for resource in Vec::from_iter(self.resources.keys().cloned()) {
            self.step_of(&resource, event(), effects);
        }
    }

    fn on_notice(&mut self, notice: Notice, effects: &mut Effects<Self>) {
        let led_before = self.leader;
        match notice {
            Notice::Suspect(id) => {
                self.dead.insert(id);
                self.back.remove(id);
                self.leader = self.leader.filter(|&leader| leader != id);
            }
            Notice::Trust(id) => {
                self.dead.remove(id);
                self.back.insert(id);
            }
            Notice::Leader(id) => {
                self.leader = Some(id);
            }
        }
        if self.leader != led_before {
            self.announced.clear();
            if let Some(leader) = self.leader {
                effects.output(Output::Leader(leader));
            }
        }
        if matches!(notice, Notice::Leader(_)) && !self.is_led() {
            // Only those that have heard from others that they need one.
            for resource in self.leaderless.clone() {
                self.step_of(&resource, Event::Notice(notice), effects);
            }
        } else {
            self.tell_all(|| Event::Notice(notice), effects);
        }
    }

    fn on_input(&mut self, input: Input, effects: &mut Effects<Self>) {
        match input {
            Input::Of(resource, request) => self.happen(&resource, Event::Input(request), effects),
            Input::Observe(stamp) => {
                self.observed = self.observed.max(stamp);
                self.highest = self.highest.max(stamp);
            }
            Input::Lead => self.is_leader_wanted = true,
            Input::Begin(resource) => self.make_if_new(&resource, effects),
        }
    }
}

impl<M: Mutex> Resigning for Resources<M> {
    fn resign(&self) -> Resigned<Self> {
        let mut resigned = Resigned { told: Vec::new(), asked: Vec::new() };
        for (name, resource) in &self.resources {
            let (told, asks) = resource.resign();
            resigned.told.extend(told.iter().map(|&output| Output::Of(name.clone(), output)));
            resigned.asked.extend(asks.map(|request| Input::Of(name.clone(), request)));
        }
        resigned.asked.extend(self.is_leader_wanted.then_some(Input::Lead));
        resigned
    }
}

fn highest_saved<M: Mutex>(saved: &BTreeMap<Name, M::Stable>) -> Number {
    saved.values().map(M::saved_stamp).max().unwrap_or_default()
}

impl<M: Mutex> Member for Resources<M> {
    fn highest_seen(&self) -> Number {
        self.highest
    }

    fn highest_saved(Saved(saved): &Saved<M::Stable>) -> Number {
        highest_saved::<M>(saved)
    }

    fn observing(stamp: Number) -> Input {
        Input::Observe(stamp)
    }

    fn lacks_leader(&self) -> bool {
        self.leader.is_none() && (self.is_leader_wanted || !self.leaderless.is_empty())
    }
}

impl<M: Mutex> Process for Resources<M> {
    type Message = Message<M::Message>;
    type Input = Input;
    type Output = Output;
    type Timer = Timer<M::Timer>;
    type Stable = Saved<M::Stable>;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => {
                self.life = incarnation;
                self.saved = saved.map(|Saved(saved)| saved).unwrap_or_default();
                self.highest = highest_saved::<M>(&self.saved);
            }
            Event::Input(input) => self.on_input(input, effects),
            Event::Notice(notice) => self.on_notice(notice, effects),
            Event::Receive { from, message: Message { resource, message } } => {
                if self.resources.len() >= self.most && !self.resources.contains_key(&resource) {
                    return effects.unexpected(from, "a resource beyond the limit");
                }
                self.make_if_new(&resource, effects);
                if let Some(message) = message {
                    self.step_of(&resource, Event::Receive { from, message }, effects);
                }
            }
            Event::Timeout(Timer { resource, timer }) => self.step_of(&resource, Event::Timeout(timer), effects),
        }
    }
}
