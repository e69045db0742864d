// The page: where one is, what is read when, and what is said when the connection is lost.
//
// Nothing is read without a reason. Events come by themselves; when something has happened, what is shown is read
// anew, at most once a second, however much happens. Besides, the status is looked at every few seconds, and the
// sessions when one of them seems to run out, as renewals are no events. A page that nobody sees hears and reads
// nothing, and reads everything when it is seen again.

import { by, el, plain, show } from "./elements.js";
import { age, clock, number } from "./words.js";
import { Feed, get, giveUpLooking, listed, now, Silence, token, whenRefused } from "./service.js";
import { Reading } from "./reading.js";
import { Events } from "./events.js";
import { Figures } from "./figures.js";
import { renderMembers } from "./cluster.js";
import { page, renderElections, renderEvents, renderLocks, renderSessions, renderUnknown, rows } from "./lists.js";
import { askForForce, force, forceChanged, readSubject, renderSubject, renderUnknownSubject } from "./subject.js";

const STATUS_EVERY_MS = 5_000;
const SESSIONS_EVERY_MS = 2_000;
/** So many events are shown. */
const MOST_SHOWN = 80;
/** So many sessions are known by what they are called. */
const MOST_LABELS = 10_000;

const state = {
  place: undefined,
  status: undefined,
  whoami: undefined,
  subject: undefined,
  events: new Events(),
  labels: new Map(),
  paused: undefined,
  connection: "connecting",
  wasLive: false,
  lostAt: undefined,
  isWhole: true,
};
const figures = new Figures();

const LISTS = ["locks", "elections", "sessions"];
const EVERYTHING = ["whoami", "past", "status", ...LISTS, "subject"];

// Where one is. Everything is in the address, so that a link shows the same again.

function placeOf(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const asked = new URLSearchParams(query);
  const [, kind, name] = path.match(/^(lock|election)\/(.+)$/) ?? [];
  const of = (ending) => Object.fromEntries(LISTS.map((list) => [list, asked.get(`${list}${ending}`)]));
  const [search, waiting] = [asked.get("search") ?? "", asked.has("waiting")];
  const place = { kind, name: decoded(name), search, waiting, after: of(""), before: of("-before") };
  place.with = (changes) => {
    const query = new URLSearchParams(asked);
    for (const [key, value] of Object.entries(changes)) {
      if (value) query.set(key, value);
      else query.delete(key);
    }
    return query.size > 0 ? `#/?${query}` : "#/";
  };
  return place;
}

/** The part of a list that is shown, with one more. */
function part(list) {
  const { search, waiting, after, before } = state.place;
  const asked = { search, waiting, after: after[list], before: before[list], limit: rows() + 1 };
  return listed(`/v1/${list}`, asked);
}

function decoded(text) {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return text;
  }
}

function arrive() {
  const before = state.place;
  state.place = placeOf(location.hash);
  const { kind, name, search } = state.place;
  by("overview").hidden = kind !== undefined;
  by("subject").hidden = kind === undefined;
  document.title = kind ? `${plain(name)} · Quorate` : "Quorate";
  if (document.activeElement !== by("search")) {
    by("search").value = search;
  }
  if (before && (before.kind !== kind || before.name !== name)) {
    show(by("subject"));
    state.subject = undefined;
    scrollTo(0, 0);
  }
  renderStream();
  // What is being read is of where one was.
  giveUpLooking();
  reading.forgetUnshown();
  read(before ? [...LISTS, "subject"] : EVERYTHING);
}

// What is read when.

/** Whether one sees this where one is. */
function isShown(thing) {
  return state.place.kind === undefined ? thing !== "subject" : !LISTS.includes(thing);
}

/** Has these read soon. */
function read(things) {
  reading.want(things);
}

const READERS = {
  async status() {
    const status = await get("/v1/status");
    const before = state.status;
    state.status = status;
    // What was refused, or known to another leader, may be different now.
    if (before && (before.leader !== status.leader || before.term !== status.term)) read(EVERYTHING);
    figures.sample(status, state.isWhole);
    state.isWhole = state.connection === "live";
    show(by("node"), `node ${status.node}`, el("span", { class: "version" }, ` · ${status.version}`));
    figures.render(by("figures"), status.engine === "peer");
    renderMembers(by("members"), status);
    if (state.sessions && !state.place.kind) sayTotal();
  },

  async locks() {
    const data = await get(part("locks"));
    for (const lock of data.locks) {
      for (const one of [...lock.holders, ...lock.waiters]) learn(one);
    }
    renderLocks(by("locks"), data, state.place);
  },

  async elections() {
    const data = await get(part("elections"));
    for (const { leader } of data.elections) {
      if (leader) learn(leader);
    }
    renderElections(by("elections"), data, state.place);
  },

  async sessions() {
    const sessions = await get(part("sessions"));
    sessions.forEach(learn);
    state.sessions = sessions;
    const total = state.status && number(state.status.sessions);
    renderSessions(by("sessions"), sessions, total, state.place);
    renderStream();
    // How many there are in all is told by the status, which may have been read before.
    const { hasEarlier, hasMore } = page(state.place, "sessions", sessions);
    if (hasEarlier || hasMore) read(["status"]);
  },

  async subject() {
    const { kind, name } = state.place;
    const subject = await readSubject(kind, name);
    if (state.place.name !== name || state.place.kind !== kind) return;
    state.subject = subject;
    renderSubject(by("subject"), subject, state.whoami);
    forceChanged(subject);
  },

  async whoami() {
    const whoami = await get("/v1/whoami");
    state.whoami = whoami;
    by("identity").hidden = whoami.name === undefined;
    by("identity").textContent = `${whoami.name} (${whoami.role})`;
    if (state.subject) renderSubject(by("subject"), state.subject, whoami);
  },

  /** What happened while this page was told nothing. */
  async past() {
    const { events } = await get("/v1/history");
    const count = state.events.merge(events);
    if (state.paused !== undefined) state.paused.missed += count;
    renderStream();
  },
};

const reading = new Reading(READERS, isShown, (thing) => {
  const why = reading.why(thing);
  if (why && LISTS.includes(thing)) renderUnknown(by(thing), thing, why.said);
  if (why && thing === "subject" && !state.subject) renderUnknownSubject(by("subject"), state.place, why.said);
  sayState();
});

/** How many sessions there are, beside those that are shown. */
function sayTotal() {
  const note = by("sessions").querySelector(".head .muted");
  const { hasEarlier, hasMore } = page(state.place, "sessions", state.sessions);
  const isAll = !state.place.search && !state.place.waiting;
  if (note && isAll && (hasEarlier || hasMore)) note.textContent = number(state.status.sessions);
}

function learn({ session, label }) {
  if (state.labels.size >= MOST_LABELS) state.labels.clear();
  if (label) state.labels.set(session, label);
}

// What happens.

function happened(event) {
  figures.event(event);
  if (event.event === "vacant" || event.event === "wanted") return;
  if (event.label) learn(event);
  event.at_ms ??= now();
  if (!state.events.add(event)) return;
  if (state.paused !== undefined) state.paused.missed++;
  scheduleStream();
  if (event.event === "missed") {
    read(EVERYTHING);
  } else {
    const { kind, name } = state.place;
    const changed = event.kind === undefined ? ["sessions", "locks"] : [`${event.kind}s`, "sessions"];
    read(kind !== undefined && event.kind === kind && event.name === name ? ["subject", ...changed] : changed);
  }
}

let drawing = false;

function scheduleStream() {
  if (drawing) return;
  drawing = true;
  setTimeout(() => {
    drawing = false;
    renderStream();
  }, 150);
}

function renderStream() {
  if (state.place.kind !== undefined || document.hidden) return;
  const events = (state.paused?.events ?? state.events.all).slice(0, MOST_SHOWN);
  const called = events.map((event) => ({ ...event, label: event.label ?? state.labels.get(event.session) }));
  renderEvents(by("events"), called, state.paused !== undefined, state.paused?.missed ?? 0);
}

// Whether the connection is there.

const feed = new Feed(happened, (connection, why) => {
  const before = state.connection;
  // What was never there cannot be lost.
  state.connection = connection === "lost" && !state.wasLive ? "connecting" : connection;
  state.why = why;
  if (connection === "live") {
    by("token-dialog").close();
    state.backAt = before === "lost" ? Date.now() : undefined;
    state.lostAt = undefined;
    setTimeout(sayState, 8_000);
    if (state.wasLive) giveUpLooking();
    state.wasLive = true;
    read(EVERYTHING);
  } else if (state.connection === "lost") {
    state.isWhole = false;
    state.lostAt ??= Date.now();
  }
  sayState();
});

/** Hears what happens for as long as anybody sees it. */
function seen() {
  if (document.hidden) {
    feed.stop();
    return;
  }
  state.isWhole = false;
  if (state.connection === "live") state.connection = "connecting";
  renderStream();
  sayState();
  if (state.connection !== "refused") feed.start();
}

const STATES = {
  connecting: "connecting", live: "live", partly: "out of date", lost: "connection lost", refused: "token required",
};

function sayState() {
  const { connection, lostAt, backAt, why } = state;
  const shown = by("connection");
  const failure = reading.why();
  // Events may still be heard; what was read before they came is old.
  const known = connection === "live" && failure !== undefined ? "partly" : connection;
  shown.dataset.state = known;
  show(shown, STATES[known]);
  document.body.classList.toggle("stale", connection === "lost");
  const banner = by("banner");
  const isBack = connection === "live" && backAt !== undefined && Date.now() - backAt < 8_000;
  const isLate = connection === "connecting" && why !== undefined;
  banner.dataset.state = connection === "lost" ? "lost" : isBack ? "back" : "refused";
  banner.hidden = connection !== "lost" && !isBack && !isLate && failure === undefined;
  const retry = el("button", { type: "button", class: "quiet", "data-action": "retry" }, "Try now");
  if (connection === "lost") {
    const said = `The connection was lost at ${clock(lostAt)}. The page shows the state of that time. `;
    show(banner, el("strong", {}, said), el("span", {}, `Reconnecting automatically (${why.message}). `), retry);
  } else if (isLate) {
    const many = "Is this node open in other windows? A browser opens at most six connections to it for all windows. ";
    const said = [`Reconnecting automatically (${why.message}). `, why instanceof Silence && many];
    show(banner, el("strong", {}, "Not connected yet. "), el("span", {}, said), retry);
  } else if (isBack) {
    show(banner, el("strong", {}, `The connection was restored at ${clock(backAt)}. `), "The page is being reloaded.");
  } else if (failure) {
    const rest = failure.isHopeless ? "" : " The page may be out of date. Retrying automatically.";
    show(banner, el("strong", {}, "Reading failed: "), failure.said, rest);
  } else {
    show(banner);
  }
}

// Times that go on, and times that run out.

function tick() {
  // What is shown is what was known when the connection was lost, and gets no older either.
  if (document.hidden || state.connection === "lost") return;
  const at = performance.now();
  for (const element of document.querySelectorAll("[data-since]")) {
    element.textContent = age(at - Number(element.dataset.since));
  }
  let isDoubtful = false;
  for (const element of document.querySelectorAll("[data-until]")) {
    if (!element.checkVisibility()) continue;
    const left = Math.max(0, Number(element.dataset.until) - at);
    const share = left / Number(element.dataset.ttl);
    element.querySelector("time").textContent = age(left);
    element.querySelector("progress").value = share;
    element.classList.toggle("low", share < 1 / 3);
    isDoubtful ||= share < 1 / 2;
  }
  if (isDoubtful && state.connection === "live" && at - reading.at > SESSIONS_EVERY_MS) {
    read(["sessions", "subject"]);
  }
}

// What people do.

const ACTIONS = {
  token: () => askForToken("", true),
  forget: () => {
    token.forget();
    location.reload();
  },
  close: (button) => button.closest("dialog").close(),
  force: () => askForForce(state.subject, state.whoami),
  retry: () => feed.start(),
  skip: () => by("main").focus(),
  pause: () => {
    state.paused = state.paused === undefined ? { events: state.events.all.slice(), missed: 0 } : undefined;
    renderStream();
  },
};

document.addEventListener("click", (click) => {
  const button = click.target.closest("[data-action]");
  if (!button) return;
  click.preventDefault();
  ACTIONS[button.dataset.action](button);
});

document.addEventListener("keydown", (key) => {
  const isTyping = ["INPUT", "TEXTAREA"].includes(document.activeElement?.tagName);
  if (key.key === "/" && !isTyping && !document.querySelector("dialog[open]")) {
    key.preventDefault();
    by("search").focus();
  }
});

let typed;
by("search").addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(search, 200);
});
by("search-form").addEventListener("submit", (submit) => {
  submit.preventDefault();
  clearTimeout(typed);
  search();
});

function search() {
  const at = state.place.kind === undefined ? state.place : placeOf("#/");
  const text = by("search").value.trim();
  const firstPages = LISTS.flatMap((list) => [[list, ""], [`${list}-before`, ""]]);
  location.hash = at.with({ search: text, ...Object.fromEntries(firstPages) });
}

function askForToken(why, mayCancel) {
  by("token-why").textContent = why;
  by("token-cancel").hidden = !mayCancel;
  by("token-forget").hidden = !mayCancel || !token.get();
  if (!by("token-dialog").open) {
    by("token").value = "";
    by("token-dialog").showModal();
  }
}

by("token-dialog").addEventListener("cancel", (cancel) => {
  if (by("token-cancel").hidden) cancel.preventDefault();
});
by("token-form").addEventListener("submit", (submit) => {
  submit.preventDefault();
  token.set(by("token").value.trim());
  by("token").value = "";
  feed.start();
});
by("force-form").addEventListener("submit", (submit) => {
  submit.preventDefault();
  force();
});

// Without a token, what the server says of it is for programs; with a wrong one, it is for people.
whenRefused((problem) => askForToken(token.get() ? problem.message : "", false));
addEventListener("hashchange", arrive);
document.addEventListener("visibilitychange", seen);
setInterval(tick, 500);
setInterval(() => state.connection === "live" && !document.hidden && read(["status"]), STATUS_EVERY_MS);
arrive();
if (!document.hidden) feed.start();
