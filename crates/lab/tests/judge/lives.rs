//! Lives of nodes in traces: how they end and go on, which are missing, and who was taken for dead and lived.

use quorate_core::catalog::Property;
use quorate_core::id::Id;
use quorate_core::journal::{Mark, Moment};
use quorate_core::mutex::RicartAgrawala;
use quorate_core::process::{Event, Notice};
use quorate_core::trace::What;
use quorate_lab::judge::{Finding, merge, read};
use quorate_lab::report::Severity;
use serde_json::{Value, json};

use crate::{Run, edit, finding, good, header, judged, refused};

/// It was there until it was stopped, and not only until its last word.
#[test]
fn a_life_that_was_stopped_in_an_orderly_way_ends_then() {
    let mut files = good::<RicartAgrawala>();
    let again = r#"{"at":9000,"process":2,"event":"restarted","incarnation":9,"past":[[0,0],[536870913,1],[0,0]]}"#;
    let end = serde_json::to_string(&Mark::End { at: 7000 }).unwrap();
    files[1] = edit(&files[1], |line| line.get("end").is_none());
    files[1] = format!("{}\n{end}\n{}\n{again}\n", files[1].trim_end(), header("ricart-agrawala", Id::new(2), 2));
    let lives = files.iter().flat_map(|text| read("a trace", text.as_bytes()).unwrap()).collect();
    let merged = merge(lives, 1_000_000).unwrap();
    let ends = merged.events.iter().filter(|event| event.record.what == What::Stopped);
    let ends: Vec<_> = ends.map(|event| (event.record.process.number(), event.record.at)).collect();
    assert_eq!(ends, [(2, 1_007_000)]);
    assert!(merged.events.iter().all(|event| event.record.what != What::Crashed), "it is not called a crash");
    let again = merged.events.iter().find_map(|event| match event.record.what {
        What::Restarted { incarnation } => Some(incarnation),
        _ => None,
    });
    assert_eq!(again, Some(2), "lives are counted as people do");
}

/// A record: somebody is told that another is dead, when it knows so much.
fn told(by: u32, of: u32, past: [Moment; 3]) -> String {
    json!({ "at": 9500, "process": by, "event": "told", "of": of, "alive": false, "past": past }).to_string()
}

/// A trace with one record more, at its end.
fn and(text: &str, record: &str) -> String {
    let is_end = |line: &&str| line.starts_with("{\"end\"");
    let (end, rest): (Vec<_>, Vec<_>) = text.lines().partition(is_end);
    rest.into_iter().chain([record]).chain(end).map(|line| format!("{line}\n")).collect()
}

/// Traces in which node 2 had another life, in which it has heard nothing yet.
fn again(life: u64, incarnation: u64, is_forgotten: bool) -> Vec<String> {
    let mut files = good::<RicartAgrawala>();
    let record = json!({
        "at": 9000, "process": 2, "event": "restarted", "incarnation": life, "past": [[0, 0], [life, 1], [0, 0]],
    });
    let mut header: Value = serde_json::from_str(&header("ricart-agrawala", Id::new(2), incarnation)).unwrap();
    if is_forgotten {
        header["header"]["forgotten"] = true.into();
    }
    files[1] += &format!("{header}\n{record}\n");
    files
}

/// A node that has lost its directory numbers its next life by the calendar.
#[test]
fn a_life_that_has_forgotten_the_former_ones_follows_them() {
    let (incarnation, life) = (1_794_000_000, (2 * 1_794_000_000 - 2) * (1 << 28) + 1);
    let judgement = judged(&again(life, incarnation, true));
    assert_eq!((judgement.lives.len(), &judgement.missing[..]), (4, &[][..]));
    assert_eq!(finding(&judgement, Property::MutualExclusion), Finding::Held, "{:?}", judgement.findings());
    let unsaid = judged(&again(life, incarnation, false));
    assert_eq!(unsaid.missing, ["no trace of p2 between its incarnations 1 and 1794000000"]);
    // Of another life in between somebody has heard.
    let mut files = again(life, incarnation, true);
    let between = Moment(1_793_000_000 * (1 << 29) + 1, 4);
    files[0] = and(&files[0], &told(1, 3, [Moment(1, 999), between, Moment(1, 900)]));
    assert_eq!(judged(&files).missing, ["no trace of p2 between its incarnations 1 and 1794000000"]);
}

/// A node is traced from its second life on. That is all there is, unless others have heard of the first.
#[test]
fn a_first_life_without_a_trace_is_missed_if_others_know_of_it() {
    let mut files = again((1 << 29) + 1, 2, false);
    let at = files[1].rfind("{\"header\"").unwrap();
    files[1].replace_range(..at, "");
    assert_eq!(judged(&files).missing, ["no trace of p2 before its incarnation 2"]);
    // The same if nobody but itself was there.
    let judgement = judged(&files[1..2]);
    assert_eq!(judgement.missing.len(), 1, "only the others: {:?}", judgement.missing);
}

#[test]
fn the_same_life_twice_is_refused_by_where_it_is() {
    let mut files = good::<RicartAgrawala>();
    files[1] = files[1].repeat(2);
    let why = refused(&files);
    let line = files[1].lines().count() / 2 + 1;
    assert!(why.starts_with(&format!("2.trace, line {line}: ")), "{why}");
    assert!(why.contains("incarnation 1 of p2 appears twice: the directory was emptied in between"), "{why}");
    // One that was refused has done nothing, and is nowhere in the way.
    let refused_once = format!("{}\n{{\"end\":{{\"at\":9}}}}\n", header("ricart-agrawala", Id::new(2), 1));
    files[1] = good::<RicartAgrawala>()[1].clone() + &refused_once;
    assert_eq!(judged(&files).severity(), Severity::Fine);
    // The same of a later life, which says that it begins.
    let mut files = again((1 << 29) + 1, 2, false);
    let at = files[1].rfind("{\"header\"").unwrap();
    let second = files[1].split_off(at);
    files[1] += &second.repeat(3);
    assert_eq!(judged(&files).severity(), Severity::Fine);
    let life = read("1.trace", files[0].as_bytes()).unwrap();
    let why = merge([life.clone(), life].concat(), 0).unwrap_err().to_string();
    assert!(why.contains("line 1: incarnation 1 of p1 appears twice: this file was given twice"), "{why}");
    let files = [&files[..1], &files[..1]].concat();
    let why = refused(&files);
    assert!(why.contains("incarnation 1 of p1 is also in 1.trace: give each incarnation once"), "{why}");
}

/// Who was killed a moment ago is dead if another one says so.
#[test]
fn who_wrote_no_end_and_is_taken_for_dead_has_crashed_then() {
    let crashes = |files: &[String]| {
        let lives = files.iter().flat_map(|text| read("a trace", text.as_bytes()).unwrap()).collect();
        let events = merge(lives, u64::MAX).unwrap().events;
        let crashed = events.iter().filter(|event| event.record.what == What::Crashed);
        crashed.map(|event| event.record.process.number()).collect::<Vec<_>>()
    };
    let mut files = good::<RicartAgrawala>();
    for file in &mut files[..2] {
        *file = edit(file, |line| line.get("end").is_none());
    }
    assert_eq!(crashes(&files), [0; 0], "nobody has said so");
    files[0] += &(told(1, 2, [Moment(1, 999), Moment(1, 900), Moment(1, 900)]) + "\n");
    assert_eq!(crashes(&files), [2]);
    // One that stopped in an orderly way has not, and is as dead.
    files[1] += &format!("{}\n", serde_json::to_string(&Mark::End { at: 9000 }).unwrap());
    assert_eq!(crashes(&files), [0; 0]);
    let lives = files.iter().flat_map(|text| read("a trace", text.as_bytes()).unwrap()).collect();
    let events = merge(lives, u64::MAX).unwrap().events;
    let stops = events.iter().filter(|event| event.record.what == What::Stopped);
    let stops: Vec<_> = stops.map(|event| (event.record.process.number(), event.record.at)).collect();
    assert_eq!(stops, [(2, 1_009_000)], "the others went on");
    // Whatever it says of when that was.
    files[1] = edit(&files[1], |line| line.get("end").is_none());
    files[1] += &format!("{}\n", serde_json::to_string(&Mark::End { at: u64::MAX }).unwrap());
    files[1] += &again((1 << 29) + 1, 2, false)[1]
        .lines()
        .rev()
        .take(2)
        .fold(String::new(), |after, line| format!("{line}\n{after}"));
    let lives = files.iter().flat_map(|text| read("a trace", text.as_bytes()).unwrap()).collect();
    let events = merge(lives, u64::MAX).unwrap().events;
    assert!(events.iter().any(|event| (&event.record.what, event.record.at) == (&What::Stopped, u64::MAX)));
}

/// How drawings number the lives of node 2.
fn numbers(files: &[String]) -> Vec<u64> {
    let lives = files.iter().flat_map(|text| read("a trace", text.as_bytes()).unwrap()).collect();
    let number = |what| if let What::Restarted { incarnation } = what { Some(incarnation) } else { None };
    merge(lives, u64::MAX).unwrap().events.into_iter().filter_map(|event| number(event.record.what)).collect()
}

#[test]
fn lives_have_the_numbers_that_what_is_missing_is_told_by() {
    let first_of = |incarnation: u64| (2 * incarnation - 2) * (1 << 28) + 1;
    assert_eq!(numbers(&again(first_of(2), 2, false)), [2]);
    assert_eq!(numbers(&again(first_of(3), 3, false)), [3], "the second was not traced");
    assert_eq!(numbers(&again(first_of(1_794_000_000), 1_794_000_000, true)), [2]);
    // What begins again within a life does not make another one.
    let mut files = again(first_of(2), 2, false);
    let record = |life: u64| {
        json!({
            "at": 9001, "process": 2, "event": "restarted", "incarnation": life, "past": [[0, 0], [life, 1], [0, 0]],
        })
    };
    files[1] += &format!("{}\n", record(first_of(2) + 1));
    assert_eq!(numbers(&files), [2, 2]);
    // Whatever it says.
    files[1] = files[1].replace("\"incarnation\":2,", &format!("\"incarnation\":{},", u64::MAX));
    assert_eq!(numbers(&files), [u64::MAX; 2]);
    files[1] += &format!("{}\n", record(first_of(2) + 2));
    let forgotten = files[1].replacen("\"incarnation\":1,", &format!("\"incarnation\":{},", u64::MAX - 1), 1);
    files[1] = forgotten.replace("\"n\":3", "\"forgotten\":true,\"n\":3");
    assert_eq!(numbers(&files).len(), 3, "no number is too large");
}

/// Whoever is dead tells nobody that its turn has ended before; who takes it for dead need not hear that.
#[test]
fn who_enters_after_a_death_need_not_be_told_of_a_turn_that_ended_before() {
    let mut run = Run::<RicartAgrawala>::new();
    run.turn(2);
    let killed = run.written[1].len();
    run.now += 10_000;
    for id in [1, 3] {
        run.happen(Id::new(id), Event::Notice(Notice::Suspect(Id::new(2))));
    }
    run.turn(3);
    run.turn(1);
    let mut files = run.files();
    files[1] = run.written[1][..killed].join("\n") + "\n";
    let exclusion = |files: &[String]| finding(&judged(files), Property::MutualExclusion);
    assert_eq!(exclusion(&files), Finding::Held);
    // The same of a node that was stopped in an orderly way, and of one that came back.
    files[1] += "{\"end\":{\"at\":5000}}\n";
    assert_eq!(exclusion(&files), Finding::Held);
    let again = json!({
        "at": 90000, "process": 2, "event": "restarted", "incarnation": 2, "past": [[0, 0], [(1 << 29) + 1, 1], [0, 0]],
    });
    files[1] += &format!("{}\n{again}\n", header("ricart-agrawala", Id::new(2), 2));
    assert_eq!(exclusion(&files), Finding::Held);
    // If nobody took it for dead, somebody had to wait for it.
    let untold: Vec<_> = files.iter().map(|text| edit(text, |line| line["event"] != "told")).collect();
    assert!(matches!(exclusion(&untold), Finding::Violated { .. }), "{:?}", exclusion(&untold));
}

/// Only from when somebody is taken for dead that lives is more possible than is promised; and who gives up all others
/// takes no part.
#[test]
fn what_was_broken_before_a_mistake_is_not_excused_by_it() {
    let mut files = good::<RicartAgrawala>();
    for file in &mut files {
        *file = file.replace("\"guard\":false", "\"guard\":true");
    }
    let broken = |files: &[String]| {
        let mut files = files.to_vec();
        let mut turns = 0;
        files[1] = edit(&files[1], |line| {
            turns += usize::from(line["event"] == "leaving");
            line["event"] != "leaving" || turns != 1
        });
        judged(&files)
    };
    assert_eq!(broken(&files).severity(), Severity::Safety);
    files[0] = and(&files[0], &told(1, 2, [Moment(1, 999), Moment(1, 900), Moment(1, 900)]));
    files[1] = and(&files[1], &told(2, 3, [Moment(1, 999), Moment(1, 999), Moment(1, 900)]));
    let judgement = broken(&files);
    assert_eq!(judgement.mistaken.map(|mistake| mistake.of), Some(Id::new(2)));
    assert_eq!(judgement.severity(), Severity::Safety, "it was broken long before: {:?}", judgement.findings());
    // Node 2, too, has given up one; with the other it would have given up a majority, and would not have gone on.
    files[0] = and(&files[0], &told(1, 3, [Moment(1, 1000), Moment(1, 900), Moment(1, 900)]));
    assert_eq!(judged(&files).mistaken, None, "it has stood still itself");
}

#[test]
fn who_is_taken_for_dead_in_a_second_life_and_lives_is_found() {
    let life = (1 << 29) + 1;
    let mut files = again(life, 2, false);
    files[0] = and(&files[0], &told(1, 2, [Moment(1, 999), Moment(life, 1), Moment(1, 900)]));
    assert_eq!(judged(&files).mistaken, None, "it may have been dead by then");
    files[1] += &(told(2, 3, [Moment(1, 999), Moment(life, 2), Moment(1, 900)]) + "\n");
    let mistake = judged(&files).mistaken.expect("it lived");
    assert_eq!((mistake.by, mistake.of), (Id::new(1), Id::new(2)));
}
