//! A group of members under one fault: it works, it goes on without the one who has the fault, and that one joins
//! again; also if another one is dead meanwhile.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use quorate_core::id::Id;
use quorate_lab::judge::{Finding, Judgement, judge, read};
use quorate_lab::report::Severity;

use crate::member::{self, TOLERANCE};
use crate::resource::{Resource, Shown};
use crate::wire::{Weather, Wire};
use crate::{Fault, Job, network};

/// How many members.
pub(crate) const N: u32 = 5;
/// What happens at all happens within this time.
const LONG: Duration = Duration::from_secs(90);
/// How many fences of everybody, two each turn, show that it goes on.
const SHOWN: usize = 6;

struct Group<'a> {
    job: &'a Job,
    directory: PathBuf,
    wire: Wire,
    resource: Resource,
    members: Vec<Child>,
}

/// Runs one job in a network of this process's own. Says what came of it, or what is wrong.
pub(crate) fn run(job: &Job, directory: &Path) -> Result<String, String> {
    network::build(N);
    let wire = Wire::new(job.seed, Weather { loss_percent: job.loss_percent, ..Weather::default() });
    let resource = Resource::new(directory);
    let mut group = Group { job, directory: directory.into(), wire, resource, members: Vec::new() };
    group.members = (1..=N).map(|id| group.start(id)).collect();
    let all: Vec<u32> = (1..=N).collect();
    let victim = (job.seed % u64::from(N)) as u32 + 1;
    let dead = (job.fault == Fault::PauseBesideDead).then_some(victim % N + 1);
    let living: Vec<u32> = all.iter().copied().filter(|&id| Some(id) != dead).collect();
    let survivors: Vec<u32> =
        living.iter().copied().filter(|&id| id != victim || job.fault == Fault::Nothing).collect();
    let mut times = vec![group.wait(&all, "in the beginning")?];
    if let Some(dead) = dead {
        group.kill(dead);
        // Everybody takes it for dead, also who stands still next.
        std::thread::sleep(2 * TOLERANCE);
        times.push(group.wait(&living, &format!("when {dead} is dead"))?);
    }
    // It has its turn when it happens, and goes on with it afterwards.
    if job.fault != Fault::Nothing && !group.resource.keep(victim, LONG) {
        return Err(format!("{victim} had no turn within {LONG:?}"));
    }
    group.begin(victim);
    // Who is taken for dead is not waited for any more; before that there may be turns of before.
    std::thread::sleep(2 * TOLERANCE);
    times.push(group.wait(&survivors, &format!("while {victim} is not well"))?);
    group.end(victim);
    group.resource.let_go();
    times.push(group.wait(&living, &format!("when {victim} is well again"))?);
    if let Some(dead) = dead {
        *group.member(dead) = group.start(dead);
        times.push(group.wait(&all, &format!("when {dead} is back"))?);
    }
    let judgement = group.stop()?;
    let lost = group.wire.lost_percent();
    let expected = job.loss_percent as f64;
    if (lost - expected).abs() > expected / 2.0 {
        return Err(format!("of a hundred frames {lost:.1} were lost, not {expected}"));
    }
    let account = group.resource.account();
    let refused = account.iter().filter(|shown| !shown.is_taken).count();
    let is_paused = matches!(job.fault, Fault::Pause | Fault::PauseBesideDead);
    check(&judgement, refused, is_paused.then_some(victim))?;
    if job.loss_percent == 0 {
        check_survivors(&judgement, &account, victim)?;
    }
    let is_deposed = is_paused || matches!(job.fault, Fault::Cut | Fault::Mute | Fault::Deaf);
    if is_deposed && !account.iter().any(|shown| shown.by == victim && !shown.is_taken) {
        return Err(format!("others had turns during that of {victim}, and its fence was not refused"));
    }
    let times: Vec<_> = times.iter().map(|time| format!("{:.1}", time.as_secs_f64())).collect();
    let mistaken = judgement
        .mistaken
        .map_or("nobody by mistake".into(), |mistake| format!("{} by {} by mistake", mistake.of, mistake.by));
    let taken = account.len() - refused;
    Ok(format!("victim {victim}, {taken} taken, {refused} refused, {mistaken}, {} s", times.join(" + ")))
}

/// Where nothing is lost, those who are well are not taken for dead: none of them was inside with another, and the
/// resource has refused the victim's fences only.
fn check_survivors(judgement: &Judgement, account: &[Shown], victim: u32) -> Result<(), String> {
    if let Some(shown) = account.iter().find(|shown| !shown.is_taken && shown.by != victim) {
        return Err(format!("the fence of {} was refused, and {victim} was not well", shown.by));
    }
    let is_about_victim = |&(a, b): &(Id, Id)| a.number() == victim || b.number() == victim;
    let mut overlaps = judgement.resources.iter().flat_map(|resource| &resource.overlaps);
    match overlaps.find(|overlap| !is_about_victim(overlap)) {
        Some((entered, inside)) => {
            Err(format!("{entered} entered while {inside} was inside, and {victim} was not well"))
        }
        None => Ok(()),
    }
}

/// What traces and resource have to show: growing fences whatever happened, and every promise that is left.
///
/// Who is paused when its fence was taken, and before it could note that, notes it late. Then only the resource knows
/// which fence came first: the traces do not decide it, and must not say that it was wrong.
fn check(judgement: &Judgement, refused: usize, paused: Option<u32>) -> Result<(), String> {
    let findings = judgement.findings();
    let said = || findings.iter().map(|(property, _, finding)| format!("{property} {finding:?}")).collect::<Vec<_>>();
    if !judgement.missing.is_empty() {
        return Err(format!("missing: {}", judgement.missing.join("; ")));
    }
    if judgement.severity() != Severity::Fine {
        return Err(format!("a promise is broken: {}", said().join("; ")));
    }
    let safety = findings.iter().find(|(property, ..)| property.to_string() == "resource-safety");
    let is_late = |why: &str| paused.is_some_and(|paused| why.starts_with(&format!("p{paused} wrote")));
    let is_safe = match safety.map(|(_, _, finding)| finding) {
        Some(Finding::Held) => true,
        Some(Finding::Undecided { why }) => is_late(why),
        Some(Finding::Violated { .. }) | None => false,
    };
    if !is_safe {
        return Err(format!("fences at the resource: {}", said().join("; ")));
    }
    if refused > 0 && judgement.mistaken.is_none() {
        return Err(format!("{refused} fences were refused, and nobody was taken for dead that lived"));
    }
    Ok(())
}

impl Group<'_> {
    fn start(&self, id: u32) -> Child {
        let path = self.directory.join(format!("{id}.log"));
        let log = File::options().append(true).create(true).open(path).expect("the directory is ours");
        let this = std::env::current_exe().expect("this program has a path");
        network::at(id, &this)
            .args(["member", &id.to_string(), &N.to_string(), &self.job.algorithm, &self.job.seed.to_string()])
            .arg(&self.directory)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a file of ours"))
            .stderr(log)
            .spawn()
            .expect("this program can be run")
    }

    fn member(&mut self, id: u32) -> &mut Child {
        &mut self.members[id as usize - 1]
    }

    /// Waits until each of these has had some turns from now on.
    fn wait(&mut self, who: &[u32], when: &str) -> Result<Duration, String> {
        let (began, before) = (Instant::now(), self.resource.account().len());
        loop {
            let account = self.resource.account();
            let taken = |id| account[before..].iter().filter(|shown| shown.by == id && shown.is_taken).count();
            let idle: Vec<u32> = who.iter().copied().filter(|&id| taken(id) < SHOWN).collect();
            if idle.is_empty() {
                return Ok(began.elapsed());
            }
            for &id in who {
                if let Ok(Some(status)) = self.member(id).try_wait() {
                    return Err(format!("{when} {id} has ended by itself: {status}"));
                }
            }
            if began.elapsed() > LONG {
                let taken: Vec<_> = (1..=N).map(taken).collect();
                return Err(format!("{when} {idle:?} had no {SHOWN} fences taken in {LONG:?}; of each: {taken:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn kill(&mut self, victim: u32) {
        self.member(victim).kill().expect("it is ours");
        self.member(victim).wait().expect("it is ours");
    }

    fn begin(&mut self, victim: u32) {
        match self.job.fault {
            Fault::Nothing => {}
            Fault::Kill => self.kill(victim),
            Fault::Pause | Fault::PauseBesideDead => signal(self.member(victim), "STOP"),
            Fault::Cut => self.wire.change(|weather| (weather.mute, weather.deaf) = (Some(victim), Some(victim))),
            Fault::Mute => self.wire.change(|weather| weather.mute = Some(victim)),
            Fault::Deaf => self.wire.change(|weather| weather.deaf = Some(victim)),
        }
    }

    fn end(&mut self, victim: u32) {
        match self.job.fault {
            Fault::Nothing => {}
            Fault::Kill => *self.member(victim) = self.start(victim),
            Fault::Pause | Fault::PauseBesideDead => signal(self.member(victim), "CONT"),
            Fault::Cut | Fault::Mute | Fault::Deaf => {
                self.wire.change(|weather| (weather.mute, weather.deaf) = (None, None));
            }
        }
    }

    /// Lets all leave, and judges their traces.
    fn stop(&mut self) -> Result<Judgement, String> {
        self.members.iter_mut().for_each(|member| drop(member.stdin.take()));
        let began = Instant::now();
        for (id, member) in (1..).zip(&mut self.members) {
            let status = loop {
                if let Some(status) = member.try_wait().expect("it is ours") {
                    break status;
                }
                if began.elapsed() > LONG {
                    return Err(format!("{id} does not leave within {LONG:?}"));
                }
                std::thread::sleep(Duration::from_millis(10));
            };
            if !status.success() {
                return Err(format!("{id} did not end well: {status}; its log says why"));
            }
        }
        let mut lives = Vec::new();
        for id in 1..=N {
            let path = member::trace(&self.directory, id);
            let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            lives.extend(read(&path.display().to_string(), &bytes).map_err(|error| error.to_string())?);
        }
        // Whether each had its turns in time was seen before.
        judge(lives, Some(LONG.as_micros() as u64)).map_err(|error| error.to_string())
    }
}

fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "the process is ours, and not yet waited for");
}
