//! How long commands take, and how much memory sessions and locks do: `cargo bench -p quorate-server --bench machine`.

use std::hint::black_box;
use std::time::Instant;

use quorate_server::machine::{Acquire, Command, Machine, Mode, Moment, Name, SessionId};

/// A machine that numbers its own commands.
#[derive(Default)]
struct Numbered {
    machine: Machine,
    index: u64,
}

impl Numbered {
    fn with_sessions(sessions: u64) -> Numbered {
        let mut numbered = Numbered::default();
        (1..=sessions).for_each(|number| numbered.open(number));
        numbered
    }

    fn open(&mut self, number: u64) {
        let (label, owner) = (String::from("worker"), String::from("team"));
        self.apply(Command::Open { session: session(number), ttl_ms: 10_000, label, owner, transient: false });
    }

    fn apply(&mut self, command: Command) {
        self.index += 1;
        black_box(self.machine.apply(Moment { index: self.index, at_ms: self.index }, command));
    }

    fn acquire(&mut self, number: u64, name: &Name, mode: Mode) {
        let (session, request, name) = (session(number), self.index, name.clone());
        let acquire = Acquire { session, request, call: 0, name, mode, wait: true, delay_ms: 0, value: Vec::new() };
        self.apply(Command::Acquire(acquire));
    }

    fn release(&mut self, number: u64, name: &Name) {
        let (session, request, name) = (session(number), self.index, name.clone());
        self.apply(Command::Release { session, request, name, fence: None });
    }

    /// A lock that session 1 holds and all others await.
    fn with_line(sessions: u64, name: &Name) -> Numbered {
        let mut numbered = Numbered::with_sessions(sessions);
        (1..=sessions).for_each(|number| numbered.acquire(number, name, Mode::Exclusive));
        numbered
    }
}

fn session(number: u64) -> SessionId {
    SessionId::new(number).expect("it is positive")
}

/// Runs something that gives so many commands, and prints how long one takes.
fn measure(what: &str, commands: u64, run: impl FnOnce()) {
    let begin = Instant::now();
    run();
    let nanoseconds = begin.elapsed().as_nanos() as u64 / commands;
    println!("{what:<72} {nanoseconds:>8} ns a command");
}

/// How many bytes of memory the process has, which is exact enough for many thousands of anything.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// Prints how many bytes each of so many takes.
fn weigh(what: &str, count: u64, grow: impl FnOnce()) {
    let before = resident_bytes();
    grow();
    println!("{what:<72} {:>8} bytes each", (resident_bytes() - before) / count);
}

fn main() {
    // First, while no memory lies about that was given back.
    const SESSIONS: u64 = 50_000;
    let mut numbered = Numbered::default();
    weigh("50,000 sessions", SESSIONS, || (1..=SESSIONS).for_each(|number| numbered.open(number)));
    weigh("50,000 locks, each held by a session of its own", SESSIONS, || {
        for number in 1..=SESSIONS {
            numbered.acquire(number, &Name::lock(format!("job-{number}")), Mode::Exclusive);
        }
    });
    let one = Name::lock("one");
    weigh("50,000 waiters for one lock", SESSIONS, || {
        (1..=SESSIONS).for_each(|number| numbered.acquire(number, &one, Mode::Exclusive));
    });
    measure("digest of 50,000 sessions, 50,001 locks and 50,000 waiters", 1, || {
        black_box(numbered.machine.digest());
    });

    let names: Vec<_> = (0..10_000).map(|number| Name::lock(format!("job-{number}"))).collect();
    let mut numbered = Numbered::with_sessions(1);
    measure("acquire and release, over 10,000 names", 20 * 10_000, || {
        for name in names.iter().cycle().take(10 * 10_000) {
            numbered.acquire(1, name, Mode::Exclusive);
            numbered.release(1, name);
        }
    });
    for waiters in [1_000, 10_000, 100_000] {
        measure(&format!("joining a line, until there are {waiters} waiters"), waiters * 2, || {
            drop(Numbered::with_line(waiters, &one));
        });
        let mut numbered = Numbered::with_line(waiters, &one);
        measure(&format!("asking again, among {waiters} waiters"), waiters, || {
            (1..=waiters).for_each(|number| numbered.acquire(number, &one, Mode::Exclusive));
        });
        measure(&format!("hand-over, to each of {waiters} waiters"), waiters, || {
            (1..=waiters).for_each(|number| numbered.release(number, &one));
        });
        let mut numbered = Numbered::with_line(waiters, &one);
        measure(&format!("expiry, of each of {waiters} waiters from the last"), waiters, || {
            (1..=waiters)
                .rev()
                .for_each(|number| numbered.apply(Command::Expire { session: session(number), opened: 0 }));
        });
        let mut numbered = Numbered::with_line(1, &one);
        (2..=waiters).for_each(|number| numbered.open(number));
        (2..=waiters).for_each(|number| numbered.acquire(number, &one, Mode::Shared));
        measure(&format!("letting in {waiters} readers at once, a reader"), waiters, || numbered.release(1, &one));
    }
}
