//! What of an algorithm's file is shown: the parts between the lines `// shown:` and `// end.`, as they would be
//! written if there were no other variants.
//!
//! A place where variants differ is a `match self.flaw { .. }`, whose arms name a flaw; the last one, `_`, is right.
//! Such a match is replaced by the arm of the variant that is shown. So what is shown is what runs.

/// The shown parts of a file, for the variant of this name; the right one, if there is no such name in it.
pub(super) fn excerpt(source: &str, flaw: &str) -> String {
    let mut shown = String::new();
    let mut inside = false;
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        match line {
            "// shown:" => {
                if !shown.is_empty() {
                    shown.push('\n');
                }
                inside = true;
            }
            "// end." => inside = false,
            _ if !inside || line.starts_with("#[") || line == "    flaw: u8," => {}
            _ => match line.split_once("match self.flaw {") {
                Some((before, "")) => show_arm(before, &mut lines, flaw, &mut shown),
                Some(_) | None => show(line, &mut shown),
            },
        }
    }
    shown
}

/// Shows a line as it would be written if there were one variant.
fn show(line: &str, shown: &mut String) {
    shown.push_str(&line.replace("pub(super) ", ""));
    shown.push('\n');
}

/// Shows the arm of a variant in place of the match that has been opened by what stands before it.
fn show_arm<'a>(before: &str, lines: &mut impl Iterator<Item = &'a str>, flaw: &str, shown: &mut String) {
    let indent = &before[..before.len() - before.trim_start().len()];
    let mut chosen: Option<Vec<&str>> = None;
    let mut arm: Option<(&str, Vec<&str>)> = None;
    let mut end = "";
    for line in lines {
        let Some(line) = line.strip_prefix(indent) else { continue };
        if let Some(after) = line.strip_prefix('}') {
            end = after;
            break;
        }
        let arm_line = line.strip_prefix("    ").unwrap_or(line);
        match &mut arm {
            Some((_, body)) if arm_line != "}" => body.push(arm_line.strip_prefix("    ").unwrap_or(arm_line)),
            Some((name, body)) => {
                choose(name, std::mem::take(body), flaw, &mut chosen);
                arm = None;
            }
            None => match arm_line.split_once(" => ") {
                Some((name, "{")) => arm = Some((name, Vec::new())),
                Some((name, "{}")) => choose(name, Vec::new(), flaw, &mut chosen),
                Some((name, expression)) => choose(name, vec![expression.trim_end_matches(',')], flaw, &mut chosen),
                None => {}
            },
        }
    }
    let is_statement = before.trim().is_empty();
    for line in chosen.unwrap_or_default() {
        let is_whole = line.ends_with([';', '{', '}']) || line.starts_with(' ');
        let end = if is_statement && end.is_empty() && !is_whole { ";" } else { end };
        show(&format!("{}{line}{end}", if is_statement { indent } else { before }), shown);
    }
}

/// Keeps the arm if it is that of the variant, or the right one and none of the variant has come.
fn choose<'a>(name: &str, body: Vec<&'a str>, flaw: &str, chosen: &mut Option<Vec<&'a str>>) {
    if name == flaw || (name == "_" && chosen.is_none()) {
        *chosen = Some(body);
    }
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    const SOURCE: &str = "
hidden
// shown:
#[derive(Debug)]
pub(super) struct Thing {
    flaw: u8,
    place: u8,
}
// end.
hidden
// shown:
impl Thing {
    fn act(&self) {
        let far = match self.flaw {
            NEAR => 1,
            _ => 100,
        };
        match self.flaw {
            NEAR => {}
            LOUD => self.shout(),
            _ => {
                self.say(far);
                if far > 3 {
                    self.wave();
                }
            }
        }
    }
}
// end.
";

    fn act(lines: &str) -> String {
        format!("struct Thing {{\n    place: u8,\n}}\n\nimpl Thing {{\n    fn act(&self) {{\n{lines}    }}\n}}\n")
    }

    #[test]
    fn only_the_variant_that_is_shown_is_seen() {
        let said = "        self.say(far);\n        if far > 3 {\n            self.wave();\n        }\n";
        assert_eq!(excerpt(SOURCE, ""), act(&format!("        let far = 100;\n{said}")));
        assert_eq!(excerpt(SOURCE, "NEAR"), act("        let far = 1;\n"));
        assert_eq!(excerpt(SOURCE, "LOUD"), act("        let far = 100;\n        self.shout();\n"));
    }
}
