// What is read when: nothing more often than once a second, each thing by itself, and what could not be read again and
// again, less and less often. A page that nobody sees reads nothing.

import { Problem, Silence } from "./service.js";

const READ_EVERY_MS = 1_000;
/** How long to wait before what has failed is read again: from, and at most. */
const PAUSES_MS = [1_000, 8_000];

export class Reading {
  /**
   * `readers` has a function for each thing. `isShown` says of a thing whether the page shows it now, and `onFailure`
   * hears of one that could not be read, or can be read again.
   */
  constructor(readers, isShown, onFailure) {
    this.readers = readers;
    this.isShown = isShown;
    this.onFailure = onFailure;
    this.wanted = new Set();
    this.busy = new Set();
    this.failures = new Map();
    this.at = 0;
  }

  /** Has these read soon: at once, unless that was done a moment ago. */
  want(things) {
    for (const thing of things) this.wanted.add(thing);
    const isAnyFree = [...this.wanted].some((thing) => !this.busy.has(thing));
    if (this.timer !== undefined || document.hidden || !isAnyFree) return;
    const wait = this.at + READ_EVERY_MS - performance.now();
    this.timer = setTimeout(() => this.begin(), Math.max(0, Math.min(wait, READ_EVERY_MS)));
  }

  begin() {
    this.timer = undefined;
    this.at = performance.now();
    for (const thing of [...this.wanted]) {
      // What is being read may be old by the time it is there: it stays wanted until then.
      if (this.busy.has(thing)) continue;
      this.wanted.delete(thing);
      if (this.isShown(thing)) this.read(thing);
    }
  }

  async read(thing) {
    this.busy.add(thing);
    try {
      await this.readers[thing]();
      this.clear(thing);
    } catch (error) {
      this.failed(thing, error);
    }
    this.busy.delete(thing);
    this.want([]);
  }

  failed(thing, error) {
    if (error.name === "AbortError") {
      // It was given up in favour of being read anew.
      this.wanted.add(thing);
      return;
    }
    const before = this.failures.get(thing);
    clearTimeout(before?.timer);
    const pause = before ? Math.min(before.pause * 2, PAUSES_MS[1]) : PAUSES_MS[0];
    const isHopeless = error.status >= 400 && error.status < 500 && error.status !== 429;
    const timer = isHopeless ? undefined : setTimeout(() => this.want([thing]), pause);
    this.failures.set(thing, { said: said(error), isHopeless, pause, timer });
    this.onFailure(thing);
  }

  clear(thing) {
    clearTimeout(this.failures.get(thing)?.timer);
    if (this.failures.delete(thing)) this.onFailure(thing);
  }

  /** What is not shown any more is not missed either. */
  forgetUnshown() {
    for (const thing of [...this.failures.keys()]) {
      if (!this.isShown(thing)) this.clear(thing);
    }
  }

  /** Why this could not be read, or the first of all that could not. */
  why(thing) {
    const known = thing === undefined ? [...this.failures.values()] : [this.failures.get(thing)];
    return known.find((failure) => failure?.said);
  }
}

/** Why something could not be read, for people. That the node cannot be reached is known from the stream of events. */
function said(error) {
  // What the server says of these is for those who change something: that it was not done, or may have been.
  if (["no-leader", "no-majority", "unknown"].includes(error.kind)) {
    return "no majority of the members answers. Check that a majority of them runs.";
  }
  const isSaid = (error instanceof Problem && error.status !== 401) || error instanceof Silence;
  return isSaid ? `${error.message}.` : undefined;
}
