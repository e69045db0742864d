//! What logical clocks show, in characters.

use super::super::view::Clocks;

/// What the clock of its process shows at each event, in brackets of its own: round ones are around numbers of
/// messages, and square ones connect the ends of an arrow.
pub(super) struct Readings {
    texts: Vec<String>,
    /// What the legend says of them.
    pub(super) meaning: &'static str,
}

impl Readings {
    /// Of these, which clocks of some kind show.
    pub(super) fn new(kind: Clocks, readings: &[String]) -> Readings {
        let bracketed = |reading: &String| match reading.trim_matches(['(', ')']) {
            "" => String::new(),
            numbers => format!("⟨{numbers}⟩"),
        };
        // Of many processes, a vector names those whose parts it shows.
        let is_long = readings.iter().any(|reading| reading.contains(':'));
        let meaning = match kind {
            Clocks::Lamport => "⟨7⟩ Lamport clock",
            Clocks::Vector if is_long => "⟨p2:1 …⟩ vector clock: own entry first, then the number of entries not shown",
            Clocks::Vector => "⟨2,1⟩ vector clock",
        };
        Readings { texts: readings.iter().map(bracketed).collect(), meaning }
    }

    /// The text at an event; none where the network did something.
    pub(super) fn at(&self, event: usize) -> Option<&str> {
        self.texts.get(event).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The width of the widest.
    pub(super) fn width(&self) -> usize {
        self.texts.iter().map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

/// Writes a clock right of the line at `from`, after what is there, if it fits before `to`; whether it does.
pub(super) fn write_beside(cells: &mut [char], from: usize, to: usize, clock: &str) -> bool {
    let written = (from + 1..to).rev().find(|&place| cells[place] != ' ');
    let begin = written.map_or(from, |last| last) + 2;
    let fits = begin + clock.chars().count() <= to;
    if fits {
        super::write_at(cells, begin, clock.chars());
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_in_angle_brackets_and_nothing_is_not() {
        let readings = Readings::new(Clocks::Vector, &["(1,0)".into(), String::new(), "(1,12)".into()]);
        assert_eq!([0, 1, 2].map(|event| readings.at(event)), [Some("⟨1,0⟩"), None, Some("⟨1,12⟩")]);
        assert_eq!((readings.width(), readings.meaning), (6, "⟨2,1⟩ vector clock"));
        assert_eq!(Readings::new(Clocks::Lamport, &["3".into()]).at(0), Some("⟨3⟩"));
    }

    #[test]
    fn a_clock_is_written_after_what_is_there_if_it_fits() {
        let written = |row: &str| {
            let mut cells: Vec<char> = row.chars().collect();
            let fits = write_beside(&mut cells, 0, 11, "⟨1⟩");
            (fits, cells.into_iter().collect::<String>())
        };
        assert_eq!(written("│           │"), (true, "│ ⟨1⟩       │".into()));
        assert_eq!(written("│ leaves    │"), (false, "│ leaves    │".into()), "a space stays before the next line");
        assert_eq!(written("│ back      │"), (true, "│ back ⟨1⟩  │".into()));
        assert_eq!(written("│──word─[1] │"), (false, "│──word─[1] │".into()));
    }
}
