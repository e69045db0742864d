//! Reliable channels over a network that loses, repeats and reorders: what an algorithm says arrives once and in order,
//! or its session ends, and both sides are told.
//!
//! Each of two processes numbers its *sessions* with the other; a new life begins one, and so does the end of a
//! suspicion. A message names the session of who sends it, and that of who is to get it: it counts only if both are the
//! current ones. Within a session messages are numbered, acknowledged, and sent again until they are. Who hears of a
//! new session of the other ends its own: what was on its way is void, and the algorithm is told that the other has
//! crashed and is back, for it cannot know how much of what it said has arrived. Where both have begun a life since
//! they last heard of each other, each is told that the other is back. Who is suspected is sent nothing, and what is
//! kept for it is dropped.
//!
//! So the algorithm is told of crashes and returns in order with what is said to it: nothing of a life comes after the
//! notice of its end, and nothing of the next one before the notice of its beginning. That is what
//! [`Rejoining`](super::Rejoining) and all recovery assume.
//!
//! What arrives before one that is missing is kept, silently, and delivered after it. An acknowledgement counts all up
//! to the first that is missing. To ask for that one at once, by acknowledging what came early, makes half as many
//! messages again, for most of what is early has only overtaken another; to name what is kept, so that it is not sent
//! again, would save at most five messages in a hundred where as many are lost.
//!
//! **Assumes** nothing of the channels. That everything arrives at last needs a network that does not lose everything
//! for ever, and suspicions that end. Memory and what is sent at once are [bounded](Limits), whatever the other does:
//! who acknowledges too little for too long, though nobody suspects it, is treated as if it were suspected, until an
//! answer could have come. That can let two inside, as any false suspicion can. Numbers of sessions are only compared:
//! who lies about its own harms itself.
//!
//! **Costs** an acknowledgement for what is not answered within half a delay, as an answer carries it, and whatever is
//! sent again. Where nothing is to be acknowledged, nothing is sent, and no timer is armed.

mod links;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use self::links::{Link, Links, Session};
use crate::catalog::Entry;
use crate::clock::Number;
use crate::id::Id;
use crate::mutex::Mutex;
use crate::process::{self, Effect, Effects, Event, Notice, Process, Room, Ticks, perform};
use crate::setting::Setting;

/// A process whose messages arrive once and in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reliable<P: Process> {
    me: Id,
    /// How long to wait for an acknowledgement, and how long until one is sent without an answer that carries it.
    patience: Ticks,
    pause: Ticks,
    limits: Limits,
    process: P,
    links: Links<P::Message>,
    room: Room<P>,
}

/// How much is on its way to one process at a time, how much waits for that, and how much there is to speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// So many messages are sent before the first of them is acknowledged; the others wait. It is also the most that is
    /// sent again at once, and that a receiver keeps until one before it has come: all limits are everybody's.
    pub in_flight: usize,
    /// So many are kept for somebody. One more ends the session. It has to be more than the process says at once to
    /// one that it is told is back, or no session would ever begin.
    pub unacknowledged: usize,
    /// So many [resources](super::Resources) there are at most.
    pub resources: usize,
}

impl Default for Limits {
    /// An algorithm says a few messages to another before it waits for an answer, so that neither limit is met where
    /// there are answers; and nobody who is silent costs more memory than a thousand messages.
    fn default() -> Self {
        Limits { in_flight: 32, unacknowledged: 1024, resources: 128 }
    }
}

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message<M> {
    from: Session,
    /// The session that is spoken to, if it is known.
    to: Option<Session>,
    /// Whether the sender does not know yet that its session is known, and wants an answer that says so.
    asks: bool,
    /// All before this number have arrived.
    acknowledged: u64,
    /// A message of the algorithm, with its number; without one, it is only about sessions and acknowledgements.
    content: Option<(u64, M)>,
}

impl<M: process::Message> process::Message for Message<M> {
    fn kind(&self) -> &'static str {
        self.content.as_ref().map_or("acknowledgement", |(_, message)| message.kind())
    }

    fn number(&self) -> Option<u64> {
        self.content.as_ref().and_then(|(_, message)| message.number())
    }
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer<T> {
    /// An acknowledgement of this one: without any by then, everything is sent again.
    Acknowledgement(Id),
    /// Something to say to this one, which acknowledges what it has said. If there is nothing by then, that is done
    /// alone.
    Answer(Id),
    /// What the algorithm waits for.
    Algorithm(T),
}

impl<P: Process> Reliable<P> {
    /// A process before its first event.
    pub fn around(setting: &Setting, process: P) -> Self {
        Reliable::within(Limits::default(), setting, process)
    }

    /// The same with other limits, which everybody has to share.
    pub fn within(limits: Limits, setting: &Setting, process: P) -> Self {
        let bound = setting.group.delay_bound;
        let pause = bound / 2;
        let patience = bound.saturating_mul(2).saturating_add(pause).saturating_add(1);
        let links = Links::new(setting.me, setting.n());
        Reliable { me: setting.me, patience, pause, limits, process, links, room: Room::new() }
    }

    /// The process itself.
    pub fn process(&self) -> &P {
        &self.process
    }

    fn start(&mut self, incarnation: u64, saved: Option<P::Stable>, effects: &mut Effects<Self>) {
        if incarnation > 1 {
            // Nothing is known of the others, and they know nothing of this life.
            for link in self.links.values_mut() {
                link.mine = Session { life: incarnation, count: 0 };
                link.theirs = None;
                link.is_established = false;
            }
        }
        self.happen(Event::Start { incarnation, saved }, effects);
        let strangers: Vec<Id> =
            self.links.iter().filter(|(_, link)| !link.is_established).map(|(other, _)| other).collect();
        for other in strangers {
            self.introduce(other, effects);
        }
    }

    fn on_message(&mut self, from: Id, message: Message<P::Message>, effects: &mut Effects<Self>) {
        let Some(link) = self.links.get_mut(from) else {
            return effects.unexpected(from, "a message from outside the group");
        };
        let Message { from: session, to, asks, acknowledged, content } = message;
        if link.is_mute() || session < link.latest {
            return;
        }
        link.latest = session;
        if link.theirs != Some(session) {
            let is_back_again = link.theirs.is_some_and(|theirs| theirs.life != session.life);
            if link.is_established || is_back_again {
                return self.begin_again(from, session, effects);
            }
            link.theirs = Some(session);
            let knows_no_former = to.is_none_or(|to| to == link.mine);
            if link.mine.begins_later_life() && session.begins_later_life() && knows_no_former {
                self.happen(Event::Notice(Notice::Trust(from)), effects);
            }
        }
        let Some(link) = self.links.get_mut(from) else { return };
        if to != Some(link.mine) {
            // It does not know our session yet.
            return self.speak(from, effects);
        }
        if !link.is_established {
            link.is_established = true;
            self.transmit(from, 0, effects);
            self.await_acknowledgement(from, effects);
        }
        self.on_acknowledgement(from, acknowledged, effects);
        match content {
            Some((number, content)) => self.on_content(from, number, content, effects),
            None if asks => self.speak(from, effects),
            None => {}
        }
    }

    /// Our session is over: the other has begun a new one. The algorithm cannot know what of it has arrived.
    fn begin_again(&mut self, with: Id, theirs: Session, effects: &mut Effects<Self>) {
        let Some(link) = self.links.get_mut(with) else { return };
        link.begin(Some(theirs));
        self.happen(Event::Notice(Notice::Suspect(with)), effects);
        self.happen(Event::Notice(Notice::Trust(with)), effects);
        self.introduce(with, effects);
    }

    /// Our session is over: the other has not acknowledged anything for too long.
    fn overflow(&mut self, with: Id, effects: &mut Effects<Self>) {
        let Some(link) = self.links.get_mut(with) else { return };
        link.is_overfull = true;
        link.forget();
        self.happen(Event::Notice(Notice::Suspect(with)), effects);
        effects.set_timer(Timer::Acknowledgement(with), self.patience..=self.patience);
    }

    fn on_acknowledgement(&mut self, from: Id, acknowledged: u64, effects: &mut Effects<Self>) {
        let Some(link) = self.links.get_mut(from) else { return };
        let in_flight = link.in_flight(self.limits);
        let Ok(arrived @ 1..) = usize::try_from(acknowledged.saturating_sub(link.first)) else { return };
        if arrived > in_flight {
            return effects.unexpected(from, "an acknowledgement of a message that was not sent");
        }
        link.unacknowledged.drain(..arrived);
        link.first = acknowledged;
        // Their place is for those that have waited.
        self.transmit(from, in_flight - arrived, effects);
        self.await_acknowledgement(from, effects);
    }

    fn on_content(&mut self, from: Id, number: u64, content: P::Message, effects: &mut Effects<Self>) {
        let Some(link) = self.links.get_mut(from) else { return };
        if number >= link.expected {
            if number - link.expected >= self.limits.in_flight as u64 {
                return effects.unexpected(from, "a message beyond the window of messages in transit");
            }
            if number > link.expected {
                // One before it is missing, and will come again. The acknowledgement of that one is this one's, too.
                link.early.insert(number, content);
                return;
            }
            let (session, owed_before) = (link.mine, link.owed);
            link.arrive();
            while link.early.contains_key(&link.expected) {
                link.arrive();
            }
            self.happen(Event::Receive { from, message: content }, effects);
            while let Some(message) = self.links.get_mut(from).and_then(Link::next) {
                self.happen(Event::Receive { from, message }, effects);
            }
            // If it was answered, or told of a new session, which has ended this one, nothing is owed any more.
            let Some(link) = self.links.get(from).filter(|link| link.owed > 0 && link.mine == session) else { return };
            if 2 * link.owed <= self.limits.in_flight {
                if owed_before == 0 {
                    effects.set_timer(Timer::Answer(from), self.pause..=self.pause);
                }
                return;
            }
        }
        // It was said again, as it was not acknowledged; or the other has to wait before it may say more.
        self.speak(from, effects);
    }

    fn acknowledge(&mut self, to: Id, effects: &mut Effects<Self>) {
        if self.links.get(to).is_some_and(|link| link.owed > 0) {
            self.speak(to, effects);
        }
    }

    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        let Some(link) = self.links.get_mut(id) else { return };
        let was_mute = link.is_mute();
        link.is_suspected = true;
        link.is_overfull = false;
        link.forget();
        effects.cancel_timer(Timer::Acknowledgement(id));
        if !was_mute {
            self.happen(Event::Notice(Notice::Suspect(id)), effects);
        }
    }

    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        if let Some(link) = self.links.get_mut(id)
            && link.is_suspected
        {
            link.is_suspected = false;
            self.take_back(id, effects);
        }
    }

    /// One that was taken for dead is not any more.
    fn take_back(&mut self, id: Id, effects: &mut Effects<Self>) {
        let Some(link) = self.links.get_mut(id) else { return };
        link.begin(None);
        self.happen(Event::Notice(Notice::Trust(id)), effects);
        self.introduce(id, effects);
    }

    /// Lets something happen to the algorithm.
    fn happen(&mut self, event: Event<P>, effects: &mut Effects<Self>) {
        let mut wanted = self.room.list(self.me);
        perform(&mut self.process, event, &mut wanted);
        let mut silent = BTreeSet::new();
        for effect in wanted.drain() {
            match effect {
                Effect::Send { to, message } => {
                    if !self.send(to, message, effects) {
                        silent.insert(to);
                    }
                }
                Effect::SetTimer { timer, after } => effects.set_timer(Timer::Algorithm(timer), after),
                Effect::CancelTimer(timer) => effects.cancel_timer(Timer::Algorithm(timer)),
                Effect::Save(stable) => effects.save(stable),
                Effect::Output(output) => effects.output(output),
                Effect::Unexpected { from: Some(from), why } => effects.unexpected(from, why),
                Effect::Unexpected { from: None, why } => effects.misused(why),
            }
        }
        self.room.keep(wanted);
        for other in silent {
            self.overflow(other, effects);
        }
    }

    /// Sends a message of the algorithm, and keeps it until it is acknowledged. Is there room for it?
    fn send(&mut self, to: Id, message: P::Message, effects: &mut Effects<Self>) -> bool {
        let Some(link) = self.links.get_mut(to) else { return true };
        if link.is_mute() {
            return true;
        }
        let before = link.unacknowledged.len();
        if before >= self.limits.unacknowledged {
            return false;
        }
        link.unacknowledged.push_back(message);
        // Before our session is known, the message waits for that.
        if link.is_established {
            self.transmit(to, before, effects);
            if before == 0 {
                self.await_acknowledgement(to, effects);
            }
        }
        true
    }

    /// Sends what may be on its way, without the first `skipped` of it, which are.
    fn transmit(&mut self, to: Id, skipped: usize, effects: &mut Effects<Self>) {
        let Some(link) = self.links.get_mut(to) else { return };
        if link.unacknowledged.len().min(self.limits.in_flight) > skipped && core::mem::take(&mut link.owed) > 0 {
            effects.cancel_timer(Timer::Answer(to));
        }
        let numbered = (link.first..).zip(&link.unacknowledged);
        for (number, message) in numbered.take(self.limits.in_flight).skip(skipped) {
            effects.send(to, link.say(Some((number, message.clone()))));
        }
    }

    fn await_acknowledgement(&self, of: Id, effects: &mut Effects<Self>) {
        let is_idle = self.links.get(of).is_none_or(|link| link.unacknowledged.is_empty());
        if is_idle {
            effects.cancel_timer(Timer::Acknowledgement(of));
        } else {
            effects.set_timer(Timer::Acknowledgement(of), self.patience..=self.patience);
        }
    }

    /// Says what there is to say without a message of the algorithm.
    fn speak(&mut self, to: Id, effects: &mut Effects<Self>) {
        if let Some(link) = self.links.get_mut(to) {
            if core::mem::take(&mut link.owed) > 0 {
                effects.cancel_timer(Timer::Answer(to));
            }
            effects.send(to, link.say(None));
        }
    }

    /// Tells of a session, until it is known.
    fn introduce(&mut self, to: Id, effects: &mut Effects<Self>) {
        if self.links.get(to).is_none_or(Link::is_mute) {
            return;
        }
        self.speak(to, effects);
        effects.set_timer(Timer::Acknowledgement(to), self.patience..=self.patience);
    }

    fn send_again(&mut self, to: Id, effects: &mut Effects<Self>) {
        let Some(link) = self.links.get_mut(to) else { return };
        if link.is_overfull {
            link.is_overfull = false;
            return self.take_back(to, effects);
        }
        if link.is_suspected {
            return;
        }
        if !link.is_established {
            return self.introduce(to, effects);
        }
        self.transmit(to, 0, effects);
        self.await_acknowledgement(to, effects);
    }
}

impl<M: Mutex> Mutex for Reliable<M> {
    const ENTRY: Entry = M::ENTRY;

    fn new(setting: &Setting) -> Self {
        Reliable::around(setting, M::new(setting))
    }

    fn stamp(&self) -> Number {
        self.process.stamp()
    }
}

impl<P: Process> Process for Reliable<P> {
    type Message = Message<P::Message>;
    type Input = P::Input;
    type Output = P::Output;
    type Timer = Timer<P::Timer>;
    type Stable = P::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => self.start(incarnation, saved, effects),
            Event::Input(input) => self.happen(Event::Input(input), effects),
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => self.trust(id, effects),
            Event::Notice(Notice::Leader(id)) => self.happen(Event::Notice(Notice::Leader(id)), effects),
            Event::Receive { from, message } => self.on_message(from, message, effects),
            Event::Timeout(Timer::Acknowledgement(of)) => self.send_again(of, effects),
            Event::Timeout(Timer::Answer(to)) => self.acknowledge(to, effects),
            Event::Timeout(Timer::Algorithm(timer)) => self.happen(Event::Timeout(timer), effects),
        }
    }
}
