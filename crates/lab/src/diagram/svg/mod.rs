//! A diagram as SVG: one line a process, time running to the right or downwards.
//!
//! It stands alone, follows the reader's light or dark background, and can be read without colours: kinds of messages
//! differ in their dashes, phases in their textures. The axis is neither to scale nor blind to time: moments are
//! further apart the more time lies between them, but never too close to read nor so far that the eye gets lost.
//!
//! Places are reckoned along the time axis and across it; [`Drawing::at`] alone knows which of them runs to the right.

mod arrows;
mod labels;
mod legend;
mod lines;
mod points;
mod style;

use std::collections::BTreeMap;
use std::fmt::Write;

use self::labels::{EDGE, Labels, bold_width, width};
use self::style::style;
use super::layout::Layout;
use super::phases::Phase;
use super::view::View;
use super::words::visible;

#[cfg(all(test, feature = "command"))]
pub(super) use self::style::COLOURS;
#[cfg(feature = "command")]
pub(super) use self::style::{escape, style_sheet};

/// How far things are apart along the time axis.
struct Spacing {
    /// Between two slots of a moment.
    slot: f64,
    /// Between two moments that are the usual time apart; the least, and the most.
    gap: f64,
    least_gap: f64,
    most_gap: f64,
    /// How much of a message is seen that does not arrive, or was not seen to leave.
    stub: f64,
}

const RIGHTWARDS: Spacing = Spacing { slot: 26.0, gap: 86.0, least_gap: 44.0, most_gap: 170.0, stub: 52.0 };
const DOWNWARDS: Spacing = Spacing { slot: 26.0, gap: 46.0, least_gap: 30.0, most_gap: 90.0, stub: 34.0 };

/// A stretch in which nothing happens is folded if it is so many times as long as usual.
const LONG: f64 = 6.0;
/// Half the height of a band.
const BAND: f64 = 8.0;
/// So many lines have room for everything.
const FEW: usize = 8;

/// A place on the paper.
type Place = (f64, f64);

/// A drawing, and where on it things are.
pub(super) struct Drawn {
    pub(super) svg: String,
    /// Where is what, for who wants to point at it.
    #[cfg_attr(not(feature = "command"), expect(dead_code, reason = "only pictures made of the drawing ask"))]
    pub(super) places: Places,
}

/// Where things are on a drawing.
#[derive(Default)]
pub(super) struct Places {
    pub(super) size: Place,
    /// From where to where the lines of the processes run, along the time axis.
    pub(super) axis: (f64, f64),
    /// From where to where they are, across it.
    pub(super) across: (f64, f64),
    /// Each line, across the time axis.
    pub(super) lines: Vec<f64>,
    /// Each event.
    pub(super) events: Vec<Place>,
    /// Each arrow: its message, the event at its end if there is one, from where and to where.
    pub(super) arrows: Vec<(usize, Option<usize>, Place, Place)>,
}

/// Draws a layout. `clocks` has what to write at each event, if anything.
pub(super) fn draw(layout: &Layout<'_>, view: &View, clocks: Option<&[String]>, title: &str) -> Drawn {
    let mut drawing = Drawing::new(layout, view);
    drawing.axis();
    drawing.bands();
    drawing.suspicions();
    drawing.arrows();
    drawing.points();
    if let Some(clocks) = clocks {
        drawing.clocks(clocks);
    }
    drawing.flags();
    drawing.finish(title)
}

/// The picture, being drawn.
struct Drawing<'a> {
    layout: &'a Layout<'a>,
    view: &'a View,
    spacing: Spacing,
    /// Where each moment begins.
    moments: Vec<f64>,
    /// The moments before which something was folded.
    folds: Vec<usize>,
    /// Where the lines begin and end, along the time axis.
    begin: f64,
    end: f64,
    /// Where the first line has its room, across it.
    edge: f64,
    /// Between two lines.
    pitch: f64,
    /// Which style each kind of message has, in the order of their first appearance.
    kinds: BTreeMap<String, usize>,
    /// What the legend explains.
    phases: Vec<Phase>,
    has_application_messages: bool,
    has_lost: bool,
    has_under_way: bool,
    /// How many arrows have no label, as there was no room.
    unsaid: usize,
    /// Clocks that have no room.
    unsaid_clocks: usize,
    labels: Labels,
    places: Places,
    /// What lies lowest, what lies below, and what lies above.
    lowest: String,
    below: String,
    above: String,
    /// Where messages are lost: above everything, as what is hidden there would have arrived.
    crosses: String,
}

impl<'a> Drawing<'a> {
    fn new(layout: &'a Layout<'a>, view: &'a View) -> Drawing<'a> {
        let few = layout.lines.len() <= FEW;
        let (spacing, begin, edge, pitch) = if view.down {
            let times = layout.moments.iter().map(|moment| width(&view.unit.text(moment.at)));
            (
                DOWNWARDS,
                84.0,
                28.0 + times.fold(width(view.unit.axis()) + 18.0, f64::max),
                if few { 168.0 } else { 104.0 },
            )
        } else {
            let names = layout.lines.iter().map(|id| width(&id.to_string())).fold(0.0, f64::max);
            let flags = 24.0 * layout.flags_with_words().count().min(6) as f64;
            (RIGHTWARDS, 40.0 + names, 88.0 + flags, if few { 92.0 } else { 64.0 })
        };
        let (moments, folds) = moments(layout, &spacing, begin + 34.0, view.fold);
        let after = layout.moments.last().map_or(0.0, |last| (last.slots - 1) as f64 * spacing.slot);
        let room = if view.down { 44.0 } else { 110.0 };
        let end = moments.last().copied().unwrap_or(begin + 34.0) + after + room;
        let mut drawing = Drawing {
            layout,
            view,
            spacing,
            moments,
            folds,
            begin,
            end,
            edge,
            pitch,
            kinds: BTreeMap::new(),
            phases: Vec::new(),
            has_application_messages: false,
            has_lost: false,
            has_under_way: false,
            unsaid: 0,
            unsaid_clocks: 0,
            labels: Labels::new(view.down, if view.down { edge - 8.0 } else { EDGE }),
            places: Places::default(),
            lowest: String::new(),
            below: String::new(),
            above: String::new(),
            crosses: String::new(),
        };
        for line in 0..layout.lines.len() {
            let across = drawing.across(line);
            drawing.labels.keep_free(begin, end, across, BAND + 1.0);
        }
        drawing.places.axis = (begin, end);
        drawing.places.across = (edge, drawing.far());
        drawing.places.lines = (0..layout.lines.len()).map(|line| drawing.across(line)).collect();
        let events = (0..layout.events.len()).map(|event| drawing.place(event));
        drawing.places.events = events.collect();
        drawing
    }

    /// A place on the paper.
    fn at(&self, along: f64, across: f64) -> Place {
        if self.view.down { (across, along) } else { (along, across) }
    }

    /// Where an event is, along the time axis.
    fn along(&self, event: usize) -> f64 {
        let event = &self.layout.events[event];
        self.moments[event.moment] + event.slot as f64 * self.spacing.slot
    }

    /// Where a line is, across the time axis.
    fn across(&self, line: usize) -> f64 {
        self.edge + (line as f64 + 0.5) * self.pitch
    }

    /// Where the room of the last line ends.
    fn far(&self) -> f64 {
        self.edge + self.layout.lines.len() as f64 * self.pitch
    }

    /// Where an event is on the paper.
    fn place(&self, event: usize) -> Place {
        self.at(self.along(event), self.across(self.layout.events[event].line))
    }

    /// A stroke along the time axis (`H` or `V` of a path) or across it.
    fn stroke_to(&self, is_along: bool, to: f64) -> String {
        let letter = if is_along == self.view.down { 'V' } else { 'H' };
        format!("{letter}{to:.1}")
    }

    /// The legend, what was left out, and the frame around everything.
    fn finish(mut self, title: &str) -> Drawn {
        let entries = self.legend_entries();
        let widest = self.layout.flags_with_words().map(|flag| bold_width(&flag.mark.text) + 32.0).fold(0.0, f64::max);
        let title: String = title.chars().map(visible).collect();
        let (right, bottom) = self.at(self.end, self.far());
        let right = if self.view.down { right.max(self.labels.right) + widest } else { right };
        let full = right.max(self.labels.right).max(widest).max(width(&title) * 1.5).max(420.0) + 24.0;
        let (legend, height) = self.legend(entries, full, bottom);
        let (name, description) = (style::escape(&title), style::escape(&self.description()));
        let mut svg = String::new();
        let size = format!(r#"width="{full:.0}" height="{height:.0}""#);
        let _ = writeln!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} viewBox="0 0 {full:.0} {height:.0}">"#
        );
        let _ = writeln!(svg, "<title>{name}</title>\n<desc>{description}</desc>\n{}", style(self.view));
        let _ = writeln!(svg, r#"<rect class="paper" {size}/>"#);
        let _ = writeln!(svg, r#"<text class="title" x="24" y="30">{name}</text>"#);
        self.places.size = (full.round(), height.round());
        let layers = [&self.lowest, &self.below, &self.above, &self.crosses, &legend].map(String::as_str).concat();
        Drawn { svg: svg + &layers + "</svg>\n", places: self.places }
    }

    /// The picture for those who do not see it.
    fn description(&self) -> String {
        let (lines, messages) = (self.layout.lines.len(), self.layout.messages.len());
        let marks: String = self.layout.flags.iter().map(|flag| format!(" Marked: {}.", flag.mark.text)).collect();
        let direction = if self.view.down { "downwards" } else { "to the right" };
        let text = format!(
            "A space-time diagram of {lines} processes and {messages} messages, time running {direction}.{marks}"
        );
        let command = self.view.command.as_ref().map_or(String::new(), |command| format!(" Made by: {command}"));
        (text + &command).chars().map(visible).collect()
    }
}

/// Where each moment is along the time axis, and before which something is folded.
fn moments(layout: &Layout<'_>, spacing: &Spacing, first: f64, fold: bool) -> (Vec<f64>, Vec<usize>) {
    let mut moments = Vec::with_capacity(layout.moments.len());
    let mut folds = Vec::new();
    let mut along = first;
    let usual = usual_gap(layout);
    for (index, moment) in layout.moments.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).map(|before| &layout.moments[before]) {
            let time = moment.at.saturating_sub(before.at) as f64 / usual as f64;
            along += (before.slots - 1) as f64 * spacing.slot;
            if fold && time > LONG {
                // Room for the cut, between what is before and what is after it.
                along += 2.0 * spacing.least_gap;
                folds.push(index);
            } else {
                along += (spacing.gap * time.sqrt()).clamp(spacing.least_gap, spacing.most_gap);
            }
        }
        moments.push(along);
    }
    (moments, folds)
}

/// The median of the times between moments.
fn usual_gap(layout: &Layout<'_>) -> u64 {
    let mut gaps: Vec<_> = layout.moments.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at)).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(1).max(1)
}

/// The class by which a phase is drawn.
pub(super) fn class(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Wanting => "wanting",
        Phase::Inside => "inside",
        Phase::Candidate => "candidate",
        Phase::Leading => "leading",
        Phase::Paused => "paused",
        Phase::PausedInside => "paused-inside",
        Phase::Crashed => "crashed",
        Phase::Stopped => "stopped",
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::id::Id;
    use quorate_core::trace::{Label, Record, What};

    use super::super::view::{Clocks, Part};
    use super::super::{Mark, Picture};
    use super::*;
    use crate::time::DELTA;

    fn record(at: u64, process: u32, what: What) -> Record {
        Record { at, process: Id::new(process), what }
    }

    fn svg(records: &[Record], marks: Vec<Mark>) -> String {
        let svg = Picture { n: 2, records, title: "<run> & co".into(), marks }.svg();
        roxmltree::Document::parse(&svg).unwrap();
        svg
    }

    fn sent(kind: &'static str) -> What {
        What::Sent { to: Id::new(2), sequence: 1, label: Label { kind: kind.into(), number: Some(7) } }
    }

    #[test]
    fn nothing_at_all_is_a_picture() {
        assert!(svg(&[], vec![]).contains(">p2</text>"));
    }

    #[test]
    fn text_is_escaped_wherever_it_comes_from() {
        let mark = Mark::at_time(0, "a < b \u{0}");
        let timer = What::TimedOut { timer: "<timer>".into() };
        let svg = svg(&[record(0, 1, sent("<kind>")), record(0, 1, timer)], vec![mark]);
        for text in ["&lt;run&gt; &amp; co", "a &lt; b", "&lt;kind&gt;(7)", "timeout &lt;timer&gt;"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn a_message_ends_as_it_did() {
        let label = Label { kind: "word".into(), number: Some(7) };
        let received = What::Received { from: Id::new(1), sequence: 1, label: label.clone() };
        let lost = What::Lost { to: Id::new(2), sequence: 1, label };
        let heads = |svg: &str| svg.matches(r#"<path class="head k0""#).count();
        let crosses = |svg: &str| svg.matches(r#"<path class="cross""#).count();
        // One head and one cross of each that occurs are in the legend.
        let arrived = svg(&[record(0, 1, sent("word")), record(5, 2, received.clone())], vec![]);
        assert_eq!((heads(&arrived), crosses(&arrived)), (2, 0));
        let doubled = [record(0, 1, sent("word")), record(5, 2, received.clone()), record(6, 2, received)];
        let doubled = svg(&doubled, vec![]);
        assert_eq!((heads(&doubled), doubled.contains("word(7) again")), (3, true));
        let gone = svg(&[record(0, 1, sent("word")), record(5, 1, lost)], vec![]);
        assert_eq!((heads(&gone), crosses(&gone)), (1, 2));
        let dangling = svg(&[record(0, 1, sent("word"))], vec![]);
        assert_eq!((heads(&dangling), dangling.contains("word(7) …")), (1, true));
    }

    #[test]
    fn a_mark_flies_over_its_moment_and_rings_its_process() {
        let mark = Mark::at_record(1, "here");
        let svg = svg(&[record(0, 1, What::Wanted), record(5, 2, What::Wanted)], vec![mark]);
        assert!(svg.contains(r#"class="ring""#) && svg.contains(">here</text>") && svg.contains("Marked: here."));
    }

    #[test]
    fn what_is_broken_again_is_ringed_and_said_once() {
        let mark = Mark { again: vec![Mark::at_record(1, "again")], ..Mark::at_record(0, "first") };
        let records = [record(0, 1, What::Wanted), record(5, 2, What::Wanted)];
        let all = svg(&records, vec![mark.clone()]);
        assert_eq!(all.matches(r#"class="ring""#).count(), 2);
        assert!(all.contains(">first</text>") && !all.contains(">again</text>"));
        assert!(all.contains("Marked: first. Marked: again."), "who does not see the rings is told");
        let part = View { part: Part::Records(1..2), ..View::default() };
        let later = Picture { n: 2, records: &records, title: String::new(), marks: vec![mark] }.svg_of(&part);
        assert!(later.contains(">again</text>") && later.contains("not in this part: first"));
    }

    #[test]
    fn phases_are_bands_and_only_those_that_occur_are_explained() {
        let svg = svg(&[record(0, 1, What::Wanted), record(5, 1, What::Crashed)], vec![]);
        assert!(svg.contains(r#"<rect class="wanting""#) && svg.contains("waiting</text>"));
        assert!(svg.contains(r#"<path class="crashed""#) && !svg.contains(">inside</text>"));
    }

    #[test]
    fn whoever_is_taken_for_dead_has_a_line_of_dashes() {
        let told = |at, alive| record(at, 1, What::Told { of: Id::new(2), alive });
        let dashes = |svg: &str| svg.matches(r#"<path class="suspected""#).count();
        // One more is in the legend.
        let twice = svg(&[told(0, false), told(5, true), told(9, false)], vec![]);
        assert_eq!((dashes(&twice), twice.contains(">suspected by others</text>")), (3, true));
        assert_eq!(dashes(&svg(&[told(0, true)], vec![])), 0);
    }

    #[test]
    fn time_can_run_downwards() {
        let records = [record(0, 1, sent("word")), record(5_000_000, 2, What::Wanted)];
        let picture = Picture { n: 2, records: &records, title: "down".into(), marks: vec![] };
        let svg = picture.svg_of(&View { down: true, ..View::default() });
        let document = roxmltree::Document::parse(&svg).unwrap();
        let times = document.descendants().filter(|node| node.attribute("class") == Some("time end"));
        let times: Vec<_> = times.map(|node| node.attribute("y").unwrap().parse::<f64>().unwrap()).collect();
        assert!(times.len() == 3 && times.is_sorted(), "{times:?}");
        assert!(svg.contains("time in δ ↓") && svg.contains("time running downwards"));
    }

    #[test]
    fn a_long_stretch_is_folded_and_says_how_long_it_was() {
        let at = [0, 1, 2, 3, 4, 5, 6, 206].map(|delta| record(delta * DELTA, 1, What::Wanted));
        let picture = Picture { n: 1, records: &at, title: "long".into(), marks: vec![] };
        assert!(!picture.svg().contains("200 δ"));
        let folded = picture.svg_of(&View { fold: true, ..View::default() });
        assert!(folded.contains(">200 δ</text>") && folded.contains("stretch without events, cut out"));
    }

    #[test]
    fn a_stretch_may_be_as_long_as_time() {
        let at = [0, 1, 2, 3, u64::MAX].map(|at| record(at, 1, What::Wanted));
        let picture = Picture { n: 1, records: &at, title: "endless".into(), marks: vec![] };
        let folded = picture.svg_of(&View { fold: true, ..View::default() });
        assert!(folded.contains(">18446744073709.5 δ</text>"), "{folded}");
    }

    #[test]
    fn crosses_lie_above_all_words() {
        let lost = |at, process, to| {
            let label = Label { kind: "word".into(), number: Some(7) };
            let sent = What::Sent { to: Id::new(to), sequence: at, label: label.clone() };
            [record(at, process, sent), record(at + 5, process, What::Lost { to: Id::new(to), sequence: at, label })]
        };
        let records = [lost(0, 1, 2), lost(1, 2, 1)].concat();
        let svg = svg(&records, vec![]);
        let last = svg.rfind(r#"<text class="label"#).unwrap();
        let crosses = svg.find(r#"<path class="cross" d="M"#).unwrap();
        assert!(crosses > last && svg[crosses..].matches(r#"<path class="cross""#).count() == 3, "{svg}");
    }

    #[test]
    fn clocks_are_written_once_a_step() {
        let records = [record(0, 1, What::Wanted), record(0, 1, sent("word")), record(9, 1, What::Leaving)];
        let picture = Picture { n: 2, records: &records, title: "clocks".into(), marks: vec![] };
        let svg = picture.svg_of(&View { clocks: Some(Clocks::Vector), ..View::default() });
        // One more is in the legend.
        assert_eq!(svg.matches(r#"class="clock""#).count(), 3);
        assert!(svg.contains(">(1,0)</text>") && svg.contains(">(2,0)</text>") && svg.contains("vector clock"));
    }
}
