//! A figure, drawn: the axes by `plotters`, points, lines and the legend on top.

use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon};
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, ShapeStyle, TextStyle};

use super::axis::{Ruler, named};
use super::ends::{self, Area, End};
use super::look::{Role, Shape, finish, shape};
use super::{Axis, Figure, Point, Series};

/// `plotters` draws at whole places: so many of them are a pixel.
pub(super) const FINE: u32 = 10;
const WIDTH: u32 = 980;
const LEGEND: u32 = 278;
/// Between the lines of a text, and between those of the legend.
const LINE: i32 = 17;
/// Half the size of a point.
const HALF: i32 = 46;
/// How far one reaches from its middle in pixels, with its outline.
const REACH: i32 = 6;
/// Points that coincide are so far apart.
const APART: i32 = 100;

type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// A place on the canvas.
pub(super) type Place = (i32, i32);

pub(super) fn draw(figure: &Figure) -> String {
    let mut svg = String::new();
    let height = height(figure);
    paint(figure, &mut svg, height);
    let names: Vec<_> = figure.series.iter().map(|series| series.name.as_str()).collect();
    let shown = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let description = format!("{} against {}{shown}.", figure.y.label, figure.x.label);
    finish(svg, (WIDTH, height), &figure.title, &description)
}

/// As high as the legend needs, and high enough to see something.
fn height(figure: &Figure) -> u32 {
    let lines: usize = figure.series.iter().map(|series| 1 + formulas(series).len()).sum();
    let legend = 84 + lines as u32 * LINE as u32 + 8 * figure.series.len() as u32;
    legend.max(520) + 17 * figure.notes.len() as u32
}

fn paint(figure: &Figure, svg: &mut String, height: u32) {
    let canvas = SVGBackend::with_string(svg, (WIDTH * FINE, height * FINE)).into_drawing_area();
    let canvas = Painter { canvas };
    canvas.fill();
    canvas.text(&figure.title, (24, 34), 17, Role::Ink, FontStyle::Bold);
    canvas.chart(figure);
    canvas.legend(figure);
    for (line, note) in figure.notes.iter().rev().enumerate() {
        canvas.text(note, (24, height as i32 - 12 - 17 * line as i32), 11, Role::Dim, FontStyle::Normal);
    }
    canvas.canvas.present().expect(CANNOT_FAIL);
}

/// Why drawing is taken to succeed.
const CANNOT_FAIL: &str = "a drawing into a string cannot fail";

/// Who draws.
struct Painter<'a> {
    canvas: Canvas<'a>,
}

impl Painter<'_> {
    fn fill(&self) {
        self.canvas.fill(&Role::Paper.colour()).expect(CANNOT_FAIL);
    }

    /// Text at a place in pixels.
    fn text(&self, text: &str, (x, y): Place, size: u32, role: Role, style: FontStyle) {
        let colour = role.colour();
        let style = font(size, style).color(&colour).pos(Pos::new(HPos::Left, VPos::Bottom));
        self.canvas.draw_text(text, &style, (x * FINE as i32, y * FINE as i32)).expect(CANNOT_FAIL);
    }

    fn path(&self, places: Vec<Place>, width: u32, role: Role) {
        let style = ShapeStyle::from(role.colour()).stroke_width(width);
        self.canvas.draw(&PathElement::new(places, style)).expect(CANNOT_FAIL);
    }

    fn polygon(&self, places: Vec<Place>, role: Role) {
        self.canvas.draw(&Polygon::new(places, role.colour().filled())).expect(CANNOT_FAIL);
    }

    fn circle(&self, middle: Place, role: Role, filled: bool) {
        let colour = role.colour();
        let style = if filled { colour.filled() } else { ShapeStyle::from(colour).stroke_width(16) };
        self.canvas.draw(&Circle::new(middle, HALF, style)).expect(CANNOT_FAIL);
    }

    /// The axes, and what is between them.
    fn chart(&self, figure: &Figure) {
        let (x, y) = rulers(figure);
        let legend = if figure.series.is_empty() { 20 } else { LEGEND };
        let (left, _) = self.canvas.split_horizontally((WIDTH - legend) * FINE);
        let below = 20 + 17 * figure.notes.len() as u32;
        let mut builder = ChartBuilder::on(&left);
        // Names at the ends of lines have room beside the chart.
        let beside = if alike(figure).next().is_some() { 44 } else { 14 };
        builder.margin_top(58 * FINE).margin_right(beside * FINE).margin_left(14 * FINE).margin_bottom(below * FINE);
        builder.x_label_area_size(52 * FINE).y_label_area_size(64 * FINE);
        let mut chart = builder.build_cartesian_2d(x.clone(), y.clone()).expect(CANNOT_FAIL);
        let (ink, dim) = (Role::Ink.colour(), Role::Dim.colour());
        let line = |role: Role, width: u32| ShapeStyle::from(role.colour()).stroke_width(width);
        chart
            .configure_mesh()
            .x_desc(figure.x.label.as_str())
            .y_desc(figure.y.label.as_str())
            .x_label_formatter(&|value| named(*value))
            .y_label_formatter(&|value| named(*value))
            .label_style(font(12, FontStyle::Normal).color(&dim))
            .axis_desc_style(font(13, FontStyle::Normal).color(&ink))
            .axis_style(line(Role::Ink, 10))
            .bold_line_style(line(Role::Grid, 8))
            .light_line_style(line(Role::Faint, 8))
            .set_all_tick_mark_size(5 * FINE as i32)
            .draw()
            .expect(CANNOT_FAIL);
        let area = chart.plotting_area();
        self.contents(figure, &x, &y, &|x, y| area.map_coordinate(&(x, y)));
    }

    /// Lines and points, at the places of their values.
    fn contents(&self, figure: &Figure, x: &Ruler, y: &Ruler, place: &dyn Fn(f64, f64) -> Place) {
        for series in &figure.series {
            for curve in &series.curves {
                let seen = curve.points.iter().filter(|point| x.holds(point.0) && y.holds(point.1));
                self.path(seen.map(|&(x, y)| place(x, y)).collect(), 14, Role::Line(series.look));
            }
        }
        let mut taken = Vec::new();
        let shown = |point: &&Point| x.holds(point.x) && y.holds(point.y);
        for (index, series) in figure.series.iter().enumerate() {
            taken.extend(series.points.iter().filter(shown).map(|point| (place(point.x, point.y), index)));
        }
        let points = side_by_side(taken);
        for (place, index) in &points {
            self.point(*place, figure.series[*index].look);
        }
        self.sources(figure, x, y, place, &points);
    }

    /// Who published which line, at the line's end, where several of one series look alike; beside these points.
    fn sources(
        &self,
        figure: &Figure,
        x: &Ruler,
        y: &Ruler,
        place: &dyn Fn(f64, f64) -> Place,
        points: &[(Place, usize)],
    ) {
        let pixels = |(x, y): Place| (x / FINE as i32, y / FINE as i32);
        let mut ends = Vec::new();
        for series in alike(figure) {
            for curve in &series.curves {
                let last = curve.points.iter().rfind(|point| x.holds(point.0) && y.holds(point.1));
                let (Some(&(last_x, last_y)), Some(name)) = (last, ends::name(&curve.formula)) else { continue };
                let (x, y) = pixels(place(last_x, last_y));
                ends.push(End { y, x, name, look: series.look });
            }
        }
        let points: Vec<Area> = points.iter().map(|(place, _)| Area::around(pixels(*place), REACH)).collect();
        for (place, end) in ends::placed(ends, &points, (WIDTH - LEGEND) as i32) {
            self.text(&end.name, place, 11, Role::Point(end.look), FontStyle::Normal);
        }
    }

    /// A point: its inside first, so that lines do not shine through.
    fn point(&self, (x, y): Place, look: usize) {
        let (shape, filled) = shape(look);
        let role = Role::Point(look);
        let inside = if filled { role } else { Role::Paper };
        let corners = |places: &[Place]| places.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>();
        let (h, wide) = (HALF, HALF * 6 / 5);
        let outline = match shape {
            Shape::Circle => {
                self.circle((x, y), inside, true);
                self.circle((x, y), role, false);
                return;
            }
            Shape::Square => corners(&[(-h, -h), (h, -h), (h, h), (-h, h), (-h, -h), (h, -h)]),
            Shape::Diamond => corners(&[(0, -wide), (wide, 0), (0, wide), (-wide, 0), (0, -wide), (wide, 0)]),
            Shape::Up => corners(&[(0, -wide), (wide, h), (-wide, h), (0, -wide), (wide, h)]),
            Shape::Down => corners(&[(0, wide), (wide, -h), (-wide, -h), (0, wide), (wide, -h)]),
            Shape::Plus => {
                self.path(corners(&[(-wide, 0), (wide, 0)]), 24, role);
                self.path(corners(&[(0, -wide), (0, wide)]), 24, role);
                return;
            }
            Shape::Cross => {
                self.path(corners(&[(-h, -h), (h, h)]), 24, role);
                self.path(corners(&[(-h, h), (h, -h)]), 24, role);
                return;
            }
        };
        self.polygon(outline.clone(), inside);
        self.path(outline, 16, role);
    }

    /// What each look means, to the right of the chart.
    fn legend(&self, figure: &Figure) {
        let (left, mut y) = ((WIDTH - LEGEND + 6) as i32, 74);
        let fine = FINE as i32;
        for series in &figure.series {
            let middle = (y - 8) * fine;
            if !series.curves.is_empty() {
                let ends = [left, left + 46].map(|x| (x * fine, middle));
                self.path(ends.to_vec(), 14, Role::Line(series.look));
            }
            if !series.points.is_empty() {
                self.point(((left + 23) * fine, middle), series.look);
            }
            self.text(&series.name, (left + 56, y), 13, Role::Ink, FontStyle::Normal);
            for formula in &formulas(series) {
                y += LINE;
                self.text(formula, (left + 56, y), 11, Role::Dim, FontStyle::Normal);
            }
            y += LINE + 8;
        }
    }
}

/// So many letters of a formula fit into the legend.
const LETTERS: usize = 34;

/// What the legend says of the curves of a series: who published a formula is on a line of its own if need be.
fn formulas(series: &Series) -> Vec<&str> {
    if series.curves.is_empty() && series.points.is_empty() {
        return vec!["(no run completes)"];
    }
    let mut formulas: Vec<&str> = series.curves.iter().map(|curve| curve.formula.as_str()).collect();
    formulas.retain(|formula| !formula.is_empty());
    formulas.dedup();
    let lines = formulas.into_iter().flat_map(|formula| match formula.find(" (") {
        Some(at) if formula.chars().count() > LETTERS => vec![&formula[..at], formula[at..].trim_start()],
        Some(_) | None => vec![formula],
    });
    lines.collect()
}

/// The series that have several lines, which look alike.
fn alike(figure: &Figure) -> impl Iterator<Item = &Series> {
    figure.series.iter().filter(|series| series.curves.len() > 1)
}

/// A font of this size in pixels. `plotters` divides by this number.
fn font(size: u32, style: FontStyle) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", f64::from(size * FINE) * 1.24, style).into_font())
}

/// The axes that hold everything.
fn rulers(figure: &Figure) -> (Ruler, Ruler) {
    let curves = || figure.series.iter().flat_map(|series| &series.curves).flat_map(|curve| &curve.points);
    let points = || figure.series.iter().flat_map(|series| &series.points);
    let xs = curves().map(|point| point.0).chain(points().map(|point| point.x));
    let ys = curves().map(|point| point.1).chain(points().map(|point| point.y));
    (ruler(&figure.x, xs), ruler(&figure.y, ys))
}

fn ruler(axis: &Axis, values: impl Iterator<Item = f64>) -> Ruler {
    if axis.is_whole { Ruler::whole(axis.scale, values) } else { Ruler::new(axis.scale, values) }
}

/// Points that would hide each other are put beside each other, in the order of their series; closer together where
/// they would come near the next ones.
fn side_by_side(mut points: Vec<(Place, usize)>) -> Vec<(Place, usize)> {
    points.sort_unstable();
    let gaps = points.windows(2).map(|pair| pair[1].0.0 - pair[0].0.0).filter(|&gap| gap > 0);
    let narrowest = gaps.min().unwrap_or(i32::MAX / 10);
    let mut groups: Vec<Vec<(Place, usize)>> = Vec::new();
    for point in points {
        let near = |other: &(Place, usize)| other.0.0 == point.0.0 && (other.0.1 - point.0.1).abs() < HALF * 8 / 5;
        match groups.iter_mut().find(|group| group.iter().any(near)) {
            Some(group) => group.push(point),
            None => groups.push(vec![point]),
        }
    }
    for group in &mut groups {
        group.sort_unstable_by_key(|point| point.1);
        let count = group.len() as i32;
        let apart = APART.min(narrowest * 9 / 10 / count);
        for (place, point) in group.iter_mut().enumerate() {
            point.0.0 += apart * (2 * place as i32 + 1 - count) / 2;
        }
    }
    groups.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Curve, Scale};

    fn figure() -> Figure {
        let points = |y: f64| vec![Point { x: 3.0, y }, Point { x: 9.0, y }];
        let curve = Curve { formula: "2(N−1)".into(), points: vec![(3.0, 4.0), (9.0, 16.0)] };
        Figure {
            name: "messages".into(),
            title: "<messages> & more".into(),
            x: Axis::new("n", Scale::Logarithmic),
            y: Axis::new("messages", Scale::Linear),
            series: vec![
                Series { name: "one".into(), look: 0, curves: vec![curve], points: points(4.0) },
                Series { name: "two".into(), look: 1, curves: vec![], points: points(4.0) },
            ],
            notes: vec!["a note".into()],
        }
    }

    #[test]
    fn a_figure_is_xml_with_its_words_and_without_the_colours_that_stand_for_roles() {
        let svg = figure().svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: Vec<_> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
        for text in ["<messages> & more", "one", "two", "2(N−1)", "n", "messages", "a note"] {
            assert!(texts.contains(&text), "{text}");
        }
        assert!(!svg.contains("\"#01"), "{svg}");
        assert_eq!(svg, figure().svg());
    }

    #[test]
    fn lines_that_look_alike_end_in_who_published_them() {
        let ends = |formulas: &[&str]| {
            let curve = |(place, formula): (usize, &&str)| {
                let points = vec![(3.0, 4.0), (9.0, 16.0 + 0.3 * place as f64)];
                Curve { formula: formula.to_string(), points }
            };
            let mut figure = figure();
            figure.series[0].curves = formulas.iter().enumerate().map(curve).collect();
            let svg = figure.svg();
            let document = roxmltree::Document::parse(&svg).unwrap();
            let names: Vec<_> = formulas.iter().filter_map(|formula| ends::name(formula)).collect();
            let is_end = |text: &&str| names.iter().any(|name| name == text);
            let texts = document.descendants().filter(roxmltree::Node::is_text).filter_map(|node| node.text());
            let ends: Vec<_> = texts.map(str::trim).filter(is_end).map(str::to_string).collect();
            ends
        };
        assert_eq!(ends(&["N (A)", "2N (B, E)"]), ["B, E", "A"], "from above, as the lines are");
        assert_eq!(ends(&["N (A)"]), [""; 0], "one line needs no name");
        assert_eq!(ends(&["N (B, but not always)", "2N (A)"]), ["A", "B"], "the rest is in the legend");
        assert_eq!(ends(&["N (A)", "2N (Somebody whose name is too long)"]), ["A"], "there is no room for it");
    }

    /// `UPDATE=1` writes the drawing anew; look at it.
    #[test]
    fn a_small_figure_is_drawn_as_it_was() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plots/small.svg");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, figure().svg()).unwrap();
        }
        assert!(figure().svg() == std::fs::read_to_string(path).unwrap(), "if that is right, UPDATE=1 writes {path}");
    }

    #[test]
    fn points_that_coincide_are_side_by_side() {
        let placed = side_by_side(vec![((50, 7), 1), ((50, 9), 0), ((50, 999), 2), ((400, 7), 0)]);
        let mut expected = vec![((0, 9), 0), ((100, 7), 1), ((50, 999), 2), ((400, 7), 0)];
        expected.sort_unstable();
        let mut placed = placed;
        placed.sort_unstable();
        assert_eq!(placed, expected);
    }

    #[test]
    fn nothing_at_all_is_a_figure() {
        assert!(roxmltree::Document::parse(&Figure::default().svg()).is_ok());
    }
}
