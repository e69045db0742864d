// The lists of locks, elections and sessions, a page of each, and the stream of events.

import { el, head, show, visible, written } from "./elements.js";
import { age, badge, clock, count, mode, moment, number, sentence, span, subjectLink, weight, who } from "./words.js";
import { now } from "./service.js";
import { eventKey } from "./events.js";

/** On a telephone, a list is short: what comes after it is to be found, too. */
const NARROW = matchMedia("(max-width: 640px)");

/** So many rows are shown of each list. One more is asked for, to know whether there are more. */
export function rows() {
  return NARROW.matches ? 8 : 25;
}
/** So many of those who wait are named in a list. */
const NAMED = 3;

/** A time that goes on: it is counted up by the page from a moment of its own clock. */
export function since(ms) {
  const from = performance.now() - Math.max(0, ms);
  return el("time", { "data-since": Math.round(from) }, age(ms));
}

/** A time that runs out. */
export function until(leftMs, ttlMs) {
  if (leftMs === undefined) {
    return el("span", { class: "muted" }, "unknown");
  }
  const end = Math.round(performance.now() + leftMs);
  const share = Math.min(1, leftMs / ttlMs);
  return el(
    "span",
    { class: "left", "data-until": end, "data-ttl": ttlMs },
    el("progress", { max: 1, value: share.toFixed(2), "aria-label": "time left" }),
    el("time", {}, age(leftMs)),
  );
}

function table(columns, rows) {
  const header = el("tr", {}, columns.map(([label, style]) => el("th", { scope: "col", class: style }, label)));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, header), el("tbody", {}, rows)));
}

function row(key, columns, cells) {
  const cell = (content, at) => {
    const [label, style] = columns[at];
    return el("td", { class: style, "data-label": label }, el("div", {}, content));
  };
  return el("tr", { "data-key": key }, cells.map(cell));
}

/** The rows of a page, and whether there are others before and after them: of what was asked for, one is one more. */
export function page(place, list, found) {
  const isFull = found.length > rows();
  const isBackwards = Boolean(place.before[list]);
  return {
    shown: isBackwards ? found.slice(-rows()) : found.slice(0, rows()),
    hasEarlier: isBackwards ? isFull : Boolean(place.after[list]),
    hasMore: isBackwards || isFull,
  };
}

/** Links to the pages before and after this one, and to the first. */
function pages(place, list, { shown, hasEarlier, hasMore }, key) {
  if (!hasEarlier && !hasMore) return null;
  const to = (after, before) => place.with({ [list]: after, [`${list}-before`]: before });
  const [first, last] = [shown.at(0), shown.at(-1)];
  return el(
    "nav",
    { class: "pages", "aria-label": `Pages of the ${list}` },
    hasEarlier && el("a", { href: to("", "") }, "« First page"),
    hasEarlier && first && el("a", { href: to("", key(first)) }, "‹ Previous page"),
    hasMore && last && el("a", { href: to(key(last), "") }, "Next page ›"),
  );
}

function nothing(place, list, none, one) {
  if (place.after[list] || place.before[list]) {
    return el("p", { class: "muted note" }, "This page is empty now.");
  }
  if (!place.search && !place.waiting) {
    return el("p", { class: "muted note" }, none, ".");
  }
  const matching = place.search && [" matching “", written(place.search), "”"];
  const rest = place.waiting ? " has waiting sessions." : " was found.";
  return el("p", { class: "muted note" }, "No ", one, matching, rest);
}

function hereOnly(data) {
  const said = "Only clients of this node are shown. With the peer engine, a node does not know those of others.";
  return data.here_only && el("p", { class: "muted note" }, said);
}

function found(place, total, all) {
  return place.search || place.waiting ? `${number(total)} found` : all;
}

const TITLES = { locks: "Locks", elections: "Elections", sessions: "Sessions" };

/** A panel that could not be read. What was read before stays. */
export function renderUnknown(into, list, why) {
  if (into.querySelector("table")) return;
  show(into, head(TITLES[list], ""), el("p", { class: "muted note" }, "Unknown: ", why));
}

const LOCK_COLUMNS = [
  ["Lock", "subject"],
  ["Held by", ""],
  ["Held for", "short"],
  ["Fence", "short"],
  ["Waiting", ""],
];

/** The panel of the locks. */
export function renderLocks(into, data, place) {
  const { total } = data;
  const part = page(place, "locks", data.locks);
  const locks = part.shown;
  const filter = el(
    "a",
    { class: "filter", href: place.with({ waiting: place.waiting ? "" : "1" }), "aria-pressed": String(place.waiting) },
    place.waiting ? "Show all" : "Only with waiters",
  );
  show(
    into,
    head(TITLES.locks, found(place, total, number(total)), filter),
    hereOnly(data),
    locks.length === 0
      ? nothing(place, "locks", "No lock is held or waited for", "lock")
      : table(LOCK_COLUMNS, locks.map((lock) => row(lock.name, LOCK_COLUMNS, lockCells(lock)))),
    pages(place, "locks", part, (lock) => lock.name),
  );
}

function lockCells(lock) {
  const first = lock.holders[0];
  const more = lock.holding - 1;
  const shared = first && mode(first.mode);
  return [
    subjectLink("lock", lock.name),
    first
      ? [
          who(first.session, first.label),
          more > 0 && el("span", { class: "muted" }, ` and ${number(more)} more`),
          shared && [" ", el("span", { class: "badge plain" }, shared)],
        ]
      : el("span", { class: "muted" }, lock.delay_ms ? `lock delay of ${span(lock.delay_ms)}` : "none"),
    first ? since(first.held_ms) : "",
    first ? el("span", { class: "fence" }, first.fence) : "",
    lock.waiting > 0 ? waiters(lock) : el("span", { class: "muted" }, "none"),
  ];
}

function waiters(lock) {
  const named = lock.waiters.slice(0, NAMED).map((waiter) => el("li", {}, who(waiter.session, waiter.label)));
  const more = lock.waiting - named.length;
  return [
    el("span", { class: "badge warn" }, number(lock.waiting)),
    el("ol", { class: "line" }, named),
    more > 0 && el("span", { class: "muted" }, ` and ${number(more)} more`),
  ];
}

const ELECTION_COLUMNS = [
  ["Election", "subject"],
  ["Leader", ""],
  ["Value", "said"],
  ["Leader for", "short"],
  ["Fence", "short"],
  ["Candidates", "short"],
];

/** The panel of the elections. */
export function renderElections(into, data, place) {
  const { total } = data;
  const part = page(place, "elections", data.elections);
  const elections = part.shown;
  const cells = ({ name, leader, waiting }) => [
    subjectLink("election", name),
    leader ? who(leader.session, leader.label) : el("span", { class: "muted" }, "none"),
    leader ? el("span", { class: "value-text" }, written(leader.value)) : "",
    leader ? since(now() - leader.since_ms) : "",
    leader ? el("span", { class: "fence" }, leader.fence) : "",
    waiting > 0 ? el("span", { class: "badge warn" }, number(waiting)) : el("span", { class: "muted" }, "none"),
  ];
  show(
    into,
    head(TITLES.elections, found(place, total, number(total))),
    hereOnly(data),
    elections.length === 0
      ? nothing(place, "elections", "No election has a leader or candidates", "election")
      : table(ELECTION_COLUMNS, elections.map((one) => row(one.name, ELECTION_COLUMNS, cells(one)))),
    pages(place, "elections", part, (one) => one.name),
  );
}

const SESSION_COLUMNS = [
  ["Session", "subject"],
  ["Id", "short"],
  ["Time left", "short"],
  ["TTL", "short"],
  ["Holds", "short"],
  ["Waits for", "short"],
  ["Opened", "short"],
];

/** The panel of the sessions. How many there are in all is known if all are shown, or if somebody has told. */
export function renderSessions(into, sessions, total, place) {
  const part = page(place, "sessions", sessions);
  const { shown } = part;
  const few = !part.hasEarlier && !part.hasMore;
  const isAll = !place.search && !place.waiting;
  const cells = (one) => [
    one.label.trim()
      ? el("span", { class: "name" }, visible(one.label))
      : el("span", { class: "muted" }, one.label ? visible(one.label) : "", "no label"),
    el("code", {}, one.session),
    until(one.left_ms, one.ttl_ms),
    span(one.ttl_ms),
    number(one.holds),
    number(one.awaits),
    el("span", { title: moment(one.since_ms) }, clock(one.since_ms)),
  ];
  show(
    into,
    head(TITLES.sessions, few ? found(place, shown.length, number(shown.length)) : isAll && total),
    shown.length === 0
      ? el("p", { class: "muted note" }, isAll ? "No session is open." : "No session matches.")
      : table(SESSION_COLUMNS, shown.map((one) => row(one.session, SESSION_COLUMNS, cells(one)))),
    pages(place, "sessions", part, (one) => one.session),
  );
}

/** One event. */
export function eventRow(event, isOnItsPage) {
  return el(
    "li",
    { "data-key": eventKey(event), class: "event", "data-weight": weight(event) },
    el("time", { title: moment(event.at_ms) }, clock(event.at_ms)),
    el("span", { class: `badge ${weight(event)}` }, badge(event)),
    el("span", { class: "said" }, sentence(event, isOnItsPage)),
  );
}

/** The panel of the events. */
export function renderEvents(into, events, isPaused, missed) {
  const paused = isPaused && missed > 0 ? `${count(missed, "new event", "new events")}` : "";
  const label = isPaused ? "Resume" : "Pause";
  show(
    into,
    head("Events", paused, el("button", { type: "button", class: "quiet", "data-action": "pause" }, label)),
    events.length === 0
      ? el("p", { class: "muted note" }, "No events yet. New events appear here automatically.")
      : el("ol", { class: "events" }, events.map((event) => eventRow(event, false))),
  );
}
