//! Majority voting's chance of letting two in, as figures: against the votes that let one in, and against the time in
//! which coordinators forget.

use std::num::NonZeroU64;

use super::{Axis, Curve, Figure, Point, Scale, Series};
use crate::violation::{Voting, VotingError};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// How many coordinators there are.
    pub coordinators: u32,
    /// How many votes let one in.
    pub votes: u32,
    /// How long a coordinator runs, in microseconds.
    pub uptime_us: u64,
    /// How long the time is in which it may forget, in microseconds.
    pub reset_us: u64,
    /// How often each simulation tries.
    pub trials: NonZeroU64,
    /// What determines the simulations.
    pub seed: u64,
}

/// So many different votes are shown at most.
const MOST_VOTES: u32 = 16;

impl Question {
    /// How many simulations the figures take.
    pub fn simulations(&self) -> usize {
        self.all_votes().len() + self.all_resets().len()
    }

    /// The chance against m, and against Δt. `progress` hears of each simulation that is done.
    pub fn figures(&self, progress: &mut dyn FnMut()) -> Result<Vec<Figure>, VotingError> {
        let Question { coordinators, votes, uptime_us, reset_us, .. } = *self;
        let (reset, uptime) = (seconds(reset_us), seconds(uptime_us));
        let mut against_votes = Vec::new();
        for m in self.all_votes() {
            let voting = Voting::new(coordinators, m, uptime_us, reset_us)?;
            against_votes.push((f64::from(m), voting));
        }
        let mut against_time = Vec::new();
        for reset_us in self.all_resets() {
            let voting = Voting::new(coordinators, votes, uptime_us, reset_us)?;
            against_time.push((reset_us as f64 / 1e6, voting));
        }
        let title = format!("Chance that {coordinators} coordinators let two in, when they forget");
        Ok(vec![
            self.figure(
                "violation-by-votes",
                format!("{title} for {reset} of {uptime}"),
                Axis::counting("m, votes that let one in", Scale::Window),
                &against_votes,
                progress,
            ),
            self.figure(
                "violation-by-time",
                format!("{title}: {votes} votes, up for {uptime}"),
                Axis::new("Δt, the time in which a crash makes one forget its vote, in seconds", Scale::Logarithmic),
                &against_time,
                progress,
            ),
        ])
    }

    /// From the smallest majority to all of them.
    fn all_votes(&self) -> Vec<u32> {
        let (least, most) = (self.coordinators / 2 + 1, self.coordinators);
        (least..=most).step_by((most - least + 1).div_ceil(MOST_VOTES).max(1) as usize).collect()
    }

    /// Two for each power of ten, from the hundred-thousandth of the uptime to all of it; and what was asked.
    fn all_resets(&self) -> Vec<u64> {
        let parts = (0..=10).map(|half| libm::pow(10.0, -f64::from(half) / 2.0));
        let mut resets: Vec<_> = parts.map(|part| libm::round(part * self.uptime_us as f64) as u64).collect();
        resets.push(self.reset_us);
        resets.retain(|&reset| reset > 0);
        resets.sort_unstable();
        resets.dedup();
        resets
    }

    fn figure(
        &self,
        name: &str,
        title: String,
        x: Axis,
        votings: &[(f64, Voting)],
        progress: &mut dyn FnMut(),
    ) -> Figure {
        let curve = |formula: &str, value: fn(&Voting) -> f64| Curve {
            formula: formula.into(),
            points: votings.iter().map(|(x, voting)| (*x, value(voting))).collect(),
        };
        let mut points = Vec::new();
        for (x, voting) in votings {
            let simulated = voting.simulate(self.trials, self.seed, &mut |_| {});
            // What was never seen has no place among ratios.
            if simulated.violations > 0 {
                points.push(Point { x: *x, y: simulated.probability, interval: Some(simulated.interval) });
            }
            progress();
        }
        let line = |name: &str, look, curve| Series { name: name.into(), look, curves: vec![curve], points: vec![] };
        let trials = self.trials;
        Figure {
            name: name.into(),
            title,
            x,
            y: Axis::new("probability that a second gets in", Scale::Logarithmic),
            series: vec![
                line("formula", 1, curve("at least m − N/2 forget (D)", Voting::formula)),
                line("exact", 0, curve("at least 2m − N forget", Voting::exact)),
                Series { name: "simulated".into(), look: 5, curves: vec![], points },
            ],
            notes: vec![format!(
                "Points: {trials} runs of the algorithm each, with 95 % intervals; none where no run let two in."
            )],
            ..Figure::default()
        }
    }
}

/// A time as people write it.
fn seconds(microseconds: u64) -> String {
    format!("{} s", microseconds as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        let trials = NonZeroU64::new(2_000).unwrap();
        Question { coordinators: 16, votes: 9, uptime_us: 120_000_000, reset_us: 1_000_000, trials, seed: 1 }
    }

    #[test]
    fn the_curves_are_those_of_the_table_and_the_points_lie_near_the_exact_one() {
        let mut done = 0;
        let figures = question().figures(&mut || done += 1).unwrap();
        assert_eq!(done, question().simulations());
        let asked = Voting::new(16, 9, 120_000_000, 1_000_000).unwrap();
        for (figure, x) in figures.iter().zip([9.0, 1.0]) {
            let [formula, exact, simulated] = &figure.series[..] else { panic!("three series") };
            assert!(formula.curves[0].points.contains(&(x, asked.formula())));
            assert!(exact.curves[0].points.contains(&(x, asked.exact())));
            assert!(!simulated.points.is_empty());
            for point in &simulated.points {
                let exact = exact.curves[0].points.iter().find(|known| known.0 == point.x).unwrap().1;
                let sigma = (exact * (1.0 - exact) / 2_000.0).sqrt();
                assert!((point.y - exact).abs() <= 5.0 * sigma, "{point:?}, but exactly {exact}");
            }
            roxmltree::Document::parse(&figure.svg()).unwrap();
        }
    }

    #[test]
    fn many_coordinators_are_shown_at_a_few_votes() {
        let many = Question { coordinators: 1001, votes: 501, ..question() };
        assert!(many.all_votes().len() <= 16);
        assert_eq!(Question { coordinators: 1, votes: 1, ..question() }.all_votes(), [1]);
        assert_eq!(Question { reset_us: 0, uptime_us: 1, ..question() }.all_resets(), [1]);
    }
}
