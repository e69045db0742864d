//! A command that runs on: what it prints, line by line, and what is typed to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::support::eventually;

/// Nothing that is waited for takes so long, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that runs. It dies with the test.
pub(crate) struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    errors: Receiver<String>,
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Running {
    /// Starts it, for a service at these addresses.
    pub(crate) fn start(address: &str, arguments: &[&str]) -> Running {
        Running::start_by(Command::new(env!("CARGO_BIN_EXE_quorate")), address, arguments)
    }

    /// Starts it with these signals ignored and no others, whichever the test itself was started with.
    pub(crate) fn start_ignoring(signals: &[&str], address: &str, arguments: &[&str]) -> Running {
        let mut command = Command::new("env");
        command.arg("--default-signal").args(signals.iter().map(|signal| format!("--ignore-signal={signal}")));
        command.arg(env!("CARGO_BIN_EXE_quorate"));
        Running::start_by(command, address, arguments)
    }

    fn start_by(mut command: Command, address: &str, arguments: &[&str]) -> Running {
        command.args(arguments).env("QUORATE_ENDPOINTS", address);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (output, errors) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Running { input: child.stdin.take(), child, output, errors }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it prints.
    pub(crate) fn line(&self) -> String {
        self.output.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it says no more; {:?}", self.complaints()))
    }

    /// A line that it has printed by now.
    pub(crate) fn try_line(&self) -> Option<String> {
        self.output.try_recv().ok()
    }

    fn complaints(&self) -> Vec<String> {
        self.errors.try_iter().collect()
    }

    /// The next line that it prints, read as JSON.
    pub(crate) fn json(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?} is not JSON"))
    }

    /// Reads on until an event is as wanted.
    pub(crate) fn until(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.json();
            if is_wanted(&event) {
                return event;
            }
        }
    }

    /// Waits until it complains of this.
    pub(crate) fn until_it_complains(&self, of: &str) {
        loop {
            let line = self.errors.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it never complained of {of}"));
            if line.contains(of) {
                return;
            }
        }
    }

    /// Types something.
    pub(crate) fn type_in(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Types nothing any more.
    pub(crate) fn end_input(&mut self) {
        self.input = None;
    }

    /// Sends it a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        eventually("its end", || self.child.try_wait().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a process a signal by name.
pub(crate) fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Whether there is such a process, and it is not one that has ended and was not yet waited for.
pub(crate) fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}
