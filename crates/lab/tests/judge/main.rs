//! Traces, judged: good ones, and the same with something wrong put in on purpose.
//!
//! The traces are of the processes that nodes run, stepped by hand: what one says arrives at once, in order.

mod lives;

use std::collections::VecDeque;

use quorate_core::catalog::Property;
use quorate_core::id::Id;
use quorate_core::journal::{Entry, Header, Mark, VERSION};
use quorate_core::mutex::{Central, Mutex, RicartAgrawala};
use quorate_core::process::{Effect, Effects, Event, Notice, Process, perform};
use quorate_core::setting::{Group, Options, Recovering, Setting, Timing};
use quorate_core::stack::resources::Input;
use quorate_core::stack::{Limits, Name, Request, Surviving, traced};
use quorate_core::trace::What;
use quorate_lab::judge::{Bill, Finding, Judgement, judge, merge, read};
use quorate_lab::report::Severity;
use serde_json::{Value, json};

const N: u32 = 3;

type Said<M> = (Id, Id, <Surviving<M> as Process>::Message);

/// Three nodes, what is on its way between them, and what each has written.
struct Run<M: Mutex> {
    nodes: Vec<Surviving<M>>,
    due: VecDeque<Said<M>>,
    now: u64,
    written: Vec<Vec<String>>,
}

impl<M: Mutex> Run<M> {
    fn new() -> Run<M> {
        let options = Options::new(&M::ENTRY, []).unwrap();
        let group = Group::new(&M::ENTRY, N, 10, Timing::Asynchronous, options).unwrap();
        let group = group.recovering(&M::ENTRY, Some(Recovering::default())).unwrap();
        let node = |id| Surviving::within(Limits::default(), &Setting::new(id, &group), true);
        let nodes = Id::all(N).map(node).collect();
        let written = Id::all(N).map(|id| vec![header(M::ENTRY.name, id, 1)]).collect();
        let mut run = Run { nodes, due: VecDeque::new(), now: 0, written };
        for id in Id::all(N) {
            run.happen(id, Event::Start { incarnation: 1, saved: None });
        }
        run
    }

    fn happen(&mut self, id: Id, event: Event<Surviving<M>>) {
        let mut effects = Effects::<Surviving<M>>::new(id);
        perform(&mut self.nodes[id.index()], event, &mut effects);
        self.now += 1;
        for effect in effects.drain() {
            match effect {
                Effect::Send { to, message } => self.due.push_back((id, to, message)),
                Effect::Output(traced::Output::Happened(happening)) => {
                    let entry = Entry::new(self.now, id, *happening);
                    self.written[id.index()].push(serde_json::to_string(&entry).unwrap());
                }
                _ => {}
            }
        }
    }

    fn ask(&mut self, id: u32, request: Request) {
        self.happen(Id::new(id), Event::Input(Input::Of(Name::new("printer"), request)));
    }

    /// Everything that is on its way arrives.
    fn settle(&mut self) {
        while let Some((from, to, message)) = self.due.pop_front() {
            self.happen(to, Event::Receive { from, message });
        }
    }

    /// Somebody enters and leaves.
    fn turn(&mut self, id: u32) {
        self.ask(id, Request::Enter);
        self.settle();
        self.ask(id, Request::Exit);
        self.settle();
    }

    /// The files, after an orderly end.
    fn files(&self) -> Vec<String> {
        let end = serde_json::to_string(&Mark::End { at: self.now + 1 }).unwrap();
        self.written.iter().map(|lines| [lines.as_slice(), &[end.clone(), String::new()]].concat().join("\n")).collect()
    }
}

fn header(algorithm: &str, process: Id, incarnation: u64) -> String {
    let header = Header {
        version: VERSION,
        cluster: "test".into(),
        process,
        incarnation,
        forgotten: false,
        n: N,
        algorithm: algorithm.into(),
        options: [].into(),
        election: "ring".into(),
        guard: false,
        delay: 10,
        beat: 50,
        tolerance: 100,
        started: 1_000_000,
    };
    serde_json::to_string(&Mark::Header(header)).unwrap()
}

/// Two take turns, twice; then the third.
fn good<M: Mutex>() -> Vec<String> {
    let mut run = Run::<M>::new();
    for id in [2, 3, 2, 3, 1] {
        run.turn(id);
    }
    run.ask(1, Request::Enter);
    run.ask(2, Request::Enter);
    run.settle();
    for id in [1, 2] {
        run.ask(id, Request::Exit);
        run.settle();
    }
    run.files()
}

fn judged(files: &[String]) -> Judgement {
    let lives = files.iter().enumerate().flat_map(|(index, text)| read(&format!("{index}"), text.as_bytes()).unwrap());
    judge(lives.collect(), None).unwrap()
}

fn refused(files: &[String]) -> String {
    let mut lives = Vec::new();
    for (index, text) in (1..).zip(files) {
        match read(&format!("{index}.trace"), text.as_bytes()) {
            Ok(read) => lives.extend(read),
            Err(error) => return error.to_string(),
        }
    }
    judge(lives, None).unwrap_err().to_string()
}

fn finding(judgement: &Judgement, property: Property) -> Finding {
    judgement.worst(property).unwrap().1.clone()
}

fn why(judgement: &Judgement, property: Property) -> String {
    match finding(judgement, property) {
        Finding::Held => panic!("{property} held"),
        Finding::Violated { why, .. } | Finding::Undecided { why } => why,
    }
}

/// Changes the records of one file for which `which` says so.
fn edit(text: &str, mut change: impl FnMut(&mut Value) -> bool) -> String {
    let lines = text.lines().filter_map(|line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        change(&mut value).then(|| value.to_string())
    });
    lines.map(|line| line + "\n").collect()
}

#[test]
fn a_good_run_is_good_and_costs_what_it_costs() {
    // With a central server, who serves asks without a message, and is inside at once.
    for (files, each, contended) in [(good::<RicartAgrawala>(), 4.0, 2), (good::<Central>(), 15.0 / 7.0, 1)] {
        let judgement = judged(&files);
        assert_eq!(judgement.severity(), Severity::Fine, "{:?}", judgement.findings());
        assert!(judgement.missing.is_empty() && judgement.mistaken.is_none());
        assert_eq!((judgement.bill.entries, judgement.bill.contended), (7, contended));
        assert_eq!(judgement.bill.per_entry(), Some(each), "{:?}", judgement.bill.messages);
        let json = judgement.json();
        assert_eq!(json["resources"][0]["properties"]["mutual-exclusion"]["verdict"], "held");
    }
}

#[test]
fn the_order_of_files_and_clocks_hours_apart_change_nothing() {
    let right = judged(&good::<RicartAgrawala>());
    assert_eq!(right.corrections, []);
    // Of p2, whose turns come between those of others, with five hours from one clock to the other.
    for (started, ahead) in [(18_001_000_000_u64, 18_000_000_000_i64), (19_000_000_000, -18_000_000_000)] {
        let mut files = good::<RicartAgrawala>();
        let others = started.saturating_add_signed(-ahead);
        for (index, file) in files.iter_mut().enumerate() {
            let started = if index == 1 { started } else { others };
            *file = file.replace("\"started\":1000000", &format!("\"started\":{started}"));
        }
        files.reverse();
        let judgement = judged(&files);
        assert_eq!(judgement.findings().len(), right.findings().len());
        assert_eq!(judgement.severity(), Severity::Fine, "{:?}", judgement.findings());
        let [correction] = judgement.corrections[..] else { panic!("{:?}", judgement.corrections) };
        assert_eq!((correction.process, correction.incarnation), (Id::new(2), 1));
        assert!(correction.ahead.abs_diff(ahead) <= 5, "{correction:?}");
        let (bill, right) = (&judgement.bill, &right.bill);
        assert_eq!((bill.contended, bill.negative), (right.contended, 0));
        assert_eq!(bill.client_delay.mean(), right.client_delay.mean());
        let mean = |bill: &Bill| bill.sync_delay.mean().unwrap();
        assert!((mean(bill) - mean(right)).abs() <= 5.0, "{} and {}", mean(bill), mean(right));
    }
}

#[test]
fn whose_clock_is_hours_behind_is_not_dead() {
    // All still run: nobody has written an end.
    let files = good::<RicartAgrawala>().into_iter().map(|text| edit(&text, |line| line.get("end").is_none()));
    let mut files: Vec<_> = files.collect();
    files[0] = files[0].replace("\"started\":1000000", "\"started\":18001000000");
    let lives = files.iter().flat_map(|text| read("a trace", text.as_bytes()).unwrap());
    let merged = merge(lives.collect(), 1000).unwrap();
    assert!(merged.events.iter().all(|event| event.record.what != What::Crashed));
}

#[test]
fn a_fence_that_is_too_small_or_there_twice_is_found() {
    let mut files = good::<RicartAgrawala>();
    let mut seen = 0;
    let mut first = Value::Null;
    files[1] = edit(&files[1], |line| {
        if line["event"] == "entered" {
            seen += 1;
            match seen {
                1 => first = line["fence"].clone(),
                _ => line["fence"] = first.clone(),
            }
        }
        true
    });
    let judgement = judged(&files);
    assert_eq!(judgement.severity(), Severity::Safety);
    assert!(why(&judgement, Property::Fencing).starts_with("p2 entered with fence"), "{:?}", judgement.findings());
    assert_eq!(finding(&judgement, Property::MutualExclusion), Finding::Held);
}

#[test]
fn who_does_not_leave_is_found_inside_with_the_next() {
    let mut files = good::<RicartAgrawala>();
    let mut is_first = true;
    files[1] = edit(&files[1], |line| line["event"] != "leaving" || !std::mem::replace(&mut is_first, false));
    let judgement = judged(&files);
    assert_eq!(judgement.severity(), Severity::Safety);
    assert_eq!(why(&judgement, Property::MutualExclusion), "p3 entered while p2 was inside");
}

/// By the time stamps p2 has left long before p3 enters. But nothing that p3 has heard says so.
#[test]
fn a_second_entry_inside_is_found_whatever_the_time_stamps_say() {
    let mut run = Run::<RicartAgrawala>::new();
    run.ask(2, Request::Enter);
    run.settle();
    run.ask(3, Request::Enter);
    let asked: Value = serde_json::from_str(run.written[2].last().unwrap()).unwrap();
    let entered = json!({
        "at": 1000, "process": 3, "event": "entered", "fence": 1_000_000, "resource": "printer", "past": asked["past"],
    });
    run.written[2].push(entered.to_string());
    run.ask(2, Request::Exit);
    run.now = 1000;
    run.ask(3, Request::Exit);
    let judgement = judged(&run.files());
    assert_eq!(judgement.severity(), Severity::Safety, "{:?}", judgement.findings());
    let expected = "p3 entered, and no message shows that p2 had exited; only the machines' clocks do";
    assert_eq!(why(&judgement, Property::MutualExclusion), expected);
}

#[test]
fn who_waits_for_long_is_found_and_who_waits_for_a_while_is_not_decided() {
    let mut run = Run::<RicartAgrawala>::new();
    run.ask(2, Request::Enter);
    run.settle();
    run.ask(3, Request::Enter);
    run.settle();
    let judgement = judged(&run.files());
    assert_eq!(judgement.severity(), Severity::Undecided);
    assert!(why(&judgement, Property::Progress).starts_with("p3 still waited at the end, for 0.000 s; the limit is"));
    run.now += 1000;
    let judgement = judged(&run.files());
    assert_eq!(judgement.severity(), Severity::Liveness);
    assert!(why(&judgement, Property::Progress).starts_with("p3 still waited at the end, for 0.00"));
}

#[test]
fn whoever_lives_in_the_end_follows_one_leader() {
    let mut run = Run::<RicartAgrawala>::new();
    run.turn(2);
    run.now += 10;
    let name = |run: &mut Run<RicartAgrawala>, id: usize, leader: u32| {
        let last: Value = serde_json::from_str(run.written[id - 1].last().unwrap()).unwrap();
        let named = json!({ "at": run.now, "process": id, "event": "leader", "leader": leader, "past": last["past"] });
        run.written[id - 1].push(named.to_string());
    };
    for id in 1..=3 {
        name(&mut run, id, 3);
    }
    assert_eq!(judged(&run.files()).one_leader, Some(Finding::Held));
    name(&mut run, 1, 2);
    let judgement = judged(&run.files());
    let undecided = matches!(&judgement.one_leader, Some(Finding::Undecided { why }) if why.contains("names"));
    assert!(undecided, "news may be on its way: {:?}", judgement.one_leader);
    assert_eq!(judgement.severity(), Severity::Fine);
    run.now += 10_000;
    run.turn(2);
    let judgement = judged(&run.files());
    let why = "p2 names p3, and p1 names p2";
    assert!(matches!(&judgement.one_leader, Some(Finding::Violated { why: found, .. }) if found == why));
    assert_eq!(judgement.severity(), Severity::Liveness);
}

#[test]
fn a_request_that_overtakes_another_is_found() {
    let mut run = Run::<RicartAgrawala>::new();
    run.ask(2, Request::Enter);
    run.settle();
    run.ask(1, Request::Enter);
    run.settle();
    run.ask(3, Request::Enter);
    run.settle();
    run.ask(2, Request::Exit);
    run.settle();
    run.ask(1, Request::Exit);
    run.settle();
    assert_eq!(judged(&run.files()).worst(Property::RequestOrder).unwrap().1, &Finding::Held);
    // p1's entry is taken away, with all that follows: p3, which had heard of its request, was served before it.
    let mut files = run.files();
    let mut is_over = false;
    files[0] = edit(&files[0], |line| {
        is_over |= line["event"] == "entered";
        !is_over
    });
    let judgement = judged(&files);
    let order = why(&judgement, Property::RequestOrder);
    assert_eq!(order, "p3 entered before p1, whose request had happened before that of p3");
}

#[test]
fn what_is_missing_is_named_and_nothing_is_said_to_hold() {
    let files = good::<RicartAgrawala>();
    let judgement = judged(&files[..2]);
    assert_eq!(judgement.severity(), Severity::Undecided);
    assert!(judgement.missing[0].starts_with("no trace of p3:"), "{:?}", judgement.missing);
    let incomplete = "no violation found, but the traces are incomplete: no trace of p3";
    assert!(why(&judgement, Property::MutualExclusion).starts_with(incomplete));
    let mut gap = files;
    gap[0] = gap[0].replacen('\n', "\n{\"gap\":{\"lost\":12}}\n", 1);
    let judgement = judged(&gap);
    assert_eq!(judgement.missing, ["12 records of p1 were not written"]);
    assert_eq!(judgement.severity(), Severity::Undecided);
}

/// Central: p2 and p3 never speak to each other. That one left before the other entered is known through p1, also where
/// p1 has written nothing.
#[test]
fn what_went_through_a_node_without_a_trace_is_known_by_the_clocks() {
    let files = good::<Central>();
    let judgement = judged(&files[1..]);
    assert!(why(&judgement, Property::MutualExclusion).starts_with("no violation found"), "{:?}", judgement.findings());
}

#[test]
fn a_crash_ends_a_turn_and_the_next_life_is_another() {
    let mut run = Run::<RicartAgrawala>::new();
    run.turn(3);
    run.ask(2, Request::Enter);
    run.settle();
    // p2 is killed inside, while it writes.
    let killed = run.written[1].len();
    for id in [1, 3] {
        run.happen(Id::new(id), Event::Notice(Notice::Suspect(Id::new(2))));
    }
    run.ask(3, Request::Enter);
    run.settle();
    run.ask(3, Request::Exit);
    run.now += 10_000;
    run.ask(3, Request::Enter);
    run.settle();
    run.ask(3, Request::Exit);
    run.settle();
    let mut files = run.files();
    files[1] = run.written[1][..killed].join("\n") + "\n{\"at\":12,\"proc";
    let judgement = judged(&files);
    assert_eq!(finding(&judgement, Property::MutualExclusion), Finding::Held, "{:?}", judgement.findings());
    assert_eq!(finding(&judgement, Property::Progress), Finding::Held);
    assert!(judgement.lives[1].is_torn && judgement.has_suspicions && judgement.mistaken.is_none());
    // The next life goes on in the same file.
    let again = r#"{"at":9,"process":2,"event":"restarted","incarnation":9,"past":[[0,0],[536870913,1],[0,0]]}"#;
    files[1] = format!("{}\n{}\n{again}\n", files[1], header("ricart-agrawala", Id::new(2), 2));
    let judgement = judged(&files);
    assert_eq!(judgement.lives.len(), 4);
    assert_eq!(finding(&judgement, Property::MutualExclusion), Finding::Held, "{:?}", judgement.findings());
}

#[test]
fn what_is_no_trace_is_refused_by_file_and_line() {
    let files = good::<RicartAgrawala>();
    let spoilt = |change: &dyn Fn(&str) -> String| {
        let mut files = files.clone();
        files[1] = change(&files[1]);
        refused(&files)
    };
    let line = |number: usize, text: &'static str| {
        move |file: &str| {
            let mut lines: Vec<&str> = file.lines().collect();
            lines[number - 1] = text;
            lines.join("\n") + "\n"
        }
    };
    assert!(spoilt(&line(3, "nonsense")).starts_with("2.trace, line 3: not a line of a trace: expected"));
    let of_sim = spoilt(&line(3, r#"{"at":0,"process":2,"event":"wanted"}"#));
    assert!(
        of_sim.starts_with("2.trace, line 3: this is a trace of `quorate sim`, which has judged its run"),
        "{of_sim}"
    );
    assert_eq!(spoilt(&line(1, "")), "2.trace, line 2: the trace does not begin with a header");
    assert!(spoilt(&|_| String::new()).starts_with("2.trace, line 1: the file contains no trace"));
    let version = spoilt(&|file| file.replace("\"version\":1", "\"version\":2"));
    assert!(version.starts_with("2.trace, line 1: the trace has version 2, this program reads version 1"), "{version}");
    let other = spoilt(&|file| file.replace("\"cluster\":\"test\"", "\"cluster\":\"prod\""));
    assert!(other.contains("cluster \"prod\"") && other.contains("cluster \"test\""), "{other}");
    let whose = spoilt(&|file| file.replace("\"process\":2,\"event\"", "\"process\":3,\"event\""));
    assert_eq!(whose, "2.trace, line 2: the record is of p3, but the trace is of p2");
    let past = spoilt(&line(3, r#"{"at":1,"process":2,"event":"wanted","past":[[0,0],[1,1]]}"#));
    assert_eq!(past, "2.trace, line 3: the vector clock has 2 entries, but there are 3 processes");
    let back = spoilt(&line(3, r#"{"at":1,"process":2,"event":"wanted","past":[[0,0],[1,0],[0,0]]}"#));
    assert_eq!(back, "2.trace, line 3: the record has the position [1,0], but follows [1,1]");
    let twice = refused(&[files.clone(), vec![files[0].clone()]].concat());
    assert_eq!(twice, "4.trace, line 1: incarnation 1 of p1 is also in 1.trace: give each incarnation once");
    let circle = refused(&[
        header("central", Id::new(1), 1)
            + "\n{\"at\":1,\"process\":1,\"event\":\"wanted\",\"past\":[[1,1],[1,1],[0,0]]}\n",
        header("central", Id::new(2), 1)
            + "\n{\"at\":1,\"process\":2,\"event\":\"wanted\",\"past\":[[1,1],[1,1],[0,0]]}\n",
    ]);
    assert!(circle.contains("the vector clocks of these traces contradict each other"), "{circle}");
}
