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
use super::misplaced::refuse_misplaced;
use super::signals::{Signals, exit_code_of};
use super::{Endpoints, failed, harmless, in_words, run_async};

const USAGE: u8 = 2;
const BUSY: u8 = 122;
const LOST: u8 = 123;
const IN_VAIN: u8 = 124;
const FAILED: u8 = 125;

const LOCK_NOTES: &str = "\
Environment of COMMAND:
  QUORATE_LOCK     the name of the lock
  QUORATE_FENCE    the fencing token of the grant, a number: send it with every write to the protected resource
  QUORATE_SESSION  the session that holds the lock

Examples:
  Run a script while holding the lock `backup`:
    quorate lock backup -- ./backup.sh
  Exit with 122 if another client holds the lock:
    quorate lock backup --try -- ./backup.sh
  Exit with 124 if the lock was not granted within 30 seconds:
    quorate lock deploy --wait 30s --ttl 5s -- make deploy
  Run at most 4 of these at the same time:
    quorate lock uploads --permits 4 -- ./upload.sh
  Hold the lock until Ctrl-C:
    quorate lock backup";

const ELECT_NOTES: &str = "\
Environment of COMMAND:
  QUORATE_ELECTION  the name of the election
  QUORATE_FENCE     the fencing token of the grant, a number: send it with every write to the protected resource
  QUORATE_SESSION   the session that leads

Examples:
  Run a script while this process is the leader:
    quorate elect db -- ./run-primary.sh
  Publish the leader's address; `quorate observe db` shows it:
    quorate elect db --value 10.0.0.1:5432 -- ./run-primary.sh
  Exit with 122 if there is a leader:
    quorate elect db --try -- ./run-primary.sh";

/// Variables and exit codes, for scripts.
const EXIT_CODES: &str = "\
Exit codes:
  The exit code of COMMAND, or
  2      the arguments are wrong
  122    another client is the holder or the leader (--try)
  123    the lock or the leadership was lost while COMMAND ran
  124    the lock or the leadership was not granted in time (--wait)
  125    the service failed or could not be reached; COMMAND was not started
  126    COMMAND cannot be executed
  127    COMMAND was not found
  128+N  signal N arrived before COMMAND was started";

/// How long to wait for the answer to the end of a session: long enough for another node to take the lead.
const FAREWELL: Duration = Duration::from_secs(5);

/// With `--try`, how long to wait for an answer of a node: long enough for another node to become the leader.
const SHORT_PATIENCE: Duration = Duration::from_secs(3);

/// When to report that no node has answered yet; and how long to wait for an answer that does not matter any more.
const SILENCE: Duration = Duration::from_secs(1);

/// What is common to locks and elections.
#[derive(Args, Debug)]
pub(crate) struct Holding {
    /// TTL of the session: if this process dies, what it holds is released after this time
    #[arg(long, value_name = "DURATION", default_value_t = DEFAULT_TTL)]
    ttl: Span,

    /// Wait at most this long, for example 500ms, 10s or 5m [default: no limit]
    #[arg(long, value_name = "DURATION", conflicts_with = "try_once")]
    wait: Option<Span>,

    /// Do not wait: exit with 122 if another client is the holder or the leader
    #[arg(long = "try")]
    try_once: bool,

    /// Label of the session, as other commands show it; by default the user, host and process id
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,

    /// What to do with COMMAND when the lock or the leadership is lost
    #[arg(long, value_name = "ACTION", default_value = "term", value_enum)]
    on_loss: OnLoss,

    #[command(flatten)]
    endpoints: Endpoints,

    // What is written before `--` or without it, which then gets an answer of its own.
    #[arg(hide = true, allow_hyphen_values = true)]
    misplaced: Vec<String>,

    /// The command to run and its arguments, after `--`; without one, hold until Ctrl-C or the end of standard input
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Hold a lock while a command runs
///
/// Waits until the lock is granted, runs COMMAND, releases the lock when COMMAND ends, and exits with the exit code of
/// COMMAND. Without a COMMAND, holds the lock until Ctrl-C or the end of standard input.
///
/// Signals that arrive while COMMAND runs are passed on to it. A signal that arrives earlier, or when there is no
/// COMMAND, makes the process release the lock or leave the queue, and exit with 128 plus the number of the signal.
/// Ctrl-C without a COMMAND exits with 0, because it is the usual way to release the lock.
#[derive(Args, Debug)]
#[command(after_long_help = format!("{LOCK_NOTES}\n\n{EXIT_CODES}"), after_help = EXIT_CODES)]
#[command(override_usage = "quorate lock NAME [OPTIONS] -- COMMAND [ARGUMENT]…\n       quorate lock NAME [OPTIONS]")]
pub(crate) struct Lock {
    /// Name of the lock
    name: String,

    /// Share the lock with all clients that use --shared
    #[arg(long, conflicts_with = "permits")]
    shared: bool,

    /// Hold one of N permits: up to N clients hold the lock at the same time
    #[arg(long, value_name = "N")]
    permits: Option<u32>,

    /// Lock delay: if the session of this process expires, grant the lock to no other client for this long
    #[arg(long, value_name = "DURATION")]
    delay: Option<Span>,

    #[command(flatten)]
    holding: Holding,
}

/// Lead an election while a command runs
///
/// Waits until this process is the leader, runs COMMAND, resigns when COMMAND ends, and exits with the exit code of
/// COMMAND. Without a COMMAND, leads until Ctrl-C or the end of standard input. Signals are handled as by `quorate
/// lock`.
#[derive(Args, Debug)]
#[command(after_long_help = format!("{ELECT_NOTES}\n\n{EXIT_CODES}"), after_help = EXIT_CODES)]
#[command(override_usage = "quorate elect NAME [OPTIONS] -- COMMAND [ARGUMENT]…\n       quorate elect NAME [OPTIONS]")]
pub(crate) struct Elect {
    /// Name of the election
    name: String,

    /// The leader's value, which this process publishes while it leads [default: its label]
    #[arg(long, value_name = "VALUE")]
    value: Option<String>,

    #[command(flatten)]
    holding: Holding,
}

/// What is held, in the words of messages.
fn held_thing(is_lock: bool, name: &str) -> String {
    if is_lock { format!("lock {name}") } else { format!("the leadership of {name}") }
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
    refuse_misplaced(&Lock::augment_args(clap::Command::new("lock")), &name, &holding.misplaced)?;
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
    refuse_misplaced(&Elect::augment_args(clap::Command::new("elect")), &name, &holding.misplaced)?;
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
    held.map(ExitCode::from).map_err(|error| {
        let (kind, code) = match (&error, error.kind()) {
            (_, Some(ProblemKind::Held)) => ("held", BUSY),
            (_, Some(ProblemKind::WaitedInVain)) => ("timeout", IN_VAIN),
            (Error::Usage(_), _) | (_, Some(ProblemKind::BadRequest)) => ("usage", USAGE),
            _ => ("failed", FAILED),
        };
        Failure::Own { text: failed(&error).to_string(), kind, code }
    })
}

/// Reports, once, that no node has answered yet.
async fn report_silence(terminal: &Terminal) -> std::convert::Infallible {
    sleep(SILENCE).await;
    terminal.remark("no node has answered yet; still trying");
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
        never = report_silence(terminal) => match never {},
        // If the session was opened, it holds nothing, and expires.
        signal = signals.next() => return Ok(exit_code_of(signal)),
    };
    let request = request(&session);
    let request = match (holding.try_once, holding.wait) {
        (true, _) => request.wait(Duration::ZERO),
        (false, Some(wait)) => request.wait(wait.duration()),
        (false, None) => request,
    };
    let is_lock = variable == "QUORATE_LOCK";
    let what = held_thing(is_lock, &name);
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
                    terminal.complain(&format!("{what} was lost before the command ended: {error}"));
                    Ok(if code == 0 { LOST } else { code })
                }
                // The command has done its work: a caller that ran it again because of this would do the work twice.
                Err(error) => {
                    terminal
                        .complain(&format!("{what} could not be released, and may stay held for up to {ttl}: {error}"));
                    Ok(code)
                }
            }
        }
        Held::UntilTold(signal) => {
            leave(session, &name, terminal).await;
            Ok(exit_code_of(signal))
        }
        Held::UntilLost => {
            // It holds nothing any more, so a node that cannot be reached need not learn that the session ends.
            _ = timeout(SILENCE, session.close()).await;
            Ok(LOST)
        }
    }
}

/// Gives back what is held, however long the service takes to answer; after a signal, it does not wait for long.
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
        terminal.complain(&format!(
            "the session could not be closed; it may hold {name}, or wait for it, for up to {ttl}: {error}"
        ));
    }
}

/// Closes a session, in a bounded time.
async fn close(session: Session) -> Result<(), Error> {
    let unanswered =
        || Error::SessionOver("closed here, but no node answered; the service ends it after its TTL".into());
    timeout(FAREWELL, session.close()).await.unwrap_or_else(|_| Err(unanswered()))
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
    // Reported at once: the command may run on for long.
    let what = held_thing(variable == "QUORATE_LOCK", guard.name());
    let lost = async {
        let why = guard.lost().await;
        terminal.complain(&format!("{what} was lost while the command ran: {why}"));
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
        let (does, ends) = if is_lock { ("holding lock", "releases it") } else { ("leading election", "resigns") };
        terminal.print(&format!("{does} {name}, fence {fence}; Ctrl-C or the end of input {ends}\n"))
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
            // The printed line says so.
            Signal::INT => Held::Until(0),
            other => Held::UntilTold(other),
        },
        why = guard.lost() => {
            terminal.complain(&format!("{} was lost: {why}", held_thing(is_lock, guard.name())));
            Held::UntilLost
        }
    }
}

/// While it waits, reports the holder or leader, whenever that changes.
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

/// The first holder of a lock, and how many clients are ahead of a session: a key that changes with them, and the text.
fn ahead_of(session: &str, lock: &contract::Lock) -> Option<(String, String)> {
    let holder = lock.holders.first()?;
    let place = lock.waiters.iter().position(|waiter| waiter.session == session);
    let ahead = lock.holding + place.unwrap_or(lock.waiters.len()) as u64;
    // Only the first waiters are listed.
    let ahead = if place.is_some() { format!("{ahead} ahead") } else { format!("at least {ahead} ahead") };
    let (label, held) = (harmless(&holder.label), in_words(holder.held_ms));
    Some((format!("{label} {ahead}"), format!("{label}, which has held the lock for {held}; {ahead}")))
}

/// The same for the leader of an election. Candidates are not listed, so how many of them are ahead is not known.
fn ahead_as(leader: &contract::Leader) -> (String, String) {
    let label = harmless(&leader.label);
    (format!("{label} {}", leader.fence), format!("{label}, the leader with fence {}", leader.fence))
}
