//! What a process is, and the words every algorithm and every driver share.
//!
//! > A process is a state and a transition function. It never acts; it only says what it wants done.
//! > Who carries that out (a seeded scheduler, an exhaustive search, a network) is not its business.
//!
//! # Writing a process
//! Implement [`Process`]: four alphabets (messages, inputs, outputs, timers), what must survive a crash, and
//! [`Process::step`]. A step gets one [`Event`] and answers by adding [`Effect`]s to an [`Effects`]. It cannot fail,
//! block, read a clock or draw a random number, because nothing within its reach does.
//!
//! # Driving a process
//! 1. Build it, then [`perform`] [`Event::Start`] first, and exactly once per life.
//! 2. [`perform`] every later event, one at a time. Never call `step` yourself: `perform` also handles what a process
//!    says to itself, which is done at once and is not traffic.
//! 3. Carry out the effects **in order**. A [`Effect::Save`] is on disk before any later `Send` or `Output` of the same
//!    step takes effect. A crash may fall between any two effects.
//! 4. A timer asks for a range of delays and the driver chooses one: the simulator by its seed, the explorer every
//!    order, the network by real randomness. Setting an armed timer replaces it; cancelling an idle one does nothing.
//!
//! # Promises
//! What a peer can cause is never a panic: a message that breaks an assumption becomes [`Effect::Unexpected`], a
//! finding in the laboratory, a logged and counted event on the network. What only our own bug can break is asserted.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;
use core::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::Number;
use crate::id::Id;

/// A duration, in the driver's smallest unit of time.
pub type Ticks = u64;

/// What every state, message and effect is: a plain value that can be copied, compared, printed and hashed.
pub trait Value: Clone + Debug + Eq + Hash + Send + Sync + 'static {}

impl<T: Clone + Debug + Eq + Hash + Send + Sync + 'static> Value for T {}

/// What processes say to each other.
pub trait Message: Value + Serialize + DeserializeOwned {
    /// What kind of message this is, in one lower-case word: `request`, `reply`. Costs are counted by it.
    fn kind(&self) -> &'static str;

    /// The number that people follow in a conversation (a timestamp, a count), if it carries one.
    fn number(&self) -> Option<u64> {
        None
    }

    /// The numbers in it that [tell tries apart](Process::tries), each with whose tries they are, given who has sent it
    /// to whom.
    fn tries(&mut self, from: Id, to: Id) -> Vec<(Id, &mut Number)> {
        let _ = (from, to);
        Vec::new()
    }
}

/// What must survive a crash.
pub trait Stable: Value + Serialize + DeserializeOwned {
    /// Something is saved after this: what is kept from then on. It takes the place of this, unless a process saves
    /// only what has changed.
    fn absorb(&mut self, later: Self) {
        *self = later;
    }
}

impl Stable for () {}

impl Stable for u64 {}

/// Saves something after all that was saved before.
pub fn keep<S: Stable>(kept: &mut Option<S>, saved: S) {
    match kept {
        Some(kept) => kept.absorb(saved),
        None => *kept = Some(saved),
    }
}

/// A state and a transition function. See the [module](self) for how to write and how to drive one.
pub trait Process: Value {
    /// What it says to its peers.
    type Message: Message;
    /// What its application asks of it.
    type Input: Value;
    /// What it tells its application.
    type Output: Value;
    /// Its timers, by name. [`core::convert::Infallible`] where there is none.
    type Timer: Value + Ord;
    /// What must survive a crash. `()` where nothing must.
    type Stable: Stable;

    /// The transition function: one event in, a new state and any number of effects out.
    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>);

    /// The numbers in its state that only tell one try of a process from another, each with whose tries they are, if
    /// the algorithm tries again and again.
    ///
    /// Such numbers of one process are compared with each other, and counted on from the latest of them; nothing else
    /// is done with them. So if all that there are of a process, in all states and messages, were smaller by the same
    /// amount, everything would go on in the same way. Where nothing bounds the tries, the explorer goes by that: it
    /// finds that a run goes round although its numbers grow.
    fn tries(&mut self) -> Option<Vec<(Id, &mut Number)>> {
        None
    }
}

/// What can happen to a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<P: Process> {
    /// It begins a life: the first event, once.
    Start {
        /// How many lives this process has had, this one included: 1 at first, more after a crash.
        incarnation: u64,
        /// What it had saved, if it ever saved anything.
        saved: Option<P::Stable>,
    },
    /// Its application asks for something.
    Input(P::Input),
    /// Its environment believes something about another process.
    Notice(Notice),
    /// A message arrives.
    Receive {
        /// Who sent it. The driver vouches for this.
        from: Id,
        /// What it says.
        message: P::Message,
    },
    /// A timer that it had set, and neither replaced nor cancelled, has run out.
    Timeout(P::Timer),
}

/// What the environment believes of a process. The same for every algorithm.
///
/// Without notices, an algorithm is what its paper says; notices are what recovery is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// It is thought to have crashed.
    Suspect(Id),
    /// It is thought to live, and may have forgotten everything.
    Trust(Id),
    /// It is thought to lead.
    Leader(Id),
}

/// What a process wants done. Plain values: compared in tests, recorded, replayed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<M, O, T, S> {
    /// Send a message.
    Send {
        /// To whom; never to oneself (see [`Effects::send`]).
        to: Id,
        /// What to say.
        message: M,
    },
    /// Wake me after some time from this range; replaces the same timer if it is armed.
    SetTimer {
        /// Which of its timers.
        timer: T,
        /// The driver chooses a delay from this range.
        after: RangeInclusive<Ticks>,
    },
    /// Do not wake me for this one after all.
    CancelTimer(T),
    /// Keep this through any crash from here on, in place of [what was kept before](Stable::absorb).
    Save(S),
    /// Tell the application.
    Output(O),
    /// Something arrived that the algorithm's assumptions exclude; it was ignored.
    Unexpected {
        /// Who caused it: a peer, or the application (`None`).
        from: Option<Id>,
        /// What was wrong, for people.
        why: &'static str,
    },
}

/// The effects of steps, in order, until the driver takes them.
///
/// Generic over the alphabets rather than over the process, so that a process around a process that changes no alphabet
/// hands its own effects on. Write it as [`Effects<P>`](Effects).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectList<M, O, T, S> {
    me: Id,
    effects: Vec<Effect<M, O, T, S>>,
    /// What the process said to itself and has not heard yet.
    to_self: VecDeque<M>,
}

/// The effects of a process `P`.
pub type Effects<P> =
    EffectList<<P as Process>::Message, <P as Process>::Output, <P as Process>::Timer, <P as Process>::Stable>;

/// One effect of a process `P`.
pub type EffectOf<P> =
    Effect<<P as Process>::Message, <P as Process>::Output, <P as Process>::Timer, <P as Process>::Stable>;

impl<M: Clone, O, T, S> EffectList<M, O, T, S> {
    /// An empty list for the process `me`.
    pub fn new(me: Id) -> Self {
        EffectList { me, effects: Vec::new(), to_self: VecDeque::new() }
    }

    /// Whose effects they are.
    pub fn me(&self) -> Id {
        self.me
    }

    /// Uses this list for another process, so that a driver of many needs only one. It must have been emptied.
    pub fn reset(&mut self, me: Id) {
        debug_assert!(self.effects.is_empty() && self.to_self.is_empty(), "effects of another process were left");
        self.me = me;
    }

    /// Sends a message. What a process says to itself is heard at once, and is no traffic.
    pub fn send(&mut self, to: Id, message: M) {
        if to == self.me {
            self.to_self.push_back(message);
        } else {
            self.effects.push(Effect::Send { to, message });
        }
    }

    /// Sends the same message to each of these.
    pub fn multicast(&mut self, to: impl IntoIterator<Item = Id>, message: &M) {
        for to in to {
            self.send(to, message.clone());
        }
    }

    /// Arms a timer, or arms it anew.
    pub fn set_timer(&mut self, timer: T, after: RangeInclusive<Ticks>) {
        self.effects.push(Effect::SetTimer { timer, after });
    }

    /// Disarms a timer.
    pub fn cancel_timer(&mut self, timer: T) {
        self.effects.push(Effect::CancelTimer(timer));
    }

    /// Keeps something through any crash from here on.
    pub fn save(&mut self, stable: S) {
        self.effects.push(Effect::Save(stable));
    }

    /// Keeps something through any crash from here on, before all but the first `since` effects.
    pub fn save_before(&mut self, since: usize, stable: S) {
        self.effects.insert(since, Effect::Save(stable));
    }

    /// Tells the application.
    pub fn output(&mut self, output: O) {
        self.effects.push(Effect::Output(output));
    }

    /// Reports what a peer should not have sent.
    pub fn unexpected(&mut self, from: Id, why: &'static str) {
        self.effects.push(Effect::Unexpected { from: Some(from), why });
    }

    /// Reports what the application should not have asked.
    pub fn misused(&mut self, why: &'static str) {
        self.effects.push(Effect::Unexpected { from: None, why });
    }

    /// Takes over what a process within this one wants done: its messages and timers in the words of this one, what it
    /// saves and tells as this one sees fit.
    pub fn adopt<M2: Clone, O2, T2, S2>(
        &mut self,
        inner: &mut EffectList<M2, O2, T2, S2>,
        message: impl Fn(M2) -> M,
        timer: impl Fn(T2) -> T,
        mut save: impl FnMut(&mut Self, S2),
        mut output: impl FnMut(&mut Self, O2),
    ) {
        for effect in inner.drain() {
            match effect {
                Effect::Send { to, message: said } => self.send(to, message(said)),
                Effect::SetTimer { timer: set, after } => self.set_timer(timer(set), after),
                Effect::CancelTimer(cancelled) => self.cancel_timer(timer(cancelled)),
                Effect::Save(stable) => save(self, stable),
                Effect::Output(told) => output(self, told),
                Effect::Unexpected { from, why } => self.effects.push(Effect::Unexpected { from, why }),
            }
        }
    }

    /// How many effects there are so far.
    pub fn len(&self) -> usize {
        self.effects.len()
    }

    /// Whether there is no effect yet.
    pub fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// Takes back the first output after the first `since` effects: for a process around a process, which decides what
    /// the application hears.
    pub fn retract_output(&mut self, since: usize) -> Option<O> {
        let offset = self.effects[since..].iter().position(|effect| matches!(effect, Effect::Output(_)))?;
        match self.effects.remove(since + offset) {
            Effect::Output(output) => Some(output),
            Effect::Send { .. }
            | Effect::SetTimer { .. }
            | Effect::CancelTimer(_)
            | Effect::Save(_)
            | Effect::Unexpected { .. } => unreachable!("the position is that of an output"),
        }
    }

    /// The first output after the first `since` effects.
    pub fn output_since(&self, since: usize) -> Option<&O> {
        self.effects[since..].iter().find_map(|effect| match effect {
            Effect::Output(output) => Some(output),
            Effect::Send { .. }
            | Effect::SetTimer { .. }
            | Effect::CancelTimer(_)
            | Effect::Save(_)
            | Effect::Unexpected { .. } => None,
        })
    }

    /// The effects so far, in order.
    pub fn as_slice(&self) -> &[Effect<M, O, T, S>] {
        &self.effects
    }

    /// Takes all effects, in order, and leaves the list empty. A driver that carries them out and then
    /// [gives back](Self::give_back) the emptied list saves the memory for the next step.
    pub fn take(&mut self) -> Vec<Effect<M, O, T, S>> {
        core::mem::take(&mut self.effects)
    }

    /// Uses this memory for the next effects.
    pub fn give_back(&mut self, mut emptied: Vec<Effect<M, O, T, S>>) {
        debug_assert!(self.effects.is_empty(), "there are effects that nobody has taken");
        emptied.clear();
        self.effects = emptied;
    }

    /// Takes all effects, in order, and leaves the list empty with its memory.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect<M, O, T, S>> + '_ {
        self.effects.drain(..)
    }
}

/// Room for the effects of a process within a process, kept from one step to the next.
///
/// It is no part of a state: any two are equal, and a copy begins without any.
pub struct Room<P: Process>(Vec<EffectOf<P>>);

/// So many effects of one step are usual.
const USUAL: usize = 64;

impl<P: Process> Room<P> {
    /// No room yet.
    pub const fn new() -> Self {
        Room(Vec::new())
    }

    /// An empty list for the process `me`, in this room.
    pub fn list(&mut self, me: Id) -> Effects<P> {
        EffectList { me, effects: core::mem::take(&mut self.0), to_self: VecDeque::new() }
    }

    /// Keeps the room of a list that was emptied.
    pub fn keep(&mut self, emptied: Effects<P>) {
        debug_assert!(emptied.is_empty(), "there are effects that nobody has taken");
        if emptied.effects.capacity() <= USUAL {
            self.0 = emptied.effects;
        }
    }
}

impl<P: Process> Default for Room<P> {
    fn default() -> Self {
        Room::new()
    }
}

impl<P: Process> Clone for Room<P> {
    fn clone(&self) -> Self {
        Room::new()
    }
}

impl<P: Process> PartialEq for Room<P> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<P: Process> Eq for Room<P> {}

impl<P: Process> Hash for Room<P> {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl<P: Process> Debug for Room<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Room")
    }
}

/// Lets one event happen to a process, and then whatever the process says to itself because of it.
///
/// This is the one function through which drivers and tests call [`Process::step`].
pub fn perform<P: Process>(process: &mut P, event: Event<P>, effects: &mut Effects<P>) {
    process.step(event, effects);
    while let Some(message) = effects.to_self.pop_front() {
        process.step(Event::Receive { from: effects.me, message }, effects);
    }
}

/// The effects of one event, for tests that step a process by hand.
#[cfg(test)]
pub(crate) fn effects_of<P: Process>(me: u32, process: &mut P, event: Event<P>) -> Vec<EffectOf<P>> {
    let mut effects = Effects::<P>::new(Id::new(me));
    perform(process, event, &mut effects);
    effects.drain().collect()
}
