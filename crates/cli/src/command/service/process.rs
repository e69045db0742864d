//! Processes that this one starts: nodes and workers of its own binary. They exit when it exits, however that happens.

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

/// How long to wait for the next output of a process.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a process may take to exit after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// Asks the system to kill this process when its parent exits. On other systems than Linux, the parent must do that.
pub(super) fn end_with(parent: u32) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
    // It may have exited before that.
    let is_there = rustix::process::getppid().is_none_or(|found| found.as_raw_nonzero().get() as u32 == parent);
    if is_there { Ok(()) } else { Err(Failure::Failed("the process that started this one has exited".into())) }
}

/// A process that reports on its output, in lines of JSON, what it does.
pub(super) struct Process {
    child: Child,
    pid: u32,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    log: PathBuf,
}

impl Process {
    /// Starts this binary again with other arguments; its standard error goes into a file.
    pub(super) fn start(arguments: &[String], log: &Path) -> Result<Process, Failure> {
        let file = File::options().create(true).append(true).open(log);
        let file = file.map_err(|error| Failure::File { path: log.display().to_string(), error })?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).args(["--json", "--with-parent", &std::process::id().to_string()]);
        // Variables that name another service are not meant for this one.
        let is_foreign = |name: &OsStr| name.as_bytes().starts_with(b"QUORATE_") && name != "QUORATE_LOG";
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_foreign(name)) {
            command.env_remove(name);
        }
        // In a group of its own, so that a Ctrl-C at the terminal is ours to handle.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file).process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let missing = || Failure::Failed("a process was started without pipes for its input and output".into());
        let output = child.stdout.take().ok_or_else(missing)?;
        let (pid, input) = (child.id().ok_or_else(missing)?, child.stdin.take());
        Ok(Process { child, pid, input, lines: BufReader::new(output).lines(), log: log.into() })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The next line of its output.
    pub(super) async fn says(&mut self) -> Result<Value, Failure> {
        let line = match timeout(PATIENCE, self.lines.next_line()).await {
            Ok(line) => line?,
            Err(_) => {
                let (pid, seconds) = (self.pid, PATIENCE.as_secs());
                return Err(Failure::Failed(format!("process {pid} printed nothing for {seconds} s")));
            }
        };
        match line.as_deref().map(serde_json::from_str) {
            Some(Ok(said)) => Ok(said),
            Some(Err(_)) | None => Err(self.why_it_ended().await),
        }
    }

    /// What it wrote last. Where it refused its arguments, ours were wrong.
    async fn why_it_ended(&mut self) -> Failure {
        let status = timeout(GRACE, self.child.wait()).await;
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().last().unwrap_or("it printed no error");
        // With --json, an error is an object.
        let object = serde_json::from_str::<Value>(last).ok();
        let error = object.as_ref().and_then(|object| object["error"].as_str()).unwrap_or(last);
        let error = error.strip_prefix("quorate: ").unwrap_or(error);
        match status {
            Ok(Ok(status)) if status.code() == Some(2) => Failure::Usage(error.into()),
            _ => Failure::Failed(format!("process {} did not start: {error}", self.pid)),
        }
    }

    /// Writes a line to its input.
    pub(super) async fn tell(&mut self, line: &str) -> Result<(), Failure> {
        if let Some(input) = &mut self.input {
            input.write_all(format!("{line}\n").as_bytes()).await?;
            input.flush().await?;
        }
        Ok(())
    }

    /// Sends it a signal, unless it has exited.
    pub(super) fn signal(&self, signal: Signal) {
        // Its id is not reused until it has been waited for, which only we do.
        if let (Some(_), Some(pid)) = (self.child.id(), Pid::from_raw(self.pid as i32)) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Its exit status, if it has exited.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Kills it.
    pub(super) async fn kill(&mut self) {
        // It may have exited by itself, and then there is nothing to do.
        let _ = self.child.kill().await;
    }

    /// Waits until it exits after SIGTERM, and kills it if it does not.
    pub(super) async fn finish(&mut self) {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.kill().await;
        }
    }
}

/// A directory that is removed when this is dropped.
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
