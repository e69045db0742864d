// How times, names and events are said to people.

import { el, visible, written } from "./elements.js";

/** A span of time, short. */
export function span(ms) {
  const seconds = ms / 1000;
  if (ms > 0 && ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms < 10 && ms > 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** A span that goes on and need not be exact: whole seconds. */
export function age(ms) {
  return ms < 10_000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : span(ms);
}

/** A moment of the day. */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour12: false });
}

/** A moment, in full. */
export function moment(ms) {
  return new Date(ms).toLocaleString([], { hour12: false });
}

/** A large number, so that it can be read. */
export function number(value) {
  return value.toLocaleString("en");
}

/** How many of something there are. */
export function count(value, one, many) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** With whom a lock is shared, if with anybody. */
export function mode(value) {
  if (value === "shared") return "shared";
  return value?.permits === undefined ? "" : `one of ${number(value.permits)} permits`;
}

/** Where a lock or an election has its page. */
export function address(kind, name) {
  return `#/${kind}/${encodeURIComponent(name)}`;
}

/** A lock or an election, as a link to its page. */
export function subjectLink(kind, name) {
  return el("a", { class: "name", href: address(kind, name) }, visible(name));
}

/** A session: what people call it. Its number tells two of the same name apart. */
export function who(session, label) {
  const title = `session ${session}: search for it`;
  const called = label?.trim() ? visible(label) : `session ${session}`;
  return el("a", { class: "who", href: `#/?search=${session}`, title }, called);
}

const ENDS = {
  released: "released",
  withdrawn: "request withdrawn",
  closed: "its session was closed",
  expired: "its session expired",
  forced: "released by force",
  "turn-lost": "its node lost the lock to another node",
  "no-turn": "limit of names reached",
};

/** Whether somebody was done with what it had: who closes its session gives back what it holds. */
function isGivenBack(event) {
  return event.event === "lost" && ["released", "closed"].includes(event.why);
}

/** How much an event matters: it decides the colour. */
export function weight(event) {
  if (event.event === "forced") return "audit";
  if (event.expired || ["expired", "turn-lost", "no-turn", "forced"].includes(event.why)) return "bad";
  if (event.event === "granted") return "good";
  if (event.event === "missed") return "warn";
  return "plain";
}

/** The word that stands before an event. */
export function badge(event) {
  if (event.event === "forced") return "forced";
  if (isGivenBack(event)) return "released";
  if (event.expired || event.why === "expired") return "expired";
  return event.event.replace("session-", "");
}

/** An event as a sentence. On the page of a lock, its name is left out. */
export function sentence(event, isOnItsPage) {
  const name = event.name !== undefined && !isOnItsPage ? subjectLink(event.kind, event.name) : `this ${event.kind}`;
  const one = event.session === undefined ? "a session" : who(event.session, event.label);
  const since = event.since_ms > 0 ? Math.max(0, event.at_ms - event.since_ms) : 0;
  const isElection = event.kind === "election";
  switch (event.event) {
    case "queued":
      return [one, " waits for ", name];
    case "granted": {
      const verb = isElection ? " was elected leader of " : " acquired ";
      return [one, verb, name, ` with fence ${event.fence}`, since > 0 ? ` after ${span(since)}` : ""];
    }
    case "lost":
      if (isGivenBack(event)) {
        return [one, isElection ? " resigned from " : " released ", name, ` after ${span(since)}`];
      }
      return [one, " lost ", name, ` after ${span(since)}: ${ENDS[event.why] ?? event.why}`];
    case "left":
      return [one, " left the queue of ", name, `: ${ENDS[event.why] ?? event.why}`];
    case "delayed":
      return [name, ` cannot be acquired for ${span(event.delay_ms)} (delay)`];
    case "proclaimed":
      return [one, " changed its value in ", name];
    case "forced":
      return [isOnItsPage ? "" : [name, " was "], "released by force, by ", written(event.by)];
    case "session-opened":
      return [one, " opened a session"];
    case "session-ended":
      return [one, event.expired ? "'s session expired" : " closed its session"];
    case "missed":
      return ["too many events at once: some are missing from this list"];
    default:
      return [event.event];
  }
}
