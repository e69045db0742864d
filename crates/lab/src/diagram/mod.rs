//! A run as a space-time diagram: for the terminal, as SVG, as a page to step through, or as a trace for other tools.
//!
//! Everything here is made of [`Record`]s alone, so that a simulated run, a counterexample, a replayed scenario and the
//! trace of real nodes all look the same. One layout serves all drawings: who has a line, which message connects which
//! two events, and what each process is doing in between. The page is made of the SVG; it is there with the feature
//! `command`.
//!
//! A picture shows at most [`MOST_RECORDS`] records, a page [`MOST_STEPPED`]: those that lead to its first mark, or
//! else the first ones, or the [part](Part) that one asks for. What was left out is said in the picture. Exports have
//! everything.

mod clocks;
#[cfg(feature = "command")]
pub mod html;
mod layout;
mod marks;
mod phases;
mod shiviz;
mod suspicion;
mod svg;
mod text;
mod view;
mod words;

use std::ops::Range;
use std::path::Path;

use quorate_core::trace::Record;

use layout::Layout;
use svg::Drawn;

pub use layout::MOST_RECORDS;
pub use marks::{Mark, Spot, broken, group};
pub use shiviz::shiviz;
pub use view::{Clocks, Part, Unit, View};

/// The most records that a page shows, which is stepped through rather than looked at.
pub const MOST_STEPPED: usize = 10_000;

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

/// The width of a text diagram that goes to a file.
pub const FILE_COLUMNS: usize = 100;

impl Picture<'_> {
    /// A chart for a terminal of this width: processes side by side, time running down.
    ///
    /// Labels are on their arrows if there is room for that, else in the margin; where not even the processes fit side
    /// by side, only the words are left.
    pub fn text(&self, columns: usize) -> String {
        self.text_of(columns, &View::default())
    }

    /// The same as one wants to see it; of how, only the part, the unit and the clocks concern it.
    pub fn text_of(&self, columns: usize, view: &View) -> String {
        let window = view::window(self, &view.part, MOST_RECORDS);
        let layout = Layout::new(self, &window);
        let clocks = view.clocks.map(|kind| clocks::readings(self.records, &window, kind, &layout.lines));
        text::draw(&layout, view, clocks.as_deref(), &self.title, columns)
    }

    /// A drawing that stands alone: one line a process, time running to the right, for light and dark backgrounds.
    pub fn svg(&self) -> String {
        self.svg_of(&View::default())
    }

    /// The same as one wants to see it.
    pub fn svg_of(&self, view: &View) -> String {
        self.drawn(view, MOST_RECORDS).svg
    }

    /// At most so many records.
    fn drawn(&self, view: &View, most: usize) -> Drawn {
        let window = view::window(self, &view.part, most);
        self.draw(&Layout::new(self, &window), &window, view, &self.title)
    }

    /// The same to be stepped through, on a page that says the title itself.
    #[cfg(feature = "command")]
    fn drawn_in_steps(&self, view: &View) -> (Layout<'_>, Drawn) {
        let window = view::window(self, &view.part, MOST_STEPPED);
        let layout = Layout::new(self, &window).stepped(view.command.is_some());
        let drawn = self.draw(&layout, &window, view, "");
        (layout, drawn)
    }

    fn draw(&self, layout: &Layout<'_>, window: &Range<usize>, view: &View, title: &str) -> Drawn {
        let clocks = view.clocks.map(|kind| clocks::readings(self.records, window, kind, &layout.lines));
        svg::draw(layout, view, clocks.as_deref(), title)
    }

    /// A page that stands alone, on which one steps through the run.
    #[cfg(feature = "command")]
    pub fn html(&self, view: &View) -> String {
        let (layout, drawn) = self.drawn_in_steps(view);
        html::page(&layout, &drawn, view, &self.title)
    }

    /// The drawing and what is told of it, for a page that has a viewer: the SVG, its `run`, the `records` with which
    /// its steps begin, how many are `left_out` before and after it, whether it `is_full` and `notes` that say so.
    #[cfg(feature = "page")]
    pub fn stepped(&self, view: &View) -> serde_json::Value {
        let (layout, drawn) = self.drawn_in_steps(view);
        html::stepped(&layout, &drawn, view, view::why_empty(self, &view.part, view.unit))
    }

    /// The content of a file of this format.
    pub fn render(&self, format: Format, view: &View) -> Result<Vec<u8>, RenderError> {
        if format.is_diagram()
            && let Some(why) = view::why_empty(self, &view.part, view.unit)
        {
            return Err(RenderError::Empty { why });
        }
        let text = match format {
            Format::Text => self.text_of(FILE_COLUMNS, view),
            Format::Svg => self.svg_of(view),
            #[cfg(feature = "command")]
            Format::Html => self.html(view),
            Format::JsonLines => json_lines(self.records),
            Format::Shiviz => shiviz(self.n, self.records),
        };
        Ok(text.into_bytes())
    }
}

/// Why something cannot be drawn as one wants to see it. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Nothing happens in the part of the run that was chosen.
    #[error("{why}; choose the part to draw with --from, --to or --records")]
    Empty {
        /// Why not.
        why: String,
    },
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
    /// A page to step through it.
    #[cfg(feature = "command")]
    Html,
    /// One JSON object a line.
    JsonLines,
    /// A log for ShiViz.
    Shiviz,
}

/// Why the form of a file is not known. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The name does not end in anything.
    #[error("{path}: the file name needs an ending that selects the format: {ENDINGS}")]
    NoEnding {
        /// The file's name.
        path: String,
    },
    /// The name ends in something else.
    #[error("{path}: cannot write .{ending}; use {ENDINGS}")]
    UnknownEnding {
        /// The file's name.
        path: String,
        /// How it ends.
        ending: String,
    },
    /// The name ends in `.png`.
    #[error("{path}: PNG is not supported; write an SVG and save it as PNG in a browser")]
    Png {
        /// The file's name.
        path: String,
    },
}

#[cfg(feature = "command")]
const ENDINGS: &str = ".svg, .html or .txt for a diagram, .jsonl (or .json) or .shiviz (or .log) for a trace";
#[cfg(not(feature = "command"))]
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
            #[cfg(feature = "command")]
            "html" | "htm" => Ok(Format::Html),
            "txt" => Ok(Format::Text),
            "json" | "jsonl" => Ok(Format::JsonLines),
            "shiviz" | "log" => Ok(Format::Shiviz),
            "png" => Err(FormatError::Png { path: shown }),
            _ => Err(FormatError::UnknownEnding { path: shown, ending }),
        }
    }

    /// Whether this is a drawing, which may leave something out, rather than a trace.
    pub fn is_diagram(self) -> bool {
        match self {
            Format::Text | Format::Svg => true,
            #[cfg(feature = "command")]
            Format::Html => true,
            Format::JsonLines | Format::Shiviz => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::id::Id;
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
        let error = Format::of("run.gif").unwrap_err().to_string();
        assert!(error.starts_with("run.gif: cannot write .gif; use .svg"), "{error}");
        let error = Format::of("run.png").unwrap_err().to_string();
        assert_eq!(error, "run.png: PNG is not supported; write an SVG and save it as PNG in a browser");
        let error = Format::of("runs/run").unwrap_err().to_string();
        assert!(error.starts_with("runs/run: the file name needs an ending that selects the format: .svg"), "{error}");
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
        let render = |format| String::from_utf8(picture.render(format, &View::default()).unwrap()).unwrap();
        assert_eq!(render(Format::JsonLines), lines);
        assert_eq!(render(Format::Shiviz), shiviz(2, &records));
        assert_eq!(render(Format::Text), picture.text(FILE_COLUMNS));
        assert_eq!(render(Format::Svg), picture.svg());
        let clocks = View { clocks: Some(Clocks::Lamport), ..View::default() };
        let timed = String::from_utf8(picture.render(Format::Text, &clocks).unwrap()).unwrap();
        assert!(timed.contains("requests entry ⟨1⟩"), "{timed}");
        let later = View { part: Part::Records(5..9), ..View::default() };
        for format in [Format::Text, Format::Svg] {
            let error = picture.render(format, &later).unwrap_err().to_string();
            assert_eq!(error, "the run has 2 records; choose the part to draw with --from, --to or --records");
        }
        assert!(picture.render(Format::JsonLines, &later).is_ok(), "a trace has everything");
    }
}
