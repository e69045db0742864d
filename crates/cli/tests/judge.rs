//! `quorate judge`, on traces that three real nodes have written (the example `turns` of `quorate-net`, with
//! ricart-agrawala), and on the same with something wrong in them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn traces() -> [PathBuf; 3] {
    [1, 2, 3].map(|id| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{id}.trace")))
}

fn judge(files: &[PathBuf], more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quorate")).arg("judge").args(files).args(more).output().unwrap()
}

fn text(output: &Output) -> (i32, String) {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code().unwrap(), String::from_utf8(both).unwrap())
}

/// The traces, the second of them changed.
fn changed(name: &str, change: impl Fn(&str) -> String) -> [PathBuf; 3] {
    let [first, second, third] = traces();
    let path = std::env::temp_dir().join(format!("quorate-judge-{name}-{}.trace", std::process::id()));
    std::fs::write(&path, change(&std::fs::read_to_string(second).unwrap())).unwrap();
    [first, path, third]
}

#[test]
fn good_traces_are_judged_and_billed() {
    let (code, text) = text(&judge(&traces(), &[]));
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("ricart-agrawala, answer=grant, first=earlier, replies=numbered, 3 nodes, "), "{text}");
    for property in ["mutual-exclusion  held", "progress          held", "fencing           held"] {
        assert!(text.contains(property), "{text}");
    }
    assert!(text.contains("messages, contended") && text.contains("client delay         2 (A, B, E)"), "{text}");
    let output = judge(&traces(), &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["costs"]["entries"], 8);
    assert_eq!(json["resources"][0]["name"], "printer");
}

#[test]
fn what_is_wrong_decides_the_exit_code() {
    let fence = changed("fence", |second| {
        let lines = second.lines().map(|line| match line.split_once("\"fence\":") {
            Some((before, after)) => {
                let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
                format!("{before}\"fence\":1{rest}\n")
            }
            None => format!("{line}\n"),
        });
        lines.collect()
    });
    let (code, said) = text(&judge(&fence, &[]));
    assert!(code == 10 && said.contains("fencing           violated"), "{code} {said}");
    let inside = changed("inside", |second| {
        second.lines().filter(|line| !line.contains("\"leaving\"")).fold(String::new(), |text, line| text + line + "\n")
    });
    let (code, said) = text(&judge(&inside, &[]));
    assert!(code == 10 && said.contains("mutual-exclusion  violated"), "{code} {said}");
    let (code, said) = text(&judge(&traces()[..2], &[]));
    assert!(code == 12 && said.contains("there is no trace of p3"), "{code} {said}");
    let waiting = changed("waiting", |second| {
        let until = second.lines().take_while(|line| !line.contains("\"entered\""));
        until.fold(String::new(), |text, line| text + line + "\n") + "{\"end\":{\"at\":900000000}}\n"
    });
    let (code, said) = text(&judge(&waiting, &["--patience", "10s"]));
    assert!(said.contains("p2 still waited at the end"), "{code} {said}");
    for path in [&fence[1], &inside[1], &waiting[1]] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_is_no_trace_is_named_by_file_and_line() {
    let broken = changed("broken", |second| second.replacen("\"event\":\"wanted\"", "\"event\":\"wished\"", 1));
    let (code, said) = text(&judge(&broken, &[]));
    assert!(code == 2 && said.contains(".trace, line ") && said.contains("unknown variant `wished`"), "{code} {said}");
    std::fs::remove_file(&broken[1]).unwrap();
    let (code, said) = text(&judge(&[PathBuf::from("nowhere.trace")], &[]));
    assert!(code == 1 && said.contains("reading nowhere.trace"), "{code} {said}");
    assert_eq!(text(&judge(&[], &[])).0, 2);
}
