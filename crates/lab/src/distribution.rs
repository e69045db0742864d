//! Mean, percentiles and maximum of what is measured, in memory that does not grow with the number of measurements.
//!
//! Exact while there are few distinct values, as there are with constant delays; beyond that, percentiles to three
//! digits.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

/// A collection of measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    count: u64,
    sum: u128,
    max: u64,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Exact(BTreeMap<u64, u64>),
    Rounded(Box<Histogram<u64>>),
}

/// How many distinct values are kept exactly.
const MOST_EXACT: usize = 4096;

impl Default for Distribution {
    fn default() -> Self {
        Distribution { count: 0, sum: 0, max: 0, shape: Shape::Exact(BTreeMap::new()) }
    }
}

impl Distribution {
    /// Adds a measurement.
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Adds the same measurement several times.
    pub fn add_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        self.max = self.max.max(value);
        match &mut self.shape {
            Shape::Exact(values) => {
                *values.entry(value).or_default() += times;
                if values.len() > MOST_EXACT {
                    let mut histogram = Box::new(Histogram::new(3).expect("three digits are possible"));
                    for (&value, &times) in values.iter() {
                        record(&mut histogram, value, times);
                    }
                    self.shape = Shape::Rounded(histogram);
                }
            }
            Shape::Rounded(histogram) => record(histogram, value, times),
        }
    }

    /// Adds all measurements of another collection; to three digits, if there are many.
    pub fn add_all(&mut self, other: &Distribution) {
        other.each(&mut |value, times| self.add_many(value, times));
    }

    /// Shows every value from the smallest to the largest, and how many times it was measured; to three digits, if
    /// there are many.
    pub fn each(&self, see: &mut dyn FnMut(u64, u64)) {
        match &self.shape {
            Shape::Exact(values) => values.iter().for_each(|(&value, &times)| see(value, times)),
            Shape::Rounded(histogram) => {
                for step in histogram.iter_recorded() {
                    see(step.value_iterated_to(), step.count_since_last_iteration());
                }
            }
        }
    }

    /// The largest measurement, or nothing measured: 0.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// How many measurements there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Their mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest value that at least this percentage of the measurements do not exceed.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        match &self.shape {
            Shape::Exact(values) => {
                let rank = (percent / 100.0 * self.count as f64).ceil().max(1.0) as u64;
                let mut seen = 0;
                values.iter().find_map(|(&value, &times)| {
                    seen += times;
                    (seen >= rank).then_some(value)
                })
            }
            Shape::Rounded(histogram) => Some(histogram.value_at_percentile(percent).min(self.max)),
        }
    }

    /// The summary, each value divided by `unit`.
    pub fn summary(&self, unit: f64) -> Option<Summary> {
        let scaled = |value: u64| value as f64 / unit;
        Some(Summary {
            mean: self.mean()? / unit,
            p50: scaled(self.percentile(50.0)?),
            p90: scaled(self.percentile(90.0)?),
            p99: scaled(self.percentile(99.0)?),
            max: scaled(self.max),
        })
    }
}

fn record(histogram: &mut Histogram<u64>, value: u64, times: u64) {
    histogram.record_n(value, times).expect("the histogram grows to the size of its values");
}

/// What people want to know of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// Half of the values are no larger.
    pub p50: f64,
    /// 9 of 10 values are no larger.
    pub p90: f64,
    /// 99 of 100 values are no larger.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_values_are_summarised_exactly() {
        let mut distribution = Distribution::default();
        (1..=100).for_each(|value| distribution.add(value));
        assert_eq!(
            distribution.summary(1.0),
            Some(Summary { mean: 50.5, p50: 50.0, p90: 90.0, p99: 99.0, max: 100.0 })
        );
        assert_eq!(Distribution::default().summary(1.0), None);
    }

    proptest! {
        #[test]
        fn many_values_keep_mean_and_maximum_exact_and_percentiles_to_three_digits(step in 1u64..1000) {
            let mut distribution = Distribution::default();
            (1..=10_000).for_each(|value| distribution.add(value * step));
            let summary = distribution.summary(1.0).unwrap();
            prop_assert_eq!(summary.max, 10_000.0 * step as f64);
            prop_assert!((summary.mean - 5000.5 * step as f64).abs() < 1e-6 * summary.mean);
            prop_assert!((summary.p50 / (5000.0 * step as f64) - 1.0).abs() < 2e-3);
            prop_assert!((summary.p99 / (9900.0 * step as f64) - 1.0).abs() < 2e-3);
        }
    }
}
