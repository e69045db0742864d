// The page of one lock or one election: who has it, who waits, what has happened to it, and how to take it away.

import { by, el, head, show, visible, written } from "./elements.js";
import { count, mode, moment, number, span, who } from "./words.js";
import { eventRow, since, until } from "./lists.js";
import { get, listed, now, post } from "./service.js";

/** So many of those who wait are shown. */
const MOST_WAITERS = 100;

/** In the path of an address, every browser takes these names for steps, however they are written. */
const STEPS = [".", ".."];

/** Reads everything that the page shows. */
export async function readSubject(kind, name) {
  const path = `/v1/${kind}s/${encodeURIComponent(name)}`;
  const read = STEPS.includes(name) ? [listedAs(kind, name), pastOf(kind, name)] : [get(path), get(`${path}/history`)];
  const [found, { events }] = await Promise.all(read);
  const subject = { kind, name, found, history: events };
  const [first] = holders(subject);
  // It may have ended since, and then there is nothing to say of it.
  subject.session = first && (await get(`/v1/sessions/${first.session}`).catch(() => undefined));
  return subject;
}

/** The same as it is found in the list, where its name is no part of the path: the last one that is not after it. */
async function listedAs(kind, name) {
  const list = await get(listed(`/v1/${kind}s`, { before: `${name}\0`, limit: 1 }));
  const found = list[`${kind}s`].find((one) => one.name === name);
  return found ?? { holders: [], holding: 0, waiters: [], waiting: 0, here_only: list.here_only };
}

/** What is remembered of it among what happened last to everything. */
async function pastOf(kind, name) {
  const { events } = await get("/v1/history");
  return { events: events.filter((event) => event.kind === kind && event.name === name) };
}

/** Those who have it, whichever of both it is. */
export function holders({ kind, found }) {
  if (kind === "lock") return found.holders;
  return found.leader ? [{ ...found.leader, held_ms: now() - found.leader.since_ms }] : [];
}

export function renderSubject(into, subject, whoami) {
  const { kind, found, history } = subject;
  const those = holders(subject);
  const isLock = kind === "lock";
  show(
    into,
    heading(subject, those.length > 0 && forceButton(subject, whoami)),
    found.here_only &&
      el("p", { class: "muted note" }, "Only clients of this node are shown. Clients of other nodes may hold it."),
    el(
      "div",
      { class: "columns even" },
      el("div", { class: "column" }, holding(subject, those), line(subject)),
      el("div", { class: "column" }, past(history)),
    ),
  );
}

/** The same page while nothing is known. */
export function renderUnknownSubject(into, place, why) {
  show(into, heading(place), el("p", { class: "muted note" }, "Its holder is unknown: ", why));
}

function heading({ kind, name }, deed) {
  const what = el("p", { class: "muted" }, kind === "lock" ? "Lock" : "Election");
  return [
    el("p", { class: "back" }, el("a", { href: "#/" }, "« Overview")),
    el("div", { class: "title" }, el("div", {}, what, el("h1", { class: "name" }, visible(name))), deed),
  ];
}

function forceButton({ kind, name }, whoami) {
  const what = kind === "lock" ? "Release by force…" : "Remove leader by force…";
  const disabled = whyNoForce(kind, name, whoami);
  return el(
    "div",
    { class: "deed" },
    el("button", { type: "button", class: "danger", "data-action": "force", id: "force", disabled: !!disabled }, what),
    disabled && el("span", { class: "muted" }, disabled),
  );
}

/** Why it cannot be taken away here, if it cannot. */
function whyNoForce(kind, name, whoami) {
  if (whoami && whoami.role !== "admin") {
    return ["The token of “", written(whoami.name), "” does not permit this: the role admin is needed."];
  }
  if (STEPS.includes(name)) {
    const command = `quorate release --force ${kind === "lock" ? "" : "--election "}${name}`;
    return ["A browser cannot send this name: run ", el("code", {}, command), "."];
  }
  return undefined;
}

function holding({ kind, found, session }, those) {
  const title = kind === "lock" ? "Held by" : "Led by";
  const fact = (label, value) => el("div", {}, el("dt", {}, label), el("dd", {}, value));
  const card = (holder) =>
    el(
      "li",
      { "data-key": holder.session },
      el("p", { class: "main" }, who(holder.session, holder.label)),
      el(
        "dl",
        {},
        fact("for", since(holder.held_ms)),
        fact("since", moment(holder.since_ms)),
        fact("fence", el("span", { class: "fence" }, holder.fence)),
        fact("session", el("code", {}, holder.session)),
        holder.session === session?.session && fact("expires in", until(session.left_ms, session.ttl_ms)),
        mode(holder.mode) && fact("mode", mode(holder.mode)),
        holder.value && fact("value", el("span", { class: "value-text" }, written(holder.value))),
      ),
    );
  const more = kind === "lock" ? found.holding - those.length : 0;
  const none = kind === "lock" ? "No holder" : "No leader";
  const delay = found.delay_ms ? `: not granted until its lock delay of ${span(found.delay_ms)} ends` : "";
  const free = `${none}${delay}.`;
  return el(
    "section",
    { class: "panel", id: "holders", "data-key": "holders" },
    head(title, those.length > 1 && those.length),
    those.length === 0
      ? el("p", { class: "muted note" }, free)
      : el("ul", { class: "cards" }, those.map(card)),
    more > 0 && el("p", { class: "muted note" }, `and ${number(more)} more`),
  );
}

function line({ kind, found }) {
  const waiting = found.waiting;
  const shown = (found.waiters ?? []).slice(0, MOST_WAITERS);
  const more = waiting - shown.length;
  const one = (waiter) =>
    el(
      "li",
      { "data-key": waiter.session },
      who(waiter.session, waiter.label),
      mode(waiter.mode) && el("span", { class: "badge plain" }, mode(waiter.mode)),
      el("span", { class: "muted" }, " for ", since(waiter.waited_ms)),
    );
  return el(
    "section",
    { class: "panel", id: "waiters", "data-key": "waiters" },
    head("Queue", number(waiting)),
    waiting === 0 && el("p", { class: "muted note" }, "No session waits."),
    shown.length > 0 && el("ol", { class: "queue" }, shown.map(one)),
    kind === "election" && waiting > 0
      ? el("p", { class: "muted note" }, `${count(waiting, "candidate waits", "candidates wait")}.`)
      : more > 0 && el("p", { class: "muted note" }, `and ${number(more)} more`),
  );
}

function past(history) {
  return el(
    "section",
    { class: "panel", id: "history", "data-key": "history" },
    head("Recent events", "latest first"),
    history.length === 0
      ? el("p", { class: "muted note" }, "This node has no recent events of it.")
      : el("ol", { class: "events" }, history.map((event) => eventRow(event, true))),
  );
}

// Taking it away. What was read in the dialog is what is meant: if somebody else has it by then, the server refuses.

/** After a change, the button that was about to be pressed waits so long. */
const LOOK_AGAIN_MS = 2_000;
/** The grants that the dialog speaks of. */
let meant;
/** Runs for as long as the button waits. */
let lookAgain;

/** Asks whether it is really meant, and by whom. */
export function askForForce(subject, whoami) {
  meant = undefined;
  clearTimeout(lookAgain);
  lookAgain = undefined;
  by("force-why").textContent = "";
  by("force-by").value ||= whoami?.name ?? "";
  sayWhat(subject);
  by("force-dialog").showModal();
}

/** The dialog is open, and what it speaks of was read anew. */
export function forceChanged(subject) {
  if (by("force-dialog").open) sayWhat(subject);
}

/** Of all grants, only the newest can be somebody's who was not seen. Where not all are shown, it is not known. */
function newest({ kind, found }, those) {
  if (kind === "lock" && found.holding > those.length) return undefined;
  return those.length > 0 ? Math.max(...those.map((one) => one.fence)) : undefined;
}

function sayWhat(subject) {
  const those = holders(subject);
  const next = subject.found.waiters?.[0];
  const grants = those.map((one) => `${one.session} ${one.fence}`).join();
  const isOther = meant !== undefined && meant.grants !== grants;
  const confirm = by("force-confirm");
  if (isOther) {
    by("force-why").textContent =
      those.length > 0 ? "The holder has changed meanwhile: check it again." : "It has no holder any more.";
    confirm.disabled = true;
    // Each change has its own time to be looked at, however short ago the one before it was.
    clearTimeout(lookAgain);
    lookAgain = setTimeout(allow, LOOK_AGAIN_MS);
  } else if (meant === undefined) {
    confirm.disabled = those.length === 0;
  }
  meant = { subject, grants, fence: newest(subject, those) };
  const isNext = subject.found.waiting > 0;
  show(
    by("force-what"),
    el("p", {}, el("span", { class: "name" }, visible(subject.name)), taken(subject, those), "."),
    el(
      "p",
      { class: "muted" },
      "The holder may not notice at once and may continue to write. Only a resource that checks fences prevents that. ",
      next && isNext ? ["The next in the queue, ", el("strong", {}, called(next)), ", acquires it."] : "",
    ),
  );
}

function allow() {
  lookAgain = undefined;
  by("force-confirm").disabled = holders(meant.subject).length === 0;
}

function called({ session, label }) {
  return label?.trim() ? written(label) : `session ${session}`;
}

function taken({ kind, found }, those) {
  const [first] = those;
  if (!first) return " has no holder";
  const more = (kind === "lock" ? found.holding : those.length) - 1;
  const others = more > 0 && ` and ${count(more, "other", "others")}`;
  const later = kind === "lock" && found.holding > those.length && ", and from all other holders";
  return [" is taken away from ", el("strong", {}, called(first)), others, later];
}

/** Does it. What the server says against it is shown. */
export async function force() {
  const { subject, fence } = meant;
  const confirm = by("force-confirm");
  confirm.disabled = true;
  try {
    const path = `/v1/${subject.kind}s/${encodeURIComponent(subject.name)}/force`;
    await post(path, { by: `${by("force-by").value.trim()} (dashboard)`, fence });
    by("force-dialog").close();
  } catch (problem) {
    by("force-why").textContent = problem.message;
  } finally {
    if (lookAgain === undefined) allow();
  }
}
