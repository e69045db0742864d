//! Figures of what was measured, as SVG: for a paper, a page or a slide.
//!
//! A [`Figure`] is plain data, made of what the tables show: nothing is measured here. What is published is a line,
//! what was measured is a point. It is drawn with `plotters`, stands alone, and follows the reader's light or dark
//! background. Series differ in the shape of their points and the dashes of their lines, and only then in colour.
//!
//! | module | what it holds |
//! |---|---|
//! | [`comparison`] | the figures of a comparison: costs against the size of the group |
//! | [`page`] | a comparison as a page: tables and figures |

mod axis;
mod draw;
mod ends;
mod look;

pub mod comparison;
pub mod page;

/// What is to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Its name, as that of a file.
    pub name: String,
    /// Said above it.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What the legend explains, in its order.
    pub series: Vec<Series>,
    /// Said below it.
    pub notes: Vec<String>,
}

/// A direction of a figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// What it shows, and in which unit.
    pub label: String,
    /// How values become places.
    pub scale: Scale,
    /// Whether only whole numbers are named: what it shows is counted.
    pub is_whole: bool,
}

/// How values become places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equal distances, and zero is there.
    #[default]
    Linear,
    /// Equal ratios are equal distances. Values that are not above zero have no place.
    Logarithmic,
}

/// What is drawn in one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Which of the looks it has: the same everywhere, whatever is drawn beside it.
    pub look: usize,
    /// What was published.
    pub curves: Vec<Curve>,
    /// What was measured.
    pub points: Vec<Point>,
}

/// A line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// What the legend says of it, if anything.
    pub formula: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// From left to right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
}

impl Figure {
    /// The drawing.
    pub fn svg(&self) -> String {
        draw::draw(self)
    }
}

impl Axis {
    /// An axis.
    pub fn new(label: impl Into<String>, scale: Scale) -> Axis {
        Axis { label: label.into(), scale, is_whole: false }
    }

    /// An axis of what is counted.
    pub fn counting(label: impl Into<String>, scale: Scale) -> Axis {
        Axis { is_whole: true, ..Axis::new(label, scale) }
    }
}
