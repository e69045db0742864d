//! How the central server survives crashes: another coordinator, in a new epoch, which first asks everybody.
//!
//! Who is elected begins an epoch of its own and asks all the living what they hold and want. Whoever answers follows
//! it from then on, and heeds nothing of an earlier epoch any more. When all have answered, or have crashed, the new
//! coordinator knows who is inside and who waits, and grants as the old one did. A client that crashes loses its turn
//! and its place; one that comes back is asked like everybody else.
//!
//! **Safe**, as long as nobody is taken for dead who lives: a grant of the old coordinator either has arrived before
//! its receiver answers, and then the answer tells of it, or is of an old epoch when it does. **Live**: an election
//! ends with somebody who lives, and everybody who lives answers it. **Fences** grow over any number of crashes, as
//! long as somebody who lives knows of the last epoch: a new one is larger than all that those knew who answer, and
//! each saves the one it follows before it says so.
//!
//! **Where the living are taken for dead**, two may be inside, and two may coordinate: but each in an epoch of its own,
//! so that no two entries have the same fence. A holder whose turn was given away is told when it is found alive.

use super::{Central, Coordinator, Message, Phase};
use crate::clock::Epoch;
use crate::id::{Id, IdSet};
use crate::mutex::Output;
use crate::process::Effects;

impl Central {
    /// A later life knows nothing but the epochs of before.
    pub(super) fn start(&mut self, incarnation: u64, saved: Option<Epoch>) {
        self.epoch = saved.unwrap_or_default();
        if incarnation > 1 && self.recovers {
            self.leader = None;
        }
    }

    pub(super) fn elect(&mut self, id: Id, effects: &mut Effects<Self>) {
        if self.suspected.contains(id) {
            return;
        }
        self.elected = Some(id);
        if self.leader.is_none() {
            self.turn_to_elected(effects);
        } else if id == self.me && !self.coordinates() {
            self.begin_epoch(effects);
        }
    }

    pub(super) fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.insert(id);
        self.elected = self.elected.filter(|&elected| elected != id);
        if self.leader == Some(id) {
            self.leader = None;
            self.turn_to_elected(effects);
        }
        if self.coordinates() {
            self.forget(id);
            self.coordinator.awaited.remove(id);
            self.grant_next(effects);
        }
    }

    pub(super) fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        self.suspected.remove(id);
        if self.coordinates() {
            self.coordinator.awaited.insert(id);
            effects.send(id, Message::Inquire { epoch: self.epoch });
        }
    }

    /// Nobody coordinates here. Who was elected may have begun before another one that has crashed since, and take us
    /// for one that follows it.
    fn turn_to_elected(&mut self, effects: &mut Effects<Self>) {
        match self.elected {
            Some(elected) if elected == self.me => self.begin_epoch(effects),
            Some(elected) if self.epoch > Epoch::FIRST => {
                effects.send(elected, Message::Outdated { epoch: self.epoch });
            }
            Some(_) | None => {}
        }
    }

    /// Takes over: nothing is granted before everybody has said what it holds and wants.
    pub(super) fn begin_epoch(&mut self, effects: &mut Effects<Self>) {
        // If all epochs are used up, nobody coordinates any more: better than fences that do not grow.
        let Some(epoch) = self.epoch.next_of(self.me, self.n) else { return };
        self.follow(self.me, epoch, effects);
        let living: IdSet = self.me.others(self.n).filter(|&other| !self.suspected.contains(other)).collect();
        effects.multicast(living.iter(), &Message::Inquire { epoch });
        self.coordinator.awaited = living;
        match self.phase {
            Phase::Released => {}
            Phase::Wanted => self.coordinator.waiting.push_back(self.me),
            Phase::Held => self.coordinator.holder = Some(self.me),
        }
        self.grant_next(effects);
    }

    fn follow(&mut self, leader: Id, epoch: Epoch, effects: &mut Effects<Self>) {
        if epoch != self.epoch {
            effects.save(epoch);
        }
        self.leader = Some(leader);
        self.epoch = epoch;
        self.coordinator = Coordinator { counting: self.coordinator.counting, ..Coordinator::default() };
    }

    pub(super) fn on_inquire(&mut self, from: Id, epoch: Epoch, effects: &mut Effects<Self>) {
        let again = epoch == self.epoch && self.leader.is_none_or(|leader| leader == from);
        if epoch < self.epoch || (epoch == self.epoch && !again) {
            return effects.send(from, Message::Outdated { epoch: self.epoch });
        }
        self.follow(from, epoch, effects);
        let (holds, wants) = (self.phase == Phase::Held, self.phase == Phase::Wanted);
        effects.send(from, Message::State { epoch, holds, wants });
    }

    pub(super) fn on_state(&mut self, from: Id, epoch: Epoch, holds: bool, wants: bool, effects: &mut Effects<Self>) {
        if epoch != self.epoch || !self.coordinates() || !self.coordinator.awaited.remove(from) {
            return;
        }
        match self.coordinator.holder {
            None if holds => self.coordinator.holder = Some(from),
            Some(_) if holds => effects.send(from, Message::Revoke { epoch }),
            None | Some(_) => {}
        }
        if wants {
            self.coordinator.waiting.push_back(from);
        }
        self.grant_next(effects);
    }

    /// Somebody else coordinates, or has; who was elected since then takes over again.
    pub(super) fn on_outdated(&mut self, _from: Id, epoch: Epoch, effects: &mut Effects<Self>) {
        if !self.coordinates() || epoch <= self.epoch {
            return;
        }
        self.epoch = epoch;
        self.leader = None;
        if self.elected == Some(self.me) {
            self.begin_epoch(effects);
        }
    }

    pub(super) fn on_revoke(&mut self, from: Id, epoch: Epoch, effects: &mut Effects<Self>) {
        if epoch == self.epoch && self.leader == Some(from) && self.phase == Phase::Held {
            self.phase = Phase::Released;
            effects.output(Output::Lost);
            effects.output(Output::Exited);
        }
    }

    /// Its turn and its place are gone.
    fn forget(&mut self, id: Id) {
        self.coordinator.holder = self.coordinator.holder.filter(|&holder| holder != id);
        self.coordinator.waiting.retain(|&waiting| waiting != id);
    }
}
