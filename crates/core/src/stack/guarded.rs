//! The quorum guard: who does not trust a majority, itself included, is as good as dead until it does.
//!
//! In a partition, both sides take each other for dead. With the guard, at most one of them goes on. Who is left with a
//! minority ends its part in the algorithm: its application is told that it has [lost](Output::Lost) its turn, if it
//! was inside, and waits, if it was waiting. When a majority is trusted again, it takes part as one that [comes
//! back](super::Rejoining) in a later life, and asks again if its application waits.
//!
//! **Prevents** that two parts of a cut network let somebody in. **Does not prevent** that a majority takes one that
//! lives and is inside for dead, before that one finds out that it is alone: between the two, both are inside. Only a
//! resource that looks at fences tells them apart.
//!
//! **Costs** progress where no majority is left: of three, when two have crashed; of two, when one has.

use crate::catalog::Entry;
use crate::clock::Number;
use crate::id::{Id, IdSet};
use crate::mutex::{self, Input, Mutex, Output};
use crate::process::{Effects, Event, Notice, Process, perform};
use crate::setting::Setting;

/// A mutual exclusion algorithm that lets nobody in without a majority, if the group is set up so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guarded<M: Mutex> {
    algorithm: M,
    /// In which life of the algorithm.
    life: u64,
    guard: Option<Guard<M>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Guard<M: Mutex> {
    /// How the algorithm begins each life.
    unborn: M,
    saved: Option<M::Stable>,
    n: u32,
    suspected: IdSet,
    is_outnumbered: bool,
    wish: Wish,
    /// The highest stamp that was observed while outnumbered.
    observed: Number,
}

/// What the application wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wish {
    Nothing,
    Enter,
    Stay,
}

/// What the algorithm waits for, in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer<T> {
    life: u64,
    timer: T,
}

/// A process has at most this many lives of the algorithm within one of its own: lives are counted over both.
const LIVES: u64 = 1 << 32;

impl<M: Mutex> Mutex for Guarded<M> {
    const ENTRY: Entry = M::ENTRY;

    fn new(setting: &Setting) -> Self {
        let algorithm = M::new(setting);
        let is_on = setting.group.recovering.is_some_and(|recovering| recovering.guard);
        let guard = is_on.then(|| Guard {
            unborn: algorithm.clone(),
            saved: None,
            n: setting.n(),
            suspected: IdSet::new(),
            is_outnumbered: false,
            wish: Wish::Nothing,
            observed: Number::ZERO,
        });
        Guarded { algorithm, life: 0, guard }
    }

    fn stamp(&self) -> Number {
        self.algorithm.stamp()
    }
}

impl<M: Mutex> Process for Guarded<M> {
    type Message = M::Message;
    type Input = Input;
    type Output = Output;
    type Timer = Timer<M::Timer>;
    type Stable = M::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => {
                self.life = incarnation.saturating_sub(1).saturating_mul(LIVES).saturating_add(1);
                if let Some(guard) = &mut self.guard {
                    guard.saved.clone_from(&saved);
                }
                self.happen(Event::Start { incarnation: self.life, saved }, effects);
            }
            Event::Input(input) => self.on_input(input, effects),
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => self.trust(id, effects),
            Event::Notice(Notice::Leader(id)) => self.happen(Event::Notice(Notice::Leader(id)), effects),
            Event::Receive { from, message } => self.happen(Event::Receive { from, message }, effects),
            Event::Timeout(Timer { life, timer }) if life == self.life => self.happen(Event::Timeout(timer), effects),
            // Of a life that is over.
            Event::Timeout(_) => {}
        }
    }
}

impl<M: Mutex> Guarded<M> {
    fn on_input(&mut self, input: Input, effects: &mut Effects<Self>) {
        if let Some(guard) = &mut self.guard {
            match (input, guard.wish) {
                (Input::Enter, Wish::Nothing) => guard.wish = Wish::Enter,
                (Input::Enter, Wish::Enter | Wish::Stay) => return effects.misused(mutex::ALREADY_ENTERING),
                (Input::Exit, Wish::Stay) => guard.wish = Wish::Nothing,
                (Input::Exit, Wish::Nothing | Wish::Enter) => return effects.misused(mutex::NOT_INSIDE),
                (Input::Observe(stamp), _) => {
                    if guard.is_outnumbered {
                        guard.observed = guard.observed.max(stamp);
                    }
                }
            }
        }
        self.happen(Event::Input(input), effects);
    }

    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        if let Some(guard) = &mut self.guard {
            guard.suspected.insert(id);
            if !guard.is_outnumbered && !guard.has_majority() {
                guard.is_outnumbered = true;
                self.algorithm = guard.unborn.clone();
                if guard.wish == Wish::Stay {
                    guard.wish = Wish::Nothing;
                    effects.output(Output::Lost);
                    effects.output(Output::Exited);
                }
                return;
            }
        }
        self.happen(Event::Notice(Notice::Suspect(id)), effects);
    }

    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        if let Some(guard) = &mut self.guard {
            guard.suspected.remove(id);
            if guard.is_outnumbered && guard.has_majority() {
                return self.come_back(effects);
            }
        }
        self.happen(Event::Notice(Notice::Trust(id)), effects);
    }

    /// The algorithm begins another life.
    fn come_back(&mut self, effects: &mut Effects<Self>) {
        let Some(guard) = &mut self.guard else { return };
        guard.is_outnumbered = false;
        self.life += 1;
        let (saved, suspected) = (guard.saved.clone(), guard.suspected.clone());
        let (observed, waits) = (core::mem::take(&mut guard.observed), guard.wish == Wish::Enter);
        self.happen(Event::Start { incarnation: self.life, saved }, effects);
        for id in suspected.iter() {
            self.happen(Event::Notice(Notice::Suspect(id)), effects);
        }
        if observed > Number::ZERO {
            self.happen(Event::Input(Input::Observe(observed)), effects);
        }
        if waits {
            self.happen(Event::Input(Input::Enter), effects);
        }
    }

    /// Lets something happen to the algorithm, unless it is as good as dead.
    fn happen(&mut self, event: Event<M>, effects: &mut Effects<Self>) {
        if self.guard.as_ref().is_some_and(|guard| guard.is_outnumbered) {
            return;
        }
        let life = self.life;
        let mut wanted = Effects::<M>::new(effects.me());
        perform(&mut self.algorithm, event, &mut wanted);
        let mut guard = self.guard.as_mut();
        let mut wish = guard.as_ref().map_or(Wish::Nothing, |guard| guard.wish);
        effects.adopt(
            &mut wanted,
            |message| message,
            |timer| Timer { life, timer },
            |effects, stable| {
                if let Some(guard) = &mut guard {
                    guard.saved = Some(stable.clone());
                }
                effects.save(stable);
            },
            |effects, output| {
                match output {
                    Output::Entered { .. } => wish = Wish::Stay,
                    Output::Lost | Output::Exited | Output::Withdrawn => wish = Wish::Nothing,
                }
                effects.output(output);
            },
        );
        if let Some(guard) = guard {
            guard.wish = wish;
        }
    }
}

impl<M: Mutex> Guard<M> {
    fn has_majority(&self) -> bool {
        2 * (self.n - self.suspected.len() as u32) > self.n
    }
}
