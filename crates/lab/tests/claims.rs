//! Every verdict on the literature, as it is committed: a change of any is a change of this text.
//!
//! `UPDATE=1 cargo test -p quorate-lab --test claims` writes the verdicts and the page anew.

use std::fs;
use std::path::{Path, PathBuf};

use quorate_lab::claims::html::html;
use quorate_lab::claims::page::page;
use quorate_lab::claims::{Court, Ruling, Verdict, chosen, claims};

/// The rows of the list of claims.
const ROWS: &str = "P1 P2 P3 P4 P5 P5b P6 P7 P8 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 T1 T2 T3 T4 T5 T6 T6b T7 T8 \
                    T9 T9b T10 \
    L1 L2 L3 L4 L5 L6 L7 R1 R2 R3 R4 R5 R6 R7 R8 R9 R9b R9c R10 M0 M1 M2 M3 M3b M4 M5 M6 M7 M8 M9 M10 M11 M12 \
    D1 D2 D3 D4 D5 D6 H1 H2 H3 H4 E0 E1 K1 K2 K3 K4 B1 B2 B3 B4 B4b B4c B5 G1 G2 F1 F2 F3";

#[test]
fn every_row_of_the_list_is_judged_and_nothing_else() {
    let row = |id: &'static str| id.split('.').next().unwrap();
    let rows: Vec<_> = ROWS.split_whitespace().collect();
    let mut judged: Vec<_> = claims().iter().map(|claim| row(claim.id)).collect();
    judged.dedup();
    assert_eq!(judged, rows);
    for name in rows {
        assert!(!chosen(&[name.to_string()]).unwrap().is_empty(), "{name}");
    }
    let mut names: Vec<_> = claims().iter().map(|claim| claim.id).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), claims().len(), "two claims have the same name");
}

#[test]
fn a_name_means_all_claims_of_its_row_and_an_unknown_one_is_told_of_others() {
    let of =
        |name: &str| chosen(&[name.to_string()]).map(|claims| claims.iter().map(|claim| claim.id).collect::<Vec<_>>());
    assert_eq!(of("T3").unwrap(), ["T3.A", "T3.E", "T3.B"]);
    assert_eq!(of("t3.a").unwrap(), ["T3.A"]);
    assert_eq!(of("T1").unwrap(), ["T1"]);
    let unknown = of("L9").unwrap_err().to_string();
    assert!(unknown.starts_with("unknown claim `L9`; for example: L1.safe, L1.order, L2"), "{unknown}");
    assert!(of("").is_err());
}

#[test]
fn verdicts_and_the_page_are_those_that_are_committed() {
    let mut court = Court::new();
    let rulings: Vec<_> = claims().into_iter().map(|claim| court.judge(claim)).collect();
    for ruling in &rulings {
        assert!(!ruling.evidence.is_empty() && !ruling.commands.is_empty(), "{}", ruling.claim.id);
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = here.join("../../docs");
    let page = page(&rulings);
    let mut files = vec![(here.join("tests/claims.txt"), verdicts(&rulings)), (docs.join("claims.md"), page.text)];
    files.extend(page.drawings.into_iter().map(|(name, drawing)| (docs.join("claims").join(name), drawing)));
    if std::env::var_os("UPDATE").is_some() {
        let _ = fs::remove_dir_all(docs.join("claims"));
        fs::create_dir_all(docs.join("claims")).unwrap();
    }
    for (path, text) in &files {
        same(path, text);
    }
    let drawn: Vec<PathBuf> = fs::read_dir(docs.join("claims")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(drawn.len(), files.len() - 2, "a drawing that no claim has any more: {drawn:?}");
}

fn verdicts(rulings: &[Ruling]) -> String {
    let line = |ruling: &Ruling| format!("{:<22} {}\n", ruling.claim.id, ruling.verdict);
    rulings.iter().map(line).collect()
}

/// Compares a text with a file, or writes it if `UPDATE` is set.
fn same(path: &Path, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, text).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    let line = committed.lines().zip(text.lines()).find(|(before, now)| before != now);
    assert!(committed == text, "{} differs: {line:?}; if that is right, UPDATE=1 writes it anew", path.display());
}

/// As an element by that name, once each; and nothing of the page is elsewhere.
#[test]
fn every_claim_is_there_once_and_nothing_is_fetched() {
    let ruling = |claim| Ruling { claim, verdict: Verdict::Holds, evidence: vec![], commands: vec![], exhibit: None };
    let rulings: Vec<_> = claims().into_iter().map(ruling).collect();
    let text = html(&rulings);
    for claim in claims() {
        assert_eq!(text.matches(&format!(" id=\"{}\"", claim.id)).count(), 1, "{}", claim.id);
    }
    assert!(!text.contains("<script src") && !text.contains("<link") && !text.contains("@import"));
    let names = ["http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"];
    let rest = names.iter().fold(text.clone(), |text, name| text.replace(&format!("xmlns=\"{name}\""), ""));
    assert!(!rest.contains("http:") && !rest.contains("https:"));
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(&text, options).unwrap();
}
