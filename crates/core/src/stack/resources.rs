//! Named resources: one process of an algorithm for each, made when its name is first heard.
//!
//! Resources know nothing of each other; each has its own requests, its own clock, its own fences. What concerns all of
//! them (crashes, returns, who leads, numbers that were observed) is told to each; and to one that is made later, as
//! if it had been there from the beginning and nobody had asked for it. So **idle resources cost nothing**: no message,
//! no timer, no memory before their first use. Only where somebody crashes do those that were used hear of it.
//!
//! There is one [election](super::Elected) for all of them, not one each. A resource is told who leads once somebody
//! has crashed; before, everybody follows the algorithm as its paper has it, whoever leads. And who leads may not have
//! heard of a resource yet: so who asks for it says that it is there. Who has come back says so of every resource, to
//! everybody: what its former life has promised, it has to hear from those to whom it was promised.
//!
//! What a resource has to keep through a crash is saved for it alone: a save is as large as the change.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Member, Request, Resigned, Resigning, Withdrawable};
use crate::catalog::Recovery;
use crate::clock::Number;
use crate::id::{Id, IdSet};
use crate::mutex::{self, Mutex};
use crate::process::{self, Effects, Event, Notice, Process, perform};
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
    /// The highest number that was observed for all.
    observed: Number,
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
        let name = String::deserialize(deserializer)?;
        if name.len() > Name::LONGEST {
            return Err(D::Error::custom("a name is too long"));
        }
        Ok(Name(name.into()))
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
            dead: IdSet::new(),
            back: IdSet::new(),
            leader: None,
            is_leader_wanted: false,
            leaderless: BTreeSet::new(),
            announced: BTreeSet::new(),
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
        if self.observed > Number::ZERO {
            self.step_of(resource, Event::Input(Request::Observe(self.observed)), effects);
        }
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
        let mut wanted = Effects::<M>::new(effects.me());
        let missed = process.algorithm().misses_leader();
        perform(process, event, &mut wanted);
        let (misses, is_asking) = (process.algorithm().misses_leader(), process.is_asking());
        effects.adopt(
            &mut wanted,
            |message| Message { resource: resource.clone(), message: Some(message) },
            |timer| Timer { resource: resource.clone(), timer },
            |effects, stable| effects.save(Saved(BTreeMap::from([(resource.clone(), stable)]))),
            |effects, output| effects.output(Output::Of(resource.clone(), output)),
        );
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
            return;
        }
        self.tell_all(|| Event::Notice(notice), effects);
    }

    fn on_input(&mut self, input: Input, effects: &mut Effects<Self>) {
        match input {
            Input::Of(resource, request) => self.happen(&resource, Event::Input(request), effects),
            Input::Observe(stamp) => {
                self.observed = self.observed.max(stamp);
                self.tell_all(|| Event::Input(Request::Observe(stamp)), effects);
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

impl<M: Mutex> Member for Resources<M> {
    fn highest_seen(&self) -> Number {
        self.resources.values().map(|resource| resource.stamp()).max().unwrap_or_default().max(self.observed)
    }

    fn highest_saved(Saved(saved): &Saved<M::Stable>) -> Number {
        saved.values().map(M::saved_stamp).max().unwrap_or_default()
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
            }
            Event::Input(input) => self.on_input(input, effects),
            Event::Notice(notice) => self.on_notice(notice, effects),
            Event::Receive { from, message: Message { resource, message } } => {
                if self.resources.len() >= self.most && !self.resources.contains_key(&resource) {
                    return effects.unexpected(from, "one resource more than there may be");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Fence;
    use crate::mutex::{Central, Majority, RicartAgrawala};
    use crate::process::{Effect, EffectOf, Stable, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    fn resources<M: Mutex>(me: u32, n: u32) -> Resources<M> {
        let mut resources = Resources::new(&test_setting(&M::ENTRY, me, n, &[]));
        assert_eq!(effects_of(me, &mut resources, Event::Start { incarnation: 1, saved: None }), vec![]);
        resources
    }

    fn enter<M: Mutex>(name: &str) -> Event<Resources<M>> {
        Event::Input(Input::Of(Name::new(name), Request::Enter))
    }

    fn suspect<M: Mutex>(id: u32) -> Event<Resources<M>> {
        Event::Notice(Notice::Suspect(Id::new(id)))
    }

    fn leader<M: Mutex>(id: u32) -> Event<Resources<M>> {
        Event::Notice(Notice::Leader(Id::new(id)))
    }

    /// Whom the effects are sent to, with their kinds.
    fn sent<M: Mutex>(effects: &[EffectOf<Resources<M>>]) -> Vec<(u32, &'static str)> {
        let sends = effects.iter().filter_map(|effect| match effect {
            Effect::Send { to, message } => Some((to.number(), process::Message::kind(message))),
            Effect::SetTimer { .. }
            | Effect::CancelTimer(_)
            | Effect::Save(_)
            | Effect::Output(_)
            | Effect::Unexpected { .. } => None,
        });
        sends.collect()
    }

    #[test]
    fn what_nobody_asks_for_costs_nothing() {
        let mut second = resources::<Central>(2, 3);
        assert_eq!(effects_of(2, &mut second, suspect(1)), vec![]);
        assert_eq!(effects_of(2, &mut second, Event::Notice(Notice::Trust(Id::new(1)))), vec![]);
        assert_eq!(effects_of(2, &mut second, Event::Input(Input::Observe(Number::ZERO.next()))), vec![]);
        assert!(second.is_empty() && !second.lacks_leader());
        assert_eq!(effects_of(2, &mut second, Event::Input(Input::Lead)), vec![]);
        assert!(second.lacks_leader(), "the application wants to know");
    }

    #[test]
    fn resources_know_nothing_of_each_other() {
        let mut first = resources::<Central>(1, 1);
        for name in ["printer", "scanner"] {
            let entered = effects_of(1, &mut first, enter(name));
            let Some(Effect::Output(Output::Of(of, mutex::Output::Entered { fence }))) = entered.last() else {
                panic!("{entered:?}");
            };
            let count = Number::ZERO.next();
            assert_eq!((of.as_str(), *fence), (name, Fence::counted(crate::clock::Epoch::FIRST, count)));
        }
        assert_eq!(first.len(), 2);
    }

    #[test]
    fn before_anybody_has_crashed_the_algorithm_is_not_told_who_leads() {
        let mut second = resources::<Central>(2, 3);
        assert_eq!(effects_of(2, &mut second, leader(3)), vec![Effect::Output(Output::Leader(Id::new(3)))]);
        assert_eq!(sent::<Central>(&effects_of(2, &mut second, enter("printer"))), [(1, "request")]);
        // Now it has to know.
        effects_of(2, &mut second, suspect(1));
        assert!(!second.lacks_leader());
    }

    /// Process 3 leads, and has not heard of the printer.
    #[test]
    fn who_leads_is_told_once_of_a_resource_that_is_asked_for() {
        let mut second = resources::<Central>(2, 4);
        effects_of(2, &mut second, suspect(1));
        effects_of(2, &mut second, leader(3));
        assert_eq!(sent::<Central>(&effects_of(2, &mut second, enter("printer"))), [(3, "resource")]);
        assert_eq!(sent::<Central>(&effects_of(2, &mut second, suspect(4))), []);
        let mut third = resources::<Central>(3, 4);
        effects_of(3, &mut third, suspect(1));
        effects_of(3, &mut third, leader(3));
        let told = Message { resource: Name::new("printer"), message: None };
        let told = Event::Receive { from: Id::new(2), message: told };
        assert_eq!(sent::<Central>(&effects_of(3, &mut third, told)), [(2, "inquire"), (4, "inquire")]);
        // Another one leads, and is told as well.
        effects_of(2, &mut second, suspect(3));
        assert_eq!(sent::<Central>(&effects_of(2, &mut second, leader(4))), [(4, "resource")]);
    }

    #[test]
    fn a_save_is_of_one_resource_and_the_next_life_has_all() {
        let mut first = resources::<RicartAgrawala>(1, 1);
        let mut kept: Option<Saved<Number>> = None;
        for name in ["printer", "scanner"] {
            for effect in effects_of(1, &mut first, enter(name)) {
                if let Effect::Save(saved) = effect {
                    assert_eq!(saved.0.keys().map(Name::as_str).collect::<Vec<_>>(), [name]);
                    process::keep(&mut kept, saved);
                }
            }
        }
        let mut kept = kept.unwrap();
        assert_eq!(kept.0.len(), 2);
        kept.absorb(Saved(BTreeMap::new()));
        assert_eq!(kept.0.len(), 2);
        let mut second = Resources::<RicartAgrawala>::new(&test_setting(&RicartAgrawala::ENTRY, 1, 1, &[]));
        effects_of(1, &mut second, Event::Start { incarnation: 2, saved: Some(kept.clone()) });
        effects_of(1, &mut second, enter("scanner"));
        assert!(second.highest_seen() > kept.0[&Name::new("scanner")]);
    }

    /// In its second life, of four; nobody else has crashed.
    #[test]
    fn who_has_come_back_tells_everybody_of_a_resource_and_is_led() {
        let mut second = Resources::<Central>::new(&test_setting(&Central::ENTRY, 2, 4, &[]));
        effects_of(2, &mut second, Event::Start { incarnation: 2, saved: None });
        effects_of(2, &mut second, leader(3));
        let told = sent::<Central>(&effects_of(2, &mut second, enter("printer")));
        assert_eq!(told[..3], [(1, "resource"), (3, "resource"), (4, "resource")]);
        // Who was told of the return knows of the resource now, and has something to say about it.
        let mut third = resources::<Majority>(3, 4);
        effects_of(3, &mut third, suspect(2));
        effects_of(3, &mut third, Event::Notice(Notice::Trust(Id::new(2))));
        let told = Message { resource: Name::new("printer"), message: None };
        let told = Event::Receive { from: Id::new(2), message: told };
        assert_eq!(sent::<Majority>(&effects_of(3, &mut third, told)), [(2, "disclaim")]);
    }

    #[test]
    fn others_cannot_make_more_resources_than_there_may_be() {
        let setting = test_setting(&RicartAgrawala::ENTRY, 1, 2, &[]);
        let mut first = Resources::<RicartAgrawala>::within(2, &setting);
        effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None });
        let hear = |first: &mut Resources<RicartAgrawala>, name: &str| {
            let message = Message { resource: Name::new(name), message: None };
            effects_of(1, first, Event::Receive { from: Id::new(2), message })
        };
        for name in ["printer", "scanner", "printer"] {
            let effects = hear(&mut first, name);
            assert!(!effects.iter().any(|effect| matches!(effect, Effect::Unexpected { .. })), "{effects:?}");
        }
        assert!(matches!(hear(&mut first, "one more")[..], [Effect::Unexpected { .. }]));
        assert_eq!(first.len(), 2);
    }
}
