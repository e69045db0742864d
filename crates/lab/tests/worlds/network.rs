//! Delays, order, loss, duplicates and partitions.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::id::Id;
use quorate_core::process::Ticks;
use quorate_core::trace::What;
use quorate_lab::experiment::Experiment;
use quorate_lab::network::{Delay, Order, Partition};
use quorate_lab::time::DELTA;

use crate::chatter::{chatter, every, heard, listen, times, words};

fn counted_to(last: u64) -> Vec<u64> {
    (1..=last).collect()
}

#[test]
fn constant_delays_are_exact() {
    let delay = Delay::Constant(123_456);
    let (report, records) = listen(&Experiment { delay, ..chatter(3, 4) });
    let words = words(&records);
    assert_eq!(words.len(), 3 * 2 * 4);
    assert!(words.iter().all(|word| word.arrived == [word.at + 123_456]));
    assert!(words.iter().all(|word| word.at == word.number * DELTA));
    assert_eq!((report.outcome.costs.messages, report.outcome.end), (24, 4 * DELTA + 123_456));
}

#[test]
fn uniform_delays_fill_their_range() {
    let delay = Delay::Uniform(DELTA, DELTA + 9);
    let (_, records) = listen(&Experiment { delay, ..chatter(2, 200) });
    let delays: BTreeSet<Ticks> = words(&records).iter().map(|word| word.arrived[0] - word.at).collect();
    assert_eq!(delays, (DELTA..=DELTA + 9).collect());
}

#[test]
fn exponential_delays_have_their_mean_and_no_bound() {
    let delay = Delay::Exponential(DELTA);
    let (_, records) = listen(&Experiment { delay, ..chatter(2, 5_000) });
    let delays: Vec<Ticks> = words(&records).iter().map(|word| word.arrived[0] - word.at).collect();
    let mean = delays.iter().sum::<Ticks>() as f64 / delays.len() as f64;
    assert!((mean / DELTA as f64 - 1.0).abs() < 0.05, "the mean of {} delays is {mean}", delays.len());
    assert!(delays.iter().any(|&delay| delay > 6 * DELTA) && delays.iter().all(|&delay| delay > 0));
}

#[test]
fn each_link_has_a_delay_of_its_own_both_ways() {
    let delay = Delay::PerLink(DELTA, 3 * DELTA);
    let (_, records) = listen(&Experiment { delay, ..chatter(5, 6) });
    let mut links = BTreeMap::<_, BTreeSet<Ticks>>::new();
    for word in words(&records) {
        let link = (word.from.min(word.to), word.from.max(word.to));
        links.entry(link).or_default().insert(word.arrived[0] - word.at);
    }
    assert_eq!(links.len(), 10);
    assert!(links.values().all(|delays| delays.len() == 1), "{links:?}");
    let delays: BTreeSet<Ticks> = links.into_values().flatten().collect();
    assert!(delays.len() == 10 && delays.iter().all(|delay| (DELTA..=3 * DELTA).contains(delay)), "{delays:?}");
}

#[test]
fn fifo_keeps_order_where_any_does_not() {
    let mut reordered = 0;
    for seed in 1..=20 {
        let run = |order| {
            let delay = Delay::Exponential(DELTA);
            let experiment = Experiment { seed, delay, order: Some(order), ..every(DELTA / 4, 3, 30) };
            listen(&experiment).1
        };
        let (fifo, any) = (run(Order::Fifo), run(Order::Any));
        for (from, to) in [(1, 2), (2, 1), (1, 3), (3, 2)] {
            assert_eq!(heard(&fifo, from, to), counted_to(30), "seed {seed}");
            let mut numbers = heard(&any, from, to);
            reordered += u32::from(!numbers.is_sorted());
            numbers.sort_unstable();
            assert_eq!(numbers, counted_to(30), "seed {seed}");
        }
    }
    assert!(reordered > 70, "only {reordered} of 80 channels changed the order");
}

#[test]
fn certain_loss_loses_everything_and_it_was_sent_all_the_same() {
    let (report, records) = listen(&Experiment { loss: 1.0, ..chatter(3, 5) });
    let words = words(&records);
    assert_eq!((words.len(), report.outcome.costs.messages), (30, 30));
    assert!(words.iter().all(|word| word.arrived.is_empty() && word.lost == [word.at]));
}

#[test]
fn a_message_is_lost_or_arrives() {
    let (_, records) = listen(&Experiment { loss: 0.25, ..chatter(2, 2_000) });
    let words = words(&records);
    assert!(words.iter().all(|word| word.arrived.len() + word.lost.len() == 1));
    let lost = words.iter().filter(|word| !word.lost.is_empty()).count();
    assert!((900..1100).contains(&lost), "{lost} of {}", words.len());
}

#[test]
fn duplicates_arrive_twice_and_were_sent_once() {
    let (report, records) = listen(&Experiment { duplicate: 1.0, ..chatter(2, 5) });
    assert_eq!(report.outcome.costs.messages, 10);
    assert!(words(&records).iter().all(|word| word.arrived == [word.at + DELTA; 2]));
    // Each copy has a delay of its own; FIFO holds for both.
    let delay = Delay::Exponential(DELTA);
    let order = Some(Order::Fifo);
    let (_, records) = listen(&Experiment { duplicate: 1.0, delay, order, ..every(DELTA / 4, 2, 50) });
    assert!(words(&records).iter().any(|word| word.arrived[0] != word.arrived[1]));
    let numbers = heard(&records, 1, 2);
    assert!(numbers.len() == 100 && numbers.is_sorted());
}

fn cut(parts: &[&[u32]], from: Ticks, to: Ticks) -> Partition {
    let parts = parts.iter().map(|part| part.iter().map(|&id| Id::new(id)).collect()).collect();
    Partition { parts, from: from * DELTA, to: to * DELTA }
}

#[test]
fn a_partition_holds_back_what_crosses_it_and_loses_nothing() {
    // All who are in no part are in one more: 4 and 5 reach each other, and nobody else.
    let partitions = vec![cut(&[&[1, 2], &[3]], 3, 6)];
    let (_, records) = listen(&Experiment { partitions, ..chatter(5, 8) });
    for word in words(&records) {
        let within = [(1, 2), (4, 5)].contains(&(word.from.min(word.to), word.from.max(word.to)));
        let held_back = !within && (3 * DELTA..6 * DELTA).contains(&word.at);
        let departure = if held_back { 6 * DELTA } else { word.at };
        assert_eq!(word.arrived, [departure + DELTA], "{word:?}");
    }
    for (id, part) in [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3)] {
        assert_eq!(times(&records, id, |what| *what == What::Partitioned { part }), [3 * DELTA]);
        assert_eq!(times(&records, id, |what| *what == What::Healed), [6 * DELTA]);
    }
}

#[test]
fn order_is_kept_across_a_partition() {
    for delay in [Delay::Constant(DELTA), Delay::Uniform(DELTA, 5 * DELTA), Delay::Exponential(DELTA)] {
        for seed in 1..=5 {
            let partitions = vec![cut(&[&[1], &[2]], 2, 9)];
            let order = Some(Order::Fifo);
            let experiment = Experiment { seed, delay, order, partitions, ..every(DELTA / 4, 2, 60) };
            let (_, records) = listen(&experiment);
            assert_eq!(heard(&records, 1, 2), counted_to(60));
            assert_eq!(heard(&records, 2, 1), counted_to(60));
            assert!(words(&records).iter().all(|word| {
                let cut_off = (2 * DELTA..9 * DELTA).contains(&word.at);
                !cut_off || word.arrived[0] > 9 * DELTA
            }));
        }
    }
}

#[test]
fn what_departs_into_the_next_partition_waits_for_its_end_too() {
    let partitions = vec![cut(&[&[1], &[2]], 7, 9), cut(&[&[2, 1]], 4, 8), cut(&[&[1], &[2]], 3, 7)];
    let (_, records) = listen(&Experiment { partitions, ..chatter(2, 10) });
    for word in words(&records) {
        let departure = if (3 * DELTA..9 * DELTA).contains(&word.at) { 9 * DELTA } else { word.at };
        assert_eq!(word.arrived, [departure + DELTA], "{word:?}");
    }
}
