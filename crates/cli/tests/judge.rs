//! `quorate judge`, on traces that three real nodes have written (the example `turns` of `quorate-net`, with
//! ricart-agrawala), on the same with something wrong in them, and on those of three nodes that are tried here.

#[path = "../../../tests/ports.rs"]
mod ports;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ports::free_addresses;

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
    // Node 3 has stopped with its turn before node 1 asks for another.
    assert!(text.contains("messages, alone") && text.contains("client delay     2 (A, B, E)"), "{text}");
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
    assert!(code == 12 && said.contains("no trace of p3"), "{code} {said}");
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
    assert!(code == 1 && said.contains("cannot read nowhere.trace"), "{code} {said}");
    assert_eq!(text(&judge(&[], &[])).0, 2);
}

/// Addresses that three nodes, and their clients, can have: the beginnings of those that end in 1 to 3.
fn free_beginnings() -> [String; 2] {
    let free = free_addresses(40);
    let are_free = |begin: &&str| (1..=3).all(|id| free.contains(&format!("{begin}{id}")));
    let mut beginnings = free.iter().filter_map(|address| address.strip_suffix('1')).filter(are_free).map(String::from);
    [beginnings.next().unwrap(), beginnings.next().unwrap()]
}

#[test]
fn three_nodes_are_tried_as_the_documentation_says() {
    let page = include_str!("../../../docs/network.md");
    let (_, section) = page.split_once("## Try three nodes").unwrap();
    let script = section.split("```").nth(1).unwrap().strip_prefix("sh").unwrap();
    let [clients, members] = free_beginnings();
    let script = script.replace("127.0.0.1:742", &clients);
    let script = script.replace("127.0.0.1:743", &members);
    // The nodes end with it, also if something goes wrong.
    let script = format!("trap 'kill $nodes 2> /dev/null || true' EXIT\n{script}");
    let folder = std::env::temp_dir().join(format!("quorate-tried-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_quorate")).parent().unwrap().display().to_string();
    let path = format!("{binary}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("timeout");
    shell.args(["60", "sh", "-euc", &script]).current_dir(&folder).env("PATH", path);
    let (code, said) = text(&shell.output().unwrap());
    assert_eq!(code, 0, "{said}");
    assert_eq!(said.matches("holding the lock: fence ").count(), 3, "{said}");
    for line in ["mutual-exclusion  held", "fencing           held", "  reply     6  2 per entry", "4 → 4"] {
        assert!(said.contains(line), "{line} is not in {said}");
    }
    // What is left is only in the way.
    _ = std::fs::remove_dir_all(&folder);
}
