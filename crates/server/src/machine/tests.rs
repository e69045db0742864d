//! The machine, sentence by sentence of its documentation.

use super::*;

/// A machine that numbers its own commands.
#[derive(Default)]
struct Numbered {
    machine: Machine,
    index: u64,
}

fn session(number: u64) -> SessionId {
    SessionId::new(number).unwrap()
}

fn name() -> Name {
    Name::lock("a")
}

fn asking(number: u64, request: u64) -> Acquire {
    let mode = Mode::Exclusive;
    Acquire {
        session: session(number),
        request,
        call: 0,
        name: name(),
        mode,
        wait: true,
        delay_ms: 0,
        value: Vec::new(),
    }
}

fn fence(index: u64) -> Fence {
    Fence::new(0, index)
}

fn open(number: u64, transient: bool) -> Command {
    let (label, owner) = (String::new(), String::new());
    Command::Open { session: session(number), ttl_ms: 1, label, owner, transient }
}

const DONE: Response = Response::Done;

fn granted(index: u64) -> Response {
    Response::Granted { fence: fence(index) }
}

impl Numbered {
    /// A machine with so many sessions.
    fn with_sessions(sessions: u64) -> Numbered {
        let mut numbered = Numbered::default();
        for number in 1..=sessions {
            assert_eq!(numbered.apply(open(number, false)).0, DONE);
        }
        numbered.index = 100;
        numbered
    }

    fn apply(&mut self, command: Command) -> (Response, Vec<Event>) {
        self.index += 1;
        self.machine.apply(Moment { index: self.index, at_ms: self.index }, command)
    }

    fn acquire(&mut self, acquire: Acquire) -> Response {
        self.apply(Command::Acquire(acquire)).0
    }

    fn share(&mut self, number: u64, delay_ms: u64) -> Response {
        self.acquire(Acquire { mode: Mode::Shared, delay_ms, ..asking(number, 0) })
    }

    fn release(&mut self, number: u64, request: u64) -> (Response, Vec<Event>) {
        self.apply(Command::Release { session: session(number), request, name: name(), fence: None })
    }

    fn expire(&mut self, number: u64) -> Vec<Event> {
        self.apply(Command::Expire { session: session(number), opened: 0 }).1
    }

    fn holders(&self) -> Vec<u64> {
        let lock = self.machine.lock(&name(), 0);
        lock.map_or(Vec::new(), |lock| lock.holders.iter().map(|holder| holder.session.number()).collect())
    }
}

#[test]
fn an_exclusive_lock_is_handed_on_in_the_order_of_arrival() {
    let mut machine = Numbered::with_sessions(3);
    assert_eq!(machine.acquire(asking(3, 1)), granted(101));
    assert_eq!(machine.acquire(asking(1, 1)), Response::Queued { ahead: 1 });
    assert_eq!(machine.acquire(asking(2, 1)), Response::Queued { ahead: 2 });
    assert_eq!(machine.release(3, 2).0, DONE);
    assert_eq!((machine.holders(), machine.acquire(asking(1, 1))), (vec![1], granted(104)));
    assert_eq!(machine.acquire(asking(2, 1)), Response::Queued { ahead: 1 });
}

#[test]
fn who_could_share_the_lock_waits_behind_who_cannot_and_those_let_in_together_share_a_fence() {
    let mut machine = Numbered::with_sessions(4);
    assert_eq!(machine.share(1, 0), granted(101));
    machine.acquire(asking(2, 0));
    assert_eq!(machine.share(3, 0), Response::Queued { ahead: 2 });
    assert_eq!(machine.share(4, 0), Response::Queued { ahead: 3 });
    machine.release(1, 0);
    assert_eq!(machine.holders(), [2]);
    machine.release(2, 0);
    assert_eq!(machine.holders(), [3, 4]);
    assert_eq!((machine.share(3, 0), machine.share(4, 0)), (granted(106), granted(106)));
}

#[test]
fn there_are_as_many_permits_as_those_who_have_one_say() {
    let mut machine = Numbered::with_sessions(4);
    let permit = |number, of| Acquire { mode: Mode::Permit { of }, ..asking(number, 0) };
    machine.acquire(permit(1, 2));
    machine.acquire(permit(2, 2));
    assert_eq!(machine.acquire(permit(3, 2)), Response::Queued { ahead: 2 });
    let other = Refusal::OtherPermits { name: "a".into(), of: 2 };
    assert_eq!(machine.acquire(permit(4, 3)), Response::Refused(other));
    (1..=3).for_each(|number| drop(machine.expire(number)));
    assert!(matches!(machine.acquire(permit(4, 3)), Response::Granted { .. }));
}

#[test]
fn a_lock_that_nobody_holds_takes_no_memory_and_its_fences_grow_all_the_same() {
    let mut machine = Numbered::with_sessions(1);
    let before = machine.machine.clone();
    for _ in 0..3 {
        let Response::Granted { fence: first } = machine.acquire(asking(1, 0)) else { panic!("it is free") };
        machine.release(1, 0);
        assert_eq!(machine.machine, before);
        assert!(first < fence(machine.index));
    }
}

#[test]
fn who_asks_not_to_wait_hears_that_it_is_busy_and_asks_with_another_number() {
    let mut machine = Numbered::with_sessions(2);
    let trying = |request| Acquire { wait: false, ..asking(2, request) };
    machine.acquire(asking(1, 0));
    assert_eq!(machine.acquire(trying(1)), Response::Busy);
    machine.release(1, 0);
    // The answer may have arrived, and whoever asked may have gone on.
    assert_eq!(machine.acquire(trying(1)), Response::Over);
    assert!(matches!(machine.acquire(trying(2)), Response::Granted { .. }));
}

#[test]
fn a_request_that_was_refused_is_not_granted_later() {
    let mut machine = Numbered::with_sessions(2);
    machine.acquire(Acquire { mode: Mode::Permit { of: 2 }, ..asking(1, 0) });
    let request = Acquire { mode: Mode::Permit { of: 3 }, ..asking(2, 1) };
    assert!(matches!(machine.acquire(request.clone()), Response::Refused(_)));
    machine.release(1, 0);
    assert_eq!(machine.acquire(request), Response::Over);
}

#[test]
fn a_release_that_was_refused_does_not_release_a_later_grant() {
    let mut machine = Numbered::with_sessions(1);
    assert!(matches!(machine.release(1, 1).0, Response::Refused(Refusal::NotHeld { .. })));
    machine.acquire(asking(1, 2));
    assert_eq!(machine.release(1, 1), (DONE, vec![]));
    assert_eq!(machine.holders(), [1]);
}

#[test]
fn what_a_leader_said_since_is_not_undone_by_its_old_request() {
    let mut machine = Numbered::with_sessions(1);
    let request = Acquire { value: b"old".to_vec(), ..asking(1, 1) };
    assert_eq!(machine.acquire(request.clone()), granted(101));
    let (session, fence) = (session(1), fence(101));
    machine.apply(Command::Proclaim { session, name: name(), fence, value: b"new".to_vec() });
    assert_eq!(machine.apply(Command::Acquire(request)), (granted(101), vec![]));
    assert_eq!(machine.machine.lock(&name(), 0).unwrap().holders[0].value, b"new");
    // A request that was never made says something new.
    machine.acquire(Acquire { value: b"newer".to_vec(), ..asking(1, 2) });
    assert_eq!(machine.machine.lock(&name(), 0).unwrap().holders[0].value, b"newer");
}

#[test]
fn nobody_gets_a_lock_before_each_delay_has_ended() {
    let mut machine = Numbered::with_sessions(3);
    machine.share(1, 9);
    machine.share(2, 1);
    let delayed = |index, delay_ms| Event::Delayed { name: name(), fence: fence(index), delay_ms };
    assert_eq!(machine.expire(1).last(), Some(&delayed(103, 9)));
    assert_eq!(machine.expire(2)[2..], [delayed(104, 1), Event::Vacant { name: name() }]);
    assert_eq!(machine.acquire(asking(3, 0)), Response::Queued { ahead: 0 });
    let end = |index| Command::EndDelay { name: name(), fence: fence(index) };
    assert_eq!(machine.apply(end(104)), (DONE, vec![]), "the delay of the other one goes on");
    assert_eq!(machine.apply(end(104)), (DONE, vec![]), "it ends once");
    assert_eq!(machine.machine.lock(&name(), 0).unwrap().delay, Some((fence(103), 9)));
    assert!(matches!(machine.apply(end(103)).1[..], [Event::Granted { .. }]));
}

#[test]
fn it_is_told_once_that_a_lock_is_vacant() {
    let mut machine = Numbered::with_sessions(1);
    machine.acquire(Acquire { delay_ms: 5, ..asking(1, 0) });
    assert_eq!(machine.expire(1).last(), Some(&Event::Vacant { name: name() }));
    let end = Command::EndDelay { name: name(), fence: fence(machine.index) };
    assert_eq!(machine.apply(end), (DONE, vec![]));
    assert_eq!(machine.machine.names().len(), 0);
}

#[test]
fn force_takes_a_lock_from_all_who_hold_it_and_ends_its_delays() {
    let mut machine = Numbered::with_sessions(4);
    machine.share(1, 5);
    machine.share(2, 0);
    machine.share(3, 0);
    machine.acquire(asking(4, 0));
    machine.expire(1);
    let force = Command::Force { name: name(), by: "root".into(), fence: None };
    assert_eq!(machine.apply(force.clone()).0, DONE);
    assert_eq!((machine.holders(), machine.machine.delays().count()), (vec![4], 0));
    assert_eq!(machine.machine.places(session(2)).count(), 0);
    machine.apply(force.clone());
    assert!(matches!(machine.apply(force).0, Response::Refused(Refusal::NotHeld { .. })));
}

/// Who looked at a lock and takes it away takes it from nobody who has got it since.
#[test]
fn force_with_a_fence_takes_a_lock_from_nobody_who_got_it_later() {
    let mut machine = Numbered::with_sessions(4);
    machine.acquire(asking(1, 0));
    let seen = fence(machine.index);
    machine.acquire(asking(2, 0));
    machine.apply(Command::Release { session: session(1), request: 0, name: name(), fence: None });
    let now = fence(machine.index);
    let force = |fence| Command::Force { name: name(), by: "root".into(), fence: Some(fence) };
    let other = Refusal::OtherGrant { name: "a".into(), seen, now };
    assert!(other.to_string().contains("nothing was released"), "{other}");
    assert_eq!(machine.apply(force(seen)), (Response::Refused(other), vec![]));
    assert_eq!(machine.holders(), [2]);
    assert_eq!(machine.apply(force(now)).0, DONE);
    assert_eq!(machine.holders(), Vec::<u64>::new());
    assert!(matches!(machine.apply(force(now)).0, Response::Refused(Refusal::NotHeld { .. })));
    machine.share(3, 0);
    let first = fence(machine.index);
    machine.share(4, 0);
    let last = fence(machine.index);
    assert!(matches!(machine.apply(force(first)).0, Response::Refused(Refusal::OtherGrant { .. })));
    assert_eq!(machine.apply(force(last)).0, DONE, "all lose it who were there when the newest one was seen");
    assert_eq!(machine.holders(), Vec::<u64>::new());
}

#[test]
fn who_withdraws_gives_up_its_place_but_not_what_it_was_granted() {
    let mut machine = Numbered::with_sessions(3);
    let withdraw = |number| Command::Withdraw { session: session(number), request: 0, name: name() };
    machine.share(1, 0);
    machine.acquire(asking(2, 0));
    machine.share(3, 0);
    assert_eq!(machine.apply(withdraw(1)), (granted(101), vec![]));
    assert_eq!(machine.apply(withdraw(2)).0, DONE);
    assert_eq!(machine.holders(), [1, 3], "who waited behind it can share the lock");
}

/// Withdrawals are sent again when no answer comes, and a copy may arrive long after.
#[test]
fn a_late_withdrawal_leaves_what_was_asked_for_since() {
    let mut machine = Numbered::with_sessions(2);
    let withdraw = |request| Command::Withdraw { session: session(2), request, name: name() };
    machine.acquire(asking(1, 1));
    machine.acquire(asking(2, 1));
    assert_eq!(machine.apply(withdraw(2)).0, DONE);
    machine.acquire(asking(2, 3));
    assert_eq!(machine.apply(withdraw(2)), (DONE, vec![]));
    assert_eq!(machine.machine.ahead_of(session(2), &name()), Some(1));
    assert_eq!(machine.acquire(asking(2, 5)), Response::Queued { ahead: 1 }, "asked for again, it keeps its place");
    assert_eq!(machine.apply(withdraw(4)), (DONE, vec![]));
    machine.apply(withdraw(5));
    assert_eq!(machine.machine.ahead_of(session(2), &name()), None);
}

/// A client whose call was cut off calls another node, before the first one has noticed.
#[test]
fn a_call_gives_up_only_what_nobody_has_asked_for_since() {
    let mut machine = Numbered::with_sessions(2);
    let calling = |number, call| Acquire { call, ..asking(number, 0) };
    let give_up = |number, call| Command::GiveUp { session: session(number), call, name: name() };
    machine.acquire(calling(1, 1));
    machine.acquire(calling(2, 2));
    machine.acquire(calling(2, 3));
    assert_eq!(machine.apply(give_up(2, 2)), (DONE, vec![]), "the later call waits for it");
    assert_eq!(machine.apply(give_up(2, 0)), (DONE, vec![]), "0 is no call");
    machine.apply(give_up(2, 3));
    assert_eq!(machine.machine.ahead_of(session(2), &name()), None);

    assert_eq!(machine.acquire(calling(1, 1)), granted(101), "the same call, sent again");
    machine.acquire(calling(2, 4));
    machine.apply(give_up(1, 1));
    assert_eq!(machine.holders(), [2], "what nobody was told of is given back");
    machine.acquire(calling(2, 5));
    for call in [4, 5] {
        assert_eq!(machine.apply(give_up(2, call)), (DONE, vec![]), "either call may have been told of it");
    }
    assert_eq!(machine.holders(), [2]);
}

#[test]
fn a_new_generation_has_larger_fences_even_if_commands_are_numbered_anew() {
    let mut machine = Numbered::with_sessions(1);
    machine.apply(Command::Generation { at_least: 0 });
    machine.index = 0;
    assert_eq!(machine.acquire(asking(1, 0)), Response::Granted { fence: Fence::new(1, 1) });
    assert!(Fence::new(1, 1) > fence((1 << 45) - 1));
    let mut next = |at_least| machine.apply(Command::Generation { at_least }).0;
    assert_eq!(next(7), DONE);
    for _ in 7..Fence::LAST_GENERATION {
        assert_eq!(next(0), DONE);
    }
    assert!(matches!(next(0), Response::Refused(Refusal::LastGeneration { .. })));
}

#[test]
fn everybody_in_a_long_line_knows_how_many_are_ahead() {
    let mut machine = Numbered::with_sessions(1000);
    for number in 1..=1000 {
        let response = machine.acquire(asking(number, 0));
        assert!(number == 1 || response == Response::Queued { ahead: number - 1 });
    }
    (2..=1000).step_by(3).for_each(|number| drop(machine.expire(number)));
    machine.release(1, 0);
    for (ahead, number) in (0..).zip((3..=1000).filter(|number| number % 3 != 2)) {
        let expected = (ahead > 0).then_some(ahead);
        assert_eq!(machine.machine.ahead_of(session(number), &name()), expected, "session {number}");
    }
}

#[test]
fn one_session_cannot_hold_everything() {
    let mut machine = Numbered::with_sessions(1);
    for number in 0..MOST_PLACES {
        machine.acquire(Acquire { name: Name::lock(number.to_string()), ..asking(1, 0) });
    }
    assert!(matches!(machine.acquire(asking(1, 0)), Response::Refused(Refusal::TooMany { .. })));
}

/// However many sessions there are, and whatever they say: memory is bounded, and whoever leaves makes room.
#[test]
fn all_together_cannot_say_more_than_there_is_room_for() {
    let mut machine = Numbered::with_sessions(3);
    let before = machine.machine.bytes;
    let (long, longer) = (vec![b'x'; 1000], vec![b'y'; 1001]);
    let is_full = |response: &Response| matches!(response, Response::Refused(Refusal::TooMany { .. }));
    assert!(matches!(machine.acquire(Acquire { value: long.clone(), ..asking(1, 0) }), Response::Granted { .. }));
    machine.machine.bytes += MOST_BYTES - machine.machine.bytes;
    assert!(is_full(&machine.acquire(asking(2, 0))));
    assert!(is_full(&machine.apply(open(9, false)).0));
    let fence = machine.machine.fence_of(session(1), &name()).unwrap();
    let say = |value: &[u8]| Command::Proclaim { session: session(1), name: name(), fence, value: value.into() };
    assert!(
        is_full(&machine.apply(say(&longer)).0) && is_full(&machine.acquire(Acquire { value: longer, ..asking(1, 0) }))
    );
    assert_eq!(machine.apply(say(&long[1..])).0, DONE);
    machine.machine.bytes -= MOST_BYTES - before - bytes_of_place(&name(), &long) as u64;
    assert!(matches!(machine.acquire(asking(2, 0)), Response::Queued { .. }));
    machine.release(1, 0);
    machine.release(2, 0);
    assert_eq!(machine.machine.bytes, before);
    assert!(machine.machine.is_sound(machine.index));
}

/// A request that is refused is the only one of a session that was opened for it alone.
#[test]
fn a_transient_session_ends_with_its_refusal() {
    let mut machine = Numbered::with_sessions(1);
    machine.acquire(Acquire { mode: Mode::Permit { of: 2 }, ..asking(1, 0) });
    machine.apply(open(7, true));
    let refused = machine.acquire(Acquire { mode: Mode::Permit { of: 3 }, ..asking(7, 0) });
    assert!(matches!(refused, Response::Refused(Refusal::OtherPermits { .. })));
    assert!(machine.machine.session(session(7)).is_none());
}

/// A request that is overtaken by its own withdrawal comes too late.
#[test]
fn what_was_withdrawn_before_it_arrived_is_over() {
    let mut machine = Numbered::with_sessions(1);
    assert_eq!(machine.apply(Command::Withdraw { session: session(1), request: 5, name: name() }).0, DONE);
    assert_eq!(machine.acquire(asking(1, 5)), Response::Over);
    assert!(matches!(machine.acquire(asking(1, 6)), Response::Granted { .. }));
}

/// A release that is so late that nobody knows whether it was done is not said to be done, if it may not have been.
#[test]
fn a_release_that_was_forgotten_is_done_if_it_says_what_to_give_back() {
    let mut machine = Numbered::with_sessions(1);
    assert_eq!(machine.acquire(asking(1, 1)), granted(101));
    machine.acquire(Acquire { name: Name::lock("b"), ..asking(1, 100) });
    assert_eq!(machine.release(1, 2).0, Response::Over);
    assert_eq!(machine.holders(), [1]);
    let mut give_back =
        |fence| machine.apply(Command::Release { session: session(1), request: 2, name: name(), fence }).0;
    assert_eq!(give_back(Some(fence(99))), DONE);
    assert_eq!(give_back(Some(fence(101))), DONE);
    assert_eq!(machine.holders(), [] as [u64; 0]);
    assert_eq!(machine.release(1, 2).0, DONE);
}
