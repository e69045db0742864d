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
    for part in ["2N−1 (B)", "5 → 4 *", "n, the number of processes", "who is inside", "sync delay"] {
        assert!(shown.contains(part), "{part}");
    }
    assert_stands_alone(&page);
}

#[test]
fn the_waiting_times_of_a_run_are_drawn() {
    let folder = folder("waited");
    let output = quorate(&["sim", "central", "--delay", "uniform:0.5..1.5", "--plot", text(&folder)]);
    assert!(output.status.success(), "{output:?}");
    assert!(words(&folder.join("waiting-time.svg")).contains("20 entries had waited: central, n = 5, seed 1"));
    let output = quorate(&["sim", "bully", "--plot", text(&folder)]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("--plot is for mutual exclusion; bully is for election"), "{told}");
}

#[test]
fn the_chance_of_a_violation_is_drawn_against_votes_and_time() {
    let folder = folder("chance");
    let asked = ["violation", "--coordinators", "16", "--votes", "9", "--uptime", "1h", "--reset", "30s"];
    let output = quorate(&[&asked[..], &["--trials", "1000", "--plot", text(&folder)]].concat());
    assert!(output.status.success(), "{output:?}");
    for (figure, axis) in [("violation-by-votes", "votes that let one in"), ("violation-by-time", "in seconds")] {
        let words = words(&folder.join(format!("{figure}.svg")));
        for part in [axis, "formula", "exact", "simulated", "16 coordinators"] {
            assert!(words.contains(part), "{part} is not in {figure}");
        }
    }
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
        (&["compare", "--plot", text(&file)][..], "this is a file; name a folder for the figures"),
        (&["sim", "central", "--plot", text(&file)], "this is a file; name a folder for the figures"),
        (&["compare", "--html", folder], "this is a folder; name a file in it"),
        (&["claims", "--html", &nowhere], "there is no folder"),
        (&["compare", "-n", "101..3"], "the first must not be larger than the second, as in 3..101"),
    ] {
        let output = quorate(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}
