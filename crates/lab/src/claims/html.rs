//! The audit as one file: every claim with its verdict, its evidence and the run that shows it.

use std::fmt::Write;

use quorate_core::catalog::DOCUMENTS;

use super::page::{LONGEST_CONVERSATION, capital, drawing, shown, summary};
use super::{Ruling, SECTIONS};
use crate::conversation::conversation;
use crate::markup::{Page, escape, escape_lines};

/// The verdicts, by the names that programs know, in words.
const VERDICTS: [(&str, &str); 5] = [
    ("holds", "holds"),
    ("conditional", "holds only if …"),
    ("refuted", "refuted"),
    ("definition", "definition"),
    ("not-yet", "not yet"),
];

/// The page of these rulings, which needs no other file.
pub fn html(rulings: &[Ruling]) -> String {
    let mut page = Page::new("Claims of the literature, checked");
    let documents: Vec<_> = DOCUMENTS.iter().map(|(letter, title)| format!("{letter}: {title}")).collect();
    page.push(&format!(
        "<p>This page checks what five lectures and one paper state about distributed mutual exclusion, leader \
         election and failure detection. Each statement is restated in our words and judged by a program that runs \
         the algorithm: it explores every run of a small group, simulates runs to measure costs, or computes numbers. \
         A claim about all n is judged only for the n in its evidence. No verdict is written by hand.</p>\n<p>A claim \
         that <em>holds only if …</em> is true under the condition and false without it. A <em>definition</em> \
         defines a term; the verdict names the code that implements it.</p>\n<p><strong>{}</strong></p>\n<p \
         class=\"dim\">{}</p>\n",
        escape(&summary(rulings)),
        escape(&documents.join("; "))
    ));
    page.push(&filter(rulings));
    let sections: Vec<_> = SECTIONS.iter().map(|&(letters, title)| (title, of_section(rulings, letters))).collect();
    page.push(&contents(&sections));
    for (title, rulings) in sections.iter().filter(|(_, rulings)| !rulings.is_empty()) {
        page.push(&format!("<section>\n<h2>{}</h2>\n", escape(title)));
        rulings.iter().for_each(|ruling| tell(&mut page, ruling));
        page.push("</section>\n");
    }
    page.finish()
}

fn of_section<'r>(rulings: &'r [Ruling], letters: &str) -> Vec<&'r Ruling> {
    rulings.iter().filter(|ruling| ruling.claim.id.starts_with(|letter| letters.contains(letter))).collect()
}

/// The boxes by which verdicts are chosen: those that occur.
fn filter(rulings: &[Ruling]) -> String {
    let mut text = "<fieldset id=\"filter\"><legend>Show verdicts</legend>\n".to_string();
    for (name, words) in VERDICTS {
        let count = rulings.iter().filter(|ruling| ruling.verdict.name() == name).count();
        if count > 0 {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                text,
                "<label><input type=\"checkbox\" value=\"{name}\" checked=\"\"/> <span class=\"{name}\">{words}</span> \
                 ({count})</label>"
            );
        }
    }
    text + "</fieldset>\n"
}

fn contents(sections: &[(&str, Vec<&Ruling>)]) -> String {
    let mut text = "<nav aria-label=\"Contents\">\n".to_string();
    for (title, rulings) in sections.iter().filter(|(_, rulings)| !rulings.is_empty()) {
        let _ = write!(text, "<p>{}:", escape(title));
        for ruling in rulings {
            let (id, verdict) = (escape(ruling.claim.id), ruling.verdict.name());
            let _ = write!(
                text,
                " <a class=\"{verdict}\" data-verdict=\"{verdict}\" href=\"#{id}\" title=\"{verdict}\">{id}</a>"
            );
        }
        text += "</p>\n";
    }
    text + "</nav>\n"
}

fn tell(page: &mut Page, ruling: &Ruling) {
    let Ruling { claim, verdict, evidence, commands, .. } = ruling;
    let (id, name) = (escape(claim.id), verdict.name());
    page.push(&format!(
        "<article id=\"{id}\" data-verdict=\"{name}\">\n<h3><a href=\"#{id}\">{id}</a> \
         <span class=\"verdict {name}\">{name}</span></h3>\n<p>{} <span class=\"dim\">({})</span></p>\n\
         <p><strong>{}.</strong></p>\n",
        escape(claim.statement),
        escape(claim.documents),
        escape(&capital(verdict))
    ));
    if !evidence.is_empty() {
        let items: String = evidence.iter().map(|sentence| format!("<li>{}</li>\n", escape(sentence))).collect();
        page.push(&format!("<ul>\n{items}</ul>\n"));
    }
    if !commands.is_empty() {
        let commands = escape_lines(&commands.join("\n"));
        page.push(&format!("<details><summary>Commands that reproduce it</summary><pre>{commands}</pre></details>\n"));
    }
    if let Some(exhibit) = shown(ruling) {
        page.drawing(
            &drawing(ruling, exhibit),
            &format!("{}, {} processes: {}", exhibit.algorithm, exhibit.n, exhibit.why),
        );
        if exhibit.records.len() <= LONGEST_CONVERSATION {
            let words = escape_lines(&conversation(&exhibit.records));
            page.push(&format!("<details><summary>The run as text</summary><pre>{words}</pre></details>\n"));
        }
    }
    page.push("</article>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Claim, Court, Exhibit, Verdict};
    use crate::diagram::{Mark, Unit};
    use quorate_core::id::Id;
    use quorate_core::trace::{Record, What};

    fn ruling(claim: Claim, verdict: Verdict) -> Ruling {
        Ruling { claim, verdict, evidence: vec![], commands: vec![], exhibit: None }
    }

    #[test]
    fn whatever_is_said_of_a_claim_is_text() {
        let claim = Claim { id: "P1", documents: "<A>", statement: "a < b", judge: |_: &mut Court| Verdict::Holds };
        let records = vec![Record { at: 0, process: Id::new(1), what: What::Wanted }];
        let exhibit = Exhibit {
            algorithm: "central",
            n: 2,
            records,
            why: "<script>alert(1)</script>".into(),
            mark: Some(Mark::at_record(0, "<b>")),
            unit: Unit::Steps,
        };
        let mut ruling = ruling(claim, Verdict::Conditional("</p>".into()));
        ruling.evidence.push("<img>".into());
        ruling.commands.push("quorate <x>".into());
        ruling.exhibit = Some(exhibit);
        let text = html(&[ruling]);
        for wrong in ["<A>", "a < b", "<script>alert", "if </p>", "<img>", "<x>", "<b>"] {
            assert!(!text.contains(wrong), "{wrong}");
        }
        for right in [
            "&lt;script&gt;alert(1)&lt;/script&gt;",
            "class=\"verdict conditional\"",
            "requests entry",
            "class=\"ring\"",
            ">steps →<",
        ] {
            assert!(text.contains(right), "{right}");
        }
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        roxmltree::Document::parse_with_options(&text, options).unwrap();
    }
}
