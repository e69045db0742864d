//! Who works next: as many at once as there are cores, and of those who wait, whoever was served least recently.
//!
//! What takes long, as explorations do, never keeps what is short waiting: the two have cores of their own, and where
//! there are too few, the system shares them out.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// A run, or a look at one.
    Short,
    /// An exploration, or a claim that is judged.
    Long,
}

/// Turns for what is short and for what is long.
#[derive(Debug)]
pub(super) struct Turns {
    short: Arc<Queue>,
    long: Arc<Queue>,
}

/// A turn, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn(Arc<Queue>);

impl Turns {
    /// Turns on so many cores: one of them is left to what is short.
    pub(super) fn new(cores: usize) -> Turns {
        let queue = |free: usize| Arc::new(Queue(Mutex::new(Line { free: free.max(1), ..Line::default() })));
        Turns { short: queue(cores), long: queue(cores.saturating_sub(1)) }
    }

    /// Waits for a turn. Who does not wait any more has no place in the line.
    pub(super) async fn wait(&self, visitor: IpAddr, length: Length) -> Turn {
        let queue = match length {
            Length::Short => &self.short,
            Length::Long => &self.long,
        };
        let (told, called) = oneshot::channel();
        queue.line().waiting.entry(visitor).or_default().push_back(told);
        queue.call();
        called.await.expect("who is in line is called")
    }
}

#[derive(Debug)]
struct Queue(Mutex<Line>);

#[derive(Debug, Default)]
struct Line {
    free: usize,
    waiting: BTreeMap<IpAddr, VecDeque<oneshot::Sender<Turn>>>,
    /// How many turns were given, and which was the last of each visitor. Who has not come for long is forgotten.
    given: u64,
    last: BTreeMap<IpAddr, u64>,
}

/// So many visitors are remembered.
const MOST_REMEMBERED: usize = 10_000;

impl Queue {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives turns to whoever is next, while there are any.
    fn call(self: &Arc<Queue>) {
        loop {
            let next = self.line().next();
            let Some(next) = next else { return };
            // Whoever has left meanwhile drops it, and then somebody else is next.
            let _ = next.send(Turn(Arc::clone(self)));
        }
    }
}

impl Line {
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        self.waiting.retain(|_, mine| {
            mine.retain(|one| !one.is_closed());
            !mine.is_empty()
        });
        if self.free == 0 {
            return None;
        }
        let next = *self.waiting.keys().min_by_key(|visitor| self.last.get(visitor).copied().unwrap_or(0))?;
        let called = self.waiting.get_mut(&next).and_then(VecDeque::pop_front)?;
        self.free -= 1;
        self.given += 1;
        if self.last.len() >= MOST_REMEMBERED {
            self.last.clear();
        }
        self.last.insert(next, self.given);
        Some(called)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.line().free += 1;
        self.0.call();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn visitors() -> [IpAddr; 3] {
        [1, 2, 3].map(|last| IpAddr::from([10, 0, 0, last]))
    }

    #[tokio::test]
    async fn who_asks_for_much_waits_longer_than_who_asks_for_little() {
        let (turns, [greedy, modest, other]) = (Arc::new(Turns::new(2)), visitors());
        let first = turns.wait(greedy, Length::Long).await;
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        for visitor in [greedy, greedy, greedy, modest, other] {
            let (turns, told) = (Arc::clone(&turns), told.clone());
            tokio::spawn(async move {
                let turn = turns.wait(visitor, Length::Long).await;
                told.send(visitor).unwrap();
                drop(turn);
            });
            tokio::task::yield_now().await;
        }
        drop(first);
        let mut order = Vec::new();
        while order.len() < 5 {
            order.push(heard.recv().await.unwrap());
        }
        assert_eq!(order, [modest, other, greedy, greedy, greedy]);
    }

    #[tokio::test]
    async fn what_is_long_never_keeps_what_is_short_waiting() {
        for cores in [1, 2, 8] {
            let (turns, [one, other, _]) = (Turns::new(cores), visitors());
            let mut long = Vec::new();
            while let Ok(turn) = timeout(SOON, turns.wait(one, Length::Long)).await {
                long.push(turn);
            }
            assert_eq!(long.len(), cores.saturating_sub(1).max(1));
            assert!(timeout(SOON, turns.wait(other, Length::Short)).await.is_ok(), "{cores} cores");
        }
    }

    #[tokio::test]
    async fn who_has_left_is_not_called() {
        let (turns, [one, other, third]) = (Turns::new(1), visitors());
        let first = turns.wait(one, Length::Long).await;
        assert!(timeout(SOON, turns.wait(other, Length::Long)).await.is_err());
        drop(first);
        let next = timeout(SOON, turns.wait(third, Length::Long)).await.unwrap();
        assert!(turns.long.line().waiting.is_empty());
        drop(next);
        assert_eq!(turns.long.line().free, 1);
    }
}
