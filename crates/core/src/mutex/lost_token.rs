//! A token that may have been lost: one process asks everybody for it, and makes another if nobody has it.
//!
//! A crash may take the token with it: in the hands of the dead, on the way to it, or on the way from it. Who knows? So
//! who was elected begins an epoch of its own at every crash or return that it is told of, and inquires of all the
//! living, naming the dead. A process answers when it has been told of these crashes itself, so that it sends nothing
//! more to the dead. From its answer on it is in the new epoch, with the token that it has, if it has one; a token of
//! an earlier epoch that comes later is discarded, and one of a later epoch is put aside until that is answered for:
//! who does not know yet who is dead could pass it on to one of them. When all have answered, or have crashed, either
//! one of them has the token, or none will come any more, and a new one is made.
//!
//! **Exactly one**: the old token either is in somebody's hands at its answer, and belongs to the new epoch, or arrives
//! at somebody who has answered, and is gone. **Live**: whoever inquires and is told of another crash, or of a return,
//! inquires again. A later epoch wins over an earlier one.
//!
//! **Where the living are taken for dead**, there can be two tokens, each in the hands of somebody who answers. A token
//! is known by the epoch in which it was made, and fences are of that epoch, so that no two entries have the same. Who
//! inquires and finds two inquires again, and says that the later one counts. And a token can be lost between two of
//! whom one has suspected the other, and nobody else has: so who is told of a return is in doubt. It says so to who was
//! elected, or with its next answer, and who is told inquires again: what was answered before may count no more.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::mem;

use serde::{Deserialize, Serialize};

use crate::clock::{Epoch, Fence, Number};
use crate::id::{Id, IdSet};
use crate::process::{Effects, Process, Value};
use crate::setting::Setting;

/// What a process knows of the living, of who was elected, and of an inquiry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Succession<T, K> {
    pub(super) epoch: Epoch,
    /// The latest epoch that is known of.
    latest: Epoch,
    /// Who is thought to have crashed.
    pub(super) suspected: IdSet,
    /// Who was elected, if it lives. Nobody is, before anybody has crashed.
    leader: Option<Id>,
    inquiry: Option<Inquiry<T>>,
    /// An inquiry that has not been answered yet.
    asked: Option<Asked>,
    /// A token of an epoch that has not been answered for.
    early: Option<(Epoch, K)>,
    /// Whether the token may have been lost on its way, and nobody who would inquire has been told.
    doubts: bool,
    /// Whether the token with which it is inside counts no more.
    pub(super) is_void: bool,
    /// Whether lost tokens are made anew.
    recovers: bool,
}

/// What somebody asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Asked {
    by: Id,
    epoch: Epoch,
    /// Of which dead we have to be told before we answer.
    dead: IdSet,
    keep: Option<Epoch>,
}

/// What the one who inquires knows so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inquiry<T> {
    awaited: IdSet,
    /// The tokens that are there, by the epochs in which they were made.
    found: BTreeSet<Epoch>,
    told: Vec<(Id, T)>,
    /// Whether the token may have been lost on its way since somebody answered.
    is_doubted: bool,
}

impl<T, K> Succession<T, K> {
    /// Nobody has crashed.
    pub(super) fn new(setting: &Setting) -> Self {
        Succession {
            epoch: Epoch::FIRST,
            latest: Epoch::FIRST,
            suspected: IdSet::new(),
            leader: None,
            inquiry: None,
            asked: None,
            early: None,
            doubts: false,
            is_void: false,
            recovers: setting.group.recovering.is_some(),
        }
    }

    /// Whether the token may be lost, and nobody was elected to see to it.
    pub(super) fn misses_leader(&self) -> bool {
        self.leader.is_none() && (self.doubts || !self.suspected.is_empty())
    }

    /// The next process on the ring after `me` that is not suspected, nor named dead by who inquires; `me`, if all
    /// others are.
    pub(super) fn next_living(&self, me: Id, n: u32) -> Id {
        let is_named = |id| self.asked.as_ref().is_some_and(|asked| asked.dead.contains(id));
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
        /// Of several tokens, the only one that counts: in which epoch it was made.
        keep: Option<Epoch>,
    },
    /// Somebody tells it.
    Answer {
        /// The epoch of who asked.
        epoch: Epoch,
        /// In which epoch the token was made that it has, if it has one.
        token: Option<Epoch>,
        /// What else it has to tell.
        told: T,
        /// Whether the token may have been lost on its way to it, or from it.
        doubts: bool,
    },
    /// To who was elected, from who was told that another is back: what was on the way between the two is void, and
    /// it may be that nobody else is told.
    Doubt {
        /// The epoch of who says so.
        epoch: Epoch,
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
            Said::Doubt { .. } => "doubt",
        }
    }

    pub(super) fn number(&self) -> Option<u64> {
        let (Said::Inquire { epoch, .. }
        | Said::Answer { epoch, .. }
        | Said::Outdated { epoch }
        | Said::Doubt { epoch }) = self;
        Some(epoch.get().into())
    }
}

/// A process of an algorithm with a token.
pub(super) trait TokenKeeper: Process {
    /// What it tells of itself, besides whether it has the token.
    type Told: Value;
    /// The token.
    type Token: Value;

    fn identity(&self) -> (Id, u32);
    fn succession(&self) -> &Succession<Self::Told, Self::Token>;
    fn succession_mut(&mut self) -> &mut Succession<Self::Told, Self::Token>;
    /// What has to survive a crash, the epoch included.
    fn to_save(&self) -> Self::Stable;
    /// The token that it has and may use.
    fn held_token(&self) -> Option<&Self::Token>;
    /// In which epoch a token was made.
    fn made_in(token: &Self::Token) -> Epoch;
    /// The token that it has counts no more. Who is inside stays inside.
    fn drop_token(&mut self);
    /// It gets the token, of the current epoch.
    fn take_token(&mut self, from: Id, token: Self::Token, effects: &mut Effects<Self>);
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
        succession.asked.take_if(|asked| asked.by == id);
        // Who has begun to inquire goes on, also when somebody else was elected meanwhile and relies on it.
        if succession.leader == Some(me) || succession.inquiry.is_some() {
            self.inquire(None, effects);
        } else {
            self.answer_if_told(effects);
        }
    }

    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        let (me, _) = self.identity();
        let succession = self.succession_mut();
        succession.suspected.remove(id);
        // It was not asked, and does not know who is dead.
        if succession.inquiry.is_some() || succession.leader == Some(me) {
            self.inquire(None, effects);
        } else {
            succession.doubts = true;
            self.hand_doubt_over(id, effects);
        }
    }

    /// Tells who was elected of its doubt, unless that is who has it from, or whom it is about.
    fn hand_doubt_over(&mut self, of: Id, effects: &mut Effects<Self>) {
        let succession = self.succession_mut();
        let (leader, epoch) = (succession.leader.filter(|&leader| leader != of), succession.epoch);
        if succession.doubts
            && let Some(leader) = leader
        {
            succession.doubts = false;
            effects.send(leader, Self::say(Said::Doubt { epoch }));
        }
    }

    /// The token that it has, for a new epoch, unless another one is to be kept. For one that came early, of that epoch
    /// or of a later one, somebody else has answered; to answer for it again does no harm.
    fn answer_for_token(&mut self, keep: Option<Epoch>) -> Option<Epoch> {
        let is_void = |token: &Self::Token| keep.is_some_and(|keep| Self::made_in(token) != keep);
        if self.held_token().is_some_and(is_void) {
            self.drop_token();
        }
        self.succession_mut().early.take_if(|(_, token)| is_void(token));
        let early = self.succession().early.as_ref().map(|(_, token)| token);
        self.held_token().or(early).map(Self::made_in)
    }

    /// A token of this epoch arrives.
    fn on_token(&mut self, from: Id, epoch: Epoch, token: Self::Token, effects: &mut Effects<Self>) {
        let succession = self.succession_mut();
        if epoch > succession.epoch {
            succession.early = Some((epoch, token));
        } else if epoch == succession.epoch {
            self.take_token(from, token, effects);
        }
        // One of an earlier epoch counts no more: the one that was made anew, or was found, is the only one since then.
    }

    /// An epoch has been answered for, or begun: a token that came before belongs to it.
    fn take_early(&mut self, effects: &mut Effects<Self>) {
        let (me, _) = self.identity();
        let succession = self.succession_mut();
        let epoch = succession.epoch;
        if let Some((_, token)) = succession.early.take_if(|(of, _)| *of <= epoch) {
            self.take_token(me, token, effects);
        }
    }

    fn elect(&mut self, id: Id, effects: &mut Effects<Self>) {
        let (me, _) = self.identity();
        let succession = self.succession_mut();
        if succession.suspected.contains(id) {
            return;
        }
        let before = succession.leader.replace(id);
        if id != me {
            self.hand_doubt_over(me, effects);
        } else if before != Some(me) {
            self.inquire(None, effects);
        }
    }

    fn on_said(&mut self, from: Id, said: Said<Self::Told>, effects: &mut Effects<Self>) {
        match said {
            Said::Inquire { epoch, dead, keep } => self.on_inquire(from, epoch, &dead, keep, effects),
            Said::Answer { epoch, token, told, doubts } => self.on_answer(from, epoch, token, (told, doubts), effects),
            Said::Outdated { epoch } => self.on_outdated(epoch, effects),
            Said::Doubt { epoch } => self.on_doubt(from, epoch, effects),
        }
    }

    /// The token may have been lost between two others, also after one of them has answered for it.
    fn on_doubt(&mut self, from: Id, epoch: Epoch, effects: &mut Effects<Self>) {
        let (me, _) = self.identity();
        let succession = self.succession_mut();
        succession.latest = succession.latest.max(epoch);
        if let Some(inquiry) = &mut succession.inquiry {
            inquiry.is_doubted = true;
        } else if succession.leader == Some(me) {
            self.inquire(None, effects);
        } else {
            succession.doubts = true;
            self.hand_doubt_over(from, effects);
        }
    }

    /// Whether a token has counted to the end of its epoch with this entry, and another one can take its place.
    fn is_spent(&self, entries: Number) -> bool {
        self.succession().recovers && Fence::ends_epoch(entries)
    }

    /// The token is given up, as if it had been lost: who was elected makes another, in a new epoch.
    fn give_up_token(&mut self, effects: &mut Effects<Self>) {
        let (me, _) = self.identity();
        let epoch = self.succession().epoch;
        self.on_doubt(me, epoch, effects);
    }

    /// Begins an epoch, and asks everybody.
    fn inquire(&mut self, keep: Option<Epoch>, effects: &mut Effects<Self>) {
        let (me, n) = self.identity();
        let succession = self.succession();
        let early = succession.early.as_ref().map_or(Epoch::FIRST, |(epoch, _)| *epoch);
        // Who has asked, and got no answer, hears of a later epoch than its own.
        let asked = succession.asked.as_ref().map_or(Epoch::FIRST, |asked| asked.epoch);
        let latest = succession.epoch.max(succession.latest).max(early).max(asked);
        // If all epochs are used up, the token stays lost: better than fences that do not grow.
        let Some(epoch) = latest.next_of(me, n) else { return };
        let (token, told) = (self.answer_for_token(keep), self.tell());
        let succession = self.succession_mut();
        let awaited: IdSet = me.others(n).filter(|&other| !succession.suspected.contains(other)).collect();
        let dead = succession.suspected.iter().collect();
        succession.epoch = epoch;
        succession.asked = None;
        succession.doubts = false;
        let found = token.into_iter().collect();
        let told = alloc::vec![(me, told)];
        succession.inquiry = Some(Inquiry { awaited: awaited.clone(), found, told, is_doubted: false });
        effects.save(self.to_save());
        effects.multicast(awaited.iter(), &Self::say(Said::Inquire { epoch, dead, keep }));
        self.take_early(effects);
        self.conclude_if_answered(effects);
    }

    fn on_inquire(&mut self, from: Id, epoch: Epoch, dead: &[Id], keep: Option<Epoch>, effects: &mut Effects<Self>) {
        let (_, n) = self.identity();
        let succession = self.succession_mut();
        let latest = succession.asked.as_ref().map_or(succession.epoch, |asked| asked.epoch);
        if epoch <= latest {
            return effects.send(from, Self::say(Said::Outdated { epoch: latest }));
        }
        let dead = dead.iter().copied().filter(|id| id.number() <= n).collect();
        if let Some(earlier) = succession.asked.replace(Asked { by: from, epoch, dead, keep })
            && earlier.by != from
        {
            // It would wait for an answer for ever, should the later one die before it has had its own.
            effects.send(earlier.by, Self::say(Said::Outdated { epoch }));
        }
        self.answer_if_told(effects);
    }

    fn answer_if_told(&mut self, effects: &mut Effects<Self>) {
        let succession = self.succession_mut();
        let suspected = &succession.suspected;
        let is_told = |asked: &mut Asked| asked.dead.iter().all(|id| suspected.contains(id));
        let Some(Asked { by, epoch, keep, .. }) = succession.asked.take_if(is_told) else { return };
        succession.epoch = epoch;
        let given_up = succession.inquiry.take();
        let doubts = mem::take(&mut succession.doubts) || given_up.is_some_and(|inquiry| inquiry.is_doubted);
        let (token, told) = (self.answer_for_token(keep), self.tell());
        effects.save(self.to_save());
        effects.send(by, Self::say(Said::Answer { epoch, token, told, doubts }));
        self.take_early(effects);
    }

    fn on_answer(
        &mut self,
        from: Id,
        epoch: Epoch,
        token: Option<Epoch>,
        (told, doubts): (Self::Told, bool),
        effects: &mut Effects<Self>,
    ) {
        let succession = self.succession_mut();
        if let Some(inquiry) = &mut succession.inquiry
            && epoch == succession.epoch
            && inquiry.awaited.remove(from)
        {
            inquiry.found.extend(token);
            inquiry.told.push((from, told));
            inquiry.is_doubted |= doubts;
            self.conclude_if_answered(effects);
        }
    }

    fn conclude_if_answered(&mut self, effects: &mut Effects<Self>) {
        let inquiry = self.succession_mut().inquiry.take_if(|inquiry| inquiry.awaited.is_empty());
        let Some(Inquiry { found, told, is_doubted, .. }) = inquiry else { return };
        match found.len() {
            0 => self.make_token(told, effects),
            1 if is_doubted => return self.inquire(None, effects),
            1 => {}
            _ => return self.inquire(found.last().copied(), effects),
        }
        self.settled(effects);
    }

    fn on_outdated(&mut self, epoch: Epoch, effects: &mut Effects<Self>) {
        let (me, _) = self.identity();
        let succession = self.succession_mut();
        succession.latest = succession.latest.max(epoch);
        if epoch > succession.epoch
            && let Some(inquiry) = succession.inquiry.take()
        {
            succession.doubts |= inquiry.is_doubted;
            if succession.leader == Some(me) {
                self.inquire(None, effects);
            } else {
                self.hand_doubt_over(me, effects);
            }
        }
    }
}
