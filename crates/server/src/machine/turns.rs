//! By turns: for servers that agree among themselves whose turn it is, name by name, each with a machine of its own.
//!
//! Such a machine lets nobody in by itself. Who asks waits in line; as long as somebody waits and nobody holds the
//! lock, a turn is [wanted](Event::Wanted). When it [comes](Command::Turn), who is first gets the lock, and the number
//! of the turn is its fence. When the holder leaves, the turn is over, and another one is wanted if others wait: so
//! every grant has a fence of its own, and other servers get their turns in between. When the last who waits withdraws,
//! that is told as a vacancy, and nobody wants the turn any more.
//!
//! It speaks of this server's clients alone, and promises only what turns can: see [`Beyond`].

use super::command::{Acquire, Fence, Mode, Name};
use super::{Beyond, Departure, Event, Machine, Moment, Refusal, Response};

/// How turns are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Turns {
    /// The longest name of which there are turns, in bytes.
    longest_name: usize,
}

impl Machine {
    /// A machine in which there is nothing, and that lets nobody in by itself: there are turns of names that are no
    /// longer than this.
    pub fn by_turns(longest_name: usize) -> Machine {
        Machine { turns: Some(Turns { longest_name }), ..Machine::default() }
    }

    /// Whether it lets nobody in by itself, and speaks of this server's clients alone.
    pub fn is_by_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// Whether turns can promise what is asked for.
    pub(super) fn check_by_turns(&self, acquire: &Acquire) -> Result<(), Refusal> {
        let Some(Turns { longest_name: most }) = self.turns else { return Ok(()) };
        let beyond = match acquire.mode {
            Mode::Shared => Beyond::Shared,
            Mode::Permit { .. } => Beyond::Permits,
            Mode::Exclusive if acquire.delay_ms > 0 => Beyond::Delay,
            Mode::Exclusive if acquire.name.text.len() > most => Beyond::LongName { most },
            Mode::Exclusive => return Ok(()),
        };
        Err(Refusal::NotByTurns(beyond))
    }

    /// Says that a turn is wanted, if it is, and forgets a lock that is idle.
    pub(super) fn want_turn(&mut self, name: &Name, events: &mut Vec<Event>) {
        let Some(lock) = self.locks.get(name).filter(|_| self.is_by_turns()) else { return };
        if lock.is_idle() {
            self.locks.remove(name);
        } else if lock.holders.is_empty() {
            events.push(Event::Wanted { name: name.clone() });
        }
    }

    /// What is said to who wants to take away what nobody holds.
    pub(super) fn nobody_holds(&self, name: &Name) -> Refusal {
        let name = name.text.to_string();
        if self.is_by_turns() { Refusal::NotHeldHere { name } } else { Refusal::NotHeld { name } }
    }

    /// The turn has come.
    pub(super) fn turn(
        &mut self,
        moment: Moment,
        name: &Name,
        fence: Fence,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        if !self.is_by_turns() {
            return Err(Refusal::GrantsByItself);
        }
        let first = self.locks.get_mut(name).and_then(|lock| lock.admit(fence, moment));
        let Some(admitted) = first else { return Ok(Response::Over) };
        let (session, since_ms, value) = (admitted.session, admitted.since_ms, admitted.value);
        events.push(Event::Granted { name: name.clone(), session, fence, since_ms, value });
        Ok(Response::Granted { fence })
    }

    /// The turn was taken away.
    pub(super) fn turn_lost(
        &mut self,
        moment: Moment,
        name: &Name,
        fence: Fence,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        if !self.is_by_turns() {
            return Err(Refusal::GrantsByItself);
        }
        let holders = self.locks.get(name).map(|lock| &lock.holders);
        let holder = holders.and_then(|all| all.iter().find(|(_, holding)| holding.fence == fence)).map(|(id, _)| *id);
        if let Some(holder) = holder {
            let session = self.sessions.get_mut(&holder).expect("a holder has a session");
            let place = session.places.remove(name).expect("a holder has a place at its lock");
            self.leave(moment, holder, name, place, Departure::TurnLost, events);
            self.go_on(moment, name, events);
            self.end_if_over(moment, holder, events);
        }
        Ok(Response::Done)
    }

    /// There will be no turn.
    pub(super) fn no_turn(
        &mut self,
        moment: Moment,
        name: &Name,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        if !self.is_by_turns() {
            return Err(Refusal::GrantsByItself);
        }
        let waiting = self.locks.get(name).into_iter().flat_map(|lock| &lock.line);
        let waiting: Vec<_> = waiting.map(|(place, waiting)| (*place, waiting.session)).collect();
        for &(place, id) in &waiting {
            let session = self.sessions.get_mut(&id).expect("a waiter has a session");
            session.places.remove(name);
            self.leave(moment, id, name, place, Departure::NoTurn, events);
        }
        if !waiting.is_empty() {
            self.go_on(moment, name, events);
        }
        waiting.into_iter().for_each(|(_, id)| self.end_if_over(moment, id, events));
        Ok(Response::Done)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::machine::{Command, SessionId};
    use crate::service::plain_request;

    struct Run {
        machine: Machine,
        index: u64,
    }

    impl Run {
        fn begin(sessions: u64) -> Run {
            let mut run = Run { machine: Machine::by_turns(8), index: 0 };
            for number in 1..=sessions {
                let (label, owner) = (String::new(), String::new());
                run.apply(Command::Open { session: session(number), ttl_ms: 1000, label, owner, transient: false });
            }
            run
        }

        fn apply(&mut self, command: Command) -> (Response, Vec<Event>) {
            self.index += 1;
            let applied = self.machine.apply(Moment { index: self.index, at_ms: 0 }, command);
            assert!(self.machine.is_sound(self.index));
            applied
        }

        fn ask(&mut self, number: u64, change: impl FnOnce(&mut Acquire)) -> (Response, Vec<Event>) {
            let (session, mode, value) = (session(number), Mode::Exclusive, Vec::new());
            let mut acquire =
                Acquire { session, request: 0, call: 0, name: name(), mode, wait: true, delay_ms: 0, value };
            change(&mut acquire);
            self.apply(Command::Acquire(acquire))
        }

        fn turn(&mut self, fence: u64) -> (Response, Vec<Event>) {
            self.apply(Command::Turn { name: name(), fence: Fence::from_number(fence) })
        }

        fn holder(&self) -> Option<(u64, u64)> {
            let view = self.machine.lock(&name(), 0)?;
            view.holders.first().map(|holder| (holder.session.number(), holder.fence.number()))
        }
    }

    fn session(number: u64) -> SessionId {
        SessionId::new(number).unwrap()
    }

    fn name() -> Name {
        Name::lock("a")
    }

    fn wanted(events: &[Event]) -> bool {
        events.contains(&Event::Wanted { name: name() })
    }

    #[test]
    fn who_is_first_gets_the_turn_with_its_number_and_who_is_next_needs_another_one() {
        let mut run = Run::begin(2);
        let (first, events) = run.ask(1, |_| ());
        assert_eq!((first, wanted(&events)), (Response::Queued { ahead: 0 }, true));
        assert!(!wanted(&run.ask(2, |_| ()).1), "one turn is wanted already");
        assert_eq!(run.turn(900).0, Response::Granted { fence: Fence::from_number(900) });
        assert_eq!(run.holder(), Some((1, 900)));
        let release = Command::Release { session: session(1), request: 0, name: name(), fence: None };
        let (_, events) = run.apply(release);
        assert_eq!((run.holder(), wanted(&events)), (None, true));
        run.turn(7000);
        assert_eq!(run.holder(), Some((2, 7000)));
        let (_, events) = run.apply(Command::Expire { session: session(2), opened: 0 });
        assert!(events.contains(&Event::Vacant { name: name() }) && !wanted(&events));
        assert_eq!(run.machine.names().len(), 0);
    }

    #[test]
    fn a_turn_that_nobody_waits_for_any_more_is_nobodys() {
        let mut run = Run::begin(1);
        run.ask(1, |_| ());
        let (_, events) = run.apply(Command::Withdraw { session: session(1), request: 0, name: name() });
        assert!(events.contains(&Event::Vacant { name: name() }));
        assert_eq!(run.turn(900), (Response::Over, Vec::new()));
        assert_eq!(run.holder(), None);
    }

    #[test]
    fn a_turn_that_is_taken_away_is_lost_to_its_holder_and_to_nobody_else() {
        let mut run = Run::begin(2);
        run.ask(1, |_| ());
        run.ask(2, |_| ());
        run.turn(900);
        let lost = |fence| Command::TurnLost { name: name(), fence: Fence::from_number(fence) };
        assert_eq!(run.apply(lost(899)), (Response::Done, Vec::new()));
        let (_, events) = run.apply(lost(900));
        let is_told = |event: &Event| matches!(event, Event::Lost { departure: Departure::TurnLost, .. });
        assert!(events.iter().any(is_told) && wanted(&events), "{events:?}");
        run.turn(901);
        assert_eq!(run.holder(), Some((2, 901)));
    }

    #[test]
    fn nobody_waits_for_a_turn_that_there_will_not_be() {
        let mut run = Run::begin(2);
        run.ask(1, |_| ());
        run.ask(2, |_| ());
        let (_, events) = run.apply(Command::NoTurn { name: name() });
        let left = events.iter().filter(|event| matches!(event, Event::Left { departure: Departure::NoTurn, .. }));
        assert_eq!(left.count(), 2);
        assert!(events.contains(&Event::Vacant { name: name() }) && run.machine.names().len() == 0);
    }

    #[test]
    fn who_does_not_want_to_wait_waits_for_the_turn_and_for_nobody_here() {
        let mut run = Run::begin(2);
        assert_eq!(run.ask(1, |acquire| acquire.wait = false).0, Response::Queued { ahead: 0 });
        assert_eq!(run.ask(2, |acquire| acquire.wait = false).0, Response::Busy);
        run.turn(900);
        assert_eq!(run.ask(2, |acquire| acquire.wait = false).0, Response::Busy);
    }

    type Change = fn(&mut Acquire);

    #[test]
    fn what_turns_cannot_promise_is_refused_and_says_what_to_do() {
        let mut run = Run::begin(1);
        let changes: [(Change, Beyond); 4] = [
            (|acquire| acquire.mode = Mode::Shared, Beyond::Shared),
            (|acquire| acquire.mode = Mode::Permit { of: 2 }, Beyond::Permits),
            (|acquire| acquire.delay_ms = 1, Beyond::Delay),
            (|acquire| acquire.name = Name::lock("123456789"), Beyond::LongName { most: 8 }),
        ];
        for (change, beyond) in changes {
            let (response, events) = run.ask(1, change);
            assert_eq!((response, events), (Response::Refused(Refusal::NotByTurns(beyond)), Vec::new()));
            assert!(beyond.to_string().contains("--engine replicated"));
        }
        let forced = run.apply(Command::Force { name: name(), by: String::new(), fence: None }).0;
        assert_eq!(forced, Response::Refused(Refusal::NotHeldHere { name: "a".into() }));
    }

    /// What may happen, to one of four sessions.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Open,
        Ask { wait: bool },
        Withdraw,
        Release,
        Expire,
        Force,
        Turn,
        TurnLost,
    }

    fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
        let step = prop_oneof![
            Just(Step::Open),
            any::<bool>().prop_map(|wait| Step::Ask { wait }),
            Just(Step::Withdraw),
            Just(Step::Release),
            Just(Step::Expire),
            Just(Step::Force),
            Just(Step::Turn),
            Just(Step::TurnLost),
        ];
        prop::collection::vec((1..=4u64, step), 0..80)
    }

    proptest! {
        /// Whoever listens to what is told knows whether a turn is wanted: nobody waits whom no turn is asked for, and
        /// no turn is asked for that nobody waits for.
        #[test]
        fn a_turn_is_wanted_exactly_while_somebody_waits_and_nobody_holds(steps in steps()) {
            let (mut run, mut is_wanted, mut fence) = (Run::begin(4), false, 0);
            for (number, step) in steps {
                let (id, before) = (session(number), run.holder());
                let command = match step {
                    Step::Open => {
                        let (label, owner) = (String::new(), String::new());
                        Command::Open { session: id, ttl_ms: 1000, label, owner, transient: number == 4 }
                    }
                    Step::Ask { wait } => Command::Acquire(Acquire { wait, ..plain_request(id, name()) }),
                    Step::Withdraw => Command::Withdraw { session: id, request: 0, name: name() },
                    Step::Release => Command::Release { session: id, request: 0, name: name(), fence: None },
                    Step::Expire => Command::Expire { session: id, opened: 0 },
                    Step::Force => Command::Force { name: name(), by: String::new(), fence: None },
                    // It comes only to who has asked for it.
                    Step::Turn if !is_wanted => continue,
                    Step::Turn => {
                        fence += 1;
                        Command::Turn { name: name(), fence: Fence::from_number(fence) }
                    }
                    Step::TurnLost => Command::TurnLost { name: name(), fence: Fence::from_number(fence) },
                };
                for event in run.apply(command).1 {
                    match event {
                        Event::Wanted { .. } => is_wanted = true,
                        Event::Vacant { .. } => is_wanted = false,
                        Event::Granted { fence: granted, .. } => {
                            prop_assert!(is_wanted && before.is_none() && granted.number() == fence);
                            is_wanted = false;
                        }
                        _ => {}
                    }
                }
                let (holding, waiting) = run.machine.crowd(&name());
                prop_assert!(holding <= 1);
                prop_assert_eq!(is_wanted, holding == 0 && waiting > 0);
            }
        }
    }

    #[test]
    fn a_machine_that_grants_by_itself_takes_no_turns_and_is_written_down_as_ever() {
        let (mut machine, moment) = (Machine::default(), Moment { index: 1, at_ms: 0 });
        let turn = Command::Turn { name: name(), fence: Fence::from_number(9) };
        assert_eq!(machine.apply(moment, turn).0, Response::Refused(Refusal::GrantsByItself));
        assert_eq!(machine, Machine::default());
        assert_eq!(machine.digest(), Machine::by_turns(8).digest(), "how it grants is not part of what is written");
    }
}
