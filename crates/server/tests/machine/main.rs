//! The machine under random commands, judged in five ways: by what can be seen after each, by what it tells, by a
//! naive model, by requests that are sent again, and by being written down and read in the middle. That the judges are
//! awake is shown by models with one flaw each.

mod flaw;
mod laws;
mod model;
mod script;

use flaw::Flaw;
use laws::{Broken, Seen, Service, Told};
use model::Model;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use quorate_server::machine::{Acquire, Command, Event, Machine, Moment, Response};
use script::{Director, Step, scripts};

/// Judges a service by the laws alone. Wherever a generation begins, a backup of some time before is restored.
fn judge<S: Service + Clone>(mut service: S, script: &[Step]) -> Result<(), Broken> {
    let (mut director, mut told) = (Director::default(), Told::default());
    let mut backup = (service.clone(), director.clone(), told.clone());
    for (place, step) in script.iter().enumerate() {
        if matches!(step, Step::Generation) {
            let lost = std::mem::replace(&mut told, backup.2.clone());
            (service, director) = (backup.0.clone(), backup.1.clone());
            told.remember_fences(&lost);
        }
        turn(&mut service, step, &mut director, &mut told, |_, _| Ok(()))?;
        // A backup from before the last restoration would begin the same generation a second time.
        if place % 8 == 0 || matches!(step, Step::Generation) {
            backup = (service.clone(), director.clone(), told.clone());
        }
    }
    Ok(())
}

/// Judges a service by the laws, and calls back after each command.
fn play<S: Service>(
    service: &mut S,
    script: &[Step],
    mut after: impl FnMut(&mut S, Play<'_>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let (mut director, mut told) = (Director::default(), Told::default());
    script.iter().try_for_each(|step| turn(service, step, &mut director, &mut told, &mut after))
}

fn turn<S: Service>(
    service: &mut S,
    step: &Step,
    director: &mut Director,
    told: &mut Told,
    mut after: impl FnMut(&mut S, Play<'_>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let before = service.seen();
    let (moment, command, is_again) = director.command(step);
    let (response, events) = service.apply(moment, command.clone());
    let seen = service.seen();
    seen.judge()?;
    told.judge(&command, &events, &seen)?;
    if is_again && (!events.is_empty() || before != seen) {
        return Err(format!("{command:?}, sent again, changes something"));
    }
    director.hear(&events);
    after(service, Play { moment, command: &command, response: &response, events: &events, seen: &seen })
}

/// A command and what came of it.
struct Play<'a> {
    moment: Moment,
    command: &'a Command,
    response: &'a Response,
    events: &'a [Event],
    seen: &'a Seen,
}

/// Judges a service by the model without flaws alone.
fn differs<S: Service>(service: &mut S, script: &[Step]) -> Result<(), Broken> {
    let (mut director, mut model) = (Director::default(), Model::new(None));
    for step in script {
        let (moment, command, _) = director.command(step);
        let (response, events) = service.apply(moment, command.clone());
        let expected = model.apply(moment, command.clone());
        if expected != (response.clone(), events.clone()) {
            return Err(format!("{command:?} gives {:?}, and should give {expected:?}", (response, events)));
        }
        if model.seen() != service.seen() {
            return Err(format!("after {command:?} there is {:?}, and should be {:?}", service.seen(), model.seen()));
        }
        director.hear(&events);
    }
    Ok(())
}

fn many_cases() -> Config {
    Config { cases: 3000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}

fn has_number(command: &Command) -> bool {
    matches!(command, Command::Acquire(Acquire { request: 1.., .. }) | Command::Release { request: 1.., .. })
}

proptest! {
    #![proptest_config(many_cases())]

    #[test]
    fn the_machine_keeps_the_laws(script in scripts()) {
        let judged = judge(Machine::default(), &script);
        prop_assert!(judged.is_ok(), "{}", judged.unwrap_err());
    }

    #[test]
    fn the_machine_does_what_the_model_does(script in scripts()) {
        let judged = differs(&mut Machine::default(), &script);
        prop_assert!(judged.is_ok(), "{}", judged.unwrap_err());
    }

    /// Any earlier request, sent again at any time, changes nothing: it is tried after every command.
    #[test]
    fn requests_that_are_sent_again_change_nothing(script in scripts()) {
        let mut sent = Vec::new();
        let judged = play(&mut Machine::default(), &script, |machine, play| {
            if has_number(play.command) {
                sent.push(play.command.clone());
            }
            for command in &sent {
                let mut copy = machine.clone();
                let (_, events) = copy.apply(play.moment, command.clone());
                if !events.is_empty() || copy != *machine {
                    return Err(format!("{command:?} again gives {events:?}"));
                }
            }
            Ok(())
        });
        prop_assert!(judged.is_ok(), "{}", judged.unwrap_err());
    }

    /// A machine that was written down and read goes on like one that was not.
    #[test]
    fn a_snapshot_goes_on_like_the_original(script in scripts(), place in 0usize..60) {
        let mut restored: Option<Machine> = None;
        let mut steps = 0;
        let judged = play(&mut Machine::default(), &script, |machine, play| {
            if let Some(restored) = &mut restored {
                let (response, events) = restored.apply(play.moment, play.command.clone());
                assert_eq!((&response, &events[..]), (play.response, play.events));
                assert_eq!(&restored.seen(), play.seen);
                assert_eq!(restored.digest(), machine.digest());
            }
            if steps == place % script.len() {
                let bytes = postcard::to_allocvec(machine).expect("a machine can be written down");
                restored = Some(postcard::from_bytes(&bytes).expect("what was written can be read"));
                assert_eq!(restored.as_ref(), Some(&*machine));
            }
            steps += 1;
            Ok(())
        });
        prop_assert!(judged.is_ok(), "{}", judged.unwrap_err());
        prop_assert!(restored.is_some());
    }
}

/// The first of many scripts by which a judge finds fault with a flawed model.
fn first_fault(judge: impl Fn(&[Step]) -> Result<(), Broken>) -> Option<(usize, Broken)> {
    let mut runner = TestRunner::deterministic();
    let strategy = scripts();
    (1..=20_000).find_map(|tries| {
        let script = strategy.new_tree(&mut runner).expect("there are always scripts").current();
        judge(&script).err().map(|broken| (tries, broken))
    })
}

#[test]
fn the_model_keeps_the_laws() {
    assert_eq!(first_fault(|script| judge(Model::new(None), script)), None);
}

#[test]
fn every_flaw_is_seen_by_comparison() {
    for flaw in Flaw::ALL {
        let fault = first_fault(|script| differs(&mut Model::new(Some(flaw)), script));
        println!("{flaw:?}: script {}", fault.as_ref().map_or(0, |(tries, _)| *tries));
        assert!(fault.is_some(), "{flaw:?} makes no difference");
    }
}

/// The laws know nothing of the model, and see every flaw all the same.
#[test]
fn every_flaw_breaks_a_law() {
    for flaw in Flaw::ALL {
        let fault = first_fault(|script| judge(Model::new(Some(flaw)), script));
        println!("{flaw:?}: {fault:?}");
        assert!(fault.is_some(), "{flaw:?} breaks no law");
    }
}
