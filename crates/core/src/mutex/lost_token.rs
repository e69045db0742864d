//! A token that may have been lost: one process asks everybody for it, and makes another if nobody has it.
//!
//! A crash may take the token with it: in the hands of the dead, on the way to it, or on the way from it. Who knows? So
//! who was elected begins an epoch of its own at every crash that it is told of, and inquires of all the living, naming
//! the dead. A process answers when it has been told of these crashes itself, so that it sends nothing more to the
//! dead. From its answer on it is in the new epoch, with the token that it has, if it has one; a token of an earlier
//! epoch that comes later is discarded. When all have answered, or have crashed, either one of them has the token, or
//! none will come any more, and a new one is made.
//!
//! **Exactly one**: the old token either is in somebody's hands at its answer, and belongs to the new epoch, or arrives
//! at somebody who has answered, and is gone. **Live**: whoever inquires and is told of another crash, or of a return,
//! inquires again. A later epoch wins over an earlier one.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::clock::Epoch;
use crate::id::{Id, IdSet};
use crate::process::{Effects, Process, Value};

/// What a process knows of the living, of who was elected, and of an inquiry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Succession<T> {
    pub(super) epoch: Epoch,
    /// Who is thought to have crashed.
    pub(super) suspected: IdSet,
    /// Who was elected, if it lives. Nobody is, before anybody has crashed.
    leader: Option<Id>,
    inquiry: Option<Inquiry<T>>,
    /// Who inquires and has not been answered yet, in which epoch, and of which dead we have to be told before.
    asked: Option<(Id, Epoch, IdSet)>,
}

/// What the one who inquires knows so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inquiry<T> {
    awaited: IdSet,
    is_found: bool,
    told: Vec<(Id, T)>,
}

impl<T> Default for Succession<T> {
    fn default() -> Self {
        let (epoch, suspected) = (Epoch::FIRST, IdSet::new());
        Succession { epoch, suspected, leader: None, inquiry: None, asked: None }
    }
}

impl<T> Succession<T> {
    /// Whether somebody has crashed, and nobody was elected to see to the token.
    pub(super) fn misses_leader(&self) -> bool {
        !self.suspected.is_empty() && self.leader.is_none()
    }

    /// The next process on the ring after `me` that is not suspected, nor named dead by who inquires; `me`, if all
    /// others are.
    pub(super) fn next_living(&self, me: Id, n: u32) -> Id {
        let is_named = |id| self.asked.as_ref().is_some_and(|(_, _, dead)| dead.contains(id));
        let mut next = me.successor(n);
        while next != me && (self.suspected.contains(next) || is_named(next)) {
            next = next.successor(n);
        }
        next
    }

    /// Whether it inquires, and not all have answered.
    pub(super) fn is_inquiring(&self) -> bool {
        self.inquiry.is_some()
    }
}

/// What is said about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Said<T> {
    /// Who was elected asks everybody.
    Inquire {
        /// Its epoch.
        epoch: Epoch,
        /// Who has crashed.
        dead: Vec<Id>,
    },
    /// Somebody tells it.
    Answer {
        /// The epoch of who asked.
        epoch: Epoch,
        /// Whether it has the token.
        has_token: bool,
        /// What else it has to tell.
        told: T,
    },
    /// Somebody else has begun a later epoch.
    Outdated {
        /// That one.
        epoch: Epoch,
    },
}

impl<T> Said<T> {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Said::Inquire { .. } => "inquire",
            Said::Answer { .. } => "answer",
            Said::Outdated { .. } => "outdated",
        }
    }

    pub(super) fn number(&self) -> Option<u64> {
        let (Said::Inquire { epoch, .. } | Said::Answer { epoch, .. } | Said::Outdated { epoch }) = self;
        Some(epoch.get().into())
    }
}

/// A process of an algorithm with a token.
pub(super) trait TokenKeeper: Process {
    /// What it tells of itself, besides whether it has the token.
    type Told: Value;

    fn identity(&self) -> (Id, u32);
    fn succession_mut(&mut self) -> &mut Succession<Self::Told>;
    /// What has to survive a crash, the epoch included.
    fn to_save(&self) -> Self::Stable;
    fn has_token(&self) -> bool;
    fn tell(&self) -> Self::Told;
    fn say(said: Said<Self::Told>) -> Self::Message;
    /// Nobody has the token: it is made anew, knowing what everybody has told.
    fn make_token(&mut self, told: Vec<(Id, Self::Told)>, effects: &mut Effects<Self>);
    /// There is one token again, and everybody who lives has been told of the crashes so far.
    fn settled(&mut self, _: &mut Effects<Self>) {}

    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        let (me, _) = self.identity();
        let succession = self.succession_mut();
        succession.suspected.insert(id);
        succession.leader = succession.leader.filter(|&leader| leader != id);
        succession.asked.take_if(|(by, ..)| *by == id);
        if succession.leader == Some(me) {
            self.inquire(effects);
        } else {
            self.answer_if_told(effects);
        }
    }

    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        let succession = self.succession_mut();
        succession.suspected.remove(id);
        // It was not asked, and others may not have been told that it had crashed.
        if succession.inquiry.is_some() {
            self.inquire(effects);
        }
    }

    fn elect(&mut self, id: Id, effects: &mut Effects<Self>) {
        let (me, _) = self.identity();
        let succession = self.succession_mut();
        if succession.suspected.contains(id) {
            return;
        }
        let before = succession.leader.replace(id);
        if id == me && before != Some(me) {
            self.inquire(effects);
        }
    }

    fn on_said(&mut self, from: Id, said: Said<Self::Told>, effects: &mut Effects<Self>) {
        match said {
            Said::Inquire { epoch, dead } => self.on_inquire(from, epoch, &dead, effects),
            Said::Answer { epoch, has_token, told } => self.on_answer(from, epoch, has_token, told, effects),
            Said::Outdated { epoch } => self.on_outdated(epoch, effects),
        }
    }

    /// Begins an epoch, and asks everybody.
    fn inquire(&mut self, effects: &mut Effects<Self>) {
        let ((me, n), is_found, told) = (self.identity(), self.has_token(), self.tell());
        let succession = self.succession_mut();
        // If all epochs are used up, the token stays lost: better than fences that do not grow.
        let Some(epoch) = succession.epoch.next_of(me, n) else { return };
        let awaited: IdSet = me.others(n).filter(|&other| !succession.suspected.contains(other)).collect();
        let dead = succession.suspected.iter().collect();
        succession.epoch = epoch;
        succession.asked = None;
        succession.inquiry = Some(Inquiry { awaited: awaited.clone(), is_found, told: alloc::vec![(me, told)] });
        effects.save(self.to_save());
        effects.multicast(awaited.iter(), &Self::say(Said::Inquire { epoch, dead }));
        self.conclude_if_answered(effects);
    }

    fn on_inquire(&mut self, from: Id, epoch: Epoch, dead: &[Id], effects: &mut Effects<Self>) {
        let (_, n) = self.identity();
        let succession = self.succession_mut();
        let latest = succession.asked.as_ref().map_or(succession.epoch, |(_, asked, _)| *asked);
        // It may be in this epoch already, by a token that came first; but it was not asked yet.
        if epoch < latest {
            return effects.send(from, Self::say(Said::Outdated { epoch: latest }));
        }
        let dead = dead.iter().copied().filter(|id| id.number() <= n).collect();
        if let Some((earlier, ..)) = succession.asked.replace((from, epoch, dead))
            && earlier != from
        {
            // It would wait for an answer for ever, should the later one die before it has had its own.
            effects.send(earlier, Self::say(Said::Outdated { epoch }));
        }
        self.answer_if_told(effects);
    }

    fn answer_if_told(&mut self, effects: &mut Effects<Self>) {
        let succession = self.succession_mut();
        let suspected = &succession.suspected;
        let is_told = |(_, _, dead): &mut (Id, Epoch, IdSet)| dead.iter().all(|id| suspected.contains(id));
        let Some((from, epoch, _)) = succession.asked.take_if(is_told) else { return };
        succession.epoch = epoch;
        succession.inquiry = None;
        let (has_token, told) = (self.has_token(), self.tell());
        effects.save(self.to_save());
        effects.send(from, Self::say(Said::Answer { epoch, has_token, told }));
    }

    fn on_answer(&mut self, from: Id, epoch: Epoch, has_token: bool, told: Self::Told, effects: &mut Effects<Self>) {
        let succession = self.succession_mut();
        if let Some(inquiry) = &mut succession.inquiry
            && epoch == succession.epoch
            && inquiry.awaited.remove(from)
        {
            inquiry.is_found |= has_token;
            inquiry.told.push((from, told));
            self.conclude_if_answered(effects);
        }
    }

    fn conclude_if_answered(&mut self, effects: &mut Effects<Self>) {
        let inquiry = self.succession_mut().inquiry.take_if(|inquiry| inquiry.awaited.is_empty());
        if let Some(Inquiry { is_found, told, .. }) = inquiry {
            if !is_found {
                self.make_token(told, effects);
            }
            self.settled(effects);
        }
    }

    fn on_outdated(&mut self, epoch: Epoch, effects: &mut Effects<Self>) {
        let (me, _) = self.identity();
        let succession = self.succession_mut();
        if epoch > succession.epoch {
            succession.epoch = epoch;
            succession.inquiry = None;
            if succession.leader == Some(me) {
                self.inquire(effects);
            }
        }
    }
}
