//! Random commands: few sessions, few names, and now and then a command that was sent before.

use proptest::prelude::*;
use quorate_server::machine::{Acquire, Command, Event, Fence, Mode, Moment, Name, SessionId};

/// One step of a script. Who takes it decides what its numbers stand for: see [`Director::command`].
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Open(u64),
    Close(u64),
    /// Whoever has this slot, or had it before.
    Expire(u64, Opening),
    Acquire {
        slot: u64,
        name: usize,
        mode: usize,
        wait: bool,
        delay_ms: u64,
        value: u8,
        numbered: bool,
    },
    /// Withdraws what was asked for until so many requests ago, counted from the next one, or whatever there is.
    Withdraw(u64, usize, Option<u64>),
    /// A call ends unheard: one that was made so many calls ago, counted from the next one.
    GiveUp(u64, usize, u64),
    Release {
        slot: u64,
        name: usize,
        numbered: bool,
        /// Which of the grants there have been, counted from the last, or whichever.
        grant: Option<usize>,
    },
    /// Takes it from whoever has it, or from one of the grants there have been, counted from the last.
    Force(usize, Option<usize>),
    /// Ends one of the delays there have been, counted from the last.
    EndDelay(usize),
    Proclaim {
        slot: u64,
        grant: usize,
        value: u8,
    },
    Generation,
    /// Sends an earlier request again, counted from the last.
    Again(usize),
}

/// Which opening of a session is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opening {
    Whichever,
    This,
    Another,
}

const SLOTS: u64 = 4;
const NAMES: usize = 3;

/// Scripts, of which the shortest that shows something is found.
pub(crate) fn scripts() -> impl Strategy<Value = Vec<Step>> {
    let slot = || 0..SLOTS;
    let name = || 0..NAMES;
    let acquire = (slot(), name(), 0usize..8, any::<[bool; 2]>(), 0u64..3, 0u8..3);
    let acquire = acquire.prop_map(|(slot, name, mode, [impatient, unnumbered], delay_ms, value)| Step::Acquire {
        slot,
        name,
        mode,
        wait: !(impatient && value == 0),
        delay_ms,
        value,
        numbered: !(unnumbered && value > 0),
    });
    let release = (slot(), name(), any::<bool>(), prop::option::weighted(0.3, 0usize..3));
    let release = release.prop_map(|(slot, name, numbered, grant)| Step::Release { slot, name, numbered, grant });
    let opening = prop_oneof![6 => Just(Opening::Whichever), 2 => Just(Opening::This), 1 => Just(Opening::Another)];
    let step = prop_oneof![
        3 => slot().prop_map(Step::Open),
        1 => slot().prop_map(Step::Close),
        3 => (slot(), opening).prop_map(|(slot, opening)| Step::Expire(slot, opening)),
        12 => acquire,
        3 => (slot(), name(), prop::option::of(0u64..5))
            .prop_map(|(slot, name, until)| Step::Withdraw(slot, name, until)),
        2 => (slot(), name(), 0u64..5).prop_map(|(slot, name, back)| Step::GiveUp(slot, name, back)),
        6 => release,
        2 => (name(), prop::option::of(0usize..3)).prop_map(|(name, grant)| Step::Force(name, grant)),
        3 => (0usize..3).prop_map(Step::EndDelay),
        1 => (slot(), 0usize..3, 0u8..3).prop_map(|(slot, grant, value)| Step::Proclaim { slot, grant, value }),
        1 => Just(Step::Generation),
        4 => (0usize..12).prop_map(Step::Again),
    ];
    // Without sessions nothing happens, so everybody has one at first.
    prop::collection::vec(step, 1..60).prop_map(|steps| (0..SLOTS).map(Step::Open).chain(steps).collect())
}

/// Turns steps into commands.
#[derive(Clone, Default)]
pub(crate) struct Director {
    /// How often each slot was opened: a session's number is never used again.
    lives: [u64; SLOTS as usize],
    /// By which command each was opened.
    opened: [u64; SLOTS as usize],
    requests: u64,
    /// How many of them were calls: those that have no number.
    calls: u64,
    sent: Vec<Command>,
    delays: Vec<(Name, Fence)>,
    grants: Vec<(Name, Fence)>,
    index: u64,
}

impl Director {
    /// The next moment, the command, and whether it was sent before.
    pub(crate) fn command(&mut self, step: &Step) -> (Moment, Command, bool) {
        self.index += 1;
        let moment = Moment { index: self.index, at_ms: 1000 + self.index };
        if let Step::Again(back) = step
            && let Some(place) = self.sent.len().checked_sub(back + 1)
        {
            return (moment, self.sent[place].clone(), true);
        }
        let command = self.new_command(step);
        if crate::has_number(&command) {
            self.sent.push(command.clone());
        }
        (moment, command, false)
    }

    fn new_command(&mut self, step: &Step) -> Command {
        match *step {
            Step::Open(slot) => {
                self.lives[slot as usize] += 1;
                self.opened[slot as usize] = self.index;
                let session = self.session(slot);
                Command::Open {
                    session,
                    ttl_ms: 10,
                    label: format!("slot {slot}"),
                    owner: "me".into(),
                    transient: false,
                }
            }
            Step::Close(slot) => Command::Close { session: self.session(slot) },
            Step::Expire(slot, opening) => {
                let opened = match opening {
                    Opening::Whichever => 0,
                    Opening::This => self.opened[slot as usize],
                    Opening::Another => self.opened[slot as usize] + 1,
                };
                Command::Expire { session: self.session(slot), opened }
            }
            Step::Acquire { slot, name: place, mode, wait, delay_ms, value, numbered } => Command::Acquire(Acquire {
                session: self.session(slot),
                request: self.request(numbered),
                call: self.call(!numbered),
                name: name(place),
                mode: mode_at(mode),
                wait,
                delay_ms,
                value: vec![value],
            }),
            Step::Withdraw(slot, place, until) => {
                let request = until.map_or(0, |back| (self.requests + 1).saturating_sub(back));
                Command::Withdraw { session: self.session(slot), request, name: name(place) }
            }
            Step::GiveUp(slot, place, back) => {
                let call = (self.calls + 1).saturating_sub(back);
                Command::GiveUp { session: self.session(slot), call, name: name(place) }
            }
            Step::Release { slot, name: place, numbered, grant } => Command::Release {
                session: self.session(slot),
                request: self.request(numbered),
                name: name(place),
                fence: grant.map(|back| latest(&self.grants, back).1),
            },
            Step::Force(place, None) => Command::Force { name: name(place), by: "root".into(), fence: None },
            Step::Force(_, Some(back)) => {
                let (name, fence) = latest(&self.grants, back);
                Command::Force { name, by: "root".into(), fence: Some(fence) }
            }
            Step::EndDelay(back) => {
                let (name, fence) = latest(&self.delays, back);
                Command::EndDelay { name, fence }
            }
            Step::Proclaim { slot, grant, value } => {
                let (name, fence) = latest(&self.grants, grant);
                Command::Proclaim { session: self.session(slot), name, fence, value: vec![value] }
            }
            Step::Generation => Command::Generation { at_least: 0 },
            // Nothing was sent so long ago: nothing happens.
            Step::Again(_) => Command::EndDelay { name: name(0), fence: Fence::from_number(0) },
        }
    }

    /// Notes what later steps speak of.
    pub(crate) fn hear(&mut self, events: &[Event]) {
        for event in events {
            if let Event::Delayed { name, fence, .. } = event {
                self.delays.push((name.clone(), *fence));
            }
            if let Event::Granted { name, fence, .. } = event {
                self.grants.push((name.clone(), *fence));
            }
        }
    }

    fn session(&self, slot: u64) -> SessionId {
        let life = self.lives[slot as usize];
        SessionId::new(1 + slot + SLOTS * life).expect("it is positive")
    }

    fn request(&mut self, numbered: bool) -> u64 {
        self.requests += 1;
        if numbered { self.requests } else { 0 }
    }

    fn call(&mut self, is_one: bool) -> u64 {
        self.calls += u64::from(is_one);
        if is_one { self.calls } else { 0 }
    }
}

fn latest(list: &[(Name, Fence)], back: usize) -> (Name, Fence) {
    let place = list.len().checked_sub(back + 1);
    place.map_or((name(0), Fence::from_number(0)), |place| list[place].clone())
}

fn name(place: usize) -> Name {
    [Name::lock("a"), Name::lock("b"), Name::election("a")][place].clone()
}

fn mode_at(place: usize) -> Mode {
    match place {
        0..3 => Mode::Exclusive,
        3..5 => Mode::Shared,
        5..7 => Mode::Permit { of: 2 },
        _ => Mode::Permit { of: 1 },
    }
}
