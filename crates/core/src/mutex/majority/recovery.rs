//! How majority voting survives crashes.
//!
//! Who has crashed counts as one that refuses, and the vote that it had is free again. With `memory=kept`, a
//! coordinator saves its vote before it tells of it, so that coming back cannot break the promise. With `memory=lost`
//! it asks: it votes for nobody before everybody has said whether it counts on its vote. (Where nobody is told of
//! crashes, nobody answers, and it votes as if it had never voted: that is the algorithm of the document, and `quorate
//! violation` says what the chance of two inside is.)
//!
//! **Fences** grow over one crash, if the numbers that are known are less than an era apart then: whoever is told of a
//! crash goes on in another era, as the dead may have entered with a number that nobody has heard of. Who dies next may
//! take an era with it that others have not come to.

use super::{Ballot, Majority, Message, Phase, Saved};
use crate::clock::{LamportClock, Number};
use crate::id::{Id, IdSet};
use crate::process::Effects;

impl Majority {
    pub(super) fn start(&mut self, incarnation: u64, saved: Option<Saved>, effects: &mut Effects<Self>) {
        self.ballot.incarnation = incarnation;
        if let Some(Saved { entries, vote }) = saved {
            self.entries = entries;
            // What a former life gave to itself nobody would ever give back.
            self.vote = vote.filter(|(candidate, _)| *candidate != self.me);
        }
        if incarnation > 1 && self.recovers && !self.remembers {
            self.unheard = IdSet::others(self.me, self.n);
        }
        effects.save(self.to_save());
    }

    /// It is not asked, and what it has is given back; in another era, as it may have entered with a number that nobody
    /// has heard of.
    pub(super) fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.insert(id);
        self.unheard.remove(id);
        self.vote.take_if(|(candidate, _)| *candidate == id);
        let mut numbers = LamportClock::reborn(Some(self.entries));
        numbers.begin_era();
        self.entries = numbers.now();
        if let Phase::Asking { tries, votes, refusals } = &mut self.phase
            && !votes.contains(id)
        {
            refusals.insert(id);
            let tries = *tries;
            self.back_off_if_hopeless(tries, effects);
        }
    }

    /// It lives, may have forgotten whom it voted for, and does not count on any vote.
    pub(super) fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.remove(id);
        self.unheard.remove(id);
        let ballot = match &mut self.phase {
            Phase::Held { votes } if votes.contains(id) => Some(self.ballot),
            Phase::Asking { votes, .. } => {
                votes.remove(id);
                None
            }
            Phase::Released | Phase::BackingOff { .. } | Phase::Held { .. } => None,
        };
        effects.send(id, Message::Claim { ballot, entries: self.entries });
    }

    /// Somebody says whether it counts on the vote of who has come back.
    pub(super) fn on_claim(&mut self, from: Id, ballot: Option<Ballot>, entries: Number) {
        self.entries = self.entries.max(entries);
        if self.unheard.remove(from) || self.vote.is_some_and(|(candidate, _)| candidate == from) {
            self.vote.take_if(|(candidate, _)| *candidate == from);
            self.vote = ballot.map(|ballot| (from, ballot)).or(self.vote);
        }
    }

    pub(super) fn to_save(&self) -> Saved {
        let entries = LamportClock::reborn(Some(self.entries)).end_of_block();
        Saved { entries, vote: self.vote.filter(|_| self.remembers) }
    }
}
