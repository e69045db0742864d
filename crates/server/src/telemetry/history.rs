//! What has happened lately: to everything, and to each lock and election, so that a quiet one does not lose its past
//! to a busy one.
//!
//! It is kept in memory, and bounded in every direction. A node that was started again remembers what it has applied
//! since, which includes what its log had in it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::machine::{Departure, Event, Fence, Moment, Name, SessionId};
use crate::service::Occurrence;

/// So many locks and elections have a past. Those to which nothing has happened for the longest time lose theirs.
const MOST_NAMES: usize = 1000;
/// So much is remembered of each.
const MOST_EACH: usize = 50;
/// So much is remembered of everything together.
const MOST_RECENT: usize = 200;
/// So many sessions that are gone are still called what they were called.
const MOST_LABELS: usize = 10_000;

/// The last things that happened.
#[derive(Debug, Default)]
pub(super) struct History {
    named: HashMap<Name, Past>,
    recent: VecDeque<Arc<Occurrence>>,
    labels: HashMap<SessionId, (u64, Arc<str>)>,
    /// How much has happened so far.
    count: u64,
}

/// What happened to one lock or election.
#[derive(Debug, Default)]
struct Past {
    last: u64,
    events: VecDeque<Arc<Occurrence>>,
}

impl History {
    /// Notes what has happened.
    pub(super) fn applied(&mut self, moment: Moment, events: &[Event]) {
        for event in events {
            self.count += 1;
            if let Event::Ended { session, label, .. } = event {
                keep_half_if_full(&mut self.labels, MOST_LABELS, |(at, _)| *at);
                self.labels.insert(*session, (self.count, label.as_str().into()));
            }
            let Some((name, event)) = memorable(event) else { continue };
            let occurrence = Arc::new(Occurrence { moment, event });
            push(&mut self.recent, MOST_RECENT, &occurrence);
            if let Some(name) = name {
                if !self.named.contains_key(name) {
                    keep_half_if_full(&mut self.named, MOST_NAMES, |past| past.last);
                }
                let past = self.named.entry(name.clone()).or_default();
                past.last = self.count;
                push(&mut past.events, MOST_EACH, &occurrence);
            }
        }
    }

    /// What happened to this, or to everything: the latest first.
    pub(super) fn of(&self, name: Option<&Name>) -> Vec<Arc<Occurrence>> {
        let events = match name {
            None => Some(&self.recent),
            Some(name) => self.named.get(name).map(|past| &past.events),
        };
        events.into_iter().flatten().rev().cloned().collect()
    }

    /// Why a grant is over, if that is still known.
    pub(super) fn departure(&self, of: SessionId, name: &Name, with: Fence) -> Option<Departure> {
        self.named.get(name)?.events.iter().rev().find_map(|occurrence| match &occurrence.event {
            Event::Lost { session, fence, departure, .. } if (*session, *fence) == (of, with) => Some(*departure),
            _ => None,
        })
    }

    /// What a session was called that is gone, if that is still known.
    pub(super) fn label(&self, session: SessionId) -> Option<Arc<str>> {
        self.labels.get(&session).map(|(_, label)| Arc::clone(label))
    }
}

fn push(events: &mut VecDeque<Arc<Occurrence>>, most: usize, occurrence: &Arc<Occurrence>) {
    if events.len() == most {
        events.pop_front();
    }
    events.push_back(Arc::clone(occurrence));
}

/// Makes room for more: half of what there is goes at once, the oldest, so that it costs next to nothing on average.
fn keep_half_if_full<K, V>(all: &mut HashMap<K, V>, most: usize, age: impl Fn(&V) -> u64) {
    if all.len() < most {
        return;
    }
    let mut ages: Vec<_> = all.values().map(&age).collect();
    let middle = ages.len() / 2;
    let (_, median, _) = ages.select_nth_unstable(middle);
    let median = *median;
    all.retain(|_, value| age(value) >= median);
}

/// What is worth to be remembered, without what leaders say, which may be long.
fn memorable(event: &Event) -> Option<(Option<&Name>, Event)> {
    let (name, event) = match event {
        Event::Wanted { .. } | Event::Vacant { .. } => return None,
        Event::Granted { name, session, fence, since_ms, .. } => {
            let (session, fence, since_ms, value) = (*session, *fence, *since_ms, Vec::new());
            (Some(name), Event::Granted { name: name.clone(), session, fence, since_ms, value })
        }
        Event::Proclaimed { name, session, fence, .. } => {
            let (session, fence, value) = (*session, *fence, Vec::new());
            (Some(name), Event::Proclaimed { name: name.clone(), session, fence, value })
        }
        Event::Queued { name, .. }
        | Event::Lost { name, .. }
        | Event::Left { name, .. }
        | Event::Delayed { name, .. }
        | Event::Forced { name, .. } => (Some(name), event.clone()),
        Event::Opened { .. } | Event::Ended { .. } => (None, event.clone()),
    };
    Some((name, event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(name: &str, number: u64) -> Event {
        let (name, session, fence) = (Name::lock(name), SessionId::new(1).unwrap(), Fence::from_number(number));
        Event::Granted { name, session, fence, since_ms: 0, value: vec![0; 100] }
    }

    fn fences(history: &History, name: &str) -> Vec<u64> {
        let fence = |occurrence: &Arc<Occurrence>| match &occurrence.event {
            Event::Granted { fence, value, .. } => {
                assert!(value.is_empty(), "what leaders say is not kept");
                fence.number()
            }
            other => panic!("{other:?}"),
        };
        history.of(Some(&Name::lock(name))).iter().map(fence).collect()
    }

    #[test]
    fn why_a_grant_is_over_is_known_for_a_while() {
        let (mut history, session) = (History::default(), SessionId::new(1).unwrap());
        let lost = |number, departure| Event::Lost {
            name: Name::lock("job"),
            session,
            fence: Fence::from_number(number),
            departure,
            since_ms: 0,
        };
        history.applied(
            Moment { index: 1, at_ms: 0 },
            &[lost(3, Departure::Expired), granted("job", 5), lost(5, Departure::Forced)],
        );
        let why = |number| history.departure(session, &Name::lock("job"), Fence::from_number(number));
        assert_eq!([why(3), why(5), why(4)], [Some(Departure::Expired), Some(Departure::Forced), None]);
        assert_eq!(history.departure(session, &Name::lock("other"), Fence::from_number(5)), None);
    }

    #[test]
    fn the_latest_is_first_and_a_busy_lock_does_not_push_out_a_quiet_one() {
        let mut history = History::default();
        history.applied(Moment { index: 1, at_ms: 0 }, &[granted("quiet", 1)]);
        for index in 2..1002 {
            history.applied(Moment { index, at_ms: 0 }, &[granted("busy", index)]);
        }
        assert_eq!(fences(&history, "quiet"), [1]);
        let busy = fences(&history, "busy");
        assert_eq!((busy.len(), busy[0], busy[49]), (MOST_EACH, 1001, 952));
        assert_eq!(history.of(None).len(), MOST_RECENT);
        assert!(fences(&history, "unheard of").is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
        let mut history = History::default();
        let ended = |number| {
            let (session, expired, label) = (SessionId::new(number).unwrap(), false, format!("worker {number}"));
            Event::Ended { session, expired, label }
        };
        for index in 1..=3 * MOST_LABELS as u64 {
            let moment = Moment { index, at_ms: 0 };
            history.applied(moment, &[granted(&format!("l{index}"), index), ended(index)]);
            assert!(history.named.len() <= MOST_NAMES && history.labels.len() <= MOST_LABELS);
        }
        let last = 3 * MOST_LABELS as u64;
        assert_eq!(fences(&history, &format!("l{last}")), [last]);
        assert_eq!(history.label(SessionId::new(last).unwrap()).as_deref(), Some("worker 30000"));
        assert!(history.named.len() >= MOST_NAMES / 2 && fences(&history, "l1").is_empty());
        assert!(history.label(SessionId::new(1).unwrap()).is_none());
    }
}
