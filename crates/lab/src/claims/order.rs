//! Whether requests are served in the order in which they happened (ME3).

use super::Court;
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::stage::Bounds;

/// The same exploration, with so many messages of the applications.
pub(super) fn with_pokes(exploration: Exploration, pokes: u32) -> Exploration {
    Exploration { bounds: Bounds { pokes, ..exploration.bounds }, ..exploration }
}

/// Whether all these explorations keep requests in order.
pub(super) fn keeps_order(court: &mut Court, algorithm: &'static str, explorations: &[Exploration]) -> bool {
    let held: Vec<_> = explorations.iter().map(|each| court.holds(algorithm, each, &[Goal::RequestOrder])).collect();
    held.into_iter().all(|held| held)
}

/// The same exploration, with an option of the algorithm.
pub(super) fn with_option(exploration: Exploration, key: &str, value: &str) -> Exploration {
    Exploration { options: vec![(key.into(), value.into())], ..exploration }
}

/// The same exploration, without these processes.
pub(super) fn without(exploration: Exploration, absent: &[u32]) -> Exploration {
    Exploration { absent: absent.iter().map(|&id| quorate_core::id::Id::new(id)).collect(), ..exploration }
}
