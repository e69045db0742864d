//! How long things took, in a few coarse steps: from a hand-over that nobody notices to a lock that is held all day.

use std::time::Duration;

/// The upper ends of the steps, in milliseconds. What took longer is in one more.
pub(super) const BOUNDS_MS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000];

/// So many things took so long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Histogram {
    steps: [u64; BOUNDS_MS.len() + 1],
    total: Duration,
}

impl Histogram {
    pub(super) fn record(&mut self, took: Duration) {
        let fits = |bound: &u64| took <= Duration::from_millis(*bound);
        let step = BOUNDS_MS.iter().position(fits).unwrap_or(BOUNDS_MS.len());
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
        BOUNDS_MS.iter().zip(self.steps).map(move |(bound, count)| {
            sum += count;
            (*bound as f64 / 1000.0, sum)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_longest_is_counted_too() {
        let mut histogram = Histogram::default();
        for took_ms in [0, 1, 2, 60_000, 60_001, u64::MAX / 4] {
            histogram.record(Duration::from_millis(took_ms));
        }
        let counts: Vec<_> = histogram.cumulative().map(|(_, count)| count).collect();
        assert_eq!(counts, [2, 3, 3, 3, 3, 4, 5, 5]);
        assert_eq!(histogram.count(), 6);
    }
}
