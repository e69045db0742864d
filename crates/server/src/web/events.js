// What has happened, as far as this page knows: what it was told, and what the node remembers of the time when it was
// told nothing.

/** So many events are kept. */
const MOST_EVENTS = 500;

/** What tells an event from all others. One entry of the log can have several, and a node may count anew. */
export function eventKey({ index, event, session, kind, name, at_ms }) {
  return JSON.stringify([index, event, session, kind, name, at_ms]);
}

export class Events {
  constructor() {
    /** The latest first. */
    this.all = [];
    this.known = new Set();
  }

  /** Adds what was told just now. Whether it is new: the node's memory may have had it already. */
  add(event) {
    const key = eventKey(event);
    if (this.known.has(key)) return false;
    this.known.add(key);
    this.all.unshift(event);
    if (this.all.length > MOST_EVENTS) this.known.delete(eventKey(this.all.pop()));
    return true;
  }

  /** Adds what the node remembers, the latest first, where it belongs. How much of it is new. */
  merge(past) {
    const fresh = past.filter((event) => !this.known.has(eventKey(event)));
    const told = new Set(past.map(eventKey));
    // Of those with the same time, the node knows the order.
    const all = [...past, ...this.all.filter((event) => !told.has(eventKey(event)))];
    all.sort((one, other) => other.at_ms - one.at_ms || (other.index ?? 0) - (one.index ?? 0));
    this.all = all.slice(0, MOST_EVENTS);
    this.known = new Set(this.all.map(eventKey));
    return fresh.length;
  }
}
