//! Whom the nodes follow in the end.
//!
//! That no two name different leaders *at the same time* cannot be judged without a common clock, and while news
//! travels it is not so: that is for the laboratory. But where nothing has changed for long enough, all who live name
//! the same one, and that one lives.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::id::Id;
use quorate_core::trace::What;

use super::merge::Merged;
use super::{Finding, Life};

/// What the traces say of the group's leader; nothing if nobody ever named one.
pub(super) fn one_leader(merged: &Merged, patience: u64) -> Option<Finding> {
    // Lives are in order, so the last one of each node stays.
    let last: BTreeMap<Id, usize> =
        (0..).zip(&merged.lives).map(|(place, life)| (life.header.process, place)).collect();
    let end = merged.events.iter().map(|event| event.record.at).max()?;
    let stopped_before = |life: &Life| {
        life.ended.is_some_and(|ended| end.saturating_sub(life.header.started.saturating_add(ended)) > patience)
    };
    let mut living: BTreeSet<Id> =
        last.iter().filter(|&(_, &place)| !stopped_before(&merged.lives[place])).map(|(&id, _)| id).collect();
    let mut named: BTreeMap<Id, Id> = BTreeMap::new();
    let mut changed = merged.lives.iter().map(|life| life.header.started).max().unwrap_or(0);
    for event in &merged.events {
        let me = event.record.process;
        let is_last = last.get(&me) == Some(&event.life);
        let is_change = match event.record.what {
            What::Leader { leader } => is_last && named.insert(me, leader) != Some(leader),
            What::Crashed | What::Stopped => !is_last || living.remove(&me),
            What::Called | What::Told { .. } => true,
            _ => false,
        };
        if is_change {
            changed = changed.max(event.record.at);
        }
    }
    if named.is_empty() {
        return None;
    }
    let dead = last.keys().copied().filter(|id| !living.contains(id)).collect();
    let Some(why) = disagreement(&living, &dead, &named) else { return Some(Finding::Held) };
    if end.saturating_sub(changed) > patience {
        return Some(Finding::Violated { at: end, by: None, order: None, why });
    }
    let seconds = patience as f64 / 1e6;
    Some(Finding::Undecided { why: format!("{why}, but the last change is less than {seconds} s before the end") })
}

/// Who of the living does not follow the same one as the others, or a dead one, if anybody.
fn disagreement(living: &BTreeSet<Id>, dead: &BTreeSet<Id>, named: &BTreeMap<Id, Id>) -> Option<String> {
    let first = living.iter().find_map(|id| Some((id, named.get(id)?)));
    living.iter().find_map(|id| match (named.get(id), first) {
        (None, _) => Some(format!("{id} names no leader")),
        (Some(leader), _) if dead.contains(leader) => {
            Some(format!("{id} names {leader}, which has crashed or stopped"))
        }
        (Some(leader), Some((other, another))) if leader != another => {
            Some(format!("{id} names {leader}, and {other} names {another}"))
        }
        (Some(_), _) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(living: &[u32], named: &[(u32, u32)]) -> Option<String> {
        let living: BTreeSet<Id> = living.iter().map(|&id| Id::new(id)).collect();
        let dead = Id::all(3).filter(|id| !living.contains(id)).collect();
        let named = named.iter().map(|&(id, leader)| (Id::new(id), Id::new(leader))).collect();
        disagreement(&living, &dead, &named)
    }

    #[test]
    fn all_who_live_name_the_same_one_who_lives() {
        assert_eq!(said(&[1, 2, 3], &[(1, 3), (2, 3), (3, 3)]), None);
        assert_eq!(said(&[1, 2], &[(1, 2), (2, 2), (3, 3)]), None, "whom the dead named does not count");
        assert_eq!(said(&[], &[(1, 3)]), None, "nobody is left to disagree");
        assert_eq!(said(&[1, 2, 3], &[(1, 3), (3, 3)]).unwrap(), "p2 names no leader");
        assert_eq!(said(&[1, 2], &[(1, 3), (2, 3)]).unwrap(), "p1 names p3, which has crashed or stopped");
        assert_eq!(said(&[1, 2, 3], &[(1, 3), (2, 2), (3, 3)]).unwrap(), "p2 names p2, and p1 names p3");
    }
}
