//! Work that is divided among threads, whose results are in the order of the parts.

use std::ops::Range;

/// Divides a range among threads, in order.
pub(super) fn in_parallel<T: Send>(
    threads: usize,
    range: Range<usize>,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    if threads <= 1 {
        return vec![work(range)];
    }
    let part = range.len().div_ceil(threads);
    let parts = range.clone().step_by(part).map(|begin| begin..(begin + part).min(range.end));
    std::thread::scope(|scope| {
        let (work, mut handles) = (&work, Vec::new());
        for part in parts {
            handles.push(scope.spawn(move || work(part)));
        }
        handles.into_iter().map(|handle| handle.join().expect("no thread of the search panics")).collect()
    })
}

/// Divides a slice among threads, in order; each knows where its part begins.
pub(super) fn in_parallel_over<S: Send, T: Send>(
    threads: usize,
    things: &mut [S],
    work: impl Fn(usize, &mut [S]) -> T + Sync,
) -> Vec<T> {
    if threads <= 1 {
        return vec![work(0, things)];
    }
    let part = things.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let (work, mut handles) = (&work, Vec::new());
        for (index, things) in things.chunks_mut(part).enumerate() {
            handles.push(scope.spawn(move || work(index * part, things)));
        }
        handles.into_iter().map(|handle| handle.join().expect("no thread of the search panics")).collect()
    })
}
