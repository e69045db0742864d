//! How long those who entered in a run had waited, as a histogram.

use super::{Axis, Bar, Figure, Scale};
use crate::report::Report;
use crate::time::DELTA;

/// About so many bars.
const BARS: f64 = 32.0;

/// The histogram of the waiting times of a run; nothing, if nobody entered.
pub fn figure(report: &Report) -> Option<Figure> {
    let costs = &report.outcome.costs;
    let summary = costs.client_delay?;
    let width = bar_width(costs.client_delays.max() as f64 / DELTA as f64);
    let mut heights: Vec<f64> = Vec::new();
    costs.client_delays.each(&mut |ticks, times| {
        // What lies on the border belongs to the right; a rounding error must not put it to the left.
        let place = libm::floor(ticks as f64 / DELTA as f64 / width + 1e-9) as usize;
        heights.resize(heights.len().max(place + 1), 0.0);
        heights[place] += times as f64;
    });
    let bar =
        |(place, &height): (usize, &f64)| Bar { from: place as f64 * width, to: (place + 1) as f64 * width, height };
    let mark = |value: f64, name: &str| (value, format!("{name} {}", rounded(value)));
    Some(Figure {
        name: "waiting-time".into(),
        title: format!(
            "How long {} entries had waited: {}, n = {}, seed {}",
            costs.entries, report.algorithm, report.n, report.seed
        ),
        x: Axis::new("time from the request to the entry, in δ, the unit of message delays", Scale::Linear),
        y: Axis::counting(format!("entries, in bars of {} δ", rounded(width)), Scale::Linear),
        bars: heights.iter().enumerate().map(bar).filter(|bar| bar.height > 0.0).collect(),
        marks: vec![mark(summary.p50, "median"), mark(summary.p90, "p90"), mark(summary.p99, "p99")],
        notes: vec![format!("Mean {} δ, longest {} δ.", rounded(summary.mean), rounded(summary.max))],
        ..Figure::default()
    })
}

/// A round width, so that the longest time is in about the last bar.
fn bar_width(longest: f64) -> f64 {
    let rough = if longest > 0.0 { longest / BARS } else { 1.0 };
    let magnitude = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let widths = [1.0, 2.0, 5.0].map(|digit| digit * magnitude);
    widths.into_iter().find(|&width| width >= rough).unwrap_or(10.0 * magnitude)
}

fn rounded(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_of_round_width() {
        assert_eq!([bar_width(32.0), bar_width(40.0), bar_width(0.0)], [1.0, 2.0, 1.0]);
    }
}
