//! How things look: colours that colour-blind people can tell apart, dashes and textures for those who see none.

use crate::diagram::view::View;
pub(in crate::diagram) use crate::markup::escape;

/// The style sheet, and the textures that it uses.
///
/// Colours are written out twice, for paper and for a dark screen: not every program that shows SVG knows variables.
pub(super) fn style(view: &View) -> String {
    format!("<style>{}</style>\n<defs>{TEXTURES}</defs>", style_sheet(view))
}

/// The style sheet alone, to the letter.
pub(in crate::diagram) fn style_sheet(view: &View) -> String {
    let (shapes, rules) = if has_more(view) {
        (format!("{SHAPES}{MORE_SHAPES}"), format!("{RULES}{MORE_RULES}"))
    } else {
        (SHAPES.into(), RULES.into())
    };
    let paper = coloured(&rules, |(_, paper, _)| paper);
    let screen = coloured(&rules, |(_, _, screen)| screen);
    format!("\n{shapes}{paper}@media (prefers-color-scheme:dark){{\n{screen}}}\n")
}

/// Whether it shows what most drawings do not.
fn has_more(view: &View) -> bool {
    view.down || view.clocks.is_some()
}

type Colour = (&'static str, &'static str, &'static str);

fn coloured(rules: &str, choose: impl Fn(Colour) -> &'static str) -> String {
    COLOURS.iter().fold(rules.to_string(), |rules, &colour| rules.replace(colour.0, choose(colour)))
}

/// How an arrow of some kind of message is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// The class of its colour.
    pub(super) colour: String,
    /// The class of its dashes.
    pub(super) dashes: &'static str,
    pub(super) head: Head,
}

/// The head of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Full,
    Open,
    Barbs,
}

impl Head {
    /// Its class, after that of all heads.
    pub(super) fn class(self) -> &'static str {
        match self {
            Head::Full => "",
            Head::Open => " open",
            Head::Barbs => " barbs",
        }
    }
}

impl Look {
    /// Of the kind that appears as the `order`th: the first 18 differ without their colours, in dashes and heads. Those
    /// of the same dashes have different colours, too.
    pub(super) fn of_kind(order: usize) -> Look {
        const DASHES: [&str; COLOURED] = ["", " d1", " d2", " d3", " d4", " d5"];
        const HEADS: [Head; 3] = [Head::Full, Head::Open, Head::Barbs];
        let (dashes, round) = (order % COLOURED, order / COLOURED);
        let colour = format!("k{}", (dashes + 2 * round) % COLOURED);
        Look { colour, dashes: DASHES[dashes], head: HEADS[round % HEADS.len()] }
    }

    /// Of what applications tell each other.
    pub(super) fn of_application() -> Look {
        Look { colour: "application".into(), dashes: "", head: Head::Full }
    }
}

/// How many colours messages have.
const COLOURED: usize = 6;

/// What each colour is on paper and on a dark screen. Those of messages are Okabe and Ito's, darkened and lightened.
pub(in crate::diagram) const COLOURS: [Colour; 13] = [
    ("$paper", "#fff", "#16171b"),
    ("$ink", "#1b1b1f", "#ececf0"),
    ("$dim", "#5f5f69", "#a0a0aa"),
    ("$faint", "#e6e6ea", "#2c2d34"),
    ("$busy", "#8a6100", "#e6b84a"),
    ("$onalarm", "#fff", "#16171b"),
    ("$alarm", "#c40233", "#ff6b81"),
    ("$k0", "#0b62a4", "#6db6f0"),
    ("$k1", "#b84a00", "#ff9a57"),
    ("$k2", "#00734f", "#45d09f"),
    ("$k3", "#93417a", "#e79fc6"),
    ("$k4", "#7a5600", "#f0c24d"),
    ("$k5", "#1f6c87", "#8fd3ff"),
];

const SHAPES: &str = r#"text{font:12px system-ui,"DejaVu Sans",sans-serif}
text.title{font-size:17px;font-weight:600}
text.name{font-size:15px;font-weight:600;text-anchor:end}
text.time{font-size:11px;text-anchor:middle;paint-order:stroke;stroke-width:4px;stroke-linejoin:round}
text.end{text-anchor:end}
text.point{font-size:11.5px}
text.strong,text.flagged{font-weight:600}
.guide,.scale{stroke-width:1}
.line{stroke-width:1.4}
.cut{stroke-width:5}
.crashed,.stopped{stroke-width:2;stroke-dasharray:1 7;stroke-linecap:round}
.stopped{stroke-dasharray:8 8}
.suspected{fill:none;stroke-width:2;stroke-dasharray:5 3}
.wanting{fill:url(#hatch);stroke-width:1}
.inside{stroke-width:1.5}
.candidate{fill:url(#dots);stroke-width:1}
.leading{fill:url(#cross);stroke-width:2}
.paused{fill:url(#bars);stroke-width:1}
.paused-inside{fill:url(#asleep);stroke-width:1.5}
.arrow{fill:none;stroke-width:1.7}
.d1{stroke-dasharray:13 4}
.d2{stroke-dasharray:11 4 2 4}
.d3{stroke-dasharray:3 3}
.d4{stroke-dasharray:18 3 3 3 3 3}
.d5{stroke-dasharray:7 3}
.arrow.application{stroke-dasharray:5 5}
.head{stroke-width:0;stroke-linejoin:round}
.head.open,.head.barbs{stroke-width:1.6}
.arrow.fading{opacity:.55}
.label,.point{text-anchor:middle;paint-order:stroke;stroke-width:5px;stroke-linejoin:round}
.tick{stroke-width:1.4}
.timer{stroke-width:1.5}
.cross{fill:none;stroke-width:2.6;stroke-linecap:round}
.pole{stroke-width:1.6;stroke-dasharray:6 4}
.ring{fill:none;stroke-width:2.6}
"#;

const RULES: &str = "text{fill:$ink}
.paper,.back,.timer{fill:$paper}
.cut,.label,.point,text.time{stroke:$paper}
text.time,text.point,.dot.application,.head.application,text.application,.dim{fill:$dim}
.crashed,.stopped,.paused,.arrow.application,.bar,.scale{stroke:$dim}
.guide{stroke:$faint}
.line,.leading,.paused-inside,.inside,.tick,.timer,.ink{stroke:$ink}
.inside,text.strong{fill:$ink}
.wanting,.candidate,.busy{stroke:$busy}
.busy-dot{fill:$busy}
.cross,.pole,.ring,.suspected{stroke:$alarm}
.flag{fill:$alarm}
text.flagged{fill:$onalarm}
.arrow.k0,.head.k0{stroke:$k0}.dot.k0,.head.k0,text.k0{fill:$k0}
.arrow.k1,.head.k1{stroke:$k1}.dot.k1,.head.k1,text.k1{fill:$k1}
.arrow.k2,.head.k2{stroke:$k2}.dot.k2,.head.k2,text.k2{fill:$k2}
.arrow.k3,.head.k3{stroke:$k3}.dot.k3,.head.k3,text.k3{fill:$k3}
.arrow.k4,.head.k4{stroke:$k4}.dot.k4,.head.k4,text.k4{fill:$k4}
.arrow.k5,.head.k5{stroke:$k5}.dot.k5,.head.k5,text.k5{fill:$k5}
.head.open{fill:$paper}.head.barbs{fill:none}
";

const MORE_SHAPES: &str = r"text.top{text-anchor:middle}
text.clock{font-size:11px;text-anchor:middle;paint-order:stroke;stroke-width:4px;stroke-linejoin:round}
";

const MORE_RULES: &str = "text.clock{fill:$k3;stroke:$paper}
";

const TEXTURES: &str = r#"
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<path class="busy" d="M1.5 0V6" stroke-width="3"/></pattern>
<pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse">
<circle class="busy-dot" cx="3" cy="3" r="1.6"/></pattern>
<pattern id="cross" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<path class="ink" d="M0 3.5H7M3.5 0V7" stroke-width="1.6"/></pattern>
<pattern id="bars" width="8" height="8" patternUnits="userSpaceOnUse">
<path class="bar" d="M2 0V8M5 0V8" stroke-width="1.4"/></pattern>
<pattern id="asleep" width="9" height="9" patternUnits="userSpaceOnUse">
<path class="ink" d="M2.5 0V9M6.5 0V9" stroke-width="2.6"/></pattern>
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighteen_kinds_differ_without_their_colours() {
        let looks: Vec<Look> = (0..18).map(Look::of_kind).collect();
        for (index, look) in looks.iter().enumerate() {
            let alike = |other: &&Look| (other.dashes, other.head) == (look.dashes, look.head);
            assert_eq!(looks.iter().filter(alike).count(), 1, "kind {index}");
            let confusing = |other: &&Look| (other.dashes, &other.colour) == (look.dashes, &look.colour);
            assert_eq!(looks.iter().filter(confusing).count(), 1, "kind {index}");
        }
    }

    #[test]
    fn every_colour_is_known() {
        let clocks = Some(crate::diagram::view::Clocks::Lamport);
        for view in [View::default(), View { down: true, clocks, ..View::default() }] {
            assert!(!style(&view).contains('$'));
        }
    }
}
