//! Sets of processes behave like sets of numbers, and rings of processes like rings.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use quorate_core::id::{Id, IdSet};

/// Members around the ends of words, where a set of bits can go wrong, and anywhere else.
fn members() -> impl Strategy<Value = u32> {
    prop_oneof![1..8u32, 60..70u32, 126..131u32, 1..400u32]
}

fn set(members: &BTreeSet<u32>) -> IdSet {
    members.iter().copied().map(Id::new).collect()
}

fn numbers(set: &IdSet) -> Vec<u32> {
    set.iter().map(Id::number).collect()
}

proptest! {
    #[test]
    fn a_set_of_ids_is_a_set_of_numbers(changes in vec((any::<bool>(), members()), 0..60), asked in members()) {
        let (mut ids, mut expected) = (IdSet::new(), BTreeSet::new());
        for (insert, member) in changes {
            if insert {
                prop_assert_eq!(ids.insert(Id::new(member)), expected.insert(member));
            } else {
                prop_assert_eq!(ids.remove(Id::new(member)), expected.remove(&member));
            }
            prop_assert_eq!(ids.contains(Id::new(member)), insert);
            prop_assert_eq!(ids.len(), expected.len());
            prop_assert_eq!(ids.is_empty(), expected.is_empty());
        }
        prop_assert_eq!(ids.contains(Id::new(asked)), expected.contains(&asked));
        prop_assert_eq!(numbers(&ids), expected.iter().copied().collect::<Vec<_>>());
        // Whatever led here, equal sets are equal values.
        prop_assert_eq!(&ids, &set(&expected));
        prop_assert_eq!(ids.take(), set(&expected));
        prop_assert_eq!(ids, IdSet::new());
    }

    #[test]
    fn sets_are_equal_if_and_only_if_their_members_are(
        a in btree_set(members(), 0..4), b in btree_set(members(), 0..4), passing in vec(members(), 0..8)
    ) {
        prop_assert_eq!(set(&a) == set(&b), a == b);
        let mut visited = set(&a);
        for &member in &passing {
            visited.insert(Id::new(member));
        }
        for &member in passing.iter().filter(|member| !a.contains(member)) {
            visited.remove(Id::new(member));
        }
        prop_assert_eq!(visited, set(&a));
    }

    #[test]
    fn the_others_are_all_but_one(n in 1..300u32, me in 1..300u32) {
        let expected: BTreeSet<u32> = (1..=n).filter(|&id| id != me).collect();
        prop_assert_eq!(&IdSet::others(Id::new(me), n), &set(&expected));
        prop_assert_eq!(Id::new(me).others(n).map(Id::number).collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn who_goes_round_the_ring_meets_everybody_once(n in 1..200u32, start in 0..200u32) {
        let start = Id::new(start % n + 1);
        let round: Vec<Id> = std::iter::successors(Some(start), |id| Some(id.successor(n))).take(n as usize).collect();
        prop_assert_eq!(round.iter().copied().collect::<IdSet>(), Id::all(n).collect::<IdSet>());
        prop_assert_eq!(round[round.len() - 1].successor(n), start);
        prop_assert!(round.iter().all(|id| id.successor(n).predecessor(n) == *id));
        prop_assert!(round.iter().all(|id| Id::at(id.index()) == *id));
    }
}

#[test]
fn the_others_of_whole_words_are_exact() {
    for n in [1, 63, 64, 65, 127, 128, 129] {
        let others = IdSet::others(Id::new(n), n);
        assert_eq!(numbers(&others), (1..n).collect::<Vec<_>>(), "n = {n}");
        assert_eq!(others, (1..n).map(Id::new).collect(), "n = {n}");
    }
}
