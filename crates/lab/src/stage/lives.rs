//! How lives end and begin on a stage, who is told, and what becomes of the letters.

use quorate_core::id::{Id, IdSet};
use quorate_core::process::{Notice, Process};
use quorate_core::trace::{Record, Recorded};

use super::host::{Happening, Host};
use super::wish::Free;
use super::{Content, Letter, Stage};

impl<P, A> Stage<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    pub(super) fn crash(&mut self, id: Id, records: &mut Vec<Record>) {
        self.befall(id, Happening::Crash, records);
        self.tell_of_crash(id, records);
    }

    pub(super) fn tell_of_crash(&mut self, id: Id, records: &mut Vec<Record>) {
        if self.rules.sessions {
            self.lose_letters(records, |letter| letter.to == id);
            // Whoever has called may have died with it.
            self.uncalled |= self.rules.elects;
            return self.tell_everybody(Notice::Suspect(id), id);
        }
        // The dead are told nothing, and who has not heard of its return hears only of its crash.
        self.letters.retain(|(_, letter)| match letter.content {
            Content::Notice(notice) => letter.to != id && notice != Notice::Trust(id),
            Content::Message(_) | Content::Poke(_) => true,
        });
        if self.rules.detector {
            self.tell_everybody(Notice::Suspect(id), id);
        } else {
            self.uncalled |= self.rules.elects;
        }
        self.drop_letters_to_the_gone(records);
    }

    /// A new life begins: with `first`, the restart, whole or cut short.
    pub(super) fn restart(&mut self, id: Id, first: Happening<P>, records: &mut Vec<Record>) {
        if self.rules.sessions {
            self.tell_everybody(Notice::Trust(id), id);
            self.tell_of_the_dead(id);
            return self.befall(id, first, records);
        }
        self.befall(id, first, records);
        // Who has not heard of the crash yet hears only of the return.
        self.letters.retain(|(_, letter)| letter.content != Content::Notice(Notice::Suspect(id)));
        if self.rules.detector {
            self.tell_everybody(Notice::Trust(id), id);
            self.tell_of_the_dead(id);
        }
        self.drop_letters_to_the_gone(records);
    }

    /// The session between two ends although both live, and another one is to begin. `told` is what befalls the one who
    /// suspects, whole or cut short.
    pub(super) fn suspect(&mut self, id: Id, of: Id, told: Happening<P>, records: &mut Vec<Record>) {
        self.lose_letters(records, |letter| letter.from == of && letter.to == id && letter.is_message());
        self.letters.push((0, Letter::notice(of, id, Notice::Trust(of))));
        self.letters.push((0, Letter::notice(id, of, Notice::Suspect(id))));
        self.letters.push((0, Letter::notice(id, of, Notice::Trust(id))));
        self.befall(id, told, records);
    }

    pub(super) fn tell_everybody(&mut self, notice: Notice, about: Id) {
        for to in about.others(self.n()).filter(|to| self.hosts[to.index()].is_alive()) {
            self.letters.push((0, Letter::notice(about, to, notice)));
        }
    }

    pub(super) fn tell_of_the_dead(&mut self, to: Id) {
        if self.rules.detector {
            for dead in to.others(self.n()).filter(|id| !self.hosts[id.index()].is_alive()) {
                self.letters.push((0, Letter::notice(dead, to, Notice::Suspect(dead))));
            }
        }
    }

    /// Whether nothing will ever happen to this process again.
    pub(super) fn is_gone(&self, id: Id) -> bool {
        self.hosts.get(id.index()).is_none_or(|host| !host.is_alive() && self.left.restarts == 0)
    }

    /// Whether what the first sends to the second comes to nothing.
    pub(super) fn is_void(&self, from: Id, to: Id) -> bool {
        let is_alive = self.hosts.get(to.index()).is_some_and(Host::is_alive);
        if self.rules.sessions { !is_alive || self.is_to_be_told(from, to) } else { self.is_gone(to) }
    }

    pub(super) fn drop_letters_to_the_gone(&mut self, records: &mut Vec<Record>) {
        let gone: IdSet = Id::all(self.n()).filter(|&id| self.is_gone(id)).collect();
        self.lose_letters(records, |letter| gone.contains(letter.to));
    }
}
