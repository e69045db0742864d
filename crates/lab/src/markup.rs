//! What pages and drawings share: text that cannot become markup, and a page that stands alone.
//!
//! A page is well-formed XML as well as HTML, refers to nothing outside itself, and says so in its policy: no request
//! leaves it, no script runs in it but the one that is written here, and no style counts but its own and those of its
//! drawings.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_web::LOOK;
use sha2::{Digest, Sha256};

/// Text as it can stand in XML and HTML, between tags and in attributes.
pub fn escape(text: &str) -> String {
    text.chars().map(visible).fold(String::with_capacity(text.len()), |mut escaped, letter| {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            _ => escaped.push(letter),
        }
        escaped
    })
}

/// A letter, or what is shown in place of one that cannot be.
pub(crate) fn visible(letter: char) -> char {
    // Besides control characters, XML knows no U+FFFE and U+FFFF.
    let is_unknown = letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    if is_unknown || is_format(letter) { '\u{fffd}' } else { letter }
}

/// Whether one does not see it and it changes what one sees, as what turns the order of letters round does: one name
/// could be made to look like another. These are the characters of Unicode's category Cf, and what separates lines.
fn is_format(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// Several lines, escaped.
pub(crate) fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// A page, being written.
#[derive(Debug, Default)]
pub(crate) struct Page {
    title: String,
    body: String,
    /// What drawings need and have in common, such as textures: once, or one drawing would hide another's.
    shared: BTreeSet<String>,
}

impl Page {
    pub(crate) fn new(title: &str) -> Page {
        Page { title: title.to_string(), ..Page::default() }
    }

    /// Adds markup; what is text in it has been escaped.
    pub(crate) fn push(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Adds a drawing that stands alone, and what is below it.
    pub(crate) fn drawing(&mut self, svg: &str, caption: &str) {
        let mut rest = svg;
        self.body.push_str("<figure><div class=\"drawing\">");
        while let Some((before, part, after)) = next_shared(rest) {
            self.body.push_str(before);
            self.shared.insert(part.to_string());
            rest = after;
        }
        self.body.push_str(rest);
        self.body.push_str("</div>");
        if !caption.is_empty() {
            self.body.push_str(&format!("<figcaption>{}</figcaption>", escape(caption)));
        }
        self.body.push_str("</figure>\n");
    }

    /// The page as a file, with a filter for what has a `data-verdict`.
    pub(crate) fn finish(self) -> String {
        let style = format!("\n{LOOK}{STYLE}");
        let styles = [style.as_str()].into_iter().chain(self.shared.iter().filter_map(|part| style_text(part)));
        let policy = policy(styles);
        let shared: String = self.shared.iter().map(String::as_str).collect();
        let title = escape(&self.title);
        format!(
            "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n\
             <meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"color-scheme\" content=\"light dark\"/>\n\
             <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" class=\"shared\" aria-hidden=\"true\">{shared}</svg>\n\
             <main>\n<h1>{title}</h1>\n{}</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
            self.body
        )
    }
}

/// The next part of a drawing that it has in common with others: what is before it, itself, and what is after it.
fn next_shared(svg: &str) -> Option<(&str, &str, &str)> {
    let parts = [("<style", "</style>"), ("<defs", "</defs>")];
    let (begin, end_tag) = parts.iter().filter_map(|(begin, end)| Some((svg.find(begin)?, end))).min()?;
    let end = begin + svg[begin..].find(end_tag)? + end_tag.len();
    Some((&svg[..begin], &svg[begin..end], &svg[end..]))
}

/// The text of a style element.
fn style_text(part: &str) -> Option<&str> {
    let (_, text) = part.strip_prefix("<style")?.split_once('>')?;
    text.strip_suffix("</style>")
}

/// What a page with these styles may do.
fn policy<'s>(styles: impl Iterator<Item = &'s str>) -> String {
    let styles = styles.map(|style| format!("'{}'", hash(style))).collect::<Vec<_>>().join(" ");
    let script = hash(SCRIPT);
    format!("default-src 'none'; style-src {styles}; script-src '{script}'; base-uri 'none'; form-action 'none'")
}

/// The hash of an element's text, as a policy names it.
pub(crate) fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Shows only what has one of the chosen verdicts.
const SCRIPT: &str = "
const boxes = [...document.querySelectorAll('#filter input')];
const show = () => {
  const chosen = new Set(boxes.filter(box => box.checked).map(box => box.value));
  for (const part of document.querySelectorAll('[data-verdict]')) part.hidden = !chosen.has(part.dataset.verdict);
  for (const part of document.querySelectorAll('section')) {
    const claims = [...part.querySelectorAll('article')];
    part.hidden = claims.every(claim => claim.hidden) ? claims.length > 0 : false;
  }
};
for (const box of boxes) box.addEventListener('change', show);
show();
";

/// How the parts look that no other page has. Colours, and what all pages share, come before it.
const STYLE: &str = r#"
main{max-width:78rem;display:grid;grid-template-columns:minmax(0,1fr);gap:var(--far)}
section{display:grid;grid-template-columns:minmax(0,1fr);gap:var(--far)}
h2{margin-top:var(--far);padding-bottom:var(--near);font-size:1.3rem;border-bottom:1px solid var(--border)}
h3{margin:0;font-size:1.1rem}
.shared{position:absolute;width:0;height:0}
.dim,figcaption{color:var(--muted)}
article,figure,section>.scroll{display:grid;grid-template-columns:minmax(0,1fr);gap:var(--apart);margin:0;
padding:1rem 1.15rem;background:var(--panel);border:1px solid var(--border);border-radius:9px;
box-shadow:var(--shadow);overflow-wrap:anywhere}
article{scroll-margin-top:5rem}
article figure{padding:0;border:0;box-shadow:none}
article ul{padding-left:1.4rem;list-style:disc}
pre,.drawing{overflow-x:auto}
/* On narrow screens it scrolls: a smaller drawing would be unreadable. */
.plot{width:100%;min-width:46rem;max-width:61.25rem;height:auto}
pre{margin:var(--apart) 0 0;padding:.7rem;background:var(--raised);border-radius:var(--round);line-height:1.4}
summary{cursor:pointer;color:var(--accent)}
section>.scroll{display:block;padding:0}
th,td{padding:.35rem .8rem;text-align:right;white-space:nowrap}
th.l,td.l{text-align:left}
td.differs{color:var(--bad);font-weight:600}
fieldset{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin:0;padding:.6rem 1rem;
background:var(--panel);border:1px solid var(--border);border-radius:9px}
nav p{line-height:2}
nav a{display:inline-block;padding:0 .45rem;background:var(--panel);border:1px solid var(--border);
border-radius:var(--round)}
.verdict{padding:0 .5rem;font-size:var(--tiny);font-weight:550;line-height:1.36rem;border-radius:.7rem;
vertical-align:middle;background:var(--raised)}
.holds{color:var(--good)}.conditional{color:var(--warn)}.refuted{color:var(--bad)}
.definition,.not-yet{color:var(--muted)}
.verdict.holds{background:var(--good-soft)}.verdict.conditional{background:var(--warn-soft)}
.verdict.refuted{background:var(--bad-soft)}
nav a.refuted,nav a.conditional{border-style:dashed;font-weight:600}
:target{outline:2px solid var(--accent)}
@media print{fieldset{display:none}article{break-inside:avoid}}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_takes_for_itself_is_escaped() {
        assert_eq!(escape(r#"<a b="c">&'"#), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
        assert_eq!(escape("a\u{0}b\n"), "a\u{fffd}b\u{fffd}");
        assert_eq!(escape("mallory\u{202e} ecila\u{200b}"), "mallory\u{fffd} ecila\u{fffd}", "letters stay in order");
        assert_eq!(escape("δ → “é”"), "δ → “é”");
        assert_eq!(escape_lines("<\n>"), "&lt;\n&gt;");
    }

    #[test]
    fn what_drawings_share_is_there_once_and_the_page_is_xml() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><style>x</style><g/><defs><path id=\"a\"/></defs>!</svg>";
        let mut page = Page::new("a < b");
        page.drawing(svg, "one & two");
        page.drawing(svg, "");
        let text = page.finish();
        assert_eq!([text.matches("<style>x").count(), text.matches("id=\"a\"").count()], [1, 1]);
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(&text, options).unwrap();
        assert!(document.descendants().any(|node| node.text() == Some("one & two")));
        assert!(text.contains(LOOK), "there is one visual language");
        let colour = |part: &str| part.contains('#') && !part.contains("\"#");
        assert!(!STYLE.split(';').any(colour), "no page has colours of its own");
    }

    /// A browser runs the script only if its hash is the one in the policy.
    #[test]
    fn the_policy_knows_the_script() {
        assert!(policy([].into_iter()).contains(&format!("script-src '{}'", hash_by_another(SCRIPT))));
    }

    /// A browser heeds a style only if its hash is in the policy, and then none that is written at an element.
    #[test]
    fn the_policy_knows_every_style_and_no_other() {
        let drawing =
            |style: &str| format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><style>{style}</style><g/></svg>");
        let mut page = Page::new("styles");
        page.drawing(&drawing("\n.a{fill:red}\n"), "");
        page.drawing(&drawing(".b{font-family:\"DejaVu Sans\"}"), "");
        page.drawing(&drawing("\n.a{fill:red}\n"), "");
        let text = page.finish();
        let (_, policy) = text.split_once("style-src ").unwrap();
        let allowed: BTreeSet<_> = policy.split(';').next().unwrap().split(' ').map(str::to_string).collect();
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(&text, options).unwrap();
        let styles = document.descendants().filter(|node| node.has_tag_name("style"));
        let hashes: BTreeSet<_> = styles.map(|style| format!("'{}'", hash_by_another(style.text().unwrap()))).collect();
        assert_eq!(hashes.len(), 3);
        assert_eq!(allowed, hashes);
        assert!(!text.contains("unsafe"), "{policy}");
    }

    fn hash_by_another(text: &str) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        format!("sha256-{}", base64(digest.as_ref()))
    }

    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let group = |group: &[u8]| {
            let bits = (0..3).fold(0u32, |bits, place| bits << 8 | u32::from(*group.get(place).unwrap_or(&0)));
            let letter = |place: usize| match place <= group.len() {
                true => LETTERS[(bits >> (18 - 6 * place)) as usize & 63] as char,
                false => '=',
            };
            (0..4).map(letter).collect::<String>()
        };
        bytes.chunks(3).map(group).collect()
    }
}
