//! Where labels go: not onto each other, nor onto the lines of processes, if there is any other place.

use std::collections::BTreeMap;

/// Half the height of a label.
const HALF: f64 = 7.0;
/// Labels further apart than this cannot touch.
const CELL: f64 = 400.0;

/// Where the paper begins.
pub(super) const EDGE: f64 = 4.0;
/// What a crossed arrow counts, as an overlap.
const ARROW: f64 = 60.0;

/// What part of a label may lie on others.
const COVERED: f64 = 0.3;

/// The width of a text of the usual size, roughly.
pub(super) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.6
}

/// The width of a text in bold letters, roughly.
pub(super) fn bold_width(text: &str) -> f64 {
    1.15 * width(text)
}

/// What is taken already.
#[derive(Default)]
pub(super) struct Labels {
    /// How far they reach.
    pub(super) right: f64,
    /// Whether time runs downwards.
    down: bool,
    /// Where the room for labels begins, from the left.
    edge: f64,
    lines: Vec<Bar>,
    /// By their place along the time axis.
    cells: BTreeMap<i64, Vec<Bar>>,
    /// The arrows, by their place along the time axis.
    arrows: BTreeMap<i64, Vec<Segment>>,
}

/// From where to where an arrow goes.
type Segment = ((f64, f64), (f64, f64));

#[derive(Clone, Copy)]
struct Bar {
    left: f64,
    right: f64,
    y: f64,
    half: f64,
}

impl Bar {
    /// A label of this width around a place.
    fn of_label((x, y): (f64, f64), width: f64) -> Bar {
        Bar { left: x - width / 2.0, right: x + width / 2.0, y, half: HALF }
    }

    /// How much two overlap.
    fn overlap(&self, other: &Bar) -> f64 {
        let wide = self.right.min(other.right) - self.left.max(other.left);
        let high = (self.y + self.half).min(other.y + other.half) - (self.y - self.half).max(other.y - other.half);
        if wide > 0.0 && high > 0.0 { wide * high } else { 0.0 }
    }
}

impl Labels {
    /// Nothing yet, on a drawing in which time runs downwards or to the right, with room for labels from `edge` on.
    pub(super) fn new(down: bool, edge: f64) -> Labels {
        Labels { down, edge, ..Labels::default() }
    }

    /// A line of this half width that labels are not to lie on, from where to where along the time axis.
    pub(super) fn keep_free(&mut self, begin: f64, end: f64, across: f64, half: f64) {
        self.lines.push(if self.down {
            Bar { left: across - half, right: across + half, y: (begin + end) / 2.0, half: (end - begin) / 2.0 }
        } else {
            Bar { left: begin, right: end, y: across, half }
        });
    }

    /// The cells that something touches, by its place along the time axis.
    fn cells(&self, (x, to_x): (f64, f64), (y, to_y): (f64, f64)) -> std::ops::RangeInclusive<i64> {
        if self.down { cell(y.min(to_y))..=cell(y.max(to_y)) } else { cell(x.min(to_x))..=cell(x.max(to_x)) }
    }

    fn cells_of(&self, bar: &Bar) -> std::ops::RangeInclusive<i64> {
        self.cells((bar.left, bar.right), (bar.y - bar.half, bar.y + bar.half))
    }

    /// An arrow that labels of points are not to lie on.
    pub(super) fn keep_visible(&mut self, begin: (f64, f64), end: (f64, f64)) {
        for cell in self.cells((begin.0, end.0), (begin.1, end.1)) {
            self.arrows.entry(cell).or_default().push((begin, end));
        }
    }

    /// A sign that labels are not to lie on, so far in each direction from a place.
    pub(super) fn keep_uncovered(&mut self, (x, y): (f64, f64), half: f64) {
        let sign = Bar { left: x - half, right: x + half, y, half };
        for cell in self.cells_of(&sign) {
            self.cells.entry(cell).or_default().push(sign);
        }
    }

    /// Words that labels are not to lie on, by their middle.
    pub(super) fn keep_readable(&mut self, (x, y): (f64, f64), width: f64) {
        let words = Bar { left: x - width / 2.0, right: x + width / 2.0, y, half: HALF };
        for cell in self.cells_of(&words) {
            self.cells.entry(cell).or_default().push(words);
        }
    }

    /// The middle of a label for an arrow: on it, and as near to its middle as possible. Nowhere if it would cover
    /// other labels wherever it is.
    pub(super) fn on_arrow(&mut self, begin: (f64, f64), end: (f64, f64), width: f64) -> Option<(f64, f64)> {
        const PLACES: [f64; 13] = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8, 0.15, 0.85, 0.1, 0.9];
        let places = PLACES.map(|part| (begin.0 + part * (end.0 - begin.0), begin.1 + part * (end.1 - begin.1)));
        let best = self.best(&places, width, false);
        self.take_if_free(best, width)
    }

    /// The middle of a label for a point on a line: above or below, or right or left where time runs downwards.
    pub(super) fn beside(&mut self, point: (f64, f64), clearance: f64, width: f64) -> (f64, f64) {
        let best = self.best_beside(point, clearance, width);
        self.take(best, width)
    }

    /// The same, but nowhere if it would cover other labels wherever it is.
    pub(super) fn beside_if_free(&mut self, point: (f64, f64), clearance: f64, width: f64) -> Option<(f64, f64)> {
        let best = self.best_beside(point, clearance, width);
        self.take_if_free(best, width)
    }

    fn best_beside(&self, (x, y): (f64, f64), clearance: f64, width: f64) -> (f64, f64) {
        if self.down {
            let away = clearance + width / 2.0 + 4.0;
            let places =
                [0.0, -1.0, 1.0, 2.0].map(|row| [(x + away, y + row * 2.0 * HALF), (x - away, y + row * 2.0 * HALF)]);
            return self.best(places.as_flattened(), width, true);
        }
        let away = clearance + HALF + 2.0;
        let right = width / 2.0 - 4.0;
        let places = [1.0, 2.0, 3.0].map(|row| {
            let far = away + (row - 1.0) * 2.0 * HALF;
            [(x + right, y - far), (x + right, y + far), (x, y - far), (x, y + far), (x - right, y - far)]
        });
        self.best(places.as_flattened(), width, true)
    }

    /// The first of these places that is free, or the one that is least taken.
    fn best(&self, places: &[(f64, f64)], width: f64, avoids_arrows: bool) -> (f64, f64) {
        let mut best = (f64::INFINITY, places[0]);
        for place in places {
            let bar = Bar::of_label(*place, width);
            let crossed = if avoids_arrows { self.crossed(&bar) as f64 * ARROW } else { 0.0 };
            let overlap = self.taken(&bar) + crossed;
            if overlap < best.0 {
                best = (overlap, *place);
            }
            if overlap <= 0.0 {
                break;
            }
        }
        best.1
    }

    /// Takes a place unless a label there would cover others.
    fn take_if_free(&mut self, place: (f64, f64), width: f64) -> Option<(f64, f64)> {
        let bar = Bar::of_label(place, width);
        let is_free = self.covered(&bar) <= COVERED * width * 2.0 * HALF;
        is_free.then(|| self.take(place, width))
    }

    fn take(&mut self, place: (f64, f64), width: f64) -> (f64, f64) {
        let taken = Bar::of_label(place, width);
        self.right = self.right.max(taken.right);
        for cell in self.cells_of(&taken) {
            self.cells.entry(cell).or_default().push(taken);
        }
        place
    }

    /// How many arrows run through.
    fn crossed(&self, bar: &Bar) -> usize {
        let arrows = self.cells_of(bar).filter_map(|cell| self.arrows.get(&cell)).flatten();
        arrows.filter(|arrow| bar.is_crossed(arrow)).count()
    }

    fn taken(&self, bar: &Bar) -> f64 {
        // Lines are at equal distances and in order, but there are few of them: most pictures have less than ten.
        let lines: f64 = self.lines.iter().map(|line| bar.overlap(line)).sum();
        let outside = (self.edge - bar.left).max(0.0) * 2.0 * bar.half;
        outside + lines + 2.0 * self.covered(bar)
    }

    /// How much of other labels lies below.
    fn covered(&self, bar: &Bar) -> f64 {
        let near = self.cells_of(bar).filter_map(|cell| self.cells.get(&cell)).flatten();
        near.map(|other| bar.overlap(other)).sum()
    }
}

impl Bar {
    /// Whether an arrow runs through it.
    fn is_crossed(&self, ((x, y), (to_x, to_y)): &Segment) -> bool {
        // The part of the arrow that is within the bar's height, and then whether that is within its width.
        let (low, high) = (self.y - self.half, self.y + self.half);
        let (mut begin, mut end) = (0.0_f64, 1.0_f64);
        for (from, to, least, most) in [(y, to_y, low, high), (x, to_x, self.left, self.right)] {
            let length = to - from;
            if length.abs() < 1e-9 {
                if *from < least || *from > most {
                    return false;
                }
                continue;
            }
            let (one, other) = ((least - from) / length, (most - from) / length);
            begin = begin.max(one.min(other));
            end = end.min(one.max(other));
        }
        begin < end
    }
}

fn cell(x: f64) -> i64 {
    (x / CELL).floor() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_in_the_middle_of_its_arrow_if_nothing_is_there() {
        let mut labels = Labels::new(false, EDGE);
        assert_eq!(labels.on_arrow((0.0, 0.0), (100.0, 100.0), width("one")), Some((50.0, 50.0)));
        let second = labels.on_arrow((0.0, 0.0), (100.0, 100.0), width("two")).unwrap();
        assert_ne!(second, (50.0, 50.0), "the middle is taken");
        assert!((second.1 - 50.0).abs() >= 2.0 * HALF || (second.0 - 50.0).abs() >= width("two"));
    }

    #[test]
    fn where_there_is_no_room_there_is_no_label() {
        let mut labels = Labels::new(false, EDGE);
        let mut say = || labels.on_arrow((0.0, 0.0), (50.0, 20.0), width("request")).is_some();
        let said: Vec<bool> = (0..9).map(|_| say()).collect();
        assert!(said[0] && !said[8], "{said:?}");
        assert!(labels.beside_if_free((25.0, 10.0), 2.0, 9.0).is_some(), "but beside them");
    }

    #[test]
    fn a_label_keeps_off_lines() {
        let mut labels = Labels::new(false, EDGE);
        labels.keep_free(0.0, 100.0, 50.0, 9.0);
        let (_, y) = labels.on_arrow((50.0, 0.0), (50.0, 100.0), width("word")).unwrap();
        assert!((y - 50.0).abs() >= HALF + 9.0);
    }

    #[test]
    fn a_label_keeps_off_signs() {
        let mut labels = Labels::new(false, EDGE);
        labels.keep_uncovered((50.0, 50.0), 6.0);
        let (_, y) = labels.on_arrow((50.0, 0.0), (50.0, 100.0), width("word")).unwrap();
        assert!((y - 50.0).abs() >= HALF + 6.0);
    }

    #[test]
    fn the_label_of_a_point_keeps_off_arrows() {
        let mut labels = Labels::new(false, EDGE);
        labels.keep_visible((50.0, 50.0), (150.0, 0.0));
        let (_, y) = labels.beside((50.0, 50.0), 8.0, width("word"));
        assert!(y > 50.0, "the arrow goes up, so the label goes down");
    }

    #[test]
    fn a_label_stays_on_the_paper() {
        let mut labels = Labels::new(false, EDGE);
        let (x, _) = labels.beside((10.0, 50.0), 8.0, 100.0);
        assert!(x >= 50.0);
        labels.keep_visible((10.0, 50.0), (500.0, 20.0));
        labels.keep_visible((10.0, 50.0), (500.0, 80.0));
        let (x, _) = labels.beside((10.0, 50.0), 8.0, 100.0);
        assert!(x >= 50.0, "rather on an arrow than off the paper");
        assert!(labels.right >= 100.0);
    }

    #[test]
    fn where_time_runs_downwards_a_label_is_at_the_side() {
        let mut labels = Labels::new(true, 50.0);
        labels.keep_free(0.0, 1_000.0, 100.0, 9.0);
        let (x, y) = labels.beside((100.0, 50.0), 8.0, 30.0);
        assert_eq!((x > 120.0, y), (true, 50.0));
        let (x, y) = labels.beside((100.0, 50.0), 8.0, 30.0);
        assert_eq!((x < 80.0, y), (true, 50.0), "the right is taken");
        let (x, _) = labels.beside((100.0, 50.0), 8.0, 80.0);
        assert!(x > 100.0, "there is no room to the left");
    }

    #[test]
    fn where_everything_is_taken_a_label_is_still_somewhere() {
        let mut labels = Labels::new(false, EDGE);
        for _ in 0..100 {
            let (x, y) = labels.beside((50.0, 50.0), 8.0, width("word"));
            assert!(x.is_finite() && y.is_finite());
        }
    }
}
