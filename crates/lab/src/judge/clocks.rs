//! Clocks of machines that are set differently, put right by what was said between them.
//!
//! Verdicts follow messages and need no clock, but delays, patience and drawings do. A message arrives after it was
//! sent: so each one bounds how far the clock of whom it reached may be ahead of its sender's, and those that went the
//! other way bound it from below. Clocks within these bounds may be right, and are believed. Others are set to the
//! middle of their bounds, which is wrong by half a round trip at most.

use std::collections::{BTreeMap, HashMap};

use quorate_core::id::Id;
use quorate_core::journal::Moment;
use quorate_core::trace::What;

use super::read::Life;

/// By how much the clock of a life was put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction {
    /// Whose.
    pub process: Id,
    /// In which life.
    pub incarnation: u64,
    /// By how much it was ahead of the clocks before it in the list of lives, in microseconds; less than nothing if it
    /// was behind.
    pub ahead: i64,
}

/// The time of a message by the two clocks it was seen by, from one life to another: the shortest.
type Fastest = BTreeMap<(usize, usize), i64>;

/// Sets the clocks of these lives so that no message arrives before it was sent, as far as that is possible.
pub(super) fn set_right(lives: &mut [Life]) -> Vec<Correction> {
    let fastest = fastest(lives);
    let mut ahead: Vec<Option<i64>> = vec![None; lives.len()];
    while let Some((life, bounds)) = best_known(&fastest, &ahead) {
        ahead[life] = Some(bounds.value());
    }
    let mut corrections = Vec::new();
    for (life, ahead) in lives.iter_mut().zip(ahead) {
        let ahead = ahead.unwrap_or(0);
        if ahead != 0 {
            life.header.started = life.header.started.saturating_add_signed(ahead.saturating_neg());
            let (process, incarnation) = (life.header.process, life.header.incarnation);
            corrections.push(Correction { process, incarnation, ahead });
        }
    }
    corrections
}

/// How far a clock may be ahead, as messages say.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    least: Option<i64>,
    most: Option<i64>,
}

impl Bounds {
    /// Nothing, if that is possible; otherwise the middle, or as little as is needed.
    fn value(self) -> i64 {
        match (self.least, self.most) {
            (Some(least), Some(most)) if least > 0 || most < 0 => least.midpoint(most),
            (Some(least), None) => least.max(0),
            (None, Some(most)) => most.min(0),
            _ => 0,
        }
    }

    /// The narrowest first; and those that are open last.
    fn width(self) -> u64 {
        match (self.least, self.most) {
            (Some(least), Some(most)) => most.saturating_sub(least).max(0).unsigned_abs(),
            (None, None) => u64::MAX,
            _ => u64::MAX - 1,
        }
    }
}

/// Of those that are not set yet the one to set next: those that may be right before all others, and then that whose
/// bounds are narrowest. They are seen from those that are set, also through others that are not: what goes round a
/// ring comes back.
fn best_known(fastest: &Fastest, ahead: &[Option<i64>]) -> Option<(usize, Bounds)> {
    let mut bounds: Vec<_> = ahead.iter().map(|&known| Bounds { least: known, most: known }).collect();
    // Clocks that run at different speeds contradict each other without end: a path has no more steps than this.
    for _ in 0..ahead.len() {
        let mut is_narrower = false;
        for (&(from, to), &time) in fastest {
            if let (Some(most), None) = (bounds[from].most, ahead[to]) {
                let most = most.saturating_add(time);
                is_narrower |= bounds[to].most.is_none_or(|before| most < before);
                bounds[to].most = Some(bounds[to].most.map_or(most, |before| before.min(most)));
            }
            if let (Some(least), None) = (bounds[to].least, ahead[from]) {
                let least = least.saturating_sub(time);
                is_narrower |= bounds[from].least.is_none_or(|before| least > before);
                bounds[from].least = Some(bounds[from].least.map_or(least, |before| before.max(least)));
            }
        }
        if !is_narrower {
            break;
        }
    }
    let open = bounds.into_iter().enumerate().filter(|&(life, _)| ahead[life].is_none());
    open.min_by_key(|&(life, bounds)| (bounds.value() != 0, bounds.width(), life))
}

fn fastest(lives: &[Life]) -> Fastest {
    let at = |life: &Life, at: u64| i64::try_from(life.header.started.saturating_add(at)).unwrap_or(i64::MAX);
    let mut sent: HashMap<(Id, Moment), (usize, i64)> = HashMap::new();
    for (index, life) in lives.iter().enumerate() {
        for (_, entry) in &life.entries {
            if matches!(entry.record.what, What::Sent { .. }) {
                sent.insert((entry.record.process, entry.moment()), (index, at(life, entry.record.at)));
            }
        }
    }
    let mut fastest = Fastest::new();
    for (index, life) in lives.iter().enumerate() {
        for (_, entry) in &life.entries {
            let (What::Received { from, sequence, .. }, Some(life_of)) = (&entry.record.what, entry.sender_life) else {
                continue;
            };
            let Some(&(sender, sent_at)) = sent.get(&(*from, Moment(life_of, *sequence))) else { continue };
            let time = at(life, entry.record.at).saturating_sub(sent_at);
            let shortest = fastest.entry((sender, index)).or_insert(time);
            *shortest = time.min(*shortest);
        }
    }
    fastest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found, if messages between these lives took so long by their clocks: from whom, to whom, how long.
    fn found(lives: usize, times: &[(usize, usize, i64)]) -> Vec<i64> {
        let fastest: Fastest = times.iter().map(|&(from, to, time)| ((from, to), time)).collect();
        let mut ahead = vec![None; lives];
        while let Some((life, bounds)) = best_known(&fastest, &ahead) {
            ahead[life] = Some(bounds.value());
        }
        ahead.into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn clocks_that_no_message_contradicts_are_believed() {
        assert_eq!(found(2, &[(0, 1, 5), (1, 0, 300)]), [0, 0]);
        assert_eq!(found(3, &[]), [0, 0, 0]);
        assert_eq!(found(2, &[(0, 1, 0), (1, 0, 0)]), [0, 0]);
    }

    #[test]
    fn a_clock_that_is_ahead_or_behind_is_set_to_the_middle_of_what_is_possible() {
        assert_eq!(found(2, &[(0, 1, 5020), (1, 0, -4980)]), [0, 5000]);
        assert_eq!(found(2, &[(0, 1, -4980), (1, 0, 5020)]), [0, -5000]);
    }

    #[test]
    fn where_nothing_came_back_as_little_is_changed_as_is_needed() {
        assert_eq!(found(2, &[(0, 1, -70)]), [0, -70]);
        assert_eq!(found(2, &[(1, 0, -70)]), [0, 70]);
        assert_eq!(found(2, &[(0, 1, 70)]), [0, 0], "it may have taken as long");
    }

    #[test]
    fn what_is_known_of_one_is_passed_on_to_those_it_speaks_to() {
        let times = [(0, 1, 5020), (1, 0, -4980), (1, 2, -4980), (2, 1, 5020)];
        assert_eq!(found(3, &times), [0, 5000, 0]);
        let times = [(0, 1, 5020), (1, 0, -4980), (1, 2, 20), (2, 1, 20)];
        assert_eq!(found(3, &times), [0, 5000, 5000]);
    }

    #[test]
    fn what_goes_round_a_ring_bounds_all_clocks_on_it() {
        // Ten each; the second clock is 5000 ahead, and the third 7000 behind.
        let times = [(0, 1, 5010), (1, 2, -11_990), (2, 0, 7010)];
        assert_eq!(found(3, &times), [0, 4995, -7002]);
    }

    #[test]
    fn times_that_cannot_be_are_no_reason_to_fail() {
        assert_eq!(found(2, &[(0, 1, i64::MIN), (1, 0, i64::MIN)]).len(), 2);
        assert_eq!(found(2, &[(0, 1, i64::MAX), (1, 0, i64::MIN)]).len(), 2);
    }
}
