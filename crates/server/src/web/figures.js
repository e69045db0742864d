// Rates and times of the last minutes, as small curves. What happens is counted as it is told; how busy the node is
// comes with its status.

import { el, show } from "./elements.js";
import { number, span } from "./words.js";

/** So many samples are kept, one each time that the status is looked at: five minutes. */
const MOST_SAMPLES = 60;
/** A curve of few samples is not stretched over the whole width. */
const FEWEST_PLACES = 24;
const WIDTH = 120;
const HEIGHT = 30;

export class Figures {
  constructor() {
    this.samples = [];
    this.begin();
  }

  begin() {
    this.grants = 0;
    this.waited = 0;
    this.taken = 0;
  }

  /** Counts what has happened. */
  event(event) {
    if (event.event === "granted") {
      this.grants++;
      this.waited += event.since_ms > 0 ? Math.max(0, event.at_ms - event.since_ms) : 0;
    }
    if (event.event === "lost" && ["expired", "forced", "turn-lost"].includes(event.why)) {
      this.taken++;
    }
  }

  /** Ends a sample. The first look only begins one; after a pause, what was missed is a gap. */
  sample(status, isWhole) {
    const now = performance.now();
    const before = this.before;
    this.before = { at: now, figures: status.figures };
    const seconds = before ? (now - before.at) / 1000 : 0;
    if (!before || seconds < 0.5) return;
    if (!isWhole || status.figures.requests < before.figures.requests) {
      this.push({});
    } else {
      const writes = status.figures.writes - before.figures.writes;
      const busy = (status.figures.writes_us ?? 0) - (before.figures.writes_us ?? 0);
      const trips = (status.turns?.peers ?? []).map((peer) => peer.round_trip_us).filter((trip) => trip !== null);
      this.push({
        grants: this.grants / seconds,
        wait: this.grants > 0 ? this.waited / this.grants : undefined,
        taken: this.taken,
        requests: (status.figures.requests - before.figures.requests) / seconds,
        disk: writes > 0 && status.figures.writes_us !== undefined ? busy / writes / 1000 : undefined,
        trip: trips.length > 0 ? Math.max(...trips) / 1000 : undefined,
        sessions: status.sessions,
      });
    }
    this.begin();
  }

  push(sample) {
    this.samples.push(sample);
    if (this.samples.length > MOST_SAMPLES) {
      this.samples.shift();
    }
  }

  render(into, isPeer) {
    const rate = (value) => [number(Number(value.toPrecision(value < 10 ? 2 : 3))), " /s"];
    show(
      into,
      this.tile("grants", "Grants", rate, "Locks and leaderships granted per second"),
      this.tile("wait", "Mean wait", (value) => [span(value)], "Mean time from joining the queue to the grant"),
      this.tile(
        "taken",
        "Lost grants",
        (value) => [number(value)],
        "Grants lost in the last five minutes: session expired, released by force, or lost to another node",
      ),
      this.tile("requests", "Requests", rate, "Requests answered by this node per second, including this page's"),
      isPeer
        ? this.tile("trip", "Round trip", (value) => [span(value)], "Longest round-trip time to another member")
        : this.tile("disk", "Disk write", (value) => [span(value)], "Mean time until a write to the log is on disk"),
      this.tile("sessions", "Sessions", (value) => [number(value)], "Open sessions"),
    );
  }

  tile(key, label, said, title) {
    const values = this.samples.map((sample) => sample[key]);
    const last = values.findLast((value) => value !== undefined);
    // What is counted within a sample is of interest for as long as it is in the picture.
    const shown = key === "taken" ? values.reduce((sum, value) => sum + (value ?? 0), 0) : last;
    const isKnown = shown !== undefined && this.samples.length > 0;
    const value = isKnown ? said(shown) : el("span", { class: "muted" }, "–");
    return el(
      "div",
      { class: `tile${key === "taken" && shown > 0 ? " bad" : ""}`, "data-key": key, title },
      el("span", { class: "label" }, label),
      el("span", { class: "value" }, value),
      curve(values),
    );
  }
}

/** A curve, with the newest sample at the right; where nothing is known there is a gap. */
function curve(values) {
  const top = Math.max(1e-9, ...values.filter((value) => value !== undefined));
  const places = Math.max(FEWEST_PLACES, values.length);
  const x = (at) => ((at + places - values.length) / (places - 1)) * WIDTH;
  const y = (value) => HEIGHT - 2 - (value / top) * (HEIGHT - 5);
  let line = "";
  let area = "";
  let began;
  values.forEach((value, at) => {
    if (value === undefined) {
      began = undefined;
      return;
    }
    const point = `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    line += `${began === undefined ? "M" : "L"}${point}`;
    area += began === undefined ? `M${x(at).toFixed(1)} ${HEIGHT}L${point}` : `L${point}`;
    began ??= at;
    if (values[at + 1] === undefined) {
      area += `L${x(at).toFixed(1)} ${HEIGHT}Z`;
    }
  });
  const box = { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" };
  const ground = el("path", { class: "ground", d: `M0 ${HEIGHT - 0.5}H${WIDTH}` });
  return el("svg", box, ground, el("path", { class: "area", d: area }), el("path", { class: "line", d: line }));
}
