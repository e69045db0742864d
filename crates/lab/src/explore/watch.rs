//! What watches a searched state: the monitors of the properties, as one more part of the state.

use quorate_core::catalog::Property;
use quorate_core::id::{Id, IdSet};
use quorate_core::trace::{Record, What};

use super::goal::Goal;
use crate::property::{Bypass, Causality, Monitor};
use crate::stage::Rules;
use crate::stage::resource::Resource;
use crate::stage::wish::Times;

/// The state of everything that watches, and of the resource, which only answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Watch {
    /// One for each goal that has one, with the place of the goal.
    monitors: Vec<(usize, Monitor)>,
    /// The place of request order among the goals, if it is one.
    request_order: Option<usize>,
    causality: Causality,
    /// How often those who wait were overtaken, if anybody wants to know.
    bypass: Option<Bypass>,
    /// What the applications enter for, if they touch it.
    resource: Option<Resource>,
}

/// What a watch sees of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Seen {
    /// Something that is no message happened.
    Happened(What),
    /// A message was sent.
    Sent,
}

/// What a watch makes of a step.
#[derive(Clone, Debug)]
pub(super) struct Reaction {
    pub(super) watch: Watch,
    /// The goals that the step breaks, as a set of bits.
    pub(super) violated: u32,
    /// What each message that it sent carries.
    pub(super) pasts: Vec<IdSet>,
    /// Whether the request of this process waits no more, so that it leaves all letters.
    pub(super) gone: bool,
}

impl Watch {
    pub(super) fn new(goals: &[Goal], rules: &Rules, n: u32) -> Watch {
        let counts_bypass = goals.contains(&Goal::StarvationFreedom) && matches!(rules.times, Times::AtMost(_));
        let monitors = goals.iter().enumerate().filter_map(|(place, goal)| {
            let property = goal.property().filter(|&property| property != Property::RequestOrder)?;
            Some((place, Monitor::new(property, n)))
        });
        Watch {
            monitors: monitors.collect(),
            request_order: goals.iter().position(|&goal| goal == Goal::RequestOrder),
            causality: Causality::default(),
            bypass: counts_bypass.then(Bypass::default),
            resource: (rules.bounds.writes > 0).then(|| Resource::new(rules.sealed)),
        }
    }

    /// Whether any watch can see this.
    pub(super) fn sees(&self, what: &What) -> bool {
        match what {
            What::Wanted | What::Withdrew | What::Entered { .. } | What::Leaving | What::Called => true,
            What::Leader { .. } | What::Opinion { .. } | What::Crashed | What::Stopped | What::Restarted { .. } => true,
            What::Read { .. } | What::Wrote { .. } => true,
            What::Withdrawn
            | What::Exited
            | What::Sent { .. }
            | What::Received { .. }
            | What::Lost { .. }
            | What::Poked { .. }
            | What::Heard { .. }
            | What::TimedOut { .. }
            | What::Told { .. }
            | What::Paused
            | What::Resumed
            | What::Partitioned { .. }
            | What::Healed
            | What::Unexpected { .. } => false,
        }
    }

    /// Sees a step of a process, which begins with the arrival of a letter that carries this past, if of any.
    pub(super) fn react(&self, me: Id, seen: &[Seen], learned: &IdSet) -> Reaction {
        let mut reaction = Reaction { watch: self.clone(), violated: 0, pasts: Vec::new(), gone: false };
        reaction.watch.causality.learn(me, learned);
        for seen in seen {
            match seen {
                Seen::Sent => reaction.pasts.push(reaction.watch.causality.known_to(me)),
                Seen::Happened(what) => reaction.happened(me, what),
            }
        }
        reaction
    }

    pub(super) fn causality(&self) -> &Causality {
        &self.causality
    }

    pub(super) fn most_overtaken(&self) -> u32 {
        self.bypass.as_ref().map_or(0, Bypass::most)
    }

    /// The goals that are broken if the run ends here, as a set of bits.
    ///
    /// Who names a leader that has crashed calls again when it needs it, unless it is `told` of crashes: before that,
    /// an election is not over.
    pub(super) fn violated_at_the_end(&self, told: bool) -> u32 {
        let judged = |monitor: &Monitor| match monitor {
            Monitor::Decided(watch) => told || !watch.names_the_dead(),
            _ => true,
        };
        let broken = self.monitors.iter().filter(|(_, monitor)| judged(monitor) && monitor.end(0).is_some());
        broken.fold(0, |broken, (place, _)| broken | 1 << place)
    }
}

impl Reaction {
    fn happened(&mut self, me: Id, what: &What) {
        let mut record = Record { at: 0, process: me, what: what.clone() };
        if let Some(resource) = &mut self.watch.resource {
            record.what = resource.judge(record.what);
        }
        for (place, monitor) in &mut self.watch.monitors {
            if monitor.observe(&record).is_some() {
                self.violated |= 1 << *place;
            }
        }
        if let Some(bypass) = &mut self.watch.bypass {
            bypass.observe(me, what);
        }
        if let Some(gone) = self.watch.causality.observe(me, what) {
            self.gone = true;
            if let (Some(_), Some(place)) = (gone.overtook, self.watch.request_order) {
                self.violated |= 1 << place;
            }
        }
    }
}
