//! Crashes, restarts, pauses, and who is told of them.

use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::{Opinion, Record, What};
use quorate_lab::experiment::{Experiment, ExperimentError, Spectators};
use quorate_lab::network::Delay;
use quorate_lab::observer::{Ending, Observer, Verdict, Watch};
use quorate_lab::simulate::Fault;
use quorate_lab::time::DELTA;

use crate::chatter::{Chatter, chatter, counts, heard, listen, times, watch, words};

fn absent(id: u32) -> Fault {
    Fault::AbsentFromTheBeginning(Id::new(id))
}

/// Times are in tenths of δ, here and below.
fn crash(id: u32, at: Ticks) -> Fault {
    Fault::Crash(Id::new(id), at * DELTA / 10)
}

fn restart(id: u32, at: Ticks) -> Fault {
    Fault::Restart(Id::new(id), at * DELTA / 10)
}

fn pause(id: u32, from: Ticks, to: Ticks) -> Fault {
    Fault::Pause(Id::new(id), from * DELTA / 10, to * DELTA / 10)
}

fn with(faults: &[Fault]) -> Experiment {
    Experiment { faults: faults.to_vec(), ..chatter(3, 8) }
}

fn tenths(times: &[Ticks]) -> Vec<Ticks> {
    times.iter().map(|at| at * 10 / DELTA).collect()
}

#[test]
fn the_crashed_send_nothing_and_their_timers_are_dead() {
    let (_, records) = listen(&with(&[crash(2, 35)]));
    assert_eq!(tenths(&times(&records, 2, |what| *what == What::Crashed)), [35]);
    assert_eq!(tenths(&counts(&records, 2)), [10, 20, 30]);
    assert_eq!(heard(&records, 2, 1), [1, 2, 3], "what was on its way arrives");
    assert_eq!(tenths(&counts(&records, 1)), [10, 20, 30, 40, 50, 60, 70, 80]);
}

#[test]
fn what_reaches_a_crashed_process_was_sent_and_is_lost() {
    let (report, records) = listen(&with(&[crash(2, 35)]));
    let words = words(&records);
    assert_eq!(report.outcome.costs.messages, 2 * (8 + 3 + 8));
    for word in words.iter().filter(|word| word.to == 2) {
        let due = word.at + DELTA;
        if due < 35 * DELTA / 10 {
            assert_eq!((&word.arrived[..], &word.lost[..]), (&[due][..], &[][..]));
        } else {
            assert_eq!((&word.arrived[..], &word.lost[..]), (&[][..], &[due][..]));
        }
    }
    assert!(words.iter().filter(|word| word.to != 2).all(|word| word.lost.is_empty()));
}

#[test]
fn who_is_absent_never_starts() {
    let (_, records) = listen(&with(&[absent(2)]));
    assert_eq!(times(&records, 2, |_| true).len(), 1, "it has crashed, and that is all");
    assert_eq!(records[0], Record { at: 0, process: Id::new(2), what: What::Crashed });
    assert_eq!(words(&records).iter().filter(|word| !word.lost.is_empty()).count(), 2 * 8);
    // It can come back to life all the same; the life before is from before the run.
    let (_, records) = listen(&with(&[absent(2), restart(2, 35)]));
    assert_eq!(tenths(&times(&records, 2, |what| *what == What::Restarted { incarnation: 2 })), [35]);
    assert_eq!(heard(&records, 2, 1), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn another_life_begins_with_what_was_saved_and_without_the_old_timers() {
    let (_, records) = listen(&with(&[crash(2, 35), restart(2, 38), crash(2, 71), restart(2, 100)]));
    assert_eq!(tenths(&times(&records, 2, |what| *what == What::Restarted { incarnation: 2 })), [38]);
    assert_eq!(tenths(&times(&records, 2, |what| *what == What::Restarted { incarnation: 3 })), [100]);
    // The old timer was due at 40.
    assert_eq!(tenths(&counts(&records, 2)), [10, 20, 30, 48, 58, 68, 110, 120]);
    assert_eq!(heard(&records, 2, 1), [1, 2, 3, 4, 5, 6, 7, 8]);
    // What was sent to the first life while nobody lived, and arrives when the second does, arrives.
    assert!(words(&records).iter().all(|word| word.to != 2 || word.at > 4 * DELTA || word.lost.is_empty()));
}

#[test]
fn a_crash_and_a_restart_at_the_same_time_happen_in_the_order_of_the_list() {
    let (_, records) = listen(&with(&[crash(2, 35), restart(2, 35)]));
    let lives: Vec<_> =
        records.iter().filter(|record| record.process.number() == 2 && record.at == 35 * DELTA / 10).collect();
    assert!(matches!(lives[..], [Record { what: What::Crashed, .. }, Record { what: What::Restarted { .. }, .. }]));
    assert_eq!(tenths(&counts(&records, 2)), [10, 20, 30, 45, 55, 65, 75, 85]);
    let (_, records) = listen(&with(&[restart(2, 35), crash(2, 35)]));
    assert_eq!(tenths(&counts(&records, 2)), [10, 20, 30]);
}

#[test]
fn crashing_the_dead_and_restarting_the_living_does_nothing() {
    let (_, records) = listen(&with(&[crash(2, 35), crash(2, 36), restart(2, 38), restart(2, 39), restart(2, 60)]));
    assert_eq!(times(&records, 2, |what| *what == What::Crashed).len(), 1);
    assert_eq!(times(&records, 2, |what| matches!(what, What::Restarted { .. })).len(), 1);
    assert_eq!(tenths(&counts(&records, 2)), [10, 20, 30, 48, 58, 68, 78, 88]);
}

#[test]
fn a_restart_needs_a_crash() {
    let run = |faults: &[Fault]| with(faults).run_election::<Chatter>(Spectators::default()).map(drop);
    let refused = run(&[restart(2, 35)]).unwrap_err();
    assert_eq!(refused.to_string(), "restart of process 2 at 3.5: it has not crashed before that");
    assert!(matches!(run(&[crash(2, 36), restart(2, 35)]), Err(ExperimentError::RestartWithoutCrash { .. })));
}

/// What a process does and gets, when.
fn deeds(records: &[Record], process: u32) -> Vec<(Ticks, String)> {
    let of = records.iter().filter(|record| record.process.number() == process);
    let deed = |record: &Record| match &record.what {
        What::Received { from, label, .. } => format!("{label} of {from}"),
        What::TimedOut { .. } => "counts".to_string(),
        What::Paused => "pauses".to_string(),
        What::Resumed => "resumes".to_string(),
        _ => String::new(),
    };
    of.map(|record| (record.at * 10 / DELTA, deed(record))).filter(|(_, deed)| !deed.is_empty()).collect()
}

#[test]
fn a_pause_delays_everything_loses_nothing_and_keeps_the_order() {
    let faults = vec![pause(2, 15, 42)];
    let (_, records) = listen(&Experiment { faults, ..chatter(3, 3) });
    let expected = [
        (10, "counts"),
        (15, "pauses"),
        (42, "resumes"),
        // The first of these was sent before its own timer of 20 was set.
        (42, "word(1) of p1"),
        (42, "counts"),
        (42, "word(1) of p3"),
        (42, "word(2) of p1"),
        (42, "word(2) of p3"),
        (42, "word(3) of p1"),
        (42, "word(3) of p3"),
        (52, "counts"),
    ];
    let deeds = deeds(&records, 2);
    let shown: Vec<_> = deeds.iter().map(|(at, deed)| (*at, deed.as_str())).collect();
    assert_eq!(shown, expected);
    assert!(words(&records).iter().all(|word| word.arrived.len() == 1));
    assert_eq!(tenths(&times(&records, 1, |what| matches!(what, What::Received { .. }))), [20, 20, 30, 40, 52, 62]);
}

/// When process 2 pauses and resumes.
fn pauses(faults: &[Fault]) -> (Vec<Ticks>, Vec<Ticks>) {
    let (_, records) = listen(&Experiment { faults: faults.to_vec(), ..chatter(3, 20) });
    let mut awake = true;
    for record in records.iter().filter(|record| record.process.number() == 2) {
        match record.what {
            What::Paused => awake = false,
            What::Resumed | What::Crashed => awake = true,
            What::Lost { .. } => {}
            _ => assert!(awake, "{record:?} during a pause"),
        }
    }
    let at = |what: &What| tenths(&times(&records, 2, |other| other == what));
    (at(&What::Paused), at(&What::Resumed))
}

#[test]
fn pauses_that_meet_are_one() {
    assert_eq!(pauses(&[pause(2, 15, 42), pause(2, 30, 65)]), (vec![15], vec![65]));
    assert_eq!(pauses(&[pause(2, 15, 42), pause(2, 20, 30)]), (vec![15], vec![42]));
    assert_eq!(pauses(&[pause(2, 15, 42), pause(2, 60, 65)]), (vec![15, 60], vec![42, 65]));
    // One ends where the next begins: whether there is a moment between them does not matter, but both are pauses.
    assert_eq!(pauses(&[pause(2, 15, 42), pause(2, 42, 65)]).1.last(), Some(&65));
    assert_eq!(pauses(&[pause(2, 42, 65), pause(2, 15, 42)]).1.last(), Some(&65));
}

#[test]
fn a_crash_ends_a_pause_and_what_was_held_back_is_lost() {
    let (_, records) = listen(&with(&[pause(2, 15, 60), crash(2, 35), restart(2, 50)]));
    assert!(times(&records, 2, |what| *what == What::Resumed).is_empty());
    assert_eq!(tenths(&counts(&records, 2)), [10, 60, 70, 80, 90, 100, 110, 120]);
    let held_back: Vec<_> = words(&records).into_iter().filter(|word| word.to == 2 && word.at <= 2 * DELTA).collect();
    assert!(held_back.len() == 4 && held_back.iter().all(|word| tenths(&word.lost) == [35]), "{held_back:?}");
}

#[test]
fn a_pause_of_the_crashed_is_none_and_an_old_one_does_not_end_a_new_one() {
    assert_eq!(pauses(&[crash(2, 15), pause(2, 20, 40)]), (vec![], vec![]));
    assert_eq!(pauses(&[pause(2, 15, 60), crash(2, 20), restart(2, 30), pause(2, 40, 95)]), (vec![15, 40], vec![95]));
}

/// Who is told what of whom, when, in ticks after the crash or restart.
fn told(records: &[Record], since: Ticks) -> Vec<(u32, u32, bool, Ticks)> {
    let told = records.iter().filter_map(|record| match record.what {
        What::Told { of, alive } if record.at >= since => {
            Some((record.process.number(), of.number(), alive, record.at - since))
        }
        _ => None,
    });
    told.collect()
}

#[test]
fn the_perfect_detector_tells_exactly_the_living_when_all_has_arrived() {
    let detector = Some(true);
    let delay = Delay::Uniform(DELTA / 2, 2 * DELTA);
    let faults = vec![crash(4, 20), crash(2, 75)];
    let (_, records) = listen(&Experiment { detector, delay, faults, ..chatter(5, 8) });
    let after = 2 * DELTA + 1;
    let of_four = [(1, 4, false, after), (2, 4, false, after), (3, 4, false, after), (5, 4, false, after)];
    let first = told(&records, 2 * DELTA);
    assert_eq!(first[..4], of_four);
    assert_eq!(told(&records, 75 * DELTA / 10), [1, 3, 5].map(|id| (id, 2, false, after)));
    assert!(words(&records).iter().all(|word| word.from != 4 || word.arrived[0] < 4 * DELTA + 1));
    let (_, records) = listen(&Experiment { detector: None, faults: vec![crash(4, 20)], ..chatter(5, 8) });
    assert_eq!(told(&records, 0), [], "nobody is told where there is no detector");
}

#[test]
fn the_absent_are_known_from_the_beginning() {
    let (_, records) = listen(&Experiment { detector: Some(true), ..with(&[absent(2)]) });
    assert_eq!(told(&records, 0), [(1, 2, false, 0), (3, 2, false, 0)]);
}

#[test]
fn who_comes_back_is_announced_and_is_told_who_is_dead() {
    let detector = Some(true);
    let faults = vec![absent(1), crash(4, 15), crash(2, 20), crash(3, 55), restart(2, 60)];
    let (_, records) = listen(&Experiment { detector, faults, ..chatter(5, 8) });
    // That 3 has crashed is announced when it is to everybody else.
    let at_two: Vec<_> = told(&records, 6 * DELTA).into_iter().filter(|(who, ..)| *who == 2).collect();
    assert_eq!(at_two, [(2, 1, false, 0), (2, 4, false, 0), (2, 3, false, DELTA / 2 + 1)]);
    let of_two: Vec<_> = told(&records, 6 * DELTA).into_iter().filter(|(_, of, ..)| *of == 2).collect();
    assert_eq!(of_two, [(5, 2, true, DELTA + 1)]);
}

#[test]
fn who_comes_back_when_a_crash_is_announced_hears_of_it_once() {
    let back = Fault::Restart(Id::new(2), 3 * DELTA + 1);
    let faults = vec![crash(4, 20), crash(2, 25), back];
    let (_, records) = listen(&Experiment { detector: Some(true), faults, ..chatter(5, 8) });
    let at_two: Vec<_> = told(&records, 0).into_iter().filter(|(who, ..)| *who == 2).collect();
    assert_eq!(at_two, [(2, 4, false, 3 * DELTA + 1)]);
}

/// Otherwise its list goes to a dead process and is lost for good.
#[test]
fn an_election_that_relies_on_the_detector_is_decided_after_a_return_among_the_dead() {
    let faults = vec![crash(3, 50), crash(2, 80), restart(2, 200)];
    let (report, _) = watch(&Experiment { faults, n: 4, ..Experiment::default() }, "ring");
    assert!(
        report.outcome.verdicts.iter().all(|(_, verdict)| *verdict == Verdict::Held),
        "{:?}",
        report.outcome.verdicts
    );
    assert_eq!(report.outcome.election.leader(), Some(Id::new(4)));
}

#[test]
fn a_correction_is_of_a_wrong_suspicion_only() {
    let faults = vec![crash(3, 50), restart(3, 300)];
    let (report, _) = watch(&Experiment { faults, n: 4, ..Experiment::default() }, "heartbeat");
    let detection = &report.outcome.detection;
    assert_eq!((detection.detection_time.count(), detection.false_suspicions, detection.corrections), (3, 0, 0));
    let delay = Delay::Exponential(DELTA);
    let bound = Some(DELTA);
    let (report, _) =
        watch(&Experiment { delay, bound, until: Some(500 * DELTA), ..Experiment::default() }, "heartbeat");
    let detection = &report.outcome.detection;
    assert!(detection.corrections > 0 && detection.corrections <= detection.false_suspicions, "{detection:?}");
}

#[test]
fn a_mistake_that_a_crash_has_overtaken_is_not_corrected_by_a_return() {
    let thinks = |opinion| (1, What::Opinion { of: Id::new(2), opinion });
    let corrections = |history: &[(u32, What)]| {
        let watch = Watch { properties: vec![], keep_records: 0, detector_needs: 0 };
        let mut observer = Observer::new(3, &watch, None);
        for (at, (process, what)) in (0..).zip(history) {
            observer.observe(&Record { at, process: Id::new(*process), what: what.clone() });
        }
        observer.finish(Ending::CutOff, 10, 0).detection.corrections
    };
    let (wrong, right) = (thinks(Opinion::Suspected), thinks(Opinion::Unsuspected));
    assert_eq!(corrections(&[wrong.clone(), right.clone()]), 1);
    for crashed in [1, 2] {
        let history =
            [wrong.clone(), (crashed, What::Crashed), (crashed, What::Restarted { incarnation: 2 }), right.clone()];
        assert_eq!(corrections(&history), 0, "p{crashed} crashed in between");
    }
}
