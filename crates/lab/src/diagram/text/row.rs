//! What comes on one row of a chart.

use std::collections::BTreeSet;
use std::ops::Range;

use quorate_core::trace::What;

use super::super::layout::{Event, Fate};
use super::super::words::brief;
use super::{Chart, Form};

/// The part of an arrow that a row shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It leaves its sender.
    Leaves,
    /// It comes to its receiver.
    Arrives,
    /// All of it.
    Whole,
    /// It does not get there, and left some rows above.
    Fails,
    /// It leaves, and does not get there.
    FailsAtOnce,
}

/// What comes on one row: parts of one step that do not get into each other's way.
#[derive(Default)]
pub(super) struct Row {
    pub(super) items: Vec<Item>,
    step: Option<usize>,
    /// The moments from which and to which it goes.
    pub(super) moments: Option<(usize, usize)>,
    /// The moment whose time was written last.
    pub(super) told: Option<usize>,
    /// The gaps to the right of lines that are taken.
    taken: BTreeSet<usize>,
}

pub(super) struct Item {
    pub(super) event: usize,
    /// The part of an arrow, or words if none.
    pub(super) part: Option<Part>,
}

impl Item {
    /// The events that it shows: a message that arrives, or is lost, at once is two.
    pub(super) fn events(&self) -> Range<usize> {
        match self.part {
            Some(Part::Whole | Part::FailsAtOnce) => self.event..self.event + 2,
            Some(Part::Leaves | Part::Arrives | Part::Fails) | None => self.event..self.event + 1,
        }
    }
}

impl Row {
    /// Whether the event can be on this row.
    pub(super) fn takes(&self, chart: &Chart<'_>, event: &Event<'_>, follows: bool) -> bool {
        // What arrives at once is on the row where it leaves.
        follows
            || self.moments.is_none()
            || matches!(chart.form, Form::Wide(_))
                && self.step == Some(event.step)
                && gaps(chart, event).all(|gap| !self.taken.contains(&gap))
    }

    pub(super) fn add(&mut self, chart: &Chart<'_>, index: usize, event: &Event<'_>, follows: bool) {
        self.moments = Some((self.moments.map_or(event.moment, |(begin, _)| begin), event.moment));
        self.step = Some(event.step);
        if follows {
            return;
        }
        let part = match &event.record.what {
            What::Sent { .. } | What::Poked { .. } if chart.at_once[index] => {
                let message = event.message.map(|message| &chart.layout.messages[message]);
                let lost = message.is_some_and(|message| matches!(message.fates[..], [Fate::Lost(_)]));
                Some(if lost { Part::FailsAtOnce } else { Part::Whole })
            }
            What::Sent { .. } | What::Poked { .. } => Some(Part::Leaves),
            What::Received { .. } | What::Heard { .. } => Some(Part::Arrives),
            What::Lost { .. } => Some(Part::Fails),
            _ if is_long(event) => return,
            _ if brief(event.record).is_none() && chart.form != Form::List => return,
            _ => None,
        };
        self.taken.extend(gaps(chart, event));
        self.items.push(Item { event: index, part });
    }
}

/// Which gaps to the right of lines an event needs.
fn gaps(chart: &Chart<'_>, event: &Event<'_>) -> Range<usize> {
    match event.message.map(|message| chart.layout.messages[message].from) {
        Some(from) => {
            let to = receiver(chart, event);
            let left = from.min(to);
            left..from.max(to).max(left + 1)
        }
        None if brief(event.record).is_none() => 0..0,
        None => event.line..event.line + 1,
    }
}

/// The line that a message's event draws an arrow to.
pub(super) fn receiver(chart: &Chart<'_>, event: &Event<'_>) -> usize {
    let to = event.message.map_or(event.line, |message| chart.layout.messages[message].to);
    if matches!(event.record.what, What::Received { .. } | What::Heard { .. }) { event.line } else { to }
}

/// Whether the words of this event get a row without a chart.
pub(super) fn is_long(event: &Event<'_>) -> bool {
    matches!(event.record.what, What::Unexpected { .. })
}
