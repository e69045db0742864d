//! Taking a lock away from whoever holds it.

use super::{Departure, Event, Fence, Machine, Moment, Name, Refusal, Response};

impl Machine {
    /// Takes a lock away from all who hold it, and ends its delays.
    pub(super) fn force(
        &mut self,
        moment: Moment,
        name: &Name,
        by: String,
        events: &mut Vec<Event>,
    ) -> Result<Response, Refusal> {
        let Some(lock) = self.locks.get_mut(name).filter(|lock| !lock.holders.is_empty() || !lock.delays.is_empty())
        else {
            return Err(self.nobody_holds(name));
        };
        lock.delays.clear();
        let holders: Vec<_> = lock.holders.keys().copied().collect();
        events.push(Event::Forced { name: name.clone(), by });
        if holders.is_empty() {
            self.admit(moment, name, events);
            return Ok(Response::Done);
        }
        for &holder in &holders {
            let session = self.sessions.get_mut(&holder).expect("a holder has a session");
            let place = session.places.remove(name).expect("a holder has a place at its lock");
            self.leave(moment, holder, name, place, Departure::Forced, events);
        }
        self.go_on(moment, name, events);
        for holder in holders {
            self.end_if_over(moment, holder, events);
        }
        Ok(Response::Done)
    }

    /// Whether the newest grant is still the one that was seen: then nobody loses it who was not seen to have it.
    pub(super) fn check_grant(&self, name: &Name, seen: Fence) -> Result<(), Refusal> {
        let holders = self.locks.get(name).into_iter().flat_map(|lock| lock.holders.values());
        match holders.map(|holding| holding.fence).max() {
            None => Err(self.nobody_holds(name)),
            Some(now) if now != seen => Err(Refusal::OtherGrant { name: name.text.to_string(), seen, now }),
            Some(_) => Ok(()),
        }
    }
}
