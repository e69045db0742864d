//! The driver of a process on a network: what happens is told to it, one thing after the other, and what it wants done
//! is done, in order.
//!
//! Events are taken in batches. What the process saves is synced once a batch, before anything that it says afterwards
//! leaves this node.

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use quorate_core::id::Id;
use quorate_core::process::{Effect, EffectOf, Effects, Event, Message, Process, Ticks, perform};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::time::Instant;
use tracing::warn;

use crate::alarm::Alarms;
use crate::config::duration;
use crate::outbox::Outbox;
use crate::rarely::Rarely;
use crate::store::Store;

/// A process, and all that it can reach.
pub(crate) struct Driver<P: Process> {
    me: Id,
    process: P,
    effects: Effects<P>,
    /// What is to be done when all that was saved is safe.
    wanted: Vec<EffectOf<P>>,
    alarms: Alarms<P::Timer>,
    /// What time it is for all that happens until it is told anew: clocks are not free.
    now: Instant,
    /// Away while it is synced.
    store: Option<Store<P::Stable>>,
    /// By the place of the member; none for itself.
    outboxes: Vec<Option<Arc<Outbox>>>,
    /// Those to which something was added since the last flush.
    touched: Vec<Id>,
    /// Whether something could not be saved: from then on nothing is said.
    is_broken: bool,
    chance: Xoshiro256PlusPlus,
    /// What nobody should have sent, so that it is not logged each time.
    unexpected: Rarely<(Option<Id>, &'static str)>,
    pub(crate) counts: Counts,
}

/// What has happened so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Messages that were sent, by kind. There are a few: to look through them costs less than to order them.
    pub(crate) sent: Vec<(&'static str, u64)>,
    /// What arrived that nobody should have sent.
    pub(crate) unexpected: u64,
    /// How often something was synced.
    pub(crate) syncs: u64,
}

impl Counts {
    fn count(&mut self, kind: &'static str) {
        match self.sent.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => self.sent.push((kind, 1)),
        }
    }
}

impl<P: Process> Driver<P> {
    pub(crate) fn new(
        me: Id,
        process: P,
        store: Store<P::Stable>,
        outboxes: &BTreeMap<Id, Arc<Outbox>>,
        seed: u64,
    ) -> Self {
        let chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (effects, wanted, alarms) = (Effects::<P>::new(me), Vec::new(), Alarms::new());
        let (store, counts) = (Some(store), Counts::default());
        let now = Instant::now();
        let touched = Vec::new();
        let places = outboxes.last_key_value().map_or(0, |(last, _)| last.index() + 1);
        let outboxes = (0..places).map(|place| outboxes.get(&Id::at(place)).cloned()).collect();
        let (is_broken, unexpected) = (false, Rarely::default());
        Driver {
            me,
            process,
            effects,
            wanted,
            alarms,
            now,
            store,
            outboxes,
            touched,
            is_broken,
            chance,
            unexpected,
            counts,
        }
    }

    /// The process.
    pub(crate) fn process(&self) -> &P {
        &self.process
    }

    /// What happens from here on happens now.
    pub(crate) fn look_at_clock(&mut self) -> Instant {
        self.now = Instant::now();
        self.now
    }

    /// Begins its life.
    pub(crate) fn start(&mut self) {
        let Some(store) = &self.store else { return };
        let start = Event::Start { incarnation: store.life(), saved: store.kept() };
        self.happen(start);
    }

    /// Lets something happen to the process. What it wants is done by [`Driver::settle`].
    pub(crate) fn happen(&mut self, event: Event<P>) {
        perform(&mut self.process, event, &mut self.effects);
        for effect in self.effects.drain() {
            match effect {
                Effect::SetTimer { timer, after } => {
                    let delay = draw(&mut self.chance, &after);
                    self.alarms.set(timer, self.now + delay);
                }
                Effect::CancelTimer(timer) => self.alarms.cancel(&timer),
                Effect::Save(stable) => {
                    if let Some(store) = &mut self.store {
                        store.save(stable);
                    }
                }
                Effect::Unexpected { from, why } => {
                    self.counts.unexpected += 1;
                    if let Some(since) = self.unexpected.happens((from, why), self.now) {
                        let (node, from) = (self.me.number(), from.map(Id::number));
                        warn!(node, from, reason = why, suppressed = since, "unexpected message ignored");
                    }
                }
                effect @ (Effect::Send { .. } | Effect::Output(_)) => self.wanted.push(effect),
            }
        }
    }

    /// Adds something to what the application is told, after all that has happened so far.
    pub(crate) fn tell(&mut self, output: P::Output) {
        self.wanted.push(Effect::Output(output));
    }

    /// Whether the application is to be told something like this.
    pub(crate) fn is_to_tell(&self, like: impl Fn(&P::Output) -> bool) -> bool {
        self.wanted.iter().any(|effect| matches!(effect, Effect::Output(output) if like(output)))
    }

    /// How many timers are armed.
    pub(crate) fn timers(&self) -> usize {
        self.alarms.armed()
    }

    /// When the next timer is due.
    pub(crate) fn next_alarm(&self) -> Option<Instant> {
        self.alarms.next()
    }

    /// Tells the process of all timers that are due.
    pub(crate) fn ring(&mut self) {
        while let Some(timer) = self.alarms.take_due(self.now) {
            self.happen(Event::Timeout(timer));
        }
    }

    /// Makes safe what was saved, sends what was said, and returns what the application is told. If that cannot be made
    /// safe, nothing of it is said, now or later.
    pub(crate) async fn settle(&mut self) -> io::Result<Vec<P::Output>> {
        if self.is_broken {
            return Err(io::Error::other("an earlier write failed"));
        }
        if let Err(error) = self.make_safe().await {
            self.is_broken = true;
            self.wanted.clear();
            return Err(error);
        }
        let mut outputs = Vec::new();
        for effect in self.wanted.drain(..) {
            match effect {
                Effect::Send { to, message } => {
                    self.counts.count(message.kind());
                    if let Some(Some(outbox)) = self.outboxes.get(to.index()) {
                        outbox.push(&message);
                        if !self.touched.contains(&to) {
                            self.touched.push(to);
                        }
                    }
                }
                Effect::Output(output) => outputs.push(output),
                Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Save(_) | Effect::Unexpected { .. } => {}
            }
        }
        Ok(outputs)
    }

    /// Waits until all that was saved is on disk.
    async fn make_safe(&mut self) -> io::Result<()> {
        if !self.store.as_ref().is_some_and(Store::is_dirty) {
            return Ok(());
        }
        self.counts.syncs += 1;
        self.write(Store::sync).await
    }

    /// Notes that what was made safe is not all that the process has promised.
    pub(crate) async fn disown(&mut self, why: String) -> io::Result<()> {
        self.write(|store| store.disown(why)).await
    }

    /// Does something that takes as long as the disk does.
    async fn write<W>(&mut self, write: W) -> io::Result<()>
    where
        W: FnOnce(&mut Store<P::Stable>) -> io::Result<()> + Send + 'static,
    {
        let Some(mut store) = self.store.take() else { return Ok(()) };
        let written = tokio::task::spawn_blocking(move || {
            let result = write(&mut store);
            (store, result)
        });
        let (store, result) = written.await.map_err(io::Error::other)?;
        self.store = Some(store);
        result
    }

    /// Lets everything that was said leave.
    pub(crate) fn flush(&mut self) {
        for to in self.touched.drain(..) {
            if let Some(Some(outbox)) = self.outboxes.get(to.index()) {
                outbox.flush();
            }
        }
    }
}

/// A delay from this range.
fn draw(chance: &mut Xoshiro256PlusPlus, after: &RangeInclusive<Ticks>) -> Duration {
    let (from, to) = (*after.start(), *after.end());
    let width = to.saturating_sub(from);
    let more = if width == 0 { 0 } else { chance.next_u64() % width.saturating_add(1) };
    duration(from.saturating_add(more))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde::{Deserialize, Serialize};

    use super::*;

    /// A process that promises something to another, and tells its application: both after it has saved that.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Promising;

    #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    struct Promise;

    impl Message for Promise {
        fn kind(&self) -> &'static str {
            "promise"
        }
    }

    impl Process for Promising {
        type Message = Promise;
        type Input = ();
        type Output = ();
        type Timer = ();
        type Stable = u64;

        fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
            if let Event::Input(()) = event {
                effects.save(1);
                effects.send(Id::new(2), Promise);
                effects.output(());
            }
        }
    }

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// A driver on a disk that takes what is written, or does not.
    fn driver(is_disk_full: bool) -> (Driver<Promising>, Scratch) {
        let name = format!("quorate-driver-{is_disk_full}-{}", std::process::id());
        let scratch = Scratch(std::env::temp_dir().join(name));
        let mut store = Store::open(&scratch.0, "node 1", 0).unwrap();
        if is_disk_full {
            store.fill_disk();
        }
        let outboxes = BTreeMap::from([(Id::new(2), Arc::new(Outbox::new(Id::new(1), Id::new(2))))]);
        (Driver::new(Id::new(1), Promising, store, &outboxes, 1), scratch)
    }

    #[tokio::test]
    async fn what_was_saved_is_said() {
        let (mut driver, _scratch) = driver(false);
        driver.happen(Event::Input(()));
        assert_eq!(driver.counts.sent, []);
        assert_eq!(driver.settle().await.unwrap(), [()]);
        assert_eq!(driver.counts.sent, [("promise", 1)]);
    }

    #[tokio::test]
    async fn what_could_not_be_saved_is_never_said() {
        let (mut driver, _scratch) = driver(true);
        driver.happen(Event::Input(()));
        assert!(driver.settle().await.is_err());
        // Not when it says its last words either.
        assert!(driver.settle().await.is_err());
        driver.happen(Event::Input(()));
        assert!(driver.settle().await.is_err());
        assert_eq!(driver.counts.sent, []);
    }
}
