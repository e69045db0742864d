//! Processes that are started, told what to do, and stopped.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use quorate_lab::judge::{Judgement, judge, read};

use crate::member::Plan;
use crate::ports::free_addresses;

/// Where a process finds out that it is a member, and which.
pub(crate) const PLAN: &str = "QUORATE_TEST_MEMBER";
/// Nothing takes longer, if it happens at all.
const LONG: Duration = Duration::from_secs(120);

struct Process {
    plan: Plan,
    child: Child,
    input: ChildStdin,
    said: Receiver<String>,
}

/// A command that runs this program with a clock that is so many hours ahead, both of the calendar and of the machine.
fn program(hours_ahead: i32) -> Command {
    let this = std::env::current_exe().unwrap();
    if hours_ahead == 0 {
        return Command::new(this);
    }
    let mut command = Command::new("faketime");
    command.arg("-f").arg(format!("{hours_ahead:+}h")).arg(this);
    command
}

impl Process {
    fn start(plan: Plan, hours_ahead: i32) -> Process {
        let mut child = program(hours_ahead)
            .args(["--exact", "member", "--nocapture"])
            .env(PLAN, serde_json::to_string(&plan).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (tell, said) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Process { plan, child, input, said }
    }

    fn tell(&mut self, word: &str) {
        writeln!(self.input, "{word}").unwrap();
    }

    /// Waits for a word, and returns what follows it.
    fn hear(&self, word: &str) -> String {
        let mut before = Vec::new();
        while let Ok(line) = self.said.recv_timeout(LONG) {
            match line.strip_prefix("member: ").and_then(|said| said.strip_prefix(word)) {
                Some(rest) => return rest.trim().to_string(),
                None => before.push(line),
            }
        }
        panic!("{} of {} did not say {word:?}, but\n{}", self.plan.id, self.plan.algorithm, before.join("\n"));
    }
}

/// Members of a group, each a process of its own.
pub(crate) struct Processes {
    members: Vec<Process>,
    directory: PathBuf,
}

impl Processes {
    /// Starts them, and waits until each is connected to all others.
    pub(crate) fn start(n: u32, algorithm: &str, election: &str) -> Processes {
        Processes::start_with_clocks(&vec![0; n as usize], algorithm, election)
    }

    /// The same, with clocks that are so many hours ahead, for each of them.
    pub(crate) fn start_with_clocks(hours_ahead: &[i32], algorithm: &str, election: &str) -> Processes {
        let n = hours_ahead.len();
        let members = free_addresses(n);
        let port = members[0].rsplit_once(':').unwrap().1;
        let directory = std::env::temp_dir().join(format!("quorate-processes-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let plan = |id| Plan {
            id,
            members: members.clone(),
            algorithm: algorithm.into(),
            election: election.into(),
            directory: directory.clone(),
        };
        let members = (1..).zip(hours_ahead).map(|(id, &ahead)| Process::start(plan(id), ahead)).collect();
        let processes = Processes { members, directory };
        processes.members.iter().for_each(|member| _ = member.hear("ready"));
        processes
    }

    fn member(&mut self, id: u32) -> &mut Process {
        &mut self.members[id as usize - 1]
    }

    /// Lets these enter so many times each, all at the same time, and waits until they have.
    pub(crate) fn enter(&mut self, askers: &[u32], times: u32) {
        for &id in askers {
            self.member(id).tell(&format!("enter {times}"));
        }
        for &id in askers {
            self.member(id).hear("done");
        }
    }

    /// Whom each names its leader.
    pub(crate) fn lead(&mut self) -> Vec<u32> {
        self.members.iter_mut().for_each(|member| member.tell("lead"));
        self.members.iter().map(|member| member.hear("leader").parse().unwrap()).collect()
    }

    /// Stops all of them, and judges their traces.
    pub(crate) fn stop(mut self) -> Judgement {
        for member in &mut self.members {
            member.tell("stop");
        }
        let mut lives = Vec::new();
        for member in &mut self.members {
            assert!(member.child.wait().unwrap().success(), "{}", member.hear("an end"));
            let path = member.plan.trace();
            lives.extend(read(&path.display().to_string(), &std::fs::read(&path).unwrap()).unwrap());
        }
        judge(lives, None).unwrap()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for member in &mut self.members {
            // It has ended, unless a test has failed.
            _ = member.child.kill();
            _ = member.child.wait();
        }
        _ = std::fs::remove_dir_all(&self.directory);
    }
}
