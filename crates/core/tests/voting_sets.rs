//! The published conditions of voting sets, for every kind and every group size.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::{Index, select};
use quorate_core::clock::Fence;
use quorate_core::id::{Id, IdSet};
use quorate_core::mutex::voting_set::{SetsKind, VotingSets, check_sets};

/// Up to here all sets are written out.
const SMALL: u32 = 200;

fn every_kind(n: u32) -> impl Iterator<Item = (SetsKind, VotingSets)> {
    SetsKind::ALL.into_iter().filter_map(move |kind| Some((kind, VotingSets::new(kind, n)?)))
}

fn written_out(sets: &VotingSets) -> Vec<Vec<Id>> {
    Id::all(sets.n()).map(|id| sets.of(id)).collect()
}

fn in_common(one: &[Id], other: &[Id]) -> usize {
    one.iter().filter(|id| other.contains(id)).count()
}

/// The sizes of groups that have a plane.
fn planes() -> Vec<u32> {
    let is_prime = |p: u32| (2..p).all(|divisor| !p.is_multiple_of(divisor));
    let powers = |p| std::iter::successors(Some(p), move |power| Some(power * p)).take_while(|&power| power <= 127);
    let mut orders: Vec<u32> = (2..=127).filter(|&p| is_prime(p)).flat_map(powers).chain([0, 1]).collect();
    orders.sort_unstable();
    orders.into_iter().map(|order| order * order + order + 1).collect()
}

#[test]
fn every_process_is_in_its_own_set_and_every_two_sets_meet() {
    for n in 1..=SMALL {
        for (kind, sets) in every_kind(n) {
            let written_out = written_out(&sets);
            for (index, one) in written_out.iter().enumerate() {
                assert!(one.is_sorted_by(|a, b| a < b) && one.last() <= Some(&Id::new(n)), "{kind:?} of {n}: {one:?}");
                assert!(one.contains(&Id::at(index)), "{kind:?} of {n}");
                assert!(written_out.iter().all(|other| in_common(one, other) > 0), "{kind:?} of {n}");
            }
        }
    }
}

#[test]
fn the_rule_is_judged_like_the_sets_written_out() {
    for n in 1..=SMALL {
        for (kind, sets) in every_kind(n) {
            let conditions = sets.check();
            assert_eq!(conditions, check_sets(&written_out(&sets)), "{kind:?} of {n}");
            assert!(conditions.required(), "{kind:?} of {n}");
        }
    }
}

#[test]
fn containing_is_the_inverse_of_of() {
    for n in 1..=SMALL {
        for (kind, sets) in every_kind(n) {
            let written_out = written_out(&sets);
            for id in Id::all(n) {
                let expected: Vec<Id> = Id::all(n).filter(|other| written_out[other.index()].contains(&id)).collect();
                assert_eq!(sets.containing(id), expected, "{kind:?} of {n}");
            }
        }
    }
}

/// M9, and what becomes of it where n is not a square.
#[test]
fn grids_ask_at_most_twice_the_root_less_one() {
    for n in (1..=SMALL).filter(|&n| n != 3) {
        let width = (1..).find(|width| width * width >= n).unwrap();
        let conditions = VotingSets::new(SetsKind::Grid, n).unwrap().check();
        assert!(conditions.size.1 < 2 * width, "n = {n}");
        assert_eq!(conditions.all(), n.is_multiple_of(width), "n = {n}");
        if width * width == n {
            assert_eq!(conditions.size, (2 * width - 1, 2 * width - 1));
        }
    }
}

/// M10: rows alone do not meet; it takes the columns.
#[test]
fn rows_alone_do_not_meet() {
    let row = |id: Id| (0..3).map(|column| Id::at(id.index() / 3 * 3 + column)).collect();
    let rows: Vec<Vec<Id>> = Id::all(9).map(row).collect();
    let conditions = check_sets(&rows);
    assert!(conditions.own && !conditions.meet && conditions.equal_size() && conditions.equal_membership());
}

#[test]
fn planes_exist_exactly_for_prime_powers_and_the_two_smallest() {
    let exists = |n: &u32| VotingSets::new(SetsKind::Plane, *n).is_some();
    let found: Vec<u32> = (1..=Fence::MOST_PROCESSES).filter(exists).collect();
    assert_eq!(found, planes());
}

/// M8: N = K(K−1) + 1.
#[test]
fn planes_satisfy_all_four_with_the_least_possible_size() {
    for n in planes() {
        let conditions = VotingSets::new(SetsKind::Plane, n).unwrap().check();
        let (size, _) = conditions.size;
        assert!(conditions.all(), "n = {n}");
        assert_eq!(size * (size - 1) + 1, n);
        assert_eq!(conditions.membership, (size, size));
    }
}

#[test]
fn two_sets_of_a_plane_have_exactly_one_process_in_common() {
    for n in planes().into_iter().filter(|&n| n <= SMALL) {
        let sets = VotingSets::new(SetsKind::Plane, n).unwrap();
        let written_out = written_out(&sets);
        for (index, one) in written_out.iter().enumerate() {
            assert!(written_out[..index].iter().all(|other| in_common(one, other) == 1), "n = {n}");
        }
    }
}

#[test]
fn the_best_satisfy_all_four_for_every_group_size() {
    for n in 1..=Fence::MOST_PROCESSES {
        let sets = VotingSets::new(SetsKind::Best, n).unwrap();
        let conditions = sets.check();
        assert!(conditions.all(), "n = {n}");
        let (size, _) = conditions.size;
        assert!(size * (size - 1) + 1 >= n, "no cover is smaller than a plane would be");
        let r = (0..).find(|r| 24 * r * r + 36 * r + 13 >= n).unwrap();
        assert!(size <= 6 * r + 4, "n = {n}: {size} is more than Colbourn and Ling need");
        let grid = VotingSets::new(SetsKind::Grid, n).unwrap();
        // Nobody has a larger set than process 1, whose row is full and whose column is the longest.
        assert!(size as usize <= grid.of(Id::new(1)).len(), "n = {n}");
    }
}

#[test]
fn known_sizes_of_the_best() {
    let size = |n| VotingSets::new(SetsKind::Best, n).unwrap().of(Id::new(1)).len();
    let small: Vec<usize> = (4..=13).map(size).collect();
    assert_eq!(small, [3, 3, 3, 3, 4, 4, 4, 4, 4, 4]);
    assert_eq!([50, 100, 1000, 10_000, 16_257, 16_383].map(size), [8, 12, 39, 122, 128, 157]);
}

#[test]
fn why_there_is_no_plane_names_the_nearest() {
    let planes = planes();
    for n in (2..=Fence::MOST_PROCESSES).filter(|n| !planes.contains(n)) {
        let why = VotingSets::why_no_plane(n);
        let above = planes.partition_point(|&plane| plane < n);
        assert!(why.contains(&format!("with n = {n} processes")), "{why}");
        assert!(why.contains(&format!("use n = {}", planes[above - 1])), "{why}");
        assert!(planes.get(above).is_none_or(|plane| why.contains(&format!(" or n = {plane},"))), "{why}");
    }
}

#[test]
fn two_sets_that_do_not_meet_are_found_wherever_they_are() {
    let mut sets = vec![vec![Id::new(1), Id::new(2)]; 150];
    assert!(check_sets(&sets).meet);
    for one in 0..sets.len() {
        let removed = sets[one].pop().unwrap();
        for other in 0..one {
            let removed = sets[other].remove(0);
            assert!(!check_sets(&sets).meet, "{one} and {other}");
            sets[other].insert(0, removed);
        }
        assert!(check_sets(&sets).meet);
        sets[one].push(removed);
    }
}

/// Any kind that exists, in a group of any size.
fn any_sets() -> impl Strategy<Value = VotingSets> {
    let any = (select(vec![SetsKind::Grid, SetsKind::Best]), 1..=Fence::MOST_PROCESSES);
    let plane = select(planes()).prop_map(|n| (SetsKind::Plane, n));
    prop_oneof![any, plane].prop_map(|(kind, n)| VotingSets::new(kind, n).unwrap())
}

fn sets_and_two() -> impl Strategy<Value = (VotingSets, Id, Id)> {
    any_sets().prop_flat_map(|sets| {
        let n = sets.n();
        (Just(sets), (1..=n).prop_map(Id::new), (1..=n).prop_map(Id::new))
    })
}

proptest! {
    #[test]
    fn any_two_of_any_group_meet((sets, one, other) in sets_and_two()) {
        prop_assert!(sets.of(one).contains(&one));
        prop_assert!(in_common(&sets.of(one), &sets.of(other)) > 0);
        prop_assert_eq!(sets.of(one).contains(&other), sets.containing(other).contains(&one));
        prop_assert!(sets.containing(one).iter().all(|&id| sets.of(id).contains(&one)));
    }

    /// A plane has no vote to spare: without any one of them, two sets no longer meet.
    #[test]
    fn a_plane_with_one_vote_less_is_refused(order in select(vec![1, 2, 3, 4, 5, 7, 8, 9]), vote in any::<Index>()) {
        let n: u32 = order * order + order + 1;
        let mut sets = written_out(&VotingSets::new(SetsKind::Plane, n).unwrap());
        let vote = vote.index((n * (order + 1)) as usize);
        let index = vote % n as usize;
        let removed = sets[index].remove(vote / n as usize);
        let conditions = check_sets(&sets);
        prop_assert!(!conditions.meet);
        prop_assert_eq!(conditions.own, removed != Id::at(index));
        prop_assert_eq!(conditions.size, (order, order + 1));
        prop_assert_eq!(conditions.membership, (order, order + 1));
    }

    #[test]
    fn any_sets_are_judged_by_the_definition(numbers in vec(vec(1u32..=6, 0..7), 1..6)) {
        let sets: Vec<Vec<Id>> = numbers.into_iter().map(|set| set.into_iter().map(Id::new).collect()).collect();
        let meet = sets.iter().all(|one| sets.iter().all(|other| in_common(one, other) > 0));
        let own = sets.iter().enumerate().all(|(index, set)| set.contains(&Id::at(index)));
        let conditions = check_sets(&sets);
        prop_assert_eq!((conditions.own, conditions.meet), (own, meet));
    }
}

/// The living part of what who knows of fewer crashes has asked, and what who knows of more asks, as sets of bits.
fn bits(ids: impl IntoIterator<Item = Id>) -> u32 {
    ids.into_iter().fold(0, |bits, id| bits | 1 << id.index())
}

/// All sets of at most so many of these.
fn some_of(n: u32, most: u32) -> impl Iterator<Item = u32> {
    (0u32..1 << n).filter(move |set| set.count_ones() <= most)
}

#[test]
fn whatever_two_know_of_up_to_three_crashes_their_sets_meet_in_somebody_alive() {
    for n in 1..=25u32 {
        for kind in SetsKind::ALL {
            let Some(sets) = VotingSets::new(kind, n) else { continue };
            let dead_of = |set: u32| Id::all(n).filter(move |id| set >> id.index() & 1 == 1).collect::<IdSet>();
            for dead in some_of(n, 3.min(n - 1)) {
                let living: Vec<Id> = Id::all(n).filter(|id| dead >> id.index() & 1 == 0).collect();
                let of = |known: u32| -> Vec<u32> {
                    let known = dead_of(known);
                    living.iter().map(|&id| bits(sets.of_living(id, &known).iter())).collect()
                };
                let knowing_all = of(dead);
                for fewer in (0..=dead).filter(|fewer| fewer & !dead == 0) {
                    for asked in of(fewer) {
                        assert!(
                            knowing_all.iter().all(|needed| needed & asked & !dead != 0),
                            "n = {n}, {kind:?}, dead {dead:b}, known before {fewer:b}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn sets_that_are_made_anew_of_the_living_can_miss_those_of_before() {
    let (before, after) = (VotingSets::new(SetsKind::Grid, 10).unwrap(), VotingSets::new(SetsKind::Grid, 9).unwrap());
    let missed = Id::all(10).any(|dead| {
        let living: Vec<Id> = dead.others(10).collect();
        let anew = |place: usize| bits(after.of(Id::at(place)).into_iter().map(|id| living[id.index()]));
        let old = |id: Id| bits(before.of(id)) & !(1 << dead.index());
        (0..9).any(|place| living.iter().any(|&other| anew(place) & old(other) == 0))
    });
    assert!(missed, "then there would be no need for anything else");
}
