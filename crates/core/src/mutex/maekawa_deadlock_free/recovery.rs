//! How voting sets survive crashes: others vote in place of the dead.
//!
//! A vote that the dead had is void. In place of a dead voter, a candidate asks every living process whose set contains
//! it. (To make new sets of the living is unsafe: with N = 10 and one crash, two that know of it at different times can
//! have sets that do not meet.) A voter that comes back votes for nobody before everybody has said whether it counts on
//! its vote.
//!
//! **Safe**: the set of who knows of more crashes meets the living part of the set of who knows of fewer, for the
//! reason that [`VotingSets::of_living`](super::VotingSets::of_living) gives.
//!
//! **Fences** grow over one crash, if clocks are less than an era apart then. The dead may have entered with a number
//! that nobody has heard of; so whoever is told of a crash goes on in another era, and the voter that two sets share
//! was told before it votes again. Over a second crash they may not: who has heard of an era before it is told of the
//! crash goes on in the one after that, and who dies then may take that with it (`quorate replay
//! maekawa-deadlock-free-two-crashes`).

use super::{Crashes, MaekawaDeadlockFree, Phase, Subject, Vote};
use crate::clock::{LamportClock, Number, Timestamp};
use crate::id::{Id, IdSet};
use crate::process::Effects;

impl MaekawaDeadlockFree {
    pub(super) fn start(&mut self, incarnation: u64, saved: Option<Number>, effects: &mut Effects<Self>) {
        self.clock = LamportClock::reborn(saved);
        if incarnation > 1 && self.crashes.recovers {
            self.crashes.unheard = IdSet::others(self.me, self.crashes.sets.n());
        }
        effects.save(self.clock.end_of_block());
    }

    /// A voter takes its vote back from the dead, in another era: the dead may have entered with a number that nobody
    /// has heard of. A candidate asks others in place of a dead voter.
    pub(super) fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.crashes.suspected.insert(id);
        self.crashes.substitutes.remove(id);
        let was_awaited = self.crashes.unheard.remove(id);
        self.clock.begin_era();
        self.waiting.retain(|request| request.id != id);
        self.vote.take_if(|vote| vote.request.id == id);
        if was_awaited {
            self.vote_if_all_are_heard(effects);
        } else {
            self.vote_for_first(effects);
        }
        let more = self.substitutes();
        if let Phase::Wanted { request, missing, inquiries, .. } = &mut self.phase {
            let request = *request;
            missing.remove(id);
            inquiries.remove(id);
            let new: IdSet = more.iter().filter(|&other| !self.crashes.substitutes.contains(other)).collect();
            for other in new.iter() {
                missing.insert(other);
                self.crashes.substitutes.insert(other);
            }
            let message = self.say(request, Subject::Request);
            effects.multicast(new.iter(), &message);
            self.enter_if_elected(effects);
        }
    }

    /// It lives, and has forgotten whom it voted for, and who voted for it.
    pub(super) fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.crashes.suspected.remove(id);
        if self.crashes.unheard.remove(id) {
            self.vote_if_all_are_heard(effects);
        }
        let is_voter = self.voters.contains(&id);
        let subject =
            if is_voter && matches!(self.phase, Phase::Held { .. }) { Subject::Claim } else { Subject::Disclaim };
        let request = match self.phase {
            Phase::Held { request } | Phase::Wanted { request, .. } => request,
            Phase::Released => Number::ZERO,
        };
        effects.send(id, self.say(request, subject));
        if let Phase::Wanted { request, missing, inquiries, .. } = &mut self.phase
            && is_voter
        {
            let request = *request;
            missing.insert(id);
            inquiries.remove(id);
            effects.send(id, self.say(request, Subject::Request));
        }
    }

    /// Somebody says whether it counts on the vote of who has come back.
    pub(super) fn on_claim(&mut self, theirs: Timestamp, is_claimed: bool, effects: &mut Effects<Self>) {
        if self.crashes.unheard.remove(theirs.id) {
            if is_claimed {
                self.vote = Some(Vote { request: theirs, inquired: false });
            }
            self.vote_if_all_are_heard(effects);
        } else if is_claimed {
            effects.unexpected(theirs.id, "a claim on a vote, to a voter that still knows its vote");
        }
    }

    /// Votes for the first of those who have asked meanwhile, and tells the others that they are not.
    pub(super) fn vote_if_all_are_heard(&mut self, effects: &mut Effects<Self>) {
        if self.crashes.unheard.is_empty() {
            self.vote_for_first(effects);
            for &later in &self.waiting {
                self.tell(later, Subject::Fail, effects);
            }
        }
    }

    /// Who is to be asked in place of voters that have crashed.
    pub(super) fn substitutes(&self) -> IdSet {
        let Crashes { sets, suspected, .. } = &self.crashes;
        if suspected.is_empty() {
            return IdSet::new();
        }
        sets.of_living(self.me, suspected).iter().filter(|needed| !self.voters.contains(needed)).collect()
    }

    /// Whose votes the current request needs, or has.
    pub(super) fn asked(&self) -> impl Iterator<Item = Id> + '_ {
        let living = self.voters.iter().copied().filter(|&voter| !self.crashes.suspected.contains(voter));
        living.chain(self.crashes.substitutes.iter())
    }
}
