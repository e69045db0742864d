//! Majority voting's chance of letting two in, when coordinators that restart have forgotten their votes.
//!
//! N coordinators have one vote each, and m > N/2 votes let a process in. While it is inside, each of its m voters is
//! reset with probability p = Δt/T (Δt the reset window, T the uptime), independently, and then votes again for whoever
//! asks next. Three answers to how probable it is that a second process gets in:
//!
//! 1. [`Voting::formula`] is the document's (D, "Fault model"): a violation takes k ≥ m − N/2 forgotten votes, so
//!    Σ C(m,k) pᵏ (1−p)ᵐ⁻ᵏ from there to m.
//! 2. [`Voting::exact`] asks what the second needs: m votes, of the N − m that the first did not get and the k
//!    forgotten ones. N − m + k ≥ m is **k ≥ 2m − N**, twice the document's threshold. The document asks when the
//!    first's remaining votes are no majority any more, but that alone lets nobody in: with N = 16 and m = 9, one
//!    forgotten vote leaves the first 8 and gives the second only 8. It takes two.
//! 3. [`Voting::simulate`] measures it with the algorithm itself: real [`Majority`] processes, stepped one by one.
//!
//! The document's example (N = 16, m = 9, T = 1 h, Δt = 30 s) is said to be below 10⁻¹⁸. Its own formula gives 0.073,
//! and the exact value is 0.0024; only the sum's last term, that all nine forget, is as small: 120⁻⁹ ≈ 1.9·10⁻¹⁹.
//!
//! The exact value is that of the worst schedule: the first has just the m votes it needs, and its questions to the
//! other N − m coordinators are still on their way when the second's overtake them. Had they arrived, m of N votes
//! would have to be forgotten.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use quorate_core::clock::Fence;
use quorate_core::id::Id;
use quorate_core::mutex::{Input, Majority, Mutex, Output};
use quorate_core::process::{Effect, Effects, Event, Process, perform};
use quorate_core::setting::{Group, Options, Setting, Timing};
use serde::Serialize;

use crate::random::Chance;

/// Majority voting with coordinators that forget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Voting {
    coordinators: u32,
    votes: u32,
    reset_probability: f64,
}

/// Why there is no such voting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each means")]
pub enum VotingError {
    #[error("{0} coordinators: must be 1 to {most}", most = Voting::MOST_COORDINATORS)]
    Coordinators(u32),
    #[error(
        "{votes} votes: with {coordinators} coordinators, a majority is {} to {coordinators} votes",
        coordinators / 2 + 1
    )]
    Votes { votes: u32, coordinators: u32 },
    #[error("uptime of 0 µs: must be at least 1 µs")]
    Uptime,
    #[error("reset window of {reset_us} µs: must be 0 to {uptime_us} µs, the uptime")]
    Reset { reset_us: u64, uptime_us: u64 },
}

/// What a simulation found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Simulated {
    /// How often it was tried.
    pub trials: u64,
    /// How often the second process got in while the first was inside.
    pub violations: u64,
    /// The share of those.
    pub probability: f64,
    /// The 95 % confidence interval of the probability (Wilson's, which holds also where no violation was seen).
    pub interval: (f64, f64),
}

impl Voting {
    /// The largest number of coordinators: the two processes that want to enter have ids after theirs.
    pub const MOST_COORDINATORS: u32 = Fence::MOST_PROCESSES - 2;

    /// Voting in which `votes` of so many coordinators let a process in, and a coordinator that is up for `uptime_us`
    /// on average is reset during `reset_us` with probability `reset_us / uptime_us`.
    pub fn new(coordinators: u32, votes: u32, uptime_us: u64, reset_us: u64) -> Result<Voting, VotingError> {
        if coordinators == 0 || coordinators > Voting::MOST_COORDINATORS {
            return Err(VotingError::Coordinators(coordinators));
        }
        if votes <= coordinators / 2 || votes > coordinators {
            return Err(VotingError::Votes { votes, coordinators });
        }
        if uptime_us == 0 {
            return Err(VotingError::Uptime);
        }
        if reset_us > uptime_us {
            return Err(VotingError::Reset { reset_us, uptime_us });
        }
        Ok(Voting { coordinators, votes, reset_probability: reset_us as f64 / uptime_us as f64 })
    }

    /// N, the number of coordinators.
    pub fn coordinators(&self) -> u32 {
        self.coordinators
    }

    /// m, the number of votes that let a process in.
    pub fn votes(&self) -> u32 {
        self.votes
    }

    /// p, the probability that a voter forgets its vote while the process it voted for is inside.
    pub fn reset_probability(&self) -> f64 {
        self.reset_probability
    }

    /// How many voters forget on average: m·p.
    pub fn forgotten_on_average(&self) -> f64 {
        f64::from(self.votes) * self.reset_probability
    }

    /// How many must forget by the document: the least whole number k ≥ m − N/2.
    pub fn forgotten_needed_by_formula(&self) -> u32 {
        self.votes - self.coordinators / 2
    }

    /// How many must forget so that a second process can get m votes: 2m − N.
    pub fn forgotten_needed(&self) -> u32 {
        2 * self.votes - self.coordinators
    }

    /// The probability of a violation by the document's formula.
    pub fn formula(&self) -> f64 {
        at_least(self.forgotten_needed_by_formula(), self.votes, self.reset_probability)
    }

    /// The probability that a second process can get in.
    pub fn exact(&self) -> f64 {
        at_least(self.forgotten_needed(), self.votes, self.reset_probability)
    }

    /// Lets a second process try to get in while the first is inside, so many times, and counts how often it does. The
    /// seed determines who forgets. `progress` hears now and then, and at the end, how many trials are done.
    pub fn simulate(&self, trials: NonZeroU64, seed: u64, progress: &mut dyn FnMut(u64)) -> Simulated {
        let (trials, mut chance, mut scene) = (trials.get(), Chance::new(seed), Scene::new(self));
        let between_reports = (STEPS_BETWEEN_REPORTS / u64::from(self.coordinators)).max(1);
        let mut violations = 0;
        for done in 1..=trials {
            violations += u64::from(scene.second_gets_in(self.reset_probability, &mut chance));
            if done == trials || done.is_multiple_of(between_reports) {
                progress(done);
            }
        }
        let probability = violations as f64 / trials as f64;
        Simulated { trials, violations, probability, interval: wilson(violations, trials) }
    }
}

/// About how many coordinators are asked between two calls of `progress`: some tens of milliseconds' worth.
const STEPS_BETWEEN_REPORTS: u64 = 1 << 18;

/// The probability that at least `least` of `count` things happen, each with probability `p`.
///
/// Each term of the binomial distribution follows from its neighbour, outwards from the largest, which is taken as 1;
/// what all of them add up to is what 1 should be. No terms are subtracted, so the smallest result loses no digits; and
/// as only `+`, `×` and `÷` are used, without logarithms, it has the same bits on every machine.
fn at_least(least: u32, count: u32, p: f64) -> f64 {
    let (least, count) = (least as usize, count as usize);
    let odds = p / (1.0 - p);
    let largest = (((count + 1) as f64 * p) as usize).min(count);
    let mut terms = vec![1.0; count + 1];
    for k in largest..count {
        terms[k + 1] = terms[k] * ((count - k) as f64 / (k + 1) as f64 * odds);
    }
    for k in (0..largest).rev() {
        terms[k] = terms[k + 1] * ((k + 1) as f64 / (count - k) as f64 / odds);
    }
    // Both sums begin at the far end with the same terms, so that rounding cannot bring the quotient above 1.
    let sum_from = |k: usize| terms[k..].iter().rev().sum::<f64>();
    sum_from(least) / sum_from(0)
}

/// Wilson's 95 % interval of a probability, after so many successes in so many trials.
fn wilson(successes: u64, trials: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let (always, never) = (successes == trials, successes == 0);
    let (successes, trials) = (successes as f64, trials as f64);
    let middle = successes + Z * Z / 2.0;
    let width = Z * (successes * (trials - successes) / trials + Z * Z / 4.0).sqrt();
    let (low, high) = ((middle - width) / (trials + Z * Z), (middle + width) / (trials + Z * Z));
    // At the ends the formula gives 0 and 1, but for rounding.
    (if never { 0.0 } else { low }, if always { 1.0 } else { high })
}

/// The coordinators 1 to N and the two that want to enter, N + 1 and N + 2, at any moment of a trial.
struct Scene {
    voters: usize,
    second: Id,
    /// Each coordinator before its first event.
    newborn: Vec<Majority>,
    /// All processes when the first is inside, with exactly m votes: those of the first m coordinators.
    first_inside: Vec<Majority>,
    processes: Vec<Majority>,
    in_transit: VecDeque<InTransit>,
    effects: Effects<Majority>,
    /// Who entered last.
    entered: Option<Id>,
}

struct InTransit {
    from: Id,
    to: Id,
    message: <Majority as Process>::Message,
}

impl Scene {
    fn new(voting: &Voting) -> Scene {
        let (n, votes) = (voting.coordinators, voting.votes.to_string());
        let options = Options::new(&Majority::ENTRY, [("votes", votes.as_str())]);
        let group = options.and_then(|options| Group::new(&Majority::ENTRY, n, 1, Timing::Asynchronous, options));
        let group = group.expect("a voting is checked when it is made");
        let (first, second) = (Id::new(n + 1), Id::new(n + 2));
        let processes: Vec<_> = Id::all(n + 2).map(|id| Majority::new(&Setting::new(id, &group))).collect();
        let mut scene = Scene {
            voters: voting.votes as usize,
            second,
            newborn: processes[..n as usize].to_vec(),
            first_inside: Vec::new(),
            processes,
            in_transit: VecDeque::new(),
            effects: Effects::<Majority>::new(first),
            entered: None,
        };
        for id in Id::all(n + 2) {
            scene.happens(id, Event::Start { incarnation: 1, saved: None });
        }
        scene.happens(first, Event::Input(Input::Enter));
        // The questions to the other coordinators take longer than the whole scene.
        scene.in_transit.truncate(scene.voters);
        scene.deliver_all();
        assert_eq!(scene.entered, Some(first), "so many votes let a process in");
        scene.first_inside = scene.processes.clone();
        scene
    }

    /// One trial, from when the first is inside: some of its voters restart, then the second asks everybody, once. That
    /// it would ask again changes nothing, because the same coordinators would give the same answers.
    fn second_gets_in(&mut self, reset_probability: f64, chance: &mut Chance) -> bool {
        self.processes.clone_from(&self.first_inside);
        self.entered = None;
        for index in 0..self.voters {
            if chance.happens(reset_probability) {
                self.processes[index].clone_from(&self.newborn[index]);
                self.happens(Id::at(index), Event::Start { incarnation: 2, saved: None });
            }
        }
        self.happens(self.second, Event::Input(Input::Enter));
        self.deliver_all();
        self.entered == Some(self.second)
    }

    fn deliver_all(&mut self) {
        while let Some(InTransit { from, to, message }) = self.in_transit.pop_front() {
            self.happens(to, Event::Receive { from, message });
        }
    }

    fn happens(&mut self, id: Id, event: Event<Majority>) {
        self.effects.reset(id);
        perform(&mut self.processes[id.index()], event, &mut self.effects);
        for effect in self.effects.drain() {
            match effect {
                Effect::Send { to, message } => self.in_transit.push_back(InTransit { from: id, to, message }),
                Effect::Output(Output::Entered { .. }) => self.entered = Some(id),
                Effect::Output(Output::Exited | Output::Lost | Output::Withdrawn) => {
                    unreachable!("nobody is asked to leave")
                }
                Effect::Unexpected { why, .. } => unreachable!("messages are delivered as they were sent: {why}"),
                // No timer runs out before the answers are there, and a voter that forgets has saved nothing.
                Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Save(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: u64 = 3_600_000_000;
    const SECOND: u64 = 1_000_000;

    fn voting(coordinators: u32, votes: u32, uptime: u64, reset: u64) -> Voting {
        Voting::new(coordinators, votes, uptime, reset).unwrap()
    }

    fn simulate(voting: &Voting, trials: u64, seed: u64) -> Simulated {
        voting.simulate(NonZeroU64::new(trials).unwrap(), seed, &mut |_| {})
    }

    fn assert_close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-12, "{value:e} is not {expected:e}");
    }

    /// Σ C(m,k) aᵏ (b−a)ᵐ⁻ᵏ / bᵐ in whole numbers, for p = a/b.
    fn at_least_in_integers(least: u32, m: u32, a: u128, b: u128) -> f64 {
        let choose = |k: u32| (0..u128::from(k)).fold(1, |product, i| product * (u128::from(m) - i) / (i + 1));
        let sum: u128 = (least..=m).map(|k| choose(k) * a.pow(k) * (b - a).pow(m - k)).sum();
        sum as f64 / b.pow(m) as f64
    }

    /// Claim D6 says that this is below 10⁻¹⁸. It is not, and only the chance that all nine forget would be.
    #[test]
    fn the_documents_example_is_not_below_1e_18() {
        let example = voting(16, 9, HOUR, 30 * SECOND);
        assert_eq!((example.forgotten_needed_by_formula(), example.forgotten_needed()), (1, 2));
        assert_eq!(example.forgotten_on_average(), 0.075);
        assert_close(example.formula(), 0.072_548_008_507_848_45);
        assert_close(example.formula(), 1.0 - (119.0f64 / 120.0).powi(9));
        assert_close(example.exact(), 0.002_404_580_579_870_612_4);
        assert_close(at_least(9, 9, 1.0 / 120.0), 1.938_066_994_678_148_7e-19);
    }

    /// The expected values were computed with fractions of whole numbers.
    #[test]
    fn small_probabilities_have_all_their_digits() {
        let cases = [
            (8, 6, 3, 1.039_354_021_026_402e-5, 7.224_154_583_547_668e-12),
            (16, 12, 30, 2.262_888_614_279_932e-6, 1.117_483_618_631_606e-14),
            (32, 17, 30, 0.132_604_507_708_143_25, 0.008_690_865_952_163_727),
            (32, 24, 30, 1.518_757_878_679_562_2e-11, 3.735_175_263_728_896_4e-28),
            (32, 24, 3, 1.690_311_871_212_510_6e-19, 3.953_116_269_394_757e-44),
            (16_381, 8300, 30, 3.301_304_540_832_185e-6, 2.833_195_336_909_2e-47),
        ];
        for (coordinators, votes, reset_s, formula, exact) in cases {
            let voting = voting(coordinators, votes, HOUR, reset_s * SECOND);
            assert_close(voting.formula(), formula);
            assert_close(voting.exact(), exact);
        }
    }

    #[test]
    fn it_agrees_with_whole_numbers() {
        for (m, a, b) in [(1, 1, 3), (5, 1, 1200), (9, 1, 120), (12, 1, 120), (17, 1, 120), (24, 1, 4), (24, 3, 4)] {
            for least in 0..=m {
                let expected = at_least_in_integers(least, m, a, b);
                assert_close(at_least(least, m, a as f64 / b as f64), expected);
            }
        }
    }

    #[test]
    fn certain_things_are_certain() {
        for (coordinators, votes) in [(1, 1), (2, 2), (3, 2), (16, 9), (16, 16), (101, 60), (16_381, 16_381)] {
            for (reset, certain) in [(0, 0.0), (1, 1.0)] {
                let voting = voting(coordinators, votes, 1, reset);
                let simulated = simulate(&voting, 3, 1).probability;
                assert_eq!((voting.formula(), voting.exact(), simulated), (certain, certain, certain));
            }
        }
    }

    #[test]
    fn the_algorithm_violates_as_often_as_the_exact_value_says() {
        let cases =
            [(16, 9, 120, 1), (16, 9, 10, 3), (16, 12, 2, 1), (7, 4, 3, 1), (5, 5, 3, 2), (1, 1, 4, 1), (33, 20, 5, 1)];
        for (coordinators, votes, uptime, reset) in cases {
            let (voting, trials) = (voting(coordinators, votes, uptime, reset), 100_000);
            let (exact, simulated) = (voting.exact(), simulate(&voting, trials, 7));
            let sigma = (exact * (1.0 - exact) / trials as f64).sqrt();
            assert!((simulated.probability - exact).abs() < 4.0 * sigma, "{voting:?}: {exact}, but {simulated:?}");
            let (low, high) = simulated.interval;
            assert!(low < simulated.probability && simulated.probability < high && high - low < 5.0 * sigma);
        }
    }

    #[test]
    fn the_seed_determines_the_count_and_progress_ends_with_all_trials() {
        let voting = voting(16, 9, 10, 1);
        let mut heard = Vec::new();
        let simulated = voting.simulate(NonZeroU64::new(40_000).unwrap(), 5, &mut |done| heard.push(done));
        assert_eq!(heard, [16_384, 32_768, 40_000]);
        assert_eq!(simulate(&voting, 40_000, 5), simulated);
        assert_ne!(simulate(&voting, 40_000, 6).violations, simulated.violations);
    }

    #[test]
    fn the_interval_is_wilsons() {
        let (low, high) = wilson(10, 100);
        assert!((low - 0.055_229).abs() < 1e-6 && (high - 0.174_366).abs() < 1e-6, "{low} {high}");
        assert_eq!(wilson(0, 1000).0, 0.0);
        assert_eq!(wilson(1000, 1000).1, 1.0);
    }

    #[test]
    fn what_cannot_be_is_refused_in_a_line() {
        let text = |result: Result<Voting, VotingError>| result.unwrap_err().to_string();
        assert_eq!(text(Voting::new(0, 1, 1, 0)), "0 coordinators: must be 1 to 16381");
        assert_eq!(text(Voting::new(16_382, 9000, 1, 0)), "16382 coordinators: must be 1 to 16381");
        assert_eq!(text(Voting::new(16, 8, 1, 0)), "8 votes: with 16 coordinators, a majority is 9 to 16 votes");
        assert_eq!(text(Voting::new(5, 6, 1, 0)), "6 votes: with 5 coordinators, a majority is 3 to 5 votes");
        assert_eq!(text(Voting::new(5, 3, 0, 0)), "uptime of 0 µs: must be at least 1 µs");
        let too_long = "reset window of 2 µs: must be 0 to 1 µs, the uptime";
        assert_eq!(text(Voting::new(5, 3, 1, 2)), too_long);
    }

    proptest! {
        #[test]
        fn the_exact_value_never_exceeds_the_formulas(
            (coordinators, votes) in (1u32..500).prop_flat_map(|n| (Just(n), n / 2 + 1..=n)),
            (uptime, reset) in (1u64..1_000_000_000).prop_flat_map(|uptime| (Just(uptime), 0..=uptime)),
        ) {
            let voting = voting(coordinators, votes, uptime, reset);
            prop_assert!(voting.forgotten_needed_by_formula() <= voting.forgotten_needed());
            prop_assert!(0.0 <= voting.exact() && voting.exact() <= voting.formula() && voting.formula() <= 1.0);
        }
    }
}
