//! `quorate demo fence`: what a fence prevents, shown with real processes.
//!
//! A worker gets a lock, and checks that it holds the lock. Then it is paused for longer than its lease, as by a long
//! garbage collection or by the migration of a virtual machine. Another worker gets the lock and writes. The first
//! worker continues and writes, too late and without knowing it. No lock service can prevent that late write; a
//! resource that checks fences refuses it.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{BAD, GOOD, Terminal, styled};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::process::{Process, TemporaryDirectory, end_with};
use super::{Endpoints, failed, in_words, run_async};

/// The lock that the workers request.
const LOCK: &str = "report";
/// The TTL of their sessions.
const LEASE: Duration = Duration::from_secs(1);

const NOTES: &str = "\
Examples:
  Pause the holder of a lock past its lease, and show what becomes of its late write:
    quorate demo fence";

/// Run a demonstration with real processes
#[derive(Args, Debug)]
#[command(after_long_help = NOTES)]
pub(crate) struct Demo {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Show that a paused holder writes too late, and that a fence stops it
    ///
    /// Starts a node on a free port, with its data in a temporary directory, and two workers. Takes a few seconds.
    #[command(after_long_help = NOTES)]
    Fence,
    /// A worker of a demonstration
    #[command(hide = true)]
    Worker(Worker),
}

#[derive(Args, Debug)]
struct Worker {
    name: String,

    #[arg(long)]
    with_parent: u32,

    #[command(flatten)]
    endpoints: Endpoints,
}

pub(crate) fn run(arguments: Demo, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match arguments.what {
        What::Fence => run_async(fence(terminal)),
        What::Worker(worker) => {
            end_with(worker.with_parent)?;
            run_async(work(&worker, terminal))
        }
    }
}

/// Gets the lock, reports that, waits for a line of input, and writes.
async fn work(worker: &Worker, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let client = worker.endpoints.client().map_err(|error| failed(&error))?;
    let session = client.session().ttl(LEASE).label(&worker.name).open().await.map_err(|error| failed(&error))?;
    let guard = session.lock(LOCK).acquire().await.map_err(|error| failed(&error))?;
    // The last check before the write: the lock is held.
    let (fence, left) = (guard.fence(), guard.valid_for().as_millis() as u64);
    terminal.print(&format!("{}\n", json!({ "fence": fence, "valid_for_ms": left })))?;
    // Between this check and the write there is always some time. Here it is long.
    tokio::io::stdin().read_u8().await?;
    terminal.print(&format!("{}\n", json!({ "write": worker.name, "fence": fence })))?;
    // A worker that has lost the lock does not wait for the answer.
    let _ = tokio::time::timeout(LEASE, guard.release()).await;
    Ok(ExitCode::SUCCESS)
}

/// A resource that accepts writes, and checks fences or does not.
struct Resource {
    looks_at_fences: bool,
    last: Option<(u64, String)>,
}

impl Resource {
    fn new(looks_at_fences: bool) -> Resource {
        Resource { looks_at_fences, last: None }
    }

    /// Writes, or returns the larger fence of an earlier write.
    fn write(&mut self, fence: u64, text: &str) -> Result<(), u64> {
        match &self.last {
            Some((largest, _)) if self.looks_at_fences && fence < *largest => Err(*largest),
            _ => {
                self.last = Some((fence, text.into()));
                Ok(())
            }
        }
    }

    fn contents(&self) -> &str {
        self.last.as_ref().map_or("nothing", |(_, text)| text)
    }
}

fn number(said: &Value, field: &str) -> Result<u64, Failure> {
    said[field].as_u64().ok_or_else(|| Failure::Failed(format!("a worker printed {said}, without the field {field}")))
}

async fn fence(terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let directory = TemporaryDirectory::new("demo")?;
    let log = directory.path().join("log");
    let data = directory.path().join("data").display().to_string();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data", &data].map(String::from);
    let mut node = Process::start(&serve, &log)?;
    let started = node.says().await?;
    let address = started["address"].as_str().unwrap_or_default().to_string();
    let worker = |name: &str| {
        let arguments = ["demo", "worker", name, "--endpoints", &address].map(String::from);
        Process::start(&arguments, &log)
    };
    let shows = !terminal.is_json();
    let mut say = |line: &str| if shows { terminal.print(&format!("{line}\n")) } else { Ok(()) };
    let lease = in_words(LEASE.as_millis() as u64);
    say(&format!("a node for this demonstration serves on {address}"))?;

    let mut a = worker("A")?;
    let held_by_a = number(&a.says().await?, "fence")?;
    say(&format!("A gets the lock with fence {held_by_a}, and checks that it holds it"))?;
    a.signal(Signal::STOP);
    say(&format!("A is paused before it writes: SIGSTOP to process {}", a.pid()))?;
    let mut b = worker("B")?;
    let held_by_b = number(&b.says().await?, "fence")?;
    say(&format!("A's lease of {lease} expires, and B gets the lock with fence {held_by_b}"))?;

    let (mut plain, mut fenced) = (Resource::new(false), Resource::new(true));
    b.tell("go on").await?;
    let fence_of_b = number(&b.says().await?, "fence")?;
    let of_b = (plain.write(fence_of_b, "B").is_ok(), fenced.write(fence_of_b, "B").is_ok());
    say("B writes: both resources accept it")?;
    a.tell("go on").await?;
    a.signal(Signal::CONT);
    let fence_of_a = number(&a.says().await?, "fence")?;
    let (late_plain, late_fenced) = (plain.write(fence_of_a, "A"), fenced.write(fence_of_a, "A"));
    say("A continues (SIGCONT), does not know that it lost the lock, and writes:")?;
    let verdict = |written: &Result<(), u64>, was_lost: &str| match written {
        Ok(()) => format!("{}{was_lost}", styled(BAD, "accepted")),
        Err(larger) => format!("{}, because {fence_of_a} is less than {larger}", styled(GOOD, "refused")),
    };
    say(&format!("  without fences: {}", verdict(&late_plain, ", and B's write is lost")))?;
    say(&format!("  with fences:    {}", verdict(&late_fenced, "")))?;

    for process in [&mut a, &mut b, &mut node] {
        process.kill().await;
    }
    if !shows {
        terminal.print_json(&json!({
            "paused": { "fence": fence_of_a, "accepted_without_fences": late_plain.is_ok(),
                        "accepted_with_fences": late_fenced.is_ok() },
            "successor": { "fence": fence_of_b, "accepted_without_fences": of_b.0, "accepted_with_fences": of_b.1 },
            "left_without_fences": plain.contents(), "left_with_fences": fenced.contents(),
        }))?;
    }
    let as_told = of_b == (true, true) && late_plain.is_ok() && late_fenced.is_err();
    if as_told {
        Ok(ExitCode::SUCCESS)
    } else {
        let expected = "the late write must be accepted without fences, and refused with them";
        Err(Failure::Failed(format!("the demonstration failed: {expected}")))
    }
}
