//! The laws of logical time, on random clocks and random small histories.

use std::cmp::Ordering;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::Index;
use quorate_core::clock::{Epoch, Fence, LamportClock, Number, Timestamp, VectorClock};
use quorate_core::id::Id;

/// How many processes the histories have.
const PROCESSES: usize = 4;

fn numbers() -> impl Strategy<Value = Number> {
    // Small ones as well, so that equal ones meet.
    prop_oneof![0..4u64, 0..=Number::LARGEST_RECEIVED].prop_map(|number| Number::try_from(number).unwrap())
}

fn timestamps() -> impl Strategy<Value = Timestamp> {
    (numbers(), prop_oneof![1..4u32, 1..=Fence::MOST_PROCESSES])
        .prop_map(|(number, id)| Timestamp::new(number, Id::new(id)))
}

fn vector_clocks() -> impl Strategy<Value = VectorClock> {
    vec(1..=PROCESSES as u32, 0..12).prop_map(|ticks| {
        let mut clock = VectorClock::default();
        for id in ticks {
            clock.tick(Id::new(id));
        }
        clock
    })
}

fn merged(one: &VectorClock, other: &VectorClock) -> VectorClock {
    let mut both = one.clone();
    both.merge(other);
    both
}

/// One event of a history: at whom, and which earlier event's message it receives, if any.
#[derive(Clone, Copy, Debug)]
struct Happening {
    process: usize,
    receives: Option<usize>,
}

/// Histories in which every event sends a message, which others may receive later, in any order, or never.
fn histories() -> impl Strategy<Value = Vec<Happening>> {
    vec((0..PROCESSES, any::<Option<Index>>()), 1..25).prop_map(|choices| {
        let mut history: Vec<Happening> = Vec::new();
        for (process, receives) in choices {
            let receives = receives
                .filter(|_| !history.is_empty())
                .map(|index| index.index(history.len()))
                .filter(|&sent| history[sent].process != process);
            history.push(Happening { process, receives });
        }
        history
    })
}

/// For every two events whether the first happened before the second: whether a path leads there, along the events of
/// each process and along each message.
fn happened_before(history: &[Happening]) -> Vec<Vec<bool>> {
    let mut reaches = vec![vec![false; history.len()]; history.len()];
    for (later, event) in history.iter().enumerate() {
        for earlier in 0..later {
            reaches[earlier][later] =
                history[earlier].process == event.process || event.receives.is_some_and(|sent| sent == earlier);
        }
    }
    for middle in 0..history.len() {
        for from in 0..history.len() {
            for to in 0..history.len() {
                reaches[from][to] |= reaches[from][middle] && reaches[middle][to];
            }
        }
    }
    reaches
}

proptest! {
    #[test]
    fn a_tick_exceeds_everything_seen(seen in vec(numbers(), 0..20)) {
        let mut clock = LamportClock::default();
        let mut shown = Number::ZERO;
        for (index, &number) in seen.iter().enumerate() {
            clock.observe(number);
            prop_assert!(clock.now() >= number && clock.now() >= shown);
            shown = clock.tick();
            prop_assert_eq!(clock.now(), shown);
            prop_assert!(seen[..=index].iter().all(|&earlier| earlier < shown));
        }
        prop_assert_eq!(LamportClock::reborn(Some(clock.now())), clock);
    }

    #[test]
    fn observing_is_neither_late_nor_early(seen in vec(numbers(), 1..20)) {
        let mut clock = LamportClock::default();
        for &number in &seen {
            clock.observe(number);
        }
        prop_assert_eq!(Some(clock.now()), seen.iter().copied().max());
        prop_assert_eq!(clock.tick(), clock.now());
        prop_assert_eq!(clock.now().get(), seen.iter().max().unwrap().get() + 1);
    }

    #[test]
    fn timestamps_are_ordered_by_number_and_then_by_id(a in timestamps(), b in timestamps(), c in timestamps()) {
        let expected = a.number.get().cmp(&b.number.get()).then(a.id.number().cmp(&b.id.number()));
        prop_assert_eq!(a.cmp(&b), expected);
        prop_assert_eq!(b.cmp(&a), expected.reverse());
        prop_assert_eq!(expected == Ordering::Equal, a == b);
        prop_assert!(!(a < b && b < c) || a < c);
    }

    #[test]
    fn lamport_clocks_follow_what_happened_before(history in histories()) {
        let mut clocks = [LamportClock::default(); PROCESSES];
        let mut stamps: Vec<Timestamp> = Vec::new();
        for event in &history {
            if let Some(sent) = event.receives {
                clocks[event.process].observe(stamps[sent].number);
            }
            stamps.push(Timestamp::new(clocks[event.process].tick(), Id::at(event.process)));
        }
        for (earlier, row) in happened_before(&history).iter().enumerate() {
            for (later, &before) in row.iter().enumerate() {
                prop_assert!(!before || stamps[earlier] < stamps[later]);
                prop_assert!(earlier == later || stamps[earlier] != stamps[later]);
            }
        }
    }

    #[test]
    fn vector_clocks_tell_exactly_what_happened_before(history in histories()) {
        let mut clocks = vec![VectorClock::default(); PROCESSES];
        let mut stamps: Vec<VectorClock> = Vec::new();
        for event in &history {
            let clock = &mut clocks[event.process];
            if let Some(sent) = event.receives {
                clock.merge(&stamps[sent]);
            }
            clock.tick(Id::at(event.process));
            stamps.push(clock.clone());
        }
        let before = happened_before(&history);
        for one in 0..history.len() {
            for other in 0..history.len() {
                let expected = match (one == other, before[one][other], before[other][one]) {
                    (true, ..) => Some(Ordering::Equal),
                    (false, true, _) => Some(Ordering::Less),
                    (false, false, true) => Some(Ordering::Greater),
                    (false, false, false) => None,
                };
                prop_assert_eq!(stamps[one].partial_cmp(&stamps[other]), expected);
                prop_assert_eq!(stamps[one] == stamps[other], one == other);
            }
            let past = (0..history.len()).filter(|&earlier| before[earlier][one] || earlier == one);
            let of_first = past.filter(|&earlier| history[earlier].process == 0).count();
            prop_assert_eq!(stamps[one].of(Id::at(0)), of_first as u64);
        }
    }

    #[test]
    fn merging_is_commutative_associative_and_idempotent(
        a in vector_clocks(), b in vector_clocks(), c in vector_clocks()
    ) {
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(&merged(&a, &a), &a);
        // It is the least that is above both.
        let both = merged(&a, &b);
        prop_assert!(a <= both && b <= both);
        prop_assert!(!(a <= c && b <= c) || both <= c);
    }

    #[test]
    fn vector_clocks_that_compare_equal_are_equal_wherever_they_come_from(a in vector_clocks(), zeros in 0..5usize) {
        let mut entries: Vec<u64> = serde_json::from_value(serde_json::to_value(&a).unwrap()).unwrap();
        entries.extend(vec![0; zeros]);
        let received: VectorClock = serde_json::from_value(serde_json::to_value(&entries).unwrap()).unwrap();
        prop_assert_eq!(received.partial_cmp(&a), Some(Ordering::Equal));
        prop_assert_eq!(received, a);
    }

    #[test]
    fn fences_of_requests_keep_the_order_of_their_timestamps(a in timestamps(), b in timestamps()) {
        prop_assert_eq!(Fence::stamped(a).cmp(&Fence::stamped(b)), a.cmp(&b));
        prop_assert!(Fence::stamped(a).get() < 1 << 53);
    }

    #[test]
    fn fences_of_counts_keep_the_order_of_epochs_and_counts(
        a in (0..1u32 << 26, 0..1u64 << 27), b in (0..1u32 << 26, 0..1u64 << 27), same_epoch in any::<bool>()
    ) {
        let b = if same_epoch { (a.0, b.1) } else { b };
        let number = |count: u64| Number::try_from(count).unwrap();
        let fence = |(epoch, count): (u32, u64)| Fence::counted(epoch.try_into().unwrap(), number(count));
        prop_assert_eq!(fence(a).cmp(&fence(b)), a.cmp(&b));
        prop_assert!(fence(a).get() < 1 << 53);
        // One more would be one of the next epoch.
        prop_assert_eq!(Fence::ends_epoch(number(a.1)), a.1 == (1 << 27) - 1);
    }

    #[test]
    fn an_era_begins_after_all_that_was_counted_in_the_one_before(seen in numbers()) {
        let clock = LamportClock::reborn(Some(seen));
        let mut next = clock;
        next.begin_era();
        let is_last = LamportClock::era_of(seen) >= LamportClock::era_of(Number::LARGEST_RECEIVED.try_into().unwrap());
        prop_assert_eq!(next == clock, is_last);
        prop_assert!(is_last || LamportClock::era_of(next.now()) == LamportClock::era_of(seen) + 1);
        prop_assert!(next.now().get() <= Number::LARGEST_RECEIVED);
        // Who was told of a crash has not come there by counting; who counts on does, once.
        next.tick();
        prop_assert!(is_last || !next.comes_unheard());
    }

    #[test]
    fn numbers_from_outside_are_refused_above_their_limit(number in any::<u64>(), bits in 0..64u32) {
        let number = number >> bits;
        let received = serde_json::from_str::<Number>(&number.to_string());
        if number <= Number::LARGEST_RECEIVED {
            prop_assert_eq!(received.unwrap().get(), number);
        } else {
            let why = format!("the number {number} is larger than any clock can show (274877906943)");
            prop_assert!(received.unwrap_err().to_string().starts_with(&why));
        }
    }
}

#[test]
fn the_limits_themselves() {
    let largest = Number::try_from(Number::LARGEST_RECEIVED).unwrap();
    assert_eq!(Number::LARGEST_RECEIVED, (1 << 38) - 1);
    assert!(Number::try_from(Number::LARGEST_RECEIVED + 1).is_err());
    assert!(serde_json::from_str::<Number>("274877906943").is_ok());
    assert!(serde_json::from_str::<Number>("274877906944").is_err());
    assert!(serde_json::from_str::<Number>("-1").is_err());
    assert!(serde_json::from_str::<Timestamp>(r#"{"number":274877906944,"id":1}"#).is_err());
    assert!(serde_json::from_str::<Timestamp>(r#"{"number":1,"id":0}"#).is_err());
    // A clock that was brought there still has as many numbers before it as it has behind it.
    let mut clock = LamportClock::reborn(Some(largest));
    let request = Timestamp::new(clock.tick(), Id::new(Fence::MOST_PROCESSES));
    assert!(Fence::stamped(request) > Fence::stamped(Timestamp::new(largest, Id::new(Fence::MOST_PROCESSES))));
    assert!(Fence::counted(Epoch::LAST, clock.now()).get() < 1 << 53);
}

/// Who enters again and again, and ticks twice each time, comes to the next era unheard exactly once.
#[test]
fn who_counts_into_another_era_notices_it_once() {
    for start in [LamportClock::ERA - 9, LamportClock::ERA - 10] {
        let mut clock = LamportClock::reborn(Some(start.try_into().unwrap()));
        let mut noticed = 0;
        for _ in 0..10 {
            clock.tick();
            noticed += u32::from(clock.comes_unheard());
            clock.tick();
        }
        assert_eq!(noticed, 1, "from {start}");
    }
    assert!(!LamportClock::default().comes_unheard());
}
