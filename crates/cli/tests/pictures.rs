//! The figures and pages that commands write, as people and scripts use them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn quorate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quorate")).args(arguments).output().unwrap()
}

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The words of a file that is well-formed.
fn words(path: &Path) -> String {
    let content = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&content, options).unwrap();
    document.descendants().filter_map(|node| node.text()).collect::<Vec<_>>().join("\n")
}

/// What a page must not have: anything that a browser would fetch.
fn assert_stands_alone(page: &Path) {
    let content = std::fs::read_to_string(page).unwrap();
    let names = ["\"http://www.w3.org/2000/svg\"", "\"http://www.w3.org/1999/xhtml\""];
    let rest = names.iter().fold(content, |content, name| content.replace(name, ""));
    for wrong in ["<script src", "<link", "http:", "https:", "url(http", "@import"] {
        assert!(!rest.contains(wrong), "{wrong} is in {}", page.display());
    }
    assert!(rest.contains("default-src 'none'"));
}

#[test]
fn a_comparison_is_drawn_and_is_a_page() {
    let folder = folder("compared");
    let page = folder.join("page.html");
    let names = ["central", "ricart-agrawala", "bully"];
    let arguments =
        [&["compare"], &names[..], &["-n", "3..6", "--plot", text(&folder), "--html", text(&page)]].concat();
    let output = quorate(&arguments);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("n = 6"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("messages-alone.svg"), "{output:?}");
    for figure in ["messages-alone", "messages-contended", "client-delay", "synchronization-delay", "throughput"] {
        let words = words(&folder.join(format!("{figure}.svg")));
        assert!(words.contains("central") && words.contains("ricart-agrawala") && !words.contains("bully"), "{figure}");
    }
    assert!(words(&folder.join("messages-alone.svg")).contains("2(N−1) (A, D, E)"));
    assert!(words(&folder.join("election-worst.svg")).contains("bully"));
    for figure in ["recovery-time-inside", "recovery-messages-first"] {
        assert!(words(&folder.join(format!("{figure}.svg"))).contains("central"));
    }
    let shown = words(&page);
    for part in ["2N−1 (B)", "5 → 4 *", "n, the number of processes", "the holder", "sync delay"] {
        assert!(shown.contains(part), "{part}");
    }
    assert_stands_alone(&page);
}

/// The rings of a drawing, and what its flags say.
fn marks(path: &Path) -> (Vec<(String, String)>, Vec<String>) {
    let content = std::fs::read_to_string(path).unwrap();
    let document = roxmltree::Document::parse(&content).unwrap();
    let of_class =
        |name: &'static str| document.descendants().filter(move |node| node.attribute("class") == Some(name));
    let place =
        |node: roxmltree::Node<'_, '_>| ["cx", "cy"].map(|name| node.attribute(name).unwrap().to_string()).into();
    let said = of_class("flagged").map(|node| node.text().unwrap().to_string());
    (of_class("ring").map(place).collect(), said.collect())
}

/// Where the line of a process is, across the time axis of a drawing to the right.
fn line_of(path: &Path, name: &str) -> f64 {
    let content = std::fs::read_to_string(path).unwrap();
    let document = roxmltree::Document::parse(&content).unwrap();
    let is_name = |node: &roxmltree::Node<'_, '_>| node.attribute("class") == Some("name") && node.text() == Some(name);
    document.descendants().find(is_name).unwrap().attribute("y").unwrap().parse::<f64>().unwrap() - 5.0
}

/// At the time when p3 enters, p4 does something as well, and later; and the trace has the mark where the run has it.
#[test]
fn what_is_broken_is_marked_at_who_broke_it_also_in_its_trace() {
    let folder = folder("marked");
    std::fs::create_dir_all(&folder).unwrap();
    let [run, again, chart, trace] = ["run.svg", "again.svg", "run.txt", "t.jsonl"].map(|name| folder.join(name));
    let broken = ["sim", "lamport", "-n", "4", "--entries", "6", "--loss-rate", "0.1", "--seed", "1", "-q"];
    let drawn = quorate(&[&broken[..], &["--diagram", text(&run), "--trace", text(&trace)]].concat());
    assert_eq!(drawn.status.code(), Some(10), "{drawn:?}");
    let (rings, said) = marks(&run);
    assert!(said.iter().any(|said| said == "p3 entered while p2 was inside"), "{said:?}");
    assert!(rings.iter().any(|(_, y)| y.parse::<f64>().unwrap() == line_of(&run, "p3")), "{rings:?}");
    assert!(quorate(&["diagram", text(&trace), "-o", text(&again)]).status.success());
    // From its records alone: the same place, but without a flag of who waits for ever.
    let places = |path: &Path| -> Vec<_> {
        let place = |(x, y): (String, String)| (x, y.parse::<f64>().unwrap() - line_of(path, "p1"));
        marks(path).0.into_iter().map(place).collect()
    };
    assert_eq!(places(&again), places(&run));
    quorate(&[&broken[..], &["--diagram", text(&chart)]].concat());
    let chart = std::fs::read_to_string(chart).unwrap();
    assert!(chart.contains("▶▶▶  p3 entered while p2 was inside"), "{chart}");
    let content = std::fs::read_to_string(run).unwrap();
    assert!(content.contains("lamport, n = 4, seed 1") && content.contains("Made by: quorate sim lamport -n 4"));
}

/// The second of three real nodes does not write down that it leaves: so it is inside when others enter.
#[test]
fn what_real_nodes_broke_is_marked_at_who_broke_it() {
    let folder = folder("nodes");
    std::fs::create_dir_all(&folder).unwrap();
    let [first, second, third] =
        [1, 2, 3].map(|id| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{id}.trace")));
    let written = std::fs::read_to_string(second).unwrap();
    let kept = written.lines().filter(|line| !line.contains("\"leaving\"")).map(|line| format!("{line}\n"));
    let second = folder.join("2.trace");
    std::fs::write(&second, kept.collect::<String>()).unwrap();
    let (drawing, chart) = (folder.join("nodes.svg"), folder.join("nodes.txt"));
    for path in [&drawing, &chart] {
        let traces = [text(&first), text(&second), text(&third)];
        let output = quorate(&[&["diagram"], &traces[..], &["-o", text(path)]].concat());
        assert!(output.status.success(), "{output:?}");
    }
    let (rings, said) = marks(&drawing);
    let broken = said.iter().find(|said| said.contains("entered while p2 was inside")).unwrap();
    let who = broken.split(' ').next().unwrap();
    assert!(rings.iter().any(|(_, y)| y.parse::<f64>().unwrap() == line_of(&drawing, who)), "{broken}: {rings:?}");
    let chart = std::fs::read_to_string(chart).unwrap();
    let (title, rows) = chart.split_once("\n\n").unwrap();
    assert!(title.contains("3 nodes") && rows.trim_start().starts_with("s  p1"), "{chart}");
    // Clocks differ, and time runs on nevertheless.
    let times = rows.lines().filter_map(|row| row.split_whitespace().next());
    let ends = times.map(|time| time.split('-').map(|time| time.parse::<f64>()).collect::<Result<Vec<_>, _>>());
    let ends: Vec<f64> = ends.filter_map(Result::ok).flatten().collect();
    assert!(ends.len() > 10 && ends.is_sorted(), "{ends:?}");
}

#[test]
fn steps_are_called_steps() {
    let folder = folder("steps");
    std::fs::create_dir_all(&folder).unwrap();
    let check = ["check", "maekawa", "-n", "3", "--property", "deadlock-freedom", "--diagram"];
    let [svg, page, replayed] = ["run.svg", "run.html", "replayed.svg"].map(|name| folder.join(name));
    for path in [&svg, &page] {
        let output = quorate(&[&check[..], &[text(path)]].concat());
        assert_eq!(output.status.code(), Some(11), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("\nstep p1 "), "{output:?}");
    }
    let names = quorate(&["scenarios", "--json"]);
    let names: serde_json::Value = serde_json::from_slice(&names.stdout).unwrap();
    let name = names["scenarios"][0]["name"].as_str().unwrap().to_string();
    quorate(&["replay", &name, "--diagram", text(&replayed)]);
    for path in [&svg, &replayed] {
        let words = words(path);
        assert!(words.contains("steps →") && !words.contains('δ'), "{words}");
    }
    assert!(std::fs::read_to_string(page).unwrap().contains("\"unit\":\"step\""));
}

#[test]
fn a_part_without_anything_is_refused_with_what_there_is() {
    let folder = folder("empty");
    std::fs::create_dir_all(&folder).unwrap();
    let (drawing, trace) = (folder.join("run.svg"), folder.join("t.jsonl"));
    let sim = ["sim", "central", "-n", "3", "-q", "--diagram", text(&drawing)];
    for (part, why) in [
        (&["--from", "500"][..], "no event is in this part: the run lasts from 0 to "),
        (&["--from", "9", "--to", "3"], "--from 9 is later than --to 3"),
        (&["--records", "90000..90001"], "the run has "),
    ] {
        let output = quorate(&[&sim[..], part].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{part:?}: {told}");
        assert!(told.contains(why), "{told}");
        assert!(!drawing.exists());
    }
    assert!(quorate(&["sim", "central", "-n", "3", "--trace", text(&trace)]).status.success());
    let output = quorate(&["diagram", text(&trace), "-o", text(&drawing), "--from", "500"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = quorate(&["diagram", text(&trace)]);
    let chart = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && chart.contains("  p1 ") && chart.contains("ENTERS, fence 1"), "{chart}");
    let output = quorate(&["sim", "central", "-n", "3", "--diagram", "-"]);
    let sim = String::from_utf8_lossy(&output.stdout).into_owned();
    // But for the titles, the same chart.
    assert!(sim.ends_with(chart.split_once("\n\n").unwrap().1), "{sim}");
    let output = quorate(&["sim", "central", "--json", "--diagram", "-"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn the_audit_is_a_page_with_its_drawings_inside() {
    let folder = folder("audit");
    std::fs::create_dir_all(&folder).unwrap();
    let page = folder.join("claims.html");
    let output = quorate(&["claims", "D6", "T3", "M2", "--html", text(&page)]);
    assert!(output.status.success(), "{output:?}");
    let content = std::fs::read_to_string(&page).unwrap();
    for id in ["T3.A", "T3.E", "T3.B", "D6", "M2"] {
        assert_eq!(content.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(content.contains("data-verdict=\"refuted\"") && content.contains("data-verdict=\"holds\""));
    assert!(content.contains("class=\"drawing\"><svg"), "the run of M2 is drawn");
    assert!(words(&page).contains("quorate check maekawa -n 3"));
    assert_stands_alone(&page);
}

#[test]
fn a_place_where_nothing_can_be_written_is_refused_before_anything_is_run() {
    let folder = folder("refused");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("file");
    std::fs::write(&file, "mine").unwrap();
    let (folder, nowhere) = (text(&folder), format!("{}/none/page.html", text(&folder)));
    for (arguments, words) in [
        (&["compare", "--plot", text(&file)][..], "this is a file; name a directory for the figures"),
        (&["compare", "--plot", "costs.svg"], "name a directory, for example --plot costs"),
        (&["compare", "--html", folder], "this is a directory; name a file"),
        (&["claims", "--html", &nowhere], "does not exist"),
        (&["claims", "--markdown", &nowhere], "does not exist"),
        (&["claims", "--markdown", "-"], "--markdown -: the page is not written to standard output; name a file"),
        (&["claims", "--html", "-"], "--html -: the page is not written to standard output; name a file"),
        (&["compare", "--html", "-"], "--html -: the page is not written to standard output; name a file"),
        (&["compare", "-n", "101..3"], "the first size is larger than the second; write 3..101"),
    ] {
        let output = quorate(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}
