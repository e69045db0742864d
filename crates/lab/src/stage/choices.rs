//! What may happen next on a stage.

use quorate_core::id::Id;
use quorate_core::process::{Notice, Process};
use quorate_core::trace::Recorded;

use super::host::{Happening, Host};
use super::wish::{Free, Wish};
use super::{Choice, Content, Letter, Stage};

impl<P, A> Stage<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    /// Everything that may happen next.
    pub fn choices(&self) -> Vec<Choice<P>> {
        let mut choices = Vec::new();
        for (id, host) in Id::all(self.n()).zip(&self.hosts) {
            let allowed = |wish: &Wish| match wish {
                Wish::Withdraw => self.left.withdrawals > 0,
                Wish::Read | Wish::Write => self.left.writes > 0,
                Wish::Enter | Wish::Exit | Wish::Call => true,
            };
            choices.extend(host.wishes().into_iter().filter(allowed).map(|wish| Choice::Wish(id, wish)));
            if self.left.timeouts != Some(0) {
                choices.extend(host.ripe().map(|timer| Choice::Timeout(id, timer.clone())));
            }
        }
        for place in (0..self.letters.len()).filter(|&place| self.is_next(place)) {
            choices.push(Choice::Deliver { place, keep: false });
        }
        for (id, host) in Id::all(self.n()).zip(&self.hosts) {
            if host.is_alive() && self.left.crashes > 0 {
                choices.push(Choice::Crash(id));
            }
            if !host.is_alive() && self.left.restarts > 0 {
                choices.push(Choice::Restart(id));
            }
            if host.is_alive() && self.left.pokes > 0 && self.causality.knows_any(id) {
                choices.extend(id.others(self.n()).map(|to| Choice::Poke(id, to)));
            }
            if self.left.suspicions > 0 {
                choices.extend(
                    id.others(self.n()).filter(|&of| self.may_suspect(id, of)).map(|of| Choice::Suspect(id, of)),
                );
            }
        }
        for place in (0..self.letters.len()).filter(|&place| self.is_next(place)) {
            if matches!(self.letters[place].1.content, Content::Message(_)) {
                if self.left.duplicates > 0 {
                    choices.push(Choice::Deliver { place, keep: true });
                }
                if self.left.losses > 0 {
                    choices.push(Choice::Lose(place));
                }
            }
        }
        if self.may_tick() {
            choices.push(Choice::Tick);
        }
        if self.left.crashes > 0 {
            let cut: Vec<_> = choices.iter().flat_map(|choice| self.cut_short(choice)).collect();
            choices.extend(cut);
        }
        choices
    }

    /// The same, cut short by a crash between any two of its effects.
    pub(super) fn cut_short(&self, choice: &Choice<P>) -> Vec<Choice<P>> {
        let (id, happening) = match choice {
            Choice::Wish(id, wish) => (*id, Happening::Wish(*wish)),
            Choice::Timeout(id, timer) => (*id, Happening::Timeout(timer.clone())),
            Choice::Deliver { place, .. } => (self.letters[*place].1.to, self.letters[*place].1.arrival()),
            Choice::Restart(id) => (*id, Happening::Restart),
            Choice::Suspect(id, of) => (*id, Happening::Notice(Notice::Suspect(*of))),
            Choice::Lose(_) | Choice::Poke(..) | Choice::Crash(_) | Choice::CutShort(..) | Choice::Tick => {
                return Vec::new();
            }
        };
        let mut host = self.hosts[id.index()].clone();
        if !host.is_alive() && !matches!(choice, Choice::Restart(_)) {
            return Vec::new();
        }
        let effects = host.befall(id, happening, &self.company).effects;
        (1..effects).map(|some| Choice::CutShort(Box::new(choice.clone()), some)).collect()
    }

    /// Whether one may suspect another: both live, and nothing is to be told it of the other.
    pub fn may_suspect(&self, id: Id, of: Id) -> bool {
        let lives = |id: Id| self.hosts[id.index()].is_alive();
        self.rules.sessions && id != of && lives(id) && lives(of) && !self.is_to_be_told(id, of)
    }

    /// Whether news of another are on their way to a process.
    pub(super) fn is_to_be_told(&self, id: Id, of: Id) -> bool {
        self.letters.iter().any(|(_, letter)| letter.is_notice() && letter.from == of && letter.to == id)
    }

    /// Whether the letter at this place waits for no other.
    pub fn is_next(&self, place: usize) -> bool {
        let (_, letter) = &self.letters[place];
        if !letter.is_ordered(&self.rules) {
            return true;
        }
        let mut before = self.letters[..place]
            .iter()
            .map(|(_, other)| other)
            .filter(|other| other.is_ordered(&self.rules) && other.from == letter.from && other.to == letter.to);
        if letter.is_end_of_session(&self.rules) { !before.any(Letter::is_notice) } else { before.next().is_none() }
    }

    /// Whether time may pass: there is time, something waits for it, and nothing is due before.
    pub fn may_tick(&self) -> bool {
        self.rules.delay_bound.is_some_and(|bound| {
            let waits = !self.letters.is_empty() || self.hosts.iter().any(|host| host.armed().next().is_some());
            let due =
                self.letters.iter().any(|(_, letter)| letter.age >= bound) || self.hosts.iter().any(Host::is_overdue);
            waits && !due
        })
    }
}
