//! `quorate lock` and `quorate elect`: hold a lock, or lead, while a command runs.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use quorate_client::contract::{self, DEFAULT_TTL, ProblemKind, Span};
use quorate_client::{Client, DEFAULT_PATIENCE, Error, Guard, LockRequest, Session};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::child::{End, OnLoss, exit_code, exit_code_of_start, supervise};
use super::signals::{Signals, exit_code_of};
use super::{Endpoints, failed, harmless, in_words, run_async};

const BUSY: u8 = 122;
const LOST: u8 = 123;
const IN_VAIN: u8 = 124;
const FAILED: u8 = 125;

/// What a script has to know.
const EXIT_CODES: &str = "QUORATE_FENCE and QUORATE_SESSION.

Exit codes:
  the command's own, or
  122  somebody else holds it (--try)
  123  it was lost while the command ran
  124  it was not granted in time (--wait)
  125  the service failed, or could not be reached, before the command was run
  126  the command cannot be run
  127  there is no such command";

/// How long to wait for the answer to the end of a session: long enough for another node to take the lead.
const FAREWELL: Duration = Duration::from_secs(5);

/// Who does not want to wait is told after so long that nobody answers: long enough for another node to take the lead.
const SHORT_PATIENCE: Duration = Duration::from_secs(3);

/// Who watches is told after so long that nobody has answered; and a farewell that nobody needs takes no longer.
const SILENCE: Duration = Duration::from_secs(1);

/// What is common to locks and elections.
#[derive(Args, Debug)]
pub(crate) struct Holding {
    /// How long others wait when this process dies: the time to live of its session
    #[arg(long, value_name = "SPAN", default_value_t = DEFAULT_TTL)]
    ttl: Span,

    /// Wait so long at most; by default as long as it takes
    #[arg(long, value_name = "SPAN", conflicts_with = "try_once")]
    wait: Option<Span>,

    /// Do not wait at all
    #[arg(long = "try")]
    try_once: bool,

    /// What people see; by default user@host:pid
    #[arg(long, value_name = "WHO")]
    label: Option<String>,

    /// What happens to the command when the lock is lost
    #[arg(long, value_name = "WHAT", default_value = "term", value_enum)]
    on_loss: OnLoss,

    #[command(flatten)]
    endpoints: Endpoints,

    /// The command; without one, it is held until Ctrl-C or the end of input
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Hold a lock while a command runs
///
/// The command gets the signals that come while it runs; one that comes before, or where there is no command, gives up
/// the lock or the place in line, and the exit code is 128 and its number (0 for Ctrl-C where there is none: that is
/// how to end it).
#[derive(Args, Debug)]
#[command(after_help = format!("The command sees QUORATE_LOCK, {EXIT_CODES}"))]
pub(crate) struct Lock {
    /// The lock's name
    name: String,

    /// Share it with all others who share it
    #[arg(long, conflicts_with = "permits")]
    shared: bool,

    /// Share it with so many in all
    #[arg(long, value_name = "N")]
    permits: Option<u32>,

    /// Nobody gets it for so long after this process was lost
    #[arg(long, value_name = "SPAN")]
    delay: Option<Span>,

    #[command(flatten)]
    holding: Holding,
}

/// Lead while a command runs
///
/// Signals are treated as by `quorate lock`.
#[derive(Args, Debug)]
#[command(after_help = format!("The command sees QUORATE_ELECTION, {EXIT_CODES}"))]
pub(crate) struct Elect {
    /// The election's name
    name: String,

    /// What the leader has to say to those who observe; by default its label
    #[arg(long, value_name = "VALUE")]
    value: Option<String>,

    #[command(flatten)]
    holding: Holding,
}

/// Something to hold.
struct Wanted {
    name: String,
    variable: &'static str,
    holding: Holding,
    request: Box<dyn FnOnce(&Session) -> LockRequest + Send>,
}

pub(crate) fn run(arguments: Lock, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Lock { name, shared, permits, delay, holding } = arguments;
    let wanted = name.clone();
    let request = Box::new(move |session: &Session| {
        let request = session.lock(wanted);
        let request = if shared { request.shared() } else { request };
        let request = permits.map_or(request.clone(), |permits| request.permits(permits));
        request.delay(delay.map_or(Duration::ZERO, Span::duration))
    });
    hold(Wanted { name, variable: "QUORATE_LOCK", holding, request }, terminal)
}

pub(crate) fn run_elect(arguments: Elect, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Elect { name, value, holding } = arguments;
    let wanted = name.clone();
    let request = Box::new(move |session: &Session| {
        let value = value.unwrap_or_else(|| session.label().to_string());
        session.campaign(wanted, value)
    });
    hold(Wanted { name, variable: "QUORATE_ELECTION", holding, request }, terminal)
}

fn hold(wanted: Wanted, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let held = run_async(async {
        // Before there is anything to leave behind.
        let signals = Signals::hear()?;
        Ok(obtain_and_run(wanted, signals, terminal).await)
    })?;
    Ok(match held {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            terminal.complain(&failed(&error).to_string());
            ExitCode::from(match error.kind() {
                Some(ProblemKind::Held) => BUSY,
                Some(ProblemKind::WaitedInVain) => IN_VAIN,
                _ => FAILED,
            })
        }
    })
}

/// Says, once, that it still tries to reach somebody.
async fn tell_that_nobody_answers(terminal: &Terminal) -> std::convert::Infallible {
    sleep(SILENCE).await;
    terminal.remark("nobody has answered yet: it is tried again, here and elsewhere, for a while");
    std::future::pending().await
}

/// How the time ended in which something was held.
enum Held {
    /// The command ended, or the input; with this exit code.
    Until(u8),
    /// A signal came, and there was no command to pass it on to.
    UntilTold(Signal),
    /// It was lost.
    UntilLost,
}

async fn obtain_and_run(wanted: Wanted, mut signals: Signals, terminal: &mut Terminal) -> Result<u8, Error> {
    let Wanted { name, variable, holding, request } = wanted;
    let client = holding.endpoints.client()?;
    let client = match (holding.try_once, holding.wait) {
        (true, _) => client.patience(SHORT_PATIENCE),
        (false, Some(wait)) => client.patience(wait.duration().clamp(SHORT_PATIENCE, DEFAULT_PATIENCE)),
        (false, None) => client,
    };
    let new = client.session().ttl(holding.ttl.duration());
    let new = match &holding.label {
        Some(label) => new.label(label.clone()),
        None => new,
    };
    let session = tokio::select! {
        session = new.open() => session?,
        never = tell_that_nobody_answers(terminal) => match never {},
        // If there is one, it stands in nobody's way, and expires.
        signal = signals.next() => return Ok(exit_code_of(signal)),
    };
    let request = request(&session);
    let request = match (holding.try_once, holding.wait) {
        (true, _) => request.wait(Duration::ZERO),
        (false, Some(wait)) => request.wait(wait.duration()),
        (false, None) => request,
    };
    let is_lock = variable == "QUORATE_LOCK";
    let acquired = tokio::select! {
        acquired = request.acquire() => acquired,
        never = tell_who_is_ahead(&client, &session, &name, is_lock, terminal) => match never {},
        signal = signals.next() => {
            leave(session, &name, terminal).await;
            return Ok(exit_code_of(signal));
        }
    };
    let guard = match acquired {
        Ok(guard) => guard,
        Err(error) => {
            // It expires by itself if nobody answers.
            let _ = close(session).await;
            return Err(error);
        }
    };
    let held = if holding.command.is_empty() {
        until_told(&guard, is_lock, &mut signals, terminal).await
    } else {
        run_command(&holding, variable, &session, &guard, &mut signals, terminal).await
    };
    match held {
        Held::Until(code) => {
            let ttl = in_words(session.ttl().as_millis() as u64);
            match give_back(guard, session, &mut signals).await {
                Ok(()) => Ok(code),
                Err(error) if matches!(error.kind(), Some(ProblemKind::NotHeld | ProblemKind::NoSession)) => {
                    terminal.complain(&format!("{name} was lost before the command ended: {error}"));
                    Ok(if code == 0 { LOST } else { code })
                }
                // What the command has done is done: who runs it again because of this would do it twice.
                Err(error) => {
                    terminal.complain(&format!("{name} may stay held for up to {ttl}: {error}"));
                    Ok(code)
                }
            }
        }
        Held::UntilTold(signal) => {
            leave(session, &name, terminal).await;
            Ok(exit_code_of(signal))
        }
        Held::UntilLost => {
            // Nobody waits for what it still has; and whoever cannot be reached need not hear it.
            _ = timeout(SILENCE, session.close()).await;
            Ok(LOST)
        }
    }
}

/// Gives back what is held, however long the service takes to hear of it; after a signal, not for long any more.
async fn give_back(guard: Guard, session: Session, signals: &mut Signals) -> Result<(), Error> {
    tokio::select! {
        released = guard.release() => {
            // It expires by itself if nobody answers.
            let _ = close(session).await;
            released
        }
        _ = signals.next() => close(session).await,
    }
}

/// Leaves everything that a session holds or waits for.
async fn leave(session: Session, name: &str, terminal: &Terminal) {
    let ttl = in_words(session.ttl().as_millis() as u64);
    if let Err(error) = close(session).await {
        terminal.complain(&format!("{name} may stay held, or waited for, for up to {ttl}: {error}"));
    }
}

/// Closes a session, in a bounded time.
async fn close(session: Session) -> Result<(), Error> {
    let unheard = || Error::SessionOver("nobody answered its end; it expires by itself".into());
    timeout(FAREWELL, session.close()).await.unwrap_or_else(|_| Err(unheard()))
}

async fn run_command(
    holding: &Holding,
    variable: &str,
    session: &Session,
    guard: &Guard,
    signals: &mut Signals,
    terminal: &Terminal,
) -> Held {
    let mut command = Command::new(&holding.command[0]);
    command.args(&holding.command[1..]);
    command.env(variable, guard.name());
    command.env("QUORATE_FENCE", guard.fence().to_string());
    command.env("QUORATE_SESSION", session.id());
    // Told at once: the command may run on for long.
    let lost = async {
        let why = guard.lost().await;
        terminal.complain(&format!("{} was lost while the command ran: {why}", guard.name()));
    };
    match supervise(command, holding.on_loss, lost, signals).await {
        Ok(End::Exited(status)) => Held::Until(exit_code(status)),
        Ok(End::Lost) => Held::UntilLost,
        Err(error) => {
            terminal.complain(&format!("{}: {error}", holding.command[0]));
            Held::Until(exit_code_of_start(&error))
        }
    }
}

/// Holds until a signal, as of Ctrl-C, or the end of input, or the loss.
async fn until_told(guard: &Guard, is_lock: bool, signals: &mut Signals, terminal: &mut Terminal) -> Held {
    let told = if terminal.is_json() {
        let held = serde_json::json!({ "name": guard.name(), "fence": guard.fence() });
        terminal.print(&format!("{held}\n"))
    } else {
        let (name, fence) = (guard.name(), guard.fence());
        let how = if is_lock { format!("{name} is held") } else { format!("this process leads {name}") };
        terminal.print(&format!("{how}, fence {fence}; Ctrl-C or the end of input gives it back\n"))
    };
    if told.is_err() {
        return Held::Until(FAILED);
    }
    let end_of_input = async {
        let mut nothing = [0; 1024];
        let mut input = tokio::io::stdin();
        while input.read(&mut nothing).await.is_ok_and(|read| read > 0) {}
    };
    tokio::select! {
        () = end_of_input => Held::Until(0),
        signal = signals.next() => match signal {
            // As it was told.
            Signal::INT => Held::Until(0),
            other => Held::UntilTold(other),
        },
        why = guard.lost() => {
            terminal.complain(&format!("{} was lost: {why}", guard.name()));
            Held::UntilLost
        }
    }
}

/// While it waits, says for whom, whenever that changes.
async fn tell_who_is_ahead(
    client: &Client,
    session: &Session,
    name: &str,
    is_lock: bool,
    terminal: &Terminal,
) -> std::convert::Infallible {
    let mut last = String::new();
    let mut pause = Duration::from_millis(300);
    loop {
        sleep(pause).await;
        pause = Duration::from_secs(2);
        let ahead = if is_lock {
            client.lock(name).await.ok().and_then(|lock| ahead_of(&session.id(), &lock))
        } else {
            client.election(name).await.ok().and_then(|election| election.leader).map(|leader| ahead_as(&leader))
        };
        if let Some((who, how)) = ahead
            && who != last
        {
            terminal.warn(&format!("waiting behind {how}"));
            last = who;
        }
    }
}

/// Who holds a lock, and how many come before a session: what tells it from before, and in words.
fn ahead_of(session: &str, lock: &contract::Lock) -> Option<(String, String)> {
    let holder = lock.holders.first()?;
    let place = lock.waiters.iter().position(|waiter| waiter.session == session);
    let ahead = lock.holding + place.unwrap_or(lock.waiters.len()) as u64;
    // Only the first of those who wait are listed.
    let ahead = if place.is_some() { format!("{ahead} ahead") } else { format!("at least {ahead} ahead") };
    let (label, held) = (harmless(&holder.label), in_words(holder.held_ms));
    Some((format!("{label} {ahead}"), format!("{label}, who has held it for {held}; {ahead}")))
}

/// Who leads: the same. Candidates are not listed, so how many of them come before is not known.
fn ahead_as(leader: &contract::Leader) -> (String, String) {
    let label = harmless(&leader.label);
    (format!("{label} {}", leader.fence), format!("{label}, who leads, fence {}", leader.fence))
}
