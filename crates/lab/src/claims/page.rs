//! The page of all claims, to send to a teacher.

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

/// The page of these rulings.
pub fn page(rulings: &[Ruling]) -> Page {
    let mut page = Page { text: String::new(), drawings: Vec::new() };
    page.text.push_str("# What the literature claims, judged\n\n");
    page.text.push_str(
        "Five lectures about distributed mutual exclusion and election say the following, in our words. Each sentence\n\
         was judged by running the algorithm: by exploring every run where it is about all runs, by simulation where\n\
         it is about costs, by arithmetic where it is about numbers. A claim about all n is judged for the n that\n\
         were run. No verdict is written by hand: `quorate claims` computes them all, and wrote this page with\n\
         `--markdown docs/claims.md`.\n\n",
    );
    for (letter, title) in DOCUMENTS {
        // Writing to a string cannot fail.
        let _ = writeln!(page.text, "- {letter}: {title}");
    }
    let _ = writeln!(page.text, "\n{}", summary(rulings));
    for (letters, title) in SECTIONS {
        let section: Vec<_> =
            rulings.iter().filter(|ruling| ruling.claim.id.starts_with(|c| letters.contains(c))).collect();
        if section.is_empty() {
            continue;
        }
        let _ = write!(page.text, "\n## {title}\n\n| claim | says who | what | verdict |\n|---|---|---|---|\n");
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
            let _ = write!(
                self.text,
                "\n### {}\n\n*{}* ({})\n\n**{}.**\n",
                claim.id,
                claim.statement,
                claim.documents,
                capital(verdict)
            );
        }
        self.text.push('\n');
        for sentence in evidence {
            let _ = writeln!(self.text, "- {}", sentence.replace('|', "\\|"));
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

fn anchor(ruling: &Ruling) -> String {
    ruling.claim.id.to_lowercase().replace('.', "")
}

pub(super) fn capital(verdict: &Verdict) -> String {
    let text = verdict.to_string();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
