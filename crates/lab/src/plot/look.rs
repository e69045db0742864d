//! How series look: shapes, dashes and colours, on paper and on a dark screen.
//!
//! `plotters` knows colours but neither classes nor dashes. So each role is drawn in a colour of its own that nobody
//! ever sees, and [`finish`] puts class, colour and dashes in its place.

use plotters::style::RGBColor;

use crate::markup::escape;

/// What something in a drawing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The background.
    Paper,
    /// Text and axes.
    Ink,
    /// Text that says less.
    Dim,
    /// Lines of the grid that have a name.
    Grid,
    /// Those between.
    Faint,
    /// The line of a series.
    Line(usize),
    /// The points of a series.
    Point(usize),
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Diamond,
    Up,
    Down,
    Plus,
    Cross,
}

/// How a series looks.
struct Look {
    shape: Shape,
    filled: bool,
    /// What is drawn and what is left out, in tenths of a pixel; a solid line if nothing.
    dashes: &'static str,
    /// On paper, and on a dark screen.
    colour: (&'static str, &'static str),
}

const fn look(shape: Shape, filled: bool, dashes: &'static str, paper: &'static str, screen: &'static str) -> Look {
    Look { shape, filled, dashes, colour: (paper, screen) }
}

/// The colours are those of the diagrams: Okabe and Ito's, darkened and lightened; and four more.
const LOOKS: [Look; 10] = [
    look(Shape::Circle, false, "", "#0b62a4", "#6db6f0"),
    look(Shape::Square, true, "90 40", "#b84a00", "#ff9a57"),
    look(Shape::Up, false, "20 30", "#00734f", "#45d09f"),
    look(Shape::Diamond, true, "140 40 20 40", "#93417a", "#e79fc6"),
    look(Shape::Plus, true, "50 30", "#7a5600", "#f0c24d"),
    look(Shape::Circle, true, "200 50", "#1b1b1f", "#ececf0"),
    look(Shape::Down, true, "100 30 20 30 20 30", "#c40233", "#ff6b81"),
    look(Shape::Square, false, "60 60", "#1f6c87", "#8fd3ff"),
    look(Shape::Cross, true, "20 60", "#5b3fa8", "#b9a5ff"),
    look(Shape::Diamond, false, "160 30 60 30", "#5f5f69", "#a0a0aa"),
];

fn of(look: usize) -> &'static Look {
    &LOOKS[look % LOOKS.len()]
}

/// The shape of the points of a series, and whether they are filled.
pub(super) fn shape(look: usize) -> (Shape, bool) {
    (of(look).shape, of(look).filled)
}

impl Role {
    fn all() -> impl Iterator<Item = Role> {
        let plain = [Role::Paper, Role::Ink, Role::Dim, Role::Grid, Role::Faint];
        let series = (0..LOOKS.len()).flat_map(|look| [Role::Line(look), Role::Point(look)]);
        plain.into_iter().chain(series)
    }

    /// The colour that stands for it until the drawing is finished.
    pub(super) fn colour(self) -> RGBColor {
        match self {
            Role::Paper => RGBColor(1, 0, 0),
            Role::Ink => RGBColor(1, 0, 1),
            Role::Dim => RGBColor(1, 0, 2),
            Role::Grid => RGBColor(1, 0, 3),
            Role::Faint => RGBColor(1, 0, 4),
            Role::Line(look) => RGBColor(1, 1, (look % LOOKS.len()) as u8),
            Role::Point(look) => RGBColor(1, 2, (look % LOOKS.len()) as u8),
        }
    }

    fn class(self) -> String {
        match self {
            Role::Paper => "paper".into(),
            Role::Ink => "ink".into(),
            Role::Dim => "dim".into(),
            Role::Grid => "grid".into(),
            Role::Faint => "faint".into(),
            Role::Line(look) => format!("line s{}", look % LOOKS.len()),
            Role::Point(look) => format!("point s{}", look % LOOKS.len()),
        }
    }

    /// Its colours on paper and on a dark screen.
    fn colours(self) -> (&'static str, &'static str) {
        match self {
            Role::Paper => ("#fff", "#16171b"),
            Role::Ink => ("#1b1b1f", "#ececf0"),
            Role::Dim => ("#5f5f69", "#a0a0aa"),
            Role::Grid => ("#d2d2d8", "#3a3b44"),
            Role::Faint => ("#efeff2", "#24252b"),
            Role::Line(look) | Role::Point(look) => of(look).colour,
        }
    }

    fn dashes(self) -> &'static str {
        match self {
            Role::Line(look) => of(look).dashes,
            Role::Paper | Role::Ink | Role::Dim | Role::Grid | Role::Faint | Role::Point(_) => "",
        }
    }
}

/// The drawing with its true colours, at its true size in pixels, and with its name for those who do not see it.
pub(super) fn finish(mut svg: String, (width, height): (u32, u32), title: &str, description: &str) -> String {
    let mut dark = String::new();
    for role in Role::all() {
        let RGBColor(red, green, blue) = role.colour();
        let (class, (paper, screen)) = (role.class(), role.colours());
        let dashes = match role.dashes() {
            "" => String::new(),
            dashes => format!(r#" stroke-dasharray="{dashes}""#),
        };
        let selector: String = class.split(' ').map(|name| format!(".{name}")).collect();
        for (attribute, extra) in [("fill", ""), ("stroke", dashes.as_str())] {
            let stands_for = format!("{attribute}=\"#{red:02X}{green:02X}{blue:02X}\"");
            if svg.contains(&stands_for) {
                svg = svg.replace(&stands_for, &format!(r#"class="{class}" {attribute}="{paper}"{extra}"#));
                // Not of what has none, such as the inside of a hollow point.
                dark += &format!(".plot {selector}[{attribute}=\"{paper}\"]{{{attribute}:{screen}}}\n");
            }
        }
    }
    let begin = svg.find('>').map_or(0, |end| end + 1);
    let view = (width * super::draw::FINE, height * super::draw::FINE);
    let (title, description) = (escape(title), escape(description));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {} {}\">\n<title>{title}</title>\n<desc>{description}</desc>\n<style>\n\
         .plot text{{font-family:system-ui,\"DejaVu Sans\",sans-serif}}\n\
         @media (prefers-color-scheme:dark){{\n{dark}}}\n</style>{}",
        view.0,
        view.1,
        &svg[begin..]
    )
}
