//! Voting sets: whom a process asks before it enters, so that few are asked and no two get in together.
//!
//! Every process i has a set V_i of processes whose votes it needs, and every process gives its vote to one at a time.
//! Two that want to enter have a voter in common, and that voter keeps them apart. The four published conditions:
//!
//! 1. every process is in its own set;
//! 2. every two sets meet;
//! 3. all sets have the same size K;
//! 4. every process is in the same number M of sets (and so M = K).
//!
//! The second makes voting safe. The others make it cheap and fair: one's own vote costs no message, and nobody asks
//! more or is asked more than another. [`VotingSets::check`] judges all four.
//!
//! | kind | for which n | K | conditions |
//! |---|---|---|---|
//! | [`Grid`](SetsKind::Grid) | all | at most 2⌈√n⌉ − 1 | 1 and 2; all four if the last row is full |
//! | [`Plane`](SetsKind::Plane) | q² + q + 1, q a prime power; 1 and 3 | n = K(K−1) + 1, the least possible | all |
//! | [`Best`](SetsKind::Best) | all | a plane's, or else about 1.22 √n | all |
//!
//! **Grid.** Write 1, 2, … n into rows of ⌈√n⌉; V_i is the row of i and the column of i. Two sets meet although the
//! last row may be short: either both processes are in the same row, or one of them is in an earlier row, which is
//! full, and the other one's column crosses it. (It is not the rows that meet.) The exception is n = 3: there the sets
//! are the triangle {1, 2}, {2, 3}, {3, 1}, as in the literature; in a grid, process 1 would need all three votes.
//!
//! **Cyclic sets.** The others are V_i = { i + d mod n : d ∈ D } for one set D of numbers that contains 0. V_i and V_j
//! meet if and only if j − i is a difference of two members of D, so D must be a *difference cover*: every number
//! modulo n is such a difference. Conditions 3 and 4 hold by symmetry. K members have at most K(K−1) differences
//! besides 0, so n ≤ K(K−1) + 1.
//!
//! **Plane.** That bound is reached where every difference occurs once. Any two sets then have exactly one process in
//! common: they are the lines of a finite projective plane, of order q = K − 1. Singer's difference sets give one for
//! every prime power q, and no plane of another order is known. One process alone and the triangle satisfy the same
//! equation, with q = 0 and q = 1, and count as planes here.
//!
//! **Best.** A plane where there is one; otherwise, for n ≤ 65, the smallest difference cover, found by exhaustive
//! search; otherwise a cover by Colbourn and Ling's construction from Wichmann's rulers, which for n ≤ 24r² + 36r + 13
//! needs no more than 6r + 4 members. For some n above 65 smaller covers are known; none can have fewer than √n
//! members.
//!
//! *Sources*:
//! - M. Maekawa, "A √N algorithm for mutual exclusion in decentralized systems", ACM TOCS 3(2), 1985.
//! - J. Singer, "A theorem in finite projective geometry and some applications to number theory", Trans. AMS 43, 1938.
//! - B. Wichmann, "A note on restricted difference bases", J. London Math. Soc. 38, 1963.
//! - C. J. Colbourn, A. C. H. Ling, "Quorums from difference covers", Information Processing Letters 75, 2000.

mod conditions;
mod cover;
mod plane;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::clock::Fence;
use crate::id::{Id, IdSet};

pub use conditions::{Conditions, check_sets};

/// Which voting sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetsKind {
    /// Row and column of a grid.
    Grid,
    /// A finite projective plane, where there is one.
    Plane,
    /// The smallest we can construct of those that satisfy all four conditions.
    Best,
}

impl SetsKind {
    /// All kinds.
    pub const ALL: [SetsKind; 3] = [SetsKind::Grid, SetsKind::Plane, SetsKind::Best];

    /// Its name in commands and options.
    pub const fn name(self) -> &'static str {
        match self {
            SetsKind::Grid => "grid",
            SetsKind::Plane => "plane",
            SetsKind::Best => "best",
        }
    }
}

/// The voting sets of a whole group, as the rule that they follow: K numbers at most, whatever n is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VotingSets {
    n: u32,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Rule {
    /// Row and column of a grid.
    Grid { width: u32 },
    /// V_i = { i + d mod n : d ∈ differences }; the differences ascend from 0.
    Cyclic { differences: Vec<u32>, origin: Origin },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Origin {
    Plane { order: u32 },
    Search,
    Wichmann,
}

impl VotingSets {
    /// The voting sets of this kind for a group of `n`. Only a plane may not exist: [`VotingSets::why_no_plane`] has
    /// the words for it.
    ///
    /// # Panics
    /// If `n` is 0 or larger than any group ([`Fence::MOST_PROCESSES`]).
    pub fn new(kind: SetsKind, n: u32) -> Option<VotingSets> {
        assert!((1..=Fence::MOST_PROCESSES).contains(&n), "groups are checked for their size first");
        let rule = match kind {
            SetsKind::Grid if n == 3 => Rule::plane(n)?,
            SetsKind::Grid => Rule::Grid { width: (n - 1).isqrt() + 1 },
            SetsKind::Plane => Rule::plane(n)?,
            SetsKind::Best => Rule::plane(n).unwrap_or_else(|| Rule::cover(n)),
        };
        Some(VotingSets { n, rule })
    }

    /// Why there is no plane of `n` processes, and what to take instead, in one sentence.
    pub fn why_no_plane(n: u32) -> String {
        let exists = |&n: &u32| plane::order(n).is_some();
        let below = (1..n.min(Fence::MOST_PROCESSES)).rev().find(exists);
        let above = (n.saturating_add(1)..=Fence::MOST_PROCESSES).find(exists);
        let nearest = match (below, above) {
            (Some(below), Some(above)) => format!("n = {below} or n = {above}"),
            (Some(only), None) | (None, Some(only)) => format!("n = {only}"),
            (None, None) => unreachable!("there are planes of 1 and of 3 processes"),
        };
        format!(
            "no finite projective plane with n = {n} processes is known; use {nearest}, or the voting sets `{}` or \
             `{}`, which exist for every n",
            SetsKind::Grid.name(),
            SetsKind::Best.name()
        )
    }

    /// How many processes there are.
    pub fn n(&self) -> u32 {
        self.n
    }

    /// How wide the grid is, if the sets are rows and columns of one: it is filled row by row.
    pub fn grid_width(&self) -> Option<u32> {
        match self.rule {
            Rule::Grid { width } => Some(width),
            Rule::Cyclic { .. } => None,
        }
    }

    /// Whose votes this process needs: its voting set, ascending, itself included.
    pub fn of(&self, id: Id) -> Vec<Id> {
        let n = self.n;
        let me = self.position(id);
        match &self.rule {
            Rule::Grid { width } => {
                let row = me - me % width;
                let column = (me % width..n).step_by(*width as usize).filter(|&other| other != me);
                ascending((row..n.min(row + width)).chain(column))
            }
            Rule::Cyclic { differences, .. } => ascending(differences.iter().map(|difference| (me + difference) % n)),
        }
    }

    /// Who needs this process's vote: those whose voting sets contain it, ascending, itself included.
    pub fn containing(&self, id: Id) -> Vec<Id> {
        let n = self.n;
        let me = self.position(id);
        match &self.rule {
            // To share a row or a column is mutual.
            Rule::Grid { .. } => self.of(id),
            Rule::Cyclic { differences, .. } => {
                ascending(differences.iter().map(|difference| (me + n - difference) % n))
            }
        }
    }

    /// Whose votes this process needs if these are dead: its voting set, but in place of a dead voter all the living
    /// whose sets contain it. Itself included; it must live.
    ///
    /// Who knows of more dead always asks somebody whom who knows of fewer has asked, and who lives. Take a voter v
    /// that both sets have in common. If both take it for alive, both ask it; if only one does, the other asks all
    /// whose sets contain v, the first among them, which needs its own vote; if both take it for dead, both ask each
    /// other.
    pub fn of_living(&self, id: Id, dead: &IdSet) -> IdSet {
        let mut needed = IdSet::new();
        for voter in self.of(id) {
            if dead.contains(voter) {
                for other in self.containing(voter).into_iter().filter(|&other| !dead.contains(other)) {
                    needed.insert(other);
                }
            } else {
                needed.insert(voter);
            }
        }
        needed
    }

    /// What these sets are, for people.
    pub fn construction(&self) -> String {
        match &self.rule {
            Rule::Grid { width } => format!("row and column of a grid {width} wide"),
            Rule::Cyclic { origin: Origin::Plane { order: 0 }, .. } => String::from("one process"),
            Rule::Cyclic { origin: Origin::Plane { order: 1 }, .. } => {
                String::from("a triangle: every process and the next")
            }
            Rule::Cyclic { origin: Origin::Plane { order }, .. } => {
                format!("the finite projective plane of order {order} from Singer's difference set")
            }
            Rule::Cyclic { origin: Origin::Search, .. } => {
                format!("the smallest difference cover modulo {}, found by exhaustive search", self.n)
            }
            Rule::Cyclic { origin: Origin::Wichmann, .. } => {
                format!("Colbourn and Ling's difference cover modulo {}, from a Wichmann ruler", self.n)
            }
        }
    }

    /// Judges the four published conditions.
    ///
    /// A grid's sets are written out and compared. Cyclic sets are judged by their differences: all other sets are the
    /// first one, shifted.
    pub fn check(&self) -> Conditions {
        match &self.rule {
            Rule::Grid { .. } => {
                let sets: Vec<Vec<Id>> = Id::all(self.n).map(|id| self.of(id)).collect();
                check_sets(&sets)
            }
            Rule::Cyclic { differences, .. } => {
                let size = differences.len() as u32;
                Conditions {
                    own: differences.contains(&0),
                    meet: cover::covers(self.n, differences),
                    size: (size, size),
                    membership: (size, size),
                }
            }
        }
    }

    /// The place of a process in 0, 1, … n − 1.
    fn position(&self, id: Id) -> u32 {
        assert!(id.number() <= self.n, "{id} is not one of {}", self.n);
        id.number() - 1
    }
}

impl Rule {
    fn plane(n: u32) -> Option<Rule> {
        let order = plane::order(n)?;
        Some(Rule::cyclic(n, plane::differences(order), Origin::Plane { order }))
    }

    fn cover(n: u32) -> Rule {
        if n <= cover::MOST_SEARCHED {
            Rule::cyclic(n, cover::smallest(n), Origin::Search)
        } else {
            Rule::cyclic(n, cover::wichmann(n), Origin::Wichmann)
        }
    }

    fn cyclic(n: u32, differences: Vec<u32>, origin: Origin) -> Rule {
        debug_assert!(differences.is_sorted_by(|a, b| a < b) && differences[0] == 0 && differences.last() < Some(&n));
        debug_assert!(cover::covers(n, &differences));
        Rule::Cyclic { differences, origin }
    }
}

fn ascending(positions: impl Iterator<Item = u32>) -> Vec<Id> {
    let mut ids: Vec<Id> = positions.map(|position| Id::new(position + 1)).collect();
    ids.sort_unstable();
    ids
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{SetsKind, VotingSets};
    use crate::id::Id;

    fn set(kind: SetsKind, n: u32, id: u32) -> Vec<u32> {
        VotingSets::new(kind, n).unwrap().of(Id::new(id)).into_iter().map(Id::number).collect()
    }

    /// M2.
    #[test]
    fn three_processes_form_a_triangle_in_every_kind() {
        for kind in SetsKind::ALL {
            assert_eq!([set(kind, 3, 1), set(kind, 3, 2), set(kind, 3, 3)], [[1, 2], [2, 3], [1, 3]]);
        }
    }

    /// M11.
    #[test]
    fn sets_in_the_grid_of_36_are_those_of_the_literature() {
        assert_eq!(set(SetsKind::Grid, 36, 14), [2, 8, 13, 14, 15, 16, 17, 18, 20, 26, 32]);
        assert_eq!(set(SetsKind::Grid, 36, 29), [5, 11, 17, 23, 25, 26, 27, 28, 29, 30, 35]);
    }

    #[test]
    fn a_short_last_row_is_met_through_its_columns() {
        // 1 2 3
        // 4 5
        assert_eq!(set(SetsKind::Grid, 5, 3), [1, 2, 3]);
        assert_eq!(set(SetsKind::Grid, 5, 5), [2, 4, 5]);
    }

    #[test]
    fn the_plane_of_seven_shifts_one_set_around() {
        let sets = VotingSets::new(SetsKind::Plane, 7).unwrap();
        let first = sets.of(Id::new(1));
        let third: Vec<Id> = sets.of(Id::new(3));
        let shifted = first.iter().map(|id| id.successor(7).successor(7));
        assert_eq!((first.len(), third.len()), (3, 3));
        assert!(shifted.into_iter().all(|id| third.contains(&id)));
    }

    #[test]
    fn a_missing_plane_is_explained_with_what_to_take_instead() {
        assert_eq!(
            VotingSets::why_no_plane(8),
            "no finite projective plane with n = 8 processes is known; use n = 7 or n = 13, or the voting sets `grid` \
             or `best`, which exist for every n"
        );
        assert!(VotingSets::why_no_plane(2).contains("use n = 1 or n = 3, or"));
        // The next plane, of order 128, is larger than any group.
        assert!(VotingSets::why_no_plane(16_383).contains("use n = 16257, or"));
    }

    #[test]
    fn constructions_say_what_they_are() {
        let construction = |kind, n| VotingSets::new(kind, n).unwrap().construction();
        assert_eq!(construction(SetsKind::Grid, 36), "row and column of a grid 6 wide");
        assert_eq!(construction(SetsKind::Grid, 3), "a triangle: every process and the next");
        assert_eq!(
            construction(SetsKind::Best, 57),
            "the finite projective plane of order 7 from Singer's difference set"
        );
        assert_eq!(
            construction(SetsKind::Best, 50),
            "the smallest difference cover modulo 50, found by exhaustive search"
        );
        assert_eq!(
            construction(SetsKind::Best, 100),
            "Colbourn and Ling's difference cover modulo 100, from a Wichmann ruler"
        );
    }
}
