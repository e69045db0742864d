//! Difference covers: sets of numbers whose differences are all the numbers modulo n.

use alloc::vec;
use alloc::vec::Vec;

/// Up to here the smallest cover is searched for. The most work is n = 63, where 1.4 million numbers are tried, in some
/// hundredths of a second; n = 66 would take 20 million.
pub(super) const MOST_SEARCHED: u32 = 65;

/// Whether every number modulo `n` is a difference of two of these.
pub(super) fn covers(n: u32, differences: &[u32]) -> bool {
    let mut covered = vec![false; n as usize];
    for &a in differences {
        for &b in differences {
            covered[((a + n - b) % n) as usize] = true;
        }
    }
    covered.into_iter().all(|covered| covered)
}

/// A cover with as few members as there can be, ascending from 0; for n from 2 to [`MOST_SEARCHED`].
pub(super) fn smallest(n: u32) -> Vec<u32> {
    assert!((2..=MOST_SEARCHED).contains(&n));
    // K members have K(K − 1) differences besides 0.
    let mut sizes = (2..).skip_while(|size| size * (size - 1) + 1 < n);
    sizes.find_map(|size| Search::new(n, size).run()).expect("all numbers together are a cover")
}

/// The search for a cover of a given size, by adding ever larger numbers.
///
/// A cover has two members whose difference is 1, so some shift of it begins with 0 and 1. Of a cover and its mirror
/// image, which begins so too, one is enough: that whose third member is no farther from 1 than its last is from 0.
struct Search {
    n: u32,
    size: usize,
    chosen: Vec<u32>,
}

impl Search {
    fn new(n: u32, size: u32) -> Search {
        Search { n, size: size as usize, chosen: vec![0, 1] }
    }

    fn run(mut self) -> Option<Vec<u32>> {
        let covered = self.covered_with(1, 1);
        self.extend(covered).then_some(self.chosen)
    }

    /// Whether the chosen ones, which cover `covered`, are part of a cover; if so, they are one now.
    fn extend(&mut self, covered: u64) -> bool {
        let missing = (self.n / 2 + 1) as usize - covered.count_ones() as usize;
        let (have, left) = (self.chosen.len(), self.size - self.chosen.len());
        // Each of those to come has one new difference to each one chosen before it, at most.
        if missing == 0 || missing > left * (2 * have + left - 1) / 2 {
            return missing == 0;
        }
        let mirrored = self.chosen.get(2).map_or(self.n, |third| self.n + 1 - third);
        let largest = mirrored.min(self.n - left as u32);
        for number in self.chosen[have - 1] + 1..=largest {
            let covered = self.covered_with(number, covered);
            self.chosen.push(number);
            if self.extend(covered) {
                return true;
            }
            self.chosen.pop();
        }
        false
    }

    /// What is covered with one more number. A difference and its opposite are one bit.
    fn covered_with(&self, number: u32, covered: u64) -> u64 {
        self.chosen.iter().fold(covered, |covered, chosen| {
            let difference = number - chosen;
            covered | 1 << difference.min(self.n - difference)
        })
    }
}

/// A cover made of a ruler that measures every length up to half of `n`, ascending from 0.
///
/// Wichmann's rulers have steps of 1 (r times), r + 1 (once), 2r + 1 (r times), 4r + 3 (s times), 2r + 2 (r + 1 times)
/// and 1 (r times): 4r + s + 3 marks that measure every length up to their own, which is 4r(r + s + 2) + 3(s + 1).
/// Modulo n, the opposites are measured too. Colbourn and Ling take s = 2r + 1, which gives the longest of these with
/// 6r + 4 marks; other choices serve the numbers of marks between.
pub(super) fn wichmann(n: u32) -> Vec<u32> {
    let (r, s) = (0..)
        .flat_map(|more| (0..=more / 4).map(move |r| (r, more - 4 * r)))
        .find(|(r, s)| 2 * (4 * r * (r + s + 2) + 3 * (s + 1)) + 1 >= n)
        .expect("rulers become as long as you like");
    let steps = [(1, r), (r + 1, 1), (2 * r + 1, r), (4 * r + 3, s), (2 * r + 2, r + 1), (1, r)];
    let mut marks = vec![0];
    let mut mark = 0;
    for (step, times) in steps {
        for _ in 0..times {
            mark += step;
            marks.push(mark);
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::{MOST_SEARCHED, covers, smallest, wichmann};

    /// The least sizes for n = 2, 3, … 65, as in the On-Line Encyclopedia of Integer Sequences, A283297.
    const LEAST: [usize; 64] = [
        2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 6, 5, 6, 6, 6, 6, 6, 6, 6, 7, 7, 6, 7, 7, 7, 7, 7, 7, 8,
        7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 8, 9, 9, 9, 9, 9, 9, 9, 9,
    ];

    #[test]
    fn search_finds_the_least_sizes() {
        for (n, least) in (2..=MOST_SEARCHED).zip(LEAST) {
            let cover = smallest(n);
            assert!(covers(n, &cover));
            assert_eq!(cover.len(), least, "n = {n}");
        }
    }

    #[test]
    fn wichmann_covers_have_the_published_size() {
        for r in 1..=25 {
            let n = 24 * r * r + 36 * r + 13;
            assert_eq!(wichmann(n).len() as u32, 6 * r + 4);
            assert!(covers(n, &wichmann(n)));
        }
    }

    #[test]
    fn what_does_not_cover_is_found_out() {
        assert!(covers(7, &[0, 1, 3]) && !covers(8, &[0, 1, 3]));
        assert!(covers(1, &[0]) && !covers(2, &[0]) && !covers(1, &[]));
    }
}
