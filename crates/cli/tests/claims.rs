//! `quorate claims` as people and scripts use it.

use std::process::{Command, Output};

use serde_json::Value;

fn claims(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quorate")).arg("claims").args(arguments).output().unwrap()
}

#[test]
fn a_refuted_claim_is_no_failure_and_json_has_what_is_documented() {
    let output = claims(&["D6", "T3", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let mut claims: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rulings: Vec<Value> = serde_json::from_value(claims["claims"].take()).unwrap();
    let ids: Vec<_> = rulings.iter().map(|ruling| ruling["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["T3.A", "T3.E", "T3.B", "D6"]);
    assert_eq!((&rulings[0]["verdict"], &rulings[1]["verdict"]), (&"refuted".into(), &"holds".into()));
    assert_eq!((&rulings[2]["verdict"], &rulings[3]["verdict"]), (&"conditional".into(), &"refuted".into()));
    for ruling in rulings {
        assert!(ruling["statement"].is_string() && ruling["documents"].is_string() && ruling["command"].is_string());
        assert!(ruling["evidence"].as_array().is_some_and(|evidence| !evidence.is_empty()));
        assert_eq!(ruling["condition"].is_string(), ruling["verdict"] == "conditional");
    }
}

#[test]
fn a_claim_by_name_is_shown_with_the_run_that_decided_it() {
    let output = claims(&["M2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["holds", "quorate check maekawa -n 3", "1  p", "p1, p2, p3 wait, and nothing more happens", "\nA: "] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn an_unknown_claim_is_refused_with_others() {
    let output = claims(&["H9"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("unknown claim `H9`; for example: H1, H2, H3.small"), "{told}");
}
