//! Voting sets: arithmetic.

use quorate_core::id::Id;
use quorate_core::mutex::voting_set::{SetsKind, VotingSets, check_sets};

use super::court::{number, p, yes_or_no};
use super::{Claim, Court, Verdict};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "M0.B",
        documents: "B",
        statement: "A voter in the union of the voting sets of two processes keeps the two from being inside together.",
        judge: |court| keeps_apart(court, |first, second, id| first.contains(id) || second.contains(id)),
    },
    Claim {
        id: "M0.E",
        documents: "E",
        statement: "A voter in the intersection of the voting sets of two processes keeps the two from being inside \
                    together.",
        judge: |court| keeps_apart(court, |first, second, id| first.contains(id) && second.contains(id)),
    },
    Claim {
        id: "M7",
        documents: "A, B, C, E",
        statement: "There are voting sets such that every process is in its own set, every two sets intersect, all \
                    sets have the same size K, and every process is in M = K > 1 sets.",
        judge: |court| {
            court.cite("quorate voting-sets -n 13 --kind best");
            let missing: Vec<_> = (2..=200)
                .filter(|&n| {
                    let conditions = sets(SetsKind::Best, n).check();
                    !(conditions.all() && conditions.size.0 == conditions.membership.0 && conditions.size.0 > 1)
                })
                .collect();
            let grids = (2..=200).filter(|&n| sets(SetsKind::Grid, n).check().all()).count();
            court.say(format!(
                "values of n from 2 to 200 for which all four conditions hold: {} of 199 with the best sets, {grids} \
                 with the rows and columns of a grid",
                199 - missing.len()
            ));
            Verdict::of(missing.is_empty())
        },
    },
    Claim {
        id: "M7.E",
        documents: "E",
        statement: "{2, 5, 7} and {5, 7, 9} can both be quorums; {1, 2, 3} and {5, 7, 9} cannot.",
        judge: |court| {
            court.cite("quorate voting-sets -n 9");
            let meet = |first: [u32; 3], second: [u32; 3]| {
                check_sets(&[first.map(Id::new).to_vec(), second.map(Id::new).to_vec()]).meet
            };
            let (first, second) = (meet([2, 5, 7], [5, 7, 9]), meet([1, 2, 3], [5, 7, 9]));
            court.say(format!(
                "the first pair intersects: {}; the second pair: {}",
                yes_or_no(first),
                yes_or_no(second)
            ));
            Verdict::of(first && !second)
        },
    },
    Claim {
        id: "M8.ABC",
        documents: "A, B, C",
        statement: "The smallest possible size K of the voting sets is about √N.",
        judge: |court| {
            court.cite("quorate voting-sets -n 133 --kind best");
            let ratio = |n| f64::from(sets(SetsKind::Best, n).check().size.0) / f64::from(n).sqrt();
            let worst = (7..=400).map(ratio).fold(0.0, f64::max);
            let planes: Vec<_> = [7, 13, 31, 57, 133, 307].into_iter().map(ratio).collect();
            let shown: Vec<_> = planes.iter().map(|&ratio| number(ratio)).collect();
            court.say(format!(
                "K/√N is at most {} for n = 7 to 400; for n = 7, 13, 31, 57, 133, 307 it is {}",
                number(worst),
                shown.join(", ")
            ));
            Verdict::of(
                worst < 1.5 && planes.windows(2).all(|pair| pair[1] < pair[0]) && planes.iter().all(|&r| r >= 1.0),
            )
        },
    },
    Claim {
        id: "M8.E",
        documents: "E",
        statement: "The best voting sets have N = K(K−1) + 1, which gives K = √N.",
        judge: |court| {
            court.cite("quorate voting-sets -n 7 --kind plane");
            let mut equal = true;
            for n in [7, 13, 31, 57] {
                let k = sets(SetsKind::Plane, n).check().size.0;
                let fits = n == k * (k - 1) + 1;
                equal &= fits && k * k == n;
                court.say(format!("n = {n}: K = {k}; N = K(K−1) + 1: {}; K² = {}", yes_or_no(fits), k * k));
            }
            Verdict::of(equal)
        },
    },
    Claim {
        id: "M8.A",
        documents: "A",
        statement: "The size K of the voting sets is at least √(n−1).",
        judge: |court| {
            court.cite("quorate voting-sets -n 13 --kind best");
            let constructed = (1..=400).all(|n| {
                let k = sets(SetsKind::Best, n).check().size.0;
                k * k >= n - 1
            });
            let smallest: Vec<_> = (1..=4).map(smallest_of_all).collect();
            let exhaustive = (1..=4).zip(&smallest).all(|(n, &k)| k * k >= n - 1);
            court.say(format!(
                "the best sets that quorate constructs satisfy it for n = 1 to 400: {}",
                yes_or_no(constructed)
            ));
            court.say(format!(
                "among all systems of intersecting sets of equal size, the smallest K for n = 1 to 4 is {smallest:?}, \
                 which satisfies it: {}",
                yes_or_no(exhaustive)
            ));
            Verdict::of(constructed && exhaustive)
        },
    },
    Claim {
        id: "M9",
        documents: "B, C",
        statement: "A row and a column of a √N × √N grid form a voting set of size K = 2√N − 1.",
        judge: |court| {
            court.cite("quorate voting-sets -n 36");
            let all =
                (2..=20u32).all(|side| sets(SetsKind::Grid, side * side).check().size == (2 * side - 1, 2 * side - 1));
            court.say(format!("all grids from 2 × 2 to 20 × 20 have this size: {}", yes_or_no(all)));
            Verdict::of(all)
        },
    },
    Claim {
        id: "M10",
        documents: "B",
        statement: "Any two rows of the grid intersect, which is why its voting sets intersect.",
        judge: |court| {
            court.cite("quorate voting-sets -n 9");
            let side = 3;
            let row = |k: u32| (k * side + 1..=(k + 1) * side).collect::<Vec<_>>();
            let column = |k: u32| (0..side).map(|at| at * side + k + 1).collect::<Vec<_>>();
            let meets = |first: &[u32], second: &[u32]| first.iter().any(|id| second.contains(id));
            let rows = (0..side).all(|k| (0..side).all(|l| meets(&row(k), &row(l))));
            let crossing = (0..side).all(|k| (0..side).all(|l| meets(&row(k), &column(l))));
            court.say(format!(
                "3 × 3 grid; the rows {:?} and {:?} intersect: {}; every row intersects every column: {}",
                row(0),
                row(1),
                yes_or_no(meets(&row(0), &row(1))),
                yes_or_no(crossing)
            ));
            Verdict::of(rows)
        },
    },
    Claim {
        id: "M11",
        documents: "A",
        statement: "In the 6 × 6 grid, the voting set of p14 is {2, 8, 13–18, 20, 26, 32} and that of p29 is {5, 11, \
                    17, 23, 25–30, 35}.",
        judge: |court| {
            court.cite("quorate voting-sets -n 36");
            let set = |id| sets(SetsKind::Grid, 36).of(p(id)).into_iter().map(Id::number).collect::<Vec<_>>();
            court.say(format!("p14: {:?}; p29: {:?}", set(14), set(29)));
            Verdict::of(
                set(14) == [2, 8, 13, 14, 15, 16, 17, 18, 20, 26, 32]
                    && set(29) == [5, 11, 17, 23, 25, 26, 27, 28, 29, 30, 35],
            )
        },
    },
];

fn sets(kind: SetsKind, n: u32) -> VotingSets {
    VotingSets::new(kind, n).expect("claims ask for planes where there are some")
}

/// Whether each of these voters is asked by both of any two, which it must be to keep them apart.
fn keeps_apart(court: &mut Court, is: fn(&[Id], &[Id], &Id) -> bool) -> Verdict {
    court.cite("quorate voting-sets -n 9");
    let (mut voters, mut idle, mut example) = (0u64, 0u64, None);
    for n in 3..=36 {
        let sets = sets(SetsKind::Grid, n);
        for first in Id::all(n) {
            for second in Id::all(n).filter(|&second| second > first) {
                let (one, other) = (sets.of(first), sets.of(second));
                let chosen: Vec<_> = Id::all(n).filter(|id| is(&one, &other, id)).collect();
                // Somebody must do it, so none at all is as bad.
                voters += chosen.len() as u64;
                idle += u64::from(chosen.is_empty());
                for voter in chosen.into_iter().filter(|id| !(one.contains(id) && other.contains(id))) {
                    idle += 1;
                    example.get_or_insert((n, first, second, voter));
                }
            }
        }
    }
    court.say(format!(
        "grids of 3 to 36 processes, all pairs of processes: the claim names {voters} voters, of which {idle} are not \
         in both voting sets"
    ));
    if let Some((n, first, second, voter)) = example {
        court.say(format!(
            "n = {n}: {voter} is not in the voting sets of both {first} and {second}, so it does not keep them apart"
        ));
    }
    Verdict::of(idle == 0)
}

/// The smallest K of all systems of voting sets of equal size that contain their owners and meet.
fn smallest_of_all(n: u32) -> u32 {
    let bits = n * n;
    let system = |word: u32| (0..n).map(move |owner| word >> (owner * n) & ((1 << n) - 1));
    let fits = |word: &u32| {
        let sets: Vec<_> = system(*word).collect();
        let own = sets.iter().zip(0..).all(|(set, owner)| set >> owner & 1 == 1);
        let size = sets[0].count_ones();
        own && sets.iter().all(|set| set.count_ones() == size && sets.iter().all(|other| set & other != 0))
    };
    let words = 0..=(if bits == 32 { u32::MAX } else { (1 << bits) - 1 });
    words.filter(fits).map(|word| system(word).next().unwrap_or(0).count_ones()).min().unwrap_or(0)
}
