//! Pages that are made of a drawing: HTML that stands alone and lets nothing in or out.
#![cfg(feature = "command")]

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_core::id::Id;
use quorate_core::trace::{Label, Record, What};
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::diagram::{Clocks, MOST_STEPPED, Mark, Picture, Unit, View};
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::time::DELTA;
use serde_json::Value;
use sha2::{Digest, Sha256};

fn run(algorithm: &str, n: u32, entries: u64, workload: Workload) -> Vec<Record> {
    let clients = ClientPlan { workload, entries, ..ClientPlan::default() };
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(record.clone());
    let experiment = Experiment { n, clients, ..Experiment::default() };
    experiment.run(algorithm, Spectators { records: Some(&mut keep), ..Spectators::default() }).unwrap();
    records
}

fn contention() -> Vec<Record> {
    run("ricart-agrawala", 3, 2, Workload::List(vec![(Id::new(2), 0), (Id::new(3), DELTA / 2)]))
}

fn picture(records: &[Record]) -> Picture<'_> {
    Picture { n: 3, records, title: "two ask".into(), marks: vec![] }
}

/// The texts of all elements of this name, with their attributes.
fn elements<'h>(html: &'h str, name: &str) -> Vec<(&'h str, &'h str)> {
    let (begin, end) = (format!("<{name}"), format!("</{name}>"));
    html.split(&*begin)
        .skip(1)
        .filter_map(|rest| rest.split_once('>'))
        .map(|(attributes, rest)| (attributes, rest.split(&*end).next().unwrap()))
        .collect()
}

/// What the viewer is told.
fn data(html: &str) -> Value {
    let scripts = elements(html, "script");
    let (_, json) = scripts.iter().find(|(attributes, _)| attributes.contains("application/json")).unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let records = contention();
    let html = picture(&records).html(&View::default());
    // The name of SVG is a name, and nothing that is fetched.
    let rest = html.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "//cdn", " src=", "@import", "fetch(", "import(", "XMLHttpRequest", "WebSocket"]
    {
        assert!(!rest.contains(outside), "the page contains {outside}");
    }
    assert_eq!(rest.matches("url(").count(), rest.matches("url(#").count());
    assert_eq!(rest.matches("href=").count(), 1, "only the icon, which is empty");
    assert!(!rest.contains(" style=") && !rest.contains(" onclick=") && !rest.contains("innerHTML"));
}

#[test]
fn the_policy_of_a_page_names_its_styles_and_its_script() {
    let records = contention();
    let html = picture(&records).html(&View { down: true, ..View::default() });
    let (_, policy) = html.split_once("Content-Security-Policy\" content=\"").unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let styles = elements(&html, "style");
    assert_eq!(styles.len(), 2);
    for (_, style) in styles {
        assert!(policy.contains(&hash(style)));
    }
    let scripts = elements(&html, "script");
    let (_, module) = scripts.iter().find(|(attributes, _)| attributes.contains("module")).unwrap();
    assert!(policy.contains(&hash(module)));
}

#[test]
fn what_a_run_says_is_text_on_its_page() {
    let evil = "<script>alert(1)</script>";
    let label = Label { kind: evil.into(), number: Some(7) };
    let to = Id::new(2);
    let record = |what| Record { at: 0, process: Id::new(1), what };
    let records = [
        record(What::Sent { to, sequence: 1, label: label.clone() }),
        record(What::TimedOut { timer: "</script><img src=x onerror=alert(2)>".into() }),
        record(What::Unexpected { from: None, why: "{{script}} <!-- ]]> & \u{2028}".into() }),
        record(What::Lost { to, sequence: 1, label }),
    ];
    let mark = Mark::at_time(0, "</script><b>bold");
    let html = Picture { n: 2, records: &records, title: evil.into(), marks: vec![mark] }.html(&View::default());
    assert_eq!(html.matches("<script").count(), 2, "the data and the module");
    assert_eq!(html.matches("</script").count(), 2);
    assert!(!html.contains("<img") && !html.contains("<b>") && !html.contains("<!-- "));
    assert!(html.contains("<h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1>"));
    let data = data(&html);
    assert_eq!(data["steps"][0][3][0], "p1 sends <script>alert(1)</script>(7) to p2");
    assert_eq!(data["marks"][0][1], "</script><b>bold");
    assert!(data.to_string().contains("{{script}}"), "what is put into a page is not looked at again");
}

#[test]
fn a_page_knows_each_step_and_what_everybody_does_then() {
    let records = contention();
    let data = data(&picture(&records).html(&View::default()));
    let steps = data["steps"].as_array().unwrap();
    assert_eq!(steps[0][3][0], "p2 requests entry");
    assert_eq!(steps[0][3].as_array().unwrap().len(), 3, "and sends two requests");
    let entries = steps.iter().filter(|step| step[4] == 1).count();
    assert_eq!(entries, 2, "two enter, and that is worth going to");
    let phases = |line: u64| -> Vec<&str> {
        let changes = data["changes"].as_array().unwrap().iter().filter(|change| change[1] == line);
        changes.map(|change| change[2].as_str().unwrap()).collect()
    };
    assert_eq!(
        [phases(0), phases(1), phases(2)],
        [vec![], vec!["wanting", "inside", "idle"], vec!["wanting", "inside", "idle"]]
    );
    // Every arrow leaves at one step and arrives at a later one.
    let arrows = data["arrows"].as_array().unwrap();
    assert_eq!(arrows.len(), 8);
    for arrow in arrows {
        let [sent, received] = [4, 5].map(|place| arrow[place].as_i64().unwrap());
        assert!(0 <= sent && sent < received && received < steps.len() as i64, "{arrow}");
    }
    let present: Vec<f64> = steps.iter().map(|step| step[5].as_f64().unwrap()).collect();
    assert!(present.is_sorted(), "time does not run backwards");
}

#[test]
fn a_page_says_how_it_was_made_and_what_it_counts() {
    let records = contention();
    let command = Some("quorate sim <b> --diagram run.html".to_string());
    let view = View { unit: Unit::Steps, command, ..View::default() };
    let html = picture(&records).html(&view);
    assert!(html.contains("<code>quorate sim &lt;b&gt; --diagram run.html</code>"));
    assert_eq!(data(&html)["unit"], "step");
    let (_, drawing) = html.split_once("<svg").unwrap();
    assert!(!drawing.split_once("</svg>").unwrap().0.contains('δ'));
}

/// Where each label of a drawing is: its middle, and half its width.
fn labels(svg: &str) -> Vec<(f64, f64, f64)> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let is_label =
        |node: &roxmltree::Node<'_, '_>| node.attribute("class").is_some_and(|class| class.starts_with("label"));
    let place = |node: roxmltree::Node<'_, '_>| {
        let number = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
        (number("x"), number("y"), 3.3 * node.text().unwrap_or_default().chars().count() as f64)
    };
    document.descendants().filter(is_label).map(place).collect()
}

/// 64 processes and 100,000 records: one sees somebody enter, and labels can be read.
#[test]
fn a_large_group_can_be_read() {
    let records = run("ricart-agrawala", 64, 391, Workload::Contended);
    assert!(records.len() >= 90_000, "{}", records.len());
    let picture = Picture { n: 64, records: &records, title: "large".into(), marks: vec![] };
    let svg = picture.svg();
    assert!(svg.matches("ENTERS, fence ").count() >= 3, "{}", svg.matches("ENTERS, fence ").count());
    assert!(svg.contains("choose another part with --from, --to or --records"));
    assert!(
        svg.contains("reply to ") || svg.contains("reply(") && svg.contains(" to 6"),
        "what is said to all is said once"
    );
    let labels = labels(&svg);
    for (index, &(x, y, half)) in labels.iter().enumerate() {
        let covers = |&&(other_x, other_y, other_half): &&(f64, f64, f64)| {
            let (wide, high) = (half + other_half - f64::abs(x - other_x), 14.0 - f64::abs(y - other_y));
            wide > 0.0 && high > 0.0 && wide.min(2.0 * half) * high > 0.5 * 28.0 * half
        };
        assert_eq!(labels[..index].iter().filter(covers).count(), 0, "the label at {x}, {y} covers others");
    }
    let html = picture.html(&View::default());
    assert!(html.matches("ENTERS, fence ").count() >= 10);
    let vectors = View { clocks: Some(Clocks::Vector), ..View::default() };
    let svg = picture.svg_of(&vectors);
    let longest = svg.lines().filter(|line| line.contains(r#"class="clock""#)).map(str::len).max().unwrap();
    assert!(longest < 160, "{longest}");
}

/// 64 processes, and far more than fits.
#[test]
fn long_runs_are_shown_in_part() {
    let records = run("suzuki-kasami", 64, 900, Workload::Poisson(0.05));
    assert!(records.len() >= 100_000, "{}", records.len());
    let picture = Picture { n: 64, records: &records, title: "long".into(), marks: vec![] };
    let began = Instant::now();
    let html = picture.html(&View::default());
    // Generous for a busy machine.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let left_out = records.len() - MOST_STEPPED;
    assert!(html.contains(&format!("<p class=\"q-note\">{left_out} later records are not shown.</p>")));
}
