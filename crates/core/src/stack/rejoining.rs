//! Coming back: who has crashed takes part again when everybody who lives has been told that it is back.
//!
//! Before that, some take it for dead, enter without its leave, or elect a leader without it, while it speaks with the
//! others already. So a later life of a process begins as a *newcomer*: it holds back whatever happens to it. Everybody
//! who is told of its return greets it, with the highest number it has seen. When all have greeted it, or have crashed,
//! its algorithm starts, observes the highest of these numbers, is told who is dead and who is back, and hears what was
//! held back, in order. From then on everybody deals with its new life; and what it asks for comes after all that was
//! asked for before. What somebody said before it crashed is not held back any longer: its answer would reach another
//! life. Where there is a [quorum guard](super::Guarded), it also waits until it trusts a majority.
//!
//! **Assumes** that messages travel in sessions: who was told of a return was told of the crash before, and nothing of
//! the former life comes later.

use alloc::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Member;
use super::guarded::is_majority;
use crate::catalog::Entry;
use crate::clock::Number;
use crate::id::{Id, IdSet};
use crate::mutex::Mutex;
use crate::process::{self, Effects, Event, Notice, Process, perform};
use crate::setting::Setting;

/// An algorithm whose processes may come back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rejoining<M: Member> {
    me: Id,
    n: u32,
    /// Whether nobody takes part who does not trust a majority.
    guard: bool,
    algorithm: M,
    newcomer: Option<Newcomer<M>>,
}

/// One who is back, and of whom not everybody is known to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Newcomer<M: Member> {
    incarnation: u64,
    saved: Option<M::Stable>,
    /// Who has not greeted it.
    awaited: IdSet,
    /// The highest number that it was greeted with.
    highest: Number,
    /// Who has crashed, and is not back; and who has come back.
    dead: IdSet,
    back: IdSet,
    held_back: VecDeque<Event<M>>,
}

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message<M> {
    /// What the algorithm says.
    Algorithm(M),
    /// To a newcomer, from who was told that it is back.
    Welcome {
        /// The highest number that the sender has seen.
        highest: Number,
    },
}

impl<M: process::Message> process::Message for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Message::Algorithm(message) => message.kind(),
            Message::Welcome { .. } => "welcome",
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Algorithm(message) => message.number(),
            Message::Welcome { highest } => Some(highest.get()),
        }
    }
}

impl<M: Mutex> Mutex for Rejoining<M> {
    const ENTRY: Entry = M::ENTRY;

    fn new(setting: &Setting) -> Self {
        Rejoining::around(setting, M::new(setting))
    }

    fn stamp(&self) -> Number {
        self.algorithm.stamp()
    }
}

impl<M: Member> Process for Rejoining<M> {
    type Message = Message<M::Message>;
    type Input = M::Input;
    type Output = M::Output;
    type Timer = M::Timer;
    type Stable = M::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation: 1, saved } => self.happen(Event::Start { incarnation: 1, saved }, effects),
            Event::Start { incarnation, saved } => {
                let awaited = IdSet::others(self.me, self.n);
                let (highest, held_back) = (Number::ZERO, VecDeque::new());
                let (dead, back) = (IdSet::new(), IdSet::new());
                self.newcomer = Some(Newcomer { incarnation, saved, awaited, highest, dead, back, held_back });
                self.join_if_welcome(effects);
            }
            Event::Input(input) => self.happen(Event::Input(input), effects),
            Event::Receive { from, message: Message::Algorithm(message) } => {
                self.happen(Event::Receive { from, message }, effects);
            }
            Event::Receive { from, message: Message::Welcome { highest } } => {
                let Some(newcomer) = &mut self.newcomer else {
                    // The sender took us for dead. We have not forgotten anything.
                    return self.happen(Event::Input(M::observing(highest)), effects);
                };
                newcomer.awaited.remove(from);
                newcomer.highest = newcomer.highest.max(highest);
                self.join_if_welcome(effects);
            }
            Event::Notice(notice) => {
                match &mut self.newcomer {
                    Some(newcomer) => newcomer.notice(notice),
                    None => self.happen(Event::Notice(notice), effects),
                }
                if let Notice::Trust(id) = notice {
                    effects.send(id, Message::Welcome { highest: self.algorithm.highest_seen() });
                }
                self.join_if_welcome(effects);
            }
            Event::Timeout(timer) => self.happen(Event::Timeout(timer), effects),
        }
    }
}

impl<M: Member> Rejoining<M> {
    /// A process before its first event.
    pub fn around(setting: &Setting, algorithm: M) -> Self {
        let guard = setting.group.recovering.is_some_and(|recovering| recovering.guard);
        Rejoining { me: setting.me, n: setting.n(), guard, algorithm, newcomer: None }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &M {
        &self.algorithm
    }

    /// What the application has asked for since this life began, if it takes no part yet.
    pub(super) fn held_back_inputs(&self) -> impl Iterator<Item = M::Input> {
        let held_back = self.newcomer.iter().flat_map(|newcomer| &newcomer.held_back);
        held_back.filter_map(|event| if let Event::Input(input) = event { Some(input.clone()) } else { None })
    }

    /// Something happens to the algorithm, or will when it has started.
    fn happen(&mut self, event: Event<M>, effects: &mut Effects<Self>) {
        if let Some(newcomer) = &mut self.newcomer {
            return newcomer.held_back.push_back(event);
        }
        let mut wanted = Effects::<M>::new(self.me);
        perform(&mut self.algorithm, event, &mut wanted);
        effects.adopt(
            &mut wanted,
            Message::Algorithm,
            |timer| timer,
            |effects, stable| effects.save(stable),
            |effects, output| effects.output(output),
        );
    }

    fn join_if_welcome(&mut self, effects: &mut Effects<Self>) {
        let (n, guard) = (self.n, self.guard);
        let is_welcome =
            |newcomer: &mut Newcomer<M>| newcomer.awaited.is_empty() && (!guard || is_majority(n, &newcomer.dead));
        let Some(newcomer) = self.newcomer.take_if(is_welcome) else { return };
        let Newcomer { incarnation, saved, highest, dead, back, held_back, .. } = newcomer;
        self.happen(Event::Start { incarnation, saved }, effects);
        if highest > Number::ZERO {
            self.happen(Event::Input(M::observing(highest)), effects);
        }
        for id in dead.iter() {
            self.happen(Event::Notice(Notice::Suspect(id)), effects);
        }
        for id in back.iter() {
            self.happen(Event::Notice(Notice::Trust(id)), effects);
        }
        for event in held_back {
            self.happen(event, effects);
        }
    }
}

impl<M: Member> Newcomer<M> {
    /// It is told of somebody. What that one has said is of a life, or a session, that is over.
    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Suspect(id) => {
                self.awaited.remove(id);
                self.dead.insert(id);
                self.back.remove(id);
                self.held_back.retain(|event| !matches!(event, Event::Receive { from, .. } if *from == id));
            }
            Notice::Trust(id) => {
                self.dead.remove(id);
                self.back.insert(id);
            }
            Notice::Leader(_) => {}
        }
    }
}
