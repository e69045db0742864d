//! Processes that this one starts: nodes and workers of its own binary. They end when it ends, however that happens.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use quorate_lab::command::failure::Failure;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Nothing that a process is waited for takes so long, unless it never happens.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a process that is told to end may take.
const GRACE: Duration = Duration::from_secs(5);

/// Has the system end this process when its parent has ended. Elsewhere than on Linux, the parent must see to that.
pub(super) fn end_with(parent: u32) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
    // It may have ended before that.
    let is_there = rustix::process::getppid().is_none_or(|found| found.as_raw_nonzero().get() as u32 == parent);
    if is_there { Ok(()) } else { Err(Failure::Failed("the process that started this one has ended".into())) }
}

/// A process that says on its output, in lines of JSON, what it does.
pub(super) struct Process {
    child: Child,
    pid: u32,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    log: PathBuf,
}

impl Process {
    /// Starts this binary again with other arguments; what it complains of goes into a file.
    pub(super) fn start(arguments: &[String], log: &Path) -> Result<Process, Failure> {
        let file = File::options().create(true).append(true).open(log);
        let file = file.map_err(|error| Failure::File { path: log.display().to_string(), error })?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).args(["--json", "--with-parent", &std::process::id().to_string()]);
        // What the environment says of another service is not meant for this one.
        let is_foreign = |name: &OsStr| name.as_bytes().starts_with(b"QUORATE_") && name != "QUORATE_LOG";
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_foreign(name)) {
            command.env_remove(name);
        }
        // In a group of its own, so that a Ctrl-C at the terminal is ours to handle.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file).process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let missing = || Failure::Failed("a process was started without its pipes".into());
        let output = child.stdout.take().ok_or_else(missing)?;
        let (pid, input) = (child.id().ok_or_else(missing)?, child.stdin.take());
        Ok(Process { child, pid, input, lines: BufReader::new(output).lines(), log: log.into() })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The next thing it says.
    pub(super) async fn says(&mut self) -> Result<Value, Failure> {
        let line = match timeout(PATIENCE, self.lines.next_line()).await {
            Ok(line) => line?,
            Err(_) => return Err(Failure::Failed(format!("process {} says nothing", self.pid))),
        };
        match line.as_deref().map(serde_json::from_str) {
            Some(Ok(said)) => Ok(said),
            Some(Err(_)) | None => Err(self.why_it_ended()),
        }
    }

    fn why_it_ended(&self) -> Failure {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().last().unwrap_or("it says nothing");
        Failure::Failed(format!("process {} did not come up: {last}", self.pid))
    }

    /// Tells it something.
    pub(super) async fn tell(&mut self, line: &str) -> Result<(), Failure> {
        if let Some(input) = &mut self.input {
            input.write_all(format!("{line}\n").as_bytes()).await?;
            input.flush().await?;
        }
        Ok(())
    }

    /// Sends it a signal, unless it has ended.
    pub(super) fn signal(&self, signal: Signal) {
        // Its number belongs to it until it has been waited for, and that is in our hands.
        if let (Some(_), Some(pid)) = (self.child.id(), Pid::from_raw(self.pid as i32)) {
            let _ = kill_process(pid, signal);
        }
    }

    /// How it has ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends it at once.
    pub(super) async fn kill(&mut self) {
        // It may have ended by itself, and then there is nothing to do.
        let _ = self.child.kill().await;
    }

    /// Waits until it has ended as it was told to, and otherwise ends it.
    pub(super) async fn finish(&mut self) {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.kill().await;
        }
    }
}

/// A directory that is gone when this is dropped.
pub(super) struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    pub(super) fn new(what: &str) -> Result<TemporaryDirectory, Failure> {
        use std::os::unix::fs::DirBuilderExt;
        let path = std::env::temp_dir().join(format!("quorate-{what}-{}", std::process::id()));
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| Failure::File { path: path.display().to_string(), error })?;
        Ok(TemporaryDirectory(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // What is left is the system's to clean up.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
