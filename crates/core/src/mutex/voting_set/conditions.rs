//! The four published conditions, judged for any sets.

use alloc::vec;
use alloc::vec::Vec;

use crate::id::Id;

/// Which of the four published conditions hold. The first two are required; the others make the load equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// Every process is in its own set.
    pub own: bool,
    /// Every two sets meet, and none is empty.
    pub meet: bool,
    /// The sizes of the smallest and of the largest set: K and K if they are equal.
    pub size: (u32, u32),
    /// In how many sets a process is, at least and at most: M and M if all are in equally many.
    pub membership: (u32, u32),
}

impl Conditions {
    /// Whether the two hold that voting needs.
    pub fn required(&self) -> bool {
        self.own && self.meet
    }

    /// Whether all sets have the same size.
    pub fn equal_size(&self) -> bool {
        self.size.0 == self.size.1
    }

    /// Whether all processes are in the same number of sets.
    pub fn equal_membership(&self) -> bool {
        self.membership.0 == self.membership.1
    }

    /// Whether all four hold.
    pub fn all(&self) -> bool {
        self.required() && self.equal_size() && self.equal_membership()
    }
}

/// Judges any sets: the first is that of process 1, and so on. The members of a set may be in any order, and may be
/// processes that have no set of their own; a member named twice counts once.
pub fn check_sets(sets: &[Vec<Id>]) -> Conditions {
    let voters = sets.iter().flatten().map(|id| id.index() + 1).max().unwrap_or(0).max(sets.len());
    let mut own = true;
    let mut sizes = vec![0; sets.len()];
    let mut memberships = vec![0; voters];
    let mut last_named_by = vec![None; voters];
    for (process, set) in sets.iter().enumerate() {
        for member in set.iter().map(|id| id.index()) {
            if last_named_by[member] != Some(process) {
                last_named_by[member] = Some(process);
                sizes[process] += 1;
                memberships[member] += 1;
            }
        }
        own &= last_named_by[process] == Some(process);
    }
    Conditions {
        own,
        meet: every_two_meet(sets, voters),
        size: least_and_most(&sizes),
        membership: least_and_most(&memberships[..sets.len()]),
    }
}

/// Compares each set with 64 others at a time: a word for each voter says which of those it is in.
fn every_two_meet(sets: &[Vec<Id>], voters: usize) -> bool {
    let mut words = vec![0u64; voters];
    for (chunk_index, chunk) in sets.chunks(64).enumerate() {
        words.fill(0);
        for (bit, set) in chunk.iter().enumerate() {
            for id in set {
                words[id.index()] |= 1 << bit;
            }
        }
        let all = u64::MAX >> (64 - chunk.len());
        // Those before the chunk have been compared with it already.
        for set in &sets[chunk_index * 64..] {
            if set.iter().fold(0, |met, id| met | words[id.index()]) != all {
                return false;
            }
        }
    }
    true
}

fn least_and_most(counts: &[u32]) -> (u32, u32) {
    let least = counts.iter().copied().min().unwrap_or(0);
    let most = counts.iter().copied().max().unwrap_or(0);
    (least, most)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::check_sets;
    use crate::id::Id;

    fn sets(numbers: &[&[u32]]) -> Vec<Vec<Id>> {
        numbers.iter().map(|set| set.iter().map(|&number| Id::new(number)).collect()).collect()
    }

    /// M7, second sentence.
    #[test]
    fn quorums_of_the_literature_meet_or_do_not() {
        assert!(check_sets(&sets(&[&[2, 5, 7], &[5, 7, 9]])).meet);
        assert!(!check_sets(&sets(&[&[1, 2, 3], &[5, 7, 9]])).meet);
    }

    #[test]
    fn the_triangle_satisfies_all_four() {
        let triangle = check_sets(&sets(&[&[1, 2], &[2, 3], &[3, 1]]));
        assert!(triangle.all());
        assert_eq!((triangle.size, triangle.membership), ((2, 2), (2, 2)));
    }

    #[test]
    fn each_condition_can_fail_alone() {
        let holds = |numbers| {
            let conditions = check_sets(&sets(numbers));
            assert!(!conditions.all());
            [conditions.own, conditions.meet, conditions.equal_size(), conditions.equal_membership()]
        };
        assert_eq!(holds(&[&[2, 3], &[3, 1], &[1, 2]]), [false, true, true, true]);
        assert_eq!(holds(&[&[1, 2], &[2, 1], &[3, 4], &[4, 3]]), [true, false, true, true]);
        assert_eq!(holds(&[&[1, 2, 3, 4], &[2, 3], &[3, 1, 4], &[4, 1, 2]]), [true, true, false, true]);
        assert_eq!(holds(&[&[1, 2], &[2, 3], &[3, 2]]), [true, true, true, false]);
    }

    #[test]
    fn an_empty_set_meets_nothing_and_a_repeated_member_counts_once() {
        assert!(!check_sets(&sets(&[&[]])).meet);
        assert_eq!(check_sets(&sets(&[&[1, 1, 1]])).size, (1, 1));
    }
}
