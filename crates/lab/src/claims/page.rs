//! The page of all claims, in Markdown.

use std::fmt::Write;

use quorate_core::catalog::DOCUMENTS;

use super::{Exhibit, Ruling, SECTIONS, Verdict};
use crate::conversation::conversation;

/// A page and its drawings.
pub struct Page {
    /// The text.
    pub text: String,
    /// The name and the content of each drawing, in the folder `claims` beside the page.
    pub drawings: Vec<(String, String)>,
}

/// An exhibit of more records than this is not told in full.
pub(super) const LONGEST_CONVERSATION: usize = 44;

/// What the page is for, how to read it, and what its words mean.
const OPENING: &str = "\
# Claims of the literature, checked

This page checks what five lectures and one paper state about distributed mutual exclusion, leader election and failure
detection. Each statement is restated in our words and judged by a program, which runs the algorithm. Use the page to
find out whether a statement is true, under which condition, and which run shows it.

- A statement about all runs is judged by exploring every run of a small group (`quorate check`).
- A statement about costs is judged by simulation (`quorate sim`).
- A statement about numbers is judged by computing them.

No verdict is written by hand. `quorate claims` judges every claim again, `quorate claims ID` shows one claim with its
evidence, and `quorate claims --markdown docs/claims.md` writes this page.

## How to read a verdict

- **holds**: the claim is true for everything that was run. A claim about all n is judged only for the n in its
  evidence.
- **holds only if …**: the claim is true under the condition and false without it.
- **refuted**: the claim is false. The evidence names the counterexample or the measured values.
- **definition**: the claim defines a term. The verdict names the code that implements it.

Below each table, the evidence for each claim is followed by the commands that reproduce it. If a run shows the verdict,
it is drawn, and printed event by event if it is short.

## Sources

LECTURES
[sources.md](sources.md) says what is known about the lectures, and lists the papers.

## Terms

- **ME1** (safety): at most one process is inside the critical section. **ME2** (liveness): every request to enter or
  exit eventually succeeds, so there is neither deadlock nor starvation. **ME3** (ordering): if one request happened
  before another, it is granted first.
- A **use** is one entry and the following exit. **Uncontended** means that no other process wants to enter;
  **under contention** means that every process wants to enter all the time.
- The **client delay** is the time from a request to the entry, or from the start of an exit to its end. The
  **synchronization delay** is the time from an exit to the next entry while another process waits.
- Times are in **δ**, the delay of one message. **n** and **N** are the number of processes.

SUMMARY
";

/// The lectures by their letters, as a list.
fn lectures() -> String {
    DOCUMENTS.iter().map(|(letter, title)| format!("- **{letter}**: {title}\n")).collect()
}

/// The page of these rulings.
pub fn page(rulings: &[Ruling]) -> Page {
    let mut page = Page { text: String::new(), drawings: Vec::new() };
    page.text.push_str(&OPENING.replace("LECTURES", &lectures()).replace("SUMMARY", &summary(rulings)));
    for (letters, title) in SECTIONS {
        let section: Vec<_> =
            rulings.iter().filter(|ruling| ruling.claim.id.starts_with(|c| letters.contains(c))).collect();
        if section.is_empty() {
            continue;
        }
        let _ = write!(page.text, "\n## {title}\n\n| id | source | claim | verdict |\n|---|---|---|---|\n");
        for ruling in &section {
            let verdict = match &ruling.verdict {
                Verdict::Holds => "holds".to_string(),
                Verdict::Conditional(_) => format!("[holds only if …](#{})", anchor(ruling)),
                Verdict::Refuted => format!("[**refuted**](#{})", anchor(ruling)),
                Verdict::Definition(embodied) => format!("definition: `{embodied}`"),
                Verdict::NotYet(missing) => format!("not yet: {missing}"),
            };
            let claim = &ruling.claim;
            let _ = writeln!(page.text, "| {} | {} | {} | {verdict} |", claim.id, claim.documents, claim.statement);
        }
        for ruling in section {
            page.tell(ruling);
        }
    }
    page
}

/// How many claims there are of each verdict.
pub fn summary(rulings: &[Ruling]) -> String {
    let count = |name| rulings.iter().filter(|ruling| ruling.verdict.name() == name).count();
    format!(
        "{} claims: {} hold, {} hold only under a condition, {} are refuted; {} are definitions, {} cannot be judged \
         yet.",
        rulings.len(),
        count("holds"),
        count("conditional"),
        count("refuted"),
        count("definition"),
        count("not-yet")
    )
}

impl Page {
    /// The details of a ruling: briefly if the claim holds.
    fn tell(&mut self, ruling: &Ruling) {
        let Ruling { claim, verdict, evidence, commands, .. } = ruling;
        let disputed = matches!(verdict, Verdict::Conditional(_) | Verdict::Refuted);
        if !disputed {
            let _ = write!(self.text, "\n<details><summary>{}: {verdict}</summary>\n", claim.id);
        } else {
            let statement = wrapped("", &format!("*{}* ({})", claim.statement, claim.documents));
            let verdict = wrapped("", &format!("**{}.**", capital(verdict)));
            let _ = write!(self.text, "\n### {}\n\n{statement}\n{verdict}", claim.id);
        }
        self.text.push('\n');
        for sentence in evidence {
            self.text.push_str(&wrapped("- ", &sentence.replace('|', "\\|")));
        }
        if !commands.is_empty() {
            let _ = write!(self.text, "\n```\n{}\n```\n", commands.join("\n"));
        }
        if let Some(exhibit) = shown(ruling) {
            self.exhibit(ruling, exhibit);
        }
        if !disputed {
            self.text.push_str("\n</details>\n");
        }
    }

    fn exhibit(&mut self, ruling: &Ruling, exhibit: &Exhibit) {
        let name = format!("{}.svg", anchor(ruling));
        let _ = write!(self.text, "\n![{}]({})\n", exhibit.why, format_args!("claims/{name}"));
        self.drawings.push((name, drawing(ruling, exhibit)));
        if exhibit.records.len() <= LONGEST_CONVERSATION {
            let _ = write!(self.text, "\n```\n{}```\n", conversation(&exhibit.records));
        }
    }
}

/// The run to be drawn for a ruling, if there is one.
pub(super) fn shown(ruling: &Ruling) -> Option<&Exhibit> {
    // The cells of a table repeat other claims, and their runs are shown there.
    ruling.exhibit.as_ref().filter(|_| !ruling.claim.id.starts_with("F2"))
}

/// The drawing of a run.
pub(super) fn drawing(ruling: &Ruling, exhibit: &Exhibit) -> String {
    let title = format!("{}: {}", ruling.claim.id, exhibit.why);
    let (picture, view) = exhibit.picture(title);
    picture.svg_of(&view)
}

/// A paragraph, or an item of a list after its bullet, in lines of at most 120 characters.
fn wrapped(bullet: &str, text: &str) -> String {
    const WIDTH: usize = 120;
    let mut lines = vec![bullet.to_string()];
    // A sign stays with what is beside it: at the beginning of a line it could begin a list or a heading.
    let text = [" = ", " + ", " − ", " × "]
        .iter()
        .fold(text.to_string(), |text, sign| text.replace(sign, &sign.replace(' ', "\u{a0}")));
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        let is_fresh = line.len() == bullet.len();
        if !is_fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{:indent$}{word}", "", indent = bullet.len()));
        } else {
            if !is_fresh {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    (lines.join("\n") + "\n").replace('\u{a0}', " ")
}

fn anchor(ruling: &Ruling) -> String {
    ruling.claim.id.to_lowercase().replace('.', "")
}

pub(super) fn capital(verdict: &Verdict) -> String {
    let text = verdict.to_string();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
