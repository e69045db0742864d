//! What befalls processes: crashes, restarts, pauses, and who is told of them.

use quorate_core::id::Id;
use quorate_core::process::{Notice, Process, Ticks};
use quorate_core::trace::{Recorded, What};

use super::{Due, Fault, Simulation};
use crate::application::Application;

impl<P, A> Simulation<'_, '_, P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Application<P>,
{
    pub(super) fn befall(&mut self, fault: Fault) {
        match fault {
            Fault::AbsentFromTheBeginning(_) => {}
            Fault::Crash(id, _) => self.crash(id),
            Fault::Restart(id, _) => self.restart(id),
            Fault::Pause(id, _, to) => {
                if self.world.is_alive(id) {
                    self.pause(id, to);
                }
            }
        }
    }

    /// Pauses that overlap, or meet, are one.
    fn pause(&mut self, id: Id, to: Ticks) {
        let before = self.hosts[id.index()].paused_until;
        if before.is_none() {
            self.record(id, What::Paused);
        }
        if before < Some(to) {
            self.hosts[id.index()].paused_until = Some(to);
            self.planned += 1;
            self.agenda.add(to, Due::Resume(id));
        }
    }

    pub(super) fn crash(&mut self, id: Id) {
        if !self.world.is_alive(id) {
            return;
        }
        self.world.crash(id);
        self.record(id, What::Crashed);
        let host = &mut self.hosts[id.index()];
        host.timers.clear();
        host.paused_until = None;
        for due in std::mem::take(&mut host.held_back) {
            self.miss(due);
        }
        self.application.crashed(id);
        if self.plan.detector {
            self.hosts[id.index()].crash_told_at = self.when_all_has_arrived();
            self.announce(Notice::Suspect(id), id, self.when_all_has_arrived());
        }
    }

    fn restart(&mut self, id: Id) {
        if self.world.is_alive(id) {
            return;
        }
        self.act(id, None, false, |world, effects| world.start(id, effects));
        self.application.restarted(id, &mut self.wishes);
        self.grant_wishes();
        if self.plan.detector {
            self.announce(Notice::Trust(id), id, self.when_all_has_arrived());
            self.tell_of_the_dead(id);
        }
    }

    /// When what has been sent so far has arrived, if delays have a bound.
    fn when_all_has_arrived(&self) -> Ticks {
        self.agenda.now().saturating_add(self.plan.conditions.delay.bound()).saturating_add(1)
    }

    /// Everybody but the one it is about is told.
    pub(super) fn announce(&mut self, notice: Notice, about: Id, at: Ticks) {
        for id in about.others(self.group.n) {
            self.agenda.add(at, Due::Notice { id, notice });
        }
    }

    /// Who comes back hears of crashes that the others have been told of; of later ones it will hear with them.
    pub(super) fn tell_of_the_dead(&mut self, id: Id) {
        let now = self.agenda.now();
        for other in id.others(self.group.n) {
            if !self.world.is_alive(other) && self.hosts[other.index()].crash_told_at < now {
                self.agenda.add(now, Due::Notice { id, notice: Notice::Suspect(other) });
            }
        }
    }

    pub(super) fn resume(&mut self, id: Id) {
        let host = &mut self.hosts[id.index()];
        // The end of a pause that was prolonged, or that a crash has ended, ends no other.
        if host.paused_until != Some(self.agenda.now()) {
            return;
        }
        host.paused_until = None;
        let held_back = std::mem::take(&mut host.held_back);
        self.record(id, What::Resumed);
        for due in held_back {
            self.happen(due);
        }
    }

    pub(super) fn each_hears(&mut self, what: impl Fn(Id) -> What) {
        for id in Id::all(self.group.n) {
            self.record(id, what(id));
        }
    }
}
