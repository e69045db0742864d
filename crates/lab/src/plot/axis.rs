//! Where values lie on an axis, and which of them are named.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use super::Scale;

/// An axis of a drawing.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    scale: Scale,
    least: f64,
    most: f64,
    named: Vec<f64>,
    unnamed: Vec<f64>,
}

/// More names than this would not fit.
const MOST_NAMED: usize = 9;
/// Fewer names than this do not say how far apart values are.
const FEWEST_NAMED: usize = 3;

impl Ruler {
    /// An axis on which these values have a place, and a little more.
    pub(super) fn new(scale: Scale, values: impl Iterator<Item = f64>) -> Ruler {
        Ruler::with(scale, false, values)
    }

    /// The same for what is counted: only whole numbers are named.
    pub(super) fn whole(scale: Scale, values: impl Iterator<Item = f64>) -> Ruler {
        Ruler::with(scale, true, values)
    }

    fn with(scale: Scale, is_whole: bool, values: impl Iterator<Item = f64>) -> Ruler {
        let placed = values.filter(|&value| has_place(scale, value));
        let (least, most) =
            placed.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        match scale {
            Scale::Linear => Ruler::linear(0.0, if most > 0.0 { most * 1.04 } else { 1.0 }, is_whole),
            Scale::Logarithmic if most >= least => Ruler::logarithmic(least, most, is_whole),
            Scale::Logarithmic => Ruler::logarithmic(1.0, 10.0, is_whole),
        }
    }

    fn linear(least: f64, most: f64, is_whole: bool) -> Ruler {
        let rough = (most - least) / 8.0;
        let rough = if is_whole { rough.max(1.0) } else { rough };
        let magnitude = libm::pow(10.0, libm::floor(libm::log10(rough)));
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * magnitude);
        let suits = |step: f64| step >= rough && (!is_whole || libm::round(step) == step);
        let step = steps.into_iter().find(|&step| suits(step)).unwrap_or(magnitude * 10.0);
        let (first, last) = (libm::ceil(least / step) as i64, libm::floor(most / step) as i64);
        let named = (first..=last).map(|place| place as f64 * step).collect();
        Ruler { scale: Scale::Linear, least, most, named, unnamed: Vec::new() }
    }

    fn logarithmic(least: f64, most: f64, is_whole: bool) -> Ruler {
        let (least, most) = (least / 1.25, most * 1.25);
        let (first, last) = (libm::floor(libm::log10(least)) as i32, libm::ceil(libm::log10(most)) as i32);
        let multiples = |digits: &[f64]| -> Vec<f64> {
            let powers = (first..=last).map(|power| libm::pow(10.0, f64::from(power)));
            let all = powers.flat_map(|power| digits.iter().map(move |digit| digit * power));
            let shown = all.filter(|value| (least..=most).contains(value));
            shown.filter(|value| !is_whole || libm::round(*value) == *value).collect()
        };
        // As many names as fit: of ones, twos and fives, of powers of ten, or of every second, third … power. Where
        // these are too few to read a value from, as many as a linear axis would have.
        let mut named = multiples(&[1.0, 2.0, 5.0]);
        let mut unnamed = multiples(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        if named.len() < FEWEST_NAMED {
            named = Ruler::linear(least, most, is_whole).named;
        }
        if named.len() > MOST_NAMED {
            named = multiples(&[1.0]);
        }
        if named.len() > MOST_NAMED {
            unnamed.clone_from(&named);
            let every = named.len().div_ceil(MOST_NAMED);
            named = named.into_iter().rev().step_by(every).collect();
            named.reverse();
        }
        Ruler { scale: Scale::Logarithmic, least, most, named, unnamed }
    }

    /// Whether a value lies on it.
    pub(super) fn holds(&self, value: f64) -> bool {
        has_place(self.scale, value) && (self.least..=self.most).contains(&value)
    }

    /// How far along the axis a value is, from 0 to 1.
    fn part(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.least) / (self.most - self.least),
            Scale::Logarithmic => libm::log(value / self.least) / libm::log(self.most / self.least),
        }
    }
}

/// Whether a value has a place on a scale.
pub(super) fn has_place(scale: Scale, value: f64) -> bool {
    match scale {
        Scale::Linear => value.is_finite(),
        Scale::Logarithmic => value.is_finite() && value > 0.0,
    }
}

impl Ranged for Ruler {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + libm::round(self.part(*value) * f64::from(limit.1 - limit.0)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { self.unnamed.clone() } else { self.named.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.least..self.most
    }
}

/// The name of a value on an axis.
pub(super) fn named(value: f64) -> String {
    let trimmed = |text: String| text.trim_end_matches('0').trim_end_matches('.').to_string();
    // A logarithm that is a little too small would make ten of a one.
    let power = libm::floor(libm::log10(value.abs()) + 1e-9);
    if value == 0.0 || (-3.5..5.5).contains(&power) {
        return trimmed(format!("{value:.4}"));
    }
    let digits = trimmed(format!("{:.6}", value / libm::pow(10.0, power)));
    let raised: String = format!("{power:.0}").chars().map(raised).collect();
    if digits == "1" { format!("10{raised}") } else { format!("{digits}·10{raised}") }
}

fn raised(letter: char) -> char {
    match letter {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + digit as u32 - '0' as u32).unwrap_or(digit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_begins_at_zero_and_has_round_names() {
        let ruler = Ruler::new(Scale::Linear, [0.33, 0.5].into_iter());
        assert_eq!(ruler.least, 0.0);
        assert!(ruler.holds(0.5) && !ruler.holds(0.7));
        let texts: Vec<_> = ruler.named.iter().map(|&value| named(value)).collect();
        assert_eq!(texts, ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
    }

    #[test]
    fn a_logarithmic_axis_names_what_fits() {
        let names = |least, most| {
            let ruler = Ruler::new(Scale::Logarithmic, [least, most].into_iter());
            ruler.named.iter().map(|&value| named(value)).collect::<Vec<_>>()
        };
        assert_eq!(names(3.0, 101.0), ["5", "10", "20", "50", "100"]);
        assert_eq!(names(1.0, 20_000.0), ["1", "10", "100", "1000", "10000"]);
        assert_eq!(names(1e-12, 0.1), ["10⁻¹¹", "10⁻⁹", "10⁻⁷", "10⁻⁵", "0.001", "0.1"]);
    }

    #[test]
    fn large_and_small_values_have_names_that_differ() {
        let ruler = Ruler::new(Scale::Linear, [600_008.0].into_iter());
        let texts: Vec<_> = ruler.named.iter().map(|&value| named(value)).collect();
        assert_eq!(texts, ["0", "100000", "200000", "300000", "400000", "500000", "600000"]);
        let texts = [1e6, 1.25e6, 6e6, 5e-4, 5e-5, 2.5e-4, 1e-4, 1e-3, 1e3, 1e-7, -2e9].map(named);
        let expected = ["10⁶", "1.25·10⁶", "6·10⁶", "5·10⁻⁴", "5·10⁻⁵", "2.5·10⁻⁴", "10⁻⁴", "0.001", "1000", "10⁻⁷"];
        assert_eq!(texts[..10], expected);
        assert_eq!(texts[10], "-2·10⁹");
    }

    #[test]
    fn what_is_counted_has_whole_names() {
        let names = |least: f64, most: f64, scale| {
            let ruler = Ruler::whole(scale, [least, most].into_iter());
            ruler.named.iter().map(|&value| named(value)).collect::<Vec<_>>()
        };
        assert_eq!(names(0.0, 3.0, Scale::Linear), ["0", "1", "2", "3"]);
        assert_eq!(names(0.0, 18.0, Scale::Linear), ["0", "5", "10", "15"]);
        assert_eq!(names(9.0, 10.0, Scale::Logarithmic), ["8", "9", "10", "11", "12"]);
        assert_eq!(names(3.0, 5.0, Scale::Logarithmic), ["3", "4", "5", "6"], "but one of a one, a two and a five");
        assert_eq!(names(3.0, 101.0, Scale::Logarithmic), ["5", "10", "20", "50", "100"]);
    }

    #[test]
    fn values_are_in_proportion_and_what_is_not_above_zero_has_no_logarithm() {
        let ruler = Ruler::new(Scale::Logarithmic, [0.0, 1.0, 100.0].into_iter());
        assert_eq!(ruler.map(&10.0, (0, 1000)), 500);
        assert!(!ruler.holds(0.0) && ruler.holds(1.0));
        let empty = Ruler::new(Scale::Logarithmic, [f64::NAN, -1.0].into_iter());
        assert_eq!(empty.named.len(), 4);
        assert_eq!(Ruler::new(Scale::Linear, [4.0].into_iter()).map(&0.0, (0, 1000)), 0);
    }
}
