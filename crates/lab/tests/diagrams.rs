//! Diagrams of small runs, to the byte, and of whatever records there may be, without a panic.
//!
//! `UPDATE=1 cargo test -p quorate-lab --test diagrams` rewrites the files in `tests/diagrams`; look at them.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::RngSeed;
use quorate_core::clock::{Epoch, Fence, Number};
use quorate_core::election::ELECTION;
use quorate_core::id::Id;
use quorate_core::setting::Recovering;
use quorate_core::trace::{Label, Opinion, Record, What};
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::diagram::{
    Clocks, FILE_COLUMNS, Format, MOST_RECORDS, Mark, Part, Picture, Spot, Unit, View, broken, json_lines, shiviz,
};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::network::{Delay, Partition};
use quorate_lab::recovery::Beside;
use quorate_lab::simulate::Fault;
use quorate_lab::time::DELTA;

fn records(algorithm: &str, experiment: &Experiment) -> Vec<Record> {
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    experiment.run(algorithm, Spectators { records: Some(&mut keep), ..Spectators::default() }).unwrap();
    records
}

/// Two processes that ask at almost the same time.
fn contention() -> Experiment {
    Experiment {
        n: 3,
        clients: ClientPlan {
            workload: Workload::List(vec![(Id::new(2), 0), (Id::new(3), DELTA / 2)]),
            ..ClientPlan::default()
        },
        ..Experiment::default()
    }
}

fn compare(name: &str, picture: &Picture<'_>) {
    compare_view(name, picture, &View::default(), &[("txt", Format::Text), ("svg", Format::Svg)]);
}

fn compare_view(name: &str, picture: &Picture<'_>, view: &View, formats: &[(&str, Format)]) {
    for &(ending, format) in formats {
        let actual = String::from_utf8(picture.render(format, view).unwrap()).unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagrams").join(format!("{name}.{ending}"));
        assert_eq!(Format::of(&path), Ok(format));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &actual).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(actual == expected, "{} changed; UPDATE=1 rewrites it", path.display());
        if format == Format::Svg {
            roxmltree::Document::parse(&actual).unwrap();
        }
    }
}

#[test]
fn two_ask_at_almost_the_same_time() {
    let records = records("ricart-agrawala", &contention());
    let title = "ricart-agrawala: p2 and p3 ask at almost the same time".into();
    let picture = Picture { n: 3, records: &records, title, marks: vec![] };
    compare("ricart-agrawala", &picture);
    let down = View { down: true, clocks: Some(Clocks::Lamport), ..View::default() };
    compare_view("ricart-agrawala-down", &picture, &down, &[("svg", Format::Svg)]);
}

#[test]
fn the_largest_is_dead_and_the_next_leads() {
    let experiment = Experiment {
        n: 4,
        faults: vec![Fault::AbsentFromTheBeginning(Id::new(4))],
        starters: vec![(Id::new(2), 0)],
        ..Experiment::default()
    };
    let records = records("bully", &experiment);
    let title = "bully: p4 has crashed, and p2 starts an election".into();
    compare("bully", &Picture { n: 4, records: &records, title, marks: vec![] });
}

/// What each process is doing, one thing after the other, as a page tells it.
#[cfg(feature = "page")]
fn phases(picture: &Picture<'_>) -> Vec<Vec<String>> {
    let run = &picture.stepped(&View::default())["run"];
    let phase = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    let mut phases: Vec<_> = run["lines"].as_array().unwrap().iter().map(|line| vec![phase(&line[2])]).collect();
    for change in run["changes"].as_array().unwrap() {
        phases[change[1].as_u64().unwrap() as usize].push(phase(&change[2]));
    }
    phases.iter_mut().for_each(Vec::dedup);
    phases
}

/// Whoever has begun an election or passed it on takes part until it names a leader, whoever called.
#[cfg(feature = "page")]
#[test]
fn elections_are_shown_at_all_who_take_part() {
    let (followed, led) = (["idle", "candidate", "idle"], ["idle", "candidate", "leading"]);
    // The largest bully has nobody to ask, and leads at once.
    let bullied = vec!["idle", "leading"];
    for (algorithm, largest) in [("bully", bullied), ("chang-roberts", led.into()), ("ring", led.into())] {
        let experiment = Experiment { n: 3, starters: vec![(Id::new(1), 0)], ..Experiment::default() };
        let records = records(algorithm, &experiment);
        let picture = Picture { n: 3, records: &records, title: String::new(), marks: vec![] };
        assert_eq!(phases(&picture), [followed.to_vec(), followed.to_vec(), largest], "{algorithm}");
    }
}

/// Beside an algorithm for mutual exclusion, who elects whom is between the two: no record says when that is over.
#[test]
fn an_election_beside_an_algorithm_is_not_shown_as_one_without_end() {
    let faults = vec![Fault::Crash(Id::new(1), 6 * DELTA)];
    let recovery = Some(Recovering::with(Beside::Ring));
    let records = records("central", &Experiment { n: 4, recovery, faults, ..Experiment::default() });
    let is_election = |what: &What| matches!(what, What::Sent { label, .. } if label.kind == ELECTION);
    assert!(records.iter().any(|record| is_election(&record.what)));
    let svg = Picture { n: 4, records: &records, title: String::new(), marks: vec![] }.svg();
    assert!(svg.contains(">waiting<") && !svg.contains(">in an election<"));
}

#[test]
fn messages_are_doubled_and_a_process_crashes() {
    let experiment = Experiment {
        delay: Delay::Uniform(DELTA / 2, 3 * DELTA / 2),
        loss: 0.1,
        duplicate: 0.2,
        until: Some(20 * DELTA),
        faults: vec![
            Fault::Pause(Id::new(2), 2 * DELTA, 3 * DELTA),
            Fault::Crash(Id::new(3), 5 * DELTA),
            Fault::Restart(Id::new(3), 8 * DELTA),
        ],
        ..contention()
    };
    let records = records("lamport", &experiment);
    let unexpected = records.iter().position(|record| matches!(record.what, What::Unexpected { .. })).unwrap();
    let marks = vec![Mark::at_record(unexpected, "FIFO and \"exactly once\" are assumed: 2 < 3 & so on")];
    let title = "lamport: a network that it does not assume".into();
    let picture = Picture { n: 3, records: &records, title, marks };
    compare("lamport-with-faults", &picture);
    // Who was paused and who crashed does nothing for a while; what comes before is not forgotten.
    let part = Part::Times { from: Some(DELTA), to: None };
    let folded = View { fold: true, clocks: Some(Clocks::Vector), part, ..View::default() };
    compare_view("lamport-with-faults-folded", &picture, &folded, &[("svg", Format::Svg)]);
}

/// Two are inside, and at the very same time the others do something, too: the mark is at who entered.
#[test]
fn a_violation_is_marked_where_it_happens() {
    let clients = ClientPlan { entries: 6, ..ClientPlan::default() };
    let experiment = Experiment { n: 4, loss: 0.1, clients, ..Experiment::default() };
    let records = records("lamport", &experiment);
    let marks = broken(4, &records);
    let Spot::Record(place) = marks[0].spot else { panic!("{marks:?}") };
    assert_eq!((records[place].process, &*marks[0].text), (Id::new(3), "p3 entered while p2 was inside"));
    assert!(records.iter().rfind(|record| record.at == records[place].at).unwrap().process != Id::new(3));
    let title = "lamport: a message is lost, and two are inside".into();
    let picture = Picture { n: 4, records: &records, title, marks };
    compare("lamport-broken", &picture);
    let part = Part::Records(place.saturating_sub(40)..place + 20);
    let down = View { down: true, part, ..View::default() };
    compare_view("lamport-broken-down", &picture, &down, &[("svg", Format::Svg)]);
}

/// The entries at which somebody is inside already, counted here rather than by a property.
fn intrusions(records: &[Record]) -> Vec<usize> {
    let mut inside = BTreeSet::new();
    let mut intrusions = Vec::new();
    for (index, record) in records.iter().enumerate() {
        match record.what {
            What::Entered { .. } => {
                if !inside.is_empty() {
                    intrusions.push(index);
                }
                inside.insert(record.process);
            }
            What::Leaving | What::Withdrew | What::Crashed => _ = inside.remove(&record.process),
            _ => {}
        }
    }
    intrusions
}

/// p3 enters while p2 is inside, and p4 while both are, with a smaller fence than that of p2: nothing of it looks
/// right.
#[test]
fn every_violation_is_marked_and_not_only_the_first() {
    let parts = vec![vec![Id::new(3)], vec![Id::new(4)]];
    let experiment = Experiment {
        n: 4,
        loss: 0.1,
        clients: ClientPlan { entries: 6, ..ClientPlan::default() },
        recovery: Some(Recovering::with(Beside::Ring)),
        faults: vec![
            Fault::Crash(Id::new(1), 5 * DELTA),
            Fault::Restart(Id::new(1), 25 * DELTA),
            Fault::Pause(Id::new(2), 3 * DELTA, 9 * DELTA),
        ],
        partitions: vec![Partition { parts, from: 12 * DELTA, to: 18 * DELTA }],
        ..Experiment::default()
    };
    let records = records("central", &experiment);
    let marks = broken(4, &records);
    let places = |mark: &Mark| -> Vec<Spot> { [mark].into_iter().chain(&mark.again).map(|mark| mark.spot).collect() };
    let expected: Vec<_> = intrusions(&records).into_iter().map(Spot::Record).collect();
    assert!(expected.len() > 1, "{expected:?}");
    assert_eq!(places(&marks[0]), expected);
    let all: Vec<_> = marks.iter().flat_map(places).collect();
    let said = marks.len();
    let picture = Picture { n: 4, records: &records, title: String::new(), marks };
    let svg = picture.svg();
    assert_eq!(svg.matches(r#"class="ring""#).count(), all.len());
    assert_eq!(svg.matches(r#"class="flagged""#).count(), said);
    assert_eq!(picture.text(FILE_COLUMNS).matches("▶▶▶").count(), all.len());
}

/// Who recovers finds out about crashes itself, and that is drawn; and its many kinds of messages all look different.
#[test]
fn a_recovery_shows_who_is_taken_for_dead() {
    let clients = ClientPlan { entries: 6, ..ClientPlan::default() };
    let recovery = Some(Recovering::with(Beside::Ring));
    let faults = vec![Fault::Crash(Id::new(1), 6 * DELTA)];
    let records = records("central", &Experiment { n: 4, clients, recovery, faults, ..Experiment::default() });
    let told = |by| Record { at: 0, process: Id::new(by), what: What::Told { of: Id::new(1), alive: false } };
    for by in [2, 3, 4] {
        let is_told = |record: &&Record| record.process == told(by).process && record.what == told(by).what;
        assert_eq!(records.iter().filter(is_told).count(), 1, "p{by}");
    }
    let svg = Picture { n: 4, records: &records, title: "recovery".into(), marks: vec![] }.svg();
    assert!(svg.contains("suspected by others") && svg.contains(">timer expires<"));
    let document = roxmltree::Document::parse(&svg).unwrap();
    let samples = document.descendants().filter(|node| node.attribute("transform").is_some());
    let classes = samples.map(|sample| -> Vec<_> {
        let parts = sample.children().filter_map(|part| part.attribute("class"));
        // Without its colour, which is the second word.
        parts.map(|class| class.split(' ').filter(|word| !word.starts_with('k')).collect::<Vec<_>>()).collect()
    });
    let arrows: Vec<_> = classes.filter(|classes| classes.len() == 3 && classes[1].contains(&"head")).collect();
    let different: BTreeSet<_> = arrows.iter().collect();
    assert!(arrows.len() > 6 && different.len() == arrows.len(), "{arrows:?}");
}

/// What is counted in steps says so, and what is counted in seconds; neither says δ.
#[test]
fn times_are_in_their_unit() {
    let records = records("ricart-agrawala", &contention());
    let picture = Picture { n: 3, records: &records, title: "units".into(), marks: vec![] };
    for (unit, axis) in [(Unit::Steps, ">steps →<"), (Unit::Seconds, ">time in s →<")] {
        let view = View { unit, fold: true, ..View::default() };
        let (svg, text) = (picture.svg_of(&view), picture.text_of(FILE_COLUMNS, &view));
        assert!(svg.contains(axis) && !svg.contains('δ') && !text.contains('δ'), "{unit:?}");
        assert_eq!(svg.contains("time is not to scale"), unit == Unit::Seconds);
    }
    assert!(picture.svg().contains(">time in δ →<"));
}

/// Of a run of 100,000 records a part is drawn, and all of it exported.
#[test]
fn long_runs_are_cut() {
    let experiment = Experiment {
        n: 5,
        clients: ClientPlan { workload: Workload::Poisson(0.3), entries: 8_000, ..ClientPlan::default() },
        ..Experiment::default()
    };
    let mut records = records("ricart-agrawala", &experiment);
    assert!(records.len() >= 100_000, "{}", records.len());
    records.truncate(100_000);
    let mark = Mark::at_time(records[60_000].at, "here");
    let picture = Picture { n: 5, records: &records, title: "long".into(), marks: vec![mark] };
    let (text, svg, narrow) = (picture.text(FILE_COLUMNS), picture.svg(), picture.text(40));
    assert!(svg.len() < 1000 * MOST_RECORDS, "{} bytes", svg.len());
    assert!(text.contains("earlier records are not shown") && text.contains("later records are not shown"));
    assert!(text.contains("▶▶▶  here") && narrow.contains("here"));
    assert!(text.lines().count() < 2 * MOST_RECORDS);
    roxmltree::Document::parse(&svg).unwrap();
    // How to choose another part is said where there is a command line.
    assert!(text.contains("--from") && svg.contains("choose another part with --from, --to or --records"));
    #[cfg(feature = "command")]
    {
        let page = picture.html(&View::default());
        assert!(page.contains("earlier records are not shown") && !page.contains("--from"));
    }
    #[cfg(feature = "page")]
    assert!(!picture.stepped(&View::default()).to_string().contains("--from"));
    assert_eq!(json_lines(&records).lines().count(), 100_000);
    assert_eq!(shiviz(5, &records).lines().count(), 2 + 2 * 5 + 2 * 100_000);
}

/// So is one where everything happens to somebody else, which would be quadratic if everybody knew of everybody: 10 GB.
#[test]
fn many_processes_do_not_all_know_each_other() {
    let to = |process: u32| Id::new(process % 100_000 + 1);
    let sent =
        |process| What::Sent { to: to(process), sequence: 1, label: Label { kind: "word".into(), number: None } };
    let records: Vec<_> =
        (1..=100_000).map(|process| Record { at: 0, process: Id::new(process), what: sent(process) }).collect();
    let picture = Picture { n: 100_000, records: &records, title: "many".into(), marks: vec![] };
    for format in [Format::Text, Format::Svg, Format::JsonLines, Format::Shiviz] {
        let length = picture.render(format, &View::default()).unwrap().len();
        assert!((10_000..50_000_000).contains(&length), "{format:?}: {length} bytes");
    }
}

fn id() -> impl Strategy<Value = Id> {
    prop_oneof![8 => 1..5_u32, 1 => 1..=u32::MAX].prop_map(Id::new)
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..6_u64, 1 => any::<u64>()]
}

fn label() -> impl Strategy<Value = Label> {
    let kind = prop_oneof![Just("request".to_string()), any::<String>(), Just("x".repeat(300))];
    (kind, proptest::option::of(any::<u64>())).prop_map(|(kind, number)| Label { kind: kind.into(), number })
}

fn what() -> impl Strategy<Value = What> {
    let messages = prop_oneof![
        (id(), number(), label()).prop_map(|(to, sequence, label)| What::Sent { to, sequence, label }),
        (id(), number(), label()).prop_map(|(from, sequence, label)| What::Received { from, sequence, label }),
        (id(), number(), label()).prop_map(|(to, sequence, label)| What::Lost { to, sequence, label }),
        (id(), number()).prop_map(|(to, sequence)| What::Poked { to, sequence }),
        (id(), number()).prop_map(|(from, sequence)| What::Heard { from, sequence }),
    ];
    let others = prop_oneof![
        proptest::sample::select(vec![
            What::Wanted,
            What::Withdrew,
            What::Withdrawn,
            What::Entered { fence: Fence::counted(Epoch::FIRST, Number::ZERO) },
            What::Leaving,
            What::Exited,
            What::Called,
            What::Crashed,
            What::Stopped,
            What::Paused,
            What::Resumed,
            What::Healed,
        ]),
        id().prop_map(|leader| What::Leader { leader }),
        id().prop_map(|of| What::Opinion { of, opinion: Opinion::Suspected }),
        (id(), any::<bool>()).prop_map(|(of, alive)| What::Told { of, alive }),
        any::<String>().prop_map(|timer| What::TimedOut { timer: timer.into() }),
        number().prop_map(|incarnation| What::Restarted { incarnation }),
        any::<u32>().prop_map(|part| What::Partitioned { part }),
        (proptest::option::of(id()), any::<String>())
            .prop_map(|(from, why)| What::Unexpected { from, why: why.into() }),
    ];
    prop_oneof![messages, others]
}

fn mark() -> impl Strategy<Value = Mark> {
    let spot = prop_oneof![number().prop_map(Spot::Time), (0..80_usize).prop_map(Spot::Record)];
    (spot, any::<String>()).prop_map(|(spot, text)| Mark { spot, text, again: vec![] })
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]
    #[test]
    fn no_records_are_too_strange_to_draw(
        n in prop_oneof![0..6_u32, any::<u32>()],
        records in proptest::collection::vec(
            (number(), id(), what()).prop_map(|(at, process, what)| Record { at, process, what }),
            0..60,
        ),
        marks in proptest::collection::vec(mark(), 0..4),
        title in any::<String>(),
        columns in prop_oneof![0..200_usize, Just(usize::MAX)],
        down in any::<bool>(),
        clocks in proptest::option::of(prop_oneof![Just(Clocks::Lamport), Just(Clocks::Vector)]),
    ) {
        let picture = Picture { n, records: &records, title, marks };
        picture.text(columns);
        let other = View { down, clocks, fold: true, part: Part::Records(1..40), ..View::default() };
        for view in [View::default(), other] {
            let svg = picture.svg_of(&view);
            if let Err(error) = roxmltree::Document::parse(&svg) {
                panic!("{error}\n{svg}");
            }
            #[cfg(feature = "command")]
            assert!(picture.html(&view).ends_with("</html>\n"));
        }
        let events = shiviz(n, &records).lines().count();
        assert!(events >= 2 + 2 * records.len());
        assert_eq!(json_lines(&records).lines().count(), records.len());
    }
}
