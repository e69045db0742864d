//! The names at the ends of lines: what they are, where they stand, and which of them there is no room for.

use quorate_core::catalog::DOCUMENTS;

use super::draw::Place;

/// From the end of a line to its name, if no point is in the way.
const BESIDE: i32 = 17;
/// Points as far as this from the end of a line stand side by side with the one that is there.
const GROUP: i32 = 60;
/// The height of a name.
const HEIGHT: i32 = 11;

/// The end of a line, and its name. All places here are in pixels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    /// How far down the line ends; first, as ends are taken from above.
    pub(super) y: i32,
    pub(super) x: i32,
    pub(super) name: String,
    /// How the line's series looks.
    pub(super) look: usize,
}

/// Part of a drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

impl Area {
    /// What a point covers, of which this is the middle and half the size.
    pub(super) fn around((x, y): Place, half: i32) -> Area {
        Area { left: x - half, right: x + half, top: y - half, bottom: y + half }
    }

    fn is_level_with(&self, other: &Area) -> bool {
        self.top < other.bottom && other.top < self.bottom
    }

    fn overlaps(&self, other: &Area) -> bool {
        self.is_level_with(other) && self.left < other.right && other.left < self.right
    }
}

/// Who published a formula, in few letters: those of the documents, or the authors if it is in none of these. What else
/// is to be said of it is in the legend.
pub(super) fn name(formula: &str) -> Option<String> {
    let (_, source) = formula.rsplit_once(" (")?;
    let source = source.strip_suffix(')')?;
    let is_document = |part: &&str| DOCUMENTS.iter().any(|(letter, _)| letter == part);
    let letters: Vec<_> = source.split(", ").filter(is_document).collect();
    Some(if letters.is_empty() { source.to_string() } else { letters.join(", ") })
}

/// Where the names stand, by their left ends and their feet: right of the points at the ends of their lines, and below
/// each other where lines end close together. A name that would cover a point or go beyond `most` is left out.
pub(super) fn placed(mut ends: Vec<End>, points: &[Area], most: i32) -> Vec<(Place, End)> {
    // From above, so that those that make room for others stay in the order of their lines.
    ends.sort_unstable();
    let mut taken: Vec<Area> = Vec::new();
    let mut placed = Vec::new();
    for end in ends {
        let is_free = |area: &Area| !taken.iter().any(|other| area.overlaps(other));
        let mut further_down = (0..).step_by(2).map(|down| beside(&end, down, points));
        let area = further_down.find(is_free).expect("there is room below all other names");
        if area.right <= most && !points.iter().any(|point| area.overlaps(point)) {
            taken.push(area);
            placed.push(((area.left, area.bottom), end));
        }
    }
    placed
}

/// The area of a name that stands so much further down than its line ends.
fn beside(end: &End, down: i32, points: &[Area]) -> Area {
    let bottom = end.y + 4 + down;
    let mut area = Area { left: end.x + BESIDE, right: 0, top: bottom - HEIGHT, bottom };
    let is_there = |point: &&Area| point.is_level_with(&area) && ((point.left + point.right) / 2 - end.x).abs() < GROUP;
    let group = points.iter().filter(is_there).map(|point| point.right + 3).max();
    area.left = group.map_or(area.left, |free| free.max(area.left));
    // Capital letters are wider than others, and the spaces between them narrower.
    area.right = area.left + 6 * end.name.chars().count() as i32 + 3;
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(x: i32, y: i32, name: &str) -> End {
        End { y, x, name: name.into(), look: 0 }
    }

    fn places(ends: Vec<End>, points: &[Area]) -> Vec<(String, Place)> {
        placed(ends, points, 200).into_iter().map(|(place, end)| (end.name, place)).collect()
    }

    #[test]
    fn a_line_is_named_by_the_letters_of_the_documents_or_by_authors() {
        assert_eq!(name("3(K−1) (B, without messages to oneself)").as_deref(), Some("B"));
        assert_eq!(name("2(N−1) (A, D, E)").as_deref(), Some("A, D, E"));
        assert_eq!(name("N (Suzuki & Kasami)").as_deref(), Some("Suzuki & Kasami"));
        assert_eq!(name("2(N−1)"), None);
    }

    #[test]
    fn names_of_lines_that_end_together_stand_below_each_other() {
        let named = places(vec![end(100, 52, "B"), end(100, 50, "A"), end(100, 90, "E")], &[]);
        assert_eq!(named, [("A".into(), (117, 54)), ("B".into(), (117, 66)), ("E".into(), (117, 94))]);
    }

    #[test]
    fn a_name_stands_right_of_all_points_at_the_end_of_its_line() {
        let group = [100, 110, 120].map(|x| Area::around((x, 50), 6));
        assert_eq!(places(vec![end(100, 50, "A")], &group), [("A".into(), (129, 54))]);
        let elsewhere = [Area::around((120, 80), 6)];
        assert_eq!(places(vec![end(100, 50, "A")], &elsewhere), [("A".into(), (117, 54))]);
    }

    #[test]
    fn a_name_that_does_not_fit_is_left_out() {
        assert_eq!(places(vec![end(100, 50, "Suzuki & Kasami"), end(100, 50, "A")], &[]), [("A".into(), (117, 54))]);
        let next = [Area::around((170, 50), 6)];
        assert_eq!(places(vec![end(100, 50, "A, B, C, D")], &next), [], "it would cover a point");
        assert_eq!(places(vec![end(100, 50, "A, B")], &next).len(), 1);
    }
}
