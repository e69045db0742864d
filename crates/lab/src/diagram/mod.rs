//! A run as a space-time diagram, for the terminal or as SVG, and as a trace for other tools.
//!
//! Everything here is made of [`Record`]s alone, so that a simulated run, a counterexample, a replayed scenario and the
//! trace of real nodes all look the same. One layout serves both drawings: who has a line, which message connects which
//! two events, and what each process is doing in between.
//!
//! A picture shows at most [`MOST_RECORDS`] records: those that lead to its first mark, or else the first ones. What
//! was left out is said in the picture. Exports have everything.

mod layout;
mod shiviz;
mod svg;
mod text;
mod words;

use std::path::Path;

use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::Record;

pub use layout::MOST_RECORDS;
pub use shiviz::shiviz;

/// What is to be drawn.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// How many processes there are. Others that the records name are drawn too.
    pub n: u32,
    /// What happened, in the order in which it happened.
    pub records: &'a [Record],
    /// Said above the drawing.
    pub title: String,
    /// What to point at.
    pub marks: Vec<Mark>,
}

/// Something to point at, such as a broken promise: shown at the records of this time, and of this process if it is
/// given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Ticks,
    /// At whom; everywhere if at nobody.
    pub process: Option<Id>,
    /// What to say there.
    pub text: String,
}

/// The width of a text diagram that goes to a file.
pub const FILE_COLUMNS: usize = 100;

impl Picture<'_> {
    /// A chart for a terminal of this width: processes side by side, time running down.
    ///
    /// Labels are on their arrows if there is room for that, else in the margin; where not even the processes fit side
    /// by side, only the words are left.
    pub fn text(&self, columns: usize) -> String {
        text::draw(self, columns)
    }

    /// A drawing that stands alone: one line a process, time running to the right, for light and dark backgrounds.
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    /// The content of a file of this format.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(FILE_COLUMNS),
            Format::Svg => self.svg(),
            Format::JsonLines => json_lines(self.records),
            Format::Shiviz => shiviz(self.n, self.records),
        }
    }
}

/// One JSON object a line, each a record.
pub fn json_lines(records: &[Record]) -> String {
    records.iter().fold(String::new(), |mut lines, record| {
        lines += &serde_json::to_string(record).expect("a record is plain data");
        lines.push('\n');
        lines
    })
}

/// In which form a run is written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A chart in characters.
    Text,
    /// A drawing.
    Svg,
    /// One JSON object a line.
    JsonLines,
    /// A log for ShiViz.
    Shiviz,
}

/// Why the form of a file is not known. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The name does not end in anything.
    #[error("{path}: the name must say what to write: {ENDINGS}")]
    NoEnding {
        /// The file's name.
        path: String,
    },
    /// The name ends in something else.
    #[error("{path}: nothing can be written as .{ending}; choose {ENDINGS}")]
    UnknownEnding {
        /// The file's name.
        path: String,
        /// How it ends.
        ending: String,
    },
}

const ENDINGS: &str = ".svg or .txt for a diagram, .jsonl (or .json) or .shiviz (or .log) for a trace";

impl Format {
    /// The form that the ending of a file's name asks for.
    pub fn of(path: impl AsRef<Path>) -> Result<Format, FormatError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let Some(ending) = path.extension() else { return Err(FormatError::NoEnding { path: shown }) };
        let ending = ending.to_string_lossy().to_lowercase();
        match &*ending {
            "svg" => Ok(Format::Svg),
            "txt" => Ok(Format::Text),
            "json" | "jsonl" => Ok(Format::JsonLines),
            "shiviz" | "log" => Ok(Format::Shiviz),
            _ => Err(FormatError::UnknownEnding { path: shown, ending }),
        }
    }

    /// Whether this is a drawing, which may leave something out, rather than a trace.
    pub fn is_diagram(self) -> bool {
        match self {
            Format::Text | Format::Svg => true,
            Format::JsonLines | Format::Shiviz => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::trace::What;

    use super::*;

    #[test]
    fn the_name_of_a_file_says_its_form() {
        let forms = ["run.svg", "a.b/run.TXT", "run.json", "run.jsonl", "run.shiviz", "x.run.log"].map(Format::of);
        let expected =
            [Format::Svg, Format::Text, Format::JsonLines, Format::JsonLines, Format::Shiviz, Format::Shiviz].map(Ok);
        assert_eq!(forms, expected);
        assert_eq!(forms.map(|form| form.unwrap().is_diagram()), [true, true, false, false, false, false]);
    }

    #[test]
    fn another_name_is_refused_with_what_is_possible() {
        let error = Format::of("run.png").unwrap_err().to_string();
        assert!(error.starts_with("run.png: nothing can be written as .png; choose .svg or .txt"), "{error}");
        let error = Format::of("runs/run").unwrap_err().to_string();
        assert!(error.starts_with("runs/run: the name must say what to write: .svg"), "{error}");
    }

    #[test]
    fn a_trace_is_one_json_object_a_line_and_reads_back() {
        let records = [
            Record { at: 0, process: Id::new(1), what: What::Wanted },
            Record { at: 7, process: Id::new(2), what: What::Leader { leader: Id::new(1) } },
        ];
        let lines = json_lines(&records);
        assert_eq!(lines.lines().next(), Some(r#"{"at":0,"process":1,"event":"wanted"}"#));
        let read: Vec<Record> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read, records);
        let picture = Picture { n: 2, records: &records, title: String::new(), marks: vec![] };
        assert_eq!(picture.render(Format::JsonLines), lines);
        assert_eq!(picture.render(Format::Shiviz), shiviz(2, &records));
        assert_eq!(picture.render(Format::Text), picture.text(FILE_COLUMNS));
        assert_eq!(picture.render(Format::Svg), picture.svg());
    }
}
