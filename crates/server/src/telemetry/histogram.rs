//! How long things took, in a few coarse steps: from a hand-over that nobody notices to a lock that is held all day.

use std::time::Duration;

/// The upper ends of the steps, in microseconds. What took longer is in one more. An entry on loopback takes 100 µs,
/// one in a data centre 1 ms, one across an ocean 200 ms; so below a minute it is told apart within a factor of two and
/// a half.
pub(super) const BOUNDS_US: [u64; 22] = [
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    60_000_000,
    300_000_000,
    600_000_000,
    3_600_000_000,
];

/// So many things took so long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Histogram {
    steps: [u64; BOUNDS_US.len() + 1],
    total: Duration,
}

impl Histogram {
    pub(super) fn record(&mut self, took: Duration) {
        let step = BOUNDS_US.partition_point(|bound| Duration::from_micros(*bound) < took);
        self.steps[step] += 1;
        self.total = self.total.saturating_add(took);
    }

    pub(super) fn add(&mut self, other: &Histogram) {
        for (step, others) in self.steps.iter_mut().zip(other.steps) {
            *step += others;
        }
        self.total = self.total.saturating_add(other.total);
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.steps.iter().sum()
    }

    /// How long all took together, in seconds.
    pub(super) fn total_seconds(&self) -> f64 {
        self.total.as_secs_f64()
    }

    /// Each upper end in seconds, and how many did not take longer.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut sum = 0;
        BOUNDS_US.iter().zip(self.steps).map(move |(bound, count)| {
            sum += count;
            (*bound as f64 / 1e6, sum)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_longest_is_counted_too() {
        let mut histogram = Histogram::default();
        for took_us in [0, 50, 51, 60_000_000, 60_000_001, u64::MAX / 4] {
            histogram.record(Duration::from_micros(took_us));
        }
        let below = |seconds: f64| histogram.cumulative().find(|(bound, _)| *bound == seconds).map(|(_, count)| count);
        let bounds = [0.00005, 0.0001, 0.00025, 25.0, 60.0, 300.0, 3600.0];
        assert_eq!(bounds.map(below), [2, 3, 3, 3, 4, 5, 5].map(Some));
        assert_eq!(histogram.count(), 6);
        assert!(BOUNDS_US.is_sorted_by(|one, next| one < next));
    }
}
